"""Opening the index of a store: where it is, by the store's URL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.registry.search.index import SearchIndex
from counterfoil.registry.store.opening import IN_MEMORY, sqlite_path

if TYPE_CHECKING:
    from counterfoil.registry.search.protocol import IndexDatabase


def open_index(url: str, *, uses_parts: bool | None = None) -> SearchIndex:
    """Return the index of the store at ``url``; nothing is read or made before its first use.

    It is a file beside a SQLite store, a schema in the database of PostgreSQL, and in memory for a store in memory.
    ``uses_parts``: false to find names without an index of their parts, which is otherwise used where there is one.
    """
    return SearchIndex(_database(url, uses_parts=uses_parts))


def _database(url: str, *, uses_parts: bool | None) -> IndexDatabase:
    path = sqlite_path(url)
    if path is None:
        from counterfoil.registry.search.postgres import PostgresIndexDatabase
        from counterfoil.registry.store.postgres.connections import parse_address

        return PostgresIndexDatabase(parse_address(url), uses_trigrams=uses_parts is not False)
    from counterfoil.registry.search.sqlite import ENDING, SqliteIndexDatabase

    file = None if path == IN_MEMORY else path.with_name(path.name + ENDING)
    return SqliteIndexDatabase(file, has_parts=uses_parts)
