"""Connections to PostgreSQL: their address, a pool, and what errors mean."""

from __future__ import annotations

import asyncio
import hashlib
import ipaddress
import re
import ssl
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

import asyncpg

from counterfoil.registry.store.protocol import uncertain
from counterfoil.registry.store.writes import StaleWrite, StoreNotUsable
from counterfoil.schema.errors import SchemaTooLarge, StoreTimeout, StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from counterfoil.schema.errors import CounterfoilError


# The URL of a PostgreSQL store: the driver's part, and this registry's parameters.

_DEFAULT_POOL_SIZE: Final = 10
_DEFAULT_TIMEOUT_S: Final = 10.0
_MAX_POOL_SIZE: Final = 1000
_FILES: Final = ("sslrootcert", "sslcert", "sslkey", "sslcrl")
_PREPARED: Final = {"auto": None, "on": True, "off": False}


@dataclass(frozen=True, slots=True)
class PostgresAddress:
    """The address of the database, and the settings of its connections.

    ``dsn`` is for the driver; ``shown`` is the same without the password. ``pool_size`` limits the connections of this
    process; ``timeout_s`` limits each statement, and the wait for a connection. Without ``prepared_statements`` no
    state is kept on a connection between two statements; None means without if the connection goes through a pooler.
    """

    dsn: str
    shown: str
    pool_size: int = _DEFAULT_POOL_SIZE
    timeout_s: float = _DEFAULT_TIMEOUT_S
    prepared_statements: bool | None = None


def parse_address(url: str) -> PostgresAddress:
    """Parse ``url``; raise ``StoreNotUsable`` for an invalid part.

    >>> parse_address("postgresql://me:secret@db:5432/registry?pool_size=4").shown
    'postgresql://me@db:5432/registry'
    """
    try:
        parts = urlsplit(url)
        login, _, host = parts.netloc.rpartition("@")
        user = login.partition(":")[0]
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
    except ValueError as error:
        raise StoreNotUsable(f"The store's URL cannot be read: {error}") from None
    if ":" in parts.netloc and any("@" in each for each in (parts.path, parts.fragment, *query)):  # in a password
        raise StoreNotUsable(
            "The store's URL has an @ after the first /, ? or #; write it as %40, and in a password / as %2F, ? as %3F "
            "and # as %23"
        )
    shown = urlunsplit((parts.scheme, f"{user}@{host}" if user else host, unquote(parts.path), "", ""))
    pool_size = _number(query.pop("pool_size", _DEFAULT_POOL_SIZE), "pool_size", highest=_MAX_POOL_SIZE)
    timeout_s = _number(query.pop("timeout_s", _DEFAULT_TIMEOUT_S), "timeout_s", highest=3600)
    prepared = query.pop("prepared_statements", "auto")
    if prepared not in _PREPARED:
        raise StoreNotUsable(f"prepared_statements={prepared[:40]!r} in the store's URL; expected auto, on or off")
    for name in _FILES:
        if name in query and not Path(query[name]).is_file():
            raise StoreNotUsable(f"{name}={query[name][:200]!r} in the store's URL is no file")
    dsn = urlunsplit(parts._replace(query=urlencode(query, quote_via=quote)))
    return PostgresAddress(dsn, shown, int(pool_size), timeout_s, _PREPARED[prepared])


def is_server_verified(dsn: str, environment: Mapping[str, str]) -> bool:
    """Return whether connections cannot reach another server than the one that is meant: on this machine, or by TLS.

    >>> is_server_verified("postgresql://db/registry?sslmode=require", {})
    False
    >>> is_server_verified("postgresql://127.0.0.1/registry", {})
    True
    """
    parts = urlsplit(dsn)
    query = dict(parse_qsl(parts.query))
    if query.get("sslmode", environment.get("PGSSLMODE")) == "verify-full":
        return True
    named = query.get("host") or parts.netloc.rpartition("@")[2] or environment.get("PGHOST", "")
    return all(map(_is_on_this_machine, unquote(named).split(",")))


def _is_on_this_machine(host: str) -> bool:
    """Return whether ``host``, perhaps with a port, is a socket or a loopback address."""
    name = urlsplit(f"//{host}").hostname or ""
    return host.startswith(("/", "@")) or name in {"", "localhost"} or _is_loopback(name)


def _is_loopback(name: str) -> bool:
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def _number(given: str | float, name: str, *, highest: int) -> float:
    try:
        number = float(given)
    except ValueError:
        number = 0
    if not 0 < number <= highest or (name == "pool_size" and number != int(number)):
        raise StoreNotUsable(f"{name}={str(given)[:40]!r} in the store's URL; expected a number from 1 to {highest}")
    return number


# The functions in the database: they are part of the program, and each version has names of its own.

_CREATED: Final = re.compile(r"^CREATE FUNCTION (\w+)\(", re.MULTILINE)
_DIGITS: Final = 12
_OTHERS: Final = "pronamespace = 'counterfoil'::regnamespace AND right(proname, {length}) <> '{ending}'"
_COUNT: Final = "SELECT count(*) FROM pg_proc WHERE {others}"
_REMOVAL: Final = """
DO $$
DECLARE
  each regprocedure;
BEGIN
  PERFORM 1 FROM counterfoil.stamps FOR UPDATE;  -- after whatever they have under way
  FOR each IN SELECT oid FROM pg_proc WHERE {others} LOOP
    EXECUTE 'DROP FUNCTION ' || each;
  END LOOP;
END $$;
"""


class Functions:
    """The functions that ``source`` creates, under names that end in the digest of ``source``.

    So servers of several versions can use one database, as in an upgrade of one server after the other: each calls the
    functions that it was tested with. Equal names are equal functions.
    """

    def __init__(self, source: str) -> None:
        self._source = source
        self._ending = "_" + hashlib.sha256(source.encode()).hexdigest()[:_DIGITS]

    def named(self, name: str) -> str:
        """Return the name in the database of the function ``name`` of ``source``."""
        return name + self._ending

    @cached_property
    def names(self) -> list[str]:
        """The sorted names in the database."""
        return sorted(self.named(name) for name in self._plain_names)

    @cached_property
    def creation(self) -> str:
        """The statements that create missing functions, in the first schema of the search path."""
        called = re.compile(rf"\b({'|'.join(self._plain_names)})(?=\()")
        text = called.sub(lambda found: self.named(found[1]), self._source)
        return text.replace("CREATE FUNCTION ", "CREATE OR REPLACE FUNCTION ")

    @property
    def removal_of_others(self) -> str:
        """The statement that removes the functions of all other versions, after their running calls."""
        return _REMOVAL.format(others=self._others)

    @property
    def count_of_others(self) -> str:
        """The query that counts the functions of all other versions."""
        return _COUNT.format(others=self._others)

    @property
    def _others(self) -> str:
        return _OTHERS.format(length=len(self._ending), ending=self._ending)

    @property
    def _plain_names(self) -> list[str]:
        return _CREATED.findall(self._source)


@cache
def own_functions() -> Functions:
    """Return the functions of this version."""
    return Functions(resources.files("counterfoil.registry.store.postgres").joinpath("commit.sql").read_text("utf-8"))


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
