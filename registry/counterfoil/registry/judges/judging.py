"""Judgements that take long: a bounded number of them, and of each caller; pauses of long work in the event loop."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from collections import Counter, OrderedDict, deque
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from counterfoil.schema.errors import JudgementUndecided, TooManyJudgements

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator


# Judgements that take long, beside the event loop: a bounded number of them, and of each caller.
#
# Where they run is behind :class:`Judges`: in processes of their own for a server, in threads for a registry inside
# another program.

_T = TypeVar("_T")

AT_ONCE: Final = 2
"""The number of judgements that run at once."""

MAX_WAITING: Final = 64
"""The largest number of judgements that run or wait; a request beyond it is refused, and may be repeated."""

MOST_OF_CALLER: Final = 8
"""The largest number of them that one caller has."""


class Judges(Protocol):
    """Whatever carries out long judgements."""

    @property
    def are_apart(self) -> bool:
        """Whether they are processes of their own, which parse again what they are given."""

    @property
    def at_once(self) -> int:
        """The number of judgements that it carries out at the same time."""

    @property
    def count(self) -> int:
        """The number of processes that it has now."""

    @property
    def ended(self) -> int:
        """The number of judgements that it ended before they had a result."""

    def start(self, work: Callable[..., _T], *given: object) -> asyncio.Future[_T]:
        """Begin to compute ``work(*given)``, and return the future of its result.

        Raises ``TooManyJudgements`` if nothing can be begun.
        """

    def give_up(self, running: asyncio.Future[Any]) -> None:
        """End what was begun, as far as that is possible: nobody needs it any more."""

    def close(self) -> None:
        """Begin nothing more."""


class JudgementThreads:
    """Threads that carry out judgements, started when first needed.

    A judgement ends by its steps, so that no thread runs without end, whatever the schemas are.
    """

    are_apart: Final = False

    def __init__(self, *, at_once: int = AT_ONCE) -> None:
        self.at_once = at_once
        self.count = self.ended = 0
        self._threads = ThreadPoolExecutor(at_once, thread_name_prefix="counterfoil-judgement")

    def start(self, work: Callable[..., _T], *given: object) -> asyncio.Future[_T]:
        """Begin to compute ``work(*given)`` in a thread."""
        try:
            return asyncio.get_running_loop().run_in_executor(self._threads, partial(work, *given))
        except RuntimeError as stopped:  # no thread can be started
            raise TooManyJudgements("No schemas can be compared now; repeat the request after Retry-After") from stopped

    def give_up(self, running: asyncio.Future[Any]) -> None:
        """Do nothing: a thread cannot be ended."""

    def close(self) -> None:
        """Begin nothing more, and let the threads end."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def nobody() -> str:
    """Return the empty name of a caller, where callers are not told apart."""
    return ""


class LongJudgements:
    """The queue of long judgements: each caller has a bounded number, and callers take turns.

    ``asker`` returns the name of whoever sent the request that is handled.
    """

    def __init__(
        self,
        judges: Judges | None = None,
        *,
        max_waiting: int = MAX_WAITING,
        most_of_caller: int = MOST_OF_CALLER,
        asker: Callable[[], str] = nobody,
    ) -> None:
        self.judges: Judges = judges or JudgementThreads()
        self._max_waiting = max_waiting
        self._most_of_caller = most_of_caller
        self._asker = asker
        self._running = 0
        self._of_callers: Counter[str] = Counter()
        self._queues: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()
        self._turns = LoopTurns()

    @property
    def waiting(self) -> int:
        """The number of judgements that run or wait."""
        return self._of_callers.total()

    async def run(self, work: Callable[..., _T], *given: object) -> _T:
        """Return ``work(*given)``; raise ``TooManyJudgements`` if too many run or wait already, or of this caller."""
        asker = self._asker()
        self._check_room(asker)
        self._of_callers[asker] += 1
        try:
            await self._turn(asker)
            running = self._begin(work, *given)
        except BaseException:
            self._leave(asker)
            raise
        running.add_done_callback(partial(self._ended, asker))  # a thread goes on when its request is given up
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            self.judges.give_up(running)
            raise

    async def here(self, work: Callable[..., _T], *given: object) -> _T:
        """Return ``work(*given)``, a judgement of a few milliseconds that is made in the event loop, in its turn."""
        return await self._turns.run(work, *given)

    async def here_in_parts(self, parts: Generator[None, None, _T], *, most_s: float) -> _T:
        """Return the result of work in parts, each of which is made in the event loop in its turn.

        Raises ``JudgementUndecided`` if they have taken more than ``most_s`` of this thread's time together.
        """
        worked_s = 0.0

        def next_part() -> tuple[_T] | None:
            nonlocal worked_s
            begun_s = time.thread_time()
            try:
                next(parts)
            except StopIteration as end:
                return (end.value,)
            finally:
                worked_s += time.thread_time() - begun_s
            return None

        try:
            while worked_s <= most_s:
                found = await self.here(next_part)
                if found is not None:
                    return found[0]
                await asyncio.sleep(0)
        finally:
            parts.close()
        raise JudgementUndecided("The work takes too long for the event loop")

    def queue(self, *, max_waiting: int) -> LongJudgements:
        """Return another queue for the same judges, without a limit for each caller; callers take turns there, too."""
        other = LongJudgements(self.judges, max_waiting=max_waiting, most_of_caller=0, asker=self._asker)
        other._turns = self._turns
        return other

    async def close(self) -> None:
        """Begin nothing more."""
        self.judges.close()

    def _check_room(self, asker: str) -> None:
        if self._most_of_caller and self._of_callers[asker] >= self._most_of_caller:
            raise TooManyJudgements(
                f"{self._of_callers[asker]} schemas of this caller are being compared or wait for it, which is the "
                "limit here; repeat the request after Retry-After"
            )
        if self.waiting >= self._max_waiting:
            raise TooManyJudgements(
                f"{self.waiting} schemas are being compared or wait for it; repeat the request after Retry-After"
            )

    async def _turn(self, asker: str) -> None:
        """Return when a judgement of ``asker`` may begin, and count it as running."""
        if self._running < self.judges.at_once:
            self._running += 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queues.setdefault(asker, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._pass_on()  # it had its turn, and does not use it
            else:
                self._forget(asker, turn)
            raise

    def _begin(self, work: Callable[..., _T], *given: object) -> asyncio.Future[_T]:
        try:
            return self.judges.start(work, *given)
        except BaseException:
            self._pass_on()
            raise

    def _ended(self, asker: str, running: asyncio.Future[Any]) -> None:
        self._leave(asker)
        self._pass_on()
        if not running.cancelled():
            running.exception()  # of a request that was given up, nobody else takes it

    def _pass_on(self) -> None:
        """Give the place of a judgement that has ended to the caller whose turn it is."""
        self._running -= 1
        while self._queues and self._running < self.judges.at_once:
            asker, queue = self._queues.popitem(last=False)
            turn = queue.popleft()
            if queue:
                self._queues[asker] = queue  # behind the other callers
            if not turn.done():
                self._running += 1
                turn.set_result(None)

    def _forget(self, asker: str, turn: asyncio.Future[None]) -> None:
        queue = self._queues.get(asker)
        if queue is not None and turn in queue:
            queue.remove(turn)
            if not queue:
                del self._queues[asker]

    def _leave(self, asker: str) -> None:
        self._of_callers[asker] -= 1
        if not self._of_callers[asker]:
            del self._of_callers[asker]


# Threads, turns and pauses: the event loop handles other requests beside and between long work.

_NICENESS: Final = 10
"""Added to that of the process. If both need a core, a thread then has a tenth of the event loop's processor time."""


def give_way() -> None:
    """Lower the priority of this thread below the event loop's; on other systems than Linux a process has one alone."""
    if sys.platform == "linux":
        thread = threading.get_native_id()
        os.setpriority(os.PRIO_PROCESS, thread, os.getpriority(os.PRIO_PROCESS, thread) + _NICENESS)


PAUSE_AFTER_S: Final = 0.005
"""The time of work after which there is a pause."""


class LoopTurns:
    """Keeps pieces of work in the event loop apart: after a long one, the loop is for others as long as it took.

    Each piece has its own limit. Without turns, those of many requests that come together would hold the loop for the
    sum of them.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._clock = clock
        self._sleep = sleep
        self._next_s = 0.0

    async def run(self, work: Callable[..., _T], *given: object) -> _T:
        """Return ``work(*given)`` as soon as the loop has been for others long enough."""
        begun_s = self._clock()
        while begun_s < self._next_s:
            await self._sleep(self._next_s - begun_s)
            begun_s = self._clock()
        try:
            return work(*given)
        finally:
            now_s = self._clock()
            if now_s - begun_s > PAUSE_AFTER_S:
                self._next_s = now_s + (now_s - begun_s)


class Pauses:
    """The pauses of one piece of work that consists of many parts: before each part, it asks whether one is due.

    ``worked_s`` is the time of the work until the last pause, without the pauses.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.worked_s = 0.0
        self._clock = clock
        self._resumed_s = clock()

    async def pause_if_due(self) -> None:
        """Handle other requests, if the work has gone on for 5 ms."""
        worked_s = self._clock() - self._resumed_s
        if worked_s > PAUSE_AFTER_S:
            self.worked_s += worked_s
            await asyncio.sleep(0)
            self._resumed_s = self._clock()
