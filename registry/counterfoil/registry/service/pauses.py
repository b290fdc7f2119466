"""Pauses of long work in the event loop, in which other requests are handled."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

PAUSE_AFTER_S: Final = 0.005
"""The time of work after which there is a pause."""


class Pauses:
    """The pauses of one piece of work that consists of many parts: before each part, it asks whether one is due.

    ``worked_s`` is the time of the work until the last pause, without the pauses.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.worked_s = 0.0
        self._clock = clock
        self._resumed_s = clock()

    async def pause_if_due(self) -> None:
        """Handle other requests, if the work has gone on for 5 ms."""
        worked_s = self._clock() - self._resumed_s
        if worked_s > PAUSE_AFTER_S:
            self.worked_s += worked_s
            await asyncio.sleep(0)
            self._resumed_s = self._clock()
