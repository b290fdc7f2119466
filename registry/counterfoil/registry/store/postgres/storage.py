"""The storage in PostgreSQL, any number of servers on one database, and the preparation of the database."""

from __future__ import annotations

import asyncio
import json
import logging
from contextlib import suppress
from importlib import resources
from typing import TYPE_CHECKING, Final

from counterfoil.registry.store.committing import DEFAULT_LIMITS, GroupCommit, WriteLimits, WriteObservers
from counterfoil.registry.store.postgres.connections import (
    FOREIGN,
    Connections,
    FunctionsGone,
    at_start,
    connect,
    of_read,
    own_functions,
)
from counterfoil.registry.store.postgres.known import MAX_SCOPES, KnownHistories, KnownIds, KnownSettings, LastKnown
from counterfoil.registry.store.postgres.news import LEASE_S, NewsFromElsewhere, Stamps
from counterfoil.registry.store.postgres.reads import PostgresReads, batch_of, outcomes_of
from counterfoil.registry.store.protocol import FORMAT, Load, StoreContact, check_format
from counterfoil.registry.store.writes import StoreNotUsable
from counterfoil.schema.errors import SchemaTooLarge, StoreTimeout, StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    import asyncpg

    from counterfoil.registry.store.changes import ScopeSettings, WrittenChanges
    from counterfoil.registry.store.postgres.connections import Functions, PostgresAddress
    from counterfoil.registry.store.postgres.reads import CommitBatch
    from counterfoil.registry.store.protocol import Observer
    from counterfoil.registry.store.writes import Requester, StoragePlan
    from counterfoil.registry.subjects.versions import SubjectHistory, VersionUse
    from counterfoil.schema.contexts import QualifiedSubject


# Preparing a PostgreSQL database before the first request.

_OLDEST_SERVER: Final = 13
_LOCK: Final = 0x43464C31
_STATE: Final = """
SELECT to_regnamespace('counterfoil') IS NOT NULL AS has_schema,
  to_regclass('counterfoil.store_format') IS NOT NULL AS is_ours,
  pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean AS is_read_only"""
_FUNCTIONS: Final = """
SELECT count(DISTINCT proname) FROM pg_proc
WHERE proname = ANY ($1::text[]) AND pronamespace = 'counterfoil'::regnamespace"""
_IN_SCHEMA: Final = "SET LOCAL search_path = counterfoil, pg_catalog, pg_temp;\n"


async def prepare(address: PostgresAddress, functions: Functions | None = None) -> None:
    """Create the tables in a new database, and missing ``functions``, by default those of this version.

    Of several servers that start at the same time, one does it and the others wait. Raises ``StoreNotUsable`` if the
    database cannot be reached, is read-only, or has another format.
    """
    try:
        connection = await connect(address)
        try:
            _check_server(connection, address)
            async with connection.transaction(isolation="read_committed"):
                await _prepare(connection, address, functions or own_functions())
        finally:
            await connection.close()
    except (*FOREIGN, ValueError) as error:
        raise at_start(error, address) from None


def _check_server(connection: asyncpg.Connection, address: PostgresAddress) -> None:
    version = connection.get_server_version()
    if version.major < _OLDEST_SERVER:
        raise StoreNotUsable(
            f"{address.shown} is PostgreSQL {version.major}; the registry needs {_OLDEST_SERVER} or newer"
        )


async def _prepare(connection: asyncpg.Connection, address: PostgresAddress, functions: Functions) -> None:
    found = await lock_and_find_format(connection, address)
    if found is None:
        await create_tables(connection, functions)
        return
    check_format(found, shown=address.shown, url=address.shown)
    await create_functions(connection, functions)


async def create_functions(connection: asyncpg.Connection, functions: Functions) -> None:
    """Create the missing ones of ``functions``; no function of another version is changed."""
    if await connection.fetchval(_FUNCTIONS, functions.names) < len(functions.names):
        await connection.execute(_IN_SCHEMA + functions.creation)


async def restore_functions(address: PostgresAddress, functions: Functions) -> None:
    """Create ``functions`` again, which a running server found missing.

    An upgrade, or a server of an old version, has removed them. Raises ``StoreUnavailable`` if the tables were removed,
    or have another format now.
    """
    try:
        connection = await connect(address)
        try:
            async with connection.transaction(isolation="read_committed"):
                found = await lock_and_find_format(connection, address)
                if found is None:
                    raise StoreUnavailable("The registry's tables are missing; restore them, or restart the registry")
                check_format(found, shown=address.shown, url=address.shown)
                await create_functions(connection, functions)
        finally:
            await connection.close()
    except StoreNotUsable as error:
        raise StoreUnavailable(str(error)) from error
    except FOREIGN as error:
        raise of_read(error) from error


async def lock_and_find_format(connection: asyncpg.Connection, address: PostgresAddress) -> int | None:
    """Lock the store and return its format, None when it is new; the lock ends with the transaction.

    Raises ``StoreNotUsable`` if it cannot be a store.
    """
    await connection.execute(f"SELECT pg_advisory_xact_lock({_LOCK})")  # before anything is looked up and cached
    state = await connection.fetchrow(_STATE)
    if state["is_read_only"]:
        raise StoreNotUsable(f"{address.shown} cannot be used as a store: the server is read-only; name the primary")
    if state["has_schema"] and not state["is_ours"]:
        raise StoreNotUsable(f"{address.shown} has a schema counterfoil of another program; name another database")
    if not state["is_ours"]:
        return None
    return int(await connection.fetchval("SELECT max(number) FROM counterfoil.store_format"))


async def create_tables(connection: asyncpg.Connection, functions: Functions) -> None:
    """Create the tables of a new store."""
    tables = resources.files("counterfoil.registry.store.postgres").joinpath("tables.sql").read_text("utf-8")
    await connection.execute("CREATE SCHEMA counterfoil; CREATE TABLE counterfoil.store_format (number int NOT NULL)")
    await connection.execute("INSERT INTO counterfoil.store_format VALUES ($1)", FORMAT)
    await connection.execute(_IN_SCHEMA + tables + functions.creation)


# The storage in PostgreSQL: any number of servers on one database, without a leader.
#
# Reads are statements of their own, so they see everything that any server committed before them. Writes are plans,
# carried out by a function in the database (``commit.sql``): one call, one transaction and one round trip for all
# waiting plans.

_ANALYZE: Final = (
    "ANALYZE counterfoil.contexts, counterfoil.contents, counterfoil.schema_ids, counterfoil.subjects,"
    " counterfoil.versions, counterfoil.schema_refs, counterfoil.settings, counterfoil.changes, counterfoil.records"
)
_LOGGER: Final = logging.getLogger("counterfoil.registry.store")
_FEW_DIGITS: Final = 3
_RETRY_S: Final = 0.2
"""The pause before a lost database is tried again."""

_COMMIT: Final = "SELECT counterfoil.{commit}($1::jsonb, $2::uuid[], $3::bytea[])"


class PostgresStorage(PostgresReads):
    """A storage in the database at ``address``, which :func:`prepare` has prepared.

    Nothing is connected before the first use.
    """

    _connections: Connections

    def __init__(
        self, address: PostgresAddress, *, limits: WriteLimits = DEFAULT_LIMITS, functions: Functions | None = None
    ) -> None:
        self._address = address
        self._functions = functions or own_functions()
        self._commit_call = _COMMIT.format(commit=self._functions.named("commit"))
        self._connections = Connections(address)
        super().__init__(self._connections)
        self._observers = WriteObservers()
        self._recovery: asyncio.Task[None] | None = None
        self.contact = StoreContact(self._begin_recovery)
        self._news = NewsFromElsewhere(self.journal, announce=self._observers.call, contact=self.contact)
        self._histories = KnownHistories(super().history)
        self.observe(self._histories)
        self._settings = KnownSettings(lambda: self.scopes(MAX_SCOPES + 1), read_one=super().settings)
        self.observe(self._settings)
        self._ids = KnownIds()
        self.observe(self._ids)
        self._last_known = LastKnown(histories=self._histories, settings=self._settings, ids=self._ids)
        self._analysis: asyncio.Task[None] | None = None
        self._committer = GroupCommit(
            self._transact, announce=self._observers.call, limits=limits, contact=self.contact
        )

    def observe(self, observer: Observer, *, of_records: bool = False) -> None:
        """Call ``observer`` for every write of this server, and for the writes of others."""
        self._observers.add(observer, of_records=of_records)

    async def catch_up(self) -> None:
        """Wait until the observers were called for every write, on any server, that was answered before."""
        await self._news.catch_up()

    async def catch_up_soon(self) -> None:
        """Call :meth:`catch_up`, and raise ``StoreSlow`` when that takes long."""
        await self._news.catch_up_soon()

    @property
    def has_current_ids(self) -> bool:
        """Whether the observers were called for every answered write that changed an id's content or versions."""
        return self._news.has_lease

    def last_known(self) -> LastKnown:
        """Return a storage over the caches, as of the time when the database was last reached."""
        return self._last_known

    def _begin_recovery(self) -> None:
        self._recovery = asyncio.create_task(self._recover())

    async def _recover(self) -> None:
        """Try the database repeatedly until it responds."""
        while self.contact.error is not None:
            await asyncio.sleep(_RETRY_S)
            with suppress(StoreUnavailable, StoreTimeout):
                await self.catch_up()

    async def guid_of_id(self, context: str, schema_id: int) -> UUID | None:
        """Return the fingerprint of an id's content."""
        found: UUID | None = await self._ids.noting(
            ("guid", context, schema_id), super().guid_of_id(context, schema_id)
        )
        return found

    async def id_of_guid(self, context: str, guid: UUID) -> int | None:
        """Return the id of a content in a context."""
        found: int | None = await self._ids.noting(("id", context, guid), super().id_of_guid(context, guid))
        return found

    async def ids_of_guid(self, guid: UUID) -> Sequence[tuple[str, int]]:
        """Return all ids of a content."""
        found: Sequence[tuple[str, int]] = await self._ids.noting(("ids", guid), super().ids_of_guid(guid))
        return found

    async def uses(self, context: str, schema_id: int) -> Sequence[VersionUse]:
        """Return the versions with an id."""
        found: Sequence[VersionUse] = await self._ids.noting(
            ("uses", context, schema_id), super().uses(context, schema_id)
        )
        return found

    async def contexts(self) -> Sequence[str]:
        """Return the known contexts."""
        found: Sequence[str] = await self._ids.noting(("contexts",), super().contexts())
        return found

    async def history(self, subject: QualifiedSubject) -> SubjectHistory:
        """Return all versions of a subject; cached until a server writes to it."""
        await self._news.seen()
        return await self._histories.of(subject)

    async def settings(self, scope: QualifiedSubject) -> ScopeSettings:
        """Return the stored settings of a scope; cached until a server changes settings."""
        await self._news.seen()
        return await self._settings.of(scope)

    async def settings_revision(self) -> int:
        """Return the revision of the settings."""
        return (await self._news.seen()).settings

    async def commit(self, plan: StoragePlan, *, by: Requester) -> WrittenChanges:
        """Carry out ``plan``; when this returns it is durable, and no server uses the old state of ids or of access."""
        plan = by.signed(plan)
        written = by.noted(await self._committer.commit(plan), plan)
        if written.is_leased:
            await asyncio.sleep(LEASE_S)
        return written

    async def _transact(self, plans: list[StoragePlan]) -> list[WrittenChanges | Exception]:
        try:
            return await self._transact_together(plans)
        except SchemaTooLarge as error:
            if len(plans) == 1:
                return [error]
            return [outcome for plan in plans for outcome in await self._transact([plan])]

    async def _transact_together(self, plans: list[StoragePlan]) -> list[WrittenChanges | Exception]:
        batch = batch_of(plans)
        answer = json.loads(await self._call_commit(batch))
        self._news.note_own(begun=answer["begun"], ended=Stamps(answer["ended"], answer["settings"]))
        if len(str(answer["ended"])) > max(len(str(answer["begun"])), _FEW_DIGITS):
            self._analysis = asyncio.create_task(self._analyze())
        return outcomes_of(plans, answer)

    async def _call_commit(self, batch: CommitBatch, *, restorations: int = 5) -> str:
        """Call the function in the database and return its result; create it again if an upgrade has removed it.

        ``restorations`` is how often that is done: an upgrade may fall between the creation and the call.
        """
        try:
            rows = await self._connections.write(self._commit_call, batch.plans, batch.guids, batch.texts)
        except FunctionsGone:
            if not restorations:
                raise
            _LOGGER.warning("the functions in the database are missing, and are created again")
            await restore_functions(self._address, self._functions)
            return await self._call_commit(batch, restorations=restorations - 1)
        return str(rows[0][0])

    async def _analyze(self) -> None:
        """Let the database analyze its tables, which are ten times as long as at the last time.

        It plans queries by the table sizes of the last analysis, and analyzes by itself only now and then: until then
        each write into a registry that is filled at once would read whole tables.
        """
        with suppress(StoreUnavailable, StoreTimeout):
            await self._connections.write(_ANALYZE)

    @property
    def load(self) -> Load:
        """The number of waiting writes and of used connections."""
        return Load(self._committer.waiting, self._connections.in_use, self._connections.max_size)

    async def check(self) -> None:
        """Check that the database responds."""
        await self.catch_up()

    async def close(self) -> None:
        """Finish the running writes and close the connections."""
        if self._recovery is not None:
            self._recovery.cancel()
        await self._committer.close()
        if self._analysis is not None:
            await self._analysis
        await self._connections.close()
