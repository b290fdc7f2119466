"""What PostgreSQL and its driver raise, as the errors of the registry."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Final

import asyncpg

from counterfoil.registry.domain.errors import StaleWrite, StoreNotUsable
from counterfoil.schema.errors import StoreTimeout, StoreUnavailable

if TYPE_CHECKING:
    from counterfoil.registry.store.postgres_address import PostgresAddress
    from counterfoil.schema.errors import CounterfoilError

FOREIGN: Final = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError, TimeoutError)
"""Everything that the driver raises when a statement cannot be carried out."""

LOST: Final = (
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    ConnectionError,
)
"""A connection that is gone: the same statement may well succeed on another one."""

UNPREPARED: Final = (asyncpg.DuplicatePreparedStatementError, asyncpg.InvalidSQLStatementNameError)
"""A pooler between us and the database gives each transaction another connection."""

_TIMEOUTS: Final = (TimeoutError, asyncpg.QueryCanceledError, asyncpg.LockNotAvailableError)
_OVERTAKEN: Final = (asyncpg.SerializationError, asyncpg.DeadlockDetectedError)
_REFUSED: Final = (asyncpg.InvalidPasswordError, asyncpg.InvalidAuthorizationSpecificationError)


def at_run_time(error: BaseException) -> CounterfoilError:
    """What to tell a caller whose statement failed with ``error``: try again, or later."""
    if isinstance(error, _OVERTAKEN):
        return StaleWrite("another write came first")
    if isinstance(error, _TIMEOUTS):
        return StoreTimeout("The store did not answer in time; try again later", status=HTTPStatus.SERVICE_UNAVAILABLE)
    return StoreUnavailable(
        f"The store cannot be used at the moment ({_sentence(error)}); try again later",
        status=HTTPStatus.SERVICE_UNAVAILABLE,
    )


def at_start(error: BaseException, address: PostgresAddress) -> StoreNotUsable:
    """Why the registry cannot start on ``address``."""
    said = _sentence(error)
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
    elif isinstance(error, (asyncpg.ClientConfigurationError, ValueError)):
        reason = f"the URL is not valid ({said})"
    elif isinstance(error, (OSError, asyncpg.PostgresConnectionError)):
        reason = f"the server cannot be reached ({said})"
    else:
        reason = f"the server answers: {said}"
    return StoreNotUsable(f"{address.shown} cannot be used as a store: {reason}")


def _sentence(error: BaseException) -> str:
    """What the other side said, on one line."""
    said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return " ".join((said or type(error).__name__).split())[:300]
