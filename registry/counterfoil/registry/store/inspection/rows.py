"""The rows of a store at one moment, and the hash chain of the journal, computed again from them."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol
from uuid import UUID

from counterfoil.registry.audit.events import EventKind
from counterfoil.registry.store.changes import chain_after
from counterfoil.registry.store.opening import IN_MEMORY, sqlite_path
from counterfoil.registry.store.protocol import check_format
from counterfoil.registry.store.writes import StoreNotUsable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    import asyncpg

    from counterfoil.schema.rest.object_forms import Document


# The rows of a store at one moment, read in parts; writes of servers during the reading are not seen.

_PAGE: Final = 2000
_LONG_S: Final = 86_400.0


class StoreRows(Protocol):
    """Runs statements that only read; both databases have the same tables, named without a schema."""

    dialect: str

    def each(self, statement: str) -> Iterator[tuple[Any, ...]]:
        """Return the rows of a statement, of which a few thousand are in memory at a time."""

    def one(self, statement: str) -> Any:
        """Return the first value of the first row."""


class SqliteRows:
    """The rows in a SQLite file."""

    dialect = "sqlite"

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def each(self, statement: str) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a statement."""
        cursor = self._connection.execute(statement)
        while page := cursor.fetchmany(_PAGE):
            yield from page

    def one(self, statement: str) -> Any:
        """Return the first value of the first row."""
        return self._connection.execute(statement).fetchone()[0]


class PostgresRows:
    """The rows in a PostgreSQL database, over a connection in a transaction."""

    dialect = "postgresql"

    def __init__(self, connection: asyncpg.Connection, loop: asyncio.Runner) -> None:
        self._connection = connection
        self._loop = loop

    def each(self, statement: str) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a statement."""
        cursor = self._loop.run(_opened(self._connection.cursor(statement)))
        while page := self._loop.run(cursor.fetch(_PAGE)):
            yield from map(tuple, page)

    def one(self, statement: str) -> Any:
        """Return the first value of the first row."""
        return self._loop.run(self._connection.fetchval(statement))


async def _opened(cursor: Any) -> Any:
    return await cursor


def uuid_of(guid: Any) -> UUID:
    """Return the fingerprint in a value of either database."""
    return UUID(bytes=guid) if isinstance(guid, bytes) else UUID(int=guid.int)


def text_of(text: Any) -> str:
    """Return the schema's text in a value of either database."""
    return text.decode() if isinstance(text, bytes) else str(text)


@contextmanager
def open_rows(url: str) -> Iterator[StoreRows]:
    """Open the rows of a store in the current format.

    Raise ``StoreNotUsable`` if there is none, or it cannot be read.
    """
    path = sqlite_path(url)
    if path == IN_MEMORY:
        raise StoreNotUsable("A store in memory ends with its server; name a file or a database")
    with _file(path) if path is not None else _database(url) as rows:
        yield rows


@contextmanager
def _file(path: Path) -> Iterator[StoreRows]:
    from counterfoil.registry.store.sqlite.storage import connect_to_read, stored_format

    check_format(stored_format(path), shown=str(path), url=f"sqlite:///{path}")
    connection = None
    try:
        connection = connect_to_read(path)
        connection.execute("PRAGMA cache_size = -65536")
        connection.execute("BEGIN")
        yield SqliteRows(connection)
    except sqlite3.Error as error:
        raise StoreNotUsable(f"{path} cannot be read: {error}") from None
    finally:
        if connection is not None:
            connection.close()


@contextmanager
def _database(url: str) -> Iterator[StoreRows]:
    from counterfoil.registry.store.postgres.connections import FOREIGN, at_start, connect, parse_address

    address = parse_address(url)
    try:
        with asyncio.Runner() as loop:
            connection = loop.run(connect(address, command_timeout_s=_LONG_S))
            try:
                loop.run(_begin(connection))
                found = loop.run(_format_of(connection))
                if found is None:
                    raise StoreNotUsable(f"{address.shown} has no registry in it; expected the database of one")
                check_format(found, shown=address.shown, url=address.shown)
                yield PostgresRows(connection, loop)
            finally:
                loop.run(connection.close(timeout=address.timeout_s))
    except (*FOREIGN, ValueError) as error:
        raise at_start(error, address) from None


async def _begin(connection: asyncpg.Connection) -> None:
    await connection.transaction(isolation="repeatable_read", readonly=True).start()
    await connection.execute("SET LOCAL search_path = counterfoil, pg_catalog")


async def _format_of(connection: asyncpg.Connection) -> int | None:
    if await connection.fetchval("SELECT to_regclass('counterfoil.store_format')") is None:
        return None
    return int(await connection.fetchval("SELECT max(number) FROM counterfoil.store_format"))


# The findings of a check of a store.


@dataclass(frozen=True, slots=True)
class Breach:
    """One violation of an invariant. ``rule`` names the invariant, ``place`` the part of the store."""

    rule: str
    place: str
    message: str


# The hash chain of the journal, computed again from what is stored.

_CHANGES = """
SELECT seq, ts, kind, context, name, version, schema_id, guid, document, author, request_id, chain
FROM changes ORDER BY seq"""
_GUID = 7


class Link(NamedTuple):
    """A change's number and stored chain, and whether the change and the chain before lead to it."""

    seq: int
    chain: bytes
    fits: bool


def chain_links(rows: StoreRows) -> Iterator[Link]:
    """Yield the links of the chain in order."""
    before = b""
    for *facts, chain in rows.each(_CHANGES):
        match facts[_GUID]:
            case bytes() as guid:
                facts[_GUID] = guid.hex()
            case UUID() as guid:
                facts[_GUID] = guid.hex
            case _:  # none, or what somebody has put there by hand
                pass
        yield Link(facts[0], bytes(chain), chain_after(before, facts) == bytes(chain))
        before = bytes(chain)


def check_chain(rows: StoreRows) -> Iterator[Breach]:
    """Yield the changes that are not, or do not follow, what was written."""
    for link in chain_links(rows):
        if not link.fits:
            message = "it is not what was written, or the change before it is not the one that was (the hashes differ)"
            yield Breach("journal-chain", f"change {link.seq}", message)


# What a store has of audit files, and what audit files have of its journal.

_EVENTS = "SELECT number, event, document FROM audit ORDER BY number"


def stored_heads(rows: StoreRows) -> Iterator[tuple[int, Document]]:
    """Yield the heads of audit files in a store: the number of the event, and its facts."""
    for number, event, document in rows.each(_EVENTS):
        if event == EventKind.AUDIT_HEAD.text:
            yield number, json.loads(document)


def check_journal(rows: StoreRows, head_by_change: Mapping[int, str]) -> Iterator[tuple[int, str]]:
    """Yield the changes that do not fit the journal's own chain, or the heads of it that were kept elsewhere."""
    last = 0
    for link in chain_links(rows):
        last = link.seq
        if not link.fits:
            yield link.seq, "it is not what was written, or the change before it is not (the hashes differ)"
        elif head_by_change.get(link.seq, link.chain.hex()) != link.chain.hex():
            yield link.seq, "the audit file has another hash of it: the journal was written anew"
    for change in sorted(head_by_change):
        if change > last:
            yield change, f"the audit file has its hash, but the journal ends at change {last}: changes were removed"
