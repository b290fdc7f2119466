"""Finding the rows of a query in the tables of an index, in their order, and no more of them than are needed.

Only rows of subjects that the caller may read are read: the conditions are ranges of keys in the index itself. So what
a search costs, returns and counts does not depend on subjects that are hidden from the caller.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from counterfoil.registry.search.dialects import MAX_CANDIDATES, Statement
from counterfoil.registry.search.lives import HitRole, IndexWord, LifeState
from counterfoil.registry.search.matching import (
    DOC_TIER,
    FoundRow,
    QueryMatcher,
    Rank,
    doc_parts,
    folded_for_order,
)
from counterfoil.registry.search.texts import TRIGRAM, fold
from counterfoil.registry.store.name_ranges import above

if TYPE_CHECKING:
    from counterfoil.registry.search.index import SearchIndex
    from counterfoil.registry.search.protocol import IndexTransaction

LAST_KEY: Final = "\U0010ffff"
"""A text above all keys of subjects."""

MAX_COUNTED: Final = 10_000

_FIRST_CHUNK: Final = 64
_MAX_CHUNK: Final = 512
_ROWS_AT_ONCE: Final = 256


class RankedRow(NamedTuple):
    """A row whose own text matches, with its rank."""

    rank: Rank
    row: FoundRow


class RoleCount(NamedTuple):
    """How many hits with a role there are, in how many subjects; ``is_cut``: there are more."""

    role: HitRole
    hits: int
    subjects: int
    is_cut: bool


class _Candidate(NamedTuple):
    """A word of the index that matches, in the order of hits."""

    folded: str
    digest: str
    number: int
    text: str


class IndexRows:
    """The rows of one query in a generation, within ``ranges`` of keys of subjects."""

    def __init__(
        self,
        index: SearchIndex,
        found: IndexTransaction,
        g: int,
        matcher: QueryMatcher,
        *,
        ranges: Sequence[tuple[str, str]],
    ) -> None:
        self._dialect = index.database.dialect
        self._found = found
        self._g = g
        self._matcher = matcher
        self._ranges = self._dialect.ranges(ranges)
        self._names: dict[str, dict[int, tuple[str, str | None]]] = {}
        self._judged: dict[tuple[object, ...], list[tuple[int, _Candidate]]] = {}
        self.is_cut = False
        """Whether a word matches more names or texts than are looked at."""

    async def in_order(self, roles: Sequence[HitRole], after: Rank | None) -> AsyncIterator[list[RankedRow]]:
        """Yield the rows whose own text matches by their ranks, some at a time, behind ``after``."""
        by_place = await self._candidates(roles)
        for tier in sorted({tier for tier, _ in by_place}):
            for state in self._matcher.states:
                for role in sorted(roles):
                    candidates = by_place.get((tier, role), [])
                    if after is not None and (tier, state, role) < after[:3]:
                        continue
                    behind = after if after is not None and (tier, state, role) == after[:3] else None
                    async for rows in self._of_role(tier, state, role, candidates, behind):
                        yield rows

    async def counts(self, roles: Sequence[HitRole], state: LifeState) -> list[RoleCount]:
        """Count the rows whose own text matches, up to :data:`MAX_COUNTED`."""
        numbers: dict[HitRole, list[int]] = defaultdict(list)
        for (_, role), candidates in (await self._candidates(roles)).items():
            numbers[role] += [each.number for each in candidates]
        roles = sorted(numbers)
        statement = self._dialect.hits_counted(self._g)
        found = await self._found.rows_of_all(
            [
                (
                    statement,
                    (self._dialect.numbers(numbers[role]), self._ranges, int(role), int(state), MAX_COUNTED + 1),
                )
                for role in roles
            ]
        )
        return [
            RoleCount(role, min(hits, MAX_COUNTED), subjects, self.is_cut or hits > MAX_COUNTED)
            for role, [(hits, subjects)] in zip(roles, found, strict=True)
        ]

    async def has_row(self, number: int, roles: Sequence[HitRole]) -> list[FoundRow]:
        """Return a row of a word for each role and state that is there."""
        places = [(role, state) for role in roles for state in self._matcher.states]
        found = await self._found.rows_of_all([self._reading([number], *place, "", -1, limit=1) for place in places])
        return [row_of(row, "") for rows in found for row in rows]

    async def like(self, word: str, limit: int) -> list[tuple[int, str, str]]:
        """Return some names (number, text, folded) that resemble a word."""
        dialect, low = self._dialect, word[:2]
        rows = [*await self._found.rows(dialect.names_from(self._g), low, above(low) or LAST_KEY, limit)]
        like = dialect.names_like(self._g, word, limit)
        if like is not None:
            rows += await self._found.rows(like[0], *like[1])
        return [(number, text, folded) for number, text, folded in rows]

    # --- words

    async def _candidates(self, roles: Sequence[HitRole]) -> dict[tuple[int, HitRole], list[_Candidate]]:
        """Return the words that match, by how well and for which role, each list in order."""
        found: dict[tuple[int, HitRole], list[_Candidate]] = defaultdict(list)
        for role in roles:
            for tier, candidate in await self._candidates_of(role):
                found[tier, role].append(candidate)
        return found

    async def _candidates_of(self, role: HitRole) -> list[tuple[int, _Candidate]]:
        """Return the words that match for a role, each with how well, in order; equal words are judged once."""
        drivers = (role is HitRole.DOC, *self._matcher.drivers(role))
        known = self._judged.get(drivers)
        if known is None:
            words: dict[int, tuple[str, str | None]] = {}
            for driver in self._matcher.drivers(role):
                words.update(await (self._docs(driver) if role is HitRole.DOC else self._named(driver)))
            judged = [
                (self._matcher.tier(role, text, folded), _candidate(role, number, text, folded))
                for number, (text, folded) in words.items()
            ]
            known = self._judged[drivers] = sorted([(tier, each) for tier, each in judged if tier is not None])
        return known

    async def _named(self, word: str) -> dict[int, tuple[str, str | None]]:
        """Return the names that begin with a word or have it inside: text and folded text by number."""
        known = self._names.get(word)
        if known is None:
            dialect, end = self._dialect, above(word) or LAST_KEY
            statements: list[Statement] = [(dialect.names_from(self._g), (word, end, MAX_CANDIDATES))]
            if len(word) >= TRIGRAM:
                statements.append(dialect.names_with_part(self._g, word, MAX_CANDIDATES))
            found = await self._found.rows_of_all(statements)
            self.is_cut = self.is_cut or any(len(rows) == MAX_CANDIDATES for rows in found)
            rows = [row for each in found for row in each]
            known = self._names[word] = {number: (text, folded) for number, text, folded in rows}
        return known

    async def _docs(self, word: str) -> dict[int, tuple[str, str | None]]:
        """Return the documentation texts with a word, by number."""
        parts = doc_parts(word)
        if not parts:
            return {}
        statement, arguments = self._dialect.docs_with_words(self._g, parts, MAX_CANDIDATES)
        rows = await self._found.rows(statement, *arguments)
        self.is_cut = self.is_cut or (self._dialect.has_doc_words and len(rows) == MAX_CANDIDATES)
        return {number: (text, None) for number, text in rows}

    # --- rows

    async def _of_role(
        self, tier: int, state: LifeState, role: HitRole, candidates: Sequence[_Candidate], behind: Rank | None
    ) -> AsyncIterator[list[RankedRow]]:
        scope, place, size = "", -1, _FIRST_CHUNK
        if behind is not None:
            reached = (behind.folded, behind.word)
            candidates = [each for each in candidates if each[:2] >= reached]
            if candidates and candidates[0][:2] == reached:
                scope, place, size = behind.scope, behind.place, 1
        at = 0
        while at < len(candidates):
            chunk = {each.number: each for each in candidates[at : at + size]}
            statement, given = self._reading(list(chunk), role, state, scope, place, limit=_ROWS_AT_ONCE)
            rows = await self._found.rows(statement, *given)
            yield [_ranked(tier, chunk[row[0]], row_of(row, chunk[row[0]].text)) for row in rows]
            if len(rows) == _ROWS_AT_ONCE:  # there may be more of the last word
                last = rows[-1]
                at = next(i for i in range(at, len(candidates)) if candidates[i].number == last[0])
                scope, place, size = last[3], last[4], 1
            else:
                at += len(chunk)
                scope, place, size = "", -1, _FIRST_CHUNK if size == 1 else min(2 * size, _MAX_CHUNK)

    def _reading(
        self, numbers: Sequence[int], role: HitRole, state: LifeState, scope: str, place: int, *, limit: int
    ) -> Statement:
        given = (self._dialect.numbers(numbers), self._ranges, int(role), int(state), limit, scope, place)
        return self._dialect.hits_in_order(self._g), given


def _candidate(role: HitRole, number: int, text: str, folded: str | None) -> _Candidate:
    word = IndexWord(text, None if role is HitRole.DOC else folded)
    return _Candidate(folded_for_order(role, text, folded), word.key.hex(), number, text)


def row_of(row: Any, text: str) -> FoundRow:
    """Return a row of the table of hits with the text of its word."""
    _, role, state, scope, place, path, kind, tags, language, since, until = row
    shown = tuple(tags.split("\x1f")) if tags else ()
    if role == HitRole.ELEMENT:
        path = path or text
    elif role == HitRole.TYPE:
        kind = text
    return FoundRow(text, HitRole(role), LifeState(state), scope, place, path, kind, shown, language, since, until)


def _ranked(tier: int, word: _Candidate, row: FoundRow) -> RankedRow:
    return RankedRow(Rank(tier, row.state, row.role, word.folded, word.digest, row.scope, row.place), row)


def rank_of(tier: int, row: FoundRow) -> Rank:
    """Return the rank of a row that was made of a subject."""
    folded = fold(row.text)
    word = IndexWord(row.text, None if row.role is HitRole.DOC else folded)
    order = folded_for_order(row.role, row.text, folded if tier != DOC_TIER else None)
    return Rank(tier, row.state, row.role, order, word.key.hex(), row.scope, row.place)
