"""The storage in a SQLite file: opening the file, one writing connection with group commit, reads beside it."""

from __future__ import annotations

import asyncio
import fcntl
import os
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from importlib import resources
from typing import IO, TYPE_CHECKING, Final

from counterfoil.registry.store.committing import DEFAULT_LIMITS, Committer, WriteLimits
from counterfoil.registry.store.local import LocalStorage, apply
from counterfoil.registry.store.protocol import FORMAT, Load, check_format
from counterfoil.registry.store.sqlite.reads import SqliteReads, at_run_time, is_busy
from counterfoil.registry.store.sqlite.tables import KnownSubjects, SqliteTables
from counterfoil.registry.store.writes import StoreNotUsable
from counterfoil.schema.errors import CounterfoilError, StoreTimeout, StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from counterfoil.registry.store.changes import ScopeSettings, WrittenChanges
    from counterfoil.registry.store.name_ranges import SubjectRange
    from counterfoil.registry.store.protocol import StoreTotals
    from counterfoil.registry.store.writes import Requester, StoragePlan
    from counterfoil.registry.subjects.versions import SubjectHistory, SubjectSummary
    from counterfoil.schema.contexts import QualifiedSubject, SubjectPrefix
    from counterfoil.schema.rest.versions import Visibility


# Opening a SQLite file: the lock, the pragmas, the tables, and the errors of a file that cannot be used.

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


# The storage in a SQLite file: one writing connection with group commit, reads beside it.
#
# Every answered write is durable (WAL, ``synchronous=FULL``): none is lost when the process is killed.

_PATIENCE_MS: Final = 3000


class _Transactions:
    """Transactions on the writing connection to the file with ``identity``."""

    def __init__(self, connection: sqlite3.Connection, identity: FileIdentity, known: KnownSubjects) -> None:
        self._connection = connection
        self._identity = identity
        self._tables = SqliteTables(connection, known)

    def begin(self) -> bool:
        """Begin a transaction that excludes other writers and return True; return False if one is running."""
        self._identity.check()
        if self._connection.in_transaction:  # the last one could not be undone before
            self._connection.execute("ROLLBACK")
        try:
            self._connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if not is_busy(error):
                raise
            return False
        return True

    def begin_patiently(self) -> None:
        """Begin a transaction after the other writer's, or fail after some seconds."""
        self._connection.execute(f"PRAGMA busy_timeout = {_PATIENCE_MS}")
        try:
            self._connection.execute("BEGIN IMMEDIATE")
        finally:
            self._connection.execute("PRAGMA busy_timeout = 0")

    def carry_out(self, plan: StoragePlan) -> WrittenChanges | Exception:
        """Carry out one plan and return its outcome.

        A plan is refused before its first write. If the store fails during a plan, the error undoes the transaction.
        """
        try:
            return apply(self._tables, plan)
        except (StoreUnavailable, StoreTimeout):
            raise
        except CounterfoilError as error:
            return error

    def commit(self) -> None:
        """Commit, and wait until the data is on the disk."""
        self._tables.flush()
        self._connection.execute("COMMIT")

    def publish(self) -> None:
        """Update the caches with the committed data."""
        self._tables.publish()

    def abandon(self, error: Exception) -> Exception:
        """Undo the transaction; if that fails, it is undone before the next one begins."""
        self._tables.forget()
        if self._connection.in_transaction:
            with suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")
        return at_run_time(error) if isinstance(error, sqlite3.Error) else error


class SqliteStorage(LocalStorage):
    """A storage in the file ``path``, which is created if it is missing; raises ``StoreNotUsable`` if it cannot be."""

    def __init__(self, path: Path, *, limits: WriteLimits = DEFAULT_LIMITS) -> None:
        check_folder(path)
        self._lock = FileLock(path)
        self._lock.take()
        try:
            prepare(path)
        except BaseException:
            self._lock.release()
            raise
        self._reader = connect(path)
        self._scanner = connect(path)
        self._writer = connect(path)
        self._writer.execute("PRAGMA busy_timeout = 0")  # the event loop does not wait
        self._identity = FileIdentity(path)
        self._scans = SqliteReads(self._scanner)
        self._scan_thread = ThreadPoolExecutor(1, thread_name_prefix="counterfoil-scan")
        self._file_reads = SqliteReads(self._reader)
        super().__init__(self._file_reads)
        self._known = KnownSubjects()
        self._announced = self._file_reads.last_change(None)
        self._settings_revision: int | None = None
        transactions = _Transactions(self._writer, self._identity, self._known)
        self._committer = Committer(transactions, announce=self._announce, limits=limits, contact=self.contact)

    async def commit(self, plan: StoragePlan, *, by: Requester) -> WrittenChanges:
        """Carry out ``plan``; it is durable when this returns."""
        plan = by.signed(plan)
        return by.noted(await self._committer.commit(plan), plan)

    async def history(self, subject: QualifiedSubject) -> SubjectHistory:
        """Return all versions of a subject; they are cached, since no other process may write the file."""
        return self._known.read(subject, self._file_reads).history

    async def subjects(self, prefix: SubjectPrefix, visibility: Visibility) -> Sequence[QualifiedSubject]:
        """Return the subjects with a prefix; read in a thread, since they may be many."""
        return await asyncio.get_running_loop().run_in_executor(
            self._scan_thread, self._scans.subjects, prefix, visibility
        )

    async def subject_names(self, prefix: SubjectPrefix, visibility: Visibility, *, first: int, last: int) -> str:
        """Return the names of subjects with a prefix, as the text of a JSON array; read in a thread."""
        return await asyncio.get_running_loop().run_in_executor(
            self._scan_thread, self._scans.subject_names, prefix, visibility, first, last
        )

    async def names_within(
        self, ranges: Sequence[SubjectRange], visibility: Visibility, *, first: int, last: int
    ) -> str:
        """Return the names of subjects in ranges, as the text of a JSON array; read in a thread."""
        return await asyncio.get_running_loop().run_in_executor(
            self._scan_thread, self._scans.names_within, ranges, visibility, first, last
        )

    async def summaries(
        self, ranges: Sequence[SubjectRange], visibility: Visibility, limit: int
    ) -> Sequence[SubjectSummary]:
        """Return the first subjects in ranges, with their latest versions; read in a thread."""
        return await asyncio.get_running_loop().run_in_executor(
            self._scan_thread, self._scans.summaries, ranges, visibility, limit
        )

    async def scopes(self) -> Sequence[tuple[QualifiedSubject, ScopeSettings]]:
        """Return all scopes with settings; read in a thread."""
        return await asyncio.get_running_loop().run_in_executor(self._scan_thread, self._scans.scopes)

    async def totals(self) -> StoreTotals:
        """Return the numbers of subjects and versions; counted in a thread."""
        return await asyncio.get_running_loop().run_in_executor(self._scan_thread, self._scans.totals)

    @property
    def load(self) -> Load:
        """The number of waiting writes."""
        return Load(self._committer.waiting)

    async def settings_revision(self) -> int:
        """Return the revision of the settings, cached, since no other process may write the file."""
        if self._settings_revision is None:
            self._settings_revision = await super().settings_revision()
        return self._settings_revision

    async def last_change(self, until_ts: int | None = None) -> int:
        """Return the number of the last change up to a time; the last one of all is one that the caches have.

        The file has a change a moment before the caches do, since the commit runs in a thread.
        """
        return self._announced if until_ts is None else await super().last_change(until_ts)

    def _announce(self, written: WrittenChanges) -> None:
        if written.changes:
            self._announced = written.changes[-1].seq
        if written.has_new_terms:
            self._settings_revision = None
        self._observers.call(written)

    async def check(self) -> None:
        """Check that the file can be read and was not replaced."""
        try:
            self._identity.check()
            await super().settings_revision()
        except (StoreUnavailable, StoreTimeout) as error:
            self.contact.note_lost(error)
            raise
        self.contact.note_reached()

    async def close(self) -> None:
        """Finish the running writes, close the file, and release its lock."""
        await self._committer.close()
        self._scan_thread.shutdown()
        for connection in (self._reader, self._scanner, self._writer):
            connection.close()
        self._lock.release()
