"""Bringing a store to the format of this version: ``counterfoil db upgrade``."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from counterfoil.registry.domain.errors import StoreNotUsable
from counterfoil.registry.store.formats import FORMAT, check_format
from counterfoil.registry.store.migrations.scripts import POSTGRESQL, SQLITE, in_transaction, upgrade_script
from counterfoil.registry.store.opening import sqlite_path
from counterfoil.registry.store.sqlite_file import FileLock, check_folder, connect, format_of, prepare

if TYPE_CHECKING:
    from pathlib import Path

_LONG_S: Final = 86_400.0


@dataclass(frozen=True, slots=True)
class Upgrade:
    """The format that a store had, 0 where it was new; it has ``FORMAT`` now."""

    found: int


def upgrade(url: str) -> Upgrade:
    """Bring the store to this version's format, in one transaction; a new one is made.

    ``StoreNotUsable`` when it is in use, of a newer format, or cannot be a store.
    """
    path = sqlite_path(url)
    if path is not None:
        return _upgrade_file(path)
    return asyncio.run(_upgrade_database(url))


def upgrade_sql(url: str, found: int) -> str:
    """The statements that :func:`upgrade` would carry out on a store of the format ``found``; nothing is connected."""
    if not 0 <= found <= FORMAT:
        raise StoreNotUsable(f"Store format {found} is not known; expected a number from 0 (none yet) to {FORMAT}")
    dialect = POSTGRESQL if sqlite_path(url) is None else SQLITE
    return in_transaction(dialect, upgrade_script(dialect, found))


def _upgrade_file(path: Path) -> Upgrade:
    check_folder(path)
    lock = FileLock(path)
    lock.take()
    try:
        with closing(connect(path)) as connection:
            found = format_of(connection, path)
            if found is not None and found < FORMAT:
                _run_script(connection, path, found)
        prepare(path)
    except sqlite3.DatabaseError as error:
        raise StoreNotUsable(f"{path} cannot be upgraded: {error}") from None
    finally:
        lock.release()
    return Upgrade(found or 0)


def _run_script(connection: sqlite3.Connection, path: Path, found: int) -> None:
    try:
        connection.executescript(in_transaction(SQLITE, upgrade_script(SQLITE, found)))
    except sqlite3.Error as error:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise StoreNotUsable(f"{path} cannot be upgraded, and is as it was: {error}") from None


async def _upgrade_database(url: str) -> Upgrade:
    from counterfoil.registry.store.postgres_address import parse_address
    from counterfoil.registry.store.postgres_connections import connect as connect_to
    from counterfoil.registry.store.postgres_errors import FOREIGN, at_start
    from counterfoil.registry.store.postgres_preparing import lock_and_find_format
    from counterfoil.registry.store.postgres_preparing import prepare as prepare_database

    address = parse_address(url)
    try:
        connection = await connect_to(address)
        try:
            async with connection.transaction(isolation="read_committed"):
                found = await lock_and_find_format(connection, address)
                if found is not None and found < FORMAT:
                    await connection.execute(upgrade_script(POSTGRESQL, found), timeout=_LONG_S)
                elif found is not None:
                    check_format(found, shown=address.shown, url=address.shown)
        finally:
            await connection.close()
    except (*FOREIGN, ValueError) as error:
        raise at_start(error, address) from None
    await prepare_database(address)
    return Upgrade(found or 0)
