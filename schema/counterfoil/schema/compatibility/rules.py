"""Compatibility rules as data, and their sentences about a reader and a writer, as values until printed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from string import Formatter
from typing import TYPE_CHECKING, Final, Self, TypeAlias

from counterfoil.schema.caches import cached_if_short
from counterfoil.schema.compatibility.policies import CompatibilityPolicy

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from counterfoil.schema.model import SchemaType


# Sentences about a reader and a writer, stored as values and rendered when they are printed.
#
# A sentence is a template and the facts that fill it. "The reader" and "the writer" in a template are placeholders of
# the two sides, and each caller that prints the sentence chooses their names. These words are never replaced in facts
# (names, texts, values of a schema).

Fact: TypeAlias = "str | tuple[str, ...] | Sentence"

_SIDE: Final = re.compile(r"\b([Tt])he (reader|writer)('s)?\b")


@dataclass(frozen=True, slots=True)
class SideNames:
    """The names of the reader and the writer, each in the plain form and as a possessive (``the reader's``)."""

    reader: str
    writer: str
    readers: str
    writers: str


PLAIN_NAMES: Final = SideNames("the reader", "the writer", "the reader's", "the writer's")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A template for ``str.format``, and its facts: texts, tuples of texts, and sentences that continue it."""

    template: str
    facts: tuple[tuple[str, Fact], ...] = ()

    @classmethod
    def of(cls, template: str, facts: Mapping[str, object]) -> Self:
        """Return the sentence of ``template`` and ``facts``; facts other than sentences and tuples become texts."""
        return cls(template, tuple((name, _as_fact(fact)) for name, fact in facts.items()))

    def fact(self, name: str) -> Fact | None:
        """Return the fact named ``name``; None if there is none."""
        return next((fact for known, fact in self.facts if known == name), None)

    def render(self, names: SideNames = PLAIN_NAMES, *, is_start: bool = True) -> str:
        """Return the text, with ``names`` for the two sides.

        If ``is_start`` is false, the first letter of the template is in lower case; a fact at the start is unchanged.

        >>> sentence = Sentence.of("The reader lacks {name}", {"name": "the writer"})
        >>> sentence.render(SideNames("this schema", "that one", "this schema's", "that one's"), is_start=False)
        'this schema lacks the writer'
        """
        return "".join(self._rendered(names, is_start=is_start))

    def __str__(self) -> str:
        return self.render()

    def _rendered(self, names: SideNames, *, is_start: bool) -> Iterable[str]:
        fact_by_name = dict(self.facts)
        for index, piece in enumerate(_pieces(self.template)):
            if piece.fact is not None:
                yield _show(fact_by_name[piece.fact], names, is_start=is_start and index == 0)
            else:
                text: str = piece.text if piece.side is None else getattr(names, piece.side)
                is_capital = piece.is_capital and (is_start or index > 0)
                yield _with_first(text, is_capital=is_capital) if piece.side or index == 0 else text


@dataclass(frozen=True, slots=True)
class _Piece:
    """A part of a template: a text, the name of a side (a member of :class:`SideNames`), or the name of a fact."""

    text: str = ""
    side: str | None = None
    fact: str | None = None
    is_capital: bool = False


@cached_if_short(1024, longest=2_000)
def _pieces(template: str) -> tuple[_Piece, ...]:
    pieces: list[_Piece] = []
    for literal, fact, _, _ in Formatter().parse(template):
        pieces += _of_literal(literal)
        if fact is not None:
            pieces.append(_Piece(fact=fact))
    return tuple(pieces)


def _of_literal(literal: str) -> Iterable[_Piece]:
    end = 0
    for found in _SIDE.finditer(literal):
        if found.start() > end:
            yield _of_text(literal[end : found.start()])
        yield _Piece(side=f"{found[2]}s" if found[3] else found[2], is_capital=found[1] == "T")
        end = found.end()
    if end < len(literal):
        yield _of_text(literal[end:])


def _of_text(text: str) -> _Piece:
    return _Piece(text=text, is_capital=text[:1].isupper())


def _with_first(text: str, *, is_capital: bool) -> str:
    first = text[:1]
    return (first.upper() if is_capital else first.lower()) + text[1:]


def _as_fact(fact: object) -> Fact:
    return fact if isinstance(fact, Sentence | tuple) else str(fact)


def show(fact: object) -> str:
    """Return a fact as a text; the items of a tuple are joined with commas."""
    return ", ".join(fact) if isinstance(fact, tuple) else str(fact)


def _show(fact: Fact, names: SideNames, *, is_start: bool) -> str:
    return fact.render(names, is_start=is_start) if isinstance(fact, Sentence) else show(fact)


# A compatibility rule as data. Pair walks find the places where it applies; reports, pages and tests read the tables.
#
# Each language has its table in ``languages/<language>/compare/rules.py``;
# :mod:`counterfoil.schema.languages.rules` joins them.

ALWAYS: Final = frozenset(CompatibilityPolicy)
"""All policies: the rule breaks under every one."""
NEVER: Final[frozenset[CompatibilityPolicy]] = frozenset()
"""No policy: the difference is reported and breaks no reader."""


@dataclass(frozen=True, slots=True)
class CompatibilityRule:
    """One kind of difference between a writer and a reader.

    ``id`` is this project's name of the rule and unique across all languages. ``schema_type`` is the language (None:
    all of them). ``error_type`` is Confluent's name (empty if the reference has none). ``breaks`` are the policies
    under which the reader cannot read everything. ``sentence`` is the template of a
    :class:`Sentence`. ``why`` is what goes wrong with the records (or why
    nothing does), and ``fix`` how to correct it (empty: nothing needs to be corrected). ``forward_fix`` is the
    advice where the reader is deployed already and cannot be changed (empty: that of the language).
    ``promises_witness`` is whether every finite place of this rule has a datum that a decoder refuses or misreads; some
    checks are stricter than decoders, such as those of the names of records. ``is_of_change``: the rule is about what
    a later schema takes away from the one before, whatever is read; it does not break where the later one writes.
    ``of_side`` (``reader`` or ``writer``): the rule is about a fault of that schema alone, which counts while the
    schema is the one that is judged, and no longer when it is an earlier version.

    Each rule has a folder named after its id under ``tests/rules/`` with the schemas ``previous`` and ``current`` and
    the expected findings. The rule's page in the docs shows these schemas as its example.
    """

    id: str
    schema_type: SchemaType | None
    error_type: str
    sentence: str
    why: str
    fix: str = ""
    forward_fix: str = ""
    breaks: frozenset[CompatibilityPolicy] = ALWAYS
    promises_witness: bool = True
    is_of_change: bool = False
    of_side: str = ""

    @property
    def page(self) -> str:
        """The path of the rule's page below ``docs/reference/``."""
        folder = self.schema_type.value.lower() if self.schema_type else "logical"
        return f"rules/{folder}/{self.id}.md"

    def about(self, facts: Mapping[str, object]) -> Sentence:
        """Return the rule's sentence with these facts."""
        return Sentence.of(self.sentence, facts)
