"""Bringing a PostgreSQL database to the format that this version knows, before the first request."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Final

from counterfoil.registry.domain.errors import StoreNotUsable
from counterfoil.registry.store.postgres_connections import connect
from counterfoil.registry.store.postgres_errors import FOREIGN, at_start

if TYPE_CHECKING:
    import asyncpg

    from counterfoil.registry.store.postgres_address import PostgresAddress


@dataclass(frozen=True, slots=True)
class Step:
    """What makes format ``number`` out of the one before: scripts that lie beside this module."""

    number: int
    scripts: tuple[str, ...]


STEPS: Final = (Step(1, ("postgres_tables.sql", "postgres_commit.sql")),)
"""In ascending order, without gaps. A step that was released is never changed again."""

_OLDEST_SERVER: Final = 13
_LOCK: Final = 0x43464C31
_STATE: Final = """
SELECT to_regnamespace('counterfoil') IS NOT NULL AS has_schema,
  to_regclass('counterfoil.store_format') IS NOT NULL AS is_ours,
  pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean AS is_read_only"""


async def prepare(address: PostgresAddress, *, steps: tuple[Step, ...] = STEPS) -> None:
    """Create the tables in a new database, or bring older ones up to date.

    Of several servers that start at once, one does it and the others wait. ``StoreNotUsable`` when the database cannot
    be reached, is read-only, or holds a newer format.
    """
    try:
        connection = await connect(address)
        try:
            _check_server(connection, address)
            async with connection.transaction(isolation="read_committed"):
                await _prepare(connection, address, steps)
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


async def _prepare(connection: asyncpg.Connection, address: PostgresAddress, steps: tuple[Step, ...]) -> None:
    await connection.execute(f"SELECT pg_advisory_xact_lock({_LOCK})")  # before anything is looked up, and remembered
    state = await connection.fetchrow(_STATE)
    if state["is_read_only"]:
        raise StoreNotUsable(f"{address.shown} cannot be used as a store: the server is read-only; name the primary")
    if state["has_schema"] and not state["is_ours"]:
        raise StoreNotUsable(f"{address.shown} has a schema counterfoil of another program; name another database")
    if not state["is_ours"]:
        await connection.execute(
            "CREATE SCHEMA counterfoil; CREATE TABLE counterfoil.store_format (number int NOT NULL)"
        )
    found = await connection.fetchval("SELECT max(number) FROM counterfoil.store_format") or 0
    if found > steps[-1].number:
        raise StoreNotUsable(
            f"{address.shown} was written by a newer counterfoil (store format {found}, this one knows "
            f"{steps[-1].number}); upgrade"
        )
    for step in steps[found:]:
        await _take(connection, step)


async def _take(connection: asyncpg.Connection, step: Step) -> None:
    await connection.execute("SET LOCAL search_path = counterfoil, pg_catalog, pg_temp")
    for script in step.scripts:
        await connection.execute(resources.files("counterfoil.registry.store").joinpath(script).read_text("utf-8"))
    await connection.execute("INSERT INTO counterfoil.store_format VALUES ($1)", step.number)
