"""Pieces of work in the event loop that come together are kept apart."""

from __future__ import annotations

import asyncio
import itertools
from typing import TYPE_CHECKING

import pytest

from counterfoil.registry.judges.judging import PAUSE_AFTER_S, LongJudgements, LoopTurns
from counterfoil.schema.errors import JudgementUndecided

if TYPE_CHECKING:
    from collections.abc import Generator


class Day:
    """Time that passes by work and by sleep alone, and the pieces of work that were done in it."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.pieces: list[tuple[float, float]] = []
        self.turns = LoopTurns(self.clock, self.sleep)

    def clock(self) -> float:
        return self.now_s

    async def sleep(self, wait_s: float) -> None:
        until_s = self.now_s + wait_s
        await asyncio.sleep(0)
        self.now_s = max(self.now_s, until_s)

    def work(self, takes_s: float) -> float:
        self.pieces.append((self.now_s, self.now_s + takes_s))
        self.now_s += takes_s
        return takes_s

    def fail(self, takes_s: float) -> None:
        self.work(takes_s)
        raise LookupError


def test_after_a_long_piece_the_loop_is_for_others_as_long_as_it_took() -> None:
    async def run() -> list[tuple[float, float]]:
        day = Day()
        long = [PAUSE_AFTER_S * (2 + number) for number in range(8)]
        assert await asyncio.gather(*(day.turns.run(day.work, each) for each in long)) == long
        return day.pieces

    pieces = asyncio.run(run())
    assert len(pieces) == 8
    for (begun_s, ended_s), (next_s, _) in itertools.pairwise(pieces):
        assert next_s - ended_s >= (ended_s - begun_s) * 0.999


def test_short_pieces_do_not_wait() -> None:
    async def run() -> None:
        day = Day()
        for _ in range(20):
            await day.turns.run(day.work, PAUSE_AFTER_S / 2)
        assert day.now_s == pytest.approx(10 * PAUSE_AFTER_S)

    asyncio.run(run())


def test_a_piece_that_fails_has_held_the_loop_as_well() -> None:
    async def run() -> None:
        day = Day()
        with pytest.raises(LookupError):
            await day.turns.run(day.fail, 1.0)
        await day.turns.run(day.work, 1.0)
        assert day.pieces == [(0.0, 1.0), (2.0, 3.0)]

    asyncio.run(run())


def test_work_in_parts_lets_others_go_on_and_ends_with_its_time() -> None:
    async def run() -> None:
        seen: list[str] = []

        def parts(count: int) -> Generator[None, None, str]:
            for number in range(count):
                seen.append(f"part {number}")
                yield
            return "done"

        async def other() -> None:
            for _ in range(3):
                seen.append("other")
                await asyncio.sleep(0)

        judgements = LongJudgements()
        beside = asyncio.create_task(other())
        assert await judgements.here_in_parts(parts(3), most_s=60) == "done"
        await beside
        assert seen.index("other") < seen.index("part 2")
        assert await judgements.here_in_parts(parts(0), most_s=0) == "done"
        endless = parts(10**9)
        with pytest.raises(JudgementUndecided):
            await judgements.here_in_parts(endless, most_s=0)
        assert next(endless, "closed") == "closed"
        await judgements.close()

    asyncio.run(run())
