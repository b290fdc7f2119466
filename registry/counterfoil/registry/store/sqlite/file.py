"""Opening a SQLite file: the lock, the pragmas, the tables, and the errors of a file that cannot be used."""

from __future__ import annotations

import fcntl
import os
import sqlite3
from contextlib import closing, suppress
from importlib import resources
from typing import IO, TYPE_CHECKING, Final

from counterfoil.registry.domain.errors import StoreNotUsable
from counterfoil.registry.store.formats import FORMAT, check_format
from counterfoil.schema.errors import StoreUnavailable

if TYPE_CHECKING:
    from pathlib import Path

APPLICATION_ID: Final = 0x43464C31
"""Marks a file as a store of this project (SQLite's ``application_id``)."""

_CACHED_STATEMENTS: Final = 256
_CACHE_KIB: Final = 8192
_NO_STORE: Final = "expected the SQLite file of a registry, which `counterfoil serve` makes where there is none"


class FileLock:
    """Permits one registry process for each file, by a lock that the system releases when the process ends."""

    def __init__(self, path: Path) -> None:
        self._path = path.with_name(path.name + ".lock")
        self._file: IO[str] | None = None

    def take(self) -> None:
        """Take the lock; raise ``StoreNotUsable`` if its file cannot be created, or another process has it."""
        try:
            file = self._path.open("a+")
        except OSError as error:
            raise StoreNotUsable(
                f"{self._path} cannot be made: {error.strerror}; make the folder writable for this user, or name "
                "another store with --store"
            ) from None
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.seek(0)
            holder = file.read().strip()
            file.close()
            named = f" (process {holder})" if holder else ""
            raise StoreNotUsable(
                f"{self._path.with_suffix('')} is in use by another registry{named}; a SQLite store takes one process"
            ) from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        self._file = file

    def release(self) -> None:
        """Release the lock."""
        if self._file is not None:
            self._file.close()
            self._file = None


class FileIdentity:
    """The identity of an opened file, and of its write-ahead log, which detects that ``path`` now names another file.

    A file that was removed or replaced can still be written, but its content is lost when the process ends.
    """

    def __init__(self, path: Path) -> None:
        self._identities = {
            str(each): identity
            for each in (path, path.with_name(path.name + "-wal"))
            if (identity := _identity(str(each))) is not None
        }

    def check(self) -> None:
        """Raise ``StoreUnavailable`` if the file or the log was removed or replaced."""
        for path, identity in self._identities.items():
            if _identity(path) != identity:
                raise StoreUnavailable(
                    f"The SQLite file was moved, removed or replaced ({os.path.basename(path)}): put it back, or stop "  # noqa: PTH119 - a text
                    "the registry and start it on another. Reads are answered from the open file, writes are refused"
                )


def _identity(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)  # noqa: PTH116 - asked before each transaction, and pathlib takes four times as long
    except OSError:
        return None
    return found.st_dev, found.st_ino


def prepare(path: Path) -> None:
    """Create the tables in a new file; raise ``StoreNotUsable`` if the file cannot be a store.

    Its user alone may read a new file, since there may be hashes of passwords in it.
    """
    with suppress(OSError):  # it exists; or the connection names what is not possible
        os.close(os.open(path, os.O_CREAT | os.O_EXCL, mode=0o600))
    connection = connect(path)
    try:
        _prepare(connection, path)
    except sqlite3.DatabaseError as error:
        raise StoreNotUsable(f"{path} cannot be used as a store: {error}") from None
    finally:
        connection.close()


def check_folder(path: Path) -> None:
    """Raise ``StoreNotUsable`` unless ``path`` is a file or can be created."""
    if path.is_dir():
        raise StoreNotUsable(f"{path} is a folder; expected the path of a SQLite file")
    if not path.parent.is_dir():
        raise StoreNotUsable(f"The folder {path.parent} does not exist; create it, or name another store with --store")
    is_there = path.exists()
    if not os.access(path if is_there else path.parent, os.W_OK):
        shown = str(path) if is_there else f"The folder {path.parent.resolve()}"
        raise StoreNotUsable(
            f"{shown} cannot be written; make it writable for this user, or name another store with --store"
        )


def stored_format(path: Path) -> int:
    """Return the format of the store in a file, which is only read; raise ``StoreNotUsable`` if there is no store.

    Reading must not create a store: a misspelt path would become a new, empty registry.
    """
    if not path.is_file():
        raise StoreNotUsable(f"{path} does not exist; {_NO_STORE}")
    try:
        with closing(connect_to_read(path)) as connection:
            found = format_of(connection, path)
    except sqlite3.Error as error:
        raise StoreNotUsable(f"{path} cannot be read: {error}") from None
    if found is None:
        raise StoreNotUsable(f"{path} is empty; {_NO_STORE}")
    return found


def connect_to_read(path: Path) -> sqlite3.Connection:
    """Return a connection in autocommit mode that cannot write."""
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None)


def format_of(connection: sqlite3.Connection, path: Path) -> int | None:
    """Return the format of the store (SQLite's ``user_version``); None for a new file.

    Raise ``StoreNotUsable`` for another program's.
    """
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    if application == APPLICATION_ID:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])
    if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        raise StoreNotUsable(f"{path} is a SQLite database of another program; name another store")
    return None


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    found = format_of(connection, path)
    if found is not None:
        check_format(found, shown=str(path), url=f"sqlite:///{path}")
        return
    script = resources.files("counterfoil.registry.store").joinpath("schema.sql").read_text()
    with suppress(sqlite3.OperationalError):  # a file system without WAL: the rollback journal is as safe
        connection.execute("PRAGMA journal_mode = WAL")
    marks = f"PRAGMA application_id = {APPLICATION_ID};\nPRAGMA user_version = {FORMAT};"
    connection.executescript(f"BEGIN IMMEDIATE;\n{script}\n{marks}\nCOMMIT;")


def connect(path: Path) -> sqlite3.Connection:
    """Return a connection in autocommit mode whose commits are durable when they return."""
    try:
        connection = sqlite3.connect(
            path, isolation_level=None, check_same_thread=False, cached_statements=_CACHED_STATEMENTS
        )
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA wal_autocheckpoint = 4000")  # in pages: fewer checkpoints
        connection.execute("PRAGMA busy_timeout = 5000")
        connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        connection.execute("PRAGMA mmap_size = 0")  # with mapped memory a failing disk would end the process
    except sqlite3.Error as error:
        raise StoreNotUsable(f"{path} cannot be opened: {error}") from None
    return connection
