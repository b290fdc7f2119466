"""The constraints of a schema on values, in one form for all drafts, and the parts of a value that it evaluates."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Final

from counterfoil.schema.datum import Json
from counterfoil.schema.languages.jsonschema.json_values import Number, type_of
from counterfoil.schema.patterns.matching import holds_match
from counterfoil.schema.texts import Pointer

# The constraints of a schema on values, by keyword, in one form for all drafts.

Limit = tuple[Number, bool]


MAX_WIDTH: Final = 400
"""The largest number of schemas that apply to one value, references included."""


class ConstrainedSchema:
    """A schema with its constraints; ``pointer`` is its JSON Pointer in a text, if it is part of one."""

    def __init__(self, facts: KeywordFacts | None = None, pointer: Pointer = (), text: str | None = None) -> None:
        self.pointer = pointer
        self.accepts_everything = False
        self._facts = facts
        self._text = text

    @property
    def text(self) -> str | None:
        """A text that only equal schemas share; None if none is known that includes all constraints."""
        return self._text

    @property
    def facts(self) -> KeywordFacts:
        """The constraints of the schema."""
        if self._facts is None:
            self._facts = self._read()
        return self._facts

    def _read(self) -> KeywordFacts:
        return KeywordFacts()

    @property
    def stands_for(self) -> tuple[ConstrainedSchema, bool]:
        """An equal schema and True, or the opposite schema and False; for most schemas, itself and True."""
        return self, True


class NegatedSchema(ConstrainedSchema):
    """A schema that accepts the values that another schema refuses."""

    def __init__(self, schema: ConstrainedSchema) -> None:
        super().__init__(KeywordFacts(refused=schema), schema.pointer)
        self._negated = schema

    @property
    def stands_for(self) -> tuple[ConstrainedSchema, bool]:
        """The negated schema and False, with double negation removed."""
        schema, holds = self._negated.stands_for
        return schema, not holds


@dataclass(slots=True)
class KeywordFacts:
    """The constraints of one schema; None or an empty collection for an absent keyword.

    ``types`` may contain ``integer``; ``values`` are those of an enum or const, ``scalars`` the ones among them that
    are not arrays or objects, each with its type. A limit of numbers comes with whether the limit itself is excluded.
    ``is_opaque``: there are constraints that are not represented here. ``counts_fractions``: ``1.0`` is an integer.
    ``marks_contained``: items that fit ``contains`` count as evaluated.
    """

    is_false: bool = False
    is_opaque: bool = False
    counts_fractions: bool = True
    marks_contained: bool = False
    types: frozenset[str] | None = None
    values: list[Json] | None = None
    minimum: Limit | None = None
    maximum: Limit | None = None
    multiple_of: Number | None = None
    min_length: Number | None = None
    max_length: Number | None = None
    pattern: str | None = None
    properties: Mapping[str, ConstrainedSchema] = field(default_factory=dict)
    patterns: Mapping[str, ConstrainedSchema] = field(default_factory=dict)
    additional: ConstrainedSchema | None = None
    names: ConstrainedSchema | None = None
    required: frozenset[str] = frozenset()
    needed_names: Mapping[str, frozenset[str]] = field(default_factory=dict)
    needed_schemas: Mapping[str, ConstrainedSchema] = field(default_factory=dict)
    min_properties: Number | None = None
    max_properties: Number | None = None
    prefix: tuple[ConstrainedSchema, ...] = ()
    items: ConstrainedSchema | None = None
    min_items: Number | None = None
    max_items: Number | None = None
    has_unique_items: bool = False
    contains: ConstrainedSchema | None = None
    min_contains: Number = 1
    max_contains: Number | None = None
    unevaluated_properties: ConstrainedSchema | None = None
    unevaluated_items: ConstrainedSchema | None = None
    all_of: tuple[ConstrainedSchema, ...] = ()
    any_of: tuple[ConstrainedSchema, ...] | None = None
    one_of: tuple[ConstrainedSchema, ...] | None = None
    refused: ConstrainedSchema | None = None
    scalars: frozenset[tuple[str, Json]] = frozenset()
    condition: ConstrainedSchema | None = None
    consequence: ConstrainedSchema | None = None
    alternative: ConstrainedSchema | None = None

    def property(self, name: str, matches: Mapping[str, bool | None] | None = None) -> Iterator[ConstrainedSchema]:
        """Yield the schemas that certainly apply to the property ``name``.

        ``matches`` has the patterns that match its name, if known (None for an unknown match).
        """
        declared = self.properties.get(name)
        if declared is not None:
            yield declared
        is_other = declared is None
        for pattern, schema in self.patterns.items():
            is_match = holds_match(pattern, name) if matches is None else matches[pattern]
            if is_match:
                yield schema
            is_other = is_other and is_match is False
        rest = self.additional or (None if any(self.beside()) else self.unevaluated_properties)
        if is_other and rest is not None:
            yield rest

    def item(self, index: int) -> ConstrainedSchema | None:
        """Return the schema that certainly applies to the item at ``index``, apart from ``contains``."""
        if index < len(self.prefix):
            return self.prefix[index]
        is_looked_at = any(self.beside()) or (self.marks_contained and self.contains is not None)
        return self.items or (None if is_looked_at else self.unevaluated_items)

    def beside(self) -> Iterator[ConstrainedSchema]:
        """Yield the schemas that apply to the same value, at least in some branch; ``not`` is left out."""
        yield from self.all_of
        yield from self.any_of or ()
        yield from self.one_of or ()
        yield from self.needed_schemas.values()
        yield from (one for one in (self.condition, self.consequence, self.alternative) if one is not None)


def spread(schemas: Iterable[ConstrainedSchema], *, with_refused: bool = True) -> list[ConstrainedSchema]:
    """Return every schema that applies to the same value as ``schemas``, through combinations and references.

    Each once, the nearest first, at most ``MAX_WIDTH``. Without ``with_refused``, schemas under ``not`` are left out.
    """
    found: dict[ConstrainedSchema, None] = {}
    waiting = deque(schemas)
    while waiting and len(found) < MAX_WIDTH:
        schema = waiting.popleft()
        if schema in found or schema.accepts_everything:
            continue
        found[schema] = None
        waiting += schema.facts.beside()
        if with_refused and schema.facts.refused is not None:
            waiting.append(schema.facts.refused)
    return [*found]


ANYTHING: Final = ConstrainedSchema(text="true")
ANYTHING.accepts_everything = True


def listing(values: list[Json], text: str | None = None) -> ConstrainedSchema:
    """Return a schema that accepts exactly these values."""
    return ConstrainedSchema(KeywordFacts(values=values, scalars=scalars_of(values)), text=text)


def scalars_of(values: list[Json]) -> frozenset[tuple[str, Json]]:
    """Return those of ``values`` that are not arrays or objects, each with its type."""
    return frozenset((type_of(each), each) for each in values if not isinstance(each, dict | list))


# The parts of an object or array that a schema evaluates, for ``unevaluatedProperties`` and ``unevaluatedItems``.
#
# What is evaluated depends on which branches hold. Therefore each way in which a schema can hold is listed, with its
# constraints and the properties and items that are then evaluated. For one way, the unevaluated schema applies to the
# rest, just as ``additionalProperties`` or ``items`` would.
#
# Source: the core specifications of 2019-09 and 2020-12, "Unevaluated locations".

Literal = tuple[ConstrainedSchema, bool]

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
    contained: tuple[ConstrainedSchema, ...] = ()
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
class HoldingWay:
    """One way in which a schema holds: the literals that hold, and what is then evaluated."""

    literals: tuple[Literal, ...] = ()
    coverage: Coverage = Coverage()

    def __add__(self, other: HoldingWay) -> HoldingWay:
        return HoldingWay((*self.literals, *other.literals), self.coverage | other.coverage)


def is_unevaluated_asked(facts: KeywordFacts, kind: str) -> bool:
    """Return whether an unevaluated schema constrains values of a type."""
    schema = unevaluated_of(facts, kind)
    return schema is not None and not schema.accepts_everything


def unevaluated_of(facts: KeywordFacts, kind: str) -> ConstrainedSchema | None:
    """Return the schema for the unevaluated parts of a value of this type, or None."""
    return {"object": facts.unevaluated_properties, "array": facts.unevaluated_items}.get(kind)


def ways_beside(facts: KeywordFacts, kind: str) -> list[HoldingWay]:
    """Return the ways in which all keywords of a schema hold except the unevaluated schema.

    Raises ``TooManyWays``.
    """
    return _ways(replace(facts, unevaluated_properties=None, unevaluated_items=None), kind, 0)


def remainder(coverage: Coverage, schema: ConstrainedSchema, kind: str) -> ConstrainedSchema | None:
    """Return a schema that requires all unevaluated parts to fit ``schema``.

    None if everything is evaluated.
    """
    if coverage.is_all:
        return None
    if kind == "object":
        names = dict.fromkeys(sorted(coverage.names), ANYTHING)
        patterns = dict.fromkeys(sorted(coverage.patterns), ANYTHING)
        return ConstrainedSchema(KeywordFacts(properties=names, patterns=patterns, additional=schema), schema.pointer)
    rest = schema
    if coverage.contained:
        rest = ConstrainedSchema(KeywordFacts(any_of=(*coverage.contained, schema)), schema.pointer)
    return ConstrainedSchema(KeywordFacts(prefix=(ANYTHING,) * coverage.first, items=rest), schema.pointer)


def _ways(facts: KeywordFacts, kind: str, depth: int) -> list[HoldingWay]:
    if depth > _MAX_DEPTH or facts.is_opaque:
        raise TooManyWays
    own = replace(facts, all_of=(), any_of=None, one_of=None, condition=None, needed_schemas={})
    own.unevaluated_properties = own.unevaluated_items = None
    ways = [HoldingWay(((ConstrainedSchema(own), True),), _own_coverage(facts, kind))]
    for choices in _choices(facts, kind, depth):
        if len(ways) * len(choices) > MAX_WAYS:
            raise TooManyWays
        ways = [first + second for first, second in product(ways, choices)]
    schema = unevaluated_of(facts, kind)
    if schema is not None:
        ways = [HoldingWay(_with_remainder(way, schema, kind), replace(way.coverage, is_all=True)) for way in ways]
    return ways


def _with_remainder(way: HoldingWay, schema: ConstrainedSchema, kind: str) -> tuple[Literal, ...]:
    rest = remainder(way.coverage, schema, kind)
    return way.literals if rest is None else (*way.literals, (rest, True))


def _own_coverage(facts: KeywordFacts, kind: str) -> Coverage:
    if kind == "object":
        return Coverage(frozenset(facts.properties), frozenset(facts.patterns), is_all=facts.additional is not None)
    contained = (facts.contains,) if facts.contains is not None and facts.marks_contained else ()
    return Coverage(first=len(facts.prefix), contained=contained, is_all=facts.items is not None)


def _choices(facts: KeywordFacts, kind: str, depth: int) -> Iterator[list[HoldingWay]]:
    for schema in facts.all_of:
        yield _holding(schema, kind, depth)
    if facts.any_of is not None:
        yield _some(facts.any_of, kind, depth)
    if facts.one_of is not None:
        yield [
            way + HoldingWay(tuple((other, False) for other in facts.one_of if other is not branch))
            for branch in facts.one_of
            for way in _holding(branch, kind, depth)
        ]
    if facts.condition is not None:
        then = [HoldingWay()] if facts.consequence is None else _holding(facts.consequence, kind, depth)
        otherwise = [HoldingWay()] if facts.alternative is None else _holding(facts.alternative, kind, depth)
        met = [first + second for first in _holding(facts.condition, kind, depth) for second in then]
        yield [*met, *(HoldingWay(((facts.condition, False),)) + way for way in otherwise)]
    for name, schema in facts.needed_schemas.items() if kind == "object" else ():
        there = ConstrainedSchema(KeywordFacts(required=frozenset([name])))
        yield [
            HoldingWay(((there, False),)),
            *(HoldingWay(((there, True),)) + way for way in _holding(schema, kind, depth)),
        ]


def _holding(schema: ConstrainedSchema, kind: str, depth: int) -> list[HoldingWay]:
    if schema.accepts_everything:
        return [HoldingWay()]
    if not _evaluates(schema, kind, frozenset()):
        return [HoldingWay(((schema, True),))]
    return _ways(schema.facts, kind, depth + 1)


def _some(branches: tuple[ConstrainedSchema, ...], kind: str, depth: int) -> list[HoldingWay]:
    """Return the ways in which at least one of ``branches`` holds."""
    telling = [branch for branch in branches if _evaluates(branch, kind, frozenset())]
    silent = tuple(branch for branch in branches if branch not in telling)
    ways = [HoldingWay()]
    for branch in telling:
        choices = [*_holding(branch, kind, depth), HoldingWay(((branch, False),))]
        if len(ways) * len(choices) > MAX_WAYS:
            raise TooManyWays
        ways = [first + second for first, second in product(ways, choices)]
    none = ways.pop()  # none of those that evaluate something holds, so that one of the others must
    return [*ways, none + HoldingWay(((ConstrainedSchema(KeywordFacts(any_of=silent)), True),))] if silent else ways


def _evaluates(schema: ConstrainedSchema, kind: str, around: frozenset[int]) -> bool:
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
