"""Group commit: the waiting plans of all requests share a transaction.

While one transaction is under way the next plans gather, and share the next one.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from counterfoil.registry.service.storage import Appended, Plan

MAX_BATCH = 64
_YIELD_EVERY = 8


class Transactions(Protocol):
    """What a committer drives; ``commit`` is called in another thread than the rest, never at the same time."""

    def begin(self) -> None:
        """Begin a transaction."""

    def carry_out(self, plan: Plan) -> Appended | Exception | None:
        """The outcome of one plan, which leaves nothing behind when it is an exception."""

    def commit(self) -> None:
        """Make everything since ``begin`` durable."""

    def publish(self) -> None:
        """Take note that the commit has succeeded; called where ``carry_out`` is."""

    def abandon(self, error: Exception) -> Exception:
        """Undo everything since ``begin``; what to tell whoever waits."""


class _Waiting:
    """A plan and who waits for it."""

    __slots__ = ("future", "plan")

    def __init__(self, plan: Plan, future: asyncio.Future[Appended | None]) -> None:
        self.plan = plan
        self.future = future

    def settle(self, outcome: Appended | Exception | None) -> None:
        if self.future.done():
            return
        if isinstance(outcome, Exception):
            self.future.set_exception(outcome)
        else:
            self.future.set_result(outcome)


class GroupCommit:
    """Hands plans on in batches; each caller gets the outcome of its plan.

    ``transact`` carries out a batch and gives an outcome for each plan, durably; what it raises, all of its callers
    get. ``announce`` is told of every plan that was carried out, before its caller is.
    """

    def __init__(
        self,
        transact: Callable[[list[Plan]], Awaitable[list[Appended | Exception | None]]],
        *,
        announce: Callable[[Plan, Appended | None], None],
    ) -> None:
        self._transact = transact
        self._announce = announce
        self._waiting: list[_Waiting] = []
        self._task: asyncio.Task[None] | None = None

    async def commit(self, plan: Plan) -> Appended | None:
        """The outcome of ``plan``, when it is durable."""
        future: asyncio.Future[Appended | None] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Waiting(plan, future))
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())
        return await future

    async def close(self) -> None:
        """Finish what waits."""
        if self._task is not None:
            await self._task

    async def _run(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting[:MAX_BATCH], self._waiting[MAX_BATCH:]
            outcomes = await self._outcomes([waiting.plan for waiting in batch])
            for waiting, outcome in zip(batch, outcomes, strict=True):
                if not isinstance(outcome, Exception):
                    self._announce(waiting.plan, outcome)
                waiting.settle(outcome)

    async def _outcomes(self, plans: list[Plan]) -> list[Appended | Exception | None]:
        try:
            return await self._transact(plans)
        except Exception as error:  # noqa: BLE001 - whatever it is, the callers get it, and the next batch is tried
            return [error] * len(plans)


class Committer:
    """Group commit over transactions in this process.

    Plans are carried out in the event loop, where each takes a fraction of a millisecond; the commit, which waits for
    the disk, runs in a thread.
    """

    def __init__(self, transactions: Transactions, *, announce: Callable[[Plan, Appended | None], None]) -> None:
        self._transactions = transactions
        self._group = GroupCommit(self._transact, announce=announce)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="counterfoil-commit")

    async def commit(self, plan: Plan) -> Appended | None:
        """The outcome of ``plan``, when it is durable."""
        return await self._group.commit(plan)

    async def close(self) -> None:
        """Finish what waits, then end the thread."""
        await self._group.close()
        self._thread.shutdown()

    async def _transact(self, plans: list[Plan]) -> list[Appended | Exception | None]:
        outcomes: list[Appended | Exception | None] = []
        try:
            self._transactions.begin()
            for number, plan in enumerate(plans, 1):
                outcomes.append(self._transactions.carry_out(plan))
                if number % _YIELD_EVERY == 0:
                    await asyncio.sleep(0)
            await asyncio.get_running_loop().run_in_executor(self._thread, self._transactions.commit)
            self._transactions.publish()
        except Exception as error:  # noqa: BLE001 - whatever it is, the transaction is undone
            return [self._transactions.abandon(error)] * len(plans)
        return outcomes
