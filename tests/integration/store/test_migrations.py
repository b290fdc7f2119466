"""Stores of older formats: what they are told, what they become, and that both databases have the same tables."""

from __future__ import annotations

import asyncio
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.registry.store.changes import JournalChangeKind, ScopeSettings
from counterfoil.registry.store.inspection.invariants import check
from counterfoil.registry.store.inspection.rows import open_rows
from counterfoil.registry.store.opening import open_store
from counterfoil.registry.store.protocol import FORMAT
from counterfoil.registry.store.sqlite.storage import APPLICATION_ID
from counterfoil.registry.store.upgrading import (
    POSTGRESQL,
    SQLITE,
    add_functions,
    find_format,
    in_transaction,
    migrations,
    upgrade,
    upgrade_script,
    upgrade_sql,
)
from counterfoil.registry.store.writes import StoreNotUsable
from counterfoil.registry.subjects.versions import make_content
from counterfoil.schema.contexts import parse_subject
from counterfoil.schema.model import SchemaType
from counterfoil.schema.rest.subjects import Mode
from strategies.registry.store_catalogs import postgres_catalog, sqlite_catalog
from strategies.registry.write_plans import SOFT, append, delete, put

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from counterfoil.registry.store.protocol import Storage
    from local_services import PostgresClient

ORDERS, ELSEWHERE, GONE = parse_subject("orders"), parse_subject(":.ctx:orders"), parse_subject("gone")
GUIDS = [make_content(f'"t{number}"', SchemaType.AVRO).guid for number in range(4)]
CONFIG = '{"compatibility": "FULL"}'


# --- a store of format 1, as it was written by the version that had it -----------------------------------------------

OLD_ROWS = [
    "INSERT INTO contexts (name, next_schema_id) VALUES ('.', 4), ('.ctx', 2)",
    *(f"INSERT INTO contents VALUES (:guid{number}, 'AVRO', :text{number}, NULL, NULL, NULL)" for number in range(4)),
    "INSERT INTO schema_ids (context_id, id, guid) VALUES (1, 1, :guid0), (1, 2, :guid1), (1, 3, :guid2)",
    "INSERT INTO schema_ids (context_id, id, guid) VALUES (2, 1, :guid3)",
    "INSERT INTO subjects (context_id, name, active_versions, revision) VALUES (1, 'orders', 2, 90)",
    "INSERT INTO subjects (context_id, name, active_versions, revision) VALUES (1, 'gone', 0, 7), (2, 'orders', 1, 80)",
    "INSERT INTO versions VALUES (1, 1, 1, 1, :no, 1000), (1, 3, 1, 3, :no, 3000)",
    "INSERT INTO versions VALUES (2, 1, 1, 2, :yes, 2000), (3, 1, 2, 1, :no, 2000)",
    "INSERT INTO settings VALUES ('.', 'orders', :config, 'READONLY'), ('.', '', NULL, 'READWRITE')",
    "INSERT INTO settings VALUES ('.ctx', '', :config, NULL)",
]


def old_file(path: Path) -> str:
    """The URL of a SQLite store of format 1."""
    values = {f"guid{number}": f"X'{guid.hex}'" for number, guid in enumerate(GUIDS)}
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.executescript(upgrade_script(SQLITE, 0, until=1))
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        for statement in filled(values, yes="1", no="0"):
            connection.execute(statement)
        connection.execute("UPDATE counters SET value = 90")
    return f"sqlite:///{path}"


def old_database(server: PostgresClient, url: str) -> str:
    """The URL of a PostgreSQL store of format 1, made in an empty database."""
    values = {f"guid{number}": f"'{guid}'" for number, guid in enumerate(GUIDS)}
    rows = filled(values, yes="true", no="false")
    rows = [f"SET search_path = counterfoil;;{row}" for row in rows]
    script = upgrade_script(POSTGRESQL, 0, until=1)
    function = "CREATE FUNCTION counterfoil.of_old(stamp bigint) RETURNS bigint LANGUAGE sql AS 'SELECT 1'"
    statements = [in_transaction(POSTGRESQL, script), *rows, "UPDATE stamps SET change = 90, settings = 60", function]
    server.run(";;".join([*statements, "SELECT 1"]), database=url.rpartition("/")[2])
    return url


def filled(values: dict[str, str], *, yes: str, no: str) -> list[str]:
    """The rows of the old store as statements of one dialect."""
    values = {**values, "yes": yes, "no": no, "config": f"'{CONFIG}'"}
    values |= {f"text{number}": f"'\"t{number}\"'" for number in range(4)}
    pattern = re.compile(":(" + "|".join(values) + ")")
    return [pattern.sub(lambda match: values[match[1]], statement) for statement in OLD_ROWS]


@pytest.fixture(params=["sqlite", "postgres"])
def old_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a store of format 1."""
    if request.param == "sqlite":
        return old_file(tmp_path / "old.db")
    return old_database(request.getfixturevalue("postgres"), request.getfixturevalue("postgres_url"))


def told(url: str, story: Callable[[Storage], Any]) -> Any:
    """What a coroutine function gives, with the store opened."""

    async def main() -> Any:
        storage = open_store(url)
        try:
            return await story(storage)
        finally:
            await storage.close()

    return asyncio.run(main())


# --- what it becomes --------------------------------------------------------------------------------------------------


def test_the_formats_are_numbered_without_a_gap_up_to_the_one_that_is_known() -> None:
    assert list(migrations(SQLITE)) == list(migrations(POSTGRESQL)) == list(range(1, FORMAT + 1))


def test_an_older_store_is_refused_and_its_command_is_named(old_url: str) -> None:
    with pytest.raises(StoreNotUsable) as refused:
        open_store(old_url)
    assert "store format 1" in str(refused.value)
    assert f"counterfoil db upgrade --store {old_url}" in str(refused.value)


def test_an_upgraded_store_has_a_journal_of_all_that_it_holds(old_url: str) -> None:
    async def story(storage: Storage) -> None:
        changes = await storage.changes(0, 100)
        assert [change.seq for change in changes] == list(range(1, 9))
        kinds = [(change.kind, change.subject, change.version, change.schema_id, change.guid) for change in changes]
        assert kinds[:5] == [
            (JournalChangeKind.REGISTERED, ORDERS, 1, 1, GUIDS[0]),
            (JournalChangeKind.REGISTERED, GONE, 1, 2, GUIDS[1]),
            (JournalChangeKind.REGISTERED, ELSEWHERE, 1, 1, GUIDS[3]),
            (JournalChangeKind.REGISTERED, ORDERS, 3, 3, GUIDS[2]),
            (JournalChangeKind.DELETED, GONE, 1, 2, GUIDS[1]),
        ]
        stored = {"compatibility": "FULL"}
        assert [(change.kind, str(change.subject), change.document) for change in changes[5:]] == [
            (JournalChangeKind.SETTINGS, "", {"mode": "READWRITE"}),
            (JournalChangeKind.SETTINGS, "orders", {"config": stored, "mode": "READONLY"}),
            (JournalChangeKind.SETTINGS, ":.ctx:", {"config": stored}),
        ]
        assert [change.ts for change in changes[:4]] == [1000, 2000, 2000, 3000]
        assert len({change.ts for change in changes[4:]}) <= 2
        assert changes[4].ts > 1_700_000_000_000
        assert (await storage.last_change(), await storage.settings_revision()) == (8, 8)
        revisions = [(await storage.history(subject)).revision for subject in (ORDERS, GONE, ELSEWHERE)]
        assert revisions == [4, 5, 3]

    assert upgrade(old_url).found == 1
    told(old_url, story)


def test_an_upgraded_store_is_written_as_any_other(old_url: str) -> None:
    async def story(storage: Storage) -> None:
        await append(storage, ORDERS, "new")
        await put(storage, ORDERS, ScopeSettings(mode=Mode.READWRITE))
        await delete(storage, SOFT, ORDERS, 1)
        assert [change.seq for change in await storage.changes(8, 10)] == [9, 10, 11]
        assert (await storage.history(ORDERS)).latest == (await storage.history(ORDERS)).entries[-1]
        assert (await storage.history(ORDERS)).entries[-1].version == 4

    upgrade(old_url)
    told(old_url, story)


def test_an_upgraded_store_is_sound(old_url: str) -> None:
    upgrade(old_url)
    with open_rows(old_url) as rows:
        assert list(check(rows)) == []


def test_an_upgrade_that_is_repeated_changes_nothing(old_url: str) -> None:
    upgrade(old_url)
    before = told(old_url, lambda storage: storage.changes(0, 100))
    assert upgrade(old_url).found == FORMAT
    assert told(old_url, lambda storage: storage.changes(0, 100)) == before


def test_an_upgrade_makes_a_new_store_in_an_empty_database(postgres_url: str) -> None:
    assert upgrade(postgres_url).found == 0
    assert upgrade(postgres_url).found == FORMAT
    assert told(postgres_url, lambda storage: storage.last_change()) == 0


@pytest.mark.parametrize("content", [None, b""])
def test_an_upgrade_of_a_file_that_holds_no_store_makes_none(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "typo.db"
    if content is not None:
        path.write_bytes(content)
    for look in (upgrade, find_format):
        with pytest.raises(StoreNotUsable, match=r"typo\.db (does not exist|is empty); expected the SQLite file of"):
            look(f"sqlite:///{path}")
    assert [(each.name, each.read_bytes()) for each in tmp_path.iterdir()] == (
        [] if content is None else [("typo.db", content)]
    )


def test_a_store_in_use_is_not_upgraded(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/registry.db"

    async def story(storage: Storage) -> None:
        del storage
        with pytest.raises(StoreNotUsable, match="in use"):
            upgrade(url)

    told(url, story)


def test_an_upgrade_that_fails_leaves_the_store_as_it_was(tmp_path: Path) -> None:
    url = old_file(tmp_path / "old.db")
    with closing(sqlite3.connect(tmp_path / "old.db")) as connection, connection:
        connection.execute("CREATE TABLE records (n)")
    before = sqlite_catalog(tmp_path / "old.db")
    with pytest.raises(StoreNotUsable, match="as it was"):
        upgrade(url)
    assert sqlite_catalog(tmp_path / "old.db") == before


def test_a_newer_store_is_refused(tmp_path: Path, postgres: PostgresClient, postgres_url: str) -> None:
    file = tmp_path / "new.db"
    for url in (f"sqlite:///{file}", postgres_url):
        told(url, lambda storage: storage.last_change())
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute(f"PRAGMA user_version = {FORMAT + 1}")
    mark = f"INSERT INTO counterfoil.store_format VALUES ({FORMAT + 1});;SELECT 1"
    postgres.run(mark, database=postgres_url.rpartition("/")[2])
    for url in (f"sqlite:///{file}", postgres_url):
        for use in (open_store, upgrade):
            with pytest.raises(StoreNotUsable, match=r"newer counterfoil .* upgrade counterfoil"):
                use(url)


# --- the same tables, however a store came to be: new, by migration, by SQL that was run by hand ---------------------


def test_migrated_sqlite_stores_have_the_tables_of_new_ones(tmp_path: Path) -> None:
    new, migrated, by_hand = (tmp_path / name for name in ("new", "migrated", "by_hand"))
    told(f"sqlite:///{new}", lambda storage: storage.last_change())
    upgrade(old_file(migrated))
    old_file(by_hand)
    with closing(sqlite3.connect(by_hand)) as connection:
        add_functions(connection)
        connection.executescript(upgrade_sql(f"sqlite:///{by_hand}", 1))
    expected = sqlite_catalog(new)
    assert len(expected) == 11
    assert sqlite_catalog(migrated) == expected
    assert sqlite_catalog(by_hand) == expected
    assert told(f"sqlite:///{by_hand}", lambda storage: storage.last_change()) == 8


def test_migrated_postgres_stores_have_the_tables_of_new_ones(postgres: PostgresClient, postgres_url: str) -> None:
    names = [f"{postgres_url.rpartition('/')[2]}_{part}" for part in ("migrated", "by_hand", "from_nothing")]
    migrated, by_hand, from_nothing = (postgres.create_database(name) for name in names)
    try:
        told(postgres_url, lambda storage: storage.last_change())
        upgrade(old_database(postgres, migrated))
        old_database(postgres, by_hand)
        postgres.run(f"{upgrade_sql(by_hand, 1)};;SELECT 1", database=names[1])
        postgres.run(f"{upgrade_sql(from_nothing, 0)};;SELECT 1", database=names[2])
        expected = postgres_catalog(postgres, postgres_url)
        assert len({row[0] for row in expected["columns"]}) == 11
        for url in (migrated, by_hand, from_nothing):
            assert postgres_catalog(postgres, url) == expected
        assert told(by_hand, lambda storage: storage.last_change()) == 8
        assert told(from_nothing, lambda storage: storage.last_change()) == 0
    finally:
        for name in names:
            postgres.drop_database(name)


def test_both_databases_have_the_same_tables_and_columns(
    tmp_path: Path, postgres: PostgresClient, postgres_url: str
) -> None:
    for url in (f"sqlite:///{tmp_path}/new", postgres_url):
        told(url, lambda storage: storage.last_change())
    in_sqlite = {
        (table, column[0], str(column[2]))
        for table, each in sqlite_catalog(tmp_path / "new").items()
        for column in each["columns"]
    }
    in_postgres = postgres_catalog(postgres, postgres_url)["columns"]
    assert in_sqlite == {(table, name, not_null) for table, name, _, not_null, *_ in in_postgres}


def test_starting_on_a_store_loads_no_migrations(tmp_path: Path, postgres_url: str) -> None:
    for url in (f"sqlite:///{tmp_path}/registry.db", postgres_url):
        told(url, lambda storage: storage.last_change())
        program = (
            "import sys; from counterfoil.registry.store.opening import open_store; import counterfoil.registry.app;"
            f"open_store({url!r}); print([name for name in sys.modules if 'store.upgrading' in name])"
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == "[]"
