"""What other servers on the same database have written: told from the journal, change by change."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from counterfoil.registry.service.contact import StoreContact, StoreSlow
from counterfoil.registry.service.storage import Elsewhere
from counterfoil.registry.store.gathered_reads import GatheredReads
from counterfoil.schema.errors import StoreTimeout, StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from counterfoil.registry.domain.changes import Change

MAX_TOLD: Final = 1000
"""With more changes than that at once, it is told that anything may have changed."""

PATIENCE_S: Final = 2.0
"""How long a reading may take before those who can do without it are told that the database is slow."""

_LOOK_S: Final = 0.25

LEASE_S: Final = 0.02
"""How long what was read of the journal may be used for answers about schema ids that were there.

Whoever writes what changes such an answer waits as long before that is acknowledged, so that no server gives the old
one afterwards.
"""


@dataclass(frozen=True, slots=True)
class Stamps:
    """The number of the last change, and of the last one to any config or mode."""

    change: int
    settings: int


@dataclass(frozen=True, slots=True)
class Journal:
    """The stamps, and the changes after those that were known, :data:`MAX_TOLD` at most; all of one moment."""

    now: Stamps
    changes: Sequence[Change] = ()


class NewsFromElsewhere:
    """Keeps whoever observes a storage up to date with the writes of other servers.

    ``read`` gives the journal after the change with a number; None stands for "from now on". ``announce`` is told what
    is new in it, or None for anything at all, when there is too much to tell. ``contact`` learns whether the database
    answers. ``clock_s`` never goes back.
    """

    def __init__(
        self,
        read: Callable[[int | None], Awaitable[Journal]],
        *,
        announce: Callable[[Elsewhere | None], None],
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
        """Return when all is told that was answered before, by any server.

        All who ask while one statement is under way share the next one, and fail with it.
        """
        await self._readings.read(None)

    async def catch_up_soon(self) -> None:
        """As :meth:`catch_up`; ``StoreSlow`` as soon as a reading has taken :data:`PATIENCE_S`.

        One timer looks after all who wait: one for each of them would take longer than they wait.
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
        """Return the stamps as of the last :meth:`catch_up`, which what is told goes on from; the first one is made here."""
        while self._seen is None:
            await self.catch_up()
        return self._seen

    @property
    def has_lease(self) -> bool:
        """Whether the last reading is younger than :data:`LEASE_S`; the next one begins before it is too old."""
        left_s = self._leased_until_s - self._clock_s()
        if left_s <= 0:
            return False
        if left_s < LEASE_S / 2 and (self._renewal is None or self._renewal.done()):
            self._renewal = asyncio.create_task(self.catch_up())
            self._renewal.add_done_callback(_take_note)
        return True

    def note_own(self, *, begun: int, ended: Stamps) -> None:
        """Take in that the changes after ``begun`` up to ``ended`` are this server's, which observers hear of anyway.

        Where others have written before, they are told once more, with those.
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
        """Tell what is new, which is less than was read where this server has written in the meantime."""
        seen, now = self._seen, journal.now
        if seen is not None and now.change > seen.change:
            new = tuple(change for change in journal.changes if change.seq > seen.change)
            is_whole = len(new) == now.change - seen.change
            self._announce(Elsewhere(new, now.settings != seen.settings) if is_whole else None)
        if seen is None or now.change > seen.change:
            self._seen = now


def _slow() -> StoreSlow:
    return StoreSlow(f"PostgreSQL has not answered for {PATIENCE_S:g} s; try again later")


def _take_note(renewal: asyncio.Task[None]) -> None:
    """Who needs what could not be read asks for it, and is told why."""
    if not renewal.cancelled():
        renewal.exception()
