"""Translating errors of PostgreSQL and its driver into errors of the registry."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Any, Final

import asyncpg

from counterfoil.registry.domain.errors import StaleWrite, StoreNotUsable
from counterfoil.registry.store.refusals import uncertain
from counterfoil.schema.errors import SchemaTooLarge, StoreTimeout, StoreUnavailable

if TYPE_CHECKING:
    from counterfoil.registry.store.postgres.address import PostgresAddress
    from counterfoil.schema.errors import CounterfoilError


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
