"""Responses cached as bytes for repeated requests, and entity tags (RFC 9110, 8.8.3 and 13.1.2)."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from hashlib import blake2b, sha256
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from starlette.responses import Response

from counterfoil.registry.http.dialects import VARY
from counterfoil.registry.store.changes import JournalChangeKind
from counterfoil.schema.caches import RecentValues

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from counterfoil.registry.access.rights import Needs
    from counterfoil.registry.http.request import ApiRequest
    from counterfoil.registry.store.changes import JournalChange, WrittenChanges
    from counterfoil.registry.store.protocol import Storage
    from counterfoil.schema.contexts import QualifiedSubject


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
    """A response, its route, what it depends on, and its entity tag if it has one.

    ``may_be_stale``: it is also sent while the store cannot be reached. ``is_stale``: it is being sent so now.
    ``needs`` is the right of those who get it; None where no authentication is set up.
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
        """Cache a response, unless what it depends on has changed while it was made."""
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
