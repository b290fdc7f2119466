"""What has happened, for those who read it page by page and those who listen.

The journal in the store is the only queue there is: a reader asks for what comes after the last change that it has
seen. The newest changes are at hand in memory for all who listen, so that a thousand of them cost the store one read.
"""

from __future__ import annotations

import asyncio
import json
import logging
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from counterfoil.registry.domain.changes import ChangeKind
from counterfoil.registry.service.storage import Elsewhere
from counterfoil.schema.errors import RegistryError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from counterfoil.registry.domain.changes import Change
    from counterfoil.registry.service.storage import Appended, Plan, Storage
    from counterfoil.schema.contexts import SubjectPrefix

POLL_S: Final = 0.25
"""How often a server asks whether others have written, while somebody listens."""

_LOGGER: Final = logging.getLogger("counterfoil.registry")
_KEPT_BYTES: Final = 4 * 1024 * 1024
_CHANGE_BYTES: Final = 600
_SCANNED_A_PAGE: Final = 10_000
_READ_AT_ONCE: Final = 500


@dataclass(frozen=True, slots=True)
class ChangeFilter:
    """Which changes somebody wants: all, or those of some kinds, or of subjects whose names begin so."""

    kinds: frozenset[ChangeKind] = frozenset(ChangeKind)
    prefix: SubjectPrefix | None = None

    def wants(self, change: Change) -> bool:
        """Return whether ``change`` is one of them."""
        if change.kind not in self.kinds:
            return False
        prefix, subject = self.prefix, change.subject
        return prefix is None or (prefix.context in {None, subject.context} and subject.name.startswith(prefix.name))


class Page(NamedTuple):
    """Some changes in order; ``next`` is what to go on after, and ``has_more`` whether there was more to look at."""

    changes: tuple[Change, ...]
    next: int
    has_more: bool


async def read_page(storage: Storage, after: int, limit: int, *, wanted: ChangeFilter) -> Page:
    """Return the next changes after ``after``, ``limit`` at most.

    Where few are wanted, it ends before there are so many, so that one request does not read a whole journal.
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
    """The newest changes of ``storage``, for all who listen at once.

    While somebody does, one task follows the journal: at once what this server writes, and what others write when the
    store says so, for which it is asked every ``poll_s``. ``kept_bytes`` bounds what is in memory; who is further
    behind reads from the store.
    """

    def __init__(self, storage: Storage, *, poll_s: float = POLL_S, kept_bytes: int = _KEPT_BYTES) -> None:
        self._storage = storage
        self._poll_s = poll_s
        self._kept_bytes = kept_bytes
        self._recent: list[Change] = []
        self._recent_bytes = 0
        self._last: int | None = None  # the last change that is known, while the journal is followed
        self._listeners = 0
        self._follower: asyncio.Task[None] | None = None
        self._unread = asyncio.Event()
        self._news = asyncio.Event()
        self.closed = asyncio.Event()
        storage.observe(self._note)

    @property
    def news(self) -> asyncio.Event:
        """What is set when there is more than at the time of asking, or when the feed is closed."""
        return self._news

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Follow the journal meanwhile."""
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
        """Tell all who listen that it ends."""
        self.closed.set()
        self._news.set()
        self._end_following()

    async def after(self, seq: int, limit: int) -> Sequence[Change]:
        """Return the changes after ``seq`` that are there now, ``limit`` at most; ``StoreUnavailable``."""
        if self._last is not None and seq >= self._last:
            return ()
        if self._recent and seq >= self._recent[0].seq - 1:
            start = seq + 1 - self._recent[0].seq
            return self._recent[start : start + limit]
        return await self._storage.changes(seq, limit)

    # --- following the journal

    async def _follow(self) -> None:
        """Take in what is new, until nobody listens any more."""
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
            self._announce()  # to those who have looked before, and would not hear of what came in between
        await self._storage.catch_up()
        while self._unread.is_set():
            self._unread.clear()
            changes = await self._storage.changes(self._last, _READ_AT_ONCE)
            self._take(changes)
            if len(changes) == _READ_AT_ONCE:
                self._unread.set()

    def _note(self, written: Plan | Elsewhere | None, _: Appended | None, /) -> None:
        if isinstance(written, Elsewhere):
            self._take(written.changes)
        else:
            self._unread.set()

    def _take(self, changes: Sequence[Change]) -> None:
        """Add what is new of ``changes``, where it goes on from what is known."""
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
    """About what a change takes in memory; its document is the one part that may be large."""
    return _CHANGE_BYTES + (0 if change.document is None else len(json.dumps(change.document)))


async def is_set_within(event: asyncio.Event, timeout_s: float) -> bool:
    """Return whether ``event`` is set in time."""
    try:
        async with asyncio.timeout(timeout_s):
            return await event.wait()
    except TimeoutError:
        return False
