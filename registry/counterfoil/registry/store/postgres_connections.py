"""Connections to PostgreSQL: a bounded pool, time limits, and a second attempt where a connection is gone."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

import asyncpg

from counterfoil.registry.store.postgres_errors import FOREIGN, LOST, UNPREPARED, at_run_time

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterfoil.registry.store.postgres_address import PostgresAddress

_CACHED_STATEMENTS: Final = 100
_CLOSING_S: Final = 5.0


class _Connection(asyncpg.Connection):  # type: ignore[misc]  # the driver carries no types
    """A connection that needs no cleaning: nothing here changes the state of a session."""

    def get_reset_query(self) -> str:
        """No statement: it would cost a round trip for each one."""
        return ""


class Connections:
    """Runs statements on whichever connection is free; opened when the first one is needed, in the loop that needs it.

    A lost server is noticed by the statement that fails; the next one connects anew.
    """

    def __init__(self, address: PostgresAddress) -> None:
        self._address = address
        self._is_prepared = address.prepared_statements
        self._pool: asyncpg.Pool | None = None
        self._opening = asyncio.Lock()

    async def rows(self, statement: str, *arguments: object) -> Sequence[Any]:
        """The rows of a statement that only reads; tried once more where a connection was lost.

        Raises ``StoreUnavailable`` or ``StoreTimeout``, with the status 503.
        """
        try:
            return await self._run(statement, arguments)
        except LOST:
            return await self.write(statement, *arguments)
        except FOREIGN as error:
            raise at_run_time(error) from error

    async def write(self, statement: str, *arguments: object) -> Sequence[Any]:
        """The rows of a statement that is tried once; raises as :meth:`rows`, and ``StaleWrite``."""
        try:
            return await self._run(statement, arguments)
        except FOREIGN as error:
            raise at_run_time(error) from error

    async def _run(self, statement: str, arguments: Sequence[object]) -> Sequence[Any]:
        try:
            return await self._attempt(statement, arguments)
        except UNPREPARED:  # the statement was not carried out: the name that it was prepared under is unknown
            await self._forget_statements()
            return await self._attempt(statement, arguments)

    async def _attempt(self, statement: str, arguments: Sequence[object]) -> Sequence[Any]:
        pool = self._pool or await self._open()
        async with pool.acquire(timeout=self._address.timeout_s) as connection:
            rows: Sequence[Any]
            if self._is_prepared:
                rows = await connection.fetch(statement, *arguments)
            else:
                async with connection.transaction():  # keeps a pooler from changing the connection half-way
                    rows = await connection.fetch(statement, *arguments)
            return rows

    async def _open(self) -> asyncpg.Pool:
        async with self._opening:
            if self._pool is None:
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

    async def _forget_statements(self) -> None:
        """Go on without prepared statements, on new connections."""
        if self._is_prepared:
            self._is_prepared = False
            await self.close()

    async def close(self) -> None:
        """Let go of all connections, of those that are busy after a while too."""
        pool, self._pool = self._pool, None
        if pool is None:
            return
        try:
            await asyncio.wait_for(pool.close(), _CLOSING_S)
        except (TimeoutError, *FOREIGN):
            pool.terminate()


async def connect(address: PostgresAddress, *, command_timeout_s: float | None = None) -> asyncpg.Connection:
    """A connection of its own, whose statements may take as long as others may; raises whatever the driver raises."""
    return await asyncpg.connect(
        address.dsn,
        timeout=address.timeout_s,
        command_timeout=command_timeout_s or address.timeout_s,
        statement_cache_size=0,
    )
