"""Translating SQLite's errors into errors of the registry, with what is wrong and what to do."""

from __future__ import annotations

import sqlite3
from functools import wraps
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar

from counterfoil.registry.store.refusals import uncertain
from counterfoil.schema.errors import RegistryError, StoreTimeout, StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable

_P = ParamSpec("_P")
_T = TypeVar("_T")

_PRIMARY: Final = 0xFF
"""The low byte of SQLite's extended result codes is the primary one (https://www.sqlite.org/rescode.html)."""

_SENTENCE_BY_CODE: Final = {
    sqlite3.SQLITE_FULL: "its disk is full; free some space",
    sqlite3.SQLITE_IOERR: "its disk fails, is read-only, or has reached a limit on file sizes; check disk and quota",
    sqlite3.SQLITE_READONLY: "it is read-only; make the file, its folder and its disk writable",
    sqlite3.SQLITE_CORRUPT: "it is damaged; stop the registry and restore a backup",
    sqlite3.SQLITE_NOTADB: "it is damaged; stop the registry and restore a backup",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened; check its folder, its permissions and the limit on open files",
    sqlite3.SQLITE_PERM: "its permissions forbid it; make it writable for the registry",
    sqlite3.SQLITE_NOMEM: "there is no memory left",
    sqlite3.SQLITE_TOOBIG: "what is to be written is larger than SQLite takes",
}
_BUSY: Final = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_FLUSHES: Final = frozenset({sqlite3.SQLITE_IOERR_FSYNC, sqlite3.SQLITE_IOERR_DIR_FSYNC})


def is_busy(error: sqlite3.Error) -> bool:
    """Return whether another connection holds a lock."""
    return _code(error) & _PRIMARY in _BUSY


def at_run_time(error: sqlite3.Error) -> RegistryError:
    """Return the error for a statement that failed with ``error``; its transaction is undone."""
    code = _code(error)
    if is_busy(error):
        return StoreTimeout("The SQLite file is locked by another program; end that program, then try again")
    sentence = _SENTENCE_BY_CODE.get(code & _PRIMARY, "SQLite refuses; see what it says")
    said = f"The SQLite file cannot be used: {sentence}, then try again ({error})"
    if code in _FLUSHES:  # all was written, but perhaps not durably
        said = uncertain(said)
    return StoreUnavailable(said)


def damaged(error: Exception) -> StoreUnavailable:
    """Return the error for stored data that can never have been written."""
    return StoreUnavailable(
        f"The SQLite file holds something that was never written to it ({type(error).__name__}: {str(error)[:200]}): "
        "it is damaged; stop the registry and restore a backup"
    )


def intact(read: Callable[_P, _T]) -> Callable[_P, _T]:
    """Return ``read`` with errors about stored data turned into errors of the store."""

    @wraps(read)
    def reading(*arguments: _P.args, **named: _P.kwargs) -> _T:
        try:
            return read(*arguments, **named)
        except (StoreUnavailable, StoreTimeout):
            raise
        except (ValueError, TypeError, KeyError, RegistryError) as error:
            raise damaged(error) from error

    return reading


def _code(error: sqlite3.Error) -> int:
    """Return SQLite's extended result code; 0 for an error of Python's module itself."""
    code: int = getattr(error, "sqlite_errorcode", 0)
    return code
