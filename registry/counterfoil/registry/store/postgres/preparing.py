"""Preparing a PostgreSQL database before the first request."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING, Final

from counterfoil.registry.domain.errors import StoreNotUsable
from counterfoil.registry.store.formats import FORMAT, check_format
from counterfoil.registry.store.postgres.connections import connect
from counterfoil.registry.store.postgres.errors import FOREIGN, at_start, of_read
from counterfoil.registry.store.postgres.functions import own_functions
from counterfoil.schema.errors import StoreUnavailable

if TYPE_CHECKING:
    import asyncpg

    from counterfoil.registry.store.postgres.address import PostgresAddress
    from counterfoil.registry.store.postgres.functions import Functions


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
