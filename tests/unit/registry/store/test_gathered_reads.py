"""Reads that are shared, and histories that are remembered while nobody writes to them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING
from uuid import UUID

import pytest

from counterfoil.registry.store.changes import JournalChange, JournalChangeKind, WrittenChanges
from counterfoil.registry.store.postgres.known import KnownHistories
from counterfoil.registry.store.postgres.news import MAX_GATHERED, GatheredReads
from counterfoil.registry.subjects.versions import SubjectHistory, VersionEntry, make_content
from counterfoil.schema.contexts import parse_subject
from counterfoil.schema.errors import StoreTimeout
from counterfoil.schema.model import SchemaType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterfoil.schema.contexts import QualifiedSubject

ORDERS, OTHER = parse_subject("orders"), parse_subject("other")
CONTENT = make_content('"int"', SchemaType.AVRO)


def test_who_asks_while_a_read_is_under_way_shares_the_next() -> None:
    batches: list[list[int]] = []
    begun = asyncio.Event()

    async def read_many(keys: Sequence[int]) -> list[str]:
        batches.append(list(keys))
        begun.set()
        await asyncio.sleep(0)
        return [f"value {key}" for key in keys]

    async def main() -> None:
        reads = GatheredReads(read_many)
        first = asyncio.create_task(reads.read(0))
        await begun.wait()
        others = [asyncio.create_task(reads.read(key % 80)) for key in range(160)]
        assert await first == "value 0"
        assert [await each for each in others] == [f"value {key % 80}" for key in range(160)]
        assert batches == [[0], [*range(MAX_GATHERED)], [*range(MAX_GATHERED, 80)]]
        assert await reads.read(7) == "value 7"
        assert batches[-1] == [7]

    asyncio.run(main())


def test_who_waits_behind_a_read_that_was_not_answered_in_time_is_not_kept_waiting() -> None:
    begun, is_over = asyncio.Event(), asyncio.Event()
    batches: list[list[int]] = []

    async def read_many(keys: Sequence[int]) -> list[int]:
        batches.append(list(keys))
        begun.set()
        await is_over.wait()
        if 0 in keys:
            raise StoreTimeout("There was no answer in time")
        return list(keys)

    async def main() -> None:
        reads = GatheredReads(read_many)
        first = asyncio.create_task(reads.read(0))
        await begun.wait()
        others = [asyncio.create_task(reads.read(key)) for key in (1, 2, 2)]
        await asyncio.sleep(0)
        is_over.set()
        outcomes = await asyncio.gather(first, *others, return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [StoreTimeout] * 4
        assert await reads.read(3) == 3
        assert batches == [[0], [3]]

    asyncio.run(main())


def test_a_read_that_fails_fails_for_those_who_share_it_alone() -> None:
    async def read_many(keys: Sequence[int]) -> list[int]:
        await asyncio.sleep(0)
        if 1 in keys:
            raise OSError("gone")
        return list(keys)

    async def main() -> None:
        reads = GatheredReads(read_many)
        found = await asyncio.gather(reads.read(1), reads.read(2), return_exceptions=True)
        assert [type(each) for each in found] == [OSError, OSError]
        assert await reads.read(2) == 2

    asyncio.run(main())


def test_a_cancelled_caller_cancels_no_other() -> None:
    async def read_many(keys: Sequence[int]) -> list[int]:
        await asyncio.sleep(0)
        return list(keys)

    async def main() -> None:
        reads = GatheredReads(read_many)
        leaver, stayer = (asyncio.create_task(reads.read(1)) for _ in range(2))
        await asyncio.sleep(0)
        leaver.cancel()
        assert await stayer == 1
        with pytest.raises(asyncio.CancelledError):
            await leaver

    asyncio.run(main())


class Stored:
    """Histories as a database would have them, and how often they were read."""

    def __init__(self) -> None:
        self.histories = {ORDERS: history(1), OTHER: history(2)}
        self.reads: list[QualifiedSubject] = []
        self.begun = asyncio.Event()
        self.gate = asyncio.Event()
        self.gate.set()

    async def read(self, subject: QualifiedSubject) -> SubjectHistory:
        self.reads.append(subject)
        found = self.histories.get(subject, SubjectHistory())
        self.begun.set()
        await self.gate.wait()
        return found


def history(revision: int, *versions: int, deleted: int = 0) -> SubjectHistory:
    entries = (VersionEntry(number, number, UUID(int=number), number == deleted, ts=number) for number in versions)
    return SubjectHistory(revision, tuple(entries))


def appended(known: KnownHistories, subject: QualifiedSubject, *, revision: int, version: int) -> None:
    change = JournalChange(revision + 1, 50, JournalChangeKind.REGISTERED, subject, version, 9, CONTENT.guid)
    known(WrittenChanges((change,), decided_on={subject: revision}))


def test_histories_are_read_once_and_follow_our_own_registrations() -> None:
    async def main() -> None:
        stored = Stored()
        known = KnownHistories(stored.read)
        assert await known.of(ORDERS) == await known.of(ORDERS) == history(1)
        appended(known, ORDERS, revision=1, version=1)
        assert await known.of(ORDERS) == SubjectHistory(2, (VersionEntry(1, 9, CONTENT.guid, deleted=False, ts=50),))
        assert stored.reads == [ORDERS]

    asyncio.run(main())


def test_what_is_not_plainly_one_version_more_is_read_again() -> None:
    async def main() -> None:
        stored = Stored()
        stored.histories[OTHER] = history(2, 1, 2, deleted=1)
        known = KnownHistories(stored.read)
        await known.of(ORDERS)
        appended(known, ORDERS, revision=7, version=3)  # decided on something newer than what is known
        await known.of(ORDERS)
        await known.of(OTHER)
        appended(known, OTHER, revision=2, version=3)  # which may have superseded the deleted one
        await known.of(OTHER)
        assert stored.reads == [ORDERS, ORDERS, OTHER, OTHER]

    asyncio.run(main())


def test_config_and_modes_leave_histories_alone() -> None:
    async def main() -> None:
        stored = Stored()
        known = KnownHistories(stored.read)
        await known.of(ORDERS)
        known(
            WrittenChanges((JournalChange(9, 1, JournalChangeKind.SETTINGS, OTHER, document={}),), has_new_terms=True)
        )
        await known.of(ORDERS)
        assert stored.reads == [ORDERS]

    asyncio.run(main())


@pytest.mark.parametrize(
    "written",
    [
        WrittenChanges((JournalChange(1, 1, JournalChangeKind.DELETED, ORDERS, 1),)),
        WrittenChanges((JournalChange(1, 1, JournalChangeKind.DELETED, ORDERS, 1),), decided_on={ORDERS: 1}),
        WrittenChanges((JournalChange(1, 1, JournalChangeKind.REMOVED, ORDERS, 1),), decided_on={ORDERS: 1}),
        None,
    ],
)
def test_other_writes_are_forgotten_about_even_in_the_middle_of_a_read(written: WrittenChanges | None) -> None:
    async def main() -> None:
        stored = Stored()
        known = KnownHistories(stored.read)
        stored.gate.clear()
        reading = asyncio.create_task(known.of(ORDERS))
        await stored.begun.wait()
        stored.histories[ORDERS] = history(5)
        known(written)
        stored.gate.set()
        assert await reading == history(1)
        assert await known.of(ORDERS) == history(5)
        known(written)
        await known.of(ORDERS)
        assert stored.reads == [ORDERS] * 3

    asyncio.run(main())
