"""Group commit: one transaction for the plans of all requests; plans that came too late; the observers of writes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar
from weakref import WeakValueDictionary

from counterfoil.registry.store.changes import WrittenChanges
from counterfoil.registry.store.protocol import Observer, StoreContact, queue_full, waited_too_long
from counterfoil.registry.store.writes import StaleWrite, StoragePlan
from counterfoil.schema.errors import RegistryError, StoreTimeout

# The observers of the writes of a storage, such as caches.


class WriteObservers:
    """The observers of a storage: of all writes, and of those alone that may have changed records."""

    def __init__(self) -> None:
        self._of_all: list[Observer] = []
        self._of_records: list[Observer] = []

    def add(self, observer: Observer, *, of_records: bool) -> None:
        """Call ``observer`` from now on."""
        (self._of_records if of_records else self._of_all).append(observer)

    def call(self, written: WrittenChanges | None) -> None:
        """Call all that a write concerns; None stands for writes that are not known."""
        for observer in self._of_all:
            observer(written)
        if written is None or written.has_records:
            for observer in self._of_records:
                observer(written)


# Planning a write again when another one was carried out first.

_T = TypeVar("_T")
_MAX_ATTEMPTS: Final = 1000
_TURN_TIMEOUT_S: Final = 30.0


class WriteTurns:
    """Orders the writers of the same thing, such as a subject, after one of them had to plan again.

    ``catch_up`` is the storage's.
    """

    def __init__(self, catch_up: Callable[[], Awaitable[None]]) -> None:
        self._catch_up = catch_up
        self._locks: WeakValueDictionary[Hashable, asyncio.Lock] = WeakValueDictionary()

    async def take(self, attempt: Callable[[], Awaitable[_T]], *, written: Hashable) -> _T:
        """Return the result of ``attempt``, which writes ``written``.

        It is made at once if no other writer has the lock. If its plan is stale, it waits for the lock and then
        continues as :func:`until_current`. Raises ``StoreTimeout`` if that takes too long.
        """
        turn = self._turn(written)
        if not turn.locked():
            try:
                return await attempt()
            except StaleWrite:
                pass
        try:
            async with asyncio.timeout(_TURN_TIMEOUT_S):
                await turn.acquire()
        except TimeoutError:
            raise StoreTimeout(
                f"Other writes took {_TURN_TIMEOUT_S:g} s; this one was not carried out, try again later"
            ) from None
        try:
            await self._catch_up()
            return await until_current(attempt, catch_up=self._catch_up)
        finally:
            turn.release()

    def _turn(self, written: Hashable) -> asyncio.Lock:
        """Hold the lock of what is written; the lock exists as long as a writer uses it."""
        found = self._locks.get(written)
        if found is None:
            found = self._locks[written] = asyncio.Lock()
        return found


async def until_current(attempt: Callable[[], Awaitable[_T]], *, catch_up: Callable[[], Awaitable[None]]) -> _T:
    """Return the result of ``attempt``, repeated while its plan is stale; finally raise ``StoreTimeout``.

    ``catch_up`` is the storage's: an attempt must see all earlier writes.
    """
    for _ in range(_MAX_ATTEMPTS):
        try:
            return await attempt()
        except StaleWrite:
            await asyncio.sleep(0)  # lets the other write complete; no pause, after which others would be first
            await catch_up()
    raise StoreTimeout(f"Other writes came first {_MAX_ATTEMPTS} times; try again later")


# Group commit: one transaction carries out the waiting plans of all requests.
#
# Plans that arrive during a transaction wait, and share the next one.

MAX_BATCH = 64
_YIELD_EVERY = 8


@dataclass(frozen=True, slots=True)
class WriteLimits:
    """How many writes of a process may wait at the same time, and how long one may take, including the wait."""

    max_waiting: int = 4096
    timeout_s: float = 30.0


DEFAULT_LIMITS: Final = WriteLimits()


class StoreTransactions(Protocol):
    """The transactions of a store; some methods run in another thread, but never two at the same time."""

    def begin(self) -> bool:
        """Begin a transaction and return True.

        Return False if another program holds a lock, so that one would have to wait.
        """

    def begin_patiently(self) -> None:
        """Begin a transaction and wait for locks; called in another thread."""

    def carry_out(self, plan: StoragePlan) -> WrittenChanges | Exception:
        """Carry out one plan and return its outcome; if that is an exception, nothing was written."""

    def commit(self) -> None:
        """Make everything since ``begin`` durable; called in another thread."""

    def publish(self) -> None:
        """Update the caches after a successful commit; called in the thread of ``carry_out``."""

    def abandon(self, error: Exception) -> Exception:
        """Undo everything since ``begin``, and return the error for the waiting callers."""


class _Waiting:
    """A plan, its waiting caller, and the deadline."""

    __slots__ = ("deadline", "future", "plan")

    def __init__(self, plan: StoragePlan, future: asyncio.Future[WrittenChanges], deadline: float) -> None:
        self.plan = plan
        self.future = future
        self.deadline = deadline

    def settle(self, outcome: WrittenChanges | Exception) -> None:
        if self.future.done():
            return
        if isinstance(outcome, Exception):
            self.future.set_exception(outcome)
        else:
            self.future.set_result(outcome)


class GroupCommit:
    """Carries out plans in batches; each caller gets the outcome of its plan.

    ``transact`` carries out a batch durably and returns an outcome for each plan; all callers get an error that it
    raises. ``announce`` is called for every plan that was carried out, before its caller gets the outcome. A plan
    beyond ``limits`` is refused with ``StoreUnavailable`` if too many wait, and with ``StoreTimeout`` if it has taken
    too long. ``contact`` records whether the store accepts writes.
    """

    def __init__(
        self,
        transact: Callable[[list[StoragePlan]], Awaitable[list[WrittenChanges | Exception]]],
        *,
        announce: Callable[[WrittenChanges], None],
        limits: WriteLimits = DEFAULT_LIMITS,
        contact: StoreContact | None = None,
    ) -> None:
        self._transact = transact
        self._announce = announce
        self._contact = contact or StoreContact()
        self._limits = limits
        self._waiting: list[_Waiting] = []
        self._underway: list[_Waiting] = []
        self._task: asyncio.Task[None] | None = None
        self._alarm: asyncio.TimerHandle | None = None

    async def commit(self, plan: StoragePlan) -> WrittenChanges:
        """Carry out ``plan``, and return its outcome when it is durable."""
        if len(self._waiting) >= self._limits.max_waiting:
            raise queue_full(self._limits.max_waiting)
        loop = asyncio.get_running_loop()
        waiting = _Waiting(plan, loop.create_future(), loop.time() + self._limits.timeout_s)
        self._waiting.append(waiting)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())
        if self._alarm is None:
            self._alarm = loop.call_at(waiting.deadline, self._dismiss, loop)
        return await waiting.future

    @property
    def waiting(self) -> int:
        """The number of plans that wait or are carried out."""
        return len(self._waiting) + len(self._underway)

    async def close(self) -> None:
        """Finish the waiting plans."""
        if self._task is not None:
            await self._task
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    def _dismiss(self, loop: asyncio.AbstractEventLoop) -> None:
        """Refuse the plans whose deadline is over; called at the first deadline."""
        now = loop.time()
        for waiting in self._underway:
            if waiting.deadline <= now:
                waiting.settle(waited_too_long(self._limits.timeout_s, is_underway=True))
        late = [waiting for waiting in self._waiting if waiting.deadline <= now]
        self._waiting = self._waiting[len(late) :]  # the first have the earliest deadlines
        for waiting in late:
            waiting.settle(waited_too_long(self._limits.timeout_s, is_underway=False))
        patient = [waiting.deadline for waiting in (*self._underway, *self._waiting) if not waiting.future.done()]
        self._alarm = loop.call_at(min(patient), self._dismiss, loop) if patient else None

    async def _run(self) -> None:
        while self._waiting:
            self._underway, self._waiting = self._waiting[:MAX_BATCH], self._waiting[MAX_BATCH:]
            outcomes = await self._outcomes([waiting.plan for waiting in self._underway])
            for waiting, outcome in zip(self._underway, outcomes, strict=True):
                if isinstance(outcome, Exception):
                    self._contact.note_write(outcome)
                else:
                    self._contact.note_write()
                    self._announce(outcome)
                waiting.settle(outcome)
            self._underway = []

    async def _outcomes(self, plans: list[StoragePlan]) -> list[WrittenChanges | Exception]:
        try:
            return await self._transact(plans)
        except Exception as error:  # noqa: BLE001 - whatever it is, the callers get it, and the next batch is tried
            return [error] * len(plans)


class Committer:
    """Group commit over transactions in this process.

    Plans are carried out in the event loop, which takes a fraction of a millisecond for each; the commit, which waits
    for the disk, runs in a thread.
    """

    def __init__(
        self,
        transactions: StoreTransactions,
        *,
        announce: Callable[[WrittenChanges], None],
        limits: WriteLimits = DEFAULT_LIMITS,
        contact: StoreContact | None = None,
    ) -> None:
        self._transactions = transactions
        self._group = GroupCommit(self._transact, announce=announce, limits=limits, contact=contact)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="counterfoil-commit")

    async def commit(self, plan: StoragePlan) -> WrittenChanges:
        """Carry out ``plan``, and return its outcome when it is durable."""
        return await self._group.commit(plan)

    @property
    def waiting(self) -> int:
        """The number of plans that wait or are carried out."""
        return self._group.waiting

    async def close(self) -> None:
        """Finish the waiting plans, then end the thread."""
        await self._group.close()
        self._thread.shutdown()

    async def _transact(self, plans: list[StoragePlan]) -> list[WrittenChanges | Exception]:
        """Carry out plans and return their outcomes.

        If one fails, carry out each separately, so that no other fails with it.
        """
        outcomes: list[WrittenChanges | Exception] = []
        try:
            if not self._transactions.begin():
                await self._in_thread(self._transactions.begin_patiently)
            for number, plan in enumerate(plans, 1):
                outcomes.append(self._transactions.carry_out(plan))
                if number % _YIELD_EVERY == 0:
                    await asyncio.sleep(0)
            await self._in_thread(self._transactions.commit)
            self._transactions.publish()
        except Exception as error:  # noqa: BLE001 - whatever it is, the transaction is undone
            told = self._transactions.abandon(error)
            if isinstance(told, RegistryError) or len(plans) == 1:
                return [told] * len(plans)
            return [outcome for plan in plans for outcome in await self._transact([plan])]
        return outcomes

    async def _in_thread(self, work: Callable[[], None]) -> None:
        await asyncio.get_running_loop().run_in_executor(self._thread, work)
