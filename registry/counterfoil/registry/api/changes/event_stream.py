"""The change feed as server-sent events.

Source: the HTML standard, "Server-sent events".
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from fastapi import Request, Response
from starlette.routing import Match

from counterfoil.registry.api.changes.pages import change_body
from counterfoil.registry.api.changes.parameters import After, LastEvent, Wanted, position
from counterfoil.registry.api.changes.visible import is_visible, shows_author
from counterfoil.registry.api.http.media_types import accepts
from counterfoil.registry.api.http.middleware import HEAD_ONLY, ROUTE_HOLDER
from counterfoil.registry.api.limits import OpenStreams, too_many_requests
from counterfoil.registry.api.routes.access import FOUND
from counterfoil.registry.api.routes.route import DeclaredRoute
from counterfoil.registry.api.routes.services import ServicesOfApp
from counterfoil.registry.domain.access.caller import RENEWAL
from counterfoil.registry.domain.access.identity import no_proxies
from counterfoil.registry.service.feed import is_set_within
from counterfoil.schema.errors import RegistryError
from counterfoil.schema.recent_values import RecentValues

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import Receive, Scope, Send

    from counterfoil.registry.api.changes.parameters import Seq
    from counterfoil.registry.domain.access.caller import Caller, Renewal
    from counterfoil.registry.domain.access.identity import ListedProxies
    from counterfoil.registry.domain.changes import Change
    from counterfoil.registry.service.feed import ChangeFilter, Feed
    from counterfoil.registry.service.storage import Storage

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

    def of(self, change: Change, *, has_author: bool) -> bytes:
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


async def stream_changes(
    services: ServicesOfApp, request: Request, wanted: Wanted, after: After = 0, last_event: LastEvent = None
) -> Response:
    """Send changes as events when they happen; a client that reconnects continues after the last one it received."""
    renewal: Renewal | None = request.scope.get(RENEWAL)
    return await services.events.stream(after if last_event is None else last_event, wanted, renewal)


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
        events: EventSource = scope["app"].state.services.events
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
