"""Answers kept as bytes, for the requests that are made again and again.

An answer is kept together with what it rests on (:class:`Basis`), and is given again while that stands. What a write
changes is told by the storage, for the writes of other servers on the same store as well.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from counterfoil.registry.domain.changes import ChangeKind
from counterfoil.registry.service.recent_values import RecentValues
from counterfoil.registry.service.storage import Append, Elsewhere, PutRecords

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from counterfoil.registry.domain.changes import Change
    from counterfoil.registry.service.storage import Appended, Plan, Storage
    from counterfoil.schema.contexts import QualifiedSubject

MAX_KEPT_BODY_BYTES: Final = 64 * 1024
"""The largest request body for whose answer there is a place."""

_OVERHEAD_BYTES: Final = 400
_MAX_STAMPS: Final = 100_000


class EveryWrite:
    """What an answer rests on when any write at all may change it."""


class OfId(int):
    """A schema id, in whatever context: its answer names a version that holds it."""


Ground: TypeAlias = "str | OfId | type[EveryWrite]"
"""What an answer rests on, beside all config and modes: the subjects of one name in whatever context, an id, or all."""


class Basis(NamedTuple):
    """What an answer rests on, as it was before the answer was made."""

    ground: Ground
    stamp: int
    epoch: int


class Kept(NamedTuple):
    """An answer, the route that gave it, what it rests on, and its entity tag where it has one.

    ``may_be_stale``: it is given while the store is away, too. ``is_stale``: it is given so now.
    """

    body: bytes
    route: str
    basis: Basis
    tag: bytes = b""
    may_be_stale: bool = False
    is_stale: bool = False


class Replies:
    """The answers at hand, by request. ``memory_bytes`` bounds what is kept; ``catch_up`` is by default the storage's.

    A registration changes what rests on the name of its subject, or on its id, and so does what other servers do to a
    version. Any other write changes everything.
    """

    def __init__(
        self, storage: Storage, *, memory_bytes: int, catch_up: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        self._storage = storage
        self._catch_up = catch_up or storage.catch_up
        self._epoch = 0
        self._stamps: dict[Ground, int] = {}
        self._kept: RecentValues[bytes, Kept] = RecentValues(memory_bytes)
        self._memory_bytes = memory_bytes
        storage.observe(self._note)

    @property
    def count(self) -> int:
        """How many answers are kept."""
        return len(self._kept)

    @property
    def size_bytes(self) -> int:
        """The memory that the kept answers take."""
        return self._kept.weight

    @property
    def epoch(self) -> int:
        """A number to take a basis in: whatever is read from now on is not older."""
        return self._epoch

    def basis(self, ground: Ground, epoch: int) -> Basis:
        """``ground`` as it stands now, for an answer that is made from now on."""
        return Basis(ground, self._stamps.get(ground, 0), epoch)

    async def get(self, key: bytes) -> Kept | None:
        """The answer to a request, where it is at hand and still stands; ``StoreUnavailable``."""
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

    def last_known(self, key: bytes) -> Kept | None:
        """The answer as it was when the store was last reached; None where it is not known, or may not be stale."""
        kept = self._kept.get(key)
        if kept is None or not kept.may_be_stale or not self._stands(kept.basis):
            return None
        return kept._replace(is_stale=True)

    def put(self, key: bytes, kept: Kept) -> None:
        """Keep an answer, if what it rests on has not changed while it was made."""
        if self._stands(kept.basis):
            body = bytes(memoryview(kept.body))  # what the JSON library gives takes kilobytes more than it holds
            self._kept.put(key, kept._replace(body=body), weight=len(key) + len(body) + _OVERHEAD_BYTES)

    def _stands(self, basis: Basis) -> bool:
        return basis.epoch == self._epoch and basis.stamp == self._stamps.get(basis.ground, 0)

    def _note(self, written: Plan | Elsewhere | None, outcome: Appended | None, /) -> None:
        if isinstance(written, PutRecords) and written.settings_revision is None:
            return
        if isinstance(written, Elsewhere) and not written.has_new_terms:
            for change in written.changes:
                self._note_change(change)
        elif isinstance(written, Append) and outcome is not None and written.schema_id is None:
            self._change_version(written.subject, outcome.schema_id)
        else:
            self._forget()

    def _note_change(self, change: Change) -> None:
        if change.schema_id is not None:
            self._change_version(change.subject, change.schema_id)
        elif change.kind is not ChangeKind.RECORD:
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
    """What tells requests without a query apart: the path as it was sent, and the body's digest where one is sent.

    ``is_tolerant`` is for servers that answer otherwise to those who say that they tolerate new fields, ``is_python``
    for requests of Confluent's Python client, which are answered otherwise in places.
    """
    path = b"%b\1" % raw_path if is_tolerant else raw_path
    if is_python:
        path += b"\2"
    return path if body is None else b"%b\0%b" % (path, sha256(body).digest())
