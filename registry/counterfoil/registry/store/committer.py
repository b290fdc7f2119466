"""Group commit: one thread that carries out the waiting plans of all requests, many to a transaction.

A transaction costs a flush to the disk; while it is under way the next plans gather, and share the next one.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from counterfoil.registry.service.storage import Appended, Plan

MAX_BATCH = 64


class _Waiting:
    """A plan and who waits for it."""

    __slots__ = ("future", "loop", "plan")

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Appended | None] = self.loop.create_future()

    def settle(self, outcome: Appended | Exception | None) -> None:
        if self.future.done():
            return
        if isinstance(outcome, Exception):
            self.future.set_exception(outcome)
        else:
            self.future.set_result(outcome)


class Committer:
    """Hands plans to ``carry_out`` in batches, in a thread of its own; each caller gets the outcome of its plan.

    ``carry_out`` gives one outcome a plan, in order: a result, or the exception to raise at the caller's. ``announce``
    is told of every plan that was carried out, in the event loop, before its caller is.
    """

    def __init__(
        self,
        carry_out: Callable[[Sequence[Plan]], list[Appended | Exception | None]],
        *,
        announce: Callable[[Plan, Appended | None], None],
    ) -> None:
        self._carry_out = carry_out
        self._announce = announce
        self._queue: queue.SimpleQueue[_Waiting | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="counterfoil-committer", daemon=True)
        self._thread.start()

    async def commit(self, plan: Plan) -> Appended | None:
        """The outcome of ``plan``, when it is durable."""
        waiting = _Waiting(plan)
        self._queue.put(waiting)
        return await waiting.future

    def close(self) -> None:
        """Carry out what waits, then end the thread."""
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        ending = False
        while not ending:
            first = self._queue.get()
            if first is None:
                return
            batch, ending = self._drain(first)
            outcomes = self._carry_out([waiting.plan for waiting in batch])
            for loop in {waiting.loop for waiting in batch}:
                loop.call_soon_threadsafe(self._settle, loop, batch, outcomes)

    def _drain(self, first: _Waiting) -> tuple[list[_Waiting], bool]:
        batch = [first]
        while len(batch) < MAX_BATCH:
            try:
                waiting = self._queue.get_nowait()
            except queue.Empty:
                break
            if waiting is None:
                return batch, True
            batch.append(waiting)
        return batch, False

    def _settle(
        self,
        loop: asyncio.AbstractEventLoop,
        batch: Sequence[_Waiting],
        outcomes: Sequence[Appended | Exception | None],
    ) -> None:
        for waiting, outcome in zip(batch, outcomes, strict=True):
            if waiting.loop is not loop:
                continue
            if not isinstance(outcome, Exception):
                self._announce(waiting.plan, outcome)
            waiting.settle(outcome)
