"""Connections to PostgreSQL, and its errors as errors of the registry."""

from __future__ import annotations

import asyncio
import ssl
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import asyncpg

from counterfoil.registry.store.protocol import uncertain
from counterfoil.registry.store.writes import StaleWrite, StoreNotUsable
from counterfoil.schema.errors import SchemaTooLarge, StoreTimeout, StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterfoil.registry.store.postgres.address import PostgresAddress
    from counterfoil.schema.errors import CounterfoilError


# Translating errors of PostgreSQL and its driver into errors of the registry.


class NotConnected(Exception):
    """No connection was available, because of ``reason``: the statement was not begun."""

    def __init__(self, reason: BaseException) -> None:
        super().__init__(str(reason))
        self.reason = reason


class FunctionsGone(StoreUnavailable):
    """A function of the registry is not in the database; the statement was not carried out."""


FOREIGN: Final = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,
    TimeoutError,
    NotConnected,
)
"""The errors of the driver when a statement cannot be carried out, and :class:`NotConnected`."""

LOST: Final = (
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    ConnectionError,
)
"""The errors of a lost connection: the same statement may succeed on another one."""

UNPREPARED: Final = (asyncpg.DuplicatePreparedStatementError, asyncpg.InvalidSQLStatementNameError)
"""The errors of prepared statements behind a pooler, which gives each transaction another connection."""

_OVERTAKEN: Final = (asyncpg.SerializationError, asyncpg.DeadlockDetectedError)
_REFUSED: Final = (asyncpg.InvalidPasswordError, asyncpg.InvalidAuthorizationSpecificationError)


_UNDONE: Final = asyncpg.PostgresError
"""The errors of a statement that the server did not carry out, if not among ``LOST``."""

_ADVICE: Final[tuple[tuple[Any, str], ...]] = (
    (asyncpg.ReadOnlySQLTransactionError, "it is read-only; name the primary, or let it take writes"),
    (asyncpg.DiskFullError, "its disk is full; free some space"),
    (asyncpg.OutOfMemoryError, "it is out of memory"),
    (asyncpg.TooManyConnectionsError, "it has too many connections; raise its max_connections, or lower pool_size"),
    (asyncpg.CannotConnectNowError, "it is starting or stopping; wait until it is ready"),
    (asyncpg.InvalidCatalogNameError, "the database is missing; restore it"),
    (asyncpg.UndefinedTableError, "the registry's tables are missing; restore them, or restart the registry"),
    (asyncpg.UndefinedFunctionError, "the registry's functions are missing; restore them, or restart the registry"),
    (asyncpg.InvalidSchemaNameError, "the registry's schema is missing; restore it, or restart the registry"),
    (asyncpg.InsufficientPrivilegeError, "the user lacks a right; grant it"),
    (asyncpg.DataCorruptedError, "it is damaged; restore a backup"),
    (asyncpg.IndexCorruptedError, "it is damaged; rebuild the index, or restore a backup"),
    (asyncpg.InvalidPasswordError, "it refuses the user; check name and password"),
    (asyncpg.InvalidAuthorizationSpecificationError, "it refuses the user; check name and password"),
    (LOST, "the connection was lost; it may be restarting"),
    (ssl.SSLError, "TLS with it failed; check the certificates of both sides"),
    (OSError, "it cannot be reached; check that it runs"),
)


def of_read(error: BaseException) -> CounterfoilError:
    """Return the error for a read that failed with ``error``: repeat it now, or later."""
    if isinstance(error, NotConnected):
        return _of_connecting(error.reason)
    if isinstance(error, _OVERTAKEN):
        return StaleWrite("another write came first")
    return _told(error, _sentence_of(error))


def of_write(error: BaseException) -> CounterfoilError:
    """Return the error for a write; the message says whether it may have been carried out."""
    if isinstance(error, asyncpg.ProgramLimitExceededError):
        return SchemaTooLarge(f"The store cannot hold this: {said_by(error)}")
    if isinstance(error, (NotConnected, *_OVERTAKEN)) or (isinstance(error, _UNDONE) and not isinstance(error, LOST)):
        return of_read(error)
    return _told(error, uncertain(_sentence_of(error)))


def _of_connecting(reason: BaseException) -> CounterfoilError:
    if isinstance(reason, TimeoutError):
        return StoreTimeout(
            "No connection to PostgreSQL was free, or could be made, in time; try again later. If the database is "
            "well, raise pool_size"
        )
    return _told(reason, _sentence_of(reason))


def _told(error: BaseException, sentence: str) -> CounterfoilError:
    is_late = isinstance(error, (TimeoutError, asyncpg.QueryCanceledError, asyncpg.LockNotAvailableError))
    if is_late:
        return StoreTimeout(sentence)
    return FunctionsGone(sentence) if isinstance(error, asyncpg.UndefinedFunctionError) else StoreUnavailable(sentence)


def _sentence_of(error: BaseException) -> str:
    if isinstance(error, asyncpg.QueryCanceledError):
        return f"PostgreSQL ended the statement ({said_by(error)}); try again later, or raise its statement_timeout"
    if isinstance(error, asyncpg.LockNotAvailableError):
        return f"PostgreSQL waited too long for a lock ({said_by(error)}); end whoever holds it, or try again later"
    if isinstance(error, TimeoutError):
        return "PostgreSQL did not answer in time; try again later, or raise timeout_s in the store's URL"
    advice = next((said for kind, said in _ADVICE if isinstance(error, kind)), "see what it says")
    return f"PostgreSQL cannot be used: {advice}, then try again ({said_by(error)})"


def at_start(error: BaseException, address: PostgresAddress) -> StoreNotUsable:
    """Return the error for a registry that cannot start on ``address``."""
    said = said_by(error)
    if isinstance(error, asyncpg.InvalidCatalogNameError):
        reason = f"there is no such database ({said}); create it with createdb"
    elif isinstance(error, _REFUSED):
        reason = f"the server refuses the user ({said})"
    elif isinstance(error, asyncpg.ReadOnlySQLTransactionError):
        reason = f"the server is read-only ({said}); name the primary"
    elif isinstance(error, asyncpg.InsufficientPrivilegeError):
        reason = f"the user may not create or use the registry's tables ({said})"
    elif isinstance(error, TimeoutError):
        reason = f"the server did not answer within {address.timeout_s:g} s"
    elif isinstance(error, ssl.SSLError):  # some of which are a ValueError, too
        reason = f"TLS with the server failed ({said}); check sslmode, sslrootcert, sslcert and sslkey in its URL"
    elif isinstance(error, (asyncpg.ClientConfigurationError, ValueError)):
        reason = f"the URL is not valid ({said})"
    elif isinstance(error, (OSError, asyncpg.PostgresConnectionError)):
        reason = f"the server cannot be reached ({said})"
    else:
        reason = f"the server answers: {said}"
    return StoreNotUsable(f"{address.shown} cannot be used as a store: {reason}")


def said_by(error: BaseException) -> str:
    """Return the message of the server on one line."""
    said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return " ".join((said or type(error).__name__).split())[:300]


# Connections to PostgreSQL: a bounded pool, time limits, and a second attempt after a lost connection.

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
