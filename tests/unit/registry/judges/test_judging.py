"""Long judgements run beside the event loop; only so many wait, of all callers and of each."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.registry.judges.judging import JudgementThreads, LongJudgements
from counterfoil.schema.errors import InvalidSchema, TooManyJudgements

if TYPE_CHECKING:
    from collections.abc import Callable

DEADLINE_S = 60


class ManualJudges:
    """Judges whose results the test gives; ``begun`` has the work in the order in which it was begun."""

    def __init__(self, at_once: int) -> None:
        self.at_once = at_once
        self.begun: list[tuple[str, asyncio.Future[Any]]] = []
        self.given_up: list[str] = []

    def start(self, work: Callable[..., Any], *given: object) -> asyncio.Future[Any]:
        name = work(*given)
        if name == "refused":
            raise TooManyJudgements("no process")
        running = asyncio.get_running_loop().create_future()
        self.begun.append((name, running))
        return running

    def give_up(self, running: asyncio.Future[Any]) -> None:
        self.given_up += [name for name, each in self.begun if each is running]
        running.cancel()

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.begun]

    def finish(self, name: str) -> None:
        next(each for known, each in self.begun if known == name and not each.done()).set_result(name)


class Story:
    """A queue whose caller the test sets before each request."""

    def __init__(self, *, at_once: int = 1, **limits: int) -> None:
        self.judges = ManualJudges(at_once)
        self.caller = ""
        self.long = LongJudgements(self.judges, asker=lambda: self.caller, **limits)

    async def ask(self, caller: str, name: str) -> asyncio.Future[str]:
        self.caller = caller
        asked = asyncio.ensure_future(self.long.run(str, name))
        await settle()
        return asked


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def test_work_runs_in_another_thread_and_its_errors_are_raised():
    async def story() -> None:
        long = LongJudgements(JudgementThreads())
        assert await long.run(threading.get_ident) != threading.get_ident()

        def fails() -> None:
            raise InvalidSchema("wrong")

        with pytest.raises(InvalidSchema, match="wrong"):
            await long.run(fails)
        assert await long.run(divmod, 7, 2) == (3, 1)

    asyncio.run(story())


def test_what_waits_is_bounded_and_the_answer_says_to_repeat():
    async def story() -> None:
        long = LongJudgements(JudgementThreads(at_once=1), max_waiting=2)
        release = threading.Event()
        running = [asyncio.ensure_future(long.run(release.wait, DEADLINE_S)) for _ in range(2)]
        await settle()
        with pytest.raises(TooManyJudgements) as refused:
            await long.run(str)
        assert (refused.value.status, refused.value.code) == (503, 50010)
        running[0].cancel()  # its place is free only when the work has ended, since a thread goes on
        await settle()
        with pytest.raises(TooManyJudgements):
            await long.run(str)
        release.set()
        assert await asyncio.wait_for(running[1], DEADLINE_S)
        await asyncio.gather(running[0], return_exceptions=True)
        assert long.waiting == 0

    asyncio.run(story())


def test_callers_take_turns_whoever_has_asked_for_more():
    async def story() -> None:
        story = Story()
        asked = [await story.ask(*each) for each in (("a", "a1"), ("a", "a2"), ("a", "a3"), ("b", "b1"), ("c", "c1"))]
        for expected in (["a1"], ["a1", "a2"], ["a1", "a2", "b1"], ["a1", "a2", "b1", "c1"]):
            assert story.judges.names == expected
            story.judges.finish(expected[-1])
            await settle()
        assert story.judges.names[-1] == "a3"
        story.judges.finish("a3")
        assert await asyncio.gather(*asked) == ["a1", "a2", "a3", "b1", "c1"]
        assert story.long.waiting == 0

    asyncio.run(story())


def test_a_caller_has_a_limit_of_its_own_and_others_go_on():
    async def story() -> None:
        story = Story(most_of_caller=2)
        asked = [await story.ask("a", "a1"), await story.ask("a", "a2")]
        story.caller = "a"
        with pytest.raises(TooManyJudgements, match="of this caller") as refused:
            await story.long.run(str, "a3")
        assert (refused.value.status, refused.value.code) == (503, 50010)
        asked.append(await story.ask("b", "b1"))
        for name in ("a1", "a2", "b1"):
            story.judges.finish(name)
            await settle()
        assert await asyncio.gather(*asked) == ["a1", "a2", "b1"]
        unlimited = Story(most_of_caller=0)
        for number in range(20):
            await unlimited.ask("a", f"a{number}")
        assert unlimited.long.waiting == 20

    asyncio.run(story())


def test_a_request_that_is_given_up_leaves_its_place():
    async def story() -> None:
        story = Story()
        first, second, third = [await story.ask("a", name) for name in ("1", "2", "3")]
        second.cancel()  # while it waits
        first.cancel()  # while it runs
        await settle()
        assert story.judges.given_up == ["1"]
        assert story.judges.names == ["1", "3"]
        story.judges.finish("3")
        assert await third == "3"
        assert story.long.waiting == 0

    asyncio.run(story())


def test_a_turn_that_is_given_up_at_the_same_moment_goes_to_the_next():
    async def story() -> None:
        story = Story()
        first, second, third = [await story.ask("a", name) for name in ("1", "2", "3")]
        story.judges.finish("1")
        await asyncio.sleep(0)  # the second one has its turn now, and has not begun
        second.cancel()
        await settle()
        assert await first == "1"
        for name in set(story.judges.names) - {"1"}:
            story.judges.finish(name)
            await settle()
        if not third.done():
            story.judges.finish("3")
        assert await third == "3"
        assert story.long.waiting == 0

    asyncio.run(story())


def test_what_cannot_begin_leaves_its_place():
    async def story() -> None:
        story = Story()
        with pytest.raises(TooManyJudgements, match="no process"):
            await story.long.run(str, "refused")
        again = await story.ask("a", "a1")
        story.judges.finish("a1")
        assert await again == "a1"
        assert story.long.waiting == 0

    asyncio.run(story())
