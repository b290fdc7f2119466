"""Planning a write again when another one was carried out first."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, TypeVar
from weakref import WeakValueDictionary

from counterfoil.registry.domain.errors import StaleWrite
from counterfoil.schema.errors import StoreTimeout

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable

_T = TypeVar("_T")
_MAX_ATTEMPTS: Final = 1000
_TURN_TIMEOUT_S: Final = 30.0


class Turns:
    """Orders the writers of the same thing, such as a subject, after one of them had to plan again.

    ``catch_up`` is the storage's.
    """

    def __init__(self, catch_up: Callable[[], Awaitable[None]]) -> None:
        self._catch_up = catch_up
        self._locks: WeakValueDictionary[Hashable, asyncio.Lock] = WeakValueDictionary()

    async def take(self, attempt: Callable[[], Awaitable[_T]], *, written: Hashable) -> _T:
        """Return the result of ``attempt``, which writes ``written``.

        It is made at once if no other writer has the lock. If its plan is stale, it waits for the lock and then
        continues as :func:`until_current`. Raises ``StoreTimeout`` if that takes too long.
        """
        turn = self._turn(written)
        if not turn.locked():
            try:
                return await attempt()
            except StaleWrite:
                pass
        try:
            async with asyncio.timeout(_TURN_TIMEOUT_S):
                await turn.acquire()
        except TimeoutError:
            raise StoreTimeout(
                f"Other writes took {_TURN_TIMEOUT_S:g} s; this one was not carried out, try again later"
            ) from None
        try:
            await self._catch_up()
            return await until_current(attempt, catch_up=self._catch_up)
        finally:
            turn.release()

    def _turn(self, written: Hashable) -> asyncio.Lock:
        """Hold the lock of what is written; the lock exists as long as a writer uses it."""
        found = self._locks.get(written)
        if found is None:
            found = self._locks[written] = asyncio.Lock()
        return found


async def until_current(attempt: Callable[[], Awaitable[_T]], *, catch_up: Callable[[], Awaitable[None]]) -> _T:
    """Return the result of ``attempt``, repeated while its plan is stale; finally raise ``StoreTimeout``.

    ``catch_up`` is the storage's: an attempt must see all earlier writes.
    """
    for _ in range(_MAX_ATTEMPTS):
        try:
            return await attempt()
        except StaleWrite:
            await asyncio.sleep(0)  # lets the other write complete; no pause, after which others would be first
            await catch_up()
    raise StoreTimeout(f"Other writes came first {_MAX_ATTEMPTS} times; try again later")
