"""The audit of one server: what requests do is recorded in its file and its store; refused ones are counted."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from http import HTTPStatus
from typing import Any, Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from counterfoil.registry.access.identity import ListedProxies, UnprovenReason
from counterfoil.registry.access.resources import subject_resource
from counterfoil.registry.access.rights import CALLER, Caller, Shown
from counterfoil.registry.access.rules import ResourcePattern
from counterfoil.registry.audit.events import (
    AuditEvent,
    AuditLog,
    EventKind,
    EventPlace,
    KeptIn,
    agent_text,
    caller_facts,
    time_text,
    time_text_of,
)
from counterfoil.registry.audit.file import AuditFile, LineHead, unsigned
from counterfoil.registry.audit.journal import event_of_change
from counterfoil.registry.http.envelope import REQUEST_ID_KEY, ROUTE_HOLDER, client_address
from counterfoil.registry.logs import tried
from counterfoil.registry.store.protocol import Storage
from counterfoil.registry.store.writes import NO_REQUEST, DropEvents, RecordEvents, RequestTrail, StoragePlan
from counterfoil.schema.contexts import QualifiedSubject
from counterfoil.schema.errors import RegistryError
from counterfoil.schema.rest.object_forms import Document

# Refused requests, counted: whoever sends a million of them causes a few rows in the store, not a million.

_MAX_DIFFERENT: Final = 1000
_COMMON: Final = ("status", "outcome")


class EqualEvents:
    """Events of the same kind, caller or address, action, resource and reason, which differ in time alone.

    Beyond a thousand different ones, only the kinds of further ones are counted.
    """

    def __init__(self) -> None:
        self._counted: dict[tuple[Any, ...], tuple[AuditEvent, int, datetime]] = {}

    def add(self, event: AuditEvent) -> None:
        """Count ``event``."""
        facts = event.facts
        who = facts.get("caller", {}).get("principal") or facts.get("from")
        key: tuple[Any, ...] = (event.kind, who, facts.get("action"), facts.get("resource"), facts.get("reason"))
        if key not in self._counted and len(self._counted) >= _MAX_DIFFERENT:
            key = (event.kind,)
            event = replace(event, facts={name: facts[name] for name in _COMMON if name in facts})
        first, count, _ = self._counted.get(key, (event, 0, event.at))
        self._counted[key] = (first, count + 1, event.at)

    def take(self) -> list[AuditEvent]:
        """Return an event for all equal ones, with their number, and begin again."""
        counted, self._counted = self._counted, {}
        return [
            replace(event, facts={**event.facts, "count": count, "until": time_text(last)})
            for event, count, last in counted.values()
        ]


# The audit of one server: events go to its file, and those that are in no journal to its store.

_LOGGER: Final = logging.getLogger(__name__)
_EVERY_S: Final = 0.5
_MINUTE_S: Final = 60.0
_MAX_WAITING: Final = 10_000
_CUT_AT_ONCE: Final = 1000
_KEEP_DAYS: Final = 400
_HOUR_MS: Final = 3_600_000
_EVER: Final = 2**62


class AuditRecords:
    """Records the events of one server in ``file``, if there is one, and in ``storage``.

    Each minute with news, the last hash of the journal is written to the file, and the last one of the file to the
    store: whoever rewrites one of them has to rewrite the other as well. ``signed`` signs them. Events in the store
    are removed after ``keep_days``. ``reads`` are the subjects whose successful reads are recorded.
    """

    def __init__(
        self,
        storage: Storage,
        *,
        file: AuditFile | None = None,
        signed: Callable[[Document], Document] = unsigned,
        keep_days: int = _KEEP_DAYS,
        reads: Sequence[ResourcePattern] = (),
    ) -> None:
        self._storage = storage
        self._file = file
        self._signed = signed
        self._keep = timedelta(days=keep_days)
        self.watches: Shown | None = partial(_is_covered, patterns=reads) if reads else None
        """The function that says whether successful reads of a subject are recorded; None if none are."""
        self._cut_at_ms = 0.0
        self._waiting: list[AuditEvent] = []
        self._lost = 0
        self._equal = EqualEvents()
        self._failures = 0
        self._is_failing = False
        self._noted_change = 0
        self._noted_head: LineHead | None = None

    @property
    def has_file(self) -> bool:
        """Whether events are written to a file, too."""
        return self._file is not None

    @property
    def refuses_writes(self) -> bool:
        """Whether events cannot be written, and writes are to be refused until they can."""
        return self._file is not None and self._file.refuses_writes

    @property
    def failures(self) -> int:
        """How often events could not be written, to the file or to the store."""
        return self._failures + (0 if self._file is None else self._file.failures)

    def record(self, event: AuditEvent) -> None:
        """Have ``event`` written; nothing waits for it."""
        if self._file is not None:
            self._file.record(event)
        if event.kind.kept is KeptIn.TABLE:
            self._wait(event)
        elif event.kind.kept is KeptIn.COUNTED:
            self._equal.add(event)

    def _wait(self, *events: AuditEvent) -> None:
        room = max(_MAX_WAITING - len(self._waiting), 0)
        self._waiting += events[:room]
        self._lost += len(events[room:])

    async def run(self) -> None:
        """Write to the store until this is cancelled: events twice a second, the rest each minute."""
        noted_at = time.monotonic()
        while True:
            await asyncio.sleep(_EVERY_S)
            await tried(self.write, "a write of audit events", expected=())
            if time.monotonic() - noted_at >= _MINUTE_S:
                noted_at = time.monotonic()
                await tried(self.write_minute, "a write of audit heads", expected=())

    async def close(self) -> None:
        """Write what waits, and close the file; its last line is the last head in the store."""
        await self.write_minute()
        if self._file is not None:
            await asyncio.to_thread(self._file.close)
            self._note_file(self._file)
            await self.write()

    async def write(self) -> None:
        """Write the waiting events to the store; if that fails, they go on waiting."""
        events, self._waiting = self._waiting, []
        lost, self._lost = self._lost, 0
        gap = [AuditEvent(EventKind.AUDIT_GAP, {"lost": lost})] if lost else []
        if not events and not gap:
            return
        try:
            await self._storage.commit(StoragePlan((), (RecordEvents((*events, *gap)),)), by=NO_REQUEST)
        except Exception as error:
            self._lost += lost
            later, self._waiting = self._waiting, events
            self._wait(*later)
            if not isinstance(error, RegistryError):
                raise
            self._fail(error)
            return
        self._is_failing = False

    async def write_minute(self) -> None:
        """Write what is written each minute: counted events, heads, and the removal of old events."""
        self._wait(*self._equal.take())
        try:
            if self._file is not None:
                self._note_file(self._file)
                await self._note_journal(self._file)
            await self._cut()
        except RegistryError as error:
            self._fail(error)
        await self.write()

    def _fail(self, error: RegistryError) -> None:
        if not self._is_failing:
            _LOGGER.error("the audit cannot be written to the store: %s", error)
        self._is_failing = True
        self._failures += 1

    def _note_file(self, file: AuditFile) -> None:
        """Have the last hash of the file written to the store."""
        head = file.head
        if head is not None and head != self._noted_head:
            self._noted_head = head
            self._wait(AuditEvent(EventKind.AUDIT_HEAD, self._signed({"of": "file", **head._asdict()})))

    async def _note_journal(self, file: AuditFile) -> None:
        """Have the last hash of the journal written to the file."""
        change, chain = await self._storage.journal_head()
        if change != self._noted_change:
            self._noted_change = change
            file.record(AuditEvent(EventKind.AUDIT_HEAD, {"of": "journal", "change": change, "head": chain.hex()}))

    async def _cut(self) -> None:
        """Remove the events that are too old, some at a time; that is an event itself.

        Nothing is read before the oldest one can be too old, or for an hour.
        """
        now_ms = datetime.now(UTC).timestamp() * 1000
        if now_ms < self._cut_at_ms:
            return
        before_ms = now_ms - self._keep.total_seconds() * 1000
        while True:
            oldest = await self._storage.audit_events(EventPlace(0), _EVER, 1)
            if not oldest or oldest[0].ts >= before_ms:
                break
            found = await self._storage.audit_events(EventPlace(0), _EVER, _CUT_AT_ONCE)
            old = [each for each in found if each.ts < before_ms]
            cut = AuditEvent(EventKind.AUDIT_CUT, {"count": len(old), "until": time_text_of(old[-1].ts)})
            await self._storage.commit(
                StoragePlan((), (RecordEvents((cut,)), DropEvents(old[-1].place.number))), by=NO_REQUEST
            )
            if self._file is not None:
                self._file.record(cut)
        begins_ms = oldest[0].ts if oldest else now_ms
        self._cut_at_ms = min(begins_ms + self._keep.total_seconds() * 1000, now_ms + _HOUR_MS)


def _is_covered(subject: QualifiedSubject, patterns: Sequence[ResourcePattern]) -> bool:
    return any(pattern.covers(subject_resource(subject)) for pattern in patterns)


# Which events a request causes: what it has written, and that it was refused.

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


def _refusal(kind: EventKind, facts: Document, status: int) -> AuditEvent:
    outcome = "denied" if kind is EventKind.ACCESS_DENIED else "failed"
    return AuditEvent(kind, {**facts, "status": int(status), "outcome": outcome})


def _facts(scope: Scope, proxies: Callable[[], ListedProxies | None]) -> Document:
    """Return what every event of a request says: who, what, from where."""
    facts: Document = {
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
