"""Checks of passwords in threads: a few at a time, and a limited number waiting for a limited time."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.registry.auth.passwords.hashes import PasswordHash


_NICENESS: Final = 10
"""Added to that of the process. If both need a core, a thread then has a tenth of the event loop's processor time."""


class TooManyChecks(Exception):
    """So many checks are waiting that this one is not made."""


@dataclass(frozen=True, slots=True)
class CheckLimits:
    """How many checks run at a time, how many wait, and how long."""

    at_once: int = 2
    waiting: int = 64
    wait_s: float = 5.0


class PasswordChecks:
    """The checks of one event loop. The threads let other ones run while they hash, and on Linux before them.

    ``took`` is called with the seconds that each has taken, without the time for which it waited.
    """

    def __init__(self, limits: CheckLimits | None = None, *, took: Callable[[float], None] | None = None) -> None:
        self._took = took
        self._limits = limits or CheckLimits()
        self._threads = ThreadPoolExecutor(self._limits.at_once, thread_name_prefix="passwords", initializer=_give_way)
        self._free = asyncio.Semaphore(self._limits.at_once)
        self._waiting = 0

    async def fits(self, stored: PasswordHash, password: bytes) -> bool:
        """Return whether ``stored`` is the hash of ``password``; or raise ``TooManyChecks``."""
        await self._wait()
        begun = time.perf_counter()
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, stored.fits, password)
        finally:
            self._free.release()
            if self._took is not None:
                self._took(time.perf_counter() - begun)

    def close(self) -> None:
        """End the threads."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _wait(self) -> None:
        if self._free.locked() and self._waiting >= self._limits.waiting:
            raise TooManyChecks
        self._waiting += 1
        try:
            async with asyncio.timeout(self._limits.wait_s):
                await self._free.acquire()
        except TimeoutError:
            raise TooManyChecks from None
        finally:
            self._waiting -= 1


def _give_way() -> None:
    """Lower the priority of this thread; on other systems than Linux a priority is that of a process."""
    if sys.platform == "linux":
        thread = threading.get_native_id()
        os.setpriority(os.PRIO_PROCESS, thread, os.getpriority(os.PRIO_PROCESS, thread) + _NICENESS)
