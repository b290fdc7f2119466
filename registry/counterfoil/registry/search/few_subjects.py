"""The rows of a query in few subjects, found by the words that these have, whatever words others have."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from counterfoil.registry.search.lives import HitRole, LifeState, posting_read
from counterfoil.registry.search.matching import QueryMatcher, Rank, doc_parts
from counterfoil.registry.search.rows import MAX_COUNTED, RankedRow, RoleCount, WordFound, limited, ranked

if TYPE_CHECKING:
    from counterfoil.registry.search.index import SearchIndex
    from counterfoil.registry.search.protocol import IndexTransaction

_FIRST_CHUNK: Final = 64
_MAX_CHUNK: Final = 512


class _Place(NamedTuple):
    """Where rows of a query are: those of a word and a state in a subject, of which there are ``rows``."""

    tier: int
    state: LifeState
    role: HitRole
    folded: str
    key: bytes
    scope: str
    word: WordFound
    rows: int


class FewSubjectsRows:
    """The rows of one query in some subjects, in order."""

    def __init__(
        self, index: SearchIndex, found: IndexTransaction, g: int, matcher: QueryMatcher, *, scopes: Sequence[str]
    ) -> None:
        self._index = index
        self._found = found
        self._g = g
        self._matcher = matcher
        self._scopes = scopes
        self._places: list[_Place] | None = None

    async def in_order(self, roles: Sequence[HitRole], after: Rank | None) -> AsyncIterator[list[RankedRow]]:
        """Yield the rows whose own text matches by their ranks, some at a time, behind ``after``."""
        places = await self._found_places(roles)
        if after is not None:
            reached = (*after[:4], after.key, after.scope)
            places = [each for each in places if each[:6] >= reached]
        at, size = 0, _FIRST_CHUNK
        while at < len(places):
            some = {(each.word.number, each.state, each.scope): each for each in places[at : at + size]}
            dialect = self._index.database.dialect
            rows = await self._found.rows(dialect.hits_at(self._g), dialect.places([*some]))
            found = [(some[row[0], row[1], row[2]], row) for row in rows]
            made = [ranked(place.tier, place.role, place.word, row) for place, row in found]
            yield [each for each in made if after is None or each.rank > after]
            at, size = at + size, min(2 * size, _MAX_CHUNK)

    async def counts(self, roles: Sequence[HitRole], state: LifeState) -> list[RoleCount]:
        """Count the rows whose own text matches."""
        hits: Counter[HitRole] = Counter()
        subjects: dict[HitRole, set[str]] = {}
        for each in await self._found_places(roles):
            if each.state is state:
                hits[each.role] += each.rows
                subjects.setdefault(each.role, set()).add(each.scope)
        return [
            limited(role, number, len(subjects[role]), is_cut=number > MAX_COUNTED)
            for role, number in sorted(hits.items())
        ]

    async def _found_places(self, roles: Sequence[HitRole]) -> list[_Place]:
        if self._places is None:
            postings = await self._index.postings(self._found, self._g, self._scopes)
            words = await self._words(roles, {posting_read(each)[0] for some in postings.values() for each in some})
            self._places = sorted(
                _Place(tier, state, role, word.folded, word.key, scope, word, rows)
                for scope, some in postings.items()
                for (number, state), rows in Counter(map(posting_read, some)).items()
                if number in words and state in self._matcher.states
                for tier, role, word in [words[number]]
            )
        return self._places

    async def _words(self, roles: Sequence[HitRole], numbers: set[int]) -> dict[int, tuple[int, HitRole, WordFound]]:
        """Return those of some words that match, with their role and how well they do."""
        names = {each for role in roles if role is not HitRole.DOC for each in self._matcher.drivers(role)}
        docs = [parts for each in self._matcher.drivers(HitRole.DOC) if (parts := doc_parts(each))]
        statement, given = self._index.database.dialect.words_among(
            self._g, numbers=sorted(numbers), names=sorted(names), docs=docs if HitRole.DOC in roles else []
        )
        found: dict[int, tuple[int, HitRole, WordFound]] = {}
        for number, text, folded, key, role in await self._found.rows(statement, *given):
            tier = self._matcher.tier(HitRole(role), text, folded) if role in roles else None
            if tier is not None:
                found[number] = tier, HitRole(role), WordFound(folded, bytes(key), number, text)
        return found
