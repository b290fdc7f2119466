"""What other servers wrote is told once, to all who ask at the same time, and whole or as "anything"."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from counterfoil.registry.store.changes import JournalChange, JournalChangeKind, WrittenChanges
from counterfoil.registry.store.postgres.news import LEASE_S, MAX_TOLD, PATIENCE_S, Journal, NewsFromElsewhere, Stamps
from counterfoil.registry.store.protocol import StoreContact, StoreSlow
from counterfoil.schema.contexts import parse_subject
from counterfoil.schema.errors import StoreUnavailable


class Database:
    """Stamps and a journal, as a storage would read them."""

    def __init__(self) -> None:
        self.stamps = Stamps(0, 0)
        self.reads: list[int | None] = []
        self.is_read = asyncio.Event()
        self.is_away = False
        self.forgotten = 0
        self.now_s = 100.0
        self.takes_s = 0.0
        self.told: list[Any] = []
        self.news = NewsFromElsewhere(self.read, announce=self.told.append, clock_s=lambda: self.now_s)

    async def read(self, after: int | None) -> Journal:
        self.reads.append(after)
        self.is_read.set()
        if self.is_away:
            raise StoreUnavailable("The store is away")
        stamps, known = self.stamps, self.stamps.change if after is None else after
        await asyncio.sleep(0)
        self.now_s += self.takes_s
        found = range(max(known, self.forgotten) + 1, min(known + MAX_TOLD, stamps.change) + 1)
        return Journal(
            stamps, [JournalChange(seq, 0, JournalChangeKind.REGISTERED, parse_subject("s"), 1, seq) for seq in found]
        )

    @property
    def seqs(self) -> list[Any]:
        return [
            [change.seq for change in each.changes] if isinstance(each, WrittenChanges) else each for each in self.told
        ]


def test_all_who_ask_at_once_share_a_reading() -> None:
    async def main() -> None:
        database = Database()
        await database.news.catch_up()
        assert (database.told, database.reads) == ([], [None])
        database.stamps = Stamps(3, 0)
        await asyncio.gather(*(database.news.catch_up() for _ in range(50)))
        assert (database.seqs, database.reads) == ([[1, 2, 3]], [None, 0])

    asyncio.run(main())


def test_who_asks_meanwhile_gets_what_was_written_meanwhile() -> None:
    async def main() -> None:
        database = Database()
        await database.news.catch_up()
        database.stamps = Stamps(1, 0)
        first = asyncio.create_task(database.news.catch_up())
        await asyncio.sleep(0)
        database.stamps = Stamps(2, 0)
        await database.news.catch_up()
        assert [seq for each in database.seqs for seq in each] == [1, 2]
        await first

    asyncio.run(main())


def test_who_asks_at_the_moment_at_which_a_reading_ends_begins_another() -> None:
    async def main() -> None:
        database = Database()
        asked: list[asyncio.Task[None]] = []

        def ask_again(news: Any) -> None:
            database.told.append(news)
            if not asked:  # its turn comes when the reading is done, and before whoever is told of that
                database.stamps = Stamps(2, 0)
                asked.append(asyncio.create_task(database.news.catch_up()))

        database.news = NewsFromElsewhere(database.read, announce=ask_again)
        await database.news.catch_up()
        database.stamps = Stamps(1, 0)
        await database.news.catch_up()
        await asked[0]
        assert database.seqs == [[1], [2]]

    asyncio.run(main())


def test_a_failure_reaches_all_who_wait_and_nothing_is_left_out_afterwards() -> None:
    async def main() -> None:
        database = Database()
        await database.news.catch_up()
        database.stamps, database.is_away = Stamps(2, 0), True
        outcomes = await asyncio.gather(*(database.news.catch_up() for _ in range(20)), return_exceptions=True)
        assert all(isinstance(outcome, StoreUnavailable) for outcome in outcomes)
        assert (database.reads, database.told) == ([None, 0], [])
        database.is_away = False
        await database.news.catch_up()
        assert database.seqs == [[1, 2]]

    asyncio.run(main())


@pytest.mark.parametrize(
    ("stamps", "forgotten", "told"),
    [
        (Stamps(1000, 0), 0, [list(range(1, 1001))]),
        (Stamps(1001, 0), 0, [None]),
        (Stamps(5, 0), 2, [None]),
    ],
    ids=["as much as is told", "too much", "a journal with a gap"],
)
def test_what_cannot_be_determined_counts_as_anything(stamps: Stamps, forgotten: int, told: list[Any]) -> None:
    async def main() -> None:
        database = Database()
        await database.news.catch_up()
        database.stamps, database.forgotten = stamps, forgotten
        await database.news.catch_up()
        await database.news.catch_up()
        assert database.seqs == told

    asyncio.run(main())


def test_it_is_reported_whether_config_or_modes_are_among_the_news() -> None:
    async def main() -> None:
        database = Database()
        await database.news.catch_up()
        for stamps in (Stamps(1, 0), Stamps(3, 2), Stamps(4, 2)):
            database.stamps = stamps
            await database.news.catch_up()
        assert [each.has_new_terms for each in database.told] == [False, True, False]

    asyncio.run(main())


def test_what_this_server_wrote_is_no_news_unless_others_wrote_before() -> None:
    async def main() -> None:
        database = Database()
        await database.news.catch_up()
        database.stamps = Stamps(2, 0)
        database.news.note_own(begun=0, ended=Stamps(2, 0))
        await database.news.catch_up()
        assert database.told == []
        database.stamps = Stamps(5, 0)
        database.news.note_own(begun=4, ended=Stamps(5, 0))
        await database.news.catch_up()
        assert database.seqs == [[3, 4, 5]]

    asyncio.run(main())


def test_what_this_server_writes_while_the_journal_is_read_is_not_reported_with_it() -> None:
    async def main() -> None:
        database = Database()
        await database.news.catch_up()
        database.stamps = Stamps(3, 0)
        database.is_read.clear()
        reading = asyncio.create_task(database.news.catch_up())
        await database.is_read.wait()
        database.news.note_own(begun=0, ended=Stamps(2, 0))
        await reading
        assert database.seqs == [[3]]

    asyncio.run(main())


def test_the_stamp_of_the_settings_is_as_current_as_what_was_reported() -> None:
    async def main() -> None:
        database = Database()
        database.stamps = Stamps(7, 4)
        assert (await database.news.seen()).settings == 4
        database.stamps = Stamps(8, 8)
        assert (await database.news.seen()).settings == 4
        await database.news.catch_up()
        assert (await database.news.seen()).settings == 8
        database.news.note_own(begun=8, ended=Stamps(9, 9))
        assert ((await database.news.seen()).settings, database.reads) == (9, [None, 7])

    asyncio.run(main())


def test_a_lease_counts_from_before_the_reading_and_is_renewed_while_it_is_used() -> None:
    async def main() -> None:
        database = Database()
        assert not database.news.has_lease
        database.takes_s = LEASE_S / 4
        await database.news.catch_up()
        database.now_s += LEASE_S / 8
        assert database.news.has_lease
        await asyncio.sleep(0)
        assert len(database.reads) == 1
        database.is_read.clear()
        database.now_s += LEASE_S / 4
        assert database.news.has_lease
        assert database.news.has_lease
        await database.is_read.wait()
        database.now_s += LEASE_S / 2
        assert not database.news.has_lease
        await database.news.catch_up()
        assert (database.news.has_lease, len(database.reads)) == (True, 3)

    asyncio.run(main())


def test_a_renewal_that_fails_is_raised_at_the_next_request() -> None:
    async def main() -> None:
        database = Database()
        await database.news.catch_up()
        database.is_away = True
        database.is_read.clear()
        database.now_s += LEASE_S * 3 / 4
        assert database.news.has_lease
        await database.is_read.wait()
        database.now_s += LEASE_S
        assert not database.news.has_lease
        with pytest.raises(StoreUnavailable):
            await database.news.catch_up()

    asyncio.run(main())


def test_who_can_do_without_is_not_kept_waiting_by_a_slow_database() -> None:
    """Those who wait are told while the reading goes on, those who come then are told at once, the patient wait."""

    async def main() -> None:
        database = Database()
        begun, is_over = asyncio.Event(), asyncio.Event()

        async def read(after: int | None) -> Journal:
            del after
            begun.set()
            await is_over.wait()
            return Journal(Stamps(0, 0))

        news = NewsFromElsewhere(read, announce=database.told.append, clock_s=lambda: database.now_s)
        patient = asyncio.create_task(news.catch_up())
        waiting = [asyncio.create_task(news.catch_up_soon()) for _ in range(3)]
        await begun.wait()
        database.now_s += PATIENCE_S + 0.1
        async with asyncio.timeout(120):
            outcomes = await asyncio.gather(*waiting, return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [StoreSlow] * 3
        with pytest.raises(StoreSlow):
            await news.catch_up_soon()
        assert not patient.done()
        is_over.set()
        await patient
        await news.catch_up_soon()

    asyncio.run(main())


def test_the_loss_of_the_database_is_noted_and_its_return() -> None:
    async def main() -> None:
        database, contact = Database(), StoreContact()
        news = NewsFromElsewhere(database.read, announce=database.told.append, contact=contact)
        await news.catch_up()
        assert contact.error is None
        database.is_away = True
        for _ in range(2):
            with pytest.raises(StoreUnavailable):
                await news.catch_up()
            assert str(contact.error) == "The store is away"
        database.is_away = False
        await news.catch_up()
        assert contact.error is None
        database.is_away = True
        with pytest.raises(StoreUnavailable):
            await news.catch_up_soon()
        news.note_own(begun=7, ended=Stamps(8, 0))
        assert contact.error is None

    asyncio.run(main())
