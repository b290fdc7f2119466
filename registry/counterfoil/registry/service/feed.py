"""The change feed: the journal as pages and as streams of new changes.

The journal in the store is the only queue: a reader requests the changes after the last one that it has read. The
newest changes are cached for all streams, so that a thousand streams cost the store one read.
"""

from __future__ import annotations

import asyncio
import json
import logging
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from counterfoil.registry.domain.changes import ChangeKind
from counterfoil.schema.errors import RegistryError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from counterfoil.registry.domain.changes import Change, Written
    from counterfoil.registry.service.storage import Storage
    from counterfoil.schema.contexts import SubjectPrefix

POLL_S: Final = 0.25
"""How often a server asks the store for writes of other servers, while there are streams."""

_LOGGER: Final = logging.getLogger("counterfoil.registry")
_KEPT_BYTES: Final = 4 * 1024 * 1024
_CHANGE_BYTES: Final = 600
_SCANNED_A_PAGE: Final = 10_000
_READ_AT_ONCE: Final = 500


def _all(_: Change) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class ChangeFilter:
    """A condition on changes: all, or those of some kinds, or of subjects with a prefix, that are shown to a caller."""

    kinds: frozenset[ChangeKind] = frozenset(ChangeKind)
    prefix: SubjectPrefix | None = None
    shows: Callable[[Change], bool] = _all

    def wants(self, change: Change) -> bool:
        """Return whether ``change`` satisfies the condition."""
        if change.kind not in self.kinds:
            return False
        prefix, subject = self.prefix, change.subject
        if prefix is not None and not (
            prefix.context in {None, subject.context} and subject.name.startswith(prefix.name)
        ):
            return False
        return self.shows(change)


class Page(NamedTuple):
    """Some changes in order.

    ``next`` is the number to continue after, and ``has_more`` whether there are more changes.
    """

    changes: tuple[Change, ...]
    next: int
    has_more: bool


async def read_page(storage: Storage, after: int, limit: int, *, wanted: ChangeFilter) -> Page:
    """Return the next changes after ``after``, ``limit`` at most.

    If few changes satisfy the condition, a page has fewer, so that one request does not read a whole journal.
    """
    found: list[Change] = []
    scanned = 0
    while scanned < _SCANNED_A_PAGE:
        changes = await storage.changes(after, _READ_AT_ONCE)
        for change in changes:
            after = change.seq
            if wanted.wants(change):
                found.append(change)
                if len(found) == limit:
                    return Page(tuple(found), after, has_more=True)
        if len(changes) < _READ_AT_ONCE:
            return Page(tuple(found), after, has_more=False)
        scanned += len(changes)
        await asyncio.sleep(0)
    return Page(tuple(found), after, has_more=True)


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
        self._recent: list[Change] = []
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

    async def after(self, seq: int, limit: int) -> Sequence[Change]:
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

    def _note(self, written: Written | None, /) -> None:
        if written is None:
            self._unread.set()
        else:
            self._take(written.changes)

    def _take(self, changes: Sequence[Change]) -> None:
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


def _size_bytes(change: Change) -> int:
    """Return about how much memory a change takes; only its document can be large."""
    return _CHANGE_BYTES + (0 if change.document is None else len(json.dumps(change.document)))


async def is_set_within(event: asyncio.Event, timeout_s: float) -> bool:
    """Wait for ``event``, and return whether it was set in time."""
    try:
        async with asyncio.timeout(timeout_s):
            return await event.wait()
    except TimeoutError:
        return False
