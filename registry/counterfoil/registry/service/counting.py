"""The totals of the store for metrics: counted on request, and less often if counting takes long."""

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
"""The largest share of the time that is spent on counting."""

_PATIENCE_S: Final = 1.0


class Counting:
    """The last counted totals of ``storage``; None before the first count. ``clock_s`` is monotonic."""

    def __init__(self, storage: Storage, *, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._storage = storage
        self._clock_s = clock_s
        self._due_s = 0.0
        self._count: asyncio.Task[None] | None = None
        self.totals: Totals | None = None

    async def refresh(self) -> None:
        """Count again, unless the last count took so long that it is too early, or the store cannot be reached.

        The caller waits for a short time only; a count that takes longer is returned the next time.
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
