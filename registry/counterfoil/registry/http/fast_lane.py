"""Responses from memory, before routing: of requests that are repeated unchanged, where the content has not changed.

The bytes are those of the ordinary route, which caches them (:mod:`~counterfoil.registry.http.replies`). The
ordinary route handles every other form of a request: with a query, with another spelling of the path, or with an
``Accept`` that cannot be satisfied.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.registry.access.rights import CALLER, EVERY_CALLER
from counterfoil.registry.http.answers import check_consumed, negotiate
from counterfoil.registry.http.dialects import CLIENT_VERSION, VARY, is_python, tolerates_new_fields
from counterfoil.registry.http.envelope import CONNECTION, ENVELOPE, REQUEST_ID, ROUTE_HOLDER, fixed_headers
from counterfoil.registry.http.replies import (
    IF_NONE_MATCH,
    LISTED_BY_RIGHTS,
    MAX_KEPT_BODY_BYTES,
    NOT_MODIFIED,
    is_matched,
    request_key,
)
from counterfoil.registry.http.services import WARNING
from counterfoil.schema.caches import cached_if_short
from counterfoil.schema.errors import RegistryError

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from counterfoil.registry.access.rights import Caller
    from counterfoil.registry.http.envelope import PlainEnvelope, WholeAnswers
    from counterfoil.registry.http.replies import CachedReply, Replies
    from counterfoil.registry.http.services import StaleReads


_FIXED_LINES: Final = tuple(
    b"".join(b"%b: %b\r\n" % header for header in fixed_headers(has_access_control=has_access_control))
    + REQUEST_ID
    + b": "
    for has_access_control in (False, True)
)
_VARY_LINE: Final = b"\r\nvary: %b\r\n" % VARY
_POSTS: Final = (b"/subjects/", b"/compatibility/")


class FastLane:
    """Answers a GET, or a POST under ``/subjects`` and ``/compatibility``, if the response is cached.

    Every other request is passed to the application, with the body that was read already.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        replies: Replies,
        stale: StaleReads,
        knows_tolerant: bool = False,
        answers_whole: bool = True,
        checks_rights: bool = False,
    ) -> None:
        self._app = app
        self._replies = replies
        self._stale = stale
        self._knows_tolerant = knows_tolerant
        self._answers_whole = answers_whole
        self._checks_rights = checks_rights
        self._fixed_lines = _FIXED_LINES[checks_rights]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request, or pass it to the application."""
        if scope["type"] == "http" and not scope["query_string"]:
            accept = known = client = b""
            for name, value in scope["headers"]:
                if name == b"accept":
                    accept = accept + b"," + value if accept else value
                elif name == IF_NONE_MATCH:
                    known = known + b"," + value if known else value
                elif name == CLIENT_VERSION:
                    client = value
            media_type = _produced(accept)
            if media_type is not None:
                kept, receive = await self._find(scope, receive, is_python=bool(client) and is_python(client))
                if kept is not None:
                    scope[ROUTE_HOLDER][0] = kept.route
                    if (
                        known
                        or kept.is_stale
                        or not (self._answers_whole and _is_answered_whole(kept, media_type, scope, self._fixed_lines))
                    ):
                        await _send_kept(kept, media_type, known, send)
                    return
        await self._app(scope, receive, send)

    async def _find(self, scope: Scope, receive: Receive, *, is_python: bool) -> tuple[CachedReply | None, Receive]:
        """Return the response if it is cached, and the callable that returns the body that was sent."""
        path = scope.get("raw_path", b"")
        caller: Caller | None = scope.get(CALLER) if self._checks_rights else None
        is_tolerant = self._knows_tolerant and tolerates_new_fields(scope["headers"])
        if scope["method"] == "GET":
            key = request_key(path, is_tolerant=is_tolerant, is_python=is_python)
            if caller is not None and path == LISTED_BY_RIGHTS:
                key += caller.rights.key
            return await self._kept(key, caller), receive
        if scope["method"] != "POST" or not path.startswith(_POSTS) or not _is_small(scope["headers"]):
            return None, receive
        messages = await _received(receive)
        is_whole = messages[-1]["type"] == "http.request"
        kept = None
        if is_whole:
            key = request_key(path, _joined(messages), is_tolerant=is_tolerant, is_python=is_python)
            kept = await self._kept(key, caller)
        return kept, receive if kept is not None else _again(messages, receive)

    async def _kept(self, key: bytes, caller: Caller | None) -> CachedReply | None:
        """Return the response if it is cached, and if the caller has the right that it needs."""
        try:
            found = await self._replies.get(key)
        except RegistryError as error:  # content that is not in memory is read by the ordinary route
            found = self._replies.last_known(key) if self._stale.applies_to(error) else None
        if found is None:
            return None
        if self._checks_rights:
            needs = found.needs
            if caller is None or needs is None or not (needs is EVERY_CALLER or caller.rights.meets(needs)):
                return None
        if found.is_stale:
            self._stale.note()
        return found


def _is_answered_whole(kept: CachedReply, media_type: bytes, scope: Scope, fixed_lines: bytes) -> bool:
    """Return whether the connection has accepted the response in one piece."""
    connection: WholeAnswers | None = scope.get(CONNECTION)
    envelope: PlainEnvelope | None = scope.get(ENVELOPE)
    if connection is None or envelope is None:
        return False
    tag, body = kept.tag, kept.body
    lines = [b"content-type: ", media_type, b"\r\ncontent-length: ", b"%d\r\n" % len(body)]
    if tag:
        lines += [b"etag: ", tag, _VARY_LINE]
    lines += [fixed_lines, envelope.request_id, b"\r\n"]
    if not connection.answer(scope, lines, body):
        return False
    envelope.status = 200
    return True


async def _send_kept(kept: CachedReply, media_type: bytes, known: bytes, send: Send) -> None:
    """Send the response, or status 304 if one of the entity tags in ``known`` matches."""
    tag, status, body = kept.tag, 200, kept.body
    headers = [(b"content-type", media_type), (b"content-length", b"%d" % len(body))]
    if tag:
        of_tag = [(b"etag", tag), (b"vary", VARY)]
        headers += of_tag
        if known and is_matched(tag, known):
            status, body, headers = NOT_MODIFIED, b"", of_tag
    if kept.is_stale:
        headers.append(WARNING)
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


@cached_if_short(256, longest=500)
def _produced(accept: bytes) -> bytes | None:
    try:
        return negotiate(accept.decode("latin-1")).encode()
    except RegistryError:
        return None


def _is_small(headers: list[tuple[bytes, bytes]]) -> bool:
    """Return whether the body has a known, small size, and a media type that is read."""
    length = -1
    for name, value in headers:
        if name == b"content-length" and value.isdigit():
            length = int(value)
        elif name == b"content-encoding" or (name == b"content-type" and not _is_consumed(value)):
            return False
    return 0 <= length <= MAX_KEPT_BODY_BYTES


@cached_if_short(256, longest=500)
def _is_consumed(content_type: bytes) -> bool:
    try:
        check_consumed(content_type.decode("latin-1"))
    except RegistryError:
        return False
    return True


async def _received(receive: Receive) -> list[Message]:
    """Return the messages with the body; the last one has another type if the client has disconnected."""
    messages = [await receive()]
    while messages[-1]["type"] == "http.request" and messages[-1].get("more_body", False):
        messages.append(await receive())
    return messages


def _joined(messages: list[Message]) -> bytes:
    if len(messages) == 1:
        return bytes(messages[0].get("body", b""))
    return b"".join([part.get("body", b"") for part in messages])


def _again(messages: list[Message], receive: Receive) -> Receive:
    """Return a callable that returns ``messages`` once more, and then the messages of ``receive``."""
    waiting = iter(messages)

    async def receive_again() -> Message:
        return next(waiting, None) or await receive()

    return receive_again
