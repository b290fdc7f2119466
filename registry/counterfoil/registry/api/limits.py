"""Limits of how many requests and event streams one sender may have: a caller, or else an address."""

from __future__ import annotations

import math
import time
from collections import Counter
from contextlib import contextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from counterfoil.registry.api.http.answers import error_answer
from counterfoil.registry.api.senders import sender_of
from counterfoil.registry.domain.access.buckets import Buckets, Rate
from counterfoil.registry.domain.access.caller import CALLER
from counterfoil.registry.domain.access.identity import Reason, no_proxies
from counterfoil.schema.errors import RegistryError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from starlette.responses import Response
    from starlette.types import ASGIApp, Receive, Scope, Send

    from counterfoil.registry.domain.access.identity import ListedProxies

_NEVER_LIMITED: Final = frozenset({b"/health/live", b"/health/ready"})
_READS: Final = frozenset({"GET", "HEAD", "OPTIONS"})


def too_many() -> RegistryError:
    """Return the error of whatever is beyond a limit."""
    status = HTTPStatus.TOO_MANY_REQUESTS
    return RegistryError("Too many requests; try again later", status=status, code=status)


def too_many_requests(retry_after_s: int) -> Response:
    """Return the response to a request beyond a limit."""
    response = error_answer(too_many())
    response.headers["retry-after"] = str(retry_after_s)
    return response


def unrecorded(_scope: Scope, _status: int, _reason: Reason) -> None:
    """Do nothing: refusals are recorded nowhere."""


class RequestLimits:
    """How many requests a sender may send; 0 is no limit.

    ``writes_a_second`` is a further limit, of the requests that are not GET, HEAD or OPTIONS. ``burst`` is how many may
    come at once; 0 is as many as in a second.
    """

    def __init__(
        self, *, a_second: int, writes_a_second: int, burst: int = 0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._all = _buckets(a_second, burst, clock)
        self._writes = _buckets(writes_a_second, burst, clock)

    def counted(self, sender: str, method: str) -> int:
        """Count a request of ``sender`` and return 0; or return the whole seconds until there may be another one."""
        limits = [each for each in (self._all, None if method in _READS else self._writes) if each is not None]
        wait_s = max((each.wait_s(sender) for each in limits), default=0.0)
        if not wait_s:
            for each in limits:
                each.take(sender)
        return math.ceil(wait_s)


class RateLimits:
    """Passes the requests that are within ``limits``.

    ``proxies`` returns those in front of the server, by which a client without a name is counted. ``refused`` is called
    with each refusal, for the audit.
    """

    def __init__(
        self,
        app: ASGIApp,
        limits: RequestLimits,
        *,
        proxies: Callable[[], ListedProxies | None] = no_proxies,
        refused: Callable[[Scope, int, Reason], None] = unrecorded,
    ) -> None:
        self._app = app
        self._limits = limits
        self._proxies = proxies
        self._refused = refused

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request to the application, or answer 429 before its body is read."""
        app: ASGIApp = self._app
        if scope["type"] == "http" and scope.get("raw_path") not in _NEVER_LIMITED:
            wait_s = self._limits.counted(sender_of(scope, self._proxies()), scope["method"])
            if wait_s:
                app = too_many_requests(wait_s)
                self._refused(scope, HTTPStatus.TOO_MANY_REQUESTS, Reason.THROTTLED)
        await app(scope, receive, send)


def _buckets(a_second: int, burst: int, clock: Callable[[], float]) -> Buckets | None:
    return Buckets(Rate(burst or a_second, 1 / a_second), clock=clock) if a_second else None


class OpenStreams:
    """Counts the event streams of each sender: ``most`` are permitted where there is a gate; 0 is any number."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._open: Counter[str] = Counter()

    @contextmanager
    def another(self, scope: Scope, proxies: ListedProxies | None = None) -> Iterator[bool]:
        """Count one stream while this is open; it is whether its sender may have it."""
        sender = sender_of(scope, proxies)
        is_permitted = CALLER not in scope or not 0 < self._most <= self._open[sender]
        self._open[sender] += is_permitted
        try:
            yield is_permitted
        finally:
            self._open[sender] -= is_permitted
            if not self._open[sender]:
                del self._open[sender]
