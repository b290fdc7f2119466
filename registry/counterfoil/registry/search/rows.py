"""Finding the rows of a query in the tables of an index, in their order, and no more of them than are needed.

Words are read in the order of hits: those that are equal to the query, those that begin with it, and those that have it
inside. The last are found by an index of parts; if that has very many, each of the next names in order is as likely one
of them, so that these are read instead. So the first rows are the right ones, however common a word is.

Only rows of subjects that the caller may read are read: the conditions are ranges of keys in the index itself. So what
a search returns and counts does not depend on subjects that are hidden from the caller.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from counterfoil.registry.search.lives import HitRole, LifeState
from counterfoil.registry.search.matching import DOC_TIER, FoundRow, QueryMatcher, Rank, doc_parts
from counterfoil.registry.search.texts import TRIGRAM, Closeness
from counterfoil.registry.store.name_ranges import above, union

if TYPE_CHECKING:
    from counterfoil.registry.search.dialects import Statement
    from counterfoil.registry.search.index import SearchIndex
    from counterfoil.registry.search.protocol import IndexTransaction

LAST_KEY: Final = "\U0010ffff"
"""A text above all keys of subjects."""

MAX_COUNTED: Final = 10_000

MAX_CANDIDATES: Final = 2_000
"""The names or texts that an index of parts is asked for; of more, those are read that come next in order."""

MAX_WALKED: Final = 200_000
"""The words of a role that are read for one query at most."""

_TIERS: Final = (*Closeness, DOC_TIER)
_FIRST_CHUNK: Final = 64
_MAX_CHUNK: Final = 512
_ROWS_AT_ONCE: Final = 512
_EVERYTHING: Final = ("", LAST_KEY)
_BEHIND_NOTHING: Final = ("", -1)


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


class WordFound(NamedTuple):
    """A word of the index that may match, in the order of hits."""

    folded: str
    key: bytes
    number: int
    text: str


class _Complete(NamedTuple):
    """The words of an index of parts; unless ``is_whole`` there are more."""

    words: Sequence[WordFound]
    is_whole: bool


_NOT_KNOWN: Final = _Complete((), is_whole=False)


class IndexRows:
    """The rows of one query in a generation, within ``ranges`` of keys of subjects; about ``wanted`` are needed."""

    def __init__(
        self,
        index: SearchIndex,
        found: IndexTransaction,
        g: int,
        matcher: QueryMatcher,
        *,
        ranges: Sequence[tuple[str, str]],
        wanted: int = _ROWS_AT_ONCE,
    ) -> None:
        self._dialect = index.database.dialect
        self._found = found
        self._g = g
        self._matcher = matcher
        self._ranges = self._dialect.ranges(ranges)
        self._rows_at_once = max(_FIRST_CHUNK, min(wanted, _ROWS_AT_ONCE)) if matcher.is_simple else _ROWS_AT_ONCE
        self._of_parts: dict[HitRole, _Complete] = {}
        self.is_cut = False
        """Whether a word matches more names or texts than are looked at."""

    async def in_order(self, roles: Sequence[HitRole], after: Rank | None) -> AsyncIterator[list[RankedRow]]:
        """Yield the rows whose own text matches by their ranks, some at a time, behind ``after``."""
        for tier in _TIERS:
            for state in self._matcher.states:
                for role in sorted(roles):
                    place = (tier, state, role)
                    if (role is HitRole.DOC) is not (tier == DOC_TIER) or (after is not None and place < after[:3]):
                        continue
                    behind = after if after is not None and place == after[:3] else None
                    async for rows in self._of_role(tier, state, role, behind):
                        yield rows

    async def counts(self, roles: Sequence[HitRole], state: LifeState) -> list[RoleCount]:
        """Count the rows whose own text matches the only word, in all subjects, up to :data:`MAX_COUNTED`."""
        counted = [await self._counted(role, state, *self._matcher.drivers(role)) for role in sorted(roles)]
        return [each for each in counted if each.hits]

    async def _counted(self, role: HitRole, state: LifeState, word: str = "") -> RoleCount:
        if not word or (role is HitRole.DOC and not doc_parts(word)):
            return RoleCount(role, 0, 0, is_cut=False)
        (low, high), condition, given, numbers, is_cut = ("", ""), "", (), [], False
        if role is HitRole.DOC and self._dialect.has_doc_words:
            docs = await self._parts(role)
            numbers, is_cut = [each.number for each in docs.words], not docs.is_whole
        elif role is HitRole.DOC:
            numbers = [each.number async for some in self._docs_in_order(("", b"")) for each in some]
        elif len(word) < TRIGRAM:
            low, high = word, above(word) or LAST_KEY
        elif self._dialect.has_parts and (inside := await self._parts(role)).is_whole:
            low, high = word, above(word) or LAST_KEY
            numbers = [each.number for each in inside.words if not each.folded.startswith(word)]
        else:
            (low, high), (condition, given) = _EVERYTHING, self._dialect.with_part([word], 7)
        rows = await self._found.rows(
            self._dialect.hits_counted(self._g, f" AND ({condition})" if condition else ""),
            *(int(role), low, high, int(state), self._dialect.numbers(numbers), MAX_COUNTED + 1, *given),
        )
        hits, subjects = rows[0]
        return limited(role, hits, subjects, is_cut=is_cut or hits > MAX_COUNTED)

    async def has_row(self, number: int, role: HitRole) -> list[FoundRow]:
        """Return a row of a word for each state that is there."""
        found = await self._found.rows_of_all(
            [self._reading([number], state, *_BEHIND_NOTHING, limit=1) for state in self._matcher.states]
        )
        return [row_of(row, role, "") for rows in found for row in rows]

    async def like(self, role: HitRole, word: str, limit: int) -> list[WordFound]:
        """Return some names that resemble a word."""
        dialect, low = self._dialect, word[:2]
        given = (int(role), low, b"", above(low) or LAST_KEY, limit)
        rows = [*await self._found.rows(dialect.words_from(self._g), *given)]
        like = dialect.names_like(self._g, role, word, limit)
        if like is not None:
            rows += await self._found.rows(like[0], *like[1])
        return words_found(rows)

    # --- words

    async def _words(self, tier: int, role: HitRole, start: tuple[str, bytes]) -> AsyncIterator[list[WordFound]]:
        """Yield the words of a role that match so well, in order from behind ``start``, some at a time."""
        drivers = self._matcher.drivers(role)
        if not drivers:
            return
        if tier == DOC_TIER:
            async for some in self._docs_in_order(start):
                yield some
            return
        if tier == Closeness.INSIDE:
            source = await self._inside(role, [each for each in drivers if len(each) >= TRIGRAM], start)
        elif tier == Closeness.EXACT:
            source = self._walk(role, [(each, each + "\x01") for each in sorted(set(drivers))], start)
        else:
            beginnings = union((each + "\x01", above(each)) for each in drivers)
            source = self._walk(role, [(low, high or LAST_KEY) for low, high in beginnings], start)
        async for some in source:
            yield [each for each in some if self._matcher.tier(role, each.text, each.folded) == tier]

    async def _inside(
        self, role: HitRole, drivers: Sequence[str], start: tuple[str, bytes]
    ) -> AsyncIterator[list[WordFound]]:
        """Return the words of a role that have one of some words inside, in order."""
        if not drivers:
            return _sliced((), start)
        parts = await self._parts(role) if self._dialect.has_parts else _NOT_KNOWN
        if parts.is_whole:
            return _sliced(parts.words, start)
        return self._walk(role, [_EVERYTHING], start, self._dialect.with_part(drivers, 6))

    async def _docs_in_order(self, start: tuple[str, bytes]) -> AsyncIterator[list[WordFound]]:
        parts = [found for each in self._matcher.drivers(HitRole.DOC) if (found := doc_parts(each))]
        if not parts:
            return
        docs = await self._parts(HitRole.DOC) if self._dialect.has_doc_words else _NOT_KNOWN
        if docs.is_whole:
            async for some in _sliced(docs.words, start):
                yield some  # the database compared the same words
            return
        async for some in self._walk(HitRole.DOC, [_EVERYTHING], start, self._dialect.with_doc_words(parts, 6)):
            yield [each for each in some if self._matcher.tier(HitRole.DOC, each.text) is not None]

    async def _parts(self, role: HitRole) -> _Complete:
        """Return the words of a role that an index of parts finds, in order; not all if they are very many."""
        known = self._of_parts.get(role)
        if known is None:
            words: dict[int, WordFound] = {}
            is_whole = True
            for statement, given in self._parts_of(role):
                rows = await self._found.rows(statement, *given)
                is_whole = is_whole and len(rows) <= MAX_CANDIDATES
                words.update((each.number, each) for each in words_found(rows))
            known = self._of_parts[role] = _Complete(sorted(words.values()), is_whole)
        return known

    def _parts_of(self, role: HitRole) -> Iterable[Statement]:
        for each in self._matcher.drivers(role):
            if role is HitRole.DOC:
                if parts := doc_parts(each):
                    yield self._dialect.docs_with_words(self._g, parts, MAX_CANDIDATES + 1)
            elif len(each) >= TRIGRAM:
                yield self._dialect.names_with_part(self._g, role, each, MAX_CANDIDATES + 1)

    async def _walk(
        self,
        role: HitRole,
        ranges: Sequence[tuple[str, str]],
        start: tuple[str, bytes],
        condition: Statement = ("", ()),
    ) -> AsyncIterator[list[WordFound]]:
        """Yield the words in sorted ranges in order, which fulfil a condition."""
        statement = self._dialect.words_from(self._g, f" AND ({condition[0]})" if condition[0] else "")
        size, walked = _FIRST_CHUNK, 0
        for low, high in ranges:
            reached = max((low, b""), start)
            while reached[0] < high:
                rows = await self._found.rows(statement, int(role), *reached, high, size, *condition[1])
                yield words_found(rows)
                walked += len(rows)
                if len(rows) < size:
                    break
                if walked > MAX_WALKED:
                    self.is_cut = True
                    return
                reached, size = (rows[-1][2], bytes(rows[-1][3])), min(2 * size, _MAX_CHUNK)

    # --- rows

    async def _of_role(
        self, tier: int, state: LifeState, role: HitRole, behind: Rank | None
    ) -> AsyncIterator[list[RankedRow]]:
        start, reached = ("", b""), _BEHIND_NOTHING
        key = b"" if behind is None else behind.key
        if behind is not None:
            start, reached = (behind.folded, key[:-1]), (behind.scope, behind.place)
        async for found in self._words(tier, role, start):
            words = [each for each in found if behind is None or (each.folded, each.key) >= (behind.folded, key)]
            if not words:
                continue
            if behind is not None and words[0][:2] != (behind.folded, key):
                reached = _BEHIND_NOTHING
            async for some in self._of_words(tier, state, role, words, reached):
                yield some
            behind, reached = None, _BEHIND_NOTHING

    async def _of_words(
        self, tier: int, state: LifeState, role: HitRole, words: Sequence[WordFound], reached: tuple[str, int]
    ) -> AsyncIterator[list[RankedRow]]:
        """Yield the rows of words in order; of the first word those behind a scope and place."""
        by_number = {each.number: at for at, each in enumerate(words)}
        at, limit = 0, self._rows_at_once
        while at < len(words):
            is_alone = reached != _BEHIND_NOTHING
            numbers = [each.number for each in (words[at : at + 1] if is_alone else words[at:])]
            statement, given = self._reading(numbers, state, *reached, limit=limit)
            rows = await self._found.rows(statement, *given)
            yield [ranked(tier, role, words[by_number[row[0]]], row) for row in rows]
            if len(rows) == limit:  # there may be more of the last word
                at, reached = by_number[rows[-1][0]], (rows[-1][2], rows[-1][3])
                limit = _ROWS_AT_ONCE
            else:
                at, reached = at + len(numbers), _BEHIND_NOTHING

    def _reading(self, numbers: Sequence[int], state: LifeState, scope: str, place: int, *, limit: int) -> Statement:
        given = (self._dialect.numbers(numbers), self._ranges, int(state), limit, scope, place)
        return self._dialect.hits_in_order(self._g), given


def words_found(rows: Sequence[Any]) -> list[WordFound]:
    """Return rows of the table of words as values."""
    return [WordFound(folded, bytes(key), number, text) for number, text, folded, key in rows]


async def _sliced(words: Sequence[WordFound], start: tuple[str, bytes]) -> AsyncIterator[list[WordFound]]:
    """Yield sorted words behind a place in order, more and more at a time."""
    rest = [each for each in words if each[:2] > start]
    at, size = 0, _FIRST_CHUNK
    while at < len(rest):
        yield rest[at : at + size]
        at, size = at + size, min(2 * size, _MAX_CHUNK)


def row_of(row: Any, role: HitRole, text: str) -> FoundRow:
    """Return a row of the table of hits with the role and text of its word."""
    _, state, scope, place, path, kind, tags, language, since, until = row
    shown = tuple(tags.split("\x1f")) if tags else ()
    if role is HitRole.ELEMENT:
        path = path or text
    elif role is HitRole.TYPE:
        kind = text
    return FoundRow(text, role, LifeState(state), scope, place, path, kind, shown, language, since, until)


def ranked(tier: int, role: HitRole, word: WordFound, row: Any) -> RankedRow:
    """Return a row of the table of hits with its rank."""
    found = row_of(row, role, word.text)
    return RankedRow(Rank(tier, found.state, role, word.folded, word.key.hex(), found.scope, found.place), found)


def limited(role: HitRole, hits: int, subjects: int, *, is_cut: bool) -> RoleCount:
    """Return a count; of one that is cut, the number of subjects says nothing."""
    return RoleCount(role, min(hits, MAX_COUNTED), 0 if is_cut else subjects, is_cut)
