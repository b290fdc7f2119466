"""``counterfoil db``: stores are held against what must be true of them, measured, and upgraded."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.contracts.cli.root import root_command
from counterfoil.contracts.cli.run import run
from counterfoil.registry.audit.events import AuditEvent, EventKind
from counterfoil.registry.store.changes import ScopeSettings
from counterfoil.registry.store.inspection.invariants import INVARIANTS, check, measure
from counterfoil.registry.store.inspection.rows import PostgresRows, SqliteRows, open_rows
from counterfoil.registry.store.opening import open_store
from counterfoil.registry.store.postgres.connections import connect, parse_address
from counterfoil.registry.store.protocol import FORMAT
from counterfoil.registry.store.sqlite.storage import APPLICATION_ID
from counterfoil.registry.store.upgrading import SQLITE, upgrade_script
from counterfoil.registry.store.writes import (
    Author,
    RecordEvents,
    ReferenceTarget,
    Requester,
    StoragePlan,
    StoreNotUsable,
)
from counterfoil.schema import parse_schema
from counterfoil.schema.contexts import TOP_LEVEL, parse_subject
from counterfoil.schema.errors import CounterfoilError
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.schema.model import Metadata, Reference, Rule, RuleSet, SchemaType
from counterfoil.schema.rest.subjects import Config, Mode
from strategies.registry.driver import InProcessRegistry
from strategies.registry.recordings import request_of, sequences
from strategies.registry.write_plans import (
    ELSEWHERE,
    HARD,
    ORDERS,
    SOFT,
    WHOLE,
    append,
    content,
    delete,
    drop,
    put,
    put_record,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.registry.store.protocol import Storage
    from local_services import PostgresClient

COUNTERFOIL = str(Path(sys.executable).with_name("counterfoil"))
_SPEC = importlib.util.spec_from_file_location(
    "benchmarks_http_generate", Path(__file__).parents[3] / "benchmarks" / "http" / "generate.py"
)
assert _SPEC is not None
assert _SPEC.loader is not None
generator = importlib.util.module_from_spec(_SPEC)
sys.modules[_SPEC.name] = generator
_SPEC.loader.exec_module(generator)


async def live_a_little(storage: Storage) -> None:
    """Some of everything that can happen to a registry."""
    await append(storage, ELSEWHERE, "target")
    full = content(
        "ü\u0000x",
        references=(Reference("n", ":.ctx:orders", 1),),
        metadata=Metadata({"p": ("A",)}, {"k": "v"}, ("k",)),
        rule_set=RuleSet(domain_rules=(Rule("r", "CEL", params={"a": "1"}),)),
    )
    await append(storage, ORDERS, content=full, targets=(ReferenceTarget(ELSEWHERE, 1),))
    for text in ("a", "b", "c"):
        await append(storage, ORDERS, text)
    await delete(storage, SOFT, ORDERS, 3, 4)
    await append(storage, ORDERS, "c")
    await delete(storage, HARD, ORDERS, 3)
    await append(storage, parse_subject("imported"), "a", schema_id=50, version=7, ts=1234)
    await append(storage, parse_subject("imported"), "a", schema_id=40, version=9)
    await append(storage, parse_subject("imported"), "z", version=9)
    await put(storage, ORDERS, ScopeSettings(Config(normalize=True), Mode.READWRITE))
    await put(storage, TOP_LEVEL, ScopeSettings(mode=Mode.READWRITE))
    await put(storage, ELSEWHERE, ScopeSettings())
    by = Requester(Author("User:ü", "request"))
    terms = await storage.settings_revision()
    await put_record(storage, "key", ("a", "b"), {"n": 1}, settings_revision=terms, by=by)
    await storage.commit(StoragePlan((), (RecordEvents((AuditEvent(EventKind.KEY_TESTED),)),)), by=by)
    await put_record(storage, "key", ("a", "c"), {"n": 1})
    await put_record(storage, "key", ("a", "c"), None)
    await append(storage, parse_subject(":.gone:s"), "a")
    await delete(storage, SOFT, parse_subject(":.gone:s"), 1)
    await delete(storage, HARD, parse_subject(":.gone:s"), 1)
    await drop(storage, ".gone")


def lived(url: str, story: Callable[[Storage], Any] = live_a_little) -> str:
    """The URL of a store in which this has happened."""

    async def main() -> None:
        storage = open_store(url)
        try:
            await story(storage)
        finally:
            await storage.close()

    asyncio.run(main())
    return url


def breaches(url: str) -> list[tuple[str, str]]:
    """What a check finds, as rules and places."""
    with open_rows(url) as rows:
        return [(breach.rule, breach.place) for breach in check(rows)]


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty store in a file or a database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/registry.db"
    found: str = request.getfixturevalue("postgres_url")
    return found


@pytest.fixture
def run_sql(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Run statements, parted by ``;;``, on a store behind its back, where no key guards it any more."""

    def run(url: str, statements: str) -> None:
        if url.startswith("sqlite"):
            with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection, connection:
                connection.execute("PRAGMA ignore_check_constraints = ON")
                for statement in statements.split(";;"):
                    connection.execute(statement)
            return
        server: PostgresClient = request.getfixturevalue("postgres")
        unguarded = "SET session_replication_role = replica;;SET search_path = counterfoil"
        server.run(f"{unguarded};;{statements};;SELECT 1", database=url.rpartition("/")[2])

    return run


# --- what a check finds -----------------------------------------------------------------------------------------------


def test_a_registry_that_was_used_is_sound(url: str) -> None:
    assert breaches(lived(url)) == []


def test_a_registry_is_checked_while_it_is_served(url: str) -> None:
    async def story(storage: Storage) -> None:
        await live_a_little(storage)
        assert await asyncio.to_thread(breaches, url) == []
        await append(storage, parse_subject("later"), "later")

    lived(url, story)


ORDERS_ROW = (
    "(SELECT id FROM subjects WHERE name = 'orders' AND context_id = (SELECT id FROM contexts WHERE name = '.'))"
)
HERE, THERE = ("(SELECT id FROM contexts WHERE name = '.')", "(SELECT id FROM contexts WHERE name = '.ctx')")
BROKEN = {
    "next-id": "UPDATE contexts SET next_schema_id = 50 WHERE name = '.'",
    "id-has-content": f"DELETE FROM contents WHERE guid = (SELECT guid FROM schema_ids WHERE context_id = {THERE})",
    "id-has-version": (
        f"INSERT INTO schema_ids SELECT {THERE}, 0, guid, 1=0 FROM schema_ids WHERE context_id = {HERE} AND id = 1"
    ),
    "content-has-id": f"DELETE FROM schema_ids WHERE context_id = {THERE}",
    "one-primary-id": f"UPDATE schema_ids SET is_primary = (1=0) WHERE context_id = {THERE}",
    "version-has-id": f"UPDATE versions SET schema_id = 77 WHERE subject_id = {ORDERS_ROW} AND version = 1",
    "version-has-subject": f"UPDATE versions SET context_id = {THERE} WHERE subject_id = {ORDERS_ROW} AND version = 1",
    "active-versions": f"UPDATE subjects SET active_versions = 9 WHERE id = {ORDERS_ROW}",
    "subject-has-version": f"DELETE FROM versions WHERE context_id = {THERE}",
    "context-is-listed": "UPDATE contexts SET listed = (1=0) WHERE name = '.'",
    "reference-intact": "UPDATE schema_refs SET target_version = 9",
    "references-guarded": "DELETE FROM schema_refs",
    "reference-of-id": f"DELETE FROM schema_ids WHERE context_id = {HERE} AND id = 1",
    "stamps": "UPDATE stamps SET change = change - 1",
    "one-row-of-stamps": "DELETE FROM stamps",
    "content-fingerprint": "UPDATE contents SET metadata = '{\"tags\": {}}' WHERE metadata IS NULL",
    "content-readable": "UPDATE contents SET refs = '{' WHERE refs IS NOT NULL",
    "journal-without-gap": "DELETE FROM changes WHERE seq = 3",
    "journal-in-time": "UPDATE changes SET ts = ts - 99999999 WHERE seq = 5",
    "audit-in-order": "UPDATE audit SET change = 999",
    "journal-chain": "UPDATE changes SET author = 'User:other' WHERE seq = 2",
    "change-complete": "UPDATE changes SET schema_id = NULL WHERE seq = 1",
    "journal-replays": f"DELETE FROM versions WHERE subject_id = {ORDERS_ROW} AND version = 1",
    "subject-revision": f"UPDATE subjects SET revision = 1 WHERE id = {ORDERS_ROW}",
    "settings-readable": "UPDATE settings SET mode = 'SOMETIMES'",
    "id-bound-once": "UPDATE changes SET guid = (SELECT guid FROM changes WHERE seq = 2) WHERE seq = 1"
    ";;UPDATE changes SET schema_id = 1, context = '.' WHERE seq IN (1, 4)",
    "record-revision": "UPDATE records SET revision = 1",
    "record-readable": "UPDATE records SET document = '{'",
}


def test_what_is_broken_is_found_in_a_file(tmp_path: Path) -> None:
    lived(f"sqlite:///{tmp_path}/registry.db")
    with closing(sqlite3.connect(tmp_path / "registry.db", isolation_level=None)) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        for rule, statements in BROKEN.items():
            connection.execute("BEGIN")
            for statement in statements.split(";;"):
                connection.execute(statement)
            found = list(check(SqliteRows(connection)))
            connection.execute("ROLLBACK")
            assert rule in {breach.rule for breach in found}, rule
            assert all(breach.place and breach.message for breach in found)


def test_what_is_broken_is_found_in_a_database(postgres_url: str) -> None:
    lived(postgres_url)
    with asyncio.Runner() as loop:
        connection = loop.run(connect(parse_address(postgres_url)))
        loop.run(connection.execute("SET session_replication_role = replica; SET search_path = counterfoil"))
        for rule, statements in BROKEN.items():
            loop.run(connection.execute("BEGIN"))
            for statement in statements.split(";;"):
                loop.run(connection.execute(statement))
            found = list(check(PostgresRows(connection, loop)))
            loop.run(connection.execute("ROLLBACK"))
            assert rule in {breach.rule for breach in found}, rule
            assert all(breach.place and breach.message for breach in found)
        loop.run(connection.close())


def test_every_rule_of_a_statement_is_broken_by_a_test() -> None:
    assert {invariant.rule for invariant in INVARIANTS} <= BROKEN.keys()


def test_places_are_named(tmp_path: Path, run_sql: Callable[[str, str], None]) -> None:
    url = lived(f"sqlite:///{tmp_path}/registry.db")
    run_sql(url, f"UPDATE versions SET deleted = 1 WHERE subject_id = {ORDERS_ROW} AND version = 1")
    run_sql(url, "UPDATE settings SET mode = 'READONLY' WHERE name = 'orders'")
    assert breaches(url) == [
        ("active-versions", "subject 'orders'"),
        ("journal-replays", "subject 'orders' version 1"),
        ("journal-replays", "settings of 'orders'"),
    ]


steps = st.lists(
    st.tuples(
        st.sampled_from(["append", "import", "soft", "hard", "settings", "purge"]),
        st.sampled_from([ORDERS, ELSEWHERE, parse_subject("other")]),
        st.integers(1, 4),
    ),
    max_size=25,
)


@given(steps)
def test_whatever_happens_to_a_registry_it_stays_sound(
    tmp_path_factory: pytest.TempPathFactory, steps: list[Any]
) -> None:
    async def carry_out(storage: Storage, action: str, subject: Any, number: int) -> None:
        match action:
            case "append":
                await append(storage, subject, f"t{number}")
            case "import":
                await append(storage, subject, f"t{number % 2}", schema_id=number, version=number)
            case "soft" | "hard":
                await delete(storage, SOFT if action == "soft" else HARD, subject, number)
            case "settings":
                await put(storage, subject, ScopeSettings(mode=Mode.READWRITE if number % 2 else None))
            case _:
                await put(storage, TOP_LEVEL, ScopeSettings(mode=Mode.IMPORT), purge=WHOLE)

    async def story(storage: Storage) -> None:
        for step in steps:
            try:
                await carry_out(storage, *step)
            except CounterfoilError:
                continue

    assert breaches(lived(f"sqlite:///{tmp_path_factory.mktemp('store')}/registry.db", story)) == []


def test_recorded_histories_leave_a_sound_store(url: str) -> None:
    """Some of what the reference was asked, one after another, through the API."""

    async def story(storage: Storage) -> None:
        registry = InProcessRegistry(storage)
        for sequence in sequences()[::25]:
            for step in sequence["steps"]:
                path, body, headers = request_of(step)
                await registry.ask(step["m"], path, body, headers)
        assert await storage.last_change() > 50

    assert breaches(lived(url, story)) == []


# --- big registries, made at once -------------------------------------------------------------------------------------


def test_a_made_registry_is_sound_and_as_large_as_requested(url: str) -> None:
    shape = generator.Shape(subjects=30, versions=20)
    generator.generate(url, shape)
    assert breaches(url) == []
    with open_rows(url) as rows:
        figures = measure(rows)
    expected = {"subjects_active": 30, "versions_active": 600, "contents": 600, "ids": 600, "changes": 600}
    assert expected.items() <= figures.items()
    assert figures["schema_text_bytes"] == sum(len(shape.text(*each)) for _, *each in shape.each())

    async def story(storage: Storage) -> None:
        assert (await append(storage, parse_subject(shape.name(1)), "new")).schema_id == 601
        assert (await append(storage, parse_subject("new"), "new")).version == 1
        assert await storage.last_change() == 602

    lived(url, story)
    assert breaches(url) == []


def test_the_schemas_of_a_made_registry_are_canonical() -> None:
    text = generator.Shape(1, 1).text(12, 3)
    assert parse_schema(text, SchemaType.AVRO).canonical() == text


def test_a_store_with_something_in_it_is_not_filled(tmp_path: Path) -> None:
    url = lived(f"sqlite:///{tmp_path}/registry.db")
    with pytest.raises(StoreNotUsable, match="not empty"):
        generator.generate(url, generator.Shape(1, 1))


# --- the command line -------------------------------------------------------------------------------------------------


class Done(NamedTuple):
    """What came of a command."""

    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def counterfoil(capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """``counterfoil db``, in this process."""

    def run_command(*arguments: str) -> Done:
        capsys.readouterr()
        code = run(root_command(), ["db", *arguments])
        return Done(code, *capsys.readouterr())

    return run_command


def test_the_command_is_installed() -> None:
    done = subprocess.run([COUNTERFOIL, "db", "--help"], capture_output=True, text=True, timeout=300, check=False)
    assert all(command in done.stdout for command in ("upgrade", "check", "stats"))


def test_check_tells_a_sound_store_from_a_broken_one(
    url: str, run_sql: Callable[[str, str], None], counterfoil: Any
) -> None:
    sound = counterfoil("check", "--store", lived(url))
    assert (sound.returncode, sound.stderr) == (ExitCode.OK, "")
    assert re.search(r": sound; 3 subjects, \d versions, \d+ changes checked$", sound.stdout.strip())
    run_sql(url, BROKEN["active-versions"])
    broken = counterfoil("check", "--store", url)
    assert broken.returncode == ExitCode.BROKEN
    first, last = broken.stdout.splitlines()
    assert first == "subject 'orders': it counts 9 active versions and has 3 [active-versions]"
    assert ": 1 breach; " in last
    document = json.loads(counterfoil("check", "--json", "--store", url).stdout)
    assert document["count"] == 1
    assert document["breaches"][0]["rule"] == "active-versions"
    assert document["checked"]["subjects"] == 3


def test_stats_are_counts_and_sizes(url: str, counterfoil: Any) -> None:
    lived(url)
    figures = json.loads(counterfoil("stats", "--json", "--store", url).stdout)
    assert (figures["format"], figures["contexts"], figures["subjects_active"], figures["records"]) == (FORMAT, 2, 3, 1)
    assert figures["database_bytes"] > figures["schema_text_bytes"] > 20
    table = counterfoil("stats", "--store", url).stdout
    assert re.search(r"^subjects active +3$", table, re.MULTILINE)


def test_upgrade_says_what_it_did(url: str, counterfoil: Any) -> None:
    made = counterfoil("upgrade", "--store", url)
    if url.startswith("sqlite"):
        assert made.returncode == ExitCode.PRECONDITION
        assert "does not exist; expected the SQLite file of a registry" in made.stderr
        lived(url)
    else:
        assert made.stdout.endswith(f": new, made in format {FORMAT}\n")
    assert counterfoil("upgrade", "--store", url).stdout.endswith(f": has format {FORMAT} already\n")


def test_sql_is_written_and_nothing_is_changed(tmp_path: Path, counterfoil: Any) -> None:
    path = tmp_path / "registry.db"
    assert "does not exist" in counterfoil("upgrade", "--sql", "--store", f"sqlite:///{path}").stderr
    assert (
        "CREATE TABLE contexts" in counterfoil("upgrade", "--sql", "--from", "0", "--store", f"sqlite:///{path}").stdout
    )
    assert not path.exists()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.executescript(upgrade_script(SQLITE, 0, until=1))
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    found = counterfoil("upgrade", "--sql", "--store", f"sqlite:///{path}").stdout
    assert found == counterfoil("upgrade", "--sql", "--from", "1", "--store", f"sqlite:///{path}").stdout
    assert "CREATE TABLE changes" in found
    assert "CREATE TABLE contexts" not in found
    refused = counterfoil("check", "--store", f"sqlite:///{path}")
    assert refused.returncode == ExitCode.PRECONDITION
    assert "counterfoil db upgrade --store" in refused.stderr
    assert counterfoil("upgrade", "--store", f"sqlite:///{path}").stdout.endswith(
        f": upgraded from format 1 to {FORMAT}\n"
    )
    assert counterfoil("check", "--store", f"sqlite:///{path}").returncode == ExitCode.OK


def test_the_sql_for_a_new_database_needs_no_connection(counterfoil: Any) -> None:
    shown = counterfoil("upgrade", "--sql", "--from", "0", "--store", "postgresql://nobody@nowhere.invalid/registry")
    assert shown.returncode == ExitCode.OK
    assert "CREATE OR REPLACE FUNCTION commit_" in shown.stdout


@pytest.mark.parametrize("command", ["check", "stats", "upgrade"])
@pytest.mark.parametrize(
    ("store", "said"),
    [
        ("sqlite:////nowhere/registry.db", "nowhere"),
        ("sqlite://", "in memory"),
        ("mysql://host/db", "not known"),
        ("postgresql://me:secret@127.0.0.1:1/registry", "cannot be reached"),
    ],
)
def test_a_store_that_cannot_be_used_is_reported_in_one_line(
    counterfoil: Any, command: str, store: str, said: str
) -> None:
    done = counterfoil(command, "--store", store)
    assert done.returncode == ExitCode.PRECONDITION
    assert len(done.stderr.splitlines()) == 1
    assert said in done.stderr
    assert "secret" not in done.stderr


def test_a_file_of_another_program_is_reported(tmp_path: Path, counterfoil: Any) -> None:
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE t (n)")
    for command in ("check", "stats", "upgrade"):
        done = counterfoil(command, "--store", f"sqlite:///{path}")
        assert done.returncode == ExitCode.PRECONDITION
        assert "another program" in done.stderr
    path.write_text("not a database at all, whatever its name is" * 100)
    assert counterfoil("check", "--store", f"sqlite:///{path}").returncode == ExitCode.PRECONDITION


def test_options_that_contradict_each_other_are_reported(counterfoil: Any) -> None:
    assert counterfoil("upgrade", "--from", "1").returncode == ExitCode.USAGE
    assert "not known" in counterfoil("upgrade", "--sql", "--from", "99").stderr
