"""Building the index of a store anew from the command line, while its servers run or not."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from counterfoil.registry.judges.judging import LongJudgements
from counterfoil.registry.judges.processes import JudgeLimits, JudgeProcesses, Mailbox
from counterfoil.registry.search.following import Following
from counterfoil.registry.search.index import SearchIndex, StoredState
from counterfoil.registry.search.lives import subject_of
from counterfoil.registry.search.opening import open_index
from counterfoil.registry.search.protocol import IndexUnusable
from counterfoil.registry.store.opening import IN_MEMORY, open_store, sqlite_path
from counterfoil.registry.store.protocol import Storage
from counterfoil.registry.store.writes import StoreNotUsable
from counterfoil.registry.subjects.reading import MAX_TEXTS, SchemaReader

_MEMORY_CHARS: Final = 4 * 1024 * 1024
_DEADLINE_S: Final = 30.0
_MEMORY_BYTES: Final = 512 * 1024 * 1024
_LOOK_S: Final = 0.5
_PATIENCE_S: Final = 30.0
_SHOWN: Final = 100
_TOLD_EVERY_S: Final = 5.0

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class IndexBuilt:
    """The index that was built: the last change that it has, its size, and some versions that cannot be read."""

    change: int
    size_bytes: int
    unreadable: tuple[tuple[str, int, str], ...] = ()

    @property
    def lines(self) -> list[str]:
        """What is printed."""
        size = f"{self.size_bytes / 1024 / 1024:.1f} MiB"
        return [
            f"The search index is complete to change {self.change:,}; it takes {size}",
            *(f"{subject} version {version}: {problem}" for subject, version, problem in self.unreadable),
        ]


def reindex(url: str, *, tell: Tell | None = None) -> IndexBuilt:
    """Build the index of the store at ``url`` anew, and return what it has then.

    ``tell`` is called with a line from time to time. Raise ``StoreNotUsable`` for a store, or a place of its index,
    that cannot be used.
    """
    path = sqlite_path(url)
    if path == IN_MEMORY:
        raise StoreNotUsable("A store in memory has no index that a command could build; name the URL of a store")
    if path is not None and not path.is_file():
        raise StoreNotUsable(f"{path} does not exist; name the URL of the store that is to be searched")
    return asyncio.run(_reindex(url, tell or _silent))


def _silent(_: str) -> None:
    """Do nothing."""


async def _reindex(url: str, tell: Tell) -> IndexBuilt:
    index = open_index(url)
    try:
        before = await _requested(index)
        storage = _opened(url)
        if storage is None:
            tell("A server has the store open, and builds the index")
            await _awaited(index, before, tell)
        else:
            await _built(index, storage, before, tell)
        return await _result(index)
    except IndexUnusable as error:
        raise StoreNotUsable(f"The search index of the store cannot be made: {error}") from None
    finally:
        await index.database.close()


async def _requested(index: SearchIndex) -> StoredState:
    """Have the index built anew, and return its state before."""
    try:
        await index.database.prepare()
    except IndexUnusable:
        await index.database.remove()
        await index.database.prepare()
    until_s = time.monotonic() + _PATIENCE_S
    while time.monotonic() < until_s:
        async with index.database.writing() as writing:
            if writing is not None:
                before = await index.state(writing)
                await index.request_building(writing)
                return before
        await asyncio.sleep(_LOOK_S)
    raise StoreNotUsable(f"Another process has been writing the search index for {_PATIENCE_S:g} s; try again later")


def _opened(url: str) -> Storage | None:
    """Return the storage; None if a server has the file of a SQLite store open."""
    try:
        return open_store(url)
    except StoreNotUsable as error:
        if sqlite_path(url) is not None and "is in use by another registry" in str(error):
            return None
        raise


async def _built(index: SearchIndex, storage: Storage, before: StoredState, tell: Tell) -> None:
    """Take steps, as servers do that run at the same time, until a new generation answers."""
    judges = JudgeProcesses(Mailbox(_processors()), JudgeLimits(_DEADLINE_S, _MEMORY_BYTES))
    large = LongJudgements(judges, max_waiting=MAX_TEXTS, most_of_caller=0)
    following = Following(index, storage, SchemaReader(storage, memory_chars=_MEMORY_CHARS, large=large))
    told_s = time.monotonic()
    try:
        while (state := await _state(index)).building is not None or state.current in {None, before.current}:
            if not await following.step():
                await asyncio.sleep(_LOOK_S)
            if time.monotonic() - told_s > _TOLD_EVERY_S:
                told_s = time.monotonic()
                tell(_progress(state))
    finally:
        judges.close()
        await storage.close()


def _processors() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


async def _awaited(index: SearchIndex, before: StoredState, tell: Tell) -> None:
    """Wait until the server has built the index; raise ``StoreNotUsable`` if it does nothing."""
    seen, moved_s, told_s = before, time.monotonic(), time.monotonic()
    while (state := await _state(index)).building is not None or state.current in {None, before.current}:
        now_s = time.monotonic()
        if state != seen:
            seen, moved_s = state, now_s
        if now_s - moved_s > _PATIENCE_S:
            raise StoreNotUsable(
                "The server that has the store open does not build the index: it may run with --search off. Stop it, "
                "or start it with --search on"
            )
        if now_s - told_s > _TOLD_EVERY_S:
            told_s = now_s
            tell(_progress(state))
        await asyncio.sleep(_LOOK_S)


async def _state(index: SearchIndex) -> StoredState:
    async with index.database.reading() as found:
        return await index.state(found)


def _progress(state: StoredState) -> str:
    building = state.building
    if building is None:
        return "The index is complete"
    if building.is_filled:
        return f"All subjects are indexed; the journal is followed to change {building.mark.change:,}"
    return f"Indexed up to subject {building.name!r} of context {building.context or '.'!r}"


async def _result(index: SearchIndex) -> IndexBuilt:
    async with index.database.reading() as found:
        state = await index.state(found)
        unreadable = (
            [] if state.current is None else await index.unreadable_versions(found, state.current, limit=_SHOWN)
        )
    shown = tuple((str(subject_of(scope)), version, problem) for scope, version, problem in unreadable)
    return IndexBuilt(state.mark.change, await index.database.size_bytes(), shown)
