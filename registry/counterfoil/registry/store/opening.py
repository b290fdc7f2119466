"""From a store's URL to a storage."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from counterfoil.registry.domain.errors import StoreNotUsable

if TYPE_CHECKING:
    from counterfoil.registry.service.storage import Storage

_SQLITE = "sqlite://"
_POSTGRES = ("postgresql", "postgres")


def open_store(url: str) -> Storage:
    """The storage that ``url`` names.

    ``sqlite:///relative.db``, ``sqlite:////absolute.db``, ``sqlite://`` for memory, or ``postgresql://user@host/db``;
    ``StoreNotUsable`` for anything else, and for a file or database that cannot be used.
    """
    if url.partition("://")[0] in _POSTGRES:
        return _open_postgres(url)
    if not url.startswith(_SQLITE):
        raise StoreNotUsable(
            f"Store {url!r} is not known; expected sqlite:///relative.db, sqlite:////absolute.db, sqlite:// (memory) "
            "or postgresql://user@host:5432/database"
        )
    rest = url.removeprefix(_SQLITE)
    if rest in {"", "/", "/:memory:"}:
        from counterfoil.registry.store.memory import MemoryStorage

        return MemoryStorage()
    if not rest.startswith("/"):
        raise StoreNotUsable(f"Store {url!r} names a host; SQLite is a file: sqlite:///relative.db")
    from counterfoil.registry.store.sqlite import SqliteStorage

    return SqliteStorage(Path(rest.removeprefix("/")))


def _open_postgres(url: str) -> Storage:
    from counterfoil.registry.store.postgres import PostgresStorage
    from counterfoil.registry.store.postgres_address import parse_address
    from counterfoil.registry.store.postgres_preparing import prepare

    address = parse_address(url)
    with ThreadPoolExecutor(1) as thread:  # whoever calls may have an event loop of its own
        thread.submit(asyncio.run, prepare(address)).result()
    return PostgresStorage(address)
