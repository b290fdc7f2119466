"""Simultaneous requests: writes in order where order matters, and reads whose results are needed together."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Hashable

_Result = TypeVar("_Result")


async def gathered(*awaitables: Awaitable[_Result]) -> list[_Result]:
    """Return all results in order; if any fails, raise the first failure after all have ended.

    No request is running when it raises: a cancelled connection attempt prints warnings on the terminal.
    """
    results = await asyncio.gather(*awaitables, return_exceptions=True)
    failures = [result for result in results if isinstance(result, BaseException)]
    if failures:
        raise failures[0]
    return [result for result in results if not isinstance(result, BaseException)]


class Lanes:
    """Runs jobs, at most ``width`` at once.

    Jobs with a common key run one after another, in the order in which they were given.

    The first job that fails stops all: its exception is raised by the next call.
    """

    def __init__(self, width: int) -> None:
        self._width = width
        self._last: dict[Hashable, asyncio.Task[None]] = {}
        self._running: set[asyncio.Task[None]] = set()

    async def run(
        self, job: Callable[[], Awaitable[None]], *, holds: Collection[Hashable], awaits: Collection[Hashable] = ()
    ) -> None:
        """Start ``job`` when fewer than ``width`` run, after the last jobs with a key in ``holds`` or ``awaits``."""
        while len(self._running) >= self._width:
            await self._reap()
        before = {self._last[key] for key in (*holds, *awaits) if key in self._last}
        task = asyncio.create_task(self._after(before, job))
        self._running.add(task)
        self._last.update(dict.fromkeys(holds, task))

    @staticmethod
    async def _after(before: set[asyncio.Task[None]], job: Callable[[], Awaitable[None]]) -> None:
        for task in before:
            await asyncio.shield(task)
        await job()

    async def _reap(self) -> None:
        done, self._running = await asyncio.wait(self._running, return_when=asyncio.FIRST_COMPLETED)
        self._last = {key: task for key, task in self._last.items() if task not in done}
        for task in done:
            task.result()

    async def drain(self) -> None:
        """Return when all jobs are done."""
        while self._running:
            await self._reap()

    async def abandon(self) -> None:
        """Cancel all jobs and ignore their results."""
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
        self._running, self._last = set(), {}
