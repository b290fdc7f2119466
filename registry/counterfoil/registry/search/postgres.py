"""An index in the schema ``counterfoil_search`` of a PostgreSQL database, written by one server at a time.

Whoever has the advisory lock of a transaction writes, so that poolers which give each transaction another connection
do no harm.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

import asyncpg

from counterfoil.registry.search.dialects import FORMAT, REFUSAL_TABLES
from counterfoil.registry.search.postgres_dialect import PostgresDialect
from counterfoil.registry.search.protocol import IndexIsNewer, IndexUnusable
from counterfoil.registry.store.postgres.connections import FOREIGN, said_by
from counterfoil.schema.errors import StoreTimeout, StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from counterfoil.registry.store.postgres.connections import PostgresAddress

_LOCK: Final = 0x43464C53
_LOCK_OF_REFUSALS: Final = _LOCK + 1
_SCHEMA: Final = "counterfoil_search"
_CONNECTIONS: Final = 3
_STATEMENT_S: Final = 5.0
_BATCH_S: Final = 300.0
_FORMAT: Final = "SELECT document::jsonb ->> 'format' FROM counterfoil_search.state"
_TRIGRAMS: Final = (
    "SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'pg_trgm'"
)
_STATE: Final = (
    "CREATE TABLE IF NOT EXISTS counterfoil_search.state "
    "(id integer PRIMARY KEY CHECK (id = 1), document text NOT NULL)"
)
_SIZE: Final = (
    "SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class "
    "WHERE relnamespace = to_regnamespace('counterfoil_search') AND relkind = 'r'"
)
_TABLES: Final = (
    "SELECT oid::regclass::text FROM pg_class WHERE relnamespace = to_regnamespace('counterfoil_search') "
    "AND relkind = 'r' AND relname <> ALL ($1::text[])"
)
_LATE: Final = (asyncpg.QueryCanceledError, TimeoutError)
_UNUSABLE: Final = (
    asyncpg.SyntaxOrAccessError,  # a table or a right is missing
    asyncpg.InvalidSchemaNameError,
    asyncpg.DataError,
    asyncpg.DataCorruptedError,
    asyncpg.IndexCorruptedError,
    asyncpg.ReadOnlySQLTransactionError,
)
"""The errors of an index that cannot be used as it is; after others the same statement may succeed later."""


class _Transaction:
    """Statements in a transaction of a connection."""

    def __init__(self, connection: asyncpg.Connection, limit_s: float) -> None:
        self._connection = connection
        self._limit_s = limit_s

    async def rows(self, statement: str, *arguments: object) -> Sequence[Any]:
        """Return the rows of a statement."""
        found: Sequence[Any] = await self._connection.fetch(statement, *arguments, timeout=self._limit_s)
        return found

    async def rows_of_all(self, statements: Sequence[tuple[str, tuple[object, ...]]]) -> list[Sequence[Any]]:
        """Return the rows of several statements."""
        return [await self.rows(statement, *given) for statement, given in statements]

    async def each(self, statement: str, arguments: Sequence[Sequence[object]]) -> None:
        """Carry out a statement once for each row of arguments."""
        if arguments:
            await self._connection.executemany(statement, arguments, timeout=self._limit_s)

    async def each_of_all(self, work: Sequence[tuple[str, Sequence[Sequence[object]]]]) -> None:
        """Carry out several statements, each once for each row of its arguments."""
        for statement, arguments in work:
            await self.each(statement, arguments)

    async def script(self, statements: Sequence[str]) -> None:
        """Carry out statements without arguments, one after the other."""
        for statement in statements:
            await self._connection.execute(statement, timeout=self._limit_s)


class PostgresIndexDatabase:
    """An index in the database at ``address``; ``uses_trigrams`` is whether the extension ``pg_trgm`` is wanted."""

    def __init__(self, address: PostgresAddress, *, uses_trigrams: bool = True) -> None:
        self._address = address
        self._uses_trigrams = uses_trigrams
        self._pool: asyncpg.Pool | None = None
        self._opening = asyncio.Lock()
        self.dialect = PostgresDialect()

    async def prepare(self) -> None:
        """Make what every index has; remove an index of an older format.

        Raise ``IndexUnusable`` where the right is missing, and for an index of a newer format: servers of two versions
        may share the database, and would remove each other's.
        """
        pool = await self._opened()
        with _translated_errors():
            async with pool.acquire() as connection:
                async with connection.transaction():
                    await connection.execute(f"SELECT pg_advisory_xact_lock({_LOCK})")
                    await _prepare(connection)
                self.dialect = PostgresDialect(trigrams=await self._trigrams(connection))

    async def _trigrams(self, connection: asyncpg.Connection) -> str:
        """Return the schema of the extension for parts of names, which is made if it can be; else an empty text."""
        if not self._uses_trigrams:
            return ""
        with suppress(*FOREIGN):
            if await connection.fetchval(_TRIGRAMS) is None:
                await connection.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")
        return str(await connection.fetchval(_TRIGRAMS) or "")

    async def _opened(self) -> asyncpg.Pool:
        async with self._opening:
            if self._pool is None:
                with _translated_errors():
                    self._pool = await asyncpg.create_pool(
                        self._address.dsn,
                        min_size=0,
                        max_size=_CONNECTIONS,
                        timeout=self._address.timeout_s,
                        command_timeout=_STATEMENT_S,
                        statement_cache_size=100 if self._address.prepared_statements else 0,
                    )
            return self._pool

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[_Transaction]:
        """Return a transaction that only reads."""
        pool = await self._opened()
        with _translated_errors():
            async with pool.acquire() as connection, connection.transaction(isolation="repeatable_read", readonly=True):
                yield _Transaction(connection, _STATEMENT_S)

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[_Transaction | None]:
        """Return a transaction that writes; None while another server has one."""
        pool = await self._opened()
        with _translated_errors():
            async with pool.acquire() as connection, connection.transaction():
                if not await connection.fetchval(f"SELECT pg_try_advisory_xact_lock({_LOCK})"):
                    yield None
                    return
                await connection.execute("SET LOCAL synchronous_commit = off")  # what is lost is read again
                yield _Transaction(connection, _BATCH_S)

    @property
    def is_shared(self) -> bool:
        """Whether other processes see it."""
        return True

    @asynccontextmanager
    async def noting(self) -> AsyncIterator[_Transaction | None]:
        """Return a transaction that writes refusals: one server after the other, beside the steps of the index."""
        pool = await self._opened()
        with _translated_errors():
            async with pool.acquire() as connection, connection.transaction():
                await connection.execute(f"SELECT pg_advisory_xact_lock({_LOCK_OF_REFUSALS})")
                yield _Transaction(connection, _STATEMENT_S)

    async def remove(self) -> None:
        """Remove all tables but those of refusals."""
        pool = await self._opened()
        with _translated_errors():
            async with pool.acquire() as connection, connection.transaction():
                await connection.execute(f"SELECT pg_advisory_xact_lock({_LOCK})")
                await _drop_all_but_refusals(connection)

    async def size_bytes(self) -> int:
        """Return the size of the tables and their indexes."""
        async with self.reading() as found:
            [(size,)] = await found.rows(_SIZE)
        return int(size)

    async def close(self) -> None:
        """Close all connections."""
        pool, self._pool = self._pool, None
        if pool is not None:
            try:
                await asyncio.wait_for(pool.close(), _STATEMENT_S)
            except FOREIGN:
                pool.terminate()


async def _prepare(connection: asyncpg.Connection) -> None:
    if await connection.fetchval(f"SELECT to_regclass('{_SCHEMA}.state')") is not None:
        found = await connection.fetchval(_FORMAT)
        if found is not None and int(found) > FORMAT:
            raise IndexIsNewer(f"it has the format {found} of a newer version; this one needs {FORMAT}")
        if found is not None and int(found) < FORMAT:
            await _drop_all_but_refusals(connection)
    await connection.execute(f"CREATE SCHEMA IF NOT EXISTS {_SCHEMA}")
    await connection.execute(_STATE)
    for statement in PostgresDialect().refusal_tables:
        await connection.execute(statement)
    await connection.execute(
        "INSERT INTO counterfoil_search.state VALUES (1, $1) ON CONFLICT DO NOTHING", json.dumps({"format": FORMAT})
    )


async def _drop_all_but_refusals(connection: asyncpg.Connection) -> None:
    rows = await connection.fetch(_TABLES, list(REFUSAL_TABLES))
    if rows:
        await connection.execute(f"DROP TABLE {', '.join(row[0] for row in rows)} CASCADE")


class _translated_errors:  # noqa: N801 - it is used as a function
    """Raise the errors of the driver as those of an index."""

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, _LATE):
            raise StoreTimeout(f"The search index did not answer within {_STATEMENT_S:g} s; search for more") from error
        if isinstance(error, _UNUSABLE):
            raise IndexUnusable(said_by(error)) from error
        if isinstance(error, FOREIGN):
            raise StoreUnavailable(f"The search index cannot be reached: {said_by(error)}") from error
