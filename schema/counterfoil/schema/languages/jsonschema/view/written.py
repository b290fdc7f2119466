"""Schemas at their places in a text, and their constraints, read once for each place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from functools import cached_property
from hashlib import sha256
from typing import Final

from counterfoil.schema.datum import Json
from counterfoil.schema.languages.jsonschema.document import (
    ONE_SCHEMA,
    SCHEMA_LIST,
    SCHEMA_MAP,
    Base,
    Draft,
    UnresolvedReference,
    subschemas,
)
from counterfoil.schema.languages.jsonschema.json_values import Number, are_equal, is_number, print_exact
from counterfoil.schema.languages.jsonschema.schema import JsonSchema
from counterfoil.schema.languages.jsonschema.view.facts import ConstrainedSchema, KeywordFacts, scalars_of
from counterfoil.schema.texts import Pointer

# The part of a schema that constrains values: the schema without annotations and definitions.

REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
DEFINITIONS: Final = frozenset({"$defs", "definitions"})
_NOTES: Final = DEFINITIONS | {
    *("$comment", "title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "format"),
    *("contentEncoding", "contentMediaType", "contentSchema", "$schema", "$vocabulary"),
}


def without_notes(value: Json) -> Json:
    """Return a schema without annotations and definitions.

    Definitions count only where a reference leads to them.
    """
    if not isinstance(value, dict):
        return value
    kept = {keyword: held for keyword, held in value.items() if keyword not in _NOTES}
    for keyword, held in kept.items():
        if isinstance(held, dict) and keyword in SCHEMA_MAP:
            kept[keyword] = {name: without_notes(item) for name, item in held.items()}
        elif isinstance(held, list) and keyword in SCHEMA_LIST:
            kept[keyword] = [without_notes(item) for item in held]
        elif keyword in ONE_SCHEMA:
            kept[keyword] = without_notes(held)
    return kept


def refers(value: Json) -> bool:
    """Return whether a schema, or one inside it, contains a reference."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict) and any(keyword in each for keyword in REFERENCES):
            return True
        waiting += [child for steps, child in subschemas(each) if steps[0] not in DEFINITIONS]
    return False


# Schemas at their places.
#
# A schema is identified by its place, so that recursive schemas can be followed.

_SINCE_2019: Final = frozenset({"unevaluatedItems", "unevaluatedProperties"})
_SINCE_DRAFT_7: Final = frozenset({"if", "then", "else"})
_SINCE_DRAFT_6: Final = frozenset({"contains", "propertyNames"})
_OF_NUMBERS: Final = frozenset({"multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"})
_OF_OBJECTS: Final = frozenset(
    {
        "additionalProperties",
        "dependencies",
        "dependentRequired",
        "dependentSchemas",
        "maxProperties",
        "minProperties",
        "patternProperties",
        "properties",
        "propertyNames",
        "required",
    }
)
_OF_ARRAYS: Final = frozenset(
    {
        "additionalItems",
        "contains",
        "items",
        "maxContains",
        "maxItems",
        "minContains",
        "minItems",
        "prefixItems",
        "uniqueItems",
    }
)
_NO_KEYWORDS: Final[Mapping[str, Json]] = {}

_MAX_REFERRED: Final = 60
"""The largest number of references that are followed to compare schemas by their texts."""

_MAX_MAGNITUDE: Final = 400
"""The largest decimal exponent of a limit; a schema with a larger one is not decided."""


def root_of(schema: JsonSchema, *, marks_contained_in_2019: bool = True) -> WrittenSchema:
    """Return the root of a new :class:`WrittenSchemas` for the schema.

    For the second parameter see :class:`WrittenSchemas`.
    """
    return WrittenSchemas(schema, marks_contained_in_2019=marks_contained_in_2019).root


class WrittenSchemas:
    """One schema text, with every schema in it and in its references, each once.

    The text of draft 2019-09 does not say that ``contains`` evaluates the items that fit it, but validators act as if
    it did; ``marks_contained_in_2019`` selects the interpretation. ``has_contains_in_2019`` is whether a schema has
    been read for which this makes a difference.
    """

    def __init__(self, schema: JsonSchema, *, marks_contained_in_2019: bool = True) -> None:
        self.resolver = schema.resolver
        self.marks_contained_in_2019 = marks_contained_in_2019
        self.has_contains_in_2019 = False
        self._schema_by_place: dict[tuple[str, Pointer], WrittenSchema] = {}
        self.root = self.at(schema.document, schema.base, ())

    def at(self, value: Json, base: Base, origin: Pointer) -> WrittenSchema:
        """Return the schema at ``base``; ``origin`` is the nearest pointer in the schema's own text."""
        place = (base.document, base.pointer)
        known = self._schema_by_place.get(place)
        if known is None:
            pointer = base.pointer if base.document == "" else origin
            known = self._schema_by_place[place] = WrittenSchema(self, value, base, pointer)
        return known


_EMPTY_TEXTS: Final = {"True": "true", "False": "false", "{}": "{}"}
"""The texts of schemas without keywords."""


class WrittenSchema(ConstrainedSchema):
    """A schema in a text: its ``value`` (an object, true or false) and its ``base``."""

    def __init__(self, source: WrittenSchemas, value: Json, base: Base, pointer: Pointer) -> None:
        super().__init__(None, pointer)
        self.source = source
        self.value = value
        self.base = base
        self.accepts_everything = value is True or value == {}

    @cached_property
    def keywords(self) -> Mapping[str, Json]:
        """The keywords of the schema: none for true and false; in drafts up to 7 only ``$ref`` if it is present."""
        if not isinstance(self.value, dict):
            return _NO_KEYWORDS
        if not self.base.draft.is_modern and isinstance(self.value.get("$ref"), str):
            return {"$ref": self.value["$ref"]}
        return self.value

    def is_ignored(self, keyword: str) -> bool:
        """Return whether the schema's draft does not have a keyword yet."""
        draft = self.base.draft
        if keyword in _SINCE_2019:
            return not draft.is_modern
        if keyword in _SINCE_DRAFT_7:
            return draft is Draft.DRAFT_4 or draft is Draft.DRAFT_6
        return draft is Draft.DRAFT_4 and keyword in _SINCE_DRAFT_6

    def below(self, *steps: str | int) -> WrittenSchema:
        """Return the schema inside it at ``steps``."""
        value = self.value
        for step in steps:
            value = value[step]
        base = self.source.resolver.enter(value, self.base.below(*steps))
        return self.source.at(value, base, self.pointer)

    def one(self, keyword: str) -> WrittenSchema | None:
        """Return the schema under a keyword; None if there is none, or if the draft does not have the keyword."""
        is_there = isinstance(self.keywords.get(keyword), dict | bool) and not self.is_ignored(keyword)
        return self.below(keyword) if is_there else None

    def children(self, keyword: str) -> list[WrittenSchema]:
        """Return the schemas in the list under a keyword."""
        held = self.keywords.get(keyword)
        return [self.below(keyword, index) for index in range(len(held))] if isinstance(held, list) else []

    def named(self, keyword: str) -> Iterator[tuple[str, WrittenSchema]]:
        """Yield the names and schemas in the object under a keyword."""
        held = self.keywords.get(keyword)
        for name, item in held.items() if isinstance(held, dict) else ():
            if isinstance(item, dict | bool):
                yield name, self.below(keyword, name)

    @property
    def prefix_keyword(self) -> str:
        """The keyword for the list of schemas of the first items."""
        return "prefixItems" if self.base.draft is Draft.DRAFT_2020_12 else "items"

    @property
    def dependency_keywords(self) -> tuple[str, ...]:
        """The keywords for what is required if a property is present."""
        return ("dependentRequired", "dependentSchemas") if self.base.draft.is_modern else ("dependencies",)

    @property
    def referred(self) -> tuple[WrittenSchema, ...]:
        """The schemas that its references lead to; unresolvable references are left out."""
        return self.references[0]

    @cached_property
    def references(self) -> tuple[tuple[WrittenSchema, ...], bool]:
        """The schemas that its references lead to, and whether these are certainly all."""
        found = []
        is_sure = True
        resolver = self.source.resolver
        for keyword in REFERENCES if self.base.draft.is_modern else ("$ref",):
            text = self.keywords.get(keyword)
            if not isinstance(text, str):
                continue
            resolve = resolver.resolve if keyword == "$ref" else resolver.resolve_dynamic
            try:
                value, base = resolve(text, self.base)
            except UnresolvedReference:
                is_sure = False
                continue
            is_sure = is_sure and (keyword == "$ref" or resolver.has_one_resource)
            own = self.pointer if self.base.document else (*self.pointer, keyword)
            found.append(self.source.at(value, base, own))
        return tuple(found), is_sure

    @cached_property
    def own_text(self) -> str:
        """The constraints of the schema in one line of text, with its draft."""
        return print_exact(without_notes(self.value), sort_keys=True) + self.base.draft.name

    @cached_property
    def references_inside(self) -> tuple[WrittenSchema, ...] | None:
        """The schemas that the references in it and inside it lead to; None if one of them is unknown."""
        found: list[WrittenSchema] = []
        waiting = [self]
        while waiting:
            each = waiting.pop()
            targets, is_sure = each.references
            if not is_sure:
                return None
            found += targets
            inner = [steps for steps, _ in subschemas(each.value) if steps[0] not in DEFINITIONS]
            waiting += [each.below(*steps) for steps in sorted(inner, key=str)]
        return tuple(found)

    @cached_property
    def _whole_text(self) -> str | None:
        """A text of all constraints: the schema's own, and those of all schemas that its references lead to."""
        if isinstance(self.value, bool) or self.value == {}:
            return _EMPTY_TEXTS[str(self.value)] + self.base.draft.name  # a shortcut for speed
        if not refers(self.value):
            return self.own_text
        places = [self]
        number_by_place: dict[ConstrainedSchema, int] = {self: 0}
        lines: list[str] = []
        for each in places:  # the list grows in the loop
            targets = each.references_inside
            if targets is None or len(lines) > _MAX_REFERRED:
                return None
            for target in targets:
                if target not in number_by_place:
                    number_by_place[target] = len(places)
                    places.append(target)
            lines.append(each.own_text + "".join(f" {number_by_place[target]}" for target in targets))
        return sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()

    @property
    def text(self) -> str | None:
        """A text of all constraints, including those of references; None if one is unknown or there are too many."""
        return self._whole_text

    @cached_property
    def stands_for(self) -> tuple[ConstrainedSchema, bool]:
        """The schema that its reference leads to, if it has no other constraint; otherwise itself."""
        if not isinstance(self.value, dict) or "$ref" not in self.value:
            return self, True  # most schemas; a shortcut for speed
        each = self
        for _ in range(_MAX_REFERRED):
            targets, is_sure = each.references
            is_alone = "$ref" in each.keywords and (len(each.value) == 1 or not each.base.draft.is_modern)
            if not (is_alone and is_sure and len(targets) == 1):
                break
            each = targets[0]
        return each, True

    def _read(self) -> KeywordFacts:
        return _Reading(self).facts()


class _Reading:
    """The reading of one schema's keywords."""

    def __init__(self, schema: WrittenSchema) -> None:
        self._schema = schema
        self._keywords = schema.keywords
        self._draft = schema.base.draft
        self._is_opaque = False

    def facts(self) -> KeywordFacts:
        if self._schema.value is False:
            return KeywordFacts(is_false=True)
        facts = KeywordFacts(counts_fractions=self._draft is not Draft.DRAFT_4, marks_contained=self._marks_contained())
        if not self._keywords:
            return facts
        self._read_general(facts)
        names = self._keywords.keys()
        if not names.isdisjoint(_OF_NUMBERS):
            self._read_numbers(facts)
        if not names.isdisjoint(_OF_OBJECTS):
            self._read_object(facts)
        if not names.isdisjoint(_OF_ARRAYS):
            self._read_array(facts)
        referred, is_sure = self._schema.references
        facts.all_of = (*referred, *self._schema.children("allOf"))
        facts.unevaluated_properties = self._schema.one("unevaluatedProperties")
        facts.unevaluated_items = self._schema.one("unevaluatedItems")
        facts.is_opaque = self._is_opaque or not is_sure
        return facts

    def _marks_contained(self) -> bool:
        if self._draft is Draft.DRAFT_2019_09:
            return self._schema.source.marks_contained_in_2019
        return self._draft is Draft.DRAFT_2020_12

    def _read_general(self, facts: KeywordFacts) -> None:
        keywords = self._keywords
        if isinstance(types := keywords.get("type"), str | list):
            facts.types = frozenset(
                [types] if isinstance(types, str) else [one for one in types if isinstance(one, str)]
            )
        if isinstance(values := keywords.get("enum"), list):
            facts.values = values
        if "const" in keywords and self._draft is not Draft.DRAFT_4:
            constant = keywords["const"]
            listed = facts.values is None or any(are_equal(constant, each) for each in facts.values)
            facts.values = [constant] if listed else []
        facts.scalars = scalars_of(facts.values or [])
        facts.any_of, facts.one_of = self._list("anyOf"), self._list("oneOf")
        facts.refused = self._schema.one("not")
        facts.condition = self._schema.one("if")
        if facts.condition is not None:
            facts.consequence, facts.alternative = self._schema.one("then"), self._schema.one("else")
        facts.min_length, facts.max_length = self._number("minLength"), self._number("maxLength")
        facts.pattern = keywords["pattern"] if isinstance(keywords.get("pattern"), str) else None

    def _read_numbers(self, facts: KeywordFacts) -> None:
        facts.multiple_of = self._number("multipleOf")
        low, high = self._number("minimum"), self._number("maximum")
        if self._draft is Draft.DRAFT_4:
            facts.minimum = None if low is None else (low, self._keywords.get("exclusiveMinimum") is True)
            facts.maximum = None if high is None else (high, self._keywords.get("exclusiveMaximum") is True)
            return
        above, under = self._number("exclusiveMinimum"), self._number("exclusiveMaximum")
        lows = ([] if low is None else [(low, False)]) + ([] if above is None else [(above, True)])
        highs = ([] if high is None else [(high, False)]) + ([] if under is None else [(under, True)])
        facts.minimum = max(lows, default=None)
        facts.maximum = min(highs, key=lambda limit: (limit[0], not limit[1]), default=None)

    def _read_object(self, facts: KeywordFacts) -> None:
        facts.properties, facts.patterns = (
            dict(self._schema.named("properties")),
            dict(self._schema.named("patternProperties")),
        )
        facts.additional = self._schema.one("additionalProperties")
        facts.names = self._schema.one("propertyNames")
        required = self._keywords.get("required")
        facts.required = (
            frozenset(name for name in required if isinstance(name, str)) if isinstance(required, list) else frozenset()
        )
        facts.min_properties, facts.max_properties = self._number("minProperties"), self._number("maxProperties")
        names: dict[str, frozenset[str]] = {}
        schemas: dict[str, ConstrainedSchema] = {}
        for keyword in self._schema.dependency_keywords:
            listed = self._keywords.get(keyword)
            for name, value in listed.items() if isinstance(listed, dict) else ():
                if isinstance(value, list):
                    names[name] = frozenset(each for each in value if isinstance(each, str))
                elif isinstance(value, dict | bool):
                    schemas[name] = self._schema.below(keyword, name)
        facts.needed_names, facts.needed_schemas = names, schemas

    def _read_array(self, facts: KeywordFacts) -> None:
        if self._draft is Draft.DRAFT_2020_12:
            facts.prefix, facts.items = self._list("prefixItems") or (), self._schema.one("items")
        elif isinstance(self._keywords.get("items"), list):
            facts.prefix, facts.items = self._list("items") or (), self._schema.one("additionalItems")
        else:
            facts.items = self._schema.one("items")
        facts.min_items, facts.max_items = self._number("minItems"), self._number("maxItems")
        facts.has_unique_items = self._keywords.get("uniqueItems") is True
        facts.contains = self._schema.one("contains")
        if self._draft is Draft.DRAFT_2019_09:
            self._schema.source.has_contains_in_2019 |= facts.contains is not None
        if self._draft.is_modern and facts.contains is not None:
            facts.min_contains = 1 if (low := self._number("minContains")) is None else low
            facts.max_contains = self._number("maxContains")

    def _list(self, keyword: str) -> tuple[ConstrainedSchema, ...] | None:
        return tuple(self._schema.children(keyword)) if isinstance(self._keywords.get(keyword), list) else None

    def _number(self, keyword: str) -> Number | None:
        value = self._keywords.get(keyword)
        if not is_number(value):
            return None
        if abs(Decimal(value).adjusted()) > _MAX_MAGNITUDE:
            self._is_opaque = True
            return None
        return value
