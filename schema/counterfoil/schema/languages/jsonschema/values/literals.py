"""The constraints on one value of one type: schemas that it fits or does not fit, and the causes of not fitting.

A value does not fit a schema for one of several causes, one for each keyword. Most causes are schemas again ("not
minLength 3" is "maxLength 2"); the others have a class here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from counterfoil.schema.datum import Json
from counterfoil.schema.languages.jsonschema.json_values import Number, type_of
from counterfoil.schema.languages.jsonschema.view.facts import (
    ANYTHING,
    ConstrainedSchema,
    HoldingWay,
    KeywordFacts,
    Literal,
    NegatedSchema,
    is_unevaluated_asked,
    remainder,
    unevaluated_of,
)


@dataclass(frozen=True, slots=True)
class NoInteger:
    """A number that is not an integer; ``1.0`` is an integer only with ``counts_fractions``."""

    counts_fractions: bool


@dataclass(frozen=True, slots=True)
class NoMultiple:
    """A number that is not a multiple of ``of``."""

    of: Number


@dataclass(frozen=True, slots=True)
class NoMatch:
    """A string that does not match a pattern."""

    pattern: str


@dataclass(frozen=True, slots=True, eq=False)
class NoneOf:
    """A value other than these."""

    values: tuple[Json, ...]


@dataclass(frozen=True, slots=True)
class Repetition:
    """An array in which two items are equal."""


@dataclass(frozen=True, slots=True)
class SomeItem:
    """An array with an item at or after ``start`` for which ``literal`` holds."""

    start: int
    literal: Literal


@dataclass(frozen=True, slots=True)
class Absence:
    """An object without the property ``name``."""

    name: str


@dataclass(frozen=True, slots=True)
class MisfitProperty:
    """An object that has the property ``name`` with a value that does not fit ``schema``."""

    name: str
    schema: ConstrainedSchema


@dataclass(frozen=True, slots=True)
class SomeProperty:
    """An object that has a property as described by the fields.

    Its name matches ``pattern`` (if given), is not in ``other_than`` and matches no pattern in ``outside``; ``of_name``
    holds for the name, and ``of_value`` for the value.
    """

    pattern: str | None = None
    other_than: frozenset[str] = frozenset()
    outside: frozenset[str] = frozenset()
    of_name: tuple[Literal, ...] = ()
    of_value: tuple[Literal, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Afterwards:
    """A value that fits none of ``schemas`` except possibly ``but``; added last, as it rarely changes the result."""

    schemas: tuple[ConstrainedSchema, ...]
    but: ConstrainedSchema

    def literals(self) -> Iterator[Literal]:
        """Yield the literals that must hold."""
        yield from ((schema, False) for schema in self.schemas if schema is not self.but)


Demand = (
    Afterwards
    | NoInteger
    | NoMultiple
    | NoMatch
    | NoneOf
    | Repetition
    | SomeItem
    | SomeProperty
    | Absence
    | MisfitProperty
)
Option = tuple[Literal | Demand, ...]

NOTHING: Final = ConstrainedSchema(KeywordFacts(is_false=True), text="false")
"""The schema that no value fits."""

WITHOUT_CONDITION: Final[tuple[Option, ...]] = ((),)
"""A single option without constraints."""


class _Later(ConstrainedSchema):
    """The schema that one of the branches from ``start`` on holds; many branches have many such, which are seldom read.

    So the branches are not copied before.
    """

    def __init__(self, branches: tuple[ConstrainedSchema, ...], start: int) -> None:
        super().__init__()
        self._branches = branches
        self._start = start

    def _read(self) -> KeywordFacts:
        return KeywordFacts(any_of=self._branches[self._start :])


def knows_kind(facts: KeywordFacts, kind: str) -> bool:
    """Return whether the keyword ``type`` allows values of the type ``kind``."""
    types = facts.types
    return types is None or kind in types or (kind == "number" and "integer" in types)


def asks_for_integers(facts: KeywordFacts) -> bool:
    """Return whether ``type`` allows integers but not all numbers."""
    return facts.types is not None and "number" not in facts.types and "integer" in facts.types


def alternatives(facts: KeywordFacts, kind: str, ways: Sequence[HoldingWay] | None) -> Iterator[list[Option]]:
    """Yield the choices that a schema has; of each choice, a value must fit one option.

    ``ways`` are those of :meth:`~counterfoil.schema.languages.jsonschema.values.state.SchemaChoices.ways`, or None.
    """
    schema = unevaluated_of(facts, kind)
    if ways is not None and schema is not None:
        yield [tuple(_with_rest(way, schema, kind, holds=True)) for way in ways]
        return
    if facts.any_of is not None:
        yield [((branch, True),) for branch in facts.any_of]
    if facts.one_of is not None:
        yield [((branch, True), Afterwards(facts.one_of, branch)) for branch in facts.one_of]
    if facts.condition is not None and (facts.consequence or facts.alternative):
        yield [
            ((facts.condition, True), (facts.consequence or ANYTHING, True)),
            ((facts.condition, False), (facts.alternative or ANYTHING, True)),
        ]
    if kind == "object":
        for name, needed in facts.needed_names.items():
            yield [(Absence(name),), ((ConstrainedSchema(KeywordFacts(required=needed)), True),)]
        for name, schema in facts.needed_schemas.items():
            yield [(Absence(name),), ((schema, True),)]


def _with_rest(way: HoldingWay, schema: ConstrainedSchema, kind: str, *, holds: bool) -> Option:
    rest = remainder(way.coverage, schema, kind)
    if rest is None:
        return way.literals if holds else (*way.literals, (NOTHING, True))
    return (*way.literals, (rest, holds))


def failures(facts: KeywordFacts, kind: str, ways: Sequence[HoldingWay] | None) -> Sequence[Option]:
    """Return the options of which one holds if a value of a type does not fit a schema; empty if all values fit.

    ``ways`` is as for :func:`alternatives`.
    """
    if facts.is_opaque or facts.is_false or not knows_kind(facts, kind):
        return WITHOUT_CONDITION
    options: list[Option] = []
    if facts.values is not None:
        listed = tuple(value for value in facts.values if type_of(value) == kind)
        if not listed:
            return WITHOUT_CONDITION
        options.append((NoneOf(listed),))
    own = _FAILURES_BY_KIND.get(kind)
    options += own(facts) if own else ()
    options += _combined(facts)
    if is_unevaluated_asked(facts, kind):
        if ways is None:
            return WITHOUT_CONDITION
        schema = unevaluated_of(facts, kind)
        options += [_with_rest(way, schema, kind, holds=False) for way in ways] if schema else []
    return options


def _combined(facts: KeywordFacts) -> Iterator[Option]:
    for branch in facts.all_of:
        yield ((branch, False),)
    if facts.any_of is not None:
        yield tuple((branch, False) for branch in facts.any_of)
    if facts.one_of is not None:
        yield tuple((branch, False) for branch in facts.one_of)
        for index, branch in enumerate(facts.one_of[:-1]):
            yield (branch, True), (_Later(facts.one_of, index + 1), True)
    if facts.refused is not None:
        yield ((facts.refused, True),)
    if facts.condition is not None and facts.consequence is not None:
        yield ((facts.condition, True), (facts.consequence, False))
    if facts.condition is not None and facts.alternative is not None:
        yield ((facts.condition, False), (facts.alternative, False))


def _number_failures(facts: KeywordFacts) -> Iterator[Option]:
    if asks_for_integers(facts):
        yield (NoInteger(facts.counts_fractions),)
    if facts.minimum is not None:
        limit, is_exclusive = facts.minimum
        yield ((ConstrainedSchema(KeywordFacts(maximum=(limit, not is_exclusive))), True),)
    if facts.maximum is not None:
        limit, is_exclusive = facts.maximum
        yield ((ConstrainedSchema(KeywordFacts(minimum=(limit, not is_exclusive))), True),)
    if facts.multiple_of is not None:
        yield (NoMultiple(facts.multiple_of),)


def _text_failures(facts: KeywordFacts) -> Iterator[Option]:
    if facts.min_length is not None:
        yield ((ConstrainedSchema(KeywordFacts(max_length=_below(facts.min_length))), True),)
    if facts.max_length is not None:
        yield ((ConstrainedSchema(KeywordFacts(min_length=_above(facts.max_length))), True),)
    if facts.pattern is not None:
        yield (NoMatch(facts.pattern),)


def _array_failures(facts: KeywordFacts) -> Iterator[Option]:
    for index, schema in enumerate(facts.prefix):
        if not schema.accepts_everything:
            first = (ANYTHING,) * index
            yield (
                (ConstrainedSchema(KeywordFacts(min_items=index + 1, prefix=(*first, NegatedSchema(schema)))), True),
            )
    if facts.items is not None and not facts.items.accepts_everything:
        yield (SomeItem(len(facts.prefix), (facts.items, False)),)
    if facts.min_items is not None:
        yield ((ConstrainedSchema(KeywordFacts(max_items=_below(facts.min_items))), True),)
    if facts.max_items is not None:
        yield ((ConstrainedSchema(KeywordFacts(min_items=_above(facts.max_items))), True),)
    if facts.has_unique_items:
        yield (Repetition(),)
    if facts.contains is not None:
        most = _below(facts.min_contains)
        yield ((ConstrainedSchema(KeywordFacts(contains=facts.contains, min_contains=0, max_contains=most)), True),)
        if facts.max_contains is not None:
            least = _above(facts.max_contains)
            yield ((ConstrainedSchema(KeywordFacts(contains=facts.contains, min_contains=least)), True),)


def _object_failures(facts: KeywordFacts) -> Iterator[Option]:
    for name in sorted(facts.required):
        yield (Absence(name),)
    for name, schema in facts.properties.items():
        if not schema.accepts_everything:
            yield (MisfitProperty(name, schema),)
    for pattern, schema in facts.patterns.items():
        if not schema.accepts_everything:
            yield (SomeProperty(pattern=pattern, of_value=((schema, False),)),)
    if facts.additional is not None and not facts.additional.accepts_everything:
        names, patterns = frozenset(facts.properties), frozenset(facts.patterns)
        yield (SomeProperty(other_than=names, outside=patterns, of_value=((facts.additional, False),)),)
    if facts.names is not None and not facts.names.accepts_everything:
        yield (SomeProperty(of_name=((facts.names, False),)),)
    yield from _count_failures(facts)


def _count_failures(facts: KeywordFacts) -> Iterator[Option]:
    """Yield the failures of an object by its number of properties and by dependencies between properties."""
    if facts.min_properties is not None:
        yield ((ConstrainedSchema(KeywordFacts(max_properties=_below(facts.min_properties))), True),)
    if facts.max_properties is not None:
        yield ((ConstrainedSchema(KeywordFacts(min_properties=_above(facts.max_properties))), True),)
    for name, needed in facts.needed_names.items():
        for other in sorted(needed - {name}):
            yield (Absence(other), (ConstrainedSchema(KeywordFacts(required=frozenset([name]))), True))
    for name, schema in facts.needed_schemas.items():
        yield ((ConstrainedSchema(KeywordFacts(required=frozenset([name]))), True), (schema, False))


def _below(limit: Number) -> int:
    """Return the largest count that is less than a limit."""
    return int(limit) - 1 if limit == int(limit) else int(limit // 1)


def _above(limit: Number) -> int:
    """Return the smallest count that is more than a limit."""
    return int(limit // 1) + 1


_FAILURES_BY_KIND: Final = {
    "number": _number_failures,
    "string": _text_failures,
    "array": _array_failures,
    "object": _object_failures,
}
