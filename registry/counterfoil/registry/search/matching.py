"""Which rows of an index are hits of a query, and in which order: the meaning of a search, whatever finds the rows."""

from __future__ import annotations

import base64
import binascii
import json
import re
import zlib
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

from counterfoil.registry.search.lives import HitRole, HitRow, LifeState, subject_of
from counterfoil.registry.search.questions import QueryWord, SearchExtent, SearchQuery, SearchQuestion, WordScope
from counterfoil.registry.search.texts import closeness, contains, fold, storable, words_begin, words_of_doc
from counterfoil.schema.contexts import QualifiedSubject
from counterfoil.schema.errors import BadRequest
from counterfoil.schema.searchable import element_name

DOC_TIER: Final = 3
"""The rank of documentation, after every name, however well it matches."""

_WORDS: Final = re.compile(r"[^\W_]+")
_SCOPE_OF_ROLE: Final = {
    HitRole.SUBJECT: WordScope.SUBJECT,
    HitRole.ELEMENT: WordScope.FIELD,
    HitRole.TYPE: WordScope.TYPE,
    HitRole.SYMBOL: WordScope.SYMBOL,
    HitRole.TAG: WordScope.TAG,
    HitRole.PROPERTY: WordScope.PROPERTY,
    HitRole.TOPIC: WordScope.TOPIC,
    HitRole.DOC: WordScope.DOC,
}
_FILTERS: Final = frozenset({WordScope.TYPE, WordScope.TAG, WordScope.SUBJECT})
_WITH_ELEMENT: Final = frozenset({HitRole.ELEMENT, HitRole.TYPE, HitRole.TAG, HitRole.DOC})


class Rank(NamedTuple):
    """What hits are sorted by: how well they match, where they are, what they are, and then by name.

    ``folded`` is the folded text, of documentation its beginning, and ``word`` a digest of the whole text.
    """

    tier: int
    state: LifeState
    role: HitRole
    folded: str
    word: str
    scope: str
    place: int

    @property
    def key(self) -> bytes:
        """The digest of the word, as it is stored."""
        return bytes.fromhex(self.word)

    @property
    def cursor(self) -> str:
        """The rank as a text, from which a search goes on."""
        packed = zlib.compress(json.dumps([*self[:1], int(self.state), int(self.role), *self[3:]]).encode())
        return base64.urlsafe_b64encode(packed).rstrip(b"=").decode()

    @classmethod
    def read(cls, cursor: str) -> Rank:
        """Return the rank in a cursor; raise ``BadRequest`` for a text that is none."""
        try:
            packed = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
            unpacked = zlib.decompressobj().decompress(packed, _MAX_CURSOR)
            tier, state, role, folded, word, scope, place = json.loads(unpacked)
            found = cls(tier, LifeState(state), HitRole(role), folded, word, scope, place)
            numbers, texts = (found.tier, found.place), (found.folded, found.word, found.scope)
            is_typed = all(type(each) is int for each in numbers) and all(type(each) is str for each in texts)
            if is_typed and found.place.bit_length() < _PLACE_BITS and all(storable(each) == each for each in texts):
                bytes.fromhex(found.word)
                return found
        except (binascii.Error, zlib.error, ValueError, TypeError):
            pass
        raise BadRequest("The parameter 'after' is not valid; expected the 'next' of the page before")


_MAX_CURSOR: Final = 16 * 1024
_PLACE_BITS: Final = 63


class FoundRow(NamedTuple):
    """A row of the index with the text of its word."""

    text: str
    role: HitRole
    state: LifeState
    scope: str
    place: int
    path: str
    type: str
    tags: tuple[str, ...]
    language: str
    since: int
    until: int | None

    @classmethod
    def of(cls, row: HitRow) -> FoundRow:
        """Return a row that was made of a subject."""
        return cls(row.word.text, row.word.role, *row[1:])

    @property
    def subject(self) -> QualifiedSubject:
        """The subject that it is about."""
        return subject_of(self.scope)

    @property
    def name(self) -> str:
        """The name of its element."""
        return self.text if self.role is HitRole.ELEMENT else element_name(self.path)


@dataclass(frozen=True)
class QueryMatcher:
    """Decides which rows are hits of a query: all words have to match, and one of them the row's own text.

    No row is a hit by its name and by its type: a type is compared where no word is a name.
    """

    query: SearchQuery
    question: SearchQuestion

    @cached_property
    def states(self) -> tuple[LifeState, ...]:
        """Where a life has to be, in order."""
        if self.query.is_deleted:
            return (LifeState.DELETED,)
        latest_only = self.question.within is SearchExtent.LATEST
        return (LifeState.LATEST,) if latest_only else (LifeState.LATEST, LifeState.EARLIER)

    @cached_property
    def _drivers(self) -> dict[HitRole, list[str]]:
        words = self.query.words
        if any(each.scope not in _FILTERS for each in words):
            words = tuple(each for each in words if each.scope not in _FILTERS)
        found = {}
        for role, scope in _SCOPE_OF_ROLE.items():
            wanted = {scope} if role is HitRole.TYPE else {scope, WordScope.NAMES}
            found[role] = [each.text for each in words if each.scope in wanted]
        return found

    def drivers(self, role: HitRole) -> list[str]:
        """Return the words that the own text of rows with a role may match.

        Types, tags and subjects only limit the hits of a query that has other words.
        """
        return self._drivers[role]

    def tier(self, role: HitRole, text: str, folded: str | None = None) -> int | None:
        """Return how well an own text matches, the lowest is the best; None if it does not."""
        drivers = self.drivers(role)
        if role is HitRole.DOC:
            return DOC_TIER if any(self._is_in_doc(text, each) for each in drivers) else None
        folded = fold(text) if folded is None else folded
        found = [best for each in drivers if (best := closeness(folded, each)) is not None]
        return min(found, default=None)

    def fits(self, row: FoundRow) -> bool:
        """Return whether a row whose own text matches is a hit: in state, language, and all other words."""
        if row.state not in self.states or self.query.language not in {None, row.language}:
            return False
        return all(self._matches(row, each) for each in self.query.words)

    @cached_property
    def is_simple(self) -> bool:
        """Whether every row whose own text matches, and whose state is wanted, is a hit."""
        return len(self.query.words) == 1 and self.query.language is None

    def _matches(self, row: FoundRow, word: QueryWord) -> bool:
        text = word.text
        if word.scope is WordScope.SUBJECT:
            return contains(fold(row.subject.name), text)
        if word.scope is _SCOPE_OF_ROLE[row.role]:
            return self._own_matches(row, text)
        if word.scope is WordScope.NAMES:
            around = (row.path, row.type, row.subject.name)  # cheaper than a documentation text
            return any(contains(fold(each), text) for each in around) or self._own_matches(row, text)
        if row.role not in _WITH_ELEMENT:
            return False
        if word.scope is WordScope.FIELD:
            return contains(fold(row.name), text)
        if word.scope is WordScope.TYPE:
            return contains(fold(row.type), text)
        return word.scope is WordScope.TAG and any(contains(fold(each), text) for each in row.tags)

    def _own_matches(self, row: FoundRow, text: str) -> bool:
        if row.role is HitRole.DOC:
            return self._is_in_doc(row.text, text)
        return contains(fold(row.text), text)

    def _is_in_doc(self, doc: str, word: str) -> bool:
        """Return whether a documentation text has a word; its words are found once, for all its rows."""
        words = self._words_by_doc.get(doc)
        if words is None:
            words = self._words_by_doc[doc] = words_of_doc(doc)
        return _is_in_doc(words, word)

    @cached_property
    def _words_by_doc(self) -> dict[str, list[str]]:
        return {}


def doc_parts(word: str) -> list[str]:
    """Return the parts of a word of a query with which words of a documentation text have to begin."""
    return _WORDS.findall(word)


def _is_in_doc(words: list[str], word: str) -> bool:
    parts = doc_parts(word)
    return bool(parts) and all(words_begin(words, each) for each in parts)
