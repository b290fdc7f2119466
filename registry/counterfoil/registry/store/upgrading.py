"""Upgrading a store to the format of this version: ``counterfoil db upgrade``. Never imported by a server.

A new format is: ``NNNN_what.sql`` in ``upgrades/sqlite/`` and in ``upgrades/postgresql/``, the statements that make it
of the one before (what was released is never changed again); the next number in
:data:`~counterfoil.registry.store.protocol.FORMAT`; the tables as they are then in ``schema.sql`` and
``postgres/tables.sql``, of which new stores are made. ``tests/integration/store/test_migrations.py`` says where an
upgraded store and a new one differ.
"""

from __future__ import annotations

import asyncio
import hashlib
import sqlite3
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Final

from counterfoil.registry.store.opening import IN_MEMORY, sqlite_path
from counterfoil.registry.store.postgres.connections import own_functions
from counterfoil.registry.store.protocol import FORMAT
from counterfoil.registry.store.sqlite.storage import FileLock, check_folder, connect, format_of, prepare, stored_format
from counterfoil.registry.store.writes import StoreNotUsable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    import asyncpg

    from counterfoil.registry.store.postgres.connections import PostgresAddress


# The migrations as SQL text, which is then run or shown: what one reads beforehand is what is carried out.

SQLITE: Final = "sqlite"
POSTGRESQL: Final = "postgresql"

_WITHOUT_KEYS: Final = "PRAGMA foreign_keys = OFF;  -- so that a table can be put in another's place"
_MARK: Final = {
    SQLITE: "PRAGMA user_version = {number};\n",
    POSTGRESQL: "INSERT INTO counterfoil.store_format VALUES ({number});\n",
}


def migrations(dialect: str) -> dict[int, str]:
    """Return the SQL that makes each format of the one before it, in order; a file's name begins with the number."""
    folder = resources.files(__package__).joinpath("upgrades", dialect)
    files = sorted((int(file.name.partition("_")[0]), file) for file in folder.iterdir() if file.name.endswith(".sql"))
    return {number: file.read_text("utf-8") for number, file in files}


def upgrade_script(dialect: str, found: int, *, until: int = FORMAT) -> str:
    """Return the statements that upgrade a store from the format ``found`` (0: an empty store) to the format ``until``.

    They are meant for one transaction, which is the caller's. In PostgreSQL they also make this version's functions
    where they are not there, and remove those of all others.
    """
    parts = ["SET LOCAL search_path = counterfoil, pg_catalog, pg_temp;\n"] if dialect == POSTGRESQL else []
    for number, statements in migrations(dialect).items():
        if found < number <= until:
            parts.append(f"-- format {number}\n{statements}\n{_MARK[dialect].format(number=number)}")
    if dialect == POSTGRESQL and until == FORMAT:
        parts.append(f"-- the functions of this version, and no others\n{own_functions().removal_of_others}")
        parts.append(own_functions().creation)
    return "\n".join(parts)


def in_transaction(dialect: str, script: str) -> str:
    """``script`` as one would give it to ``psql`` or ``sqlite3``: all of it is done, or nothing."""
    if dialect == SQLITE:
        return f"{_WITHOUT_KEYS}\nBEGIN IMMEDIATE;\n\n{script}\nCOMMIT;\n"
    return f"BEGIN;\n\n{script}\nCOMMIT;\n"


# The upgrade itself: of a file with a copy of it, of a database in one transaction.

_LONG_S: Final = 86_400.0


@dataclass(frozen=True, slots=True)
class Upgrade:
    """The earlier format of an upgraded store, 0 for a new one; it has ``FORMAT`` now.

    ``removed_functions`` counts the functions of other versions that were removed from the database.
    """

    shown: str
    found: int
    removed_functions: int = 0

    @property
    def format(self) -> int:
        """The format that the store has now."""
        return FORMAT

    @property
    def is_changed(self) -> bool:
        """Whether the store had an earlier format, or was empty."""
        return self.found != FORMAT or bool(self.removed_functions)

    @property
    def sentence(self) -> str:
        """The result as a sentence."""
        if self.found == 0:
            return f"{self.shown}: new, made in format {FORMAT}"
        removed = ""
        if self.removed_functions:
            noun = "function" if self.removed_functions == 1 else "functions"
            removed = f"; removed {self.removed_functions} database {noun} of other versions"
        if self.found == FORMAT:
            return f"{self.shown}: has format {FORMAT} already{removed}"
        return f"{self.shown}: upgraded from format {self.found} to {FORMAT}{removed}"


def upgrade(url: str) -> Upgrade:
    """Upgrade the store to this version's format, in one transaction; create it in an empty PostgreSQL database.

    Raises ``StoreNotUsable`` if it is in use, of a newer format, or no store, such as a missing SQLite file.
    """
    path = sqlite_path(url)
    if path is None:
        return asyncio.run(_upgrade_database(url))
    return _upgrade_file(_in_a_file(path))


def find_format(url: str) -> int:
    """Return the format of a store, 0 for an empty PostgreSQL database; raise ``StoreNotUsable`` if there is none."""
    path = sqlite_path(url)
    if path is None:
        return asyncio.run(_format_of_database(url))
    return stored_format(_in_a_file(path))


def check_is_store(url: str) -> None:
    """Raise ``StoreNotUsable`` unless a registry's store is at ``url``, or it is in memory. Nothing is created."""
    path = sqlite_path(url)
    if path is not None and path != IN_MEMORY:
        stored_format(path)
    elif is_new_store(url):
        from counterfoil.registry.store.postgres.connections import parse_address

        raise StoreNotUsable(f"{parse_address(url).shown} is empty; expected the database of a registry")


def is_new_store(url: str) -> bool:
    """Return whether opening the store at ``url`` would create it; nothing is created here."""
    path = sqlite_path(url)
    if path is None:
        return asyncio.run(_format_of_database(url)) == 0
    return path != IN_MEMORY and (not path.exists() or path.stat().st_size == 0)


def _in_a_file(path: Path) -> Path:
    if path == IN_MEMORY:
        raise StoreNotUsable("A store in memory ends with its server; name a file or a database")
    return path


def upgrade_sql(url: str, found: int) -> str:
    """Return the statements of :func:`upgrade` for a store of the format ``found``, without a connection."""
    if not 0 <= found <= FORMAT:
        raise StoreNotUsable(f"Store format {found} is not known; expected a number from 0 (none yet) to {FORMAT}")
    dialect = POSTGRESQL if sqlite_path(url) is None else SQLITE
    return in_transaction(dialect, upgrade_script(dialect, found))


def _upgrade_file(path: Path) -> Upgrade:
    stored_format(path)
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
    return Upgrade(str(path), found or 0)


def _run_script(connection: sqlite3.Connection, path: Path, found: int) -> None:
    add_functions(connection)
    try:
        connection.executescript(in_transaction(SQLITE, upgrade_script(SQLITE, found)))
    except sqlite3.Error as error:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise StoreNotUsable(f"{path} cannot be upgraded, and is as it was: {error}") from None


def add_functions(connection: sqlite3.Connection) -> None:
    """Add the function ``sha256``, which the migrations call and SQLite does not have."""
    connection.create_function("sha256", 1, lambda text: hashlib.sha256(text.encode()).digest(), deterministic=True)


async def _upgrade_database(url: str) -> Upgrade:
    from counterfoil.registry.store.postgres.connections import own_functions, parse_address
    from counterfoil.registry.store.postgres.storage import lock_and_find_format
    from counterfoil.registry.store.postgres.storage import prepare as prepare_database

    address = parse_address(url)
    async with _transaction(address) as connection:
        found, removed = await lock_and_find_format(connection, address), 0
        if found is not None and found <= FORMAT:
            removed = await connection.fetchval(own_functions().count_of_others)
            await connection.execute(upgrade_script(POSTGRESQL, found))
    await prepare_database(address)
    return Upgrade(address.shown, found or 0, removed)


async def _format_of_database(url: str) -> int:
    from counterfoil.registry.store.postgres.connections import parse_address
    from counterfoil.registry.store.postgres.storage import lock_and_find_format

    address = parse_address(url)
    async with _transaction(address) as connection:
        return await lock_and_find_format(connection, address) or 0


@asynccontextmanager
async def _transaction(address: PostgresAddress) -> AsyncIterator[asyncpg.Connection]:
    """Open a connection in a transaction, whose statements have no time limit."""
    from counterfoil.registry.store.postgres.connections import FOREIGN, at_start
    from counterfoil.registry.store.postgres.connections import connect as connect_to

    try:
        connection = await connect_to(address, command_timeout_s=_LONG_S)
        try:
            async with connection.transaction(isolation="read_committed"):
                yield connection
        finally:
            await connection.close()
    except (*FOREIGN, ValueError) as error:
        raise at_start(error, address) from None
