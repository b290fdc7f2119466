"""The writes of other servers on the same database, read from the journal; grouped reads of one kind."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from counterfoil.registry.store.changes import WrittenChanges
from counterfoil.registry.store.protocol import StoreContact, StoreSlow
from counterfoil.schema.errors import StoreTimeout, StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence

    from counterfoil.registry.store.changes import JournalChange


# Grouped reads of one kind: reads that are requested while one runs wait, and share the next statement.

_K = TypeVar("_K")
_V = TypeVar("_V")

MAX_GATHERED: Final = 64


class GatheredReads(Generic[_K, _V]):
    """Reads of single keys, grouped into calls of ``read_many``, which returns one value for each key in their order.

    A value is always read after it was requested. A single caller does not wait for others. When the store does not
    respond in time, all waiting callers get its ``StoreTimeout``, since another attempt would take as long again.
    """

    def __init__(self, read_many: Callable[[Sequence[_K]], Awaitable[Sequence[_V]]]) -> None:
        self._read_many = read_many
        self._waiting: dict[_K, list[asyncio.Future[_V]]] = {}
        self._task: asyncio.Task[None] | None = None

    async def read(self, key: _K) -> _V:
        """Return the value of one key; raise the error of the grouped read."""
        return await self.request(key)

    def request(self, key: _K) -> asyncio.Future[_V]:
        """Return a future of the value of one key, for callers that do not wait for it at once."""
        future: asyncio.Future[_V] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(key, []).append(future)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())
        return future

    async def _run(self) -> None:
        while self._waiting:
            keys = list(self._waiting)[:MAX_GATHERED]
            callers = [self._waiting.pop(key) for key in keys]
            try:
                values = await self._read_many(keys)
            except Exception as error:  # noqa: BLE001 - whatever it is, the callers get it, and the next are tried
                if isinstance(error, StoreTimeout):
                    callers += self._waiting.values()
                    self._waiting = {}
                for future in _still_there(callers):
                    future.set_exception(error)
            else:
                for of_key, value in zip(callers, values, strict=True):
                    for future in _still_there([of_key]):
                        future.set_result(value)


def _still_there(callers: Iterable[list[asyncio.Future[_V]]]) -> Iterator[asyncio.Future[_V]]:
    """Return the futures of the callers that still wait."""
    return (future for of_key in callers for future in of_key if not future.done())


# The writes of other servers on the same database, read from the journal.

MAX_TOLD: Final = 1000
"""With more changes than that at once, observers are called for unknown writes."""

PATIENCE_S: Final = 2.0
"""How long a read may take before callers of ``catch_up_soon`` get ``StoreSlow``."""

_LOOK_S: Final = 0.25

LEASE_S: Final = 0.02
"""How long a read of the journal is valid for responses about existing schema ids.

A write that changes such a response waits as long before it is acknowledged, so that no server returns the old response
afterwards.
"""


@dataclass(frozen=True, slots=True)
class Stamps:
    """The numbers of the last change, and of the last change of any config or mode."""

    change: int
    settings: int


@dataclass(frozen=True, slots=True)
class Journal:
    """The stamps, and at most :data:`MAX_TOLD` changes after the known ones, all of one moment."""

    now: Stamps
    changes: Sequence[JournalChange] = ()


class NewsFromElsewhere:
    """Calls the observers of a storage for the writes of other servers.

    ``read`` returns the journal after the change with a number; None means "from now on". ``announce`` is called with
    the new changes, or with None if there are too many. ``contact`` records whether the database responds. ``clock_s``
    is monotonic.
    """

    def __init__(
        self,
        read: Callable[[int | None], Awaitable[Journal]],
        *,
        announce: Callable[[WrittenChanges | None], None],
        contact: StoreContact | None = None,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._read_journal = read
        self._contact = contact or StoreContact()
        self._announce = announce
        self._clock_s = clock_s
        self._seen: Stamps | None = None
        self._readings: GatheredReads[None, None] = GatheredReads(self._read)
        self._reading_since_s: float | None = None
        self._impatient: list[asyncio.Future[None]] = []
        self._look: asyncio.TimerHandle | None = None
        self._leased_until_s = 0.0
        self._renewal: asyncio.Task[None] | None = None

    async def catch_up(self) -> None:
        """Wait until the observers were called for all writes that were answered before, by any server.

        Calls during a running statement share the next one, and its failure.
        """
        await self._readings.read(None)

    async def catch_up_soon(self) -> None:
        """Call :meth:`catch_up`, and raise ``StoreSlow`` when a read has taken :data:`PATIENCE_S`.

        One timer serves all waiting calls, since a timer for each would cost more than the usual wait.
        """
        if self._is_slow:
            raise _slow()
        future = self._readings.request(None)
        self._impatient.append(future)
        if self._look is None:
            self._look = asyncio.get_running_loop().call_later(_LOOK_S, self._look_at_impatient)
        await future

    @property
    def _is_slow(self) -> bool:
        since_s = self._reading_since_s
        return since_s is not None and self._clock_s() - since_s > PATIENCE_S

    def _look_at_impatient(self) -> None:
        waiting = [future for future in self._impatient if not future.done()]
        if self._is_slow:
            for future in waiting:
                future.set_exception(_slow())
            waiting = []
        self._impatient = waiting
        self._look = asyncio.get_running_loop().call_later(_LOOK_S, self._look_at_impatient) if waiting else None

    async def seen(self) -> Stamps:
        """Return the stamps of the last :meth:`catch_up`, from which the next one continues.

        The first one is read here.
        """
        while self._seen is None:
            await self.catch_up()
        return self._seen

    @property
    def has_lease(self) -> bool:
        """Whether the last read is younger than :data:`LEASE_S`; the next one begins before it expires."""
        left_s = self._leased_until_s - self._clock_s()
        if left_s <= 0:
            return False
        if left_s < LEASE_S / 2 and (self._renewal is None or self._renewal.done()):
            self._renewal = asyncio.create_task(self.catch_up())
            self._renewal.add_done_callback(_take_note)
        return True

    def note_own(self, *, begun: int, ended: Stamps) -> None:
        """Record that the changes after ``begun`` up to ``ended`` are this server's, which observers know already.

        If others have written before, these changes are announced again with theirs.
        """
        self._contact.note_reached()
        if self._seen is not None and self._seen.change == begun:
            self._seen = ended

    async def _read(self, callers: Sequence[None]) -> Sequence[None]:
        begun_s = self._reading_since_s = self._clock_s()
        seen = self._seen
        try:
            journal = await self._read_journal(None if seen is None else seen.change)
        except (StoreUnavailable, StoreTimeout) as error:
            self._contact.note_lost(error)
            raise
        finally:
            self._reading_since_s = None
        self._take(journal)
        self._leased_until_s = begun_s + LEASE_S
        self._contact.note_reached()
        return callers

    def _take(self, journal: Journal) -> None:
        """Announce the new changes; changes that this server has written in the meantime are left out."""
        seen, now = self._seen, journal.now
        if seen is not None and now.change > seen.change:
            new = tuple(change for change in journal.changes if change.seq > seen.change)
            is_whole = len(new) == now.change - seen.change
            self._announce(WrittenChanges(new, now.settings != seen.settings) if is_whole else None)
        if seen is None or now.change > seen.change:
            self._seen = now


def _slow() -> StoreSlow:
    return StoreSlow(f"PostgreSQL has not answered for {PATIENCE_S:g} s; try again later")


def _take_note(renewal: asyncio.Task[None]) -> None:
    """Read the result of a renewal; a caller that needs the failed read repeats it and gets its error."""
    if not renewal.cancelled():
        renewal.exception()
