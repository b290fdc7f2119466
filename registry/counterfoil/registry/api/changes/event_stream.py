"""The change feed as server-sent events.

Source: the HTML standard, "Server-sent events".
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs

import orjson
from starlette.requests import Request

from counterfoil.registry.api.changes.pages import change_document, position, wanted_changes
from counterfoil.registry.api.http.answers import error_answer
from counterfoil.registry.api.http.media_types import accepts
from counterfoil.registry.api.http.middleware import HEAD_ONLY, ROUTE_HOLDER
from counterfoil.registry.service.feed import is_set_within
from counterfoil.registry.service.recent_values import RecentValues
from counterfoil.schema.errors import RegistryError

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from counterfoil.registry.domain.changes import Change
    from counterfoil.registry.service.feed import ChangeFilter, Feed
    from counterfoil.registry.service.storage import Storage

PATH: Final = "/changes"
_MEASURED_AS: Final = f"{PATH} (events)"  # hours long, unlike the pages
EVENT_STREAM: Final = "text/event-stream"
HEARTBEAT_S: Final = 15.0

_RETRY_MS: Final = 1000
_AT_ONCE: Final = 64
_FAREWELL_S: Final = 1.0
_FRAME_BYTES: Final = 1024 * 1024
_HEADERS: Final = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"x-accel-buffering", b"no"),  # nginx would gather events otherwise
]


class Frames:
    """Changes as events, each put into bytes once for all who listen."""

    def __init__(self) -> None:
        self._known: RecentValues[int, bytes] = RecentValues(_FRAME_BYTES)

    def of(self, change: Change) -> bytes:
        """The event: its id is the number, its name the kind, its data the document."""
        found = self._known.get(change.seq)
        if found is None:
            data = orjson.dumps(change_document(change))
            found = b"id: %d\nevent: %b\ndata: %b\n\n" % (change.seq, change.kind.value.encode(), data)
            self._known.put(change.seq, found, weight=len(found))
        return found


class EventStreams:
    """Answers ``GET /changes`` with events where the caller asks for them; everything else is handed on."""

    def __init__(self, app: ASGIApp, feed: Feed, storage: Storage, *, heartbeat_s: float) -> None:
        self._app = app
        self._feed = feed
        self._storage = storage
        self._heartbeat_s = heartbeat_s
        self._frames = Frames()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or hand on."""
        if scope["type"] != "http" or scope["path"] != PATH or not _asks_for_events(scope):
            await self._app(scope, receive, send)
            return
        scope[ROUTE_HOLDER][0] = _MEASURED_AS
        try:
            answer: ASGIApp = await self._stream(Request(scope))
        except RegistryError as error:
            answer = error_answer(error)
        await answer(scope, receive, send)

    async def _stream(self, request: Request) -> EventStream:
        """The events that the request asks for; what comes again goes on where it was, whatever else it asks for."""
        query = parse_qs(request.scope["query_string"].decode("latin-1"), keep_blank_values=True, errors="replace")
        begin = request.headers.get("last-event-id") or next(iter(query.get("after", ())), "")
        wanted = wanted_changes(lambda name: query.get(name, ()))
        after = await position(self._storage, begin)
        return EventStream(self._feed, self._frames, after=after, wanted=wanted, heartbeat_s=self._heartbeat_s)


def _asks_for_events(scope: Scope) -> bool:
    accept = b",".join([value for name, value in scope["headers"] if name == b"accept"])
    return scope["method"] == "GET" and accepts(accept.decode("latin-1"), EVENT_STREAM)


class EventStream:
    """Tells the changes after ``after`` that are ``wanted``, until the caller goes or the feed is closed.

    It reads on when the caller has taken what was sent, so that a slow one costs no memory. A heartbeat is a comment,
    and an id by itself: a caller that comes again goes on from there, though it wanted nothing of what came before.
    """

    def __init__(self, feed: Feed, frames: Frames, *, after: int, wanted: ChangeFilter, heartbeat_s: float) -> None:
        self._feed = feed
        self._frames = frames
        self._seq = after
        self._wanted = wanted
        self._heartbeat_s = heartbeat_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send, until one of the two sides ends it."""
        await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
        if scope.get(HEAD_ONLY):
            await send({"type": "http.response.body", "body": b""})
            return
        telling = asyncio.create_task(self._tell(send))
        ends = [telling, asyncio.create_task(_gone(receive)), asyncio.create_task(self._feed.closed.wait())]
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            if self._feed.closed.is_set():
                await asyncio.wait([telling], timeout=_FAREWELL_S)
        finally:
            for task in ends:
                task.cancel()
            await asyncio.wait(ends)
        if not telling.cancelled():
            telling.result()

    async def _tell(self, send: Send) -> None:
        loop = asyncio.get_running_loop()
        with self._feed.listening():
            await _send(send, b"retry: %d\n%b" % (_RETRY_MS, self._heartbeat()))
            told_at = loop.time()
            while not self._feed.closed.is_set():
                news = self._feed.news
                found, is_behind = await self._next()
                silence_s = loop.time() - told_at
                if not found and not is_behind and silence_s < self._heartbeat_s:
                    await is_set_within(news, self._heartbeat_s - silence_s)
                elif found or silence_s >= self._heartbeat_s:
                    await _send(send, found or self._heartbeat())
                    told_at = loop.time()
                if is_behind:
                    await asyncio.sleep(0)
        await send({"type": "http.response.body", "body": b""})

    async def _next(self) -> tuple[bytes, bool]:
        """The next events, and whether there may be more at once."""
        try:
            changes = await self._feed.after(self._seq, _AT_ONCE)
        except RegistryError:  # the store is away: the caller waits for it
            return b"", False
        if changes:
            self._seq = changes[-1].seq
        return b"".join(self._frames.of(change) for change in changes if self._wanted.wants(change)), bool(changes)

    def _heartbeat(self) -> bytes:
        return b": at change %d\nid: %d\n\n" % (self._seq, self._seq)


async def _send(send: Send, body: bytes) -> None:
    await send({"type": "http.response.body", "body": body, "more_body": True})


async def _gone(receive: Receive) -> None:
    """Return when the caller has gone."""
    while (await receive())["type"] != "http.disconnect":
        continue
