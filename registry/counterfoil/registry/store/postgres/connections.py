"""Connections to PostgreSQL: a bounded pool, time limits, and a second attempt after a lost connection."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import asyncpg

from counterfoil.registry.store.postgres.errors import FOREIGN, LOST, UNPREPARED, NotConnected, of_read, of_write

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterfoil.registry.store.postgres.address import PostgresAddress

_CACHED_STATEMENTS: Final = 100
_CLOSING_S: Final = 5.0
_RELEASING_S: Final = 0.5


class _Connection(asyncpg.Connection):  # type: ignore[misc]  # the driver carries no types
    """A connection that is not reset: no statement here changes the state of a session."""

    def get_reset_query(self) -> str:
        """Return no statement: a reset would cost a round trip for each statement."""
        return ""


class Connections:
    """Runs statements on any free connection; the pool is opened when it is first needed, in the loop that needs it.

    A lost server is noticed by the statement that fails; the next one opens a new connection. Behind a pooler, which
    gives each transaction another connection, no prepared statements are used: the name of a prepared statement may
    belong to a statement of another server.
    """

    def __init__(self, address: PostgresAddress) -> None:
        self._address = address
        self._is_prepared = address.prepared_statements
        self._pool: asyncpg.Pool | None = None
        self._opening = asyncio.Lock()

    async def rows(self, statement: str, *arguments: object) -> Sequence[Any]:
        """Return the rows of a statement that only reads; repeat it once after a lost connection.

        Raises ``StoreUnavailable`` or ``StoreTimeout``, with the status 503.
        """
        try:
            try:
                return await self._run(statement, arguments)
            except LOST:
                return await self._run(statement, arguments)
        except FOREIGN as error:
            raise of_read(error) from error

    async def write(self, statement: str, *arguments: object) -> Sequence[Any]:
        """Run a statement once and return its rows; raise the errors of :meth:`rows`, and ``StaleWrite``."""
        try:
            return await self._run(statement, arguments)
        except FOREIGN as error:
            raise of_write(error) from error

    async def _run(self, statement: str, arguments: Sequence[object]) -> Sequence[Any]:
        try:
            return await self._attempt(statement, arguments)
        except UNPREPARED:  # not carried out: the prepared statement is unknown
            self._is_prepared = False
            await self.close()
            return await self._attempt(statement, arguments)

    async def _attempt(self, statement: str, arguments: Sequence[object]) -> Sequence[Any]:
        pool, connection = await self._acquire()
        try:
            rows: Sequence[Any] = await connection.fetch(statement, *arguments)
            return rows
        finally:
            with suppress(*FOREIGN):  # a connection that cannot be used again is closed
                await pool.release(connection, timeout=_RELEASING_S)

    async def _acquire(self) -> tuple[asyncpg.Pool, asyncpg.Connection]:
        while True:
            pool: asyncpg.Pool | None = None
            try:
                pool = self._pool or await self._open()
                return pool, await pool.acquire(timeout=self._address.timeout_s)
            except FOREIGN as error:
                if pool is None or pool is self._pool:
                    raise NotConnected(error) from error  # else the pool was closed and replaced in the meantime

    async def _open(self) -> asyncpg.Pool:
        async with self._opening:
            if self._pool is None:
                if self._is_prepared is None:
                    self._is_prepared = not await _is_pooled(self._address)
                self._pool = await asyncpg.create_pool(
                    self._address.dsn,
                    min_size=0,
                    max_size=self._address.pool_size,
                    timeout=self._address.timeout_s,
                    command_timeout=self._address.timeout_s,
                    statement_cache_size=_CACHED_STATEMENTS if self._is_prepared else 0,
                    connection_class=_Connection,
                )
            return self._pool

    @property
    def in_use(self) -> int:
        """The number of connections that run a statement."""
        pool = self._pool
        return 0 if pool is None else pool.get_size() - pool.get_idle_size()

    @property
    def max_size(self) -> int:
        """The largest number of connections."""
        return self._address.pool_size

    async def close(self) -> None:
        """Close all connections; busy ones after a while."""
        pool, self._pool = self._pool, None
        if pool is None:
            return
        try:
            await asyncio.wait_for(pool.close(), _CLOSING_S)
        except FOREIGN:
            pool.terminate()


async def _is_pooled(address: PostgresAddress) -> bool:
    """Return whether the connection goes through a pooler, whose process id differs from the server's."""
    connection = await connect(address)
    try:
        process: int = await connection.fetchval("SELECT pg_backend_pid()")
        return bool(process != connection.get_server_pid())
    finally:
        connection.terminate()


async def connect(address: PostgresAddress, *, command_timeout_s: float | None = None) -> asyncpg.Connection:
    """Open a separate connection with the time limit of other statements; raise the driver's errors."""
    return await asyncpg.connect(
        address.dsn,
        timeout=address.timeout_s,
        command_timeout=command_timeout_s or address.timeout_s,
        statement_cache_size=0,
    )
