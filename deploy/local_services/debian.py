"""Programs of Debian packages: the installed ones, else those of packages that are unpacked in the cache.

``apt-get download`` needs no privileges, and unpacking runs no script of a package.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from local_services.cache import cache_folder, kept_folder
from local_services.process import ServiceError

if TYPE_CHECKING:
    from collections.abc import Sequence

_DEADLINE_S: Final = 600


def installed_program(name: str) -> Path | None:
    """Return a program of this machine; None if it is not installed."""
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
    return None if found is None else Path(found)


def unpacked_packages(name: str, packages: Sequence[str], *, size: str) -> Path:
    """Return the folder with the unpacked packages of the program ``name``, downloaded first if it is missing."""
    return kept_folder(name, make=lambda folder: _fetch(folder, name, packages, size))


def unpacked_with_libraries(name: str, packages: Sequence[str], *, size: str) -> Path:
    """Return the folder with ``packages`` and those packages that they need and this machine lacks."""
    return kept_folder(name, make=lambda folder: _fetch(folder, name, _lacking(packages, name), size))


def library_path(folder: Path) -> dict[str, str]:
    """Return the variables with which programs below ``folder`` find the libraries that are there, too."""
    libraries = [
        str(path)
        for pattern in ("usr/lib/*/", "usr/lib/*/systemd/", "usr/lib/*/pulseaudio/")
        for path in folder.glob(pattern)
    ]
    return {"LD_LIBRARY_PATH": ":".join(libraries)} if libraries else {}


def _fetch(folder: Path, name: str, packages: Sequence[str], size: str) -> None:
    print(f"Fetching {name} ({size}, once) into {folder}", file=sys.stderr)
    with tempfile.TemporaryDirectory(dir=cache_folder()) as unfinished:
        place = Path(unfinished)
        _run(["apt-get", "download", *packages], place, name)
        for package in place.glob("*.deb"):
            _run(["dpkg", "-x", str(package), str(place / "programs")], place, name)
        (place / "programs").rename(folder)


def _lacking(packages: Sequence[str], name: str) -> list[str]:
    """Return the names of the packages that apt would install, each with its version."""
    planned = _run(["apt-get", "install", "--simulate", "--no-install-recommends", *packages], Path("/"), name)
    words = (line.split() for line in planned.splitlines() if line.startswith("Inst "))
    return [f"{package}={version.lstrip('(')}" for _, package, version, *_ in words]


def _run(command: list[str], folder: Path, name: str) -> str:
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=_DEADLINE_S, check=False)
        if done.returncode == 0:
            return done.stdout
        said = done.stdout + done.stderr or f"status {done.returncode}"
    except (OSError, subprocess.TimeoutExpired) as error:
        said = str(error)
    raise ServiceError(
        f"{name} is not installed and cannot be fetched ({' '.join(command[:2])}: {said[-500:]}); install it "
        "with apt-get install, or let apt know its packages (apt-get update)"
    )
