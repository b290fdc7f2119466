"""The cache outside the tree: what is downloaded or built for tests and demo, once for all runs.

It is ``$COUNTERFOIL_CACHE``, else ``$XDG_CACHE_HOME/counterfoil``, else ``~/.cache/counterfoil``.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def cache_folder() -> Path:
    """Return the folder in which downloads are stored between runs; it is created if it is missing."""
    own = os.environ.get("COUNTERFOIL_CACHE")
    base = Path(own) if own else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "counterfoil"
    base.mkdir(parents=True, exist_ok=True)
    return base


def kept_folder(kind: str, *parts: str, make: Callable[[Path], None]) -> Path:
    """Return the folder ``kind/parts`` of the cache; ``make`` first creates it completely if it is missing.

    Processes that need something of one ``kind`` at the same time wait for each other, so that it is made once.
    """
    folder = cache_folder().joinpath(kind, *parts)
    if not folder.is_dir():
        with (cache_folder() / f"{kind}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not folder.is_dir():
                make(folder)
    return folder
