"""The storage in a SQLite file: one writing connection with group commit, reads beside it.

Every answered write is on the disk (WAL, ``synchronous=FULL``): a process that is killed loses none.
"""

from __future__ import annotations

import asyncio
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from counterfoil.registry.service.storage import Append, Load, SoftDelete
from counterfoil.registry.store.committer import DEFAULT_LIMITS, Committer, WriteLimits
from counterfoil.registry.store.local import LocalStorage
from counterfoil.registry.store.sqlite.errors import at_run_time, is_busy
from counterfoil.registry.store.sqlite.file import FileLock, Place, check_folder, connect, prepare
from counterfoil.registry.store.sqlite.reads import SqliteReads
from counterfoil.registry.store.sqlite.tables import KnownSubjects, SqliteTables
from counterfoil.registry.store.tables import apply
from counterfoil.schema.errors import CounterfoilError, StoreTimeout, StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from counterfoil.registry.domain.versions import History
    from counterfoil.registry.service.storage import Appended, Plan, ScopeSettings, Totals
    from counterfoil.schema.contexts import QualifiedSubject, SubjectPrefix
    from counterfoil.schema.rest.versions import Visibility


_PATIENCE_MS: Final = 3000


class _Transactions:
    """Transactions on the writing connection to the file at ``place``."""

    def __init__(self, connection: sqlite3.Connection, place: Place, known: KnownSubjects) -> None:
        self._connection = connection
        self._place = place
        self._tables = SqliteTables(connection, known)

    def begin(self) -> bool:
        """Begin a transaction that no other writer can get in the way of; False where one is there already."""
        self._place.check()
        if self._connection.in_transaction:  # it could not be undone before
            self._connection.execute("ROLLBACK")
        try:
            self._connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if not is_busy(error):
                raise
            return False
        return True

    def begin_patiently(self) -> None:
        """Begin a transaction when the other writer has ended its own, or fail after some seconds."""
        self._connection.execute(f"PRAGMA busy_timeout = {_PATIENCE_MS}")
        try:
            self._connection.execute("BEGIN IMMEDIATE")
        finally:
            self._connection.execute("PRAGMA busy_timeout = 0")

    def carry_out(self, plan: Plan) -> Appended | Exception | None:
        """The outcome of one plan.

        A plan that may not be carried out is refused before its first write. A store that fails in the middle of one
        raises, which undoes the transaction.
        """
        try:
            return apply(self._tables, plan)
        except (StoreUnavailable, StoreTimeout):
            raise
        except CounterfoilError as error:
            return error

    def commit(self) -> None:
        """Write to the disk, and wait until it is there."""
        self._tables.flush()
        self._connection.execute("COMMIT")

    def publish(self) -> None:
        """Make known what was committed."""
        self._tables.publish()

    def abandon(self, error: Exception) -> Exception:
        """Undo the transaction; what cannot be undone now is before the next one begins."""
        self._tables.forget()
        if self._connection.in_transaction:
            with suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")
        return at_run_time(error) if isinstance(error, sqlite3.Error) else error


class SqliteStorage(LocalStorage):
    """A storage in the file ``path``, which is created when it is missing. ``StoreNotUsable`` when it cannot be."""

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
        self._place = Place(path)
        self._scans = SqliteReads(self._scanner)
        self._scan_thread = ThreadPoolExecutor(1, thread_name_prefix="counterfoil-scan")
        self._file_reads = SqliteReads(self._reader)
        super().__init__(self._file_reads)
        self._known = KnownSubjects()
        self._settings_revision: int | None = None
        transactions = _Transactions(self._writer, self._place, self._known)
        self._committer = Committer(transactions, announce=self._announce, limits=limits, contact=self.contact)

    async def commit(self, plan: Plan) -> Appended | None:
        """Carry out ``plan``; it is on the disk when this returns."""
        return await self._committer.commit(plan)

    async def history(self, subject: QualifiedSubject) -> History:
        """All versions of a subject; remembered, since nobody else may write the file."""
        return self._known.read(subject, self._file_reads).history

    async def subjects(self, prefix: SubjectPrefix, visibility: Visibility) -> Sequence[QualifiedSubject]:
        """The subjects whose names begin so; read beside the event loop, since they may be many."""
        return await asyncio.get_running_loop().run_in_executor(
            self._scan_thread, self._scans.subjects, prefix, visibility
        )

    async def subject_names(self, prefix: SubjectPrefix, visibility: Visibility, *, first: int, last: int) -> str:
        """The names of those subjects, as the text of a JSON array; read beside the event loop."""
        return await asyncio.get_running_loop().run_in_executor(
            self._scan_thread, self._scans.subject_names, prefix, visibility, first, last
        )

    async def scopes(self) -> Sequence[tuple[QualifiedSubject, ScopeSettings]]:
        """All scopes with settings; read beside the event loop."""
        return await asyncio.get_running_loop().run_in_executor(self._scan_thread, self._scans.scopes)

    async def totals(self) -> Totals:
        """How much is stored; counted beside the event loop."""
        return await asyncio.get_running_loop().run_in_executor(self._scan_thread, self._scans.totals)

    @property
    def load(self) -> Load:
        """How many writes wait."""
        return Load(self._committer.waiting)

    async def settings_revision(self) -> int:
        """The stamp of the last change of settings: remembered, since nobody else may write the file."""
        if self._settings_revision is None:
            self._settings_revision = await super().settings_revision()
        return self._settings_revision

    def _announce(self, plan: Plan, outcome: Appended | None) -> None:
        if not isinstance(plan, (Append, SoftDelete)):  # the others may change settings, or what counts as one
            self._settings_revision = None
        super()._announce(plan, outcome)

    async def check(self) -> None:
        """Return when the file answers, and is where it was."""
        try:
            self._place.check()
            await super().settings_revision()
        except (StoreUnavailable, StoreTimeout) as error:
            self.contact.note_lost(error)
            raise
        self.contact.note_reached()

    async def close(self) -> None:
        """Finish the writes under way, close the file, let go of its lock."""
        await self._committer.close()
        self._scan_thread.shutdown()
        for connection in (self._reader, self._scanner, self._writer):
            connection.close()
        self._lock.release()
