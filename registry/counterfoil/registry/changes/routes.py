"""The routes of the change feed: page by page, and as server-sent events."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Final, Literal

from fastapi import Depends, Header, Path, Query, Request, Response
from pydantic import BaseModel, BeforeValidator, Field
from pydantic.json_schema import SkipJsonSchema
from starlette.routing import Match
from starlette.types import Receive, Scope, Send

from counterfoil.registry.access.gate import OpenStreams, too_many_requests
from counterfoil.registry.access.identity import ListedProxies, no_proxies
from counterfoil.registry.access.resources import AccessOperation
from counterfoil.registry.access.rights import RENEWAL, Caller, Renewal
from counterfoil.registry.changes.as_of import EVER, iso_time
from counterfoil.registry.changes.feed import (
    ChangeFilter,
    ChangePage,
    Feed,
    is_set_within,
    is_visible,
    read_page,
    shows_author,
)
from counterfoil.registry.http.access import FOUND, CallerOfRequest, CasesOfRequest, on, the_scope
from counterfoil.registry.http.answers import accepts
from counterfoil.registry.http.envelope import HEAD_ONLY, ROUTE_HOLDER
from counterfoil.registry.http.request import decode_segment, expected
from counterfoil.registry.http.route import DeclaredRoute, ValidatedRoute
from counterfoil.registry.judges.judging import Pauses
from counterfoil.registry.store.changes import JournalChange, JournalChangeKind
from counterfoil.registry.store.protocol import Storage
from counterfoil.schema import errors
from counterfoil.schema.caches import RecentValues
from counterfoil.schema.contexts import QualifiedSubject, parse_prefix, parse_subject
from counterfoil.schema.errors import BadRequest, RegistryError
from counterfoil.schema.rest.object_forms import Document

# The bodies of the change feed.


class ChangeBody(BaseModel):
    """One change; a field that does not belong to its kind is absent."""

    seq: int = Field(description="Counts all changes from 1, without a gap, in the order in which they were made.")
    ts: int = Field(description="Epoch milliseconds; never less than that of the change before.")
    time: str = Field(description="The same time as ISO 8601.")
    kind: str = Field(description="Such as version-registered, version-deleted, settings-changed.")
    subject: str = Field(description="The subject, or the level of config and mode; empty for a context.")
    context: str
    version: int | None = None
    id: int | None = None
    guid: str | None = None
    by: str | None = Field(None, description="The principal that requested it, for callers who may read the subject.")
    document: Document | None = Field(
        None, description="The whole config and mode that are stored for the subject after the change."
    )


class ChangesBody(BaseModel):
    """A page of changes."""

    changes: list[ChangeBody]
    next: int = Field(description="The value of `after` in the request for the next page.")
    more: bool = Field(description="Whether there is a next page already.")


# The parameters of the change feed, for its pages and its events.

LATEST: Final = "latest"
DEFAULT_LIMIT: Final = 100

_MAX_LIMIT: Final = 1000
_MAX_SEQ: Final = 10**18 - 1
_POSITION: Final = f"the number of a change, or {LATEST}"
_KINDS: Final = ", ".join(kind.value for kind in JournalChangeKind)


def _digits(text: object) -> object:
    """Return ``text``; refuse other spellings of a number that pydantic reads: a sign, a point, blanks, underscores."""
    if isinstance(text, str) and not (text.isascii() and text.isdigit()):
        raise ValueError("expected digits")
    return text


def _words(texts: Sequence[str]) -> list[str]:
    return [word for text in texts for word in text.split(",") if word]


Seq = Annotated[int, Field(ge=0, le=_MAX_SEQ), BeforeValidator(_digits)] | Literal["latest"]
After = Annotated[
    Seq,
    Query(description=f"The number of the last change that the caller has read, or `{LATEST}`."),
    expected(_POSITION, empty=0),
]
LastEvent = Annotated[
    Seq | SkipJsonSchema[None],
    Header(alias="Last-Event-ID", description="As `after`, for a client that reconnects."),
    expected(_POSITION, empty=None),
]
Limit = Annotated[
    Annotated[int, Field(ge=1, le=_MAX_LIMIT), BeforeValidator(_digits)],
    Query(description="The largest number of changes."),
    expected(f"a number from 1 to {_MAX_LIMIT}", empty=DEFAULT_LIMIT),
]
Kinds = Annotated[
    tuple[Annotated[JournalChangeKind, expected(f"one of {_KINDS}")], ...],
    Query(description="Return only changes of these kinds, separated by commas."),
    BeforeValidator(_words),
]
Prefix = Annotated[
    str | SkipJsonSchema[None],
    Query(alias="subjectPrefix", description="The beginning of the name; `:*:` is all contexts."),
]


async def _wanted(kind: Kinds = (), prefix: Prefix = None) -> ChangeFilter:
    return ChangeFilter(frozenset(kind or JournalChangeKind), None if prefix is None else parse_prefix(prefix))


async def _scope(subject: Annotated[str, Path()]) -> QualifiedSubject:
    return parse_subject(decode_segment(subject))


Wanted = Annotated[ChangeFilter, Depends(_wanted)]
"""The changes that the query selects."""

ScopeSubject = Annotated[QualifiedSubject, Depends(_scope)]
"""The subject or context in the path, without resolving an alias."""


async def position(storage: Storage, after: Seq) -> int:
    """Return the number after which to continue; raise ``BadRequest`` for one that has not been assigned.

    A client with such a number has read another store. A feed that waited for later changes would leave out all changes
    until then.
    """
    if after == LATEST:
        return await storage.last_change()
    if after:
        last = await storage.last_change()
        if after > last:
            raise BadRequest(f"after is {after}, but the last change here is {last}; expected a number up to that")
    return after


# The change feed, page by page.


def change_body(change: JournalChange, *, has_author: bool) -> ChangeBody:
    """Return one change as the feed sends it; a field that does not belong to its kind is null, and is not sent.

    With ``has_author`` it names who requested it.
    """
    return ChangeBody(
        seq=change.seq,
        ts=change.ts,
        time=iso_time(change.ts),
        kind=change.kind.value,
        subject=str(change.subject),
        context=change.subject.context,
        version=change.version,
        id=change.schema_id,
        guid=None if change.guid is None else str(change.guid),
        by=change.author if has_author else None,
        document=change.shown,
    )


async def list_changes(
    cases: CasesOfRequest, caller: CallerOfRequest, wanted: Wanted, after: After = 0, limit: Limit = DEFAULT_LIMIT
) -> ChangesBody:
    """List changes in their order; with ``Accept: text/event-stream`` they are sent as events when they happen."""
    storage = cases.storage
    page = await read_page(storage, await position(storage, after), limit, wanted=caller.visible_changes(wanted))
    return await _body(page, caller)


async def list_changes_of_subject(
    cases: CasesOfRequest,
    caller: CallerOfRequest,
    subject: ScopeSubject,
    wanted: Wanted,
    *,
    after: After = 0,
    limit: Limit = DEFAULT_LIMIT,
) -> ChangesBody:
    """List the changes of one subject, or of the settings of one context."""
    seq = await position(cases.storage, after)
    wanted = caller.visible_changes(wanted)
    changes = await cases.storage.changes_of(subject, EVER)
    found = [change for change in changes if change.seq > seq and wanted.wants(change)]
    page = tuple(found[:limit])
    return await _body(ChangePage(page, page[-1].seq if page else seq, has_more=len(found) > limit), caller)


async def _body(page: ChangePage, caller: CallerOfRequest) -> ChangesBody:
    changes: list[ChangeBody] = []
    pauses = Pauses()
    for each in page.changes:
        await pauses.pause_if_due()
        changes.append(change_body(each, has_author=shows_author(each, caller.authenticated)))
    return ChangesBody(changes=changes, next=page.next, more=page.has_more)


# The change feed as server-sent events.
#
# Source: the HTML standard, "Server-sent events".

PATH: Final = "/changes"
_MEASURED_AS: Final = f"{PATH} (events)"  # measured apart: they last for hours, unlike the pages
EVENT_STREAM: Final = "text/event-stream"
HEARTBEAT_S: Final = 15.0

_RETRY_MS: Final = 1000
_RETRY_AFTER_S: Final = 5
_AT_ONCE: Final = 64
_LAST_CHANGES_S: Final = 1.0
_FRAME_BYTES: Final = 1024 * 1024
_HEADERS: Final = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"x-accel-buffering", b"no"),  # otherwise nginx buffers the events
]


class Frames:
    """Changes as events; each is encoded once for all clients."""

    def __init__(self) -> None:
        self._known: RecentValues[tuple[int, bool], bytes] = RecentValues(_FRAME_BYTES)

    def of(self, change: JournalChange, *, has_author: bool) -> bytes:
        """Return the event: its id is the number, its name the kind, its data the document."""
        key = change.seq, has_author
        found = self._known.get(key)
        if found is None:
            data = change_body(change, has_author=has_author).model_dump_json(exclude_none=True)
            found = f"id: {change.seq}\nevent: {change.kind.value}\ndata: {data}\n\n".encode()
            self._known.put(key, found, weight=len(found))
        return found


class EventSource:
    """The event streams of one application: ``feed`` has the changes of ``storage``.

    ``streams`` counts those that are open. ``demands_credentials``: the server does now, so that a stream which began
    without them ends. ``proxies`` returns those in front of the server.
    """

    def __init__(self, feed: Feed, storage: Storage, *, heartbeat_s: float, most_of_caller: int) -> None:
        self.streams = OpenStreams(most_of_caller)
        self.demands_credentials = False
        self.proxies: Callable[[], ListedProxies | None] = no_proxies
        self._feed = feed
        self._storage = storage
        self._heartbeat_s = heartbeat_s
        self._frames = Frames()

    async def stream(self, after: Seq, wanted: ChangeFilter, renewal: Renewal | None) -> EventStream:
        """Return the response that sends the ``wanted`` changes after ``after``."""
        seq = await position(self._storage, after)
        return EventStream(
            self._feed,
            self._frames,
            after=seq,
            wanted=wanted,
            is_open=lambda: not self.demands_credentials,
            renewal=renewal,
            heartbeat_s=self._heartbeat_s,
        )


async def _event_source(request: Request) -> EventSource:
    source: EventSource = request.app.state.events
    return source


async def stream_changes(
    source: Annotated[EventSource, Depends(_event_source)],
    request: Request,
    wanted: Wanted,
    after: After = 0,
    last_event: LastEvent = None,
) -> Response:
    """Send changes as events when they happen; a client that reconnects continues after the last one it received."""
    renewal: Renewal | None = request.scope.get(RENEWAL)
    return await source.stream(after if last_event is None else last_event, wanted, renewal)


class EventsRoute(DeclaredRoute):
    """``GET /changes`` for the requests that accept events; another route answers the others with pages."""

    def __init__(self) -> None:
        super().__init__("GET", PATH, stream_changes, access=FOUND, response_model=None, include_in_schema=False)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Return whether this route answers the request, and its scope."""
        match, child_scope = super().matches(scope)
        return (match, child_scope) if match is Match.FULL and _accepts_events(scope) else (Match.NONE, {})

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request."""
        scope[ROUTE_HOLDER][0] = _MEASURED_AS
        events: EventSource = scope["app"].state.events
        with events.streams.another(scope, events.proxies()) as is_permitted:
            await (super().handle if is_permitted else too_many_requests(_RETRY_AFTER_S))(scope, receive, send)


def _accepts_events(scope: Scope) -> bool:
    accept = b",".join([value for name, value in scope["headers"] if name == b"accept"])
    return accepts(accept.decode("latin-1"), EVENT_STREAM)


class EventStream(Response):
    """The response that sends the ``wanted`` changes after ``after``, until the client disconnects or the feed ends.

    It reads further changes when the client has received what was sent, so that a slow client costs no memory. A
    heartbeat is a comment, and an id by itself: a client that connects again continues from there, even if it wanted
    none of the changes before. ``renewal`` is called before anything is sent: a caller with other rights gets other
    changes, and the stream of one that is let in no longer ends. While ``is_open`` nobody needs credentials.
    """

    def __init__(
        self,
        feed: Feed,
        frames: Frames,
        *,
        after: int,
        wanted: ChangeFilter,
        is_open: Callable[[], bool],
        renewal: Renewal | None,
        heartbeat_s: float,
    ) -> None:
        super().__init__()
        self._feed = feed
        self._frames = frames
        self._seq = after
        self._wanted = wanted
        self._is_open = is_open
        self._renewal = renewal
        self._caller: Caller | None = None  # None with a renewal: nothing was sent yet
        self._heartbeat_s = heartbeat_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send until the client or the feed ends it."""
        await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
        if scope.get(HEAD_ONLY):
            await send({"type": "http.response.body", "body": b""})
            return
        sending = asyncio.create_task(self._send_changes(send))
        ends = [sending, asyncio.create_task(_gone(receive)), asyncio.create_task(self._feed.closed.wait())]
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            if self._feed.closed.is_set():
                await asyncio.wait([sending], timeout=_LAST_CHANGES_S)
        finally:
            for task in ends:
                task.cancel()
            await asyncio.wait(ends)
        if not sending.cancelled():
            sending.result()

    async def _send_changes(self, send: Send) -> None:
        loop = asyncio.get_running_loop()
        with self._feed.listening():
            await _send(send, b"retry: %d\n%b" % (_RETRY_MS, self._heartbeat()))
            sent_at = loop.time()
            while not self._feed.closed.is_set():
                news = self._feed.news
                found, is_behind = await self._next()
                silence_s = loop.time() - sent_at
                if not found and not is_behind and silence_s < self._heartbeat_s:
                    await is_set_within(news, self._heartbeat_s - silence_s)
                elif found or silence_s >= self._heartbeat_s:
                    if not found and not await self._is_let_in():
                        break
                    await _send(send, found or self._heartbeat())
                    sent_at = loop.time()
                if is_behind:
                    await asyncio.sleep(0)
        await send({"type": "http.response.body", "body": b""})

    async def _next(self) -> tuple[bytes, bool]:
        """Return the next events, and whether there may be more immediately."""
        try:
            changes = await self._feed.after(self._seq, _AT_ONCE)
        except RegistryError:  # the store cannot be reached: the client waits for it
            return b"", False
        if changes and not await self._is_let_in():
            return b"", False
        if changes:
            self._seq = changes[-1].seq
        frames = [
            self._frames.of(change, has_author=shows_author(change, self._caller))
            for change in changes
            if self._wanted.wants(change)
        ]
        return b"".join(frames), bool(changes)

    async def _is_let_in(self) -> bool:
        """Return whether the caller still is; what it may know is determined again."""
        if self._is_open():
            return True
        caller = None if self._renewal is None else await self._renewal()
        if caller is None:
            self._wanted = replace(self._wanted, kinds=frozenset())
            return False
        self._caller = caller
        self._wanted = replace(self._wanted, shows=partial(is_visible, caller=caller))
        return True

    def _heartbeat(self) -> bytes:
        return b": at change %d\nid: %d\n\n" % (self._seq, self._seq)


async def _send(send: Send, body: bytes) -> None:
    await send({"type": "http.response.body", "body": body, "more_body": True})


async def _gone(receive: Receive) -> None:
    """Return when the client has disconnected."""
    while (await receive())["type"] != "http.disconnect":
        continue


# The routes of the change feed.

_TAG: Final = "changes"

CHANGE_ROUTES: Final[tuple[DeclaredRoute, ...]] = (
    EventsRoute(),
    ValidatedRoute("GET", PATH, list_changes, access=FOUND, tag=_TAG, result=ChangesBody, errors=()),
    ValidatedRoute(
        "GET",
        "/subjects/{subject}/changes",
        list_changes_of_subject,
        access=on(AccessOperation.DESCRIBE, the_scope) & FOUND,
        tag=_TAG,
        result=ChangesBody,
        errors=(errors.SubjectNotFound,),
    ),
)
