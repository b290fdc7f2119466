"""Patterns of JSON schemas as automata in Java (``runtime/Automaton.java``).

Java's own regular expressions differ from ECMA 262, search for a very long time for some texts, and need a stack as
deep as a text is long. An automaton follows all ways through an expression at the same time. Back-references and
atomic groups are no regular languages: patterns with these are written for Java (``runtime/TextPattern.java``), which
counts the steps of a search, where they mean the same there, and are else left to the other engines.
"""

from __future__ import annotations

import string
from typing import TYPE_CHECKING, Final

from counterfoil.converter.engines.cannot import EngineCannot
from counterfoil.converter.engines.java.slots import ENGINE
from counterfoil.converter.engines.java.source import joined
from counterfoil.schema.ecma.matching import groups_of, needs_own_search
from counterfoil.schema.ecma.names import spans_of
from counterfoil.schema.ecma.spelling import Dialect, spell
from counterfoil.schema.ecma.syntax import (
    Atomic,
    BackReference,
    Characters,
    Choice,
    Group,
    Look,
    Place,
    Property,
    Repeated,
    Sequence,
    complement,
    parts_of,
)
from counterfoil.schema.formats.jsonschema.read.patterns import expression_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from counterfoil.schema.ecma.syntax import Expression, Span

_MOST_STATES: Final = 5_000
_KINDS: Final = {"^": 0, "$": 1, "b": 2, "B": 3}
_CHARACTER, _SPLIT, _PLACE, _LOOK, _MATCH = range(5)
_DIGITS: Final = string.digits + string.ascii_lowercase


def pattern_of(pattern: str, where: str) -> str:
    """Return a pattern as the Java expression of a ``TextPattern``. Raises ``EngineCannot``."""
    expression = expression_of(pattern)
    if expression is None:
        raise EngineCannot(ENGINE, field=where, why="a pattern that is none of ECMA 262")
    if not _is_regular(expression):
        if needs_own_search(expression) or not _is_alike(expression):
            raise EngineCannot(
                ENGINE, field=where, why="a pattern with a back-reference whose meaning in Java is another one"
            )
        return f"new TextPattern({joined(spell(expression, Dialect.JAVA))})"
    states, sets = _automaton_of(expression, where)
    return f"new TextPattern({joined(states)}, {joined(sets)})"


def _is_regular(part: Expression) -> bool:
    return not isinstance(part, BackReference | Atomic) and all(map(_is_regular, parts_of(part)))


def _is_alike(expression: Expression) -> bool:
    """Return whether Java means the same by a pattern with back-references or atomic groups.

    It forgets no groups of earlier rounds, and searches backwards only as far as it sees.
    """
    referred = {number for part in _all_of(expression) if isinstance(part, BackReference) for number in part.numbers}
    for part in _all_of(expression):
        if isinstance(part, Look) and part.is_behind:
            if any(isinstance(each, Repeated | BackReference | Atomic) for each in _all_of(part)):
                return False
        elif isinstance(part, Repeated) and groups_of(part.part) & referred:
            return False
    return True


def _all_of(part: Expression) -> Iterator[Expression]:
    """Yield a part and all parts in it."""
    yield part
    for each in parts_of(part):
        yield from _all_of(each)


def _automaton_of(expression: Expression, where: str) -> tuple[str, str]:
    """Return the states and the sets of an expression as the texts that ``Automaton`` reads."""
    maker = _Maker(where)
    maker.make(expression)
    states = " ".join(_base36(number) for state in maker.states for number in state)
    sets = ",".join(" ".join(f"{_base36(first)} {_base36(last)}" for first, last in spans) for spans in maker.sets)
    return states, sets or "1 0"


class _Maker:
    """Makes the states of an expression, each from the one that follows it."""

    def __init__(self, where: str) -> None:
        self.states: list[tuple[int, int, int, int]] = []
        self.sets: list[tuple[Span, ...]] = []
        self._where = where

    def make(self, expression: Expression) -> None:
        """Make all states; the first one is at 0."""
        self._state(_MATCH)  # its place is taken by the state that leads to the first one
        first = self._part(expression, self._state(_MATCH), is_behind=False)
        self.states[0] = (_SPLIT, first, first, 0)

    def _state(self, kind: int, *numbers: int) -> int:
        if len(self.states) >= _MOST_STATES:
            raise EngineCannot(ENGINE, field=self._where, why="a pattern whose repetitions are too large")
        first, second, third = (*numbers, 0, 0, 0)[:3]
        self.states.append((kind, first, second, third))
        return len(self.states) - 1

    def _part(self, part: Expression, after: int, *, is_behind: bool) -> int:
        """Return the first state of a part after which ``after`` comes."""
        match part:
            case Characters():
                return self._state(_CHARACTER, self._set(part), after)
            case Sequence(parts=parts):
                for each in parts if is_behind else reversed(parts):
                    after = self._part(each, after, is_behind=is_behind)
                return after
            case Choice(options=options):
                return self._choice([self._part(option, after, is_behind=is_behind) for option in options])
            case Group(part=inner):
                return self._part(inner, after, is_behind=is_behind)
            case Repeated():
                return self._repeated(part, after, is_behind=is_behind)
            case Place(kind=kind):
                return self._state(_PLACE, _KINDS[kind], after)
            case Look():
                return self._look(part, after)
            case BackReference() | Atomic():
                raise AssertionError(part)

    def _choice(self, firsts: list[int]) -> int:
        found = firsts[-1]
        for first in reversed(firsts[:-1]):
            found = self._state(_SPLIT, first, found)
        return found

    def _look(self, part: Look, after: int) -> int:
        first = self._part(part.part, self._state(_MATCH), is_behind=part.is_behind)
        return self._state(_LOOK, first, int(part.is_negated) + 2 * int(part.is_behind), after)

    def _repeated(self, part: Repeated, after: int, *, is_behind: bool) -> int:
        if part.most is None:
            again = self._state(_SPLIT, after, after)  # is completed when the state inside is known
            self.states[again] = (_SPLIT, self._part(part.part, again, is_behind=is_behind), after, 0)
            after = again
        else:
            end = after
            for _ in range(part.most - part.least):
                after = self._state(_SPLIT, self._part(part.part, after, is_behind=is_behind), end)
        for _ in range(part.least):
            after = self._part(part.part, after, is_behind=is_behind)
        return after

    def _set(self, characters: Characters) -> int:
        spans = _united(
            span
            for item in characters.items
            for span in (_of_property(item) if isinstance(item, Property) else (item,))
        )
        found = complement(spans) if characters.is_negated else spans
        if found not in self.sets:
            self.sets.append(found)
        return self.sets.index(found)


def _of_property(item: Property) -> tuple[Span, ...]:
    spans = spans_of(item.name)
    return complement(spans) if item.is_negated else spans


def _united(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Return spans in ascending order that do not touch."""
    found: list[Span] = []
    for first, last in sorted(spans):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(last, found[-1][1]))
        else:
            found.append((first, last))
    return tuple(found)


def _base36(number: int) -> str:
    made = ""
    while True:
        number, digit = divmod(number, 36)
        made = _DIGITS[digit] + made
        if not number:
            return made
