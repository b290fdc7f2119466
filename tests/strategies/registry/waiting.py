"""Waiting in a test for what another task brings about."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

_PAUSE_S = 0.01
_ATTEMPTS = 6000


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    """Return when ``condition`` holds, which another task brings about."""
    attempts = 0
    while not await condition():
        attempts += 1
        assert attempts < _ATTEMPTS, "the condition did not hold after a minute"
        await asyncio.sleep(_PAUSE_S)
