"""Many writers of one subject take turns once they have overtaken each other."""

from __future__ import annotations

import asyncio
import gc
from functools import partial

from counterfoil.registry.store.committing import WriteTurns
from counterfoil.registry.store.writes import StaleWrite
from counterfoil.schema.contexts import parse_subject

WRITERS = 20


def test_each_writer_plans_a_few_times_however_many_there_are() -> None:
    async def main() -> None:
        revision, known, attempts = 0, 0, 0

        async def catch_up() -> None:
            nonlocal known
            await asyncio.sleep(0)
            known = revision

        async def attempt() -> int:
            nonlocal revision, attempts
            attempts += 1
            seen = known
            await asyncio.sleep(0)
            if seen != revision:
                raise StaleWrite("another came first")
            revision += 1
            return revision

        subject = parse_subject("s")
        turns = WriteTurns(catch_up)
        outcomes = await asyncio.gather(*(turns.take(attempt, written=subject) for _ in range(WRITERS)))
        assert sorted(outcomes) == list(range(1, WRITERS + 1))
        assert attempts <= 3 * WRITERS

    asyncio.run(main())


def test_who_comes_later_does_not_overtake_those_who_wait() -> None:
    async def main() -> None:
        done: list[str] = []
        overtaken = {"first", "second"}

        async def catch_up() -> None:
            await asyncio.sleep(0)

        async def attempt(name: str) -> None:
            await asyncio.sleep(0)
            if name in overtaken:
                overtaken.remove(name)
                raise StaleWrite("another came first")
            done.append(name)

        turns = WriteTurns(catch_up)
        early = [asyncio.create_task(turns.take(partial(attempt, name), written="s")) for name in ("first", "second")]
        for _ in range(2):
            await asyncio.sleep(0)
        assert overtaken == set()
        late = asyncio.create_task(turns.take(partial(attempt, "late"), written="s"))
        await turns.take(partial(attempt, "elsewhere"), written="t")
        await asyncio.gather(*early, late)
        assert [name for name in done if name != "elsewhere"] == ["first", "second", "late"]

    asyncio.run(main())


def test_a_turn_is_forgotten_when_nobody_has_it() -> None:
    async def main() -> None:
        turns = WriteTurns(nothing)
        await turns.take(nothing, written=parse_subject("s"))
        gc.collect()
        assert not turns._locks

    asyncio.run(main())


async def nothing() -> None:
    """Nobody else writes."""
