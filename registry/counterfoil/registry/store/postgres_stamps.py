"""The numbers of the last writes, read for many who ask at once."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from counterfoil.registry.store.postgres_connections import Connections


@dataclass(frozen=True, slots=True)
class Stamps:
    """The number of the last write, and of the last one to any config or mode."""

    change: int
    settings: int


class CurrentStamps:
    """Reads the stamps; all who ask while one reading is under way share the next.

    What a caller gets was read after it asked, so it covers every write that was answered by then, on any node; and
    however many ask, one small statement at a time is under way.
    """

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._underway: asyncio.Task[Stamps] | None = None
        self._next: asyncio.Task[Stamps] | None = None

    async def read(self) -> Stamps:
        """The stamps as they are now, or a little later."""
        if self._next is None:
            self._next = asyncio.create_task(self._read_after(self._underway))
            self._next.add_done_callback(_take_note)
        return await asyncio.shield(self._next)

    async def _read_after(self, before: asyncio.Task[Stamps] | None) -> Stamps:
        if before is not None:
            await asyncio.wait([before])
        self._underway, self._next = self._next, None  # who asks from now on is answered by another reading
        rows = await self._connections.rows("SELECT change, settings FROM counterfoil.stamps")
        return Stamps(*rows[0])


def _take_note(task: asyncio.Task[Stamps]) -> None:
    """A failed reading whose callers have all gone is no news."""
    if not task.cancelled():
        task.exception()
