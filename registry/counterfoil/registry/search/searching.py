"""The search: a query answered from the index, from what the caller may read, and from the store for ids and guids."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final
from uuid import UUID

from counterfoil.registry.access.rights import Visible
from counterfoil.registry.search.answering import FEW_SUBJECTS, IndexSearch, ReadableRanges
from counterfoil.registry.search.lives import end_of_context, scope_key
from counterfoil.registry.search.matching import Rank
from counterfoil.registry.search.namesakes import find_namesakes
from counterfoil.registry.search.protocol import IndexUnusable
from counterfoil.registry.search.questions import MAX_LIMIT, SearchQuestion, read_query
from counterfoil.registry.search.rows import LAST_KEY
from counterfoil.registry.store.name_ranges import ALL_NAMES, SubjectRange, intersection, of_prefix
from counterfoil.schema.contexts import DEFAULT_CONTEXT, QualifiedSubject, parse_subject
from counterfoil.schema.errors import StoreTimeout, StoreUnavailable
from counterfoil.schema.rest.inspection import ElementElsewhere, IndexState
from counterfoil.schema.rest.search_index import HitKind, SearchHit, SearchResult
from counterfoil.schema.rest.versions import Visibility

if TYPE_CHECKING:
    from counterfoil.registry.search.index import SearchIndex, StoredState
    from counterfoil.registry.search.protocol import IndexTransaction
    from counterfoil.registry.search.questions import SearchQuery
    from counterfoil.registry.store.protocol import Storage
    from counterfoil.registry.subjects.versions import VersionUse

_MAX_CONTEXTS: Final = 1000
_MAX_USES: Final = 200


class Searching:
    """Searches in ``index``; None where it is turned off: then subjects by prefix, ids and guids are found.

    A caller who may read ``few_subjects`` at most is answered from what the index has of each of these.
    """

    def __init__(self, storage: Storage, index: SearchIndex | None = None, *, few_subjects: int = FEW_SUBJECTS) -> None:
        self._storage = storage
        self._index = index
        self._few_subjects = few_subjects

    async def close(self) -> None:
        """Close the index."""
        if self._index is not None:
            await self._index.database.close()

    async def state(self) -> IndexState:
        """Return how far the index is."""
        if self._index is None:
            return IndexState("off", last=await self._storage.last_change())
        try:
            async with self._index.database.reading() as found:
                return await self._shown_state(found, await self._index.state(found))
        except IndexUnusable:
            return await self._lost()

    async def search(self, question: SearchQuestion, *, visible: Visible | None = None) -> SearchResult:
        """Return a page of hits in the subjects that are ``visible``; None is all.

        Raise ``BadRequest`` for an ``after`` that no page had, and ``StoreTimeout``.
        """
        question = replace(question, limit=max(1, min(question.limit, MAX_LIMIT)))
        query = read_query(question.q)
        after = Rank.read(question.after) if question.after else None
        readable = await self._readable(question.context, visible)
        direct = [] if after else await self._direct(query, question, visible)
        result = partial(SearchResult, query.text, tuple(direct), unknown=query.unknown)
        if self._index is None:
            return await self._by_prefix(result(index=await self.state()), query, question, visible)
        try:
            async with self._index.database.reading() as found:
                state = await self._index.state(found)
                begun = result(index=await self._shown_state(found, state, visible=visible))
                if state.searched is None:
                    return await self._by_prefix(begun, query, question, visible)
                search = IndexSearch(self._index, found, state.searched, question, query, few=self._few_subjects)
                return await search.result(begun, readable, after)
        except IndexUnusable:
            return await self._by_prefix(result(index=await self._lost()), query, question, visible)

    async def namesakes(
        self, subject: QualifiedSubject, path: str, *, visible: Visible | None = None
    ) -> tuple[ElementElsewhere, ...]:
        """Return the elements with the name of one in the latest versions of other subjects, of those ``visible``.

        There are none without an index, and while it cannot be read: they are only shown beside the element.
        """
        if self._index is None:
            return ()
        readable = await self._readable(None, visible)
        try:
            async with self._index.database.reading() as found:
                g = (await self._index.state(found)).searched
                return (
                    ()
                    if g is None
                    else await find_namesakes(self._index, found, g, subject=subject, path=path, readable=readable)
                )
        except (IndexUnusable, StoreTimeout, StoreUnavailable):
            return ()

    async def _lost(self) -> IndexState:
        return IndexState("lost", last=await self._storage.last_change())

    async def _shown_state(
        self, found: IndexTransaction, state: StoredState, *, visible: Visible | None = None
    ) -> IndexState:
        """Return how far the index is; texts that cannot be parsed may be of others, and are counted for all alone."""
        assert self._index is not None  # noqa: S101 - its state was read
        last, g = await self._storage.last_change(), state.searched
        is_scanned = not self._index.database.dialect.has_parts
        if g is None:
            return IndexState("rebuilding", last=last, is_scanned=is_scanned)
        mark = state.mark if state.current is not None or state.building is None else state.building.mark
        word = "rebuilding" if state.building is not None else "current" if mark.change >= last else "behind"
        indexed = mark.change if state.current is not None else 0
        unreadable = await self._index.unreadable(found, g) if visible is None else 0
        return IndexState(word, indexed, last, unreadable, is_scanned)

    async def _readable(self, context: str | None, visible: Visible | None) -> ReadableRanges:
        """Return the ranges of the subjects that a caller may read, in a context if one is given."""
        if visible is None:
            if context is None:
                return ReadableRanges([("", LAST_KEY)])
            return ReadableRanges([(scope_key(QualifiedSubject(context, "")), end_of_context(context))])
        known = {DEFAULT_CONTEXT, *await self._storage.contexts()}
        names = {each: visible.names(each) for each in sorted(known) if context in {None, each}}
        if context is None and all(found.is_exact and found.ranges == ALL_NAMES for found in names.values()):
            return ReadableRanges([("", LAST_KEY)])
        ranges = [
            (scope_key(QualifiedSubject(each, low)), end_of_context(each) if high is None else f"{each}\x1f{high}")
            for each, found in names.items()
            for low, high in found.ranges
        ]
        return ReadableRanges(ranges, visible, all(found.is_exact for found in names.values()))

    # --- what the store answers

    async def _direct(self, query: SearchQuery, question: SearchQuestion, visible: Visible | None) -> list[SearchHit]:
        """Return the hits of a query that is an id, a guid, a fingerprint, or bytes with a frame."""
        hits: list[SearchHit] = []
        if query.schema_id is not None and question.kind in {None, HitKind.ID}:
            for context in await self._contexts(question.context):
                uses = await self._storage.uses(context, query.schema_id)
                hits += _of_uses(HitKind.ID, str(query.schema_id), uses, visible)
        if query.guid is not None and question.kind in {None, HitKind.GUID}:
            hits += await self._of_guid(HitKind.GUID, query.guid, question, visible)
        if query.fingerprint and question.kind in {None, HitKind.FINGERPRINT}:
            for guid in await self._with_fingerprint(query.fingerprint):
                hits += await self._of_guid(HitKind.FINGERPRINT, guid, question, visible, text=query.text.strip())
        if query.frame_id is not None and question.kind in {None, HitKind.BYTES}:
            hits.append(SearchHit(HitKind.BYTES, "", str(query.frame_id)))
        return list(dict.fromkeys(hits))[:_MAX_USES]

    async def _contexts(self, context: str | None) -> list[str]:
        if context is not None:
            return [context]
        return sorted({DEFAULT_CONTEXT, *await self._storage.contexts()})[:_MAX_CONTEXTS]

    async def _of_guid(
        self, kind: HitKind, guid: UUID, question: SearchQuestion, visible: Visible | None, *, text: str = ""
    ) -> list[SearchHit]:
        hits: list[SearchHit] = []
        for context, schema_id in await self._storage.ids_of_guid(guid):
            if question.context in {None, context}:
                hits += _of_uses(kind, text or str(guid), await self._storage.uses(context, schema_id), visible)
        return hits

    async def _with_fingerprint(self, fingerprint: bytes) -> list[UUID]:
        """Return the guids of the schemas with a fingerprint; Rabin's is written in either order of its bytes."""
        if self._index is None:
            return []
        try:
            async with self._index.database.reading() as found:
                g = (await self._index.state(found)).searched
                return [] if g is None else await self._index.guids_with(found, g, fingerprint, _MAX_USES)
        except IndexUnusable:
            return []

    async def _by_prefix(
        self, result: SearchResult, query: SearchQuery, question: SearchQuestion, visible: Visible | None
    ) -> SearchResult:
        """Return the result without an index: the subjects whose names begin with the query."""
        words = question.q.strip().removeprefix("subject:")
        if question.after or not words or len(query.words) != 1 or question.kind not in {None, HitKind.SUBJECT}:
            return result
        prefix = parse_subject(words)
        ranges: list[SubjectRange] = []
        for context in await self._contexts(question.context if words == prefix.name else prefix.context):
            names = (of_prefix(prefix.name),)
            known = names if visible is None else intersection(visible.names(context).ranges, names)
            ranges += [SubjectRange(context, *each) for each in known]
        found = await self._storage.names_within(ranges, Visibility.ACTIVE, first=0, last=_MAX_USES)
        subjects = [parse_subject(name) for name in json.loads(found)]
        shown = [each for each in subjects if visible is None or visible.shows(each)][: question.limit]
        hits = [SearchHit(HitKind.SUBJECT, str(each), each.name, marks=((0, len(prefix.name)),)) for each in shown]
        return replace(result, hits=(*result.hits, *hits))


def _of_uses(kind: HitKind, text: str, uses: Sequence[VersionUse], visible: Visible | None) -> list[SearchHit]:
    return [
        SearchHit(kind, str(use.subject), text, use.version)
        for use in uses
        if visible is None or visible.shows(use.subject)
    ]
