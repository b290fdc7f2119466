"""Long judgements run beside the event loop, and only so many wait."""

from __future__ import annotations

import asyncio
import threading

import pytest

from counterfoil.registry.service.judging import JudgementThreads
from counterfoil.schema.errors import InvalidSchema, TooManyJudgements

DEADLINE_S = 60


def test_work_runs_in_another_thread_and_its_errors_are_raised():
    async def story() -> None:
        threads = JudgementThreads()
        assert await threads.run(threading.get_ident) != threading.get_ident()

        def fails() -> None:
            raise InvalidSchema("wrong")

        with pytest.raises(InvalidSchema, match="wrong"):
            await threads.run(fails)
        assert await threads.run(lambda: 1) == 1

    asyncio.run(story())


def test_what_waits_is_bounded_and_the_answer_says_to_repeat():
    async def story() -> None:
        threads = JudgementThreads(at_once=1, max_waiting=2)
        release = threading.Event()
        running = [asyncio.ensure_future(threads.run(lambda: release.wait(DEADLINE_S))) for _ in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(TooManyJudgements) as refused:
            await threads.run(lambda: None)
        assert (refused.value.status, refused.value.code) == (503, 50010)
        running[1].cancel()  # its place is free only when the work has ended, since it goes on
        await asyncio.sleep(0)
        with pytest.raises(TooManyJudgements):
            await threads.run(lambda: None)
        release.set()
        assert await asyncio.wait_for(running[0], DEADLINE_S)
        await asyncio.gather(running[1], return_exceptions=True)

    asyncio.run(story())
