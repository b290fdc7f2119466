"""Requests and replies of a registry: how they are sent, which are repeated, and after which pause."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Final, Protocol

from counterfoil.schema.errors import CounterfoilError

# The protocol between the client and the network: a request is sent, and a reply is returned or none arrives.
#
# A transport has no retries, no caches and no schemas. Tests and embedded registries have their own (see
# :mod:`counterfoil.sdk.testing`); the default one, in :mod:`counterfoil.sdk.client.connection`, is httpx.


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request. ``url`` is absolute and percent-encoded, without credentials; ``body`` is JSON or None."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """One complete HTTP response. The names in ``headers`` are in lower case."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


class NoReply(CounterfoilError):
    """A transport received no complete reply. The client retries, and finally raises ``RegistryUnavailable``.

    ``was_sent`` is false where the request certainly did not reach a server, so that even one that must not be
    repeated may be tried again.
    """

    def __init__(self, problem: str, *, was_sent: bool = True) -> None:
        super().__init__(problem)
        self.problem = problem
        self.was_sent = was_sent


class Transport(Protocol):
    """Sends requests, for :class:`counterfoil.sdk.Registry`. Used by several threads at once."""

    def send(self, request: Request) -> Reply:
        """Send the request and return the reply, with any status; raise :class:`NoReply` if there is none."""

    def close(self) -> None:
        """Close the connections; a transport that was closed is not used again."""


class AsyncTransport(Protocol):
    """Sends requests, for :class:`counterfoil.sdk.AsyncRegistry`. Used by several tasks at once."""

    async def asend(self, request: Request) -> Reply:
        """Send the request and return the reply, with any status; raise :class:`NoReply` if there is none."""

    async def aclose(self) -> None:
        """Close the connections; a transport that was closed is not used again."""


# Which responses are requested again, and after which pause.
#
# Source of the pauses: "Exponential Backoff And Jitter" (AWS Architecture Blog), the variant with full jitter.

RETRIED: Final = frozenset({408, 429, 500, 502, 503, 504})
"""The HTTP statuses after which a request is repeated."""
_MOST_DOUBLINGS: Final = 30


@dataclass(frozen=True, slots=True)
class Clock:
    """The sources of monotonic time, calendar time (both in seconds), and random numbers for the pauses."""

    monotonic: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time
    random: Callable[[], float] = field(default_factory=lambda: Random().random)  # noqa: S311 - spreads load, no secret


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrySettings:
    """How often and how long a request is repeated.

    After a round over all URLs that failed comes a random pause between 0 and ``first_pause_s``·2ⁿ, at most
    ``max_pause_s``, or the time that the registry asks for; ``retries`` rounds after the first; no new round once
    ``total_s`` seconds are over.

    All calls of a client share ``budget`` rounds of retries (None: sixteen times ``retries``); every answered call
    gives a fifth of a round back, so that a failing registry does not get several times its usual number of requests.
    After ``breaker_failures`` calls in a row without an answer, no request is sent for ``breaker_pause_s`` seconds, and
    calls fail at once; then one call tries. 0 turns this off.
    """

    retries: int = 3
    first_pause_s: float = 0.5
    max_pause_s: float = 8.0
    total_s: float = 30.0
    budget: int | None = None
    breaker_failures: int = 5
    breaker_pause_s: float = 5.0


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
