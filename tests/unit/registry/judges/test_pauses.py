"""Long work in the event loop lets other requests be handled."""

import asyncio
from itertools import accumulate, repeat

import pytest

from counterfoil.registry.judges.judging import PAUSE_AFTER_S, Pauses


@pytest.mark.parametrize(
    ("part_s", "order"),
    [(PAUSE_AFTER_S * 1.5, ["other", "work"]), (PAUSE_AFTER_S * 0.5, ["work", "other"])],
)
def test_others_are_handled_while_work_is_long(part_s: float, order: list[str]) -> None:
    async def run() -> list[str]:
        done: list[str] = []

        async def other() -> None:
            done.append("other")

        waiting = asyncio.ensure_future(other())
        pauses = Pauses(clock=lambda: next(times))
        await pauses.pause_if_due()
        done.append("work")
        await waiting
        return done

    times = accumulate(repeat(part_s))
    assert asyncio.run(run()) == order


def test_the_time_of_the_work_is_counted_without_the_pauses() -> None:
    async def run() -> float:
        pauses = Pauses(clock=lambda: next(times))
        for _ in range(3):
            await pauses.pause_if_due()
        return pauses.worked_s

    times = iter([0.0, 1.0, 10.0, 12.0, 20.0, 20.001])
    assert asyncio.run(run()) == pytest.approx(3.0)
