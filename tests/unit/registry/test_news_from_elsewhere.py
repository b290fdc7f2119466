"""What other servers wrote is told once, to all who ask at the same time, and whole or as "anything"."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from counterfoil.registry.domain.changes import Change, ChangeKind
from counterfoil.registry.service.storage import Elsewhere
from counterfoil.registry.store.postgres_news import NewsFromElsewhere
from counterfoil.registry.store.postgres_stamps import Stamps
from counterfoil.schema.contexts import parse_subject
from counterfoil.schema.errors import StoreUnavailable


class Database:
    """Stamps and a journal, as a storage would read them."""

    def __init__(self) -> None:
        self.stamps = Stamps(0, 0)
        self.reads: list[tuple[int, int]] = []
        self.is_away = False
        self.forgotten = 0
        self.told: list[Any] = []
        self.news = NewsFromElsewhere(self, changes=self.changes, announce=self.told.append)  # type: ignore[arg-type]  # all that it uses is read()

    async def read(self) -> Stamps:
        return self.stamps

    async def changes(self, after: int, limit: int) -> list[Change]:
        self.reads.append((after, limit))
        await asyncio.sleep(0)
        if self.is_away:
            raise StoreUnavailable("The store is away")
        found = range(max(after, self.forgotten) + 1, min(after + limit, self.stamps.change) + 1)
        return [Change(seq, 0, ChangeKind.REGISTERED, parse_subject("s"), 1, seq) for seq in found]

    @property
    def seqs(self) -> list[Any]:
        return [[change.seq for change in each.changes] if isinstance(each, Elsewhere) else each for each in self.told]


def test_all_who_ask_at_once_share_a_reading() -> None:
    async def main() -> None:
        database = Database()
        await database.news.catch_up()
        assert (database.told, database.reads) == ([], [])
        database.stamps = Stamps(3, 0)
        await asyncio.gather(*(database.news.catch_up() for _ in range(50)))
        assert (database.seqs, database.reads) == ([[1, 2, 3]], [(0, 3)])

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

        database.news = NewsFromElsewhere(database, changes=database.changes, announce=ask_again)  # type: ignore[arg-type]  # all that it uses is read()
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
        assert (len(database.reads), database.told) == (1, [])
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
def test_what_cannot_be_told_is_anything(stamps: Stamps, forgotten: int, told: list[Any]) -> None:
    async def main() -> None:
        database = Database()
        await database.news.catch_up()
        database.stamps, database.forgotten = stamps, forgotten
        await database.news.catch_up()
        await database.news.catch_up()
        assert database.seqs == told

    asyncio.run(main())


def test_it_is_told_whether_config_or_modes_are_among_the_news() -> None:
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
        database.news.note_own(begun=0, ended=2)
        await database.news.catch_up()
        assert database.told == []
        database.stamps = Stamps(5, 0)
        database.news.note_own(begun=4, ended=5)
        await database.news.catch_up()
        assert database.seqs == [[3, 4, 5]]

    asyncio.run(main())
