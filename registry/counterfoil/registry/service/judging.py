"""Judgements that take long, beside the event loop: at most two at once, and a bounded number that wait.

A judgement ends by its steps, so that no thread runs without end, whatever the schemas are.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final, TypeVar

from counterfoil.schema.errors import TooManyJudgements

if TYPE_CHECKING:
    from collections.abc import Callable

_T = TypeVar("_T")

AT_ONCE: Final = 2
"""The number of judgements that run at once."""

MAX_WAITING: Final = 64
"""The largest number of judgements that run or wait; a request beyond it is refused, and may be repeated."""


class JudgementThreads:
    """The threads in which judgements run that would hold the event loop; started when first needed."""

    def __init__(self, *, at_once: int = AT_ONCE, max_waiting: int = MAX_WAITING) -> None:
        self._threads = ThreadPoolExecutor(at_once, thread_name_prefix="counterfoil-judgement")
        self._max_waiting = max_waiting
        self._waiting = 0

    async def run(self, work: Callable[[], _T]) -> _T:
        """Return the result of ``work``; raise ``TooManyJudgements`` if too many run or wait already."""
        if self._waiting >= self._max_waiting:
            raise TooManyJudgements(
                f"{self._waiting} schemas are being compared or wait for it; repeat the request after Retry-After"
            )
        self._waiting += 1
        try:
            running = asyncio.get_running_loop().run_in_executor(self._threads, work)
        except RuntimeError as stopped:  # no thread can be started
            self._waiting -= 1
            raise TooManyJudgements("No schemas can be compared now; repeat the request after Retry-After") from stopped
        running.add_done_callback(self._ended)  # a request that is given up leaves its place when the work ends
        return await asyncio.shield(running)

    def _ended(self, running: asyncio.Future[Any]) -> None:
        self._waiting -= 1
        if not running.cancelled():
            running.exception()  # of a request that was given up, nobody else takes it
