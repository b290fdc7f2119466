"""Many writers of one subject take turns once they have overtaken each other."""

from __future__ import annotations

import asyncio
import gc

from counterfoil.registry.domain.errors import StaleWrite
from counterfoil.registry.service.retrying import Turns, in_turn
from counterfoil.schema.contexts import parse_subject

WRITERS = 20


def test_each_writer_plans_a_few_times_however_many_there_are() -> None:
    async def main() -> None:
        turns, revision, known, attempts = Turns(), 0, 0, 0

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
        outcomes = await asyncio.gather(
            *(in_turn(attempt, turns.of(subject), catch_up=catch_up) for _ in range(WRITERS))
        )
        assert sorted(outcomes) == list(range(1, WRITERS + 1))
        assert attempts <= 3 * WRITERS

    asyncio.run(main())


def test_a_turn_is_forgotten_when_nobody_has_it() -> None:
    turns = Turns()
    held, other = turns.of(parse_subject("s")), turns.of(parse_subject("t"))
    assert turns.of(parse_subject("s")) is held
    assert other is not held
    del held, other
    gc.collect()
    assert not turns._locks
