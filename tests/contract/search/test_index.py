"""The index follows whatever is written, on every kind of store, and equals one that is built anew."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import uuid
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.registry.access.resources import AccessOperation
from counterfoil.registry.access.rights import Rights, Visible
from counterfoil.registry.search.following import Following
from counterfoil.registry.search.index import SearchIndex
from counterfoil.registry.search.sqlite import SqliteIndexDatabase
from counterfoil.registry.store.opening import sqlite_path
from counterfoil.schema.errors import InvalidSchema
from strategies.registry.histories import HISTORIES, take_step
from strategies.registry.waiting import until
from strategies.search.indexed import Indexed, dumped, indexed
from strategies.search.plain_scan import PlainHit, scan

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from local_services import PostgresClient

    NewStore = Callable[[], AbstractContextManager[str]]


@pytest.fixture(params=["memory", "sqlite", "postgres"], scope="module")
def new_store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> NewStore:
    """Return a function that makes an empty store, and removes it after the block."""

    @contextmanager
    def made() -> Iterator[str]:
        if request.param == "memory":
            yield "sqlite://"
        elif request.param == "sqlite":
            yield f"sqlite:///{tmp_path_factory.mktemp('store')}/registry.db"
        else:
            postgres: PostgresClient = request.getfixturevalue("postgres")
            name = f"search_{uuid.uuid4().hex[:10]}"
            yield postgres.create_database(name)
            postgres.drop_database(name)

    return made


def play(new_store: NewStore, behaviour: Callable[[Indexed], Awaitable[None]]) -> None:
    async def main(url: str) -> None:
        async with indexed(url) as opened:
            await behaviour(opened)

    with new_store() as url:
        asyncio.run(main(url))


async def built_anew(opened: Indexed) -> dict[str, Any]:
    """Return what a new index has, in another database than the one that followed."""
    other = SearchIndex(SqliteIndexDatabase(None))
    await Following(other, opened.storage, opened.cases.reader).until_current()
    try:
        return await dumped(other)
    finally:
        await other.database.close()


ASSOCIATIONS = st.tuples(st.just("associate"), st.sampled_from(["a", "b"]), st.booleans())


async def take(opened: Indexed, step: tuple[str, str, Any]) -> None:
    """Take a step of a history; some follow the journal, and some change associations."""
    kind, subject, is_made = step
    if kind == "follow":
        await opened.follow()
    elif kind != "associate":
        await take_step(opened.registry, step)
    elif is_made:
        own = {"subject": subject, "associationType": "value", "lifecycle": "WEAK"}
        names = {"resourceName": subject, "resourceNamespace": "l", "resourceId": f"l:{subject}"}
        await opened.registry.post("/associations", {**names, "resourceType": "topic", "associations": [own]})
    else:
        await opened.registry.delete(f"/associations/resources/l:{subject}?resourceType=topic")


FOLLOW = st.tuples(st.just("follow"), st.just(""), st.none())


@given(st.data())
def test_an_index_that_followed_equals_a_new_one(new_store: NewStore, data: st.DataObject):
    history = data.draw(HISTORIES)
    more = data.draw(st.lists(st.tuples(st.integers(0, 25), st.one_of(FOLLOW, ASSOCIATIONS)), max_size=8))
    steps: list[tuple[str, str, Any]] = list(history)
    for place, step in more:
        steps.insert(place, step)

    async def behaviour(opened: Indexed) -> None:
        for step in steps:
            await take(opened, step)
        await opened.follow()
        followed = await opened.dump()
        assert followed == await built_anew(opened)
        async with opened.index.database.writing() as writing:
            assert writing is not None
            await opened.index.request_building(writing)
        await opened.follow()
        assert await opened.dump() == followed

    play(new_store, behaviour)


NAMES = st.sampled_from(
    ["email", "e_mail", "customerEmail", "customer_email", "mail", "id", "ID", "order-id", "order", "émail", "x", "em"]
)
SIMPLE = NAMES.filter(lambda name: name.isidentifier() and name.isascii())


@st.composite
def records(draw: st.DrawFn) -> dict[str, Any]:
    """Draw an Avro record in which one field may be a record of its own."""
    fields: list[dict[str, Any]] = [
        {"name": name, "type": draw(st.sampled_from(["string", "long"]))}
        for name in draw(st.lists(SIMPLE, unique=True, max_size=4))
    ]
    if draw(st.booleans()):
        inner = [{"name": name, "type": "int"} for name in draw(st.lists(SIMPLE, unique=True, max_size=3))]
        fields.append({"name": "nested", "type": {"type": "record", "name": "Inner", "fields": inner}})
    return {"type": "record", "name": draw(st.sampled_from(["Order", "Email", "Mail_order"])), "fields": fields}


QUERIES = st.lists(
    st.sampled_from(
        ["e", "em", "email", "EMAIL", "e_mail", "mail", "id", "order", "customer", "inner", "nested", "er"]
    ),
    min_size=1,
    max_size=2,
    unique_by=str.lower,
).map(" ".join)


@given(st.dictionaries(NAMES, records(), max_size=5), st.lists(QUERIES, min_size=3, max_size=6))
def test_what_is_found_is_what_a_plain_scan_finds(
    new_store: NewStore, schemas: dict[str, dict[str, Any]], queries: list[str]
):
    async def behaviour(opened: Indexed) -> None:
        texts = {}
        for subject, schema in schemas.items():
            await opened.registry.post(f"/subjects/{subject}/versions", {"schema": '"string"'})
            await opened.registry.put(f"/config/{subject}", {"compatibility": "NONE"})
            await opened.register(subject, json.dumps(schema))
            texts[subject] = json.dumps(schema)
        await opened.follow()
        for query in queries:
            expected = scan(texts, query) or scan(texts, query.replace("_", " "))  # the parts, where nothing else is
            hits = (await opened.search(query, limit=200)).hits
            found = [(hit.kind.value, hit.subject, hit.path, hit.text) for hit in hits]
            assert len(found) == len(set(found))
            assert set(found) == {each[1:] for each in expected}, query
            ranks = {each[1:]: each.rank for each in expected}
            assert [ranks[each] for each in found] == sorted(ranks[each] for each in found), query

    play(new_store, behaviour)


def test_queries_go_on_while_the_index_is_built_anew(new_store: NewStore):
    async def behaviour(opened: Indexed) -> None:
        for number in range(230):
            await opened.register(f"s{number:03}", '"string"')
        await opened.register("orders", '{"type":"record","name":"Order","fields":[]}')
        await opened.follow()
        async with opened.index.database.writing() as writing:
            assert writing is not None
            await opened.index.request_building(writing)
        states = []
        while await opened.following.step():
            result = await opened.search("order")
            assert len(result.hits) == 2
            states.append(result.index.state)
        assert len(states) > 4
        assert "rebuilding" in states
        assert states[-1] == "current"

    play(new_store, behaviour)


def test_while_an_index_is_built_first_subjects_are_found_by_prefix(new_store: NewStore):
    async def behaviour(opened: Indexed) -> None:
        for number in range(120):
            await opened.register(f"s{number:03}", '{"type":"record","name":"Order","fields":[]}')
        await opened.index.database.prepare()
        assert (await opened.search("s0")).index.state == "rebuilding"
        await opened.following.step()
        states = []
        while await opened.following.step():
            states.append((await opened.search("s")).index.state)
            result = await opened.search("s0", limit=200)
            assert {hit.subject for hit in result.hits} == {f"s{number:03}" for number in range(100)}
        assert states[:2] == ["rebuilding", "rebuilding"]
        assert states[-1] == "current"
        assert len((await opened.search("s", limit=200)).hits) == 120
        assert len((await opened.search("order", limit=200)).hits) == 120

    play(new_store, behaviour)


def test_an_index_of_another_store_is_built_anew(new_store: NewStore):
    async def behaviour(opened: Indexed) -> None:
        await opened.register("first", '"string"')
        await opened.follow()
        async with indexed("sqlite://") as other:
            await other.register("second", '"int"')
            await other.register("third", '"int"')
            following = Following(opened.index, other.storage, other.cases.reader)
            await following.until_current()
            assert await opened.dump() == await built_anew(other)

    play(new_store, behaviour)


def test_texts_that_cannot_be_read_are_listed(new_store: NewStore):
    async def behaviour(opened: Indexed) -> None:
        await opened.register("base", '{"type":"record","name":"Base","fields":[]}')
        await opened.follow()
        reader = _Failing(opened.cases.reader)
        following = Following(opened.index, opened.storage, reader)  # type: ignore[arg-type]
        await opened.register("broken", '{"type":"record","name":"Broken","fields":[]}')
        await following.until_current()
        result = await opened.search("bro")
        assert [hit.kind.value for hit in result.hits] == ["subject"]
        assert result.index.unreadable == 1
        restricted = await opened.search("bro", visible=Visible(Rights([], set()), AccessOperation.READ))
        assert restricted.index.unreadable == 0
        assert (await opened.dump())["unreadable"] == [(".\x1fbroken", 1, "no such type")]

    play(new_store, behaviour)


class _Failing:
    """A reader that cannot parse what the store has, as after a change of the rules."""

    def __init__(self, reader: Any) -> None:
        self.content = reader.content
        self.has_processes = False

    async def parsed(self, *_: object) -> object:
        raise InvalidSchema("no such type")


# The file of an index.


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/registry.db"


@pytest.mark.parametrize("damage", ["text", "half", "format", "program", "folder_of_rows"])
def test_a_file_that_cannot_be_used_is_built_anew(url: str, damage: str):
    path = sqlite_path(url)
    assert path is not None
    file = path.with_name(path.name + ".search")

    async def fill() -> dict[str, Any]:
        async with indexed(url) as opened:
            for number in range(30):
                await opened.register(f"orders-{number}", '{"type":"record","name":"Order","fields":[]}')
            await opened.follow()
            return await opened.dump()

    async def again() -> dict[str, Any]:
        async with indexed(url) as opened:
            task = asyncio.create_task(opened.following.run())
            await until(lambda: _is_current(opened))
            task.cancel()
            return await opened.dump()

    before = asyncio.run(fill())
    match damage:
        case "text":
            file.write_text("this is no database\n" * 1000)
        case "half":
            content = bytearray(file.read_bytes())
            content[4096:] = b"\xff" * (len(content) - 4096)
            file.write_bytes(content)
        case "format":
            _execute(file, "PRAGMA user_version = 77")
        case "program":
            _execute(file, "PRAGMA application_id = 1234")
        case _:
            _execute(file, "UPDATE state SET document = '{\"current\": 5}'")
    assert asyncio.run(again()) == before


async def _is_current(opened: Indexed) -> bool:
    return (await opened.cases.search.state()).state == "current"


async def _has_problem(opened: Indexed) -> bool:
    return bool(opened.following.problem)


def _execute(file: Path, statement: str) -> None:
    connection = sqlite3.connect(file)
    connection.execute(statement)
    connection.commit()
    connection.close()


def test_a_newer_format_in_a_database_is_left_alone(postgres_url: str):
    async def main() -> None:
        async with indexed(postgres_url) as opened:
            await opened.register("orders", '"string"')
            await opened.follow()
            async with opened.index.database.writing() as writing:
                assert writing is not None
                await writing.rows("UPDATE counterfoil_search.state SET document = '{\"format\": 99}'")
        async with indexed(postgres_url) as opened:
            task = asyncio.create_task(opened.following.run())
            await until(lambda: _has_problem(opened))
            task.cancel()
            assert "format 99 of a newer version" in opened.following.problem
            result = await opened.search("ord")
            assert (result.index.state, [hit.subject for hit in result.hits]) == ("lost", ["orders"])

    asyncio.run(main())


def test_another_store_and_plain_hits_are_no_fakes():
    assert scan({"orders": '"string"'}, "ord") == {PlainHit(1, "subject", "orders", "", "orders")}
