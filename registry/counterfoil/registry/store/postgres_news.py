"""What other servers on the same database have written: told from the journal, change by change."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from counterfoil.registry.service.storage import Elsewhere
from counterfoil.registry.store.postgres_stamps import Stamps

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from counterfoil.registry.domain.changes import Change
    from counterfoil.registry.store.postgres_stamps import CurrentStamps

MAX_TOLD: Final = 1000
"""With more changes than that at once, it is told that anything may have changed."""


class NewsFromElsewhere:
    """Keeps whoever observes a storage up to date with the writes of other servers.

    ``changes`` reads the journal; ``announce`` is told what is new in it, or None for anything at all, when there is
    too much to tell.
    """

    def __init__(
        self,
        stamps: CurrentStamps,
        *,
        changes: Callable[[int, int], Awaitable[Sequence[Change]]],
        announce: Callable[[Elsewhere | None], None],
    ) -> None:
        self._stamps = stamps
        self._changes = changes
        self._announce = announce
        self._seen: Stamps | None = None
        self._telling: asyncio.Task[None] | None = None

    async def catch_up(self) -> None:
        """Return when all is told that was answered before, by any server.

        All who ask at the same time wait for the same reading of the journal, and fail with it.
        """
        now = await self._stamps.read()
        while not self._has_seen(now):
            if self._telling is None or self._telling.done():
                self._telling = asyncio.create_task(self._tell_until(now))
                self._telling.add_done_callback(_take_note)
            await asyncio.shield(self._telling)

    def note_own(self, *, begun: int, ended: int) -> None:
        """Take in that the changes from ``begun`` to ``ended`` are this server's, which observers hear of anyway.

        Where others have written before, they are told once more, with those.
        """
        if self._seen is not None and self._seen.change == begun:
            self._seen = Stamps(ended, self._seen.settings)

    def _has_seen(self, now: Stamps) -> bool:
        return self._seen is not None and self._seen.change >= now.change

    async def _tell_until(self, now: Stamps) -> None:
        seen = self._seen
        if seen is not None:
            self._announce(await self._news(seen, now))
        if not self._has_seen(now):
            self._seen = now

    async def _news(self, seen: Stamps, now: Stamps) -> Elsewhere | None:
        count = now.change - seen.change
        if count > MAX_TOLD:
            return None
        changes = tuple(await self._changes(seen.change, count))
        return Elsewhere(changes, now.settings != seen.settings) if len(changes) == count else None


def _take_note(telling: asyncio.Task[None]) -> None:
    """A failed reading whose callers have all gone is no news."""
    if not telling.cancelled():
        telling.exception()
