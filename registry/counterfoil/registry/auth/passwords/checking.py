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

from counterfoil.registry.domain.access.buckets import Buckets, Rate

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from counterfoil.registry.auth.passwords.hashes import PasswordHash


_NICENESS: Final = 10
"""Added to that of the process. If both need a core, a thread then has a tenth of the event loop's processor time."""

_ALL: Final = "wrong passwords"
"""The key of the only bucket: the processor time of wrong passwords, in seconds."""


class TooManyChecks(Exception):
    """So many checks are waiting that this one is not made."""


@dataclass(frozen=True, slots=True)
class CheckLimits:
    """How many checks run at a time, how many wait, and how long.

    Wrong passwords may take ``wrong_s`` seconds of processor time, and then ``wrong_share`` of one core (1: no limit),
    or more where the next check would have to pause for longer than ``wait_s``.
    """

    at_once: int = 2
    waiting: int = 64
    wait_s: float = 5.0
    wrong_s: float = 2.0
    wrong_share: float = 0.05


class PasswordChecks:
    """The checks of one event loop. The threads let other ones run while they hash, and on Linux before them.

    ``took`` is called with the seconds that each has taken, without the time for which it waited.
    """

    def __init__(
        self,
        limits: CheckLimits | None = None,
        *,
        took: Callable[[float], None] | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._took = took
        self._sleep = sleep
        self._limits = limits or CheckLimits()
        self._threads = ThreadPoolExecutor(self._limits.at_once, thread_name_prefix="passwords", initializer=_give_way)
        self._free = asyncio.Semaphore(self._limits.at_once)
        self._waiting = 0
        self._wrong = Buckets(Rate(self._limits.wrong_s, 1 / self._limits.wrong_share), clock=clock)

    @property
    def is_full(self) -> bool:
        """Whether as many checks wait as may."""
        return self._free.locked() and self._waiting >= self._limits.waiting

    @property
    def is_slowed(self) -> bool:
        """Whether there are so many wrong passwords that checks wait for each other longer than they take."""
        return self._pause_s > 0

    async def fits(self, stored: PasswordHash, password: bytes) -> bool:
        """Return whether ``stored`` is the hash of ``password``; or raise ``TooManyChecks``."""
        await self._wait()
        try:
            if (pause_s := self._pause_s) > 0:
                await self._sleep(min(pause_s, self._limits.wait_s))
            begun = time.perf_counter()
            fits, cpu_s = await asyncio.get_running_loop().run_in_executor(self._threads, _checked, stored, password)
            if not fits:
                self._wrong.take(_ALL, cpu_s)
            if self._took is not None:
                self._took(time.perf_counter() - begun)
            return fits
        finally:
            self._free.release()

    def close(self) -> None:
        """End the threads."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    @property
    def _pause_s(self) -> float:
        """How long the next check has to wait because of the time that wrong passwords took."""
        return 0.0 if self._limits.wrong_share >= 1 else self._wrong.wait_s(_ALL, 0)

    async def _wait(self) -> None:
        if self.is_full:
            raise TooManyChecks
        self._waiting += 1
        try:
            async with asyncio.timeout(self._limits.wait_s):
                await self._free.acquire()
        except TimeoutError:
            raise TooManyChecks from None
        finally:
            self._waiting -= 1


def _checked(stored: PasswordHash, password: bytes) -> tuple[bool, float]:
    """Return whether the password is right, and the processor time of this thread that it took, in seconds."""
    before_s = time.thread_time()
    fits = stored.fits(password)
    return fits, time.thread_time() - before_s


def _give_way() -> None:
    """Lower the priority of this thread; on other systems than Linux a priority is that of a process."""
    if sys.platform == "linux":
        thread = threading.get_native_id()
        os.setpriority(os.PRIO_PROCESS, thread, os.getpriority(os.PRIO_PROCESS, thread) + _NICENESS)
