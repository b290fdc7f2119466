"""The storage in a SQLite file: one writing connection with group commit, reads beside it.

Every answered write is durable (WAL, ``synchronous=FULL``): none is lost when the process is killed.
"""

from __future__ import annotations

import asyncio
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from counterfoil.registry.current_request import noted, signed
from counterfoil.registry.service.storage import Load
from counterfoil.registry.store.committer import DEFAULT_LIMITS, Committer, WriteLimits
from counterfoil.registry.store.local import LocalStorage
from counterfoil.registry.store.sqlite.errors import at_run_time, is_busy
from counterfoil.registry.store.sqlite.file import FileIdentity, FileLock, check_folder, connect, prepare
from counterfoil.registry.store.sqlite.reads import SqliteReads
from counterfoil.registry.store.sqlite.tables import KnownSubjects, SqliteTables
from counterfoil.registry.store.tables import apply
from counterfoil.schema.errors import CounterfoilError, StoreTimeout, StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from counterfoil.registry.domain.changes import Written
    from counterfoil.registry.domain.name_ranges import SubjectRange
    from counterfoil.registry.domain.scope_settings import ScopeSettings
    from counterfoil.registry.domain.versions import History
    from counterfoil.registry.domain.writes.plan import Plan
    from counterfoil.registry.service.storage import Totals
    from counterfoil.schema.contexts import QualifiedSubject, SubjectPrefix
    from counterfoil.schema.rest.versions import Visibility


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

    def carry_out(self, plan: Plan) -> Written | Exception:
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
        self._settings_revision: int | None = None
        transactions = _Transactions(self._writer, self._identity, self._known)
        self._committer = Committer(transactions, announce=self._announce, limits=limits, contact=self.contact)

    async def commit(self, plan: Plan) -> Written:
        """Carry out ``plan``; it is durable when this returns."""
        plan = signed(plan)
        return noted(await self._committer.commit(plan), plan)

    async def history(self, subject: QualifiedSubject) -> History:
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

    async def scopes(self) -> Sequence[tuple[QualifiedSubject, ScopeSettings]]:
        """Return all scopes with settings; read in a thread."""
        return await asyncio.get_running_loop().run_in_executor(self._scan_thread, self._scans.scopes)

    async def totals(self) -> Totals:
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

    def _announce(self, written: Written) -> None:
        if written.has_new_terms:
            self._settings_revision = None
        super()._announce(written)

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
