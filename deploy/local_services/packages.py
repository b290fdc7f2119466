"""Python packages that cannot be in .venv, since they need other versions of what is there.

They are installed once into a folder of the cache outside the tree, from a file of versions and hashes.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from local_services.cache import kept_folder
from local_services.process import ServiceError

_INSTALL_DEADLINE_S = 900


def package_folder(kind: str, requirements: Path, *, size: str) -> Path:
    """Return the folder with the packages of a file, installed first if it is missing; ``size`` is printed then."""
    version = hashlib.sha256(requirements.read_bytes()).hexdigest()[:12]
    return kept_folder(kind, version, make=lambda folder: _install(folder, requirements, size))


def _install(folder: Path, requirements: Path, size: str) -> None:
    """Install into a folder beside ``folder``, and rename that when it is complete."""
    unfinished = folder.with_name(f"{folder.name}.{os.getpid()}")
    print(f"Installing {requirements.name} ({size}, once) into {folder}", file=sys.stderr)
    uv = Path(sys.executable).with_name("uv")
    command = [str(uv), "pip", "install", "--quiet", "--no-deps", "--require-hashes", "--python", sys.executable]
    command += ["--target", str(unfinished), "-r", str(requirements)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_INSTALL_DEADLINE_S, check=False)
        if done.returncode:
            raise ServiceError(f"The packages of {requirements} could not be installed:\n{done.stderr}")
        unfinished.rename(folder)
    except subprocess.TimeoutExpired:
        raise ServiceError(f"The packages of {requirements} were not installed in {_INSTALL_DEADLINE_S} s") from None
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
