"""The parts of an object or array that a schema evaluates, for ``unevaluatedProperties`` and ``unevaluatedItems``.

What is evaluated depends on which branches hold. Therefore each way in which a schema can hold is listed, with its
constraints and the properties and items that are then evaluated. For one way, the unevaluated schema applies to the
rest, just as ``additionalProperties`` or ``items`` would.

Source: the core specifications of 2019-09 and 2020-12, "Unevaluated locations".
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Final

from counterfoil.schema.formats.jsonschema.view.facts import ANYTHING, Facts, Schema

if TYPE_CHECKING:
    from collections.abc import Iterator

    Literal = tuple[Schema, bool]

MAX_WAYS: Final = 128
"""The largest number of ways in which a schema may hold; a schema with more is not decided."""

_MAX_DEPTH: Final = 30


class TooManyWays(Exception):
    """The error for a schema that can hold in more than ``MAX_WAYS`` ways, or whose ways cannot be listed."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """The evaluated parts: properties by name and pattern, the first items, and items that fit one of ``contained``."""

    names: frozenset[str] = frozenset()
    patterns: frozenset[str] = frozenset()
    first: int = 0
    contained: tuple[Schema, ...] = ()
    is_all: bool = False

    def __or__(self, other: Coverage) -> Coverage:
        return Coverage(
            self.names | other.names,
            self.patterns | other.patterns,
            max(self.first, other.first),
            tuple(dict.fromkeys((*self.contained, *other.contained))),
            self.is_all or other.is_all,
        )


@dataclass(frozen=True, slots=True)
class Way:
    """One way in which a schema holds: the literals that hold, and what is then evaluated."""

    literals: tuple[Literal, ...] = ()
    coverage: Coverage = Coverage()

    def __add__(self, other: Way) -> Way:
        return Way((*self.literals, *other.literals), self.coverage | other.coverage)


def is_unevaluated_asked(facts: Facts, kind: str) -> bool:
    """Return whether an unevaluated schema constrains values of a type."""
    schema = unevaluated_of(facts, kind)
    return schema is not None and not schema.accepts_everything


def unevaluated_of(facts: Facts, kind: str) -> Schema | None:
    """Return the schema for the unevaluated parts of a value of this type, or None."""
    return {"object": facts.unevaluated_properties, "array": facts.unevaluated_items}.get(kind)


def ways_beside(facts: Facts, kind: str) -> list[Way]:
    """Return the ways in which all keywords of a schema hold except the unevaluated schema.

    Raises ``TooManyWays``.
    """
    return _ways(replace(facts, unevaluated_properties=None, unevaluated_items=None), kind, 0)


def remainder(coverage: Coverage, schema: Schema, kind: str) -> Schema | None:
    """Return a schema that requires all unevaluated parts to fit ``schema``.

    None if everything is evaluated.
    """
    if coverage.is_all:
        return None
    if kind == "object":
        names = dict.fromkeys(sorted(coverage.names), ANYTHING)
        patterns = dict.fromkeys(sorted(coverage.patterns), ANYTHING)
        return Schema(Facts(properties=names, patterns=patterns, additional=schema), schema.pointer)
    rest = schema
    if coverage.contained:
        rest = Schema(Facts(any_of=(*coverage.contained, schema)), schema.pointer)
    return Schema(Facts(prefix=(ANYTHING,) * coverage.first, items=rest), schema.pointer)


def _ways(facts: Facts, kind: str, depth: int) -> list[Way]:
    if depth > _MAX_DEPTH or facts.is_opaque:
        raise TooManyWays
    own = replace(facts, all_of=(), any_of=None, one_of=None, condition=None, needed_schemas={})
    own.unevaluated_properties = own.unevaluated_items = None
    ways = [Way(((Schema(own), True),), _own_coverage(facts, kind))]
    for choices in _choices(facts, kind, depth):
        if len(ways) * len(choices) > MAX_WAYS:
            raise TooManyWays
        ways = [first + second for first, second in product(ways, choices)]
    schema = unevaluated_of(facts, kind)
    if schema is not None:
        ways = [Way(_with_remainder(way, schema, kind), replace(way.coverage, is_all=True)) for way in ways]
    return ways


def _with_remainder(way: Way, schema: Schema, kind: str) -> tuple[Literal, ...]:
    rest = remainder(way.coverage, schema, kind)
    return way.literals if rest is None else (*way.literals, (rest, True))


def _own_coverage(facts: Facts, kind: str) -> Coverage:
    if kind == "object":
        return Coverage(frozenset(facts.properties), frozenset(facts.patterns), is_all=facts.additional is not None)
    contained = (facts.contains,) if facts.contains is not None and facts.marks_contained else ()
    return Coverage(first=len(facts.prefix), contained=contained, is_all=facts.items is not None)


def _choices(facts: Facts, kind: str, depth: int) -> Iterator[list[Way]]:
    for schema in facts.all_of:
        yield _holding(schema, kind, depth)
    if facts.any_of is not None:
        yield _some(facts.any_of, kind, depth)
    if facts.one_of is not None:
        yield [
            way + Way(tuple((other, False) for other in facts.one_of if other is not branch))
            for branch in facts.one_of
            for way in _holding(branch, kind, depth)
        ]
    if facts.condition is not None:
        then = [Way()] if facts.consequence is None else _holding(facts.consequence, kind, depth)
        otherwise = [Way()] if facts.alternative is None else _holding(facts.alternative, kind, depth)
        met = [first + second for first in _holding(facts.condition, kind, depth) for second in then]
        yield [*met, *(Way(((facts.condition, False),)) + way for way in otherwise)]
    for name, schema in facts.needed_schemas.items() if kind == "object" else ():
        there = Schema(Facts(required=frozenset([name])))
        yield [Way(((there, False),)), *(Way(((there, True),)) + way for way in _holding(schema, kind, depth))]


def _holding(schema: Schema, kind: str, depth: int) -> list[Way]:
    if schema.accepts_everything:
        return [Way()]
    if not _evaluates(schema, kind, frozenset()):
        return [Way(((schema, True),))]
    return _ways(schema.facts, kind, depth + 1)


def _some(branches: tuple[Schema, ...], kind: str, depth: int) -> list[Way]:
    """Return the ways in which at least one of ``branches`` holds."""
    telling = [branch for branch in branches if _evaluates(branch, kind, frozenset())]
    silent = tuple(branch for branch in branches if branch not in telling)
    ways = [Way()]
    for branch in telling:
        choices = [*_holding(branch, kind, depth), Way(((branch, False),))]
        if len(ways) * len(choices) > MAX_WAYS:
            raise TooManyWays
        ways = [first + second for first, second in product(ways, choices)]
    none = ways.pop()  # none of those that evaluate something holds, so that one of the others must
    return [*ways, none + Way(((Schema(Facts(any_of=silent)), True),))] if silent else ways


def _evaluates(schema: Schema, kind: str, around: frozenset[int]) -> bool:
    """Return whether a schema can evaluate something of a value of this type."""
    if id(schema) in around:
        raise TooManyWays
    facts = schema.facts
    if facts.is_opaque or _own_coverage(facts, kind) != Coverage() or unevaluated_of(facts, kind) is not None:
        return True
    beside = (*facts.all_of, *(facts.any_of or ()), *(facts.one_of or ()), *facts.needed_schemas.values())
    sides = (facts.condition, facts.consequence, facts.alternative)
    around |= {id(schema)}
    return any(_evaluates(one, kind, around) for one in (*beside, *sides) if one is not None)
