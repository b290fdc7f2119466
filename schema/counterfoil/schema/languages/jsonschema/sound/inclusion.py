"""The reasons for which a reader does not accept every value of a writer: each failing constraint, with a value.

The reader's schema is taken apart into its single constraints at each place. Each of them becomes a schema with no
other constraint; a value that fits the writer's schema and not this one shows that the constraint breaks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import combinations, islice
from typing import Final

from counterfoil.schema.compatibility import OutOfSteps
from counterfoil.schema.compatibility.findings import CompatibilityRule
from counterfoil.schema.datum import Json
from counterfoil.schema.languages.jsonschema.compare import rule_table as rules
from counterfoil.schema.languages.jsonschema.json_values import TYPES
from counterfoil.schema.languages.jsonschema.values.literals import asks_for_integers
from counterfoil.schema.languages.jsonschema.values.solver import Solver
from counterfoil.schema.languages.jsonschema.view.facts import ANYTHING, ConstrainedSchema, KeywordFacts, spread
from counterfoil.schema.languages.jsonschema.view.written import WrittenSchema
from counterfoil.schema.patterns.matching import holds_match
from counterfoil.schema.texts import Pointer

MAX_REASONS: Final = 50
"""The largest number of reasons; if there may be more, all differences of STRICT are reported."""

_MAX_PAIRS: Final = 40
_INTEGERS: Final = frozenset({*TYPES, "integer"}) - {"number"}


@dataclass(frozen=True, slots=True)
class RefusalReason:
    """A reason for which a reader does not accept everything.

    ``steps`` lead to the place, ``reader`` is the schema there and ``keyword`` its keyword that refuses the value.
    ``values`` holds the one value (for the roots) that the writer accepts and the reader refuses, or is empty if no
    such value was found. ``name`` is the property or pattern concerned. ``writers`` are the writer's schemas for the
    place, and ``asked`` is the one constraint of the reader that is broken. ``is_undeclared``: the place is in a
    property that the writer's schema permits and does not declare.
    """

    rule: CompatibilityRule
    steps: tuple[str, ...]
    reader: ConstrainedSchema
    keyword: str = ""
    name: str = ""
    values: tuple[Json, ...] = ()
    writer_pointer: Pointer = ()
    elsewhere: tuple[tuple[str, ...], ...] = ()
    writers: tuple[ConstrainedSchema, ...] = ()
    asked: KeywordFacts = field(default_factory=KeywordFacts)
    is_undeclared: bool = False


@dataclass(frozen=True, slots=True)
class _ReaderPlace:
    """A place in the reader's schema.

    ``wrapped`` turns a schema for this place into one for the root. ``writers`` are the writer's schemas that apply to
    this place, at least in some branch. ``rule`` and ``name``, if given, are those of every reason here.
    ``is_undeclared``: it is in a property that the writer's schema permits and does not declare.
    """

    steps: tuple[str, ...]
    reader: ConstrainedSchema
    wrapped: Callable[[ConstrainedSchema], ConstrainedSchema]
    writers: tuple[ConstrainedSchema, ...]
    rule: CompatibilityRule | None = None
    name: str = ""
    is_undeclared: bool = False
    around: frozenset[int] = frozenset()

    def within(
        self, reader: ConstrainedSchema, steps: tuple[str, ...], wrap: Callable[[ConstrainedSchema], KeywordFacts]
    ) -> _ReaderPlace:
        """Return a place inside this one; ``wrap`` turns a schema for it into constraints on this place."""
        return replace(
            self,
            steps=self.steps + steps,
            reader=reader,
            wrapped=lambda schema: self.wrapped(ConstrainedSchema(wrap(schema), schema.pointer)),
            around=self.around | {id(self.reader)},
        )


@dataclass(frozen=True, slots=True)
class _Part:
    """One constraint of a reader: ``asked`` contains it alone."""

    asked: KeywordFacts
    steps: tuple[str, ...] = ()
    rule: CompatibilityRule = rules.VALUE_REFUSED
    name: str = ""


class Inclusion:
    """The search for the reasons for which a reader does not accept every value of a writer."""

    def __init__(self, solver: Solver, writer: ConstrainedSchema, reader: ConstrainedSchema) -> None:
        self._solver = solver
        self._writer = writer
        self._reader = reader

    def reasons(self, value: object) -> tuple[tuple[RefusalReason, ...], bool]:
        """Return the reasons, at least one, and whether they are all; ``value`` is a value that the reader refuses."""
        found: list[RefusalReason] = []
        is_all = True
        try:
            place = _ReaderPlace((), self._reader, lambda schema: schema, (self._writer,))
            found.extend(islice(self._at(place), MAX_REASONS))
            is_all = len(found) < MAX_REASONS
        except (OutOfSteps, ArithmeticError, RecursionError):
            is_all = False
        if not found:
            pointer = self._writer.pointer
            found.append(
                RefusalReason(
                    rules.VALUE_REFUSED,
                    (),
                    self._reader,
                    values=(value,),
                    writer_pointer=pointer,
                    writers=(self._writer,),
                )
            )
        return tuple(found), is_all

    def _value(self, schema: ConstrainedSchema, *beside: ConstrainedSchema) -> list[Json]:
        """Return a list of a value that the writer and ``beside`` accept and ``schema`` refuses; empty if unknown."""
        return self._solver.value([(self._writer, True), (schema, False), *((one, True) for one in beside)])

    def _at(self, place: _ReaderPlace) -> Iterator[RefusalReason]:
        reader = place.reader
        if reader.accepts_everything or id(reader) in place.around or not self._value(place.wrapped(reader)):
            return
        for part in _parts(reader.facts):
            if part.rule is rules.ONE_OF_OVERLAP:
                overlap = self._reason(place, part)
                if overlap is not None:
                    yield overlap
                    continue
                reason = self._reason(place, _Part(KeywordFacts(one_of=reader.facts.one_of), part.steps))
            else:
                reason = self._reason(place, part)
            if reason is not None:
                yield reason
        for inner in _places_in(place):
            yield from self._at(inner)
        yield from self._unevaluated_reasons(place)

    def _reason(self, place: _ReaderPlace, part: _Part) -> RefusalReason | None:
        value = self._value(place.wrapped(ConstrainedSchema(part.asked)))
        return self._reason_of(place, part, value[0]) if value else None

    def _reason_of(self, place: _ReaderPlace, part: _Part, value: object) -> RefusalReason:
        return RefusalReason(
            place.rule or part.rule,
            place.steps + part.steps,
            place.reader,
            part.steps[0] if part.steps else "",
            place.name or part.name,
            (value,),
            place.writers[0].pointer if place.writers else (),
            writers=place.writers,
            asked=part.asked,
            is_undeclared=place.is_undeclared,
        )

    def _unevaluated_reasons(self, place: _ReaderPlace) -> Iterator[RefusalReason]:
        facts = place.reader.facts
        for keyword, schema in (
            ("unevaluatedProperties", facts.unevaluated_properties),
            ("unevaluatedItems", facts.unevaluated_items),
        ):
            if schema is None or schema.accepts_everything:
                continue
            beside = ConstrainedSchema(replace(facts, unevaluated_properties=None, unevaluated_items=None))
            value = self._value(place.wrapped(place.reader), place.wrapped(beside))
            if not value:
                continue
            names = self._names_refused(place, value[0]) if keyword == "unevaluatedProperties" else []
            reason = self._reason_of(place, _Part(facts, (keyword,)), value[0])
            yield replace(reason, elsewhere=tuple((*place.steps, "properties", name) for name in names))

    def _names_refused(self, place: _ReaderPlace, value: object) -> list[str]:
        """Return the properties whose removal would make the reader accept the object; only for the root."""
        if place.steps or not isinstance(value, dict):
            return []
        accepts = self._solver.evaluator.accepts
        return [
            name
            for name in value
            if accepts(place.reader, {other: item for other, item in value.items() if other != name})
        ]


def _parts(facts: KeywordFacts) -> Iterator[_Part]:
    """Yield the constraints of a schema itself, without the schemas of properties, items and allOf."""
    if facts.is_false:
        yield _Part(KeywordFacts(is_false=True))
    if facts.types is not None:
        more = {"number"} if "integer" in facts.types else set()
        yield _Part(KeywordFacts(types=facts.types | more))
        if asks_for_integers(facts):
            yield _Part(KeywordFacts(types=_INTEGERS, counts_fractions=facts.counts_fractions), ("type",))
    if facts.values is not None:
        yield _Part(KeywordFacts(values=facts.values, scalars=facts.scalars))
    yield from _limits(facts)
    yield from _object_parts(facts)
    yield from _array_parts(facts)
    if facts.any_of is not None:
        yield _Part(KeywordFacts(any_of=facts.any_of), ("anyOf",))
    if facts.one_of is not None:
        pairs = islice(combinations(facts.one_of, 2), _MAX_PAIRS)
        both = tuple(ConstrainedSchema(KeywordFacts(all_of=pair)) for pair in pairs)
        yield _Part(
            KeywordFacts(refused=ConstrainedSchema(KeywordFacts(any_of=both))), ("oneOf",), rules.ONE_OF_OVERLAP
        )
    if facts.refused is not None:
        yield _Part(KeywordFacts(refused=facts.refused), ("not",))
    if facts.condition is not None:
        asked = KeywordFacts(condition=facts.condition, consequence=facts.consequence, alternative=facts.alternative)
        yield _Part(asked, ("if",), rules.CONDITION_NARROWED)


def _limits(facts: KeywordFacts) -> Iterator[_Part]:
    if facts.minimum is not None:
        yield _Part(KeywordFacts(minimum=facts.minimum), ("minimum",), rules.NUMBER_LIMIT_NARROWED)
    if facts.maximum is not None:
        yield _Part(KeywordFacts(maximum=facts.maximum), ("maximum",), rules.NUMBER_LIMIT_NARROWED)
    if facts.multiple_of is not None:
        yield _Part(KeywordFacts(multiple_of=facts.multiple_of), ("multipleOf",))
    if facts.min_length is not None:
        yield _Part(KeywordFacts(min_length=facts.min_length), ("minLength",))
    if facts.max_length is not None:
        yield _Part(KeywordFacts(max_length=facts.max_length), ("maxLength",))
    if facts.pattern is not None:
        yield _Part(KeywordFacts(pattern=facts.pattern), ("pattern",))


def _object_parts(facts: KeywordFacts) -> Iterator[_Part]:
    for name in sorted(facts.required):
        declared = facts.properties.get(name)
        keywords = declared.value if isinstance(declared, WrittenSchema) else None
        has_default = isinstance(keywords, dict) and "default" in keywords
        rule = rules.DEFAULT_NOT_APPLIED if has_default else rules.UNDECLARED_PROPERTY_REQUIRED
        yield _Part(KeywordFacts(required=frozenset([name])), ("required", name), rule, name)
    if facts.names is not None:
        yield _Part(KeywordFacts(names=facts.names), ("propertyNames",), rules.PROPERTY_NAMES_NARROWED)
    if facts.min_properties is not None:
        yield _Part(KeywordFacts(min_properties=facts.min_properties), ("minProperties",))
    if facts.max_properties is not None:
        yield _Part(KeywordFacts(max_properties=facts.max_properties), ("maxProperties",))
    for name, needed in facts.needed_names.items():
        yield _Part(KeywordFacts(needed_names={name: needed}), ("dependencies", name))
    for name, schema in facts.needed_schemas.items():
        yield _Part(KeywordFacts(needed_schemas={name: schema}), ("dependencies", name))


def _array_parts(facts: KeywordFacts) -> Iterator[_Part]:
    if facts.min_items is not None:
        yield _Part(KeywordFacts(min_items=facts.min_items), ("minItems",))
    if facts.max_items is not None:
        yield _Part(KeywordFacts(max_items=facts.max_items), ("maxItems",))
    if facts.has_unique_items:
        yield _Part(KeywordFacts(has_unique_items=True), ("uniqueItems",))
    if facts.contains is not None:
        asked = KeywordFacts(contains=facts.contains, min_contains=facts.min_contains, max_contains=facts.max_contains)
        yield _Part(asked, ("contains",), rules.CONTAINS_NARROWED)


def _places_in(place: _ReaderPlace) -> Iterator[_ReaderPlace]:
    """Yield the places of the schemas of properties, items and allOf."""
    facts = place.reader.facts
    writers = _speaking(place.writers)
    for schema in facts.all_of:
        yield replace(place, reader=schema, around=place.around | {id(place.reader)})
    for name, schema in facts.properties.items():
        yield _property_place(place, schema, name, writers)
    for pattern, schema in facts.patterns.items():
        steps = ("patternProperties", pattern)
        inner = place.within(schema, steps, _under_pattern(pattern))
        yield replace(
            inner, rule=rules.PATTERN_PROPERTIES_NARROWED, name=pattern, writers=_of_pattern(writers, pattern)
        )
    if facts.additional is not None:
        yield from _additional_places(place, facts, facts.additional, writers)
    yield from _item_places(place, facts, writers)


def _property_place(
    place: _ReaderPlace, schema: ConstrainedSchema, name: str, writers: tuple[KeywordFacts, ...]
) -> _ReaderPlace:
    declared = _of_property(writers, name)
    is_undeclared = place.is_undeclared or not declared
    inner = place.within(schema, ("properties", name), _under(name))
    return replace(inner, writers=declared, is_undeclared=is_undeclared)


def _additional_places(
    place: _ReaderPlace, facts: KeywordFacts, schema: ConstrainedSchema, writers: tuple[KeywordFacts, ...]
) -> Iterator[_ReaderPlace]:
    written = {name for each in writers for name in (*each.properties, *each.required)} - facts.properties.keys()
    names = sorted(name for name in written if not any(holds_match(pattern, name) for pattern in facts.patterns))
    for name in names:
        yield _property_place(place, schema, name, writers)
    known = dict.fromkeys((*facts.properties, *names), ANYTHING)
    patterns = dict.fromkeys(facts.patterns, ANYTHING)
    inner = place.within(
        schema,
        ("additionalProperties",),
        lambda asked: KeywordFacts(properties=known, patterns=patterns, additional=asked),
    )
    yield replace(inner, writers=_additional(writers))


def _item_places(place: _ReaderPlace, facts: KeywordFacts, writers: tuple[KeywordFacts, ...]) -> Iterator[_ReaderPlace]:
    declared = max([len(facts.prefix), *(len(each.prefix) for each in writers)])
    for index in range(declared):
        schema = facts.prefix[index] if index < len(facts.prefix) else facts.items
        if schema is not None:
            inner = place.within(schema, ("items", str(index)), _at_index(index))
            yield replace(inner, writers=_of_item(writers, index))
    if facts.items is not None:
        first = (ANYTHING,) * declared
        inner = place.within(facts.items, ("items",), lambda asked: KeywordFacts(prefix=first, items=asked))
        yield replace(inner, writers=_of_item(writers, declared))


def _under(name: str) -> Callable[[ConstrainedSchema], KeywordFacts]:
    return lambda asked: KeywordFacts(properties={name: asked})


def _under_pattern(pattern: str) -> Callable[[ConstrainedSchema], KeywordFacts]:
    return lambda asked: KeywordFacts(patterns={pattern: asked})


def _at_index(index: int) -> Callable[[ConstrainedSchema], KeywordFacts]:
    return lambda asked: KeywordFacts(prefix=(*(ANYTHING,) * index, asked))


def _speaking(writers: tuple[ConstrainedSchema, ...]) -> tuple[KeywordFacts, ...]:
    """Return the constraints of ``writers``, and of every schema inside them that applies to the same value."""
    return tuple(schema.facts for schema in spread(writers, with_refused=False))


def _of_property(writers: tuple[KeywordFacts, ...], name: str) -> tuple[ConstrainedSchema, ...]:
    found = [each.properties[name] for each in writers if name in each.properties]
    return tuple(found) or _additional(writers)


def _of_pattern(writers: tuple[KeywordFacts, ...], pattern: str) -> tuple[ConstrainedSchema, ...]:
    found = [each.patterns[pattern] for each in writers if pattern in each.patterns]
    return tuple(found) or _additional(writers)


def _additional(writers: tuple[KeywordFacts, ...]) -> tuple[ConstrainedSchema, ...]:
    return tuple(each.additional for each in writers if each.additional is not None)


def _of_item(writers: tuple[KeywordFacts, ...], index: int) -> tuple[ConstrainedSchema, ...]:
    found = (each.prefix[index] if index < len(each.prefix) else each.items for each in writers)
    return tuple(schema for schema in found if schema is not None)
