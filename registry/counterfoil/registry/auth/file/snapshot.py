"""Files as they are at one moment, and whether they are still the same."""

from __future__ import annotations

import hashlib
import time
from typing import TYPE_CHECKING, Final

from counterfoil.registry.auth.errors import InvalidAccessFile
from counterfoil.registry.auth.file.model import FileState
from counterfoil.registry.auth.passwords.htpasswd import MAX_BYTES

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable
    from pathlib import Path

_SETTLED_NS: Final = 10_000_000_000
"""A file that was modified less than this before it was read may be modified again within the clock's resolution."""
_HALF_WRITTEN_NS: Final = 1_000_000_000


class Snapshot:
    """Reads files, and records the state of each, also of those that cannot be read."""

    def __init__(self) -> None:
        self._states: dict[Path, FileState] = {}

    @property
    def states(self) -> tuple[FileState, ...]:
        """The states of the files that were read."""
        return tuple(self._states.values())

    def read(self, path: Path, *, most: int = MAX_BYTES) -> bytes:
        """Return the content of a file; raise ``InvalidAccessFile`` if it cannot be read or is too large."""
        self._states[path] = FileState(path)
        try:
            found = path.stat()
            with path.open("rb") as file:
                data = file.read(most + 1)
        except FileNotFoundError:
            raise InvalidAccessFile(str(path), "there is no such file") from None
        except OSError as error:
            raise InvalidAccessFile(str(path), f"the file cannot be read: {error.strerror}") from None
        self._states[path] = FileState(path, hashlib.sha256(data).digest(), _signature(found), found.st_mode)
        if len(data) > most:
            raise InvalidAccessFile(str(path), f"the file has more than {most} bytes")
        return data


def is_unchanged(states: Iterable[FileState]) -> bool:
    """Return whether all files are as they were. They are read if what ``stat`` returns does not prove it."""
    return all(map(_is_as_before, states))


def is_being_written(states: Iterable[FileState], *, now_ns: int) -> bool:
    """Return whether one of the files was written less than a second before ``now_ns``."""
    return any(0 <= now_ns - _modified_ns(state.path) < _HALF_WRITTEN_NS for state in states)


def _modified_ns(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _is_as_before(state: FileState) -> bool:
    try:
        signature = _signature(state.path.stat())
        if signature == state.signature and time.time_ns() - signature[0] > _SETTLED_NS:
            return True
        return state.digest is not None and hashlib.sha256(state.path.read_bytes()).digest() == state.digest
    except OSError:
        return state.digest is None


def _signature(found: os.stat_result) -> tuple[int, int, int, int]:
    """Return what changes when a file is written, replaced, or when a symbolic link to it is changed."""
    return found.st_mtime_ns, found.st_size, found.st_ino, found.st_dev
