"""The storage in a SQLite file: one writer thread with group commit, reads beside it.

Every answered write is on the disk (WAL, ``synchronous=FULL``): a process that is killed loses none.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from counterfoil.registry.store.committer import Committer
from counterfoil.registry.store.local import LocalStorage
from counterfoil.registry.store.sqlite_file import FileLock, check_folder, connect, prepare
from counterfoil.registry.store.sqlite_tables import SqliteTables
from counterfoil.registry.store.tables import apply
from counterfoil.schema.errors import CounterfoilError, StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from counterfoil.registry.service.storage import Appended, Plan, ScopeSettings, Visibility
    from counterfoil.schema.contexts import QualifiedSubject, SubjectPrefix


class SqliteStorage(LocalStorage):
    """A storage in the file ``path``, which is created when it is missing. ``StoreNotUsable`` when it cannot be."""

    def __init__(self, path: Path) -> None:
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
        self._scans = SqliteTables(self._scanner)
        self._scan_thread = ThreadPoolExecutor(1, thread_name_prefix="counterfoil-scan")
        self._tables = SqliteTables(self._writer)
        super().__init__(SqliteTables(self._reader))
        self._committer = Committer(self._carry_out, announce=self._announce)

    async def commit(self, plan: Plan) -> Appended | None:
        """Carry out ``plan``; it is on the disk when this returns."""
        return await self._committer.commit(plan)

    def _carry_out(self, plans: Sequence[Plan]) -> list[Appended | Exception | None]:
        try:
            self._writer.execute("BEGIN IMMEDIATE")
            outcomes = [self._attempt(plan) for plan in plans]
            self._writer.execute("COMMIT")
        except Exception as error:  # noqa: BLE001 - whatever it is, the callers get it, and the thread lives on
            if self._writer.in_transaction:
                self._writer.execute("ROLLBACK")
            failure = StoreUnavailable(f"The store could not write: {error}")
            return [failure] * len(plans)
        return outcomes

    def _attempt(self, plan: Plan) -> Appended | Exception | None:
        self._writer.execute("SAVEPOINT plan")
        try:
            outcome: Appended | Exception | None = apply(self._tables, plan)
        except CounterfoilError as error:
            self._writer.execute("ROLLBACK TO plan")
            outcome = error
        self._writer.execute("RELEASE plan")
        return outcome

    async def subjects(self, prefix: SubjectPrefix, visibility: Visibility) -> Sequence[QualifiedSubject]:
        """The subjects whose names begin so; read beside the event loop, since they may be many."""
        return await asyncio.get_running_loop().run_in_executor(
            self._scan_thread, self._scans.subjects, prefix, visibility
        )

    async def scopes(self) -> Sequence[tuple[QualifiedSubject, ScopeSettings]]:
        """All scopes with settings; read beside the event loop."""
        return await asyncio.get_running_loop().run_in_executor(self._scan_thread, self._scans.scopes)

    async def check(self) -> None:
        """Return when the file answers."""
        await self.settings_revision()

    async def close(self) -> None:
        """Finish the writes under way, close the file, let go of its lock."""
        await asyncio.get_running_loop().run_in_executor(None, self._committer.close)
        self._scan_thread.shutdown()
        for connection in (self._reader, self._scanner, self._writer):
            connection.close()
        self._lock.release()
