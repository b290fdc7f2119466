"""One behaviour for every storage: what the use cases rely on."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.registry.store.changes import JournalChangeKind, ScopeSettings, WrittenChanges
from counterfoil.registry.store.memory import MemoryStorage
from counterfoil.registry.store.name_ranges import SubjectRange, of_name, of_prefix
from counterfoil.registry.store.sqlite.storage import SqliteStorage
from counterfoil.registry.store.writes import (
    NO_REQUEST,
    AtRevision,
    Extent,
    MarkDeleted,
    ReferenceTarget,
    RemoveVersions,
    StaleWrite,
    StoragePlan,
    same_terms,
)
from counterfoil.registry.subjects.planning import plan_settings
from counterfoil.schema.compatibility import CompatibilityLevel
from counterfoil.schema.contexts import GLOBAL_LEVEL, TOP_LEVEL, SubjectPrefix, parse_subject
from counterfoil.schema.errors import ContextNotEmpty, OperationNotPermitted, ReferenceExists
from counterfoil.schema.model import Metadata, Reference, Rule, RuleSet
from counterfoil.schema.rest.subjects import Config, Mode
from counterfoil.schema.rest.versions import Visibility
from strategies.registry.write_plans import (
    ELSEWHERE,
    EVERYTHING,
    HARD,
    ORDERS,
    SOFT,
    WHOLE,
    Appended,
    append,
    content,
    delete,
    drop,
    put,
    put_record,
    version_plan,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from counterfoil.registry.store.protocol import Storage
    from counterfoil.registry.subjects.versions import VersionEntry
    from counterfoil.schema.contexts import QualifiedSubject


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
        stale = version_plan(ORDERS, content("b"), settings_revision=await storage.settings_revision())
        with pytest.raises(StaleWrite):
            await storage.commit(stale, by=NO_REQUEST)
        assert len((await storage.history(ORDERS)).entries) == 1

    run(behaviour)


def test_a_subject_that_went_and_came_back_has_a_new_revision(run: Any) -> None:
    async def behaviour(storage: Storage) -> None:
        await append(storage, text="a")
        before = await storage.history(ORDERS)
        await delete(storage, SOFT, ORDERS, 1)
        await delete(storage, HARD, ORDERS, 1)
        assert (await storage.history(ORDERS)).revision == 0
        await append(storage, text="a")
        assert (await storage.history(ORDERS)).revision not in {0, before.revision}

    run(behaviour)


def test_a_plan_on_settings_that_changed_is_refused(run: Any) -> None:
    async def behaviour(storage: Storage) -> None:
        before = await storage.settings_revision()
        await put(storage, ORDERS, ScopeSettings(mode=Mode.READONLY))
        with pytest.raises(StaleWrite):
            await storage.commit(version_plan(ORDERS, content("a"), settings_revision=before), by=NO_REQUEST)
        assert await storage.max_id(".") == 0

    run(behaviour)


@pytest.mark.parametrize(
    ("written", "planned", "is_refused"),
    [
        (ORDERS, (ORDERS,), True),
        (TOP_LEVEL, (ORDERS,), True),
        (GLOBAL_LEVEL, (ORDERS,), True),
        (parse_subject(":.ctx:"), (ELSEWHERE,), True),
        (ORDERS, (TOP_LEVEL,), False),
        (ORDERS, (ELSEWHERE,), False),
        (parse_subject("other"), (ORDERS,), False),
        (parse_subject("other"), (ORDERS, ELSEWHERE), True),
    ],
    ids=str,
)
def test_a_plan_for_settings_is_refused_when_what_is_in_force_there_has_changed(
    run: Any,
    written: QualifiedSubject,
    planned: tuple[QualifiedSubject, ...],
    is_refused: bool,  # noqa: FBT001 - a column of the table
) -> None:
    async def behaviour(storage: Storage) -> None:
        await put(storage, TOP_LEVEL, ScopeSettings(mode=Mode.READWRITE))
        before = await storage.settings_revision()
        await put(storage, written, ScopeSettings(mode=Mode.READONLY))
        plan = plan_settings({scope: ScopeSettings(Config(normalize=True)) for scope in planned}, before)
        if is_refused:
            with pytest.raises(StaleWrite):
                await storage.commit(plan, by=NO_REQUEST)
        else:
            await storage.commit(plan, by=NO_REQUEST)
        found = [(await storage.settings(scope)).config for scope in planned]
        assert found == [None if is_refused else Config(normalize=True) for _ in planned]

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
        await delete(storage, SOFT, ORDERS, 2)
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
        await delete(storage, SOFT, ORDERS, 1)
        await delete(storage, HARD, ORDERS, 1)
        assert await storage.guid_of_id(".", 1) is None
        assert await storage.content(content("a").guid) is None
        assert await storage.subjects(EVERYTHING, Visibility.WITH_DELETED) == []
        assert await append(storage, text="a") == Appended(2, 1)

    run(behaviour)


def test_a_context_that_is_dropped_keeps_its_ids_taken(run: Any) -> None:
    async def behaviour(storage: Storage) -> None:
        await append(storage, ELSEWHERE)
        with pytest.raises(ContextNotEmpty):
            await drop(storage, ".ctx")
        await delete(storage, SOFT, ELSEWHERE, 1)
        with pytest.raises(ContextNotEmpty):
            await drop(storage, ".ctx")
        await delete(storage, HARD, ELSEWHERE, 1)
        await drop(storage, ".ctx")
        await drop(storage, ".unknown")
        assert await storage.contexts() == []
        assert await append(storage, ELSEWHERE) == Appended(2, 1)
        assert await storage.contexts() == [".ctx"]

    run(behaviour)


def test_references_guard_what_they_point_at(run: Any) -> None:
    async def behaviour(storage: Storage) -> None:
        await append(storage, ELSEWHERE, "target")
        referring = content("user", references=(Reference("n", ":.ctx:orders", 1),))
        await append(storage, ORDERS, content=referring, targets=(ReferenceTarget(ELSEWHERE, 1),))
        assert [(use.subject, use.version) for use in await storage.referrers(ELSEWHERE, 1)] == [(ORDERS, 1)]
        with pytest.raises(ReferenceExists, match="orders"):
            await delete(storage, SOFT, ELSEWHERE, 1)
        await delete(storage, SOFT, ORDERS, 1)
        await delete(storage, SOFT, ELSEWHERE, 1)
        with pytest.raises(ReferenceExists):
            await delete(storage, HARD, ELSEWHERE, 1)
        await delete(storage, HARD, ORDERS, 1)
        assert await storage.referrers(ELSEWHERE, 1) == []
        await delete(storage, HARD, ELSEWHERE, 1)

    run(behaviour)


def test_a_reference_to_what_was_deleted_meanwhile_is_refused(run: Any) -> None:
    async def behaviour(storage: Storage) -> None:
        await append(storage, ELSEWHERE, "target")
        await delete(storage, SOFT, ELSEWHERE, 1)
        with pytest.raises(StaleWrite):
            await append(storage, ORDERS, "user", targets=(ReferenceTarget(ELSEWHERE, 1),))
        assert await append(storage, ORDERS, "user", targets=(ReferenceTarget(ELSEWHERE, 1, must_be_active=False),))

    run(behaviour)


def test_a_subject_goes_in_spite_of_references_of_its_own(run: Any) -> None:
    async def behaviour(storage: Storage) -> None:
        await append(storage, text="a")
        own = content("b", references=(Reference("n", "orders", 1),))
        await append(storage, content=own, targets=(ReferenceTarget(ORDERS, 1),))
        with pytest.raises(ReferenceExists):
            await delete(storage, SOFT, ORDERS, 1)
        await delete(storage, SOFT, ORDERS, 1, 2, own_references_count=False)
        await delete(storage, HARD, ORDERS, 1, 2, own_references_count=False)
        assert (await storage.history(ORDERS)).entries == ()

    run(behaviour)


def test_an_imported_id_may_be_0(run: Any) -> None:
    async def behaviour(storage: Storage) -> None:
        assert await append(storage, text="a", schema_id=0) == Appended(0, 1)
        assert await storage.guid_of_id(".", 0) == content("a").guid
        assert await append(storage, text="b") == Appended(1, 2)

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
        await delete(storage, SOFT, ORDERS, 4)
        await delete(storage, HARD, ORDERS, 4)
        assert await storage.id_of_guid(".", content("a").guid) == 7

    run(behaviour)


@pytest.mark.parametrize(
    ("scope", "stands_in_the_way"),
    [
        (":.ctx:orders", True),
        (":.ctx:", True),
        ("", True),
        (":.__GLOBAL:", True),
        ("orders", False),
        (":.ctx:other", False),
        (":.other:", False),
    ],
)
def test_config_of_another_scope_does_not_stand_in_a_plans_way(
    run: Any, scope: str, *, stands_in_the_way: bool
) -> None:
    async def behaviour(storage: Storage) -> None:
        await append(storage, ELSEWHERE)
        effects = [
            *version_plan(ELSEWHERE, content("b"), version=2).effects,
            MarkDeleted(ELSEWHERE, (1,)),
            RemoveVersions(ELSEWHERE, (1,)),
        ]
        for effect in effects:
            stamp = await storage.settings_revision()
            level = ScopeSettings(config=Config(compatibility_level=CompatibilityLevel.NONE))
            await put(storage, parse_subject(scope), level)
            revision = (await storage.history(ELSEWHERE)).revision
            decided = StoragePlan((same_terms(ELSEWHERE, stamp), AtRevision(ELSEWHERE, revision)), (effect,))
            if stands_in_the_way:
                with pytest.raises(StaleWrite, match="config or mode"):
                    await storage.commit(decided, by=NO_REQUEST)
            else:
                await storage.commit(decided, by=NO_REQUEST)

    run(behaviour)


def test_records_with_a_say_stand_in_every_plans_way(run: Any) -> None:
    async def behaviour(storage: Storage) -> None:
        stamp = await storage.settings_revision()
        await put_record(storage, "k", ("a",), {"n": 1})
        await storage.commit(version_plan(ORDERS, content("a"), settings_revision=stamp), by=NO_REQUEST)
        await put_record(storage, "k", ("b",), {"n": 1}, settings_revision=stamp)
        with pytest.raises(StaleWrite, match="config or mode"):
            await storage.commit(version_plan(parse_subject("b"), content("b"), settings_revision=stamp), by=NO_REQUEST)

    run(behaviour)


def test_settings_are_stored_by_scope(run: Any) -> None:
    async def behaviour(storage: Storage) -> None:
        config = Config(
            alias="",
            normalize=False,
            compatibility_level=CompatibilityLevel.FULL,
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
        await delete(storage, SOFT, ORDERS, 1)
        assert (await storage.settings(ORDERS)).mode is Mode.READWRITE
        await delete(storage, HARD, ORDERS, 1)
        assert await storage.settings(ORDERS) == ScopeSettings()

    run(behaviour)


def test_a_purge_removes_what_is_soft_deleted_and_refuses_what_is_not(run: Any) -> None:
    async def behaviour(storage: Storage) -> None:
        await append(storage, ORDERS, "a")
        await append(storage, ELSEWHERE, "b")
        imports = ScopeSettings(mode=Mode.IMPORT)
        with pytest.raises(OperationNotPermitted):
            await put(storage, TOP_LEVEL, imports, purge=WHOLE)
        await delete(storage, SOFT, ORDERS, 1)
        await put(storage, ORDERS, imports, purge=Extent.of(ORDERS))
        assert (await storage.history(ORDERS)).entries == ()
        assert await storage.settings(ORDERS) == imports
        assert len((await storage.history(ELSEWHERE)).entries) == 1

    run(behaviour)


def test_subjects_are_listed_by_prefix_and_visibility(run: Any) -> None:
    async def behaviour(storage: Storage) -> None:
        for name in ("a_b", "a%b", "axb", "A", ":.ctx:a_c", ""):
            await append(storage, parse_subject(name))
        await delete(storage, SOFT, parse_subject("axb"), 1)

        async def listed(prefix: SubjectPrefix, visibility: Visibility) -> list[str]:
            return [str(subject) for subject in await storage.subjects(prefix, visibility)]

        assert await listed(SubjectPrefix(".", "a_"), Visibility.ACTIVE) == ["a_b"]
        assert await listed(SubjectPrefix(None, "a_"), Visibility.ACTIVE) == ["a_b", ":.ctx:a_c"]
        assert await listed(SubjectPrefix(".", "a"), Visibility.WITH_DELETED) == ["a%b", "a_b", "axb"]
        assert await listed(SubjectPrefix(".", ""), Visibility.DELETED_ONLY) == ["axb"]
        assert await listed(SubjectPrefix(".", ""), Visibility.ACTIVE) == ["", "A", "a%b", "a_b"]

        async def names(prefix: SubjectPrefix, visibility: Visibility, first: int = 0, last: int = 99) -> Any:
            return json.loads(await storage.subject_names(prefix, visibility, first=first, last=last))

        await append(storage, parse_subject('ü"\\'))
        assert await names(EVERYTHING, Visibility.WITH_DELETED) == ["", ":.ctx:a_c", "A", "a%b", "a_b", "axb", 'ü"\\']
        assert await names(EVERYTHING, Visibility.ACTIVE, 1, 3) == [":.ctx:a_c", "A"]
        assert await names(SubjectPrefix(".ctx", "a"), Visibility.ACTIVE) == [":.ctx:a_c"]
        assert await names(SubjectPrefix(".", ""), Visibility.DELETED_ONLY) == ["axb"]
        assert (
            await names(EVERYTHING, Visibility.WITH_DELETED, 7, 9)
            == await names(EVERYTHING, Visibility.WITH_DELETED, 3, 2)
            == []
        )

        async def within(visibility: Visibility, *ranges: SubjectRange, first: int = 0, last: int = 99) -> Any:
            return json.loads(await storage.names_within(ranges, visibility, first=first, last=last))

        some = (
            SubjectRange(".", "", "B"),
            SubjectRange(".", *of_name("a_b")),
            SubjectRange(".", "b", None),
            SubjectRange(".ctx", *of_prefix("a_")),
            SubjectRange(".none", "", None),
        )
        assert await within(Visibility.ACTIVE, *some) == ["", ":.ctx:a_c", "A", "a_b", 'ü"\\']
        assert await within(Visibility.ACTIVE, *some, first=1, last=3) == [":.ctx:a_c", "A"]
        assert await within(Visibility.DELETED_ONLY, *some, SubjectRange(".", "ax", "ay")) == ["axb"]
        assert await within(Visibility.WITH_DELETED) == await within(Visibility.ACTIVE, *some, first=9) == []

    run(behaviour)


def test_observers_hear_of_every_write_before_its_caller(run: Any) -> None:
    async def behaviour(storage: Storage) -> None:
        heard: list[WrittenChanges | None] = []
        storage.observe(heard.append)
        await append(storage)
        [written] = heard
        assert written is not None
        assert list(written.changes) == list(await storage.changes(0, 10))
        assert not written.has_new_terms
        with pytest.raises(StaleWrite):
            await storage.commit(version_plan(ORDERS, content("b")), by=NO_REQUEST)
        assert heard == [written]
        await put(storage, ORDERS, ScopeSettings(mode=Mode.READWRITE))
        assert [(each.changes[0].kind, each.has_new_terms) for each in heard[1:] if each is not None] == [
            (JournalChangeKind.SETTINGS, True)
        ]

    run(behaviour)


def test_a_refused_plan_leaves_the_others_of_its_batch_alone(run: Any) -> None:
    async def behaviour(storage: Storage) -> None:
        stamp = await storage.settings_revision()
        plans = [
            version_plan(
                parse_subject(f"s{number}"), content(f"c{number}"), revision=number % 2, settings_revision=stamp
            )
            for number in range(20)
        ]
        outcomes = await asyncio.gather(
            *(storage.commit(plan, by=NO_REQUEST) for plan in plans), return_exceptions=True
        )
        assert [isinstance(outcome, WrittenChanges) for outcome in outcomes] == [
            number % 2 == 0 for number in range(20)
        ]
        assert len(await storage.subjects(EVERYTHING, Visibility.WITH_DELETED)) == 10
        assert await storage.max_id(".") == 10

    run(behaviour)


SUBJECTS = ["a", "b", ":.c:a"]
ACTIONS = ["append", "append", "refer", "soft", "soft one", "hard", "hard one", "import", "settings", "purge", "drop"]
actions = st.lists(
    st.tuples(
        st.sampled_from([*ACTIONS, "record", "guarding record"]),
        st.sampled_from(SUBJECTS),
        st.integers(0, 3),
        st.integers(1, 4),
    ),
    max_size=30,
)
SCOPE_SETTINGS = [ScopeSettings(), ScopeSettings(mode=Mode.IMPORT), ScopeSettings(Config(normalize=True)), None]


async def carry_out(storage: Storage, step: tuple[str, str, int, int]) -> Any:
    """One step, on what is current now."""
    action, name, text, number = step
    subject = parse_subject(name)
    entries = (await storage.history(subject)).entries
    match action:
        case "append":
            return await append(storage, subject, f"t{text}")
        case "refer":
            other = parse_subject(SUBJECTS[text % 3])
            references = (Reference("n", str(other), number),)
            targets = (ReferenceTarget(other, number, must_be_active=number % 2 == 0),)
            return await append(storage, subject, content=content("r", references=references), targets=targets)
        case "import":
            return await append(
                storage, subject, f"t{text}", schema_id=number, version=number if text else None, ts=number
            )
        case "settings":
            return await put(storage, subject, SCOPE_SETTINGS[text] or ScopeSettings(Config(), Mode.READONLY))
        case "purge":
            purge = WHOLE if text == 0 else Extent.of(subject)
            return await put(storage, TOP_LEVEL, SCOPE_SETTINGS[1], purge=purge)
        case "drop":
            return await drop(storage, subject.context)
        case "record" | "guarding record":
            guard = await storage.settings_revision() if action == "guarding record" else None
            document = {"n": text} if text else None
            return await put_record(storage, "k", (name, str(number)), document, settings_revision=guard)
    return await carry_out_deletion(storage, step, entries)


async def carry_out_deletion(storage: Storage, step: tuple[str, str, int, int], entries: Sequence[VersionEntry]) -> Any:
    """One step that deletes."""
    action, name, text, number = step
    subject = parse_subject(name)
    match action:
        case "soft":
            return entries and await delete(storage, SOFT, subject, entries[-1].version)
        case "hard":
            return await delete(storage, HARD, subject, *(entry.version for entry in entries if entry.deleted))
    kind = SOFT if action == "soft one" else HARD
    return await delete(storage, kind, subject, number, own_references_count=text != 0)


async def attempt(storage: Storage, step: tuple[str, str, int, int]) -> Any:
    """What a step gives, or the error that refuses it."""
    try:
        return await carry_out(storage, step)
    except (StaleWrite, OperationNotPermitted, ReferenceExists, ContextNotEmpty) as error:
        return type(error), str(error)


async def state_of(storage: Storage) -> Any:
    """Everything that a storage tells, but for the times at which it was told."""
    subjects = await storage.subjects(EVERYTHING, Visibility.WITH_DELETED)
    histories = [await storage.history(subject) for subject in subjects]
    changes = [replace(change, ts=0) for change in await storage.changes(0, 1000)]
    return (
        subjects,
        [history.revision for history in histories],
        [[replace(entry, ts=min(entry.ts, 5)) for entry in history.entries] for history in histories],
        [await storage.max_id(context) for context in (".", ".c")],
        [await storage.id_of_guid(".", content(f"t{text}").guid) for text in range(4)],
        await storage.contexts(),
        await storage.settings_revision(),
        await storage.scopes(),
        [replace(record, ts=0) for record in await storage.records("k")],
        changes,
        [await storage.changes_of(parse_subject(name), 10) for name in SUBJECTS]
        == [[c for c in await storage.changes(0, 10) if str(c.subject) == name] for name in SUBJECTS],
    )


@given(actions)
def test_all_storages_tell_the_same_story(
    tmp_path_factory: pytest.TempPathFactory, emptied_postgres: Callable[[], Storage], steps: list[Any]
) -> None:
    """Whatever is done to them, memory, SQLite and PostgreSQL answer alike."""

    async def main() -> None:
        memory, file = MemoryStorage(), SqliteStorage(tmp_path_factory.mktemp("stores") / "registry.db")
        database = emptied_postgres()
        try:
            for step in steps:
                answers = [await attempt(storage, step) for storage in (memory, file, database)]
                assert answers[1:] == answers[:1] * 2
                states = [await state_of(storage) for storage in (memory, file, database)]
                assert states[1:] == states[:1] * 2
                changes = states[0][-2]
                assert [change.seq for change in changes] == list(range(1, len(changes) + 1))
                assert states[0][-1] is True
        finally:
            await file.close()
            await database.close()

    asyncio.run(main())
