"""Disks that are soon full: file systems in memory, if this process may mount them."""

from __future__ import annotations

import os
import subprocess
import tempfile
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@cache
def can_mount() -> bool:
    """Return whether this process may mount a file system: root may, on a machine of its own."""
    if os.geteuid() != 0:
        return False
    try:
        with tempfile.TemporaryDirectory() as folder, small_disk(Path(folder), size_mb=1):
            return True
    except (OSError, subprocess.CalledProcessError):
        return False


@contextmanager
def small_disk(folder: Path, *, size_mb: int) -> Iterator[Path]:
    """Mount a disk at ``folder`` while the block runs."""
    command = ["mount", "-t", "tmpfs", "-o", f"size={size_mb}m", "tmpfs", str(folder)]
    subprocess.run(command, check=True, capture_output=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)  # a log may still be open in it


@contextmanager
def filled(folder: Path) -> Iterator[None]:
    """Fill the disk at ``folder`` completely while the block runs."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while file.write(b"\0" * 4096):
            pass
    try:
        yield
    finally:
        filler.unlink()
