"""What the index has of one subject: the lives of its facts through its versions, and the rows made of them.

It is a function of the subject's versions, of their contents and of its associations, whichever way they came to be.
So an index that has followed the journal equals one that was built anew.
"""

from __future__ import annotations

import json
import sys
import zlib
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cache
from hashlib import blake2b
from itertools import zip_longest
from typing import Final, NamedTuple

from counterfoil.registry.search.texts import MAX_DOC_CHARS, fold, folded_beginning, storable
from counterfoil.registry.subjects.versions import SubjectHistory, VersionEntry
from counterfoil.schema.contexts import QualifiedSubject
from counterfoil.schema.rest.search_index import HitKind
from counterfoil.schema.searchable import SearchFact, element_name

MAX_SCOPE_CHARS: Final = 600
"""The characters of a subject's name, with its context, that an index row can have; a longer one is listed."""

_SEPARATOR: Final = "\x1f"
_AFTER_SEPARATOR: Final = "\x20"
_KEY_BYTES: Final = 16
_PLACES_A_VERSION: Final = 2**20
_PACKING: Final = 1


class HitRole(IntEnum):
    """What a row says of its word; the numbers are the order of hits that match equally well."""

    SUBJECT = 0
    ELEMENT = 1
    TYPE = 2
    """The word is the type of an element."""
    SYMBOL = 3
    TAG = 4
    PROPERTY = 5
    TOPIC = 6
    DOC = 7


KIND_OF_ROLE: Final = {
    HitRole.SUBJECT: HitKind.SUBJECT,
    HitRole.ELEMENT: HitKind.ELEMENT,
    HitRole.TYPE: HitKind.ELEMENT,
    HitRole.SYMBOL: HitKind.SYMBOL,
    HitRole.TAG: HitKind.TAG,
    HitRole.PROPERTY: HitKind.PROPERTY,
    HitRole.TOPIC: HitKind.TOPIC,
    HitRole.DOC: HitKind.DOC,
}
_KIND_BY_NUMBER: Final = {role.value: kind for role, kind in KIND_OF_ROLE.items()}
_ROLE_OF_KIND: Final = {kind: role for role, kind in KIND_OF_ROLE.items() if role is not HitRole.TYPE}


class LifeState(IntEnum):
    """Where a life is: in the latest version, in an earlier one, or in soft-deleted versions alone."""

    LATEST = 0
    EARLIER = 1
    DELETED = 2


# Names of subjects as keys, which sort by context and then by name.


def scope_key(subject: QualifiedSubject) -> str:
    """Return the key of a subject, or of a context with an empty name, from which its subjects' keys begin."""
    return f"{subject.context}{_SEPARATOR}{subject.name}"


def subject_of(scope: str) -> QualifiedSubject:
    """Return the subject of a key."""
    context, _, name = scope.partition(_SEPARATOR)
    return QualifiedSubject(context, name)


def end_of_context(context: str) -> str:
    """Return the lowest key above those of a context's subjects."""
    return context + _AFTER_SEPARATOR


# Words: the distinct texts that rows refer to.


class IndexWord(NamedTuple):
    """A distinct text of the rows with a role; names are compared and sorted by ``folded``.

    A documentation text is compared by its words, and sorted by ``folded``, which is of its beginning.
    """

    role: HitRole
    text: str
    folded: str

    @property
    def key(self) -> bytes:
        """A digest by which the word is found again."""
        return blake2b(self.text.encode(), digest_size=_KEY_BYTES, person=_PERSON_BY_ROLE[self.role]).digest()


_PERSON_BY_ROLE: Final = {role: b"%d" % role for role in HitRole}


def word_of(role: HitRole, text: str) -> IndexWord:
    """Return a text as a word of the index."""
    text = storable(text[:MAX_DOC_CHARS])
    return IndexWord(role, text, folded_beginning(text) if role is HitRole.DOC else fold(text))


class HitRow(NamedTuple):
    """A row of the index, before its word has a number. The first four are its key."""

    word: IndexWord
    state: LifeState
    scope: str
    place: int
    path: str = ""
    type: str = ""
    tags: tuple[str, ...] = ()
    language: str = ""
    since: int = 0
    until: int | None = None


# The lives of a subject's facts.


class FactLife(NamedTuple):
    """A fact in consecutive versions of its subject; ``until`` is None if it is in the last one.

    ``place`` orders the lives by their first version, and by the place of the fact in its text.
    """

    fact: SearchFact
    language: str
    since: int
    until: int | None
    place: int


class VersionFacts(NamedTuple):
    """The facts of one version, in the order of its text."""

    version: int
    language: str
    facts: Sequence[SearchFact]


@dataclass(frozen=True, slots=True)
class IndexedSubject:
    """What the index has of a subject.

    ``count`` and ``digest`` say which versions it was made of, and ``last`` is the number of the last one; ``active``
    are the numbers of those that are not deleted. ``languages`` are pairs: from which version on it has which language.
    """

    count: int = 0
    digest: str = ""
    last: int = 0
    active: tuple[int, ...] = ()
    languages: tuple[tuple[int, str], ...] = ()
    lives: tuple[FactLife, ...] = ()
    topics: tuple[str, ...] = ()

    @property
    def latest(self) -> int | None:
        """The number of the latest version that is not deleted."""
        return self.active[-1] if self.active else None

    def is_beginning_of(self, history: SubjectHistory) -> bool:
        """Return whether it was made of the first versions of ``history``, so that only further ones are missing."""
        return 0 < self.count <= len(history.entries) and self.digest == _digest(history.entries[: self.count])

    def with_versions(self, history: SubjectHistory, further: Iterable[VersionFacts]) -> IndexedSubject:
        """Return it with the facts of further versions, so that it has all of ``history``."""
        lives = list(self.lives)
        open_lives = {(life.fact, life.language): at for at, life in enumerate(lives) if life.until is None}
        languages, last = list(self.languages), self.last
        for version, language, facts in further:
            here = dict.fromkeys((fact, language) for fact in facts)
            for key in [key for key in open_lives if key not in here]:
                at = open_lives.pop(key)
                lives[at] = lives[at]._replace(until=last)
            for place, key in enumerate(here):
                if key not in open_lives:
                    open_lives[key] = len(lives)
                    lives.append(FactLife(key[0], language, version, None, version * _PLACES_A_VERSION + place))
            if not languages or languages[-1][1] != language:
                languages.append((version, language))
            last = version
        return replace(
            self,
            count=len(history.entries),
            digest=_digest(history.entries),
            last=last,
            active=tuple(entry.version for entry in history.active),
            languages=tuple(languages),
            lives=tuple(lives),
        )

    @property
    def language(self) -> str:
        """The language of the latest version, of the last one if all are deleted."""
        shown = self.latest or self.last
        return next((language for first, language in reversed(self.languages) if first <= shown), "")

    def state_of(self, since: int, until: int | None) -> LifeState:
        """Return where a life is."""
        end = self.last if until is None else until
        latest = self.latest
        if latest is not None and since <= latest <= end:
            return LifeState.LATEST
        at = bisect_left(self.active, since)
        return LifeState.EARLIER if at < len(self.active) and self.active[at] <= end else LifeState.DELETED

    def rows(self, subject: QualifiedSubject) -> Iterator[HitRow]:
        """Yield the rows of the index about the subject."""
        yield from self._own_rows(subject)
        scope = scope_key(subject)
        for life in self.lives:
            yield from _rows_of(life, scope, self.state_of(life.since, life.until))

    def differences(self, before: IndexedSubject, subject: QualifiedSubject) -> tuple[list[HitRow], list[HitRow]]:
        """Return the rows that it has and ``before`` has not, and the reverse.

        Lives that are the same in both are left out before rows are made of them: most are, and they are the same
        values at the same places, since :meth:`with_versions` only replaces some and adds others.
        """
        scope = scope_key(subject)
        state_of, state_before = cache(self.state_of), cache(before.state_of)
        known: set[tuple[FactLife, LifeState]] = set()
        present: set[tuple[FactLife, LifeState]] = set()
        for here, there in zip_longest(self.lives, before.lives):
            state = None if here is None else state_of(here.since, here.until)
            earlier = None if there is None else state_before(there.since, there.until)
            if here is there and state is earlier:
                continue
            if here is not None and state is not None:
                present.add((here, state))
            if there is not None and earlier is not None:
                known.add((there, earlier))
        new = [row for life, state in present - known for row in _rows_of(life, scope, state)]
        old = [row for life, state in known - present for row in _rows_of(life, scope, state)]
        own, own_before = set(self._own_rows(subject)), set(before._own_rows(subject))
        return [*(own - own_before), *new], [*(own_before - own), *old]

    def _own_rows(self, subject: QualifiedSubject) -> Iterator[HitRow]:
        scope = scope_key(subject)
        if not self.count:
            return
        own = LifeState.LATEST if self.active else LifeState.DELETED
        language = self.language
        yield HitRow(word_of(HitRole.SUBJECT, subject.name), own, scope, 0, language=language)
        for place, topic in enumerate(self.topics):
            yield HitRow(word_of(HitRole.TOPIC, topic), own, scope, place, language=language)

    # --- as it is stored

    def packed(self) -> bytes:
        """Return it as bytes."""
        lives = [
            [_ROLE_OF_KIND[fact.kind], fact.text, fact.path, fact.type, list(fact.tags), language, since, until, place]
            for fact, language, since, until, place in self.lives
        ]
        given = [self.count, self.digest, self.last, self.active, self.languages, lives, self.topics]
        return zlib.compress(json.dumps(given, separators=(",", ":")).encode(), _PACKING)

    @classmethod
    def unpacked(cls, packed: bytes) -> IndexedSubject:
        """Return what :meth:`packed` made bytes of."""
        count, digest, last, active, languages, lives, topics = json.loads(zlib.decompress(packed))
        return cls(
            count,
            digest,
            last,
            tuple(active),
            tuple((first, language) for first, language in languages),
            tuple(
                FactLife(
                    SearchFact(_KIND_BY_NUMBER[role], text, path, kind, tuple(tags)),
                    language,
                    since,
                    until,
                    place,
                )
                for role, text, path, kind, tags, language, since, until, place in lives
            ),
            tuple(topics),
        )


NOT_INDEXED: Final = IndexedSubject()
"""What the index has of a subject without versions: nothing."""


def _rows_of(life: FactLife, scope: str, state: LifeState) -> Iterator[HitRow]:
    fact, language, since, until, place = life
    role = _ROLE_OF_KIND[fact.kind]
    facts = (fact.path, fact.type, fact.tags, language, since, until)
    yield HitRow(word_of(role, fact.text), state, scope, place, *facts)
    if role is HitRole.ELEMENT and fact.type and fact.text == element_name(fact.path):
        yield HitRow(word_of(HitRole.TYPE, fact.type), state, scope, place, *facts)


# Postings: which words a subject has, as numbers, so that a caller who may read few subjects is answered from these.

_STATES: Final = 4


def posting(number: int, state: LifeState) -> int:
    """Return a word of a life in a state as one number.

    >>> posting_read(posting(12, LifeState.EARLIER))
    (12, <LifeState.EARLIER: 1>)
    """
    return number * _STATES + state


def posting_read(value: int) -> tuple[int, LifeState]:
    """Return the number of the word and the state in a posting."""
    return value // _STATES, LifeState(value % _STATES)


def postings_packed(postings: Iterable[int]) -> bytes:
    """Return postings as bytes, sorted; one is there as often as there are rows."""
    found = array("Q", sorted(postings))
    if sys.byteorder == "big":
        found.byteswap()
    return found.tobytes()


def postings_unpacked(packed: bytes) -> Sequence[int]:
    """Return what :func:`postings_packed` made bytes of."""
    found = array("Q", packed)
    if sys.byteorder == "big":
        found.byteswap()
    return found


def _digest(entries: Sequence[VersionEntry]) -> str:
    digest = blake2b(digest_size=_KEY_BYTES)
    for entry in entries:
        digest.update(entry.version.to_bytes(4, "big") + entry.guid.bytes)
    return digest.hexdigest()
