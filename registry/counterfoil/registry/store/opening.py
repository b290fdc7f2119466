"""From a store's URL to a storage."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from counterfoil.registry.domain.errors import StoreNotUsable

if TYPE_CHECKING:
    from counterfoil.registry.service.storage import Storage

_SQLITE = "sqlite://"


def open_store(url: str) -> Storage:
    """The storage that ``url`` names.

    ``sqlite:///relative.db``, ``sqlite:////absolute.db``, or ``sqlite://`` for memory; ``StoreNotUsable`` for anything
    else, and for a file that cannot be used.
    """
    if not url.startswith(_SQLITE):
        raise StoreNotUsable(
            f"Store {url!r} is not known; expected sqlite:///relative.db, sqlite:////absolute.db or sqlite:// (memory)"
        )
    rest = url.removeprefix(_SQLITE)
    if rest in {"", "/", "/:memory:"}:
        from counterfoil.registry.store.memory import MemoryStorage

        return MemoryStorage()
    if not rest.startswith("/"):
        raise StoreNotUsable(f"Store {url!r} names a host; SQLite is a file: sqlite:///relative.db")
    from counterfoil.registry.store.sqlite import SqliteStorage

    return SqliteStorage(Path(rest.removeprefix("/")))
