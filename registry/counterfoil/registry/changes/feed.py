"""The change feed: the journal as pages and as streams, with the changes that a caller sees."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, NamedTuple

from counterfoil.registry.access.records import ACCESS_KINDS
from counterfoil.registry.access.resources import (
    REGISTRY,
    AccessOperation,
    AccessResource,
    ResourceKind,
    scope_resource,
    subject_resource,
)
from counterfoil.registry.access.rights import Caller
from counterfoil.registry.bridges.records import BRIDGE_KIND, REPORT_RECORD_KINDS
from counterfoil.registry.contracts.records import (
    APPLICATIONS,
    DEPLOYMENTS,
    ENVIRONMENTS,
    LIVE_HISTORIES,
    PUBLISHED_BESIDE,
    VERSIONS,
)
from counterfoil.registry.keys.records import DEK_KIND, KEK_KIND
from counterfoil.registry.store.changes import JournalChange, JournalChangeKind, WrittenChanges
from counterfoil.registry.store.protocol import Storage
from counterfoil.registry.topics.use_cases import SKETCH_KIND
from counterfoil.schema.contexts import SubjectPrefix
from counterfoil.schema.errors import RegistryError

# The change feed: the journal as pages and as streams of new changes.
#
# The journal in the store is the only queue: a reader requests the changes after the last one that it has read. The
# newest changes are cached for all streams, so that a thousand streams cost the store one read.

POLL_S: Final = 0.25
"""How often a server asks the store for writes of other servers, while there are streams."""

_LOGGER: Final = logging.getLogger("counterfoil.registry")
_KEPT_BYTES: Final = 4 * 1024 * 1024
_CHANGE_BYTES: Final = 600
_SCANNED_A_PAGE: Final = 10_000
_READ_AT_ONCE: Final = 500


def _all(_: JournalChange) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class ChangeFilter:
    """A condition on changes: all, or those of some kinds, or of subjects with a prefix, that are shown to a caller."""

    kinds: frozenset[JournalChangeKind] = frozenset(JournalChangeKind)
    prefix: SubjectPrefix | None = None
    shows: Callable[[JournalChange], bool] = _all

    def wants(self, change: JournalChange) -> bool:
        """Return whether ``change`` satisfies the condition."""
        if change.kind not in self.kinds:
            return False
        prefix, subject = self.prefix, change.subject
        if prefix is not None and not (
            prefix.context in {None, subject.context} and subject.name.startswith(prefix.name)
        ):
            return False
        return self.shows(change)


class ChangePage(NamedTuple):
    """Some changes in order.

    ``next`` is the number to continue after, and ``has_more`` whether there are more changes.
    """

    changes: tuple[JournalChange, ...]
    next: int
    has_more: bool


async def read_page(storage: Storage, after: int, limit: int, *, wanted: ChangeFilter) -> ChangePage:
    """Return the next changes after ``after``, ``limit`` at most.

    If few changes satisfy the condition, a page has fewer, so that one request does not read a whole journal.
    """
    found: list[JournalChange] = []
    scanned = 0
    while scanned < _SCANNED_A_PAGE:
        changes = await storage.changes(after, _READ_AT_ONCE)
        for change in changes:
            after = change.seq
            if wanted.wants(change):
                found.append(change)
                if len(found) == limit:
                    return ChangePage(tuple(found), after, has_more=True)
        if len(changes) < _READ_AT_ONCE:
            return ChangePage(tuple(found), after, has_more=False)
        scanned += len(changes)
        await asyncio.sleep(0)
    return ChangePage(tuple(found), after, has_more=True)


async def read_newest(storage: Storage, before: int, limit: int, *, wanted: ChangeFilter) -> ChangePage:
    """Return the last changes before ``before``, the newest first, ``limit`` at most; 0 is after the last change.

    ``next`` is the number to continue before. If few changes satisfy the condition, a page has fewer.
    """
    after_last = await storage.last_change() + 1
    end = min(before, after_last) if before else after_last
    found: list[JournalChange] = []
    scanned = 0
    while end > 1 and scanned < _SCANNED_A_PAGE:
        start = max(end - _READ_AT_ONCE, 1)
        for change in reversed(await storage.changes(start - 1, end - start)):
            end = change.seq
            if wanted.wants(change):
                found.append(change)
                if len(found) == limit:
                    return ChangePage(tuple(found), end, has_more=end > 1)
        scanned += _READ_AT_ONCE
        end = start
        await asyncio.sleep(0)
    return ChangePage(tuple(found), end, has_more=end > 1)


class Feed:
    """The newest changes of ``storage``, for all streams together.

    While there are streams, one task follows the journal: it reads writes of this server at once, and asks the store
    every ``poll_s`` for writes of others. ``kept_bytes`` limits the cached changes; a stream that is further behind
    reads from the store.
    """

    def __init__(self, storage: Storage, *, poll_s: float = POLL_S, kept_bytes: int = _KEPT_BYTES) -> None:
        self._storage = storage
        self._poll_s = poll_s
        self._kept_bytes = kept_bytes
        self._recent: list[JournalChange] = []
        self._recent_bytes = 0
        self._last: int | None = None  # the last known change, while the journal is followed
        self._listeners = 0
        self._follower: asyncio.Task[None] | None = None
        self._unread = asyncio.Event()
        self._news = asyncio.Event()
        self.closed = asyncio.Event()
        storage.observe(self._note)

    @property
    def news(self) -> asyncio.Event:
        """An event that is set when there are new changes, or when the feed is closed."""
        return self._news

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Follow the journal during the block."""
        self._listeners += 1
        if self._follower is None:
            self._follower = asyncio.create_task(self._follow())
        try:
            yield
        finally:
            self._listeners -= 1
            if not self._listeners:
                self._end_following()

    def close(self) -> None:
        """End all streams."""
        self.closed.set()
        self._news.set()
        self._end_following()

    async def after(self, seq: int, limit: int) -> Sequence[JournalChange]:
        """Return the changes after ``seq`` that exist now, ``limit`` at most.

        Raise ``StoreUnavailable`` if it is lost.
        """
        if self._last is not None and seq >= self._last:
            return ()
        if self._recent and seq >= self._recent[0].seq - 1:
            start = seq + 1 - self._recent[0].seq
            return self._recent[start : start + limit]
        return await self._storage.changes(seq, limit)

    # --- following the journal

    async def _follow(self) -> None:
        """Read new changes until there are no streams."""
        while True:
            try:
                await self._take_in()
                await is_set_within(self._unread, self._poll_s)
            except Exception as error:
                if not isinstance(error, RegistryError):
                    _LOGGER.exception("the journal cannot be followed")
                await asyncio.sleep(self._poll_s)
                self._unread.set()

    async def _take_in(self) -> None:
        if self._last is None:
            self._last = await self._storage.last_change()
            self._unread.set()
            self._announce()  # wakes streams that read before this and would miss changes in between
        await self._storage.catch_up()
        while self._unread.is_set():
            self._unread.clear()
            changes = await self._storage.changes(self._last, _READ_AT_ONCE)
            self._take(changes)
            if len(changes) == _READ_AT_ONCE:
                self._unread.set()

    def _note(self, written: WrittenChanges | None, /) -> None:
        if written is None:
            self._unread.set()
        else:
            self._take(written.changes)

    def _take(self, changes: Sequence[JournalChange]) -> None:
        """Add the new ones of ``changes``, if they follow the known ones without a gap."""
        if self._last is None or not changes or changes[-1].seq <= self._last:
            return
        new = [change for change in changes if change.seq > (self._last or 0)]
        if new[0].seq != self._last + 1:
            self._unread.set()
            return
        self._recent.extend(new)
        self._recent_bytes += sum(map(_size_bytes, new))
        surplus = 0
        while self._recent_bytes > self._kept_bytes:
            self._recent_bytes -= _size_bytes(self._recent[surplus])
            surplus += 1
        del self._recent[:surplus]
        self._last = new[-1].seq
        self._announce()

    def _announce(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()

    def _end_following(self) -> None:
        if self._follower is not None:
            self._follower.cancel()
        self._follower = self._last = None
        self._recent.clear()
        self._recent_bytes = 0


def _size_bytes(change: JournalChange) -> int:
    """Return about how much memory a change takes; only its document can be large."""
    return _CHANGE_BYTES + (0 if change.document is None else len(json.dumps(change.document)))


async def is_set_within(event: asyncio.Event, timeout_s: float) -> bool:
    """Wait for ``event``, and return whether it was set in time."""
    try:
        async with asyncio.timeout(timeout_s):
            return await event.wait()
    except TimeoutError:
        return False


# Which changes a caller sees: those of what it may know.

_READ_BY_NAME: Final[Mapping[str, ResourceKind]] = {
    KEK_KIND: ResourceKind.KEK,
    DEK_KIND: ResourceKind.KEK,
    **dict.fromkeys((BRIDGE_KIND, *REPORT_RECORD_KINDS), ResourceKind.BRIDGE),
    APPLICATIONS.name: ResourceKind.APPLICATION,
    VERSIONS.name: ResourceKind.APPLICATION,
    PUBLISHED_BESIDE.name: ResourceKind.APPLICATION,
}
"""The kinds of records whose keys begin with the name of a resource, which is to be read."""

_DESCRIBED_BY_NAME: Final[Mapping[str, ResourceKind]] = {
    ENVIRONMENTS.name: ResourceKind.ENVIRONMENT,
    DEPLOYMENTS.name: ResourceKind.ENVIRONMENT,
    LIVE_HISTORIES.name: ResourceKind.ENVIRONMENT,
}


def is_visible(change: JournalChange, caller: Caller) -> bool:
    """Return whether ``caller`` sees ``change``. Of other records only those with a right on the registry hear."""
    if change.kind is JournalChangeKind.CONTEXT_DELETED:
        return caller.rights.sees_context(change.subject.context)
    return all(caller.rights.allows(*need) for need in _needs(change))


def shows_author(change: JournalChange, caller: Caller | None) -> bool:
    """Return whether ``caller`` may know who requested ``change``: whoever may read what was changed."""
    return caller is None or caller.rights.allows(AccessOperation.READ, _needs(change)[0][1])


def _needs(change: JournalChange) -> list[tuple[AccessOperation, AccessResource]]:
    """Return what a caller may do to what, if it sees ``change``; first stands what was changed."""
    if change.kind is JournalChangeKind.SETTINGS:
        return [(AccessOperation.DESCRIBE_CONFIGS, scope_resource(change.subject))]
    if change.kind is not JournalChangeKind.RECORD:
        return [(AccessOperation.DESCRIBE, subject_resource(change.subject))]
    document = change.document or {}
    needs = [_need_of_record(change)]
    if document.get("kind") in {DEPLOYMENTS.name, LIVE_HISTORIES.name}:
        needs.append((AccessOperation.DESCRIBE, AccessResource(ResourceKind.APPLICATION, document["key"][1])))
    if document.get("kind") == DEK_KIND:
        _, context, name, *_ = document["key"]
        needs.append((AccessOperation.DESCRIBE, AccessResource(ResourceKind.SUBJECT, name, context)))
    return needs


def _need_of_record(change: JournalChange) -> tuple[AccessOperation, AccessResource]:
    document = change.document or {}
    kind, key = document.get("kind", ""), document.get("key", ())
    if kind in ACCESS_KINDS:
        return AccessOperation.ALTER_ACCESS, REGISTRY
    if kind in _READ_BY_NAME:
        return AccessOperation.READ, AccessResource(_READ_BY_NAME[kind], key[0])
    if kind in _DESCRIBED_BY_NAME:
        return AccessOperation.DESCRIBE, AccessResource(_DESCRIBED_BY_NAME[kind], key[0])
    if kind == SKETCH_KIND:
        return AccessOperation.DESCRIBE, AccessResource(ResourceKind.SUBJECT, key[1], key[0])
    return AccessOperation.DESCRIBE, REGISTRY
