"""What keeps a client from flooding a registry that fails: a shared budget of retries, and a circuit breaker.

Sources: "Using load shedding to avoid overload" and "Timeouts, retries, and backoff with jitter" (Amazon Builders'
Library), "Circuit Breaker" (Michael Nygard, Release It!).
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Final

from counterfoil.sdk.errors import RegistryUnavailable
from counterfoil.sdk.processes import Locking

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.sdk.settings import RetrySettings

_ANSWERS_PER_ROUND: Final = 5
_CALLS: Final = 16
"""How many calls may use all of their retries, if no budget is set."""


class RetryLimits(Locking):
    """The limits of one client, shared by its threads and tasks. :meth:`begin` and :meth:`end` surround every call."""

    def __init__(self, settings: RetrySettings, clock: Callable[[], float]) -> None:
        super().__init__()
        self._settings = settings
        self._clock = clock
        rounds = _CALLS * settings.retries if settings.budget is None else settings.budget
        self._budget = rounds * _ANSWERS_PER_ROUND
        self._left = self._budget
        """What is left of the budget, in answered calls."""
        self._failures = 0
        self._closed_until_s: float | None = None
        """Until when no request is sent, by the clock; None while requests are sent."""

    def make_locks(self) -> None:
        """Make the lock."""
        self._lock = Lock()

    def begin(self, url: str) -> None:
        """Raise ``RegistryUnavailable`` while no request is sent. When the pause is over, one call is let through."""
        if self._closed_until_s is None:
            return
        with self._lock:
            if self._closed_until_s is None:
                return
            left_s = self._closed_until_s - self._clock()
            if left_s <= 0:
                self._closed_until_s = self._clock() + self._settings.breaker_pause_s  # for the others
                return
        raise RegistryUnavailable(
            f"No request was sent to the registry at {url}: the last {self._failures} calls were not answered; the "
            f"next one is sent in {left_s:.1f} s",
            url=url,
            attempts=0,
        )

    def takes_round(self) -> bool:
        """Take one round of retries from the budget; return false if none is left."""
        with self._lock:
            is_left = self._left >= _ANSWERS_PER_ROUND
            if is_left:
                self._left -= _ANSWERS_PER_ROUND
        return is_left

    def end(self, *, is_answered: bool | None) -> None:
        """Note the outcome of a call; None: it ended before there was one."""
        if is_answered and not self._failures and self._left >= self._budget:
            return
        with self._lock:
            if is_answered:
                self._failures, self._closed_until_s = 0, None
                self._left = min(self._left + 1, self._budget)
            elif is_answered is not None:
                self._failures += 1
                if 0 < self._settings.breaker_failures <= self._failures:
                    self._closed_until_s = self._clock() + self._settings.breaker_pause_s
