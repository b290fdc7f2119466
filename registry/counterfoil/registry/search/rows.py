"""Finding the rows of a query in the tables of an index, in their order, and no more of them than are needed.

Only rows of subjects that the caller may read are read: the conditions are ranges of keys in the index itself. So what
a search costs, returns and counts does not depend on subjects that are hidden from the caller.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from counterfoil.registry.search.dialects import MAX_CANDIDATES, Statement
from counterfoil.registry.search.lives import HitRole, IndexWord, LifeState
from counterfoil.registry.search.matching import (
    DOC_TIER,
    FoundRow,
    QueryMatcher,
    Rank,
    doc_parts,
)
from counterfoil.registry.search.texts import TRIGRAM, fold, folded_beginning
from counterfoil.registry.store.name_ranges import above

if TYPE_CHECKING:
    from counterfoil.registry.search.index import SearchIndex
    from counterfoil.registry.search.protocol import IndexTransaction

LAST_KEY: Final = "\U0010ffff"
"""A text above all keys of subjects."""

MAX_COUNTED: Final = 10_000

_FIRST_CHUNK: Final = 64
_MAX_CHUNK: Final = 512
_ROWS_AT_ONCE: Final = 512


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
    """A word of the index that may match, in the order of hits; ``folded`` is what it is sorted by."""

    folded: str
    digest: str
    number: int
    text: str


class _Count(NamedTuple):
    """How many rows there are, in how many subjects; ``is_cut``: there may be more."""

    hits: int
    subjects: int
    is_cut: bool


_Counts: TypeAlias = "dict[tuple[HitRole, LifeState], _Count]"


class IndexRows:
    """The rows of one query in a generation, within ``ranges`` of keys of subjects.

    ``is_whole``: the ranges are all subjects, so that any row of a word may be looked at.
    """

    def __init__(
        self,
        index: SearchIndex,
        found: IndexTransaction,
        g: int,
        matcher: QueryMatcher,
        *,
        ranges: Sequence[tuple[str, str]],
        is_whole: bool = False,
    ) -> None:
        self._dialect = index.database.dialect
        self._found = found
        self._g = g
        self._matcher = matcher
        self._ranges = self._dialect.ranges(ranges)
        self._is_whole = is_whole
        self._counts: dict[tuple[object, ...], _Counts] = {}
        self._names: dict[str, dict[int, _Candidate]] = {}
        self._judged: dict[tuple[object, ...], dict[int, list[_Candidate]]] = {}
        self.is_cut = False
        """Whether a word matches more names or texts than are looked at."""

    async def in_order(self, roles: Sequence[HitRole], after: Rank | None) -> AsyncIterator[list[RankedRow]]:
        """Yield the rows whose own text matches by their ranks, some at a time, behind ``after``."""
        by_place = await self._candidates(roles)
        absent = await self._absent(roles)
        for tier in sorted({tier for tier, _ in by_place}):
            for state in self._matcher.states:
                for role in sorted(roles):
                    candidates = by_place.get((tier, role), [])
                    if (role, state) in absent or (after is not None and (tier, state, role) < after[:3]):
                        continue
                    behind = after if after is not None and (tier, state, role) == after[:3] else None
                    async for rows in self._of_role(tier, state, role, candidates, behind):
                        yield rows

    async def counts(self, roles: Sequence[HitRole], state: LifeState) -> list[RoleCount]:
        """Count the rows whose own text matches, up to :data:`MAX_COUNTED`."""
        if self._is_whole:
            counted = [await self._counted(role) for role in sorted(roles)]
        else:
            counted = await self._counted_within(sorted(roles), state)
        return [
            RoleCount(role, min(found.hits, MAX_COUNTED), found.subjects, self.is_cut or found.is_cut)
            for role, counts in zip(sorted(roles), counted, strict=True)
            if (found := counts.get((role, state))) is not None
        ]

    async def _absent(self, roles: Sequence[HitRole]) -> set[tuple[HitRole, LifeState]]:
        """Return the roles and states of which no word has a row, as far as one look at all of them says so."""
        if not self._is_whole:
            return set()
        found: set[tuple[HitRole, LifeState]] = set()
        for role in roles:
            counts = await self._counted(role)
            if not any(each.is_cut for each in counts.values()):
                found |= {(role, state) for state in LifeState if (role, state) not in counts}
        return found

    async def _counted(self, role: HitRole) -> _Counts:
        """Return the numbers of rows of the words of a role, by role and state; where all subjects may be read."""
        drivers = self._drivers_of(role)
        known = self._counts.get(drivers)
        if known is None:
            numbers = [each.number for found in (await self._candidates_of(role)).values() for each in found]
            statement = self._dialect.hits_by_role(self._g)
            rows = await self._found.rows(statement, self._dialect.numbers(numbers), MAX_COUNTED + 1)
            is_cut = sum(row[2] for row in rows) > MAX_COUNTED
            known = self._counts[drivers] = {
                (HitRole(role), LifeState(state)): _Count(hits, subjects, is_cut)
                for role, state, hits, subjects in rows
            }
        return known

    async def _counted_within(self, roles: Sequence[HitRole], state: LifeState) -> list[_Counts]:
        """Return the numbers of rows for each role, of which none is read that is not in the ranges."""
        statement = self._dialect.hits_counted(self._g)
        given = []
        for role in roles:
            numbers = [each.number for found in (await self._candidates_of(role)).values() for each in found]
            given.append((self._dialect.numbers(numbers), self._ranges, int(role), int(state), MAX_COUNTED + 1))
        found = await self._found.rows_of_all([(statement, each) for each in given])
        return [
            {(role, state): _Count(hits, subjects, hits > MAX_COUNTED)}
            for role, [(hits, subjects)] in zip(roles, found, strict=True)
        ]

    async def has_row(self, number: int, roles: Sequence[HitRole]) -> list[FoundRow]:
        """Return a row of a word for each role and state that is there."""
        places = [(role, state) for role in roles for state in self._matcher.states]
        found = await self._found.rows_of_all([self._reading([number], *place, "", -1, limit=1) for place in places])
        return [_row_of(row, "") for rows in found for row in rows]

    async def like(self, word: str, limit: int) -> list[tuple[int, str, str]]:
        """Return some names (number, text, folded) that resemble a word."""
        dialect, low = self._dialect, word[:2]
        rows = [*await self._found.rows(dialect.names_from(self._g), low, above(low) or LAST_KEY, limit)]
        like = dialect.names_like(self._g, word, limit)
        if like is not None:
            rows += await self._found.rows(like[0], *like[1])
        return [(number, text, folded) for number, text, folded, _ in rows]

    # --- words

    async def _candidates(self, roles: Sequence[HitRole]) -> dict[tuple[int, HitRole], list[_Candidate]]:
        """Return the words that match, by how well and for which role, each list in order."""
        return {
            (tier, role): candidates for role in roles for tier, candidates in (await self._candidates_of(role)).items()
        }

    async def _candidates_of(self, role: HitRole) -> dict[int, list[_Candidate]]:
        """Return the words that match for a role by how well, in order; words of equal queries are read once."""
        drivers = self._drivers_of(role)
        known = self._judged.get(drivers)
        if known is None:
            words: dict[int, _Candidate] = {}
            for driver in self._matcher.drivers(role):
                words.update(await (self._docs(driver) if role is HitRole.DOC else self._named(driver)))
            known = self._judged[drivers] = self._by_tier(role, words.values())
        return known

    def _drivers_of(self, role: HitRole) -> tuple[object, ...]:
        return (role is HitRole.DOC, *self._matcher.drivers(role))

    def _by_tier(self, role: HitRole, words: Iterable[_Candidate]) -> dict[int, list[_Candidate]]:
        """Return words by how well they match, without those that do not, each list in order."""
        if role is HitRole.DOC and self._dialect.has_doc_words:
            return {DOC_TIER: sorted(words)}  # the database compared the same words
        found: dict[int, list[_Candidate]] = defaultdict(list)
        for each in sorted(words):
            tier = self._matcher.tier(role, each.text, each.folded)
            if tier is not None:
                found[tier].append(each)
        return found

    async def _named(self, word: str) -> dict[int, _Candidate]:
        """Return the names that begin with a word or have it inside, by number."""
        known = self._names.get(word)
        if known is None:
            dialect, end = self._dialect, above(word) or LAST_KEY
            statements: list[Statement] = [(dialect.names_from(self._g), (word, end, MAX_CANDIDATES))]
            if len(word) >= TRIGRAM:
                statements.append(dialect.names_with_part(self._g, word, MAX_CANDIDATES))
            found = await self._found.rows_of_all(statements)
            self.is_cut = self.is_cut or any(len(rows) == MAX_CANDIDATES for rows in found)
            known = self._names[word] = _candidates([row for rows in found for row in rows])
        return known

    async def _docs(self, word: str) -> dict[int, _Candidate]:
        """Return the documentation texts with a word, by number."""
        parts = doc_parts(word)
        if not parts:
            return {}
        statement, arguments = self._dialect.docs_with_words(self._g, parts, MAX_CANDIDATES)
        rows = await self._found.rows(statement, *arguments)
        self.is_cut = self.is_cut or (self._dialect.has_doc_words and len(rows) == MAX_CANDIDATES)
        return _candidates(rows)

    # --- rows

    async def _of_role(
        self, tier: int, state: LifeState, role: HitRole, candidates: Sequence[_Candidate], behind: Rank | None
    ) -> AsyncIterator[list[RankedRow]]:
        first = _FIRST_CHUNK if self._matcher.is_simple else _MAX_CHUNK  # else most rows are no hits
        scope, place, size = "", -1, first
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
            yield [_ranked(tier, chunk[row[0]], _row_of(row, chunk[row[0]].text)) for row in rows]
            if len(rows) == _ROWS_AT_ONCE:  # there may be more of the last word
                last = rows[-1]
                at = next(i for i in range(at, len(candidates)) if candidates[i].number == last[0])
                scope, place, size = last[3], last[4], 1
            else:
                at += len(chunk)
                scope, place, size = "", -1, first if size == 1 else min(2 * size, _MAX_CHUNK)

    def _reading(
        self, numbers: Sequence[int], role: HitRole, state: LifeState, scope: str, place: int, *, limit: int
    ) -> Statement:
        given = (self._dialect.numbers(numbers), self._ranges, int(role), int(state), limit, scope, place)
        return self._dialect.hits_in_order(self._g), given


def _candidates(rows: Sequence[Any]) -> dict[int, _Candidate]:
    return {number: _Candidate(folded, bytes(key).hex(), number, text) for number, text, folded, key in rows}


def _row_of(row: Any, text: str) -> FoundRow:
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
    word = IndexWord(row.text, None if row.role is HitRole.DOC else fold(row.text))
    order = folded_beginning(row.text) if word.folded is None else word.folded
    return Rank(tier, row.state, row.role, order, word.key.hex(), row.scope, row.place)
