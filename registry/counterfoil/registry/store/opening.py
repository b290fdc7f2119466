"""Opening the storage of a URL."""

from __future__ import annotations

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from counterfoil.registry.logs import LOGGER
from counterfoil.registry.store.committing import DEFAULT_LIMITS, WriteLimits
from counterfoil.registry.store.protocol import Storage
from counterfoil.registry.store.writes import StoreNotUsable

_SQLITE = "sqlite://"
_POSTGRES = ("postgresql", "postgres")
IN_MEMORY = Path()
"""The path of a store that is in no file."""


def open_store(url: str, *, limits: WriteLimits = DEFAULT_LIMITS) -> Storage:
    """Open the storage that ``url`` names; ``limits`` are those of waiting writes.

    ``sqlite:///relative.db``, ``sqlite:////absolute.db``, ``sqlite://`` for memory, or ``postgresql://user@host/db``;
    raises ``StoreNotUsable`` for anything else, and for a file or database that cannot be used.
    """
    path = sqlite_path(url)
    if path is None:
        return _open_postgres(url, limits)
    if path == IN_MEMORY:
        from counterfoil.registry.store.memory import MemoryStorage

        return MemoryStorage()
    from counterfoil.registry.store.sqlite.storage import SqliteStorage

    return SqliteStorage(path, limits=limits)


def sqlite_path(url: str) -> Path | None:
    """Return the file that ``url`` names, or ``IN_MEMORY``, or None for PostgreSQL.

    Raise ``StoreNotUsable`` otherwise.
    """
    if url.partition("://")[0] in _POSTGRES:
        return None
    if not url.startswith(_SQLITE):
        raise StoreNotUsable(
            f"Store {url!r} is not known; expected sqlite:///relative.db, sqlite:////absolute.db, sqlite:// (memory) "
            "or postgresql://user@host:5432/database"
        )
    rest = url.removeprefix(_SQLITE)
    if rest in {"", "/", "/:memory:"}:
        return IN_MEMORY
    if not rest.startswith("/"):
        raise StoreNotUsable(f"Store {url!r} names a host; SQLite is a file: sqlite:///relative.db")
    return Path(rest.removeprefix("/"))


def _open_postgres(url: str, limits: WriteLimits) -> Storage:
    from counterfoil.registry.store.postgres.connections import is_server_verified, parse_address
    from counterfoil.registry.store.postgres.storage import PostgresStorage, prepare

    address = parse_address(url)
    if not is_server_verified(address.dsn, os.environ):
        LOGGER.warning(
            "the certificate of PostgreSQL is not verified; set sslmode=verify-full and sslrootcert in the store's URL",
            extra={"store": address.shown},
        )
    with ThreadPoolExecutor(1) as thread:  # the caller may have an event loop of its own
        thread.submit(asyncio.run, prepare(address)).result()
    return PostgresStorage(address, limits=limits)
