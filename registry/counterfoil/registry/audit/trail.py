"""Which events a request causes: what it has written, and that it was refused."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from counterfoil.registry.access.rights import CALLER
from counterfoil.registry.audit.events import AuditEvent, EventKind, agent_text, caller_facts
from counterfoil.registry.audit.journal import event_of_change
from counterfoil.registry.http.envelope import REQUEST_ID_KEY, ROUTE_HOLDER, client_address
from counterfoil.registry.store.writes import RequestTrail

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from counterfoil.registry.access.identity import ListedProxies, UnprovenReason
    from counterfoil.registry.access.rights import Caller
    from counterfoil.registry.audit.events import AuditLog


TRAIL: Final = "counterfoil.trail"
"""The key in the scope for the trail of a request; absent where nothing is recorded.

It is a :class:`~counterfoil.registry.store.writes.RequestTrail`.
"""

_REFUSALS: Final[Mapping[int, EventKind]] = {
    HTTPStatus.UNAUTHORIZED: EventKind.AUTH_FAILED,
    HTTPStatus.TOO_MANY_REQUESTS: EventKind.AUTH_THROTTLED,
    HTTPStatus.FORBIDDEN: EventKind.ACCESS_DENIED,
}


class AuditTrail:
    """Records an event for each refused request, for each change that a request has made, and for watched reads.

    ``proxies`` returns those in front of the server, by which the address of a client is found.
    """

    def __init__(self, app: ASGIApp, log: AuditLog, *, proxies: Callable[[], ListedProxies | None]) -> None:
        self._app = app
        self._log = log
        self._proxies = proxies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request to the application, and record what it did."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = HTTPStatus.OK
        trail = scope[TRAIL] = RequestTrail(self._log, partial(_facts, scope, self._proxies))

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, noting)
        finally:
            if trail.changes or trail.events:
                self._record_writes(trail)
            if trail.reads and status < HTTPStatus.BAD_REQUEST:
                self._record_reads(trail)
            kind = EventKind.ACCESS_DENIED if trail.is_denied else _REFUSALS.get(status)
            if kind is not None:
                self._log.record(_refusal(kind, {**trail.facts(), **trail.refused}, status))
            scope.pop(TRAIL, None)  # the trail has the scope: this cycle would keep all of the request

    def _record_writes(self, trail: RequestTrail) -> None:
        facts = trail.facts()
        for change in trail.changes:
            event = event_of_change(change, facts)
            if event is not None:
                self._log.record(event)
        for event in trail.events:
            self._log.record(event)

    def _record_reads(self, trail: RequestTrail) -> None:
        facts = {**trail.facts(), "outcome": "success"}
        for subject, version in trail.reads:
            own = {"resource": str(subject), "context": subject.context, "version": version}
            self._log.record(AuditEvent(EventKind.SCHEMA_READ, {**facts, **own}))


@dataclass(frozen=True, slots=True)
class Recorder:
    """Has ``log`` record what requests do. ``proxies`` returns those in front of the server."""

    log: AuditLog
    proxies: Callable[[], ListedProxies | None]

    def recorded(self, app: ASGIApp) -> ASGIApp:
        """Return an application whose requests are recorded."""
        return AuditTrail(app, self.log, proxies=self.proxies)

    def refused(self, scope: Scope, status: int, reason: UnprovenReason) -> None:
        """Record a request that is refused before it reaches that application."""
        kind = _REFUSALS.get(status)
        if kind is not None:
            facts = _facts(scope, self.proxies)
            facts["reason"] = reason.value
            self.log.record(_refusal(kind, facts, status))


def _refusal(kind: EventKind, facts: dict[str, Any], status: int) -> AuditEvent:
    outcome = "denied" if kind is EventKind.ACCESS_DENIED else "failed"
    return AuditEvent(kind, {**facts, "status": int(status), "outcome": outcome})


def _facts(scope: Scope, proxies: Callable[[], ListedProxies | None]) -> dict[str, Any]:
    """Return what every event of a request says: who, what, from where."""
    facts: dict[str, Any] = {
        "request_id": scope[REQUEST_ID_KEY].decode("latin-1"),
        "action": f"{scope['method']} {scope[ROUTE_HOLDER][0]}",
        "from": client_address(scope, proxies(), unknown="-"),
    }
    caller: Caller | None = scope.get(CALLER)
    if caller is not None and caller.identity is not None:
        facts["caller"] = caller_facts(caller.identity)
    for name, value in scope["headers"]:
        if name == b"user-agent":
            facts["agent"] = agent_text(value)
    return facts
