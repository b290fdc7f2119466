"""Responses from memory: cached bytes before routing, and reads while the store cannot be reached; entity tags."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Awaitable, Callable
from hashlib import blake2b, sha256
from typing import Final, NamedTuple, TypeAlias, TypeVar

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from counterfoil.registry.access.rights import CALLER, EVERY_CALLER, Caller, Needs
from counterfoil.registry.http.answers import (
    CLIENT_VERSION,
    VARY,
    check_consumed,
    is_python,
    negotiate,
    tolerates_new_fields,
)
from counterfoil.registry.http.envelope import (
    CONNECTION,
    ENVELOPE,
    REQUEST_ID,
    ROUTE_HOLDER,
    PlainEnvelope,
    WholeAnswers,
    fixed_headers,
)
from counterfoil.registry.http.request import ApiRequest
from counterfoil.registry.store.changes import JournalChange, JournalChangeKind, WrittenChanges
from counterfoil.registry.store.protocol import Storage, StoreSlow
from counterfoil.registry.use_cases import UseCases, use_cases
from counterfoil.schema.caches import RecentValues, cached_if_short
from counterfoil.schema.contexts import QualifiedSubject
from counterfoil.schema.errors import Forbidden, RegistryError, StoreTimeout, StoreUnavailable

# Responses cached as bytes, for requests that are repeated.
#
# A response is cached together with what it depends on (:class:`Basis`), and is sent while that is unchanged. The
# storage reports what a write changes, also for the writes of other servers on the same store.

MAX_KEPT_BODY_BYTES: Final = 64 * 1024
"""The largest request body whose response is cached."""

LISTED_BY_RIGHTS: Final = b"/subjects"
"""The path of the list that is cached for each class of callers with equal rules."""

_OVERHEAD_BYTES: Final = 400
_MAX_STAMPS: Final = 100_000


class EveryWrite:
    """The dependency of a response that any write may change."""


class OfId(int):
    """A schema id in all contexts: the response about it names a version that holds it."""


Ground: TypeAlias = "str | OfId | type[EveryWrite]"
"""The dependency of a response beside all config and modes: subjects of one name in all contexts, an id, or all."""

Lifetime: TypeAlias = "Callable[[ApiRequest], Awaitable[Ground]]"
"""Returns what the response to a request depends on. A route declares it, if its responses are cached."""


async def until_any_write(_: ApiRequest) -> Ground:
    """Cache a response until something is written."""
    return EveryWrite


async def until_the_subject_changes(request: ApiRequest) -> Ground:
    """Cache a response until a subject of the name in the path, or of that whose alias it is, changes in a context."""
    return (await request.subject()).name


async def until_the_id_changes(request: ApiRequest) -> Ground:
    """Cache a response until the versions with the id in the path change."""
    return OfId(request.integer_segment("id"))


class Basis(NamedTuple):
    """The dependency of a response, with its state before the response was made."""

    ground: Ground
    stamp: int
    epoch: int


class CachedReply(NamedTuple):
    """A response, its route, its dependencies, and its entity tag if it has one.

    ``may_be_stale``: it is also sent while the store cannot be reached. ``is_stale``: it is being sent so now.
    ``needs`` is the right of callers who get it; None where no authentication is set up.
    """

    body: bytes
    route: str
    basis: Basis
    tag: bytes = b""
    may_be_stale: bool = False
    is_stale: bool = False
    needs: Needs | None = None


class Replies:
    """The cached responses, by request.

    ``memory_bytes`` limits their size; ``catch_up`` is by default the storage's. A change of a version invalidates what
    depends on the name of its subject, or on its id. Any other write invalidates everything, except that of a record on
    which nothing here depends.
    """

    def __init__(
        self, storage: Storage, *, memory_bytes: int, catch_up: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        self._storage = storage
        self._catch_up = catch_up or storage.catch_up
        self._epoch = 0
        self._stamps: dict[Ground, int] = {}
        self._kept: RecentValues[bytes, CachedReply] = RecentValues(memory_bytes)
        self._memory_bytes = memory_bytes
        storage.observe(self._note)

    @property
    def count(self) -> int:
        """The number of cached responses."""
        return len(self._kept)

    @property
    def size_bytes(self) -> int:
        """The memory that the cached responses take, in bytes."""
        return self._kept.weight

    @property
    def epoch(self) -> int:
        """A number to make a basis with: everything that is read from now on is at least as new."""
        return self._epoch

    def basis(self, ground: Ground, epoch: int) -> Basis:
        """Return the present state of ``ground``, for a response that is made from now on."""
        return Basis(ground, self._stamps.get(ground, 0), epoch)

    async def get(self, key: bytes) -> CachedReply | None:
        """Return the response to a request if it is cached and still valid; raises ``StoreUnavailable``."""
        kept = self._kept.get(key)
        if kept is None:
            return None
        if not (isinstance(kept.basis.ground, OfId) and self._storage.has_current_ids):
            await self._catch_up()
            kept = self._kept.get(key)
        if kept is None or self._stands(kept.basis):
            return kept
        self._kept.drop(key)
        return None

    def last_known(self, key: bytes) -> CachedReply | None:
        """Return the response as of the last contact with the store; None if it is not cached or may not be stale."""
        kept = self._kept.get(key)
        if kept is None or not kept.may_be_stale or not self._stands(kept.basis):
            return None
        return kept._replace(is_stale=True)

    def put(self, key: bytes, kept: CachedReply) -> None:
        """Cache a response, unless a dependency has changed while it was made."""
        if self._stands(kept.basis):
            body = bytes(memoryview(kept.body))  # the JSON library's bytes take kilobytes more than their length
            self._kept.put(key, kept._replace(body=body), weight=len(key) + len(body) + _OVERHEAD_BYTES)

    def _stands(self, basis: Basis) -> bool:
        return basis.epoch == self._epoch and basis.stamp == self._stamps.get(basis.ground, 0)

    def _note(self, written: WrittenChanges | None, /) -> None:
        if written is None or written.has_new_terms:
            self._forget()
            return
        for change in written.changes:
            self._note_change(change)

    def _note_change(self, change: JournalChange) -> None:
        if change.schema_id is not None:
            self._change_version(change.subject, change.schema_id)
        elif change.kind is not JournalChangeKind.RECORD:
            self._forget()

    def _change_version(self, subject: QualifiedSubject, schema_id: int) -> None:
        self._change(subject.name)
        self._change(EveryWrite)
        self._change(OfId(schema_id))
        if len(self._stamps) > _MAX_STAMPS:
            self._forget()

    def _change(self, ground: Ground) -> None:
        self._stamps[ground] = self._stamps.get(ground, 0) + 1

    def _forget(self) -> None:
        self._epoch += 1
        self._stamps.clear()
        self._kept = RecentValues(self._memory_bytes)


def request_key(
    raw_path: bytes, body: bytes | None = None, *, is_tolerant: bool = False, is_python: bool = False
) -> bytes:
    """Return the key of a request without a query: the path as it was sent, and the body's digest if one is sent.

    ``is_tolerant`` is for servers that respond differently to clients that tolerate new fields, ``is_python`` for
    requests of Confluent's Python client, which get other responses in places.
    """
    path = b"%b\1" % raw_path if is_tolerant else raw_path
    if is_python:
        path += b"\2"
    return path if body is None else b"%b\0%b" % (path, sha256(body).digest())


# Entity tags, and conditional requests (RFC 9110, 8.8.3 and 13.1.2).

_DIGEST_BYTES: Final = 12

IF_NONE_MATCH: Final = b"if-none-match"
NOT_MODIFIED: Final = 304


def entity_tag(body: bytes) -> bytes:
    """Return the entity tag of a response with this body.

    It is a weak one, since the response is the same with and without compression.
    """
    return b'W/"%b"' % urlsafe_b64encode(blake2b(body, digest_size=_DIGEST_BYTES).digest())


def is_matched(tag: bytes, if_none_match: bytes) -> bool:
    """Return whether ``If-None-Match`` includes this entity tag.

    >>> is_matched(b'W/"b"', b'"a", "b"'), is_matched(b'W/"b"', b'"c"'), is_matched(b'W/"b"', b"*")
    (True, False, True)
    """
    opaque = tag.removeprefix(b"W/")
    wanted = [each.strip().removeprefix(b"W/") for each in if_none_match.split(b",")]
    return opaque in wanted or wanted == [b"*"]


def tagged(response: Response, tag: bytes, headers: list[tuple[bytes, bytes]]) -> Response:
    """Return ``response`` with its entity tag, or status 304 if the request's ``headers`` include the tag."""
    known = b",".join([value for name, value in headers if name == IF_NONE_MATCH])
    if known and is_matched(tag, known):
        response = Response(status_code=NOT_MODIFIED)
    response.headers["etag"] = tag.decode()
    response.headers["vary"] = VARY.decode()
    return response


# Reads while the store cannot be reached: cached content is sent, marked as possibly stale.
#
# Read-after-write holds while the store responds. When it does not, known ids and versions are sent as they were last
# read, for a limited time. Nothing is refused because of the cache alone: content that is not cached may have been
# written since.

WARNING: Final = (b"warning", b'110 - "Response is Stale"')
"""The header of a response from memory (RFC 7234, section 5.5.1)."""

_T = TypeVar("_T")


class StaleReads:
    """Whether reads are answered from memory, and their responses.

    ``limit_s`` is how long they are, counted from when the store was found lost; with 0 they never are. ``count`` is
    called for each such response.
    """

    def __init__(self, cases: UseCases, *, limit_s: float, count: Callable[[], None]) -> None:
        self._storage = cases.storage
        self._limit_s = limit_s
        self._count = count
        known = cases.storage.last_known() if limit_s else None
        self._cases = None if known is None else use_cases(known, reader=cases.reader.over(known), associations=False)
        self.catch_up: Callable[[], Awaitable[None]] = cases.storage.catch_up if known is None else self._caught_up
        """The storage's function for reads: raises at once while they are answered from memory, soon with a slow store.
        """

    @property
    def reason(self) -> RegistryError | None:
        """The reason why reads are answered from memory; None while they are not."""
        contact = self._storage.contact
        if self._cases is None or (contact.lost_for_s or 0.0) >= self._limit_s:
            return None
        return contact.error

    @property
    def left_s(self) -> float:
        """The seconds for which reads will still be answered from memory."""
        return self._limit_s - (self._storage.contact.lost_for_s or 0.0)

    async def _caught_up(self) -> None:
        """Raise the reason of the loss, or ``StoreSlow``, if reads are better answered from memory."""
        if self._storage.contact.error is not None:
            reason = self.reason
            if reason is not None:
                raise type(reason)(reason.message)
        await self._storage.catch_up_soon()

    async def value(self, operation: Callable[[UseCases], Awaitable[_T]], *, failure: RegistryError) -> _T | None:
        """Return the result of ``operation`` over the memory, after ``failure``; None if it is not there."""
        if self._cases is None or not (self.applies_to(failure) or await self._is_away()):
            return None
        try:
            value = await operation(self._cases)
        except Forbidden:
            raise
        except RegistryError:
            return None
        self._count()
        return value

    def applies_to(self, failure: RegistryError) -> bool:
        """Return whether reads are answered from memory after ``failure``: the store cannot be reached, or is slow."""
        return isinstance(failure, StoreSlow) or self.reason is not None

    async def _is_away(self) -> bool:
        """Return whether the store does not respond at all, rather than one statement having failed."""
        try:
            await self.catch_up()
        except (StoreUnavailable, StoreTimeout) as error:
            return self.applies_to(error)
        return False

    def note(self) -> None:
        """Count a response that another part has sent from memory."""
        self._count()


# Responses from memory, before routing: of requests that are repeated unchanged, where the content has not changed.

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
