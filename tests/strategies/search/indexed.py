"""An application with an index, without its server, and what an index has as plain values."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from counterfoil.registry.search.dialects import HIT_COLUMNS, qualified
from counterfoil.registry.search.following import Following
from counterfoil.registry.search.lives import IndexedSubject, posting_read, postings_unpacked
from counterfoil.registry.search.opening import open_index
from counterfoil.registry.search.questions import SearchQuestion
from counterfoil.registry.store.opening import open_store
from counterfoil.registry.use_cases import use_cases
from strategies.registry.driver import InProcessRegistry

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from counterfoil.registry.access.rights import Visible
    from counterfoil.registry.search.index import SearchIndex
    from counterfoil.registry.store.protocol import Storage
    from counterfoil.schema.rest.search_index import SearchResult


@dataclass(frozen=True)
class Indexed:
    """A registry with its index; requests go to ``registry``, and ``follow`` takes in what they have written."""

    registry: InProcessRegistry
    storage: Storage
    index: SearchIndex
    following: Following
    cases: Any

    async def follow(self) -> None:
        """Take in all changes."""
        await self.following.until_current()

    async def search(self, q: str, *, visible: Visible | None = None, **limits: Any) -> SearchResult:
        """Return the result of a query."""
        found: SearchResult = await self.cases.search.search(SearchQuestion(q, **limits), visible=visible)
        return found

    async def dump(self) -> dict[str, Any]:
        """Return what the index has, without the numbers of words."""
        return await dumped(self.index)

    async def register(self, subject: str, schema: str, **body: Any) -> None:
        """Register a schema; it has to be accepted."""
        path = f"/subjects/{subject.replace('/', '%2F').replace(' ', '%20')}/versions"
        reply = await self.registry.post(path, {"schema": schema, **body})
        assert reply.status == 200, reply.text


@asynccontextmanager
async def indexed(url: str, *, uses_parts: bool | None = None) -> AsyncIterator[Indexed]:
    """Open a store with its index."""
    storage = open_store(url)
    index = open_index(url, uses_parts=uses_parts)
    cases = use_cases(storage, index=index)
    assert cases.following is not None
    try:
        yield Indexed(InProcessRegistry(storage, index=index), storage, index, cases.following, cases)
    finally:
        await index.database.close()
        await storage.close()


async def dumped(index: SearchIndex) -> dict[str, Any]:
    """Return the rows of the whole generation of an index, with the texts of words."""
    dialect = index.database.dialect
    async with index.database.reading() as found:
        state = await index.state(found)
        assert state.current is not None, state
        g = state.current
        hits = await found.rows(
            f"SELECT w.text, w.folded, w.role, {qualified(HIT_COLUMNS, 'h')} FROM {dialect.table('hits', g)} h "
            f"JOIN {dialect.table('words', g)} w ON w.id = h.word"
        )
        rows = await found.rows(f"SELECT id, role, text FROM {dialect.table('words', g)}")
        words = {row[0]: tuple(row)[1:] for row in rows}
        columns = "scope, latest, last, document, postings"
        subjects = await found.rows(f"SELECT {columns} FROM {dialect.table('subjects', g)}")
        unreadable = await found.rows(f"SELECT scope, version, problem FROM {dialect.table('unreadable', g)}")
    return {
        "mark": state.mark,
        "hits": sorted([(*row[:3], *row[4:]) for row in map(tuple, hits)], key=repr),
        "subjects": sorted((*row[:3], _unordered(row[3]), _postings(row[4], words)) for row in subjects),
        "unreadable": sorted(tuple(row) for row in unreadable),
    }


def _postings(packed: bytes, words: dict[int, tuple[Any, ...]]) -> str:
    """Return postings as a text, with the role and text of each word instead of its number."""
    read = map(posting_read, postings_unpacked(bytes(packed)))
    return repr(sorted((*words[number], state) for number, state in read))


def _unordered(document: bytes) -> str:
    """Return the packed value as a text, with the lives in their order of places."""
    value = IndexedSubject.unpacked(bytes(document))
    lives = sorted(value.lives, key=lambda life: (life.place, repr(life)))
    return repr((value.count, value.digest, value.last, value.active, value.languages, lives, value.topics))
