"""Fill an empty store with any number of versions, quickly and in one transaction.

    python benchmarks/http/generate.py sqlite:///big.db --subjects 1000 --versions 1000

The content is that of as many registrations: ``counterfoil db check`` finds nothing. Schemas are Avro records, each
version of a subject can be read with the ones before and after it, and all texts differ.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from counterfoil.registry.store.changes import JournalChangeKind, chain_after
from counterfoil.registry.store.opening import open_store, sqlite_path
from counterfoil.registry.store.postgres.connections import connect as connect_to
from counterfoil.registry.store.postgres.connections import parse_address
from counterfoil.registry.store.sqlite.storage import FileLock, connect
from counterfoil.registry.store.writes import StoreNotUsable
from counterfoil.schema.fingerprint import content_guid
from counterfoil.schema.model import SchemaType

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator
    from pathlib import Path

    import asyncpg

BEGUN_MS: Final = 1_700_000_000_000
_LONG_S: Final = 86_400.0
_FIELDS: Final = "".join(f'{{"name":"field_{number}","type":"string"}},' for number in range(4))


@dataclass(frozen=True, slots=True)
class Shape:
    """The number of subjects, and of versions of each. The numbers in the subjects' names have leading zeros."""

    subjects: int
    versions: int
    prefix: str = "subject"

    @property
    def size(self) -> int:
        """The number of all versions, which is also the highest id and the number of the last change."""
        return self.subjects * self.versions

    def name(self, subject: int) -> str:
        """Return the name of a subject; subjects count from 1."""
        return f"{self.prefix}-{subject:07d}"

    def text(self, subject: int, version: int) -> str:
        """Return the schema of a version, in its canonical form."""
        added = f'{{"name":"added_{version}","type":["null","long"],"default":null}}'
        return f'{{"type":"record","name":"Record_{subject}","namespace":"bench","fields":[{_FIELDS}{added}]}}'

    def language(self, subject: int) -> SchemaType:
        """Return the language of a subject's versions."""
        del subject
        return SchemaType.AVRO

    def language_of(self, place: int) -> SchemaType:
        """Return the language of the schema at a place among all versions."""
        return self.language(place // self.versions + 1)

    def text_of(self, place: int) -> str:
        """Return the schema at a place among all versions; places count from 0."""
        subject, version = divmod(place, self.versions)
        return self.text(subject + 1, version + 1)

    def each(self) -> Iterator[tuple[int, int, int]]:
        """Yield the change (and id), subject and version of each registration, in order."""
        for subject in range(1, self.subjects + 1):
            for version in range(1, self.versions + 1):
                yield (subject - 1) * self.versions + version, subject, version


def generate(url: str, shape: Shape) -> None:
    """Fill the store at ``url``, which is created if missing; raise ``StoreNotUsable`` if it is not empty."""
    asyncio.run(_make_empty(url))
    guids = [content_guid(shape.text(subject, version)) for _, subject, version in shape.each()]
    path = sqlite_path(url)
    if path is None:
        asyncio.run(_fill_database(url, shape, guids))
    else:
        _fill_file(path, shape, [guid.bytes for guid in guids])


async def _make_empty(url: str) -> None:
    storage = open_store(url)
    try:
        if await storage.last_change():
            raise StoreNotUsable(f"{url} is not empty; name another store")
    finally:
        await storage.close()


def _tables(shape: Shape, guids: list[Any], *, yes: Any, no: Any, text: Any) -> dict[str, Iterator[tuple[Any, ...]]]:
    """Return the rows of each table, referenced tables first; contents are sorted by their key."""
    by_guid = sorted(range(shape.size), key=guids.__getitem__)
    return {
        "contexts": iter([(1, ".", shape.size + 1, yes)]),
        "contents": (
            (guids[each], shape.language_of(each).value, text(shape.text_of(each)), None, None, None)
            for each in by_guid
        ),
        "schema_ids": ((1, seq, guids[seq - 1], yes) for seq in range(1, shape.size + 1)),
        "subjects": (
            (each, 1, shape.name(each), shape.versions, each * shape.versions) for each in range(1, shape.subjects + 1)
        ),
        "versions": ((subject, version, 1, seq, no, BEGUN_MS + seq) for seq, subject, version in shape.each()),
        "changes": _changes(shape, guids),
    }


def _changes(shape: Shape, guids: list[Any]) -> Iterator[tuple[Any, ...]]:
    chain = b""
    for seq, subject, version in shape.each():
        place = (seq, BEGUN_MS + seq, JournalChangeKind.REGISTERED.value, ".", shape.name(subject), version, seq)
        guid = guids[seq - 1]
        digits = guid.hex() if isinstance(guid, bytes) else guid.hex
        chain = chain_after(chain, (*place, digits, None, None, None))
        yield *place, guid, None, None, None, chain


# --- SQLite -----------------------------------------------------------------------------------------------------------


def _fill_file(path: Path, shape: Shape, guids: list[bytes]) -> None:
    lock = FileLock(path)
    lock.take()
    try:
        with closing(connect(path)) as connection:
            connection.execute("PRAGMA foreign_keys = OFF")
            connection.execute("PRAGMA journal_mode = OFF")  # a file that was not filled completely is of no use
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute("PRAGMA cache_size = -262144")
            connection.execute("BEGIN EXCLUSIVE")
            _fill(connection, shape, guids)
            connection.execute("COMMIT")
            connection.execute("PRAGMA journal_mode = WAL")
    finally:
        lock.release()


def _fill(connection: sqlite3.Connection, shape: Shape, guids: list[bytes]) -> None:
    indexes = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql NOT NULL").fetchall()
    for name, _ in indexes:
        connection.execute(f"DROP INDEX {name}")
    for table, rows in _tables(shape, guids, yes=1, no=0, text=str).items():
        width = len(connection.execute(f"PRAGMA table_info({table})").fetchall())
        connection.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * width)})", rows)
    connection.execute("UPDATE stamps SET change = ?", (shape.size,))
    for _, sql in indexes:
        connection.execute(sql)


# --- PostgreSQL -------------------------------------------------------------------------------------------------------

_FOREIGN_KEYS: Final = """
SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint
WHERE connamespace = 'counterfoil'::regnamespace AND contype = 'f'"""
_INDEXES: Final = """
SELECT i.indexrelid::regclass::text, pg_get_indexdef(i.indexrelid) FROM pg_index i
JOIN pg_class c ON c.oid = i.indexrelid WHERE c.relnamespace = 'counterfoil'::regnamespace
AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = i.indexrelid)"""


async def _fill_database(url: str, shape: Shape, guids: list[Any]) -> None:
    connection = await connect_to(parse_address(url), command_timeout_s=_LONG_S)
    try:
        async with connection.transaction():
            await connection.execute("SET LOCAL search_path = counterfoil, pg_catalog")
            await connection.execute("SET LOCAL maintenance_work_mem = '256MB'")
            await connection.execute("LOCK TABLE stamps IN ACCESS EXCLUSIVE MODE")
            foreign_keys = await connection.fetch(_FOREIGN_KEYS)
            indexes = await connection.fetch(_INDEXES)
            for table, name, _ in foreign_keys:
                await connection.execute(f"ALTER TABLE {table} DROP CONSTRAINT {name}")
            for name, _ in indexes:
                await connection.execute(f"DROP INDEX {name}")
            await _copy(connection, shape, guids)
            for _, definition in indexes:
                await connection.execute(definition)
            for table, name, definition in foreign_keys:
                await connection.execute(f"ALTER TABLE {table} ADD CONSTRAINT {name} {definition}")
        await connection.execute("VACUUM ANALYZE")
    finally:
        await connection.close()


async def _copy(connection: asyncpg.Connection, shape: Shape, guids: list[Any]) -> None:
    for table, rows in _tables(shape, guids, yes=True, no=False, text=str.encode).items():
        await connection.copy_records_to_table(table, records=rows, schema_name="counterfoil")
    for table in ("contexts", "subjects"):
        sequence = "pg_get_serial_sequence($1, 'id')"
        await connection.execute(f"SELECT setval({sequence}, (SELECT max(id) FROM {table}))", f"counterfoil.{table}")
    await connection.execute("UPDATE stamps SET change = $1", shape.size)


def main() -> None:
    """Fill a store from the command line."""
    parser = argparse.ArgumentParser(description="Fill an empty store with subjects and versions.")
    parser.add_argument("url", help="sqlite:///relative.db, sqlite:////absolute.db or postgresql://user@host/database")
    parser.add_argument("--subjects", type=int, default=1000)
    parser.add_argument("--versions", type=int, default=1000)
    given = parser.parse_args()
    shape, begun = Shape(given.subjects, given.versions), time.monotonic()
    generate(given.url, shape)
    print(f"{shape.size:,} versions of {shape.subjects:,} subjects in {time.monotonic() - begun:.1f} s")


if __name__ == "__main__":
    main()
