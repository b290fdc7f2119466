"""One behaviour for every storage: what it notes of each write, and the records it keeps beside schemas."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.registry.audit.events import AuditEvent, EventKind, EventPlace
from counterfoil.registry.audit.journal import event_of_change
from counterfoil.registry.store.changes import JournalChange, JournalChangeKind, ScopeSettings
from counterfoil.registry.store.writes import (
    NO_REQUEST,
    AtRevision,
    Author,
    DropContext,
    DropEvents,
    Extent,
    IdOf,
    PutSettings,
    RecordEvents,
    ReferenceTarget,
    Requester,
    SameTerms,
    StaleWrite,
    StoragePlan,
    SubjectCount,
    Unreferenced,
    record_write,
    together,
)
from counterfoil.registry.subjects.planning import plan_settings
from counterfoil.schema.compatibility import CompatibilityLevel
from counterfoil.schema.contexts import TOP_LEVEL, QualifiedSubject, parse_subject
from counterfoil.schema.errors import ContextNotEmpty, OperationNotPermitted, ReferenceExists
from counterfoil.schema.model import Reference
from counterfoil.schema.rest.subjects import Config, Mode
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
    find_record,
    put,
    put_record,
    version_plan,
)

if TYPE_CHECKING:
    from counterfoil.registry.store.protocol import Storage
    from local_services import PostgresClient

OTHER = parse_subject("other")
KEY = ("tenant", "ü/key")


def let_the_clock_tick() -> None:
    """Return when the time stamps are others, 1.5 ms later."""
    end = time.monotonic_ns() + 1_500_000
    while time.monotonic_ns() < end:
        pass


async def noted(storage: Storage, after: int = 0) -> list[tuple[Any, ...]]:
    """The changes after one, as kind, subject, version and id."""
    changes = await storage.changes(after, 1000)
    assert [change.seq for change in changes] == list(range(after + 1, after + len(changes) + 1))
    return [(change.kind, change.subject, change.version, change.schema_id) for change in changes]


# --- what is noted ----------------------------------------------------------------------------------------------------


def test_a_new_storage_has_nothing_to_tell(run: Any) -> None:
    async def behaviour(storage: Storage) -> None:
        assert list(await storage.changes(0, 10)) == []
        assert list(await storage.changes_of(ORDERS, 10)) == []
        assert await storage.last_change() == 0
        assert await storage.last_change(until_ts=1 << 60) == 0
        assert list(await storage.records("key")) == []

    run(behaviour)


FIRST = EventPlace(0)


def test_registrations_are_noted_with_all_their_facts(run: Any) -> None:
    async def behaviour(storage: Storage) -> None:
        await append(storage, ORDERS, "a")
        await append(storage, ELSEWHERE, "b", schema_id=9, version=4)
        first, second = await storage.changes(0, 10)
        assert first == JournalChange(1, first.ts, JournalChangeKind.REGISTERED, ORDERS, 1, 1, content("a").guid)
        assert second == JournalChange(2, second.ts, JournalChangeKind.REGISTERED, ELSEWHERE, 4, 9, content("b").guid)
        assert second.ts >= first.ts > 1_700_000_000_000

    run(behaviour)


def test_changes_name_the_author_of_their_request(run: Any) -> None:
    async def behaviour(storage: Storage) -> None:
        await append(storage, text="a")
        by = Requester(Author("User:ü", "request 7"))
        await append(storage, text="b", by=by)
        await delete(storage, SOFT, ORDERS, 1, 2, by=by)
        await put(storage, ORDERS, ScopeSettings(mode=Mode.READWRITE), by=by)
        await put_record(storage, "key", KEY, {"n": 1}, by=by)
        await drop(storage, ".unknown")
        authors = [(change.author, change.request_id) for change in await storage.changes(0, 10)]
        assert authors == [(None, None), *[("User:ü", "request 7")] * 5, (None, None)]
        assert [change.author for change in await storage.changes_of(ORDERS, 2)] == [None, "User:ü"]

    run(behaviour)


def test_events_of_the_audit_are_kept_between_changes(run: Any) -> None:
    def recorded(*resources: str) -> RecordEvents:
        return RecordEvents(tuple(AuditEvent(EventKind.ACCESS_CHANGED, {"resource": each}) for each in resources))

    async def found(storage: Storage, after: EventPlace = FIRST, last: int = 9, limit: int = 9) -> list[Any]:
        events = await storage.audit_events(after, last, limit)
        return [(each.place.change, each.facts["resource"]) for each in events]

    async def behaviour(storage: Storage) -> None:
        assert await storage.journal_head() == (0, b"")
        await storage.commit(StoragePlan((), (recorded("a\x00", "ü"),)), by=NO_REQUEST)
        await append(storage, text="a")
        await storage.commit(StoragePlan((AtRevision(ORDERS, 1),), (recorded("b"), recorded("c"))), by=NO_REQUEST)
        with pytest.raises(StaleWrite):
            await storage.commit(StoragePlan((AtRevision(ORDERS, 7),), (recorded("refused"),)), by=NO_REQUEST)
        await append(storage, text="b")
        seq, chain = await storage.journal_head()
        assert (seq, len(chain)) == (2, 32)
        everything = [(0, "a\x00"), (0, "ü"), (1, "b"), (1, "c")]
        assert await found(storage) == everything
        assert await found(storage, last=0) == everything[:2]
        assert await found(storage, limit=3) == everything[:3]
        first, second, third, _ = await storage.audit_events(EventPlace(0), 9, 9)
        assert first.place < second.place < EventPlace(1) < third.place
        assert (first.event, first.ts > 1_700_000_000_000) == ("access.changed", True)
        assert await found(storage, after=second.place) == everything[2:]
        assert await found(storage, after=third.place) == everything[3:]
        await storage.commit(StoragePlan((), (recorded("d"), DropEvents(second.place.number))), by=NO_REQUEST)
        assert await found(storage) == [*everything[2:], (2, "d")]
        assert await storage.last_change() == 2

    run(behaviour)


def test_a_version_that_supersedes_deleted_ones_is_noted_before_they_go(run: Any) -> None:
    async def behaviour(storage: Storage) -> None:
        await append(storage, text="a")
        await append(storage, text="b")
        await delete(storage, SOFT, ORDERS, 2)
        await append(storage, text="b")
        assert await noted(storage, 2) == [
            (JournalChangeKind.DELETED, ORDERS, 2, 2),
            (JournalChangeKind.REGISTERED, ORDERS, 3, 2),
            (JournalChangeKind.REMOVED, ORDERS, 2, 2),
        ]

    run(behaviour)


def test_each_deleted_version_is_a_change_and_those_that_were_not_there_are_none(run: Any) -> None:
    async def behaviour(storage: Storage) -> None:
        for text in "abc":
            await append(storage, text=text)
        await delete(storage, SOFT, ORDERS, 3, 1, 77)
        await delete(storage, HARD, ORDERS, 1, 3)
        assert await noted(storage, 3) == [
            (JournalChangeKind.DELETED, ORDERS, 1, 1),
            (JournalChangeKind.DELETED, ORDERS, 3, 3),
            (JournalChangeKind.REMOVED, ORDERS, 1, 1),
            (JournalChangeKind.REMOVED, ORDERS, 3, 3),
        ]
        assert [change.guid for change in await storage.changes(3, 2)] == [content("a").guid, content("c").guid]
        before = (await storage.history(ORDERS)).revision
        await delete(storage, HARD, ORDERS, 77)
        await delete(storage, SOFT, OTHER, 1)
        await delete(storage, HARD, OTHER, 1)
        assert await storage.last_change() == 7
        assert (await storage.history(ORDERS)).revision == before == 7
        assert await storage.contexts() == ["."]

    run(behaviour)


def test_settings_are_noted_as_all_that_is_stored_now(run: Any) -> None:
    async def behaviour(storage: Storage) -> None:
        config = Config(compatibility_level=CompatibilityLevel.FULL, normalize=False)
        await put(storage, ORDERS, ScopeSettings(config))
        await put(storage, ORDERS, ScopeSettings(config, Mode.READONLY))
        await put(storage, ORDERS, ScopeSettings(mode=Mode.READONLY))
        await put(storage, TOP_LEVEL, ScopeSettings())
        stored = {"compatibility": "FULL", "normalize": False}
        changes = await storage.changes(0, 10)
        assert [(change.kind, change.subject, change.document) for change in changes] == [
            (JournalChangeKind.SETTINGS, ORDERS, {"config": stored}),
            (JournalChangeKind.SETTINGS, ORDERS, {"config": stored, "mode": "READONLY"}),
            (JournalChangeKind.SETTINGS, ORDERS, {"mode": "READONLY"}),
            (JournalChangeKind.SETTINGS, TOP_LEVEL, {}),
        ]

    run(behaviour)


def test_the_settings_that_go_with_the_last_version_are_noted(run: Any) -> None:
    async def behaviour(storage: Storage) -> None:
        await append(storage)
        await put(storage, ORDERS, ScopeSettings(mode=Mode.READWRITE))
        await delete(storage, SOFT, ORDERS, 1)
        before = await storage.settings_revision()
        await delete(storage, HARD, ORDERS, 1)
        assert await noted(storage, 3) == [
            (JournalChangeKind.REMOVED, ORDERS, 1, 1),
            (JournalChangeKind.SETTINGS, ORDERS, None, None),
        ]
        assert (before, await storage.settings_revision()) == (2, 5)

    run(behaviour)


def test_a_purge_notes_what_it_removes_and_then_the_settings(run: Any) -> None:
    async def behaviour(storage: Storage) -> None:
        for subject in (OTHER, ORDERS):
            await append(storage, subject, "a")
            await delete(storage, SOFT, subject, 1)
        await put(storage, TOP_LEVEL, ScopeSettings(mode=Mode.IMPORT), purge=WHOLE)
        assert await noted(storage, 4) == [
            (JournalChangeKind.REMOVED, ORDERS, 1, 1),
            (JournalChangeKind.REMOVED, OTHER, 1, 1),
            (JournalChangeKind.SETTINGS, TOP_LEVEL, None, None),
        ]

    run(behaviour)


def test_a_context_that_goes_is_noted_under_its_empty_name(run: Any) -> None:
    async def behaviour(storage: Storage) -> None:
        await drop(storage, ".ctx")
        assert await noted(storage) == [(JournalChangeKind.CONTEXT_DELETED, QualifiedSubject(".ctx", ""), None, None)]

    run(behaviour)


def test_records_are_noted_by_name_alone(run: Any) -> None:
    async def behaviour(storage: Storage) -> None:
        await put_record(storage, "key", KEY, {"secret": 1})
        await put_record(storage, "key", KEY, None)
        assert await noted(storage) == [(JournalChangeKind.RECORD, TOP_LEVEL, None, None)] * 2
        changes = await storage.changes(0, 10)
        assert [change.document for change in changes] == [{"kind": "key", "key": list(KEY)}] * 2

    run(behaviour)


def test_a_change_of_a_record_has_what_is_for_the_audit_alone(run: Any) -> None:
    about = {"context": ".ü", "subject": ":.ü:s", "before": "1" * 64, "after": "2" * 64}

    async def behaviour(storage: Storage) -> None:
        await storage.commit(record_write("key", KEY, {"n": 1}, revision=0, for_audit=about), by=NO_REQUEST)
        [change] = await storage.changes(0, 10)
        assert change.document == {"kind": "key", "key": list(KEY), **about}
        assert change.shown == {"kind": "key", "key": list(KEY)}
        event = event_of_change(change)
        assert event is not None
        assert about.items() <= event.facts.items()

    run(behaviour)


def test_what_is_refused_is_not_noted(run: Any) -> None:
    async def behaviour(storage: Storage) -> None:
        await append(storage, ELSEWHERE, "target")
        referring = content("user", references=(Reference("n", ":.ctx:orders", 1),))
        await append(storage, ORDERS, content=referring, targets=(ReferenceTarget(ELSEWHERE, 1),))
        await put(storage, TOP_LEVEL, ScopeSettings(mode=Mode.READWRITE))
        stamp = await storage.settings_revision()
        x, orders = content("x"), (await storage.history(ORDERS)).revision
        written = version_plan(OTHER, x, settings_revision=stamp)
        record = record_write("k", ("a",), {}, revision=0)
        own = Extent.of(ELSEWHERE)
        refused: list[tuple[type[Exception], Any]] = [
            (StaleWrite, version_plan(ORDERS, x, settings_revision=stamp)),
            (StaleWrite, version_plan(OTHER, x, settings_revision=stamp - 1)),
            (StaleWrite, version_plan(OTHER, x, ReferenceTarget(ORDERS, 9), settings_revision=stamp)),
            (OperationNotPermitted, version_plan(OTHER, x, settings_revision=stamp, schema_id=1)),
            (StaleWrite, StoragePlan((IdOf(".", x.guid, 1),), written.effects)),
            (StaleWrite, StoragePlan((Unreferenced(ELSEWHERE, (1,)),), written.effects)),
            (StaleWrite, StoragePlan((Unreferenced(ELSEWHERE, (2, 1), own, deleted_count=False),), written.effects)),
            (StaleWrite, StoragePlan((Unreferenced(ELSEWHERE, (1,), Extent(".ctx")),), written.effects)),
            (StaleWrite, StoragePlan((SubjectCount(None, 1),), written.effects)),
            (StaleWrite, StoragePlan((SubjectCount(".ctx", 0),), (DropContext(".ctx"),))),
            (StaleWrite, StoragePlan((SameTerms(stamp - 1),), (PutSettings(ORDERS, ScopeSettings()),))),
            (StaleWrite, together((record, record_write("k", ("b",), {}, revision=1)))),
            (StaleWrite, together((record, StoragePlan((AtRevision(ORDERS, orders - 1),))))),
            (StaleWrite, together((written, StoragePlan((SameTerms(stamp - 1),))))),
        ]
        before = await storage.changes(0, 100)
        for error, plan in refused:
            with pytest.raises(error):
                await storage.commit(plan, by=NO_REQUEST)
        assert list(await storage.changes(0, 100)) == list(before)
        assert await storage.last_change() == 3
        assert list(await storage.records("k")) == []
        assert await storage.settings_revision() == stamp
        held = (Unreferenced(ELSEWHERE, (1,), Extent(".")), SubjectCount(None, 2), IdOf(".", referring.guid, 1))
        await storage.commit(
            StoragePlan((*held, Unreferenced(ELSEWHERE, (1,), Extent())), written.effects), by=NO_REQUEST
        )
        with pytest.raises(ReferenceExists):
            await delete(storage, HARD, ELSEWHERE, 1)
        with pytest.raises(OperationNotPermitted):
            await put(storage, ORDERS, ScopeSettings(), purge=WHOLE)
        with pytest.raises(ContextNotEmpty):
            await drop(storage, ".ctx")
        assert await storage.last_change() == 4

    run(behaviour)


def test_many_writers_leave_no_gap_and_every_subject_has_the_number_of_its_last_change(run: Any) -> None:
    async def one(storage: Storage, subject: QualifiedSubject, text: str) -> None:
        while True:
            try:
                await append(storage, subject, text)
            except StaleWrite:
                await asyncio.sleep(0)
            else:
                return

    async def behaviour(storage: Storage) -> None:
        subjects = [parse_subject(f"s{number}") for number in range(5)]
        await asyncio.gather(*(one(storage, subject, f"{n}") for n in range(12) for subject in subjects))
        assert len(await noted(storage)) == await storage.last_change() == 60
        times = [change.ts for change in await storage.changes(0, 100)]
        assert times == sorted(times)
        for subject in subjects:
            changes = await storage.changes_of(subject, 60)
            assert [change.version for change in changes] == list(range(1, 13))
            assert (await storage.history(subject)).revision == changes[-1].seq

    run(behaviour)


# --- reading it -------------------------------------------------------------------------------------------------------


def test_changes_are_read_in_pages(run: Any) -> None:
    async def behaviour(storage: Storage) -> None:
        for text in "abcde":
            await append(storage, text=text)
        pages = [[change.seq for change in await storage.changes(after, 2)] for after in (0, 2, 4, 5, 99)]
        assert pages == [[1, 2], [3, 4], [5], [], []]
        assert list(await storage.changes(0, 0)) == []

    run(behaviour)


def test_the_changes_of_a_subject_are_its_own_up_to_a_number(run: Any) -> None:
    async def behaviour(storage: Storage) -> None:
        await append(storage, ORDERS, "a")
        await append(storage, ELSEWHERE, "a")
        await put(storage, ORDERS, ScopeSettings(mode=Mode.READWRITE))
        await append(storage, ORDERS, "b")
        assert [change.seq for change in await storage.changes_of(ORDERS, 99)] == [1, 3, 4]
        assert [change.seq for change in await storage.changes_of(ORDERS, 3)] == [1, 3]
        assert [change.seq for change in await storage.changes_of(ELSEWHERE, 99)] == [2]
        assert list(await storage.changes_of(ORDERS, 0)) == list(await storage.changes_of(OTHER, 99)) == []

    run(behaviour)


def test_the_last_change_up_to_a_time_is_found(run: Any) -> None:
    async def behaviour(storage: Storage) -> None:
        for text in "abc":
            await append(storage, text=text)
        changes = await storage.changes(0, 10)
        for at in {change.ts for change in changes}:
            assert await storage.last_change(until_ts=at) == max(change.seq for change in changes if change.ts <= at)
        assert await storage.last_change(until_ts=changes[0].ts - 1) == 0
        assert await storage.last_change(until_ts=changes[-1].ts + 10_000) == 3

    run(behaviour)


@pytest.mark.parametrize("store_url", ["sqlite", "postgres"], indirect=True)
def test_times_never_go_back_even_where_the_clock_does(
    store: Any, store_url: str, request: pytest.FixtureRequest
) -> None:
    """The clock goes back by a day: what was noted before is given times of tomorrow."""

    async def write(text: str) -> list[int]:
        async with store() as storage:
            await append(storage, text=text)
            return [change.ts for change in await storage.changes(0, 10)]

    statement = "UPDATE {}changes SET ts = ts + 86400000"
    before = asyncio.run(write("a"))
    if store_url.startswith("sqlite"):
        with closing(sqlite3.connect(store_url.removeprefix("sqlite:///"))) as connection, connection:
            connection.execute(statement.format(""))
    else:
        server: PostgresClient = request.getfixturevalue("postgres")
        server.run(f"{statement.format('counterfoil.')};;SELECT 1", database=store_url.rpartition("/")[2])
    tomorrow = before[0] + 86_400_000
    assert asyncio.run(write("b")) == [tomorrow, tomorrow]


def test_an_import_brings_the_time_of_the_version_and_not_of_the_change(run: Any) -> None:
    async def behaviour(storage: Storage) -> None:
        await append(storage, text="a", schema_id=5, version=2, ts=1234)
        await append(storage, text="b", ts=0)
        assert [entry.ts for entry in (await storage.history(ORDERS)).entries] == [1234, 0]
        assert [use.ts for use in await storage.uses(".", 5)] == [1234]
        assert all(change.ts > 1_700_000_000_000 for change in await storage.changes(0, 10))

    run(behaviour)


@pytest.mark.parametrize("store_url", ["sqlite", "postgres"], indirect=True)
def test_journal_and_records_are_there_when_the_storage_is_opened_again(store: Any) -> None:
    async def state(storage: Storage) -> Any:
        revision = await storage.settings_revision()
        return list(await storage.changes(0, 10)), list(await storage.records("key")), revision

    async def main() -> None:
        async with store() as storage:
            await append(storage)
            await put_record(storage, "key", KEY, {"n": 1}, settings_revision=0)
            before = await state(storage)
        async with store() as storage:
            assert await state(storage) == before
            await append(storage, text="b")
            assert await storage.last_change() == 3

    asyncio.run(main())


# --- records ----------------------------------------------------------------------------------------------------------


def test_a_record_comes_back_as_it_was_stored(run: Any) -> None:
    async def behaviour(storage: Storage) -> None:
        document = {"b": [1, None, True, "ü\u0000"], "a": {"x": 1.5}}
        await put_record(storage, "key", KEY, document)
        record = await find_record(storage, "key", *KEY)
        assert record is not None
        assert (record.kind, record.key, record.document, record.revision) == ("key", KEY, document, 1)
        assert record.ts > 1_700_000_000_000
        await put_record(storage, "key", KEY, None)
        assert await find_record(storage, "key", *KEY) is None

    run(behaviour)


def test_records_are_written_on_what_was_read(run: Any) -> None:
    async def behaviour(storage: Storage) -> None:
        async def write(revision: int, document: Any) -> None:
            await storage.commit(record_write("key", KEY, document, revision=revision), by=NO_REQUEST)

        await write(0, {"n": 1})
        with pytest.raises(StaleWrite, match="tenant"):
            await write(0, {"n": 2})
        await write(1, {"n": 2})
        with pytest.raises(StaleWrite):
            await write(1, {"n": 3})
        await write(2, None)
        with pytest.raises(StaleWrite):
            await write(2, {"n": 4})
        await write(0, {"n": 5})
        assert [(record.document, record.revision) for record in await storage.records("key")] == [({"n": 5}, 4)]

    run(behaviour)


def test_writing_the_same_again_keeps_the_time_and_changes_the_revision(run: Any) -> None:
    async def behaviour(storage: Storage) -> None:
        await put_record(storage, "key", KEY, {"a": 1, "b": 2})
        first = await find_record(storage, "key", *KEY)
        let_the_clock_tick()
        await put_record(storage, "key", KEY, {"b": 2, "a": 1})
        second = await find_record(storage, "key", *KEY)
        await put_record(storage, "key", KEY, {"a": 1})
        third = await find_record(storage, "key", *KEY)
        assert first is not None
        assert second is not None
        assert third is not None
        assert (second.ts, second.revision) == (first.ts, 2)
        assert third.ts > first.ts
        assert third.revision == 3

    run(behaviour)


def test_records_are_listed_by_the_first_parts_of_their_keys(run: Any) -> None:
    async def behaviour(storage: Storage) -> None:
        for key in (("b",), ("a", "2"), ("a", "10"), ("ab", "1"), ("a",), ("a%", "1"), ("ä", "1"), ("a", "1", "x")):
            await put_record(storage, "key", key, {})
        await put_record(storage, "kez", ("a", "1"), {})

        async def listed(*prefix: str) -> list[tuple[str, ...]]:
            return [record.key for record in await storage.records("key", prefix)]

        assert await listed("a") == [("a",), ("a", "1", "x"), ("a", "10"), ("a", "2")]
        assert await listed("a", "1") == [("a", "1", "x")]
        assert await listed("ä") == [("ä", "1")]
        assert await listed("c") == []
        everything = await listed()
        assert len(everything) == 8
        assert everything == sorted(everything)
        assert [record.key for record in await storage.records("kez")] == [("a", "1")]

    run(behaviour)


def test_records_may_rest_on_subjects(run: Any) -> None:
    async def behaviour(storage: Storage) -> None:
        await append(storage)
        write = record_write("association", ("orders",), {"n": 1}, revision=0)
        await storage.commit(
            together((StoragePlan((AtRevision(ORDERS, 1), AtRevision(OTHER, 0))), write)), by=NO_REQUEST
        )
        await append(storage, text="b")
        with pytest.raises(StaleWrite, match="orders"):
            await storage.commit(together((StoragePlan((AtRevision(ORDERS, 1),)), write)), by=NO_REQUEST)
        with pytest.raises(StaleWrite, match="other"):
            await storage.commit(
                together((StoragePlan((AtRevision(ORDERS, 3), AtRevision(OTHER, 1))), write)), by=NO_REQUEST
            )

    run(behaviour)


def test_records_with_a_say_in_registrations_overtake_them(run: Any) -> None:
    async def behaviour(storage: Storage) -> None:
        planned = version_plan(ORDERS, content("a"))
        await put_record(storage, "key", KEY, {})
        assert await storage.settings_revision() == 0
        await put_record(storage, "key", KEY, {"n": 1}, settings_revision=0)
        assert await storage.settings_revision() == 2
        with pytest.raises(StaleWrite):
            await storage.commit(planned, by=NO_REQUEST)
        assert await append(storage)

    run(behaviour)


def test_the_settings_revision_is_the_number_of_their_last_change(run: Any) -> None:
    async def behaviour(storage: Storage) -> None:
        await append(storage)
        assert await storage.settings_revision() == 0
        scopes = {ORDERS: ScopeSettings(mode=Mode.READONLY), OTHER: ScopeSettings(Config())}
        await storage.commit(plan_settings(scopes, 0), by=NO_REQUEST)
        assert await storage.settings_revision() == await storage.last_change() == 3
        await append(storage, text="b")
        assert await storage.settings_revision() == 3

    run(behaviour)


def test_the_changes_of_a_subject_are_limited_to_versions_and_to_a_kind(run: Any) -> None:
    async def behaviour(storage: Storage) -> None:
        for number in range(6):
            await append(storage, ORDERS, f"{number}")
            await put(storage, ORDERS, ScopeSettings(mode=Mode.READONLY if number % 2 else Mode.READWRITE))
        every = list(await storage.changes_of(ORDERS, 99))
        for until in (99, 7, 0):
            for versions in (None, range(1, 7), range(2, 4), range(6, 7), range(3, 3), range(7, 9)):
                for kind in (None, JournalChangeKind.REGISTERED, JournalChangeKind.SETTINGS, JournalChangeKind.REMOVED):
                    expected = [
                        each
                        for each in every
                        if each.seq <= until
                        and (versions is None or each.version in versions)
                        and kind in {None, each.kind}
                    ]
                    found = await storage.changes_of(ORDERS, until, versions=versions, kind=kind)
                    assert list(found) == expected, (until, versions, kind)
                    for newest in (0, 1, 3, 99):
                        last = await storage.changes_of(ORDERS, until, versions=versions, kind=kind, newest=newest)
                        assert list(last) == expected[max(len(expected) - newest, 0) :], (until, versions, kind, newest)

    run(behaviour)
