"""Which disk is full, where an error says only that one is."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

_SIGNS: Final = ("No space left on device", "Disk quota exceeded", "not enough space on the disk")
_FEWEST_BYTES: Final = 1 << 20
"""With less than this the disk is called full."""


def with_full_disk(cause: str, checkpoint: Path, others: Iterable[Path] | None = None) -> str:
    """Return the cause of a failed query; of a disk that is full also the path, and what is written there.

    ``others`` are the folders in which Spark keeps data while it works; None: those of this program.
    """
    if not any(sign in cause for sign in _SIGNS):
        return cause
    places = {
        checkpoint: "the checkpoint",
        **dict.fromkeys(_working_folders() if others is None else others, "Spark's work"),
    }
    full = [f"{folder} ({what})" for folder, what in places.items() if _is_full(folder)]
    if full:
        return f"{cause}: the disk of {' and of '.join(full)} is full"
    shown = " and ".join(f"{folder} ({what})" for folder, what in places.items())
    return f"{cause}: a disk was full; this program writes to {shown}"


def _working_folders() -> list[Path]:
    named = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")
    return [Path(each) for each in named if each] or [Path(tempfile.gettempdir())]


def _is_full(folder: Path) -> bool:
    try:
        return shutil.disk_usage(folder).free < _FEWEST_BYTES
    except OSError:
        return False
