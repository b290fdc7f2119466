"""Waiting in a test for what another task brings about."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

_FIRST_PAUSE_S = 0.01
_LONGEST_PAUSE_S = 0.2
_PATIENCE_S = 300


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    """Return when ``condition`` holds, which another task brings about.

    Each pause is longer than the one before: a condition that needs seconds shall not cost them, too.
    """
    waited_s, pause_s = 0.0, _FIRST_PAUSE_S
    while not await condition():
        assert waited_s < _PATIENCE_S, "the condition did not hold after five minutes"
        await asyncio.sleep(pause_s)
        waited_s += pause_s
        pause_s = min(1.3 * pause_s, _LONGEST_PAUSE_S)
