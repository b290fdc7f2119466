"""One behaviour for every storage: what the use cases rely on."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from counterfoil.registry.domain.config import Config
from counterfoil.registry.domain.content import make_content
from counterfoil.registry.domain.errors import StaleWrite
from counterfoil.registry.domain.modes import Mode
from counterfoil.registry.service.storage import (
    Append,
    Appended,
    DropContext,
    HardDelete,
    PutSettings,
    ScopeSettings,
    SoftDelete,
    Target,
    Visibility,
)
from counterfoil.registry.store.memory import MemoryStorage
from counterfoil.registry.store.opening import open_store
from counterfoil.registry.store.sqlite import SqliteStorage
from counterfoil.schema.compatibility.levels import CompatibilityLevel
from counterfoil.schema.contexts import TOP_LEVEL, SubjectPrefix, parse_subject
from counterfoil.schema.errors import ContextNotEmpty, OperationNotPermitted, ReferenceExists
from counterfoil.schema.model import Metadata, Reference, Rule, RuleSet, SchemaType

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from counterfoil.registry.service.storage import Storage

from contextlib import asynccontextmanager

ORDERS = parse_subject("orders")
ELSEWHERE = parse_subject(":.ctx:orders")
EVERYTHING = SubjectPrefix(None, "")


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], AbstractAsyncContextManager[Storage]]:
    """A function that opens the storage; a second call opens it again, which a file and a database survive."""
    url = {
        "memory": lambda: "sqlite://",
        "sqlite": lambda: f"sqlite:///{tmp_path}/registry.db",
        "postgres": lambda: request.getfixturevalue("postgres_url"),
    }[request.param]()

    @asynccontextmanager
    async def opened() -> AsyncIterator[Storage]:
        storage = open_store(url)
        try:
            yield storage
        finally:
            await storage.close()

    return opened


@pytest.fixture
def run(store: Any) -> Callable[[Callable[[Storage], Awaitable[None]]], None]:
    """Run a coroutine function with an open storage."""

    def run_with(behaviour: Callable[[Storage], Awaitable[None]]) -> None:
        async def main() -> None:
            async with store() as storage:
                await behaviour(storage)

        asyncio.run(main())

    return run_with


def content(text: str, **parts: Any) -> Any:
    return make_content(f'"{text}"', SchemaType.AVRO, **parts)


async def append(storage: Storage, subject: Any = ORDERS, text: str = "a", **parts: Any) -> Appended:
    """Append with what is current now."""
    plan = Append(
        subject,
        parts.pop("content", None) or content(text),
        parts.pop("targets", ()),
        revision=(await storage.history(subject)).revision,
        settings_revision=await storage.settings_revision(),
        **parts,
    )
    outcome = await storage.commit(plan)
    assert isinstance(outcome, Appended)
    return outcome


async def delete(storage: Storage, kind: Any, subject: Any, *versions: int, **parts: Any) -> None:
    history = await storage.history(subject)
    await storage.commit(kind(subject, versions, history.revision, await storage.settings_revision(), **parts))


async def put(storage: Storage, scope: Any, stored: ScopeSettings, **parts: Any) -> None:
    await storage.commit(PutSettings(((scope, stored),), await storage.settings_revision(), **parts))


def test_ids_count_from_1_in_each_context_and_follow_content(run: Any) -> None:
    async def behaviour(storage: Storage) -> None:
        assert await append(storage, ORDERS, "a") == Appended(1, 1)
        assert await append(storage, ORDERS, "b") == Appended(2, 2)
        assert await append(storage, parse_subject("other"), "a") == Appended(1, 1)
        assert await append(storage, ELSEWHERE, "b") == Appended(1, 1)
        assert await storage.ids_of_guid(content("b").guid) == [(".", 2), (".ctx", 1)]
        assert await storage.contexts() == [".", ".ctx"]
        assert await storage.max_id(".") == 2
        assert await storage.max_id(".nowhere") == 0

    run(behaviour)


def test_what_was_stored_comes_back(run: Any) -> None:
    async def behaviour(storage: Storage) -> None:
        full = content(
            "ü\u0000x",
            references=(Reference("n", ":.ctx:orders", 1),),
            metadata=Metadata({"p": ("A",)}, {"k": "v"}, ("k",)),
            rule_set=RuleSet(domain_rules=(Rule("r", "CEL", params={"a": "1"}, disabled=True),), enable_at="ALL"),
        )
        empty = content("e", metadata=Metadata(), rule_set=RuleSet())
        await append(storage, content=full)
        await append(storage, content=empty)
        assert await storage.content(full.guid) == full
        assert await storage.content(empty.guid) == empty
        assert await storage.content(content("nothing").guid) is None
        assert await storage.guid_of_id(".", 1) == full.guid
        assert await storage.guid_of_id(".", 99) is None
        history = await storage.history(ORDERS)
        assert [(entry.version, entry.schema_id, entry.deleted) for entry in history.entries] == [
            (1, 1, False),
            (2, 2, False),
        ]
        assert all(entry.ts > 1_700_000_000_000 for entry in history.entries)

    run(behaviour)


def test_a_plan_on_a_subject_that_changed_is_refused(run: Any) -> None:
    async def behaviour(storage: Storage) -> None:
        await append(storage, text="a")
        stale = Append(ORDERS, content("b"), (), revision=0, settings_revision=await storage.settings_revision())
        with pytest.raises(StaleWrite):
            await storage.commit(stale)
        assert len((await storage.history(ORDERS)).entries) == 1

    run(behaviour)


def test_a_subject_that_went_and_came_back_has_a_new_revision(run: Any) -> None:
    async def behaviour(storage: Storage) -> None:
        await append(storage, text="a")
        before = await storage.history(ORDERS)
        await delete(storage, SoftDelete, ORDERS, 1)
        await delete(storage, HardDelete, ORDERS, 1)
        assert (await storage.history(ORDERS)).revision == 0
        await append(storage, text="a")
        assert (await storage.history(ORDERS)).revision not in {0, before.revision}

    run(behaviour)


def test_a_plan_on_settings_that_changed_is_refused(run: Any) -> None:
    async def behaviour(storage: Storage) -> None:
        before = await storage.settings_revision()
        await put(storage, ORDERS, ScopeSettings(mode=Mode.READONLY))
        with pytest.raises(StaleWrite):
            await storage.commit(Append(ORDERS, content("a"), (), revision=0, settings_revision=before))
        with pytest.raises(StaleWrite):
            await storage.commit(PutSettings(((TOP_LEVEL, ScopeSettings()),), before))
        assert await storage.max_id(".") == 0

    run(behaviour)


def test_of_many_writers_on_one_subject_each_number_goes_to_one(run: Any) -> None:
    async def one(storage: Storage, text: str) -> Appended:
        while True:
            try:
                return await append(storage, text=text)
            except StaleWrite:
                await asyncio.sleep(0)

    async def behaviour(storage: Storage) -> None:
        outcomes = await asyncio.gather(*(one(storage, f"t{number}") for number in range(40)))
        assert sorted(outcome.version for outcome in outcomes) == list(range(1, 41))
        assert sorted(outcome.schema_id for outcome in outcomes) == list(range(1, 41))

    run(behaviour)


def test_soft_deleted_versions_keep_their_number_and_id(run: Any) -> None:
    async def behaviour(storage: Storage) -> None:
        await append(storage, text="a")
        await append(storage, text="b")
        await delete(storage, SoftDelete, ORDERS, 2)
        history = await storage.history(ORDERS)
        assert [(entry.version, entry.deleted) for entry in history.entries] == [(1, False), (2, True)]
        assert history.next_version == 3
        assert [use.deleted for use in await storage.uses(".", 2)] == [True]
        assert await append(storage, text="b") == Appended(2, 3)
        assert [entry.version for entry in (await storage.history(ORDERS)).entries] == [1, 3]

    run(behaviour)


def test_ids_are_never_given_out_again(run: Any) -> None:
    async def behaviour(storage: Storage) -> None:
        await append(storage, text="a")
        await delete(storage, SoftDelete, ORDERS, 1)
        await delete(storage, HardDelete, ORDERS, 1)
        assert await storage.guid_of_id(".", 1) is None
        assert await storage.content(content("a").guid) is None
        assert await storage.subjects(EVERYTHING, Visibility.ALL) == []
        assert await append(storage, text="a") == Appended(2, 1)

    run(behaviour)


def test_a_context_that_is_dropped_keeps_its_ids_taken(run: Any) -> None:
    async def behaviour(storage: Storage) -> None:
        await append(storage, ELSEWHERE)
        with pytest.raises(ContextNotEmpty):
            await storage.commit(DropContext(".ctx"))
        await delete(storage, SoftDelete, ELSEWHERE, 1)
        with pytest.raises(ContextNotEmpty):
            await storage.commit(DropContext(".ctx"))
        await delete(storage, HardDelete, ELSEWHERE, 1)
        await storage.commit(DropContext(".ctx"))
        await storage.commit(DropContext(".unknown"))
        assert await storage.contexts() == []
        assert await append(storage, ELSEWHERE) == Appended(2, 1)
        assert await storage.contexts() == [".ctx"]

    run(behaviour)


def test_references_guard_what_they_point_at(run: Any) -> None:
    async def behaviour(storage: Storage) -> None:
        await append(storage, ELSEWHERE, "target")
        referring = content("user", references=(Reference("n", ":.ctx:orders", 1),))
        await append(storage, ORDERS, content=referring, targets=(Target(ELSEWHERE, 1),))
        assert [(use.subject, use.version) for use in await storage.referrers(ELSEWHERE, 1)] == [(ORDERS, 1)]
        with pytest.raises(ReferenceExists, match="orders"):
            await delete(storage, SoftDelete, ELSEWHERE, 1)
        await delete(storage, SoftDelete, ORDERS, 1)
        await delete(storage, SoftDelete, ELSEWHERE, 1)
        with pytest.raises(ReferenceExists):
            await delete(storage, HardDelete, ELSEWHERE, 1)
        await delete(storage, HardDelete, ORDERS, 1)
        assert await storage.referrers(ELSEWHERE, 1) == []
        await delete(storage, HardDelete, ELSEWHERE, 1)

    run(behaviour)


def test_a_reference_to_what_was_deleted_meanwhile_is_refused(run: Any) -> None:
    async def behaviour(storage: Storage) -> None:
        await append(storage, ELSEWHERE, "target")
        await delete(storage, SoftDelete, ELSEWHERE, 1)
        with pytest.raises(StaleWrite):
            await append(storage, ORDERS, "user", targets=(Target(ELSEWHERE, 1),))
        assert await append(storage, ORDERS, "user", targets=(Target(ELSEWHERE, 1, must_be_active=False),))

    run(behaviour)


def test_a_subject_goes_in_spite_of_references_of_its_own(run: Any) -> None:
    async def behaviour(storage: Storage) -> None:
        await append(storage, text="a")
        own = content("b", references=(Reference("n", "orders", 1),))
        await append(storage, content=own, targets=(Target(ORDERS, 1),))
        with pytest.raises(ReferenceExists):
            await delete(storage, SoftDelete, ORDERS, 1)
        await delete(storage, SoftDelete, ORDERS, 1, 2, ignore_own_references=True)
        await delete(storage, HardDelete, ORDERS, 1, 2, ignore_own_references=True)
        assert (await storage.history(ORDERS)).entries == ()

    run(behaviour)


def test_an_imported_id_is_bound_once_and_raises_the_counter(run: Any) -> None:
    async def behaviour(storage: Storage) -> None:
        assert await append(storage, text="a", schema_id=7, version=3) == Appended(7, 3)
        with pytest.raises(OperationNotPermitted, match="7"):
            await append(storage, text="b", schema_id=7)
        assert await append(storage, text="a", schema_id=5) == Appended(5, 4)
        assert await storage.id_of_guid(".", content("a").guid) == 5
        assert await storage.ids_of_guid(content("a").guid) == [(".", 5), (".", 7)]
        assert await append(storage, text="b") == Appended(8, 5)
        await delete(storage, SoftDelete, ORDERS, 4)
        await delete(storage, HardDelete, ORDERS, 4)
        assert await storage.id_of_guid(".", content("a").guid) == 7

    run(behaviour)


def test_settings_are_stored_by_scope(run: Any) -> None:
    async def behaviour(storage: Storage) -> None:
        config = Config(
            alias="",
            normalize=False,
            compatibility=CompatibilityLevel.FULL,
            default_metadata=Metadata(properties={"a": "b"}),
            override_rule_set=RuleSet(domain_rules=(Rule("r", "CEL"),)),
        )
        await put(storage, ORDERS, ScopeSettings(config=config))
        await put(storage, TOP_LEVEL, ScopeSettings(mode=Mode.IMPORT))
        await put(storage, ELSEWHERE, ScopeSettings(Config(), Mode.READONLY))
        assert await storage.settings(ORDERS) == ScopeSettings(config=config)
        assert await storage.settings(TOP_LEVEL) == ScopeSettings(mode=Mode.IMPORT)
        assert await storage.settings(parse_subject("nothing")) == ScopeSettings()
        assert [scope for scope, _ in await storage.scopes()] == [TOP_LEVEL, ORDERS, ELSEWHERE]
        await put(storage, ORDERS, ScopeSettings())
        assert [scope for scope, _ in await storage.scopes()] == [TOP_LEVEL, ELSEWHERE]

    run(behaviour)


def test_the_last_version_takes_the_settings_of_its_subject_along(run: Any) -> None:
    async def behaviour(storage: Storage) -> None:
        await append(storage)
        await put(storage, ORDERS, ScopeSettings(mode=Mode.READWRITE))
        await delete(storage, SoftDelete, ORDERS, 1)
        assert (await storage.settings(ORDERS)).mode is Mode.READWRITE
        await delete(storage, HardDelete, ORDERS, 1)
        assert await storage.settings(ORDERS) == ScopeSettings()

    run(behaviour)


def test_a_purge_removes_what_is_soft_deleted_and_refuses_what_is_not(run: Any) -> None:
    async def behaviour(storage: Storage) -> None:
        await append(storage, ORDERS, "a")
        await append(storage, ELSEWHERE, "b")
        imports = ScopeSettings(mode=Mode.IMPORT)
        with pytest.raises(OperationNotPermitted):
            await put(storage, TOP_LEVEL, imports, purge=EVERYTHING)
        await delete(storage, SoftDelete, ORDERS, 1)
        await put(storage, ORDERS, imports, purge=ORDERS)
        assert (await storage.history(ORDERS)).entries == ()
        assert await storage.settings(ORDERS) == imports
        assert len((await storage.history(ELSEWHERE)).entries) == 1

    run(behaviour)


def test_subjects_are_listed_by_prefix_and_visibility(run: Any) -> None:
    async def behaviour(storage: Storage) -> None:
        for name in ("a_b", "a%b", "axb", "A", ":.ctx:a_c", ""):
            await append(storage, parse_subject(name))
        await delete(storage, SoftDelete, parse_subject("axb"), 1)

        async def listed(prefix: SubjectPrefix, visibility: Visibility) -> list[str]:
            return [str(subject) for subject in await storage.subjects(prefix, visibility)]

        assert await listed(SubjectPrefix(".", "a_"), Visibility.ACTIVE) == ["a_b"]
        assert await listed(SubjectPrefix(None, "a_"), Visibility.ACTIVE) == ["a_b", ":.ctx:a_c"]
        assert await listed(SubjectPrefix(".", "a"), Visibility.ALL) == ["a%b", "a_b", "axb"]
        assert await listed(SubjectPrefix(".", ""), Visibility.DELETED) == ["axb"]
        assert await listed(SubjectPrefix(".", ""), Visibility.ACTIVE) == ["", "A", "a%b", "a_b"]

    run(behaviour)


def test_observers_hear_of_every_write_before_its_caller(run: Any) -> None:
    async def behaviour(storage: Storage) -> None:
        heard: list[Any] = []
        storage.observe(lambda plan, outcome: heard.append((type(plan), outcome)))
        outcome = await append(storage)
        assert heard == [(Append, outcome)]
        with pytest.raises(StaleWrite):
            await storage.commit(SoftDelete(ORDERS, (1,), 0, 0))
        assert heard == [(Append, outcome)]

    run(behaviour)


def test_a_refused_plan_leaves_the_others_of_its_batch_alone(run: Any) -> None:
    async def behaviour(storage: Storage) -> None:
        stamp = await storage.settings_revision()
        plans = [
            Append(parse_subject(f"s{number}"), content(f"c{number}"), (), revision=number % 2, settings_revision=stamp)
            for number in range(20)
        ]
        outcomes = await asyncio.gather(*(storage.commit(plan) for plan in plans), return_exceptions=True)
        assert [isinstance(outcome, Appended) for outcome in outcomes] == [number % 2 == 0 for number in range(20)]
        assert len(await storage.subjects(EVERYTHING, Visibility.ALL)) == 10
        assert await storage.max_id(".") == 10

    run(behaviour)


actions = st.lists(
    st.tuples(
        st.sampled_from(["append", "soft", "hard", "import"]),
        st.sampled_from(["a", "b", ":.c:a"]),
        st.integers(0, 3),
        st.integers(1, 4),
    ),
    max_size=30,
)


@given(actions)
@settings(max_examples=40)
def test_all_storages_tell_the_same_story(
    tmp_path_factory: pytest.TempPathFactory, emptied_postgres: Callable[[], Storage], steps: list[Any]
) -> None:
    """Whatever is done to them, memory, SQLite and PostgreSQL answer alike."""

    async def attempt(storage: Storage, step: tuple[str, str, int, int]) -> Any:
        action, name, text, number = step
        subject = parse_subject(name)
        try:
            match action:
                case "append":
                    return await append(storage, subject, f"t{text}")
                case "import":
                    return await append(storage, subject, f"t{text}", schema_id=number)
                case "soft":
                    entry = (await storage.history(subject)).latest
                    return entry and await delete(storage, SoftDelete, subject, entry.version)
                case _:
                    gone = [entry.version for entry in (await storage.history(subject)).entries if entry.deleted]
                    return gone and await delete(storage, HardDelete, subject, *gone)
        except (OperationNotPermitted, ReferenceExists) as error:
            return type(error)

    async def state(storage: Storage) -> Any:
        subjects = await storage.subjects(EVERYTHING, Visibility.ALL)
        histories = [await storage.history(subject) for subject in subjects]
        return (
            subjects,
            [[replace(entry, ts=0) for entry in history.entries] for history in histories],
            [await storage.max_id(context) for context in (".", ".c")],
            [await storage.id_of_guid(".", content(f"t{text}").guid) for text in range(4)],
            await storage.contexts(),
        )

    async def main() -> None:
        memory, file = MemoryStorage(), SqliteStorage(tmp_path_factory.mktemp("stores") / "registry.db")
        database = emptied_postgres()
        try:
            for step in steps:
                answers = [await attempt(storage, step) for storage in (memory, file, database)]
                assert answers[1:] == answers[:1] * 2
                states = [await state(storage) for storage in (memory, file, database)]
                assert states[1:] == states[:1] * 2
        finally:
            await file.close()
            await database.close()

    asyncio.run(main())
