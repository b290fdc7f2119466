"""Which responses are requested again, and after which pause.

Source of the pauses: "Exponential Backoff And Jitter" (AWS Architecture Blog), the variant with full jitter.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Final

from counterfoil.sdk.transport import Reply

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from counterfoil.sdk.settings import RetrySettings
    from counterfoil.sdk.transport import NoReply

RETRIED: Final = frozenset({408, 429, 500, 502, 503, 504})
"""The HTTP statuses after which a request is repeated."""
_MOST_DOUBLINGS: Final = 30


@dataclass(frozen=True, slots=True)
class Clock:
    """The sources of monotonic time, calendar time (both in seconds), and random numbers for the pauses."""

    monotonic: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time
    random: Callable[[], float] = field(default_factory=lambda: Random().random)  # noqa: S311 - spreads load, no secret


def pause_after(outcome: Reply | NoReply, round_number: int, retry: RetrySettings, clock: Clock) -> float:
    """Return how long to wait after a round of requests, in seconds."""
    if isinstance(outcome, Reply):
        asked_s = _retry_after_s(outcome.headers, clock.wall())
        if asked_s is not None:
            return asked_s
    return clock.random() * min(retry.max_pause_s, retry.first_pause_s * 2.0 ** min(round_number, _MOST_DOUBLINGS))


def _retry_after_s(headers: Mapping[str, str], now_s: float) -> float | None:
    """Return the seconds of ``Retry-After``, a number or the time until a date; None when it cannot be read."""
    text = headers.get("retry-after", "").strip()
    if text.isascii() and text.isdigit():
        return float(text)
    from email.utils import parsedate_to_datetime

    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - now_s)
    except (ValueError, TypeError, OverflowError):
        return None
