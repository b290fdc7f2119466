"""How much is stored, for the measures: counted when it is requested, and seldom where counting takes long."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from counterfoil.schema.errors import RegistryError

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.registry.service.storage import Storage, Totals

_SHARE: Final = 0.01
"""How much of the time may be spent on counting."""

_PATIENCE_S: Final = 1.0


class Counting:
    """The totals of ``storage`` as they were last counted; None before the first time. ``clock_s`` never goes back."""

    def __init__(self, storage: Storage, *, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._storage = storage
        self._clock_s = clock_s
        self._due_s = 0.0
        self._count: asyncio.Task[None] | None = None
        self.totals: Totals | None = None

    async def refresh(self) -> None:
        """Count again, unless that took so long the last time that it is too early, or the store is away.

        Who asks waits for a moment at most; a count that takes longer is there the next time.
        """
        if self._count is None or self._count.done():
            if self._storage.contact.error is not None or self._clock_s() < self._due_s:
                return
            self._count = asyncio.create_task(self._count_again())
        await asyncio.wait([self._count], timeout=_PATIENCE_S)

    async def _count_again(self) -> None:
        begun_s = self._clock_s()
        with suppress(RegistryError):
            self.totals = await self._storage.totals()
        ended_s = self._clock_s()
        self._due_s = ended_s + (ended_s - begun_s) / _SHARE
