"""The writes of other servers on the same database, read from the journal."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from counterfoil.registry.domain.changes import Written
from counterfoil.registry.service.contact import StoreContact, StoreSlow
from counterfoil.registry.store.gathered_reads import GatheredReads
from counterfoil.schema.errors import StoreTimeout, StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from counterfoil.registry.domain.changes import Change

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
    changes: Sequence[Change] = ()


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
        announce: Callable[[Written | None], None],
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
            self._announce(Written(new, now.settings != seen.settings) if is_whole else None)
        if seen is None or now.change > seen.change:
            self._seen = now


def _slow() -> StoreSlow:
    return StoreSlow(f"PostgreSQL has not answered for {PATIENCE_S:g} s; try again later")


def _take_note(renewal: asyncio.Task[None]) -> None:
    """Read the result of a renewal; a caller that needs the failed read repeats it and gets its error."""
    if not renewal.cancelled():
        renewal.exception()
