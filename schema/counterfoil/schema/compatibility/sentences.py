"""Sentences about a reader and a writer, stored as values and rendered when they are printed.

A sentence is a template and the facts that fill it. "The reader" and "the writer" in a template are placeholders of the
two sides, and each caller that prints the sentence chooses their names. These words are never replaced in facts (names,
texts, values of a schema).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from string import Formatter
from typing import TYPE_CHECKING, Final, Self, TypeAlias

from counterfoil.schema.caches import cached_if_short

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

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
