"""What a schema asks of values, keyword by keyword, with the differences between the drafts taken out.

A schema is known by where it stands, so that schemas which contain themselves can be followed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.formats.jsonschema.read.canonical import print_exact
from counterfoil.schema.formats.jsonschema.read.drafts import Draft
from counterfoil.schema.formats.jsonschema.read.keywords import ONE_SCHEMA, SCHEMA_LIST, SCHEMA_MAP, subschemas
from counterfoil.schema.formats.jsonschema.read.resolve import UnresolvedReference
from counterfoil.schema.formats.jsonschema.read.values import are_equal, type_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterfoil.schema.formats.jsonschema.compare.model import Number
    from counterfoil.schema.formats.jsonschema.read.resolve import Base, Resolver

    Limit = tuple[Number, bool]

_REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
_DEFINITIONS: Final = frozenset({"$defs", "definitions"})
_NOTES: Final = _DEFINITIONS | {
    *("$comment", "title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "format"),
    *("contentEncoding", "contentMediaType", "contentSchema", "$schema", "$vocabulary"),
}

_MAX_REFERRED: Final = 60
"""Schemas that one refers to, up to which it is compared by what all of them say."""

_MAX_MAGNITUDE: Final = 400
"""Numbers of more digits than that are not reckoned with; a schema that has one is not decided."""


class Source:
    """One schema text, and every schema in it and in what it refers to, each once.

    The text of draft 2019-09 does not say that ``contains`` evaluates the items that it takes, and validators act as if
    it did; ``marks_contained_in_2019`` says which of the two is meant. ``has_contains_in_2019`` is whether a schema has
    been read for which that counts.
    """

    def __init__(self, document: Any, resolver: Resolver, *, marks_contained_in_2019: bool = True) -> None:
        self.resolver = resolver
        self.marks_contained_in_2019 = marks_contained_in_2019
        self.has_contains_in_2019 = False
        self._schema_by_place: dict[tuple[str, str], Schema] = {}
        self.root = self.at(document, resolver.root, "")

    def at(self, value: Any, base: Base, origin: str) -> Schema:
        """The schema that stands at ``base``; ``origin`` is the nearest place in the schema's own text."""
        place = (base.document, base.pointer)
        known = self._schema_by_place.get(place)
        if known is None:
            pointer = base.pointer if base.document == "" else origin
            known = self._schema_by_place[place] = WrittenSchema(self, value, base, pointer)
        return known


class Schema:
    """A schema that is known by what it asks; ``pointer`` is where it stands in a text, if it does."""

    def __init__(self, facts: Facts | None = None, pointer: str = "", text: str | None = None) -> None:
        self.pointer = pointer
        self.accepts_everything = False
        self._facts = facts
        self._text = text

    @property
    def text(self) -> str | None:
        """A text that equal schemas share; None where none is known that says it all."""
        return self._text

    @property
    def facts(self) -> Facts:
        """What it asks."""
        if self._facts is None:
            self._facts = self._read()
        return self._facts

    def _read(self) -> Facts:
        return Facts()

    @property
    def stands_for(self) -> tuple[Schema, bool]:
        """The schema that says the same, or the opposite where the second is False; mostly itself."""
        return self, True


class NegatedSchema(Schema):
    """A schema that accepts what another refuses."""

    def __init__(self, schema: Schema) -> None:
        super().__init__(Facts(refused=schema), schema.pointer)
        self._negated = schema

    @property
    def stands_for(self) -> tuple[Schema, bool]:
        """The other, which does not hold."""
        schema, holds = self._negated.stands_for
        return schema, not holds


ANYTHING: Final = Schema(pointer="", text="true")
ANYTHING.accepts_everything = True


class WrittenSchema(Schema):
    """A schema that stands in a text."""

    def __init__(self, source: Source, value: Any, base: Base, pointer: str) -> None:
        super().__init__(None, pointer)
        self.source = source
        self.value = value
        self.base = base
        self.accepts_everything = value is True or value == {}

    @cached_property
    def own_text(self) -> str:
        """What the schema asks, in one line, with its draft."""
        return print_exact(_without_notes(self.value), sort_keys=True) + self.base.draft.name

    @cached_property
    def references(self) -> tuple[Schema, ...] | None:
        """What the references in it mean, those of the schemas inside it too; None where one of them is not known."""
        found: list[Schema] = []
        waiting: list[Schema] = [self]
        while waiting:
            each = waiting.pop()
            targets = _Reading(each).targets() if isinstance(each, WrittenSchema) else None
            if targets is None or not isinstance(each, WrittenSchema):
                return None
            found += targets
            inner = [steps for steps, _ in subschemas(each.value) if steps[0] not in _DEFINITIONS]
            waiting += [each.below(*steps) for steps in sorted(inner, key=str)]
        return tuple(found)

    @cached_property
    def _whole_text(self) -> str | None:
        """A text that says it all: the schema's own, and those of the places that its references lead to."""
        if not _refers(self.value):
            return self.own_text
        places: list[Schema] = [self]
        number_by_place: dict[Schema, int] = {self: 0}
        lines: list[str] = []
        for each in places:  # it grows on the way
            targets = each.references if isinstance(each, WrittenSchema) else None
            if targets is None or len(lines) > _MAX_REFERRED or not isinstance(each, WrittenSchema):
                return None
            for target in targets:
                if target not in number_by_place:
                    number_by_place[target] = len(places)
                    places.append(target)
            lines.append(each.own_text + "".join(f" {number_by_place[target]}" for target in targets))
        return sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()

    @property
    def text(self) -> str | None:
        """A text of all that it asks, and of what it refers to."""
        return self._whole_text

    @cached_property
    def stands_for(self) -> tuple[Schema, bool]:
        """What it refers to, where it says nothing else."""
        each: Schema = self
        for _ in range(_MAX_REFERRED):
            if not isinstance(each, WrittenSchema) or not isinstance(each.value, dict):
                break
            is_reference = len(each.facts.all_of) == 1 and not each.facts.is_opaque and "$ref" in each.value
            if not is_reference or (len(each.value) > 1 and each.base.draft.is_modern):
                break
            each = each.facts.all_of[0]
        return each, True

    def _read(self) -> Facts:
        return _Reading(self).facts()

    def below(self, *steps: str | int) -> Schema:
        """A schema inside it."""
        value = self.value
        for step in steps:
            value = value[step]
        base = self.source.resolver.enter(value, self.base.below(*steps))
        return self.source.at(value, base, self.pointer)


@dataclass(slots=True)
class Facts:
    """What one schema asks. None, or nothing, where it does not ask.

    ``types`` may name ``integer``; ``values`` are those of an enum or const, ``scalars`` those among them
    that hold no others, each with its type. Limits of numbers come with whether the
    limit itself is left out. ``is_opaque`` is set where something is asked that is not understood here.
    ``counts_fractions`` says that ``1.0`` is an integer, ``marks_contained`` that items which ``contains`` takes count
    as evaluated.
    """

    is_false: bool = False
    is_opaque: bool = False
    counts_fractions: bool = True
    marks_contained: bool = False
    types: frozenset[str] | None = None
    values: list[Any] | None = None
    minimum: Limit | None = None
    maximum: Limit | None = None
    multiple_of: Number | None = None
    min_length: Number | None = None
    max_length: Number | None = None
    pattern: str | None = None
    properties: Mapping[str, Schema] = field(default_factory=dict)
    patterns: Mapping[str, Schema] = field(default_factory=dict)
    additional: Schema | None = None
    names: Schema | None = None
    required: frozenset[str] = frozenset()
    needed_names: Mapping[str, frozenset[str]] = field(default_factory=dict)
    needed_schemas: Mapping[str, Schema] = field(default_factory=dict)
    min_properties: Number | None = None
    max_properties: Number | None = None
    prefix: tuple[Schema, ...] = ()
    items: Schema | None = None
    min_items: Number | None = None
    max_items: Number | None = None
    has_unique_items: bool = False
    contains: Schema | None = None
    min_contains: Number = 1
    max_contains: Number | None = None
    unevaluated_properties: Schema | None = None
    unevaluated_items: Schema | None = None
    all_of: tuple[Schema, ...] = ()
    any_of: tuple[Schema, ...] | None = None
    one_of: tuple[Schema, ...] | None = None
    refused: Schema | None = None
    scalars: frozenset[tuple[str, Any]] = frozenset()
    condition: Schema | None = None
    consequence: Schema | None = None
    alternative: Schema | None = None


def listing(values: list[Any], text: str | None = None) -> Schema:
    """A schema that accepts these values."""
    return Schema(Facts(values=values, scalars=_scalars(values)), text=text)


def _scalars(values: list[Any]) -> frozenset[tuple[str, Any]]:
    return frozenset((type_of(each), each) for each in values if not isinstance(each, dict | list))


def _without_notes(value: Any) -> Any:
    """A schema without what asks nothing: annotations, and definitions, which count where something refers to them."""
    if not isinstance(value, dict):
        return value
    kept = {keyword: held for keyword, held in value.items() if keyword not in _NOTES}
    for keyword, held in kept.items():
        if isinstance(held, dict) and keyword in SCHEMA_MAP:
            kept[keyword] = {name: _without_notes(item) for name, item in held.items()}
        elif isinstance(held, list) and keyword in SCHEMA_LIST:
            kept[keyword] = [_without_notes(item) for item in held]
        elif keyword in ONE_SCHEMA:
            kept[keyword] = _without_notes(held)
    return kept


def _refers(value: Any) -> bool:
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict) and any(keyword in each for keyword in _REFERENCES):
            return True
        waiting += [child for steps, child in subschemas(each) if steps[0] not in _DEFINITIONS]
    return False


class _Reading:
    """The keywords of one schema, read."""

    def __init__(self, schema: WrittenSchema) -> None:
        self._schema = schema
        self._value = schema.value if isinstance(schema.value, dict) else {}
        self._draft = schema.base.draft
        self._is_opaque = False

    def facts(self) -> Facts:
        if self._schema.value is False:
            return Facts(is_false=True)
        referred = self._referred()
        if isinstance(self._value.get("$ref"), str) and not self._draft.is_modern:
            return Facts(all_of=referred, is_opaque=self._is_opaque)
        facts = Facts(counts_fractions=self._draft is not Draft.DRAFT_4)
        self._read_general(facts)
        self._read_numbers(facts)
        self._read_object(facts)
        self._read_array(facts)
        facts.all_of = (*referred, *(self._list("allOf") or ()))
        if self._draft.is_modern:
            facts.unevaluated_properties = self._one("unevaluatedProperties")
            facts.unevaluated_items = self._one("unevaluatedItems")
        facts.is_opaque = self._is_opaque
        return facts

    def targets(self) -> tuple[Schema, ...] | None:
        """What the schema's own references mean; None where that is not known."""
        found = self._referred()
        return None if self._is_opaque else found

    def _referred(self) -> tuple[Schema, ...]:
        found = []
        for keyword in _REFERENCES if self._draft.is_modern else ("$ref",):
            text = self._value.get(keyword)
            if not isinstance(text, str):
                continue
            resolver = self._schema.source.resolver
            try:
                resolve = resolver.resolve if keyword == "$ref" else resolver.resolve_dynamic
                value, base = resolve(text, self._schema.base)
            except UnresolvedReference:
                self._is_opaque = True
                continue
            self._is_opaque |= keyword != "$ref" and not resolver.has_one_resource
            own = self._schema.pointer if self._schema.base.document else f"{self._schema.pointer}/{keyword}"
            found.append(self._schema.source.at(value, base, own))
        return tuple(found)

    def _read_general(self, facts: Facts) -> None:
        value = self._value
        if isinstance(types := value.get("type"), str | list):
            facts.types = frozenset(
                [types] if isinstance(types, str) else [one for one in types if isinstance(one, str)]
            )
        if isinstance(values := value.get("enum"), list):
            facts.values = values
        if "const" in value and self._draft is not Draft.DRAFT_4:
            constant = value["const"]
            listed = facts.values is None or any(are_equal(constant, each) for each in facts.values)
            facts.values = [constant] if listed else []
        facts.scalars = _scalars(facts.values or [])
        facts.any_of, facts.one_of = self._list("anyOf"), self._list("oneOf")
        facts.refused = self._one("not")
        if self._draft not in (Draft.DRAFT_4, Draft.DRAFT_6) and "if" in value:
            facts.condition = self._one("if")
            facts.consequence, facts.alternative = self._one("then"), self._one("else")
        facts.min_length, facts.max_length = self._number("minLength"), self._number("maxLength")
        facts.pattern = value["pattern"] if isinstance(value.get("pattern"), str) else None

    def _read_numbers(self, facts: Facts) -> None:
        facts.multiple_of = self._number("multipleOf")
        low, high = self._number("minimum"), self._number("maximum")
        if self._draft is Draft.DRAFT_4:
            facts.minimum = None if low is None else (low, self._value.get("exclusiveMinimum") is True)
            facts.maximum = None if high is None else (high, self._value.get("exclusiveMaximum") is True)
            return
        above, under = self._number("exclusiveMinimum"), self._number("exclusiveMaximum")
        lows = ([] if low is None else [(low, False)]) + ([] if above is None else [(above, True)])
        highs = ([] if high is None else [(high, False)]) + ([] if under is None else [(under, True)])
        facts.minimum = max(lows, default=None)
        facts.maximum = min(highs, key=lambda limit: (limit[0], not limit[1]), default=None)

    def _read_object(self, facts: Facts) -> None:
        facts.properties, facts.patterns = self._map("properties"), self._map("patternProperties")
        facts.additional = self._one("additionalProperties")
        facts.names = None if self._draft is Draft.DRAFT_4 else self._one("propertyNames")
        required = self._value.get("required")
        facts.required = (
            frozenset(name for name in required if isinstance(name, str)) if isinstance(required, list) else frozenset()
        )
        facts.min_properties, facts.max_properties = self._number("minProperties"), self._number("maxProperties")
        names: dict[str, frozenset[str]] = {}
        schemas: dict[str, Schema] = {}
        for keyword in ("dependentRequired", "dependentSchemas") if self._draft.is_modern else ("dependencies",):
            listed = self._value.get(keyword)
            for name, value in listed.items() if isinstance(listed, dict) else ():
                if isinstance(value, list):
                    names[name] = frozenset(each for each in value if isinstance(each, str))
                else:
                    schemas[name] = self._schema.below(keyword, name)
        facts.needed_names, facts.needed_schemas = names, schemas

    def _read_array(self, facts: Facts) -> None:
        if self._draft is Draft.DRAFT_2020_12:
            facts.prefix, facts.items = self._list("prefixItems") or (), self._one("items")
            facts.marks_contained = True
        elif isinstance(self._value.get("items"), list):
            facts.prefix, facts.items = self._list("items") or (), self._one("additionalItems")
        else:
            facts.items = self._one("items")
        facts.min_items, facts.max_items = self._number("minItems"), self._number("maxItems")
        facts.has_unique_items = self._value.get("uniqueItems") is True
        if self._draft is not Draft.DRAFT_4:
            facts.contains = self._one("contains")
        if self._draft is Draft.DRAFT_2019_09:
            facts.marks_contained = self._schema.source.marks_contained_in_2019
            self._schema.source.has_contains_in_2019 |= facts.contains is not None
        if self._draft.is_modern and facts.contains is not None:
            facts.min_contains = 1 if (low := self._number("minContains")) is None else low
            facts.max_contains = self._number("maxContains")

    def _one(self, keyword: str) -> Schema | None:
        return self._schema.below(keyword) if isinstance(self._value.get(keyword), dict | bool) else None

    def _list(self, keyword: str) -> tuple[Schema, ...] | None:
        listed = self._value.get(keyword)
        return (
            tuple(self._schema.below(keyword, index) for index in range(len(listed)))
            if isinstance(listed, list)
            else None
        )

    def _map(self, keyword: str) -> dict[str, Schema]:
        listed = self._value.get(keyword)
        return {name: self._schema.below(keyword, name) for name in listed} if isinstance(listed, dict) else {}

    def _number(self, keyword: str) -> Number | None:
        value = self._value.get(keyword)
        if not isinstance(value, int | Decimal) or isinstance(value, bool):
            return None
        if abs(Decimal(value).adjusted()) > _MAX_MAGNITUDE:
            self._is_opaque = True
            return None
        return value
