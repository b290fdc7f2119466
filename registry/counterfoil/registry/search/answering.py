"""One search in an index: which rows are read, which of them are hits, and what is shown of these."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final, NamedTuple

from counterfoil.registry.search.few_subjects import FewSubjectsRows
from counterfoil.registry.search.lives import KIND_OF_ROLE, HitRole, LifeState, subject_of
from counterfoil.registry.search.matching import FoundRow, QueryMatcher, Rank
from counterfoil.registry.search.questions import WordScope, in_parts
from counterfoil.registry.search.rows import LAST_KEY, IndexRows, RankedRow, RoleCount
from counterfoil.registry.search.texts import marks_in
from counterfoil.schema.rest.search_index import HitKind, SearchHit, SearchResult
from counterfoil.schema.texts import counted

if TYPE_CHECKING:
    from counterfoil.registry.access.rights import Visible
    from counterfoil.registry.search.index import SearchIndex
    from counterfoil.registry.search.protocol import IndexTransaction
    from counterfoil.registry.search.questions import SearchQuery, SearchQuestion

FEW_SUBJECTS: Final = 500
"""A caller who may read no more subjects is answered from the words that these have, without those of others."""

_EXAMINED: Final = 2_000
"""The rows of readable subjects that one request looks at."""

_MAX_SCOPES: Final = 2000
_CLOSE: Final = 400
_NEAREST: Final = 5
_CUTOFF: Final = 0.6
_RESTRICTING: Final = {WordScope.TOPIC: HitRole.TOPIC, WordScope.PROPERTY: HitRole.PROPERTY}
_NAMES_OF_COUNTS: Final = {
    HitKind.SUBJECT: "subject",
    HitKind.ELEMENT: "element",
    HitKind.SYMBOL: "symbol",
    HitKind.TAG: "tag",
    HitKind.PROPERTY: "property",
    HitKind.TOPIC: "topic",
    HitKind.DOC: "text",
}


class ReadableRanges(NamedTuple):
    """The ranges of keys of subjects that are searched. Unless ``is_exact``, ``visible`` decides about each."""

    ranges: list[tuple[str, str]]
    visible: Visible | None = None
    is_exact: bool = True

    @property
    def is_whole(self) -> bool:
        """Whether the caller may read every subject."""
        return self.visible is None

    @property
    def is_all(self) -> bool:
        """Whether they are all subjects of all contexts, as one range."""
        return self.visible is None and self.ranges == [("", LAST_KEY)]

    def shows(self, scope: str) -> bool:
        """Return whether a subject in the ranges may be read."""
        return self.is_exact or self.visible is None or self.visible.shows(subject_of(scope))


class _Page(NamedTuple):
    """The rows of a page in order, the rank from which the next one goes on, and the counts, if there are some."""

    rows: Sequence[RankedRow]
    next: Rank | None = None
    counts: Sequence[RoleCount] = ()


class IndexSearch:
    """One query in one generation of an index, read in one transaction."""

    def __init__(
        self,
        index: SearchIndex,
        found: IndexTransaction,
        g: int,
        question: SearchQuestion,
        query: SearchQuery,
        *,
        few: int = FEW_SUBJECTS,
    ) -> None:
        self._index = index
        self._found = found
        self._g = g
        self._question = question
        self._query = query
        self._most_of_few = few
        self._is_cut = False

    async def result(self, result: SearchResult, readable: ReadableRanges, after: Rank | None) -> SearchResult:
        """Return ``result`` with the hits of the index.

        Where nothing matches, what has all parts of each word is found: ``customer.email`` by ``customer_email``.
        """
        parted = in_parts(self._query)
        found = await self._result(result, readable, after)
        if found.hits or found.next or parted is None:
            return found
        self._query, self._is_cut = parted, False
        of_parts = await self._result(result, readable, after)
        return of_parts if of_parts.hits or of_parts.next else found

    async def _result(self, result: SearchResult, readable: ReadableRanges, after: Rank | None) -> SearchResult:
        if not readable.ranges:
            return result
        readable = await self._restricted(readable)
        matcher = QueryMatcher(self._query, self._question)
        if not self._query.words:
            page = await self._subjects(matcher, readable, after)
        else:
            page = await self._of_words(matcher, readable, after)
        hits = await self._hits(matcher, page.rows)
        nearest: Sequence[str] = ()
        if not page.rows and page.next is None and after is None and not result.hits:
            nearest = await self._nearest(matcher, readable)
        return replace(
            result,
            hits=(*result.hits, *hits),
            counts=tuple(map(self._count, _by_kind(page.counts))) if after is None else (),
            nearest=tuple(nearest),
            next="" if page.next is None else page.next.cursor,
        )

    @property
    def _roles(self) -> list[HitRole]:
        wanted = self._question.kind
        return [role for role in HitRole if wanted in {None, KIND_OF_ROLE[role]}]

    def _count(self, count: RoleCount) -> str:
        plus = "+" if count.is_cut or self._is_cut else ""
        noun = _NAMES_OF_COUNTS[KIND_OF_ROLE[count.role]]
        number, _, words = counted(count.hits, noun, "properties" if noun == "property" else "", spec=",").partition(
            " "
        )
        shown = f"{number}{plus} {words}"
        if count.role is HitRole.SUBJECT or not count.subjects:
            return shown
        return f"{shown} in {counted(count.subjects, 'subject', spec=',')}"

    # --- topics and properties limit the subjects, where a query has other words

    async def _restricted(self, readable: ReadableRanges) -> ReadableRanges:
        words = self._query.words
        limiting = [each for each in words if each.scope in _RESTRICTING]
        if not limiting or len(limiting) == len(words):
            return readable
        scopes: set[str] | None = None
        for word in limiting:
            query = replace(self._query, words=(word,), language=None)
            rows = IndexRows(
                self._index, self._found, self._g, QueryMatcher(query, self._question), ranges=readable.ranges
            )
            found: set[str] = set()
            async for ranked in rows.in_order([_RESTRICTING[word.scope]], None):
                found.update(each.row.scope for each in ranked if readable.shows(each.row.scope))
                if len(found) > _MAX_SCOPES:
                    self._is_cut = True
                    break
            scopes = found if scopes is None else scopes & found
        self._query = replace(self._query, words=tuple(each for each in words if each not in limiting))
        ranges = [(scope, f"{scope}\x01") for scope in sorted(scopes or ())[:_MAX_SCOPES]]
        return ReadableRanges(ranges, readable.visible, is_exact=True)

    # --- from the words of the index

    async def _of_words(self, matcher: QueryMatcher, readable: ReadableRanges, after: Rank | None) -> _Page:
        few = None if readable.is_whole else await self._few(readable)
        rows: IndexRows | FewSubjectsRows
        if few is None:
            wanted = self._question.limit + 1
            rows = IndexRows(self._index, self._found, self._g, matcher, ranges=readable.ranges, wanted=wanted)
        else:
            readable = ReadableRanges([], readable.visible)
            rows = FewSubjectsRows(self._index, self._found, self._g, matcher, scopes=few)
        gathered = _Gathered(matcher, readable, self._question.limit)
        counts_on = self._question.counts and after is None
        is_all_counted = readable.is_all or few is not None
        is_counted = is_all_counted and matcher.is_simple and len(matcher.states) == 1
        async for ranked in rows.in_order(self._roles, after):
            if gathered.takes(ranked, counts_on=counts_on and not is_counted):
                break
        if not counts_on:
            return _Page(gathered.rows, gathered.next)
        counts = await rows.counts(self._roles, matcher.states[0]) if is_counted else gathered.counts()
        self._is_cut = self._is_cut or (isinstance(rows, IndexRows) and rows.is_cut)
        return _Page(gathered.rows, gathered.next, counts)

    # --- subjects

    async def _few(self, readable: ReadableRanges) -> list[str] | None:
        """Return the keys of the subjects that may be read; None if they are not few."""
        dialect = self._index.database.dialect
        given = (dialect.ranges(readable.ranges), self._most_of_few + 1)
        scopes = [scope for (scope,) in await self._found.rows(dialect.scopes_within(self._g), *given)]
        if len(scopes) > self._most_of_few:
            return None
        return [scope for scope in scopes if readable.shows(scope)]

    async def _subjects(self, matcher: QueryMatcher, readable: ReadableRanges, after: Rank | None) -> _Page:
        """Return subjects in order, for a query that has no words but a language, or ``is:deleted``."""
        query, kind = self._query, self._question.kind
        if (query.language is None and not query.is_deleted) or kind not in {None, HitKind.SUBJECT}:
            return _Page(())
        condition = f"AND latest IS {'' if query.is_deleted else 'NOT '}NULL"
        if query.language is not None:
            condition += f" AND language = '{query.language.value}'"
        statement = self._index.database.dialect.subjects_in(self._g, "scope, last, language", condition)
        found: list[RankedRow] = []
        for low, high in readable.ranges:
            begin = low if after is None else max(low, f"{after.scope}\x01")
            while begin < high and len(found) <= self._question.limit:
                rows = await self._found.rows(statement, begin, high, self._question.limit + 1)
                found += [_listed(row, matcher.states[0]) for row in rows if readable.shows(row[0])]
                begin = f"{rows[-1][0]}\x01" if len(rows) > self._question.limit else high
        page = found[: self._question.limit]
        return _Page(page, page[-1].rank if len(found) > len(page) else None)

    # --- what is shown

    async def _hits(self, matcher: QueryMatcher, rows: Sequence[RankedRow]) -> list[SearchHit]:
        scopes = list(dict.fromkeys(each.row.scope for each in rows))
        numbers = await self._index.version_numbers(self._found, self._g, scopes)
        return [_hit(matcher, each.row, *numbers[each.row.scope]) for each in rows if each.row.scope in numbers]

    async def _nearest(self, matcher: QueryMatcher, readable: ReadableRanges) -> list[str]:
        """Return names that the caller may read and that resemble the first word."""
        words = [
            each.text
            for each in self._query.words
            if each.scope in {WordScope.NAMES, WordScope.FIELD, WordScope.SUBJECT}
        ]
        if not words or not readable.ranges:
            return []
        rows = IndexRows(self._index, self._found, self._g, matcher, ranges=readable.ranges)
        texts: dict[str, dict[str, list[tuple[int, HitRole]]]] = {}
        for role in (HitRole.SUBJECT, HitRole.ELEMENT, HitRole.SYMBOL, HitRole.TAG):
            for each in await rows.like(role, words[0], _CLOSE):
                texts.setdefault(each.folded, {}).setdefault(each.text, []).append((each.number, role))
        found: list[str] = []
        for folded in get_close_matches(words[0], texts, n=_CLOSE, cutoff=_CUTOFF):
            for text, places in sorted(texts[folded].items()):
                shown = [row for place in places for row in await rows.has_row(*place) if readable.shows(row.scope)]
                found += [text] if shown else []
                if len(found) == _NEAREST:
                    return found
        return found


class _Gathered:
    """The hits among the rows that are read: a page of them, and how many there are."""

    def __init__(self, matcher: QueryMatcher, readable: ReadableRanges, limit: int) -> None:
        self._matcher = matcher
        self._readable = readable
        self._limit = limit
        self._examined = 0
        self._counts: Counter[HitRole] = Counter()
        self._scopes: dict[HitRole, set[str]] = {}
        self.rows: list[RankedRow] = []
        self.next: Rank | None = None
        self._is_cut = False

    def takes(self, ranked: Sequence[RankedRow], *, counts_on: bool) -> bool:
        """Take rows in, and return whether no more are needed. Rows of hidden subjects are as if they were absent."""
        for each in ranked:
            if not self._readable.shows(each.row.scope):
                continue
            self._examined += 1
            is_hit = self._matcher.is_simple or self._matcher.fits(each.row)
            if is_hit and len(self.rows) == self._limit and self.next is None:
                self.next = self.rows[-1].rank
            if is_hit and len(self.rows) < self._limit:
                self.rows.append(each)
            if is_hit:
                self._counts[each.row.role] += 1
                self._scopes.setdefault(each.row.role, set()).add(each.row.scope)
            if self.next is not None and not counts_on:
                return True
            if self._examined >= _EXAMINED:
                self._is_cut = True
                self.next = self.next or each.rank
                return True
        return False

    def counts(self) -> list[RoleCount]:
        """Return the numbers of hits."""
        return [
            RoleCount(role, number, 0 if self._is_cut else len(self._scopes[role]), self._is_cut)
            for role, number in sorted(self._counts.items())
        ]


def _by_kind(counts: Sequence[RoleCount]) -> list[RoleCount]:
    """Return counts with those of elements by name and by type together, without those of nothing."""
    found: dict[HitKind, RoleCount] = {}
    for each in counts:
        if not each.hits:
            continue
        kind = KIND_OF_ROLE[each.role]
        known = found.get(kind)
        found[kind] = (
            each if known is None else RoleCount(known.role, known.hits + each.hits, 0, known.is_cut or each.is_cut)
        )
    return list(found.values())


def _listed(row: Sequence[object], state: LifeState) -> RankedRow:
    scope, _, language = row
    name = subject_of(str(scope)).name
    found = FoundRow(name, HitRole.SUBJECT, state, str(scope), 0, "", "", (), str(language), 0, None)
    return RankedRow(Rank(0, state, HitRole.SUBJECT, "", "", str(scope), 0), found)


def _hit(matcher: QueryMatcher, row: FoundRow, latest: int | None, last: int) -> SearchHit:
    """Return a row as it is shown."""
    is_subject = row.role in {HitRole.SUBJECT, HitRole.TOPIC}
    version = latest if row.state is LifeState.LATEST else row.until or last
    text = row.name if row.role is HitRole.TYPE else row.text
    drivers = [] if row.role is HitRole.TYPE else matcher.drivers(row.role)
    return SearchHit(
        KIND_OF_ROLE[row.role],
        str(row.subject),
        text,
        version,
        row.path,
        row.type,
        row.tags,
        row.language,
        None if is_subject else row.since,
        row.until,
        marks_in(text, drivers),
    )
