"""Finding the rows of a query in the tables of an index, in their order, and no more of them than are needed.

Words are read in the order of hits: those that are equal to the query, those that begin with it, and those that have it
inside. The last are found by an index of parts; if that has very many, each of the next names in order is as likely one
of them, so that these are read instead. So the first rows are the right ones, however common a word is.

Only rows of subjects that the caller may read are read: the conditions are ranges of keys in the index itself. So what
a search returns and counts does not depend on subjects that are hidden from the caller.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from counterfoil.registry.search.dialects import AROUND
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

MAX_COUNTED: Final = 1_000
"""The rows that are counted: more would take longer than to find the hits."""

MAX_CANDIDATES: Final = 2_000
"""The most names or texts that are read of an index of parts; of more, those are read that come next in order."""

MAX_WALKED: Final = 200_000
"""The words of a role that are read for one query at most."""

_TIERS: Final = (*Closeness, DOC_TIER)
_FIRST_CHUNK: Final = 64
_MAX_CHUNK: Final = 512
_ROWS_AT_ONCE: Final = 512
_EVERYTHING: Final = ("", LAST_KEY)
_NOTHING: Final = ("", "")
_WITH_MANY_WORDS: Final = frozenset({HitRole.SUBJECT, HitRole.ELEMENT, HitRole.DOC})
_BEHIND_NOTHING: Final = ("", -1)
_SCOPE: Final = 2
_LANGUAGE: Final = 7
_AROUND: Final = 10
"""The place of the column after those of a hit: what is around its own text."""


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


class RankedRow(NamedTuple):
    """A row whose own text matches, as it was read; most of those with further conditions are no hits.

    Unless ``may_fit``, the database has found that it is none.
    """

    tier: int
    role: HitRole
    word: WordFound
    read: Any
    may_fit: bool = True

    @property
    def scope(self) -> str:
        """The key of its subject."""
        found: str = self.read[_SCOPE]
        return found

    @property
    def row(self) -> FoundRow:
        """The row with the text of its word."""
        return row_of(self.read, self.role, self.word.text)

    @property
    def rank(self) -> Rank:
        """Its place among the hits."""
        _, state, scope, place, *_ = self.read
        return Rank(self.tier, LifeState(state), self.role, self.word.folded, self.word.key.hex(), scope, place)


class _OfParts(NamedTuple):
    """The words of an index of parts; unless ``is_whole`` there are more, and only some numbers are known."""

    words: Sequence[WordFound]
    numbers: Sequence[int]
    is_whole: bool


_NOT_KNOWN: Final = _OfParts((), (), is_whole=False)


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
        self._around = "" if matcher.is_simple else AROUND
        self._missing: dict[int, list[str]] = {}
        self._language = None if matcher.query.language is None else matcher.query.language.value
        self._first: dict[tuple[HitRole, str, str], Sequence[Any]] = {}
        self._by_statements: dict[
            tuple[Statement, ...], tuple[Sequence[int], bool, Mapping[HitRole, Sequence[WordFound]]]
        ] = {}
        self._of_parts: dict[HitRole, _OfParts] = {}
        self.is_cut = False
        """Whether a word matches more names or texts than are looked at."""

    async def in_order(self, roles: Sequence[HitRole], after: Rank | None) -> AsyncIterator[list[RankedRow]]:
        """Yield the rows whose own text matches by their ranks, some at a time, behind ``after``."""
        if after is None:
            await self._read_first(roles)
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
            return limited(role, 0, 0)
        if role is HitRole.DOC:
            return await self._docs_counted(state)
        beginnings = (word, above(word) or LAST_KEY)
        found = await self._counted_of(role, state, beginnings)
        if found.is_cut or len(word) < TRIGRAM:
            return found
        parts = await self._parts(role) if self._dialect.has_parts else _NOT_KNOWN
        if not parts.is_whole:
            return await self._counted_of(role, state, _EVERYTHING, condition=self._dialect.with_part([word], 7))
        inside = [each.number for each in parts.words if word in each.folded and not each.folded.startswith(word)]
        return await self._counted_of(role, state, beginnings, inside) if inside else found

    async def _docs_counted(self, state: LifeState) -> RoleCount:
        if self._dialect.has_doc_words:
            docs = await self._parts(HitRole.DOC)
            found = await self._counted_of(HitRole.DOC, state, _NOTHING, docs.numbers)
            return found if docs.is_whole else limited(HitRole.DOC, found.hits, 0, is_cut=True)
        numbers = [each.number async for some in self._docs_in_order(("", b"")) for each in some]
        return await self._counted_of(HitRole.DOC, state, _NOTHING, numbers)

    async def _counted_of(
        self,
        role: HitRole,
        state: LifeState,
        words: tuple[str, str],
        numbers: Sequence[int] = (),
        *,
        condition: Statement = ("", ()),
    ) -> RoleCount:
        """Count the rows of the words in a range that fulfil a condition, and of those with some numbers."""
        statement = self._dialect.hits_counted(self._g, f" AND ({condition[0]})" if condition[0] else "")
        given = (int(role), *words, int(state), self._dialect.numbers(numbers), MAX_COUNTED + 1, *condition[1])
        [(hits, subjects)] = await self._found.rows(statement, *given)
        return limited(role, hits, subjects, is_cut=hits > MAX_COUNTED)

    async def like(self, roles: Sequence[HitRole], word: str, limit: int) -> list[tuple[HitRole, WordFound]]:
        """Return some names that resemble a word, a few of each role."""
        dialect, low = self._dialect, word[:2]
        found: dict[int, tuple[HitRole, WordFound]] = {}
        for role in roles:
            given = (int(role), low, b"", above(low) or LAST_KEY, limit)
            statements: list[Statement] = [(dialect.words_from(self._g), given)]
            like = dialect.names_like(self._g, role, word, limit)
            rows = await self._found.rows_of_all([*statements, *([] if like is None else [like])])
            found.update((each.number, (role, each)) for some in rows for each in words_found(some))
        return list(found.values())

    async def scopes_of(self, number: int) -> list[str]:
        """Return the subjects of some rows of a word, one for each state."""
        found = await self._found.rows_of_all(
            [self._reading([number], state, *_BEHIND_NOTHING, limit=1) for state in self._matcher.states]
        )
        return [row[_SCOPE] for rows in found for row in rows]

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
        else:
            source = self._walk(role, self._ranges_of(tier, role), start)
        async for some in source:
            yield [each for each in some if self._matcher.tier(role, each.text, each.folded) == tier]

    def _ranges_of(self, tier: int, role: HitRole) -> list[tuple[str, str]]:
        """Return the ranges of the words of a role that are equal to words of the query, or begin with them."""
        drivers = self._matcher.drivers(role)
        if tier == Closeness.EXACT:
            return [(each, each + "\x01") for each in sorted(set(drivers))]
        return [(low, high or LAST_KEY) for low, high in union((each + "\x01", above(each)) for each in drivers)]

    async def _read_first(self, roles: Sequence[HitRole]) -> None:
        """Read the first words of each role and range, all in one go: each turn of a thread takes its time.

        Of roles that have few words, all are read.
        """
        places: list[tuple[HitRole, str, str]] = [
            (role, *each)
            for tier in (Closeness.EXACT, Closeness.BEGINNING)
            for role in roles
            if role is not HitRole.DOC
            for each in self._ranges_of(tier, role)
        ]
        places += [(role, *_EVERYTHING) for role in roles if role not in _WITH_MANY_WORDS]
        statement = self._dialect.words_from(self._g)
        given = [(statement, (int(role), low, b"", high, _FIRST_CHUNK)) for role, low, high in places]
        self._first = dict(zip(places, await self._found.rows_of_all(given), strict=True))
        for role, low, high in places:
            rows = self._first[role, low, high]
            if (low, high) == _EVERYTHING and len(rows) < _FIRST_CHUNK:  # then these are all that the role has
                self._of_parts[role] = _OfParts(words_found(rows), (), is_whole=True)

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

    async def _parts(self, role: HitRole) -> _OfParts:
        """Return the words of a role that an index of parts finds, in order; not all if they are very many."""
        known = self._of_parts.get(role)
        if known is None:
            numbers, is_whole, words = await self._found_parts(tuple(self._parts_of(role)))
            known = self._of_parts[role] = _OfParts(words.get(role, ()), numbers, is_whole)
        return known

    async def _found_parts(
        self, statements: tuple[Statement, ...]
    ) -> tuple[Sequence[int], bool, Mapping[HitRole, Sequence[WordFound]]]:
        """Return the numbers that an index of parts finds, whether they are all, and their words by role if so.

        Most roles have one index together, which is read once.
        """
        known = self._by_statements.get(statements)
        if known is None:
            found = await self._found.rows_of_all(statements) if statements else []
            numbers = list(dict.fromkeys(number for rows in found for (number,) in rows))
            is_whole = all(len(rows) <= MAX_CANDIDATES for rows in found)
            words: dict[HitRole, list[WordFound]] = {}
            if is_whole and numbers:
                statement, given = self._dialect.words_numbered(self._g, numbers)
                for number, text, folded, key, role in await self._found.rows(statement, *given):
                    words.setdefault(HitRole(role), []).append(WordFound(folded, bytes(key), number, text))
            ordered = {role: sorted(each) for role, each in words.items()}
            known = self._by_statements[statements] = numbers, is_whole, ordered
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
                is_first = not condition[0] and reached == (low, b"")
                rows = self._first.get((role, low, high)) if is_first else None
                limit = size if rows is None else _FIRST_CHUNK
                if rows is None:
                    rows = await self._found.rows(statement, int(role), *reached, high, limit, *condition[1])
                yield words_found(rows)
                walked += len(rows)
                if len(rows) < limit:
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
            yield [self._ranked(tier, role, words[by_number[row[0]]], row) for row in rows]
            if len(rows) == limit:  # there may be more of the last word
                at, reached = by_number[rows[-1][0]], (rows[-1][2], rows[-1][3])
                limit = _ROWS_AT_ONCE
            else:
                at, reached = at + len(numbers), _BEHIND_NOTHING

    def _reading(self, numbers: Sequence[int], state: LifeState, scope: str, place: int, *, limit: int) -> Statement:
        given = (self._dialect.numbers(numbers), self._ranges, int(state), limit, scope, place)
        return self._dialect.hits_in_order(self._g, self._around), given

    def _ranked(self, tier: int, role: HitRole, word: WordFound, row: Any) -> RankedRow:
        if not self._around:
            return RankedRow(tier, role, word, row)
        words = self._missing.get(word.number)
        if words is None:
            own = self._matcher.own_words(role, word.text, word.folded)
            missing = [each for each, is_there in zip(self._matcher.mentioned, own, strict=True) if not is_there]
            words = self._missing[word.number] = missing
        may_fit = self._language in {None, row[_LANGUAGE]}
        around = row[_AROUND]
        for each in words:  # a text beyond ASCII may be folded in ways that the database does not know
            may_fit = may_fit and (each in around or not around.isascii())
        return RankedRow(tier, role, word, row, may_fit)


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
    _, state, scope, place, path, kind, tags, language, since, until = row[:_AROUND]
    shown = tuple(tags.split("\x1f")) if tags else ()
    if role is HitRole.ELEMENT:
        path = path or text
    elif role is HitRole.TYPE:
        kind = text
    return FoundRow(text, role, LifeState(state), scope, place, path, kind, shown, language, since, until)


def limited(role: HitRole, hits: int, subjects: int, *, is_cut: bool = False) -> RoleCount:
    """Return a count; of one that is cut, the number of subjects says nothing."""
    return RoleCount(role, min(hits, MAX_COUNTED), 0 if is_cut else subjects, is_cut)
