"""The sketch of JSON data, counted at steps from the root, and whether a JSON schema accepts all values of a sketch."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from counterfoil.schema.datum import Json, JsonObject
from counterfoil.schema.languages.jsonschema.json_values import are_equal
from counterfoil.schema.languages.jsonschema.schema import JsonSchema
from counterfoil.schema.languages.jsonschema.view.facts import ConstrainedSchema, KeywordFacts
from counterfoil.schema.languages.jsonschema.view.written import WrittenSchema, root_of
from counterfoil.schema.parsed import ParsedSchema
from counterfoil.schema.patterns.matching import holds_match
from counterfoil.schema.sketch.model import (
    MAX_PLACES,
    Count,
    Place,
    PlaceCounts,
    PlaceSketch,
    SchemaSketch,
    SketchBuilder,
    depth_that_fits,
)
from counterfoil.schema.tags import Hidden
from counterfoil.schema.texts import Pointer

if TYPE_CHECKING:
    from counterfoil.schema.compatibility.findings import Difference


# The sketch of JSON data: each value is counted at its steps from the root.
#
# Steps are the names that the writer's schema declares; the values of all other properties of an object are one place.

ITEMS: Final = "[]"
"""The step to the items of an array."""
OTHERS: Final = "{}"
"""The step to the values of properties that the schema does not name."""


def step_of(name: str) -> str:
    """Return the step to a property that the schema names."""
    return f".{name}"


class JsonSketcher:
    """Counts values of one JSON schema: None, bool, int, float, str, list, dict."""

    def __init__(self, schema: JsonSchema, builder: SketchBuilder, hidden: Hidden) -> None:
        self._builder = builder
        self._hidden = hidden
        self._names = declared_names(schema)
        self._root = _Node((), builder.at((), is_hidden=hidden.is_all))

    def add(self, value: object, size: int) -> None:
        """Count a record."""
        del size
        self._builder.records += 1
        self._visit(self._root, value, self._builder.records)

    def _visit(self, node: _Node, value: Json, record: int) -> None:
        counts = node.counts
        counts.seen(record)
        match value:
            case None:
                counts.null()
                counts.branch("null")
            case bool():
                counts.branch("boolean")
            case str():
                counts.branch("string")
                counts.text(value)
            case dict():
                counts.branch("object")
                self._object(node, value, record)
            case list():
                counts.branch("array")
                counts.size(len(value))
                child = self._below(node, ITEMS) if value else None
                if child is not None:
                    for each in value:
                        self._visit(child, each, record)
            case int():
                counts.branch("integer")
                counts.number(value)
            case _:
                counts.branch("number")
                counts.number(float(value))

    def _object(self, node: _Node, value: JsonObject, record: int) -> None:
        node.counts.size(len(value))
        for name, each in value.items():
            if name in self._names:
                child = self._below(node, step_of(name))
            else:
                node.counts.name(name)
                child = self._below(node, OTHERS)
            if child is not None:
                self._visit(child, each, record)

    def _below(self, node: _Node, step: str) -> _Node | None:
        known = node.below.get(step)
        if known is not None:
            return known
        depth = self._builder.depth
        if depth is not None and len(node.place) >= depth:
            return None
        place = (*node.place, step)
        is_hidden = node.is_hidden or self._hidden.is_all or step[1:] in self._hidden.names
        made = node.below[step] = _Node(place, self._builder.at(place, is_hidden=is_hidden), is_hidden=is_hidden)
        if len(self._builder.places) > MAX_PLACES:
            self._cut()
        return made

    def _cut(self) -> None:
        """Forget the deepest places; a value at one of them that is being counted is counted no longer."""
        places = self._builder.places
        depth = self._builder.depth = depth_that_fits(places, self._builder.depth)
        if depth is not None:
            for place in [each for each in places if len(each) > depth]:
                del places[place]
            self._root.cut(depth)


class _Node:
    """A place with the places below it."""

    __slots__ = ("below", "counts", "is_hidden", "place")

    def __init__(self, place: Place, counts: PlaceCounts, *, is_hidden: bool = False) -> None:
        self.place = place
        self.counts = counts
        self.is_hidden = is_hidden
        self.below: dict[str, _Node] = {}

    def cut(self, depth: int) -> None:
        """Forget the places below that are deeper than ``depth``."""
        if len(self.place) >= depth:
            self.below.clear()
        for each in self.below.values():
            each.cut(depth)


def declared_names(schema: JsonSchema) -> frozenset[str]:
    """Return the names of properties that a schema or one of its references has anywhere."""
    return frozenset(name for each in (schema.document, *schema.references.values()) for name in _names(each))


def _names(node: object) -> Iterator[str]:
    if isinstance(node, list):
        for each in node:
            yield from _names(each)
    elif isinstance(node, dict):
        for keyword, inner in node.items():
            if keyword == "properties" and isinstance(inner, dict):
                yield from inner
            elif keyword == "required" and isinstance(inner, list):
                yield from (name for name in inner if isinstance(name, str))
            yield from _names(inner)


# Whether a JSON schema accepts every value that a sketch summarizes: yes, or at which places it may refuse some.
#
# Each keyword is applied to the counts, symbols and ranges of a place. What these do not show counts as refused, unless
# the writer's schema has the same keyword, since every value of the sketch is valid for the writer's schema.

MAX_STEPS: Final = 20_000
"""The largest number of schemas that are applied; what remains counts as refused."""

_NUMBERS: Final = frozenset({"integer", "number"})


@dataclass(frozen=True, slots=True)
class SketchRefusal:
    """A place of the reader at which at most ``records`` records may be refused.

    ``pointers`` lead to it; for a property that is missing, also to the property's schema.
    """

    pointers: tuple[Pointer, ...]
    records: int
    is_exact: bool = False


@dataclass(frozen=True, slots=True)
class _Values:
    """The values at a place that have one of these JSON types."""

    place: Place
    sketch: PlaceSketch
    types: frozenset[str]

    def only(self, types: Iterable[str]) -> _Values:
        return _Values(self.place, self.sketch, self.types & frozenset(types))

    def count(self, types: Iterable[str]) -> int:
        return min(sum(self.sketch.branches.get(each, 0) for each in self.types.intersection(types)), self.most)

    @property
    def most(self) -> int:
        """The largest number of records with such a value."""
        return min(sum(self.sketch.branches.get(each, 0) for each in self.types), self.sketch.records)


class Acceptance:
    """One application of a reader's schema to the sketch of a writer's records."""

    def __init__(self, reader: JsonSchema, writer: JsonSchema, sketch: SchemaSketch) -> None:
        self._reader = root_of(reader)
        self._writer = root_of(writer)
        self._declared = declared_names(writer)
        self._sketch = sketch
        self._refusals: list[SketchRefusal] = []
        self._active: set[tuple[int, Place, frozenset[str]]] = set()
        self._left = MAX_STEPS

    def refusals(self) -> list[SketchRefusal]:
        """Return the places of the reader that may refuse a value; none if it accepts every record."""
        root = self._values(())
        if root is None:
            return [SketchRefusal(((),), self._sketch.records)]
        try:
            self._applies(self._reader, root, [self._writer])
        except RecursionError:
            return [SketchRefusal(((),), self._sketch.records)]
        return self._refusals

    def _values(self, place: Place) -> _Values | None:
        """Return the values at a place; None if they were not kept."""
        found = self._sketch.find(place)
        return None if found is None else _Values(place, found, frozenset(found.branches))

    def _refuse(
        self,
        schema: ConstrainedSchema,
        values: _Values,
        *steps: str | int,
        count: int | None = None,
        beside: tuple[Pointer, ...] = (),
    ) -> None:
        """Note that a schema may refuse values, at the keyword to which ``steps`` lead and at ``beside``.

        ``count`` is how many records, if the sketch shows that exactly.
        """
        is_exact = count is not None and values.sketch.records == values.sketch.values
        most = values.most if count is None else min(count, values.sketch.records)
        self._refusals.append(SketchRefusal(((*schema.pointer, *steps), *beside), most, is_exact))

    def _accepts(self, schema: ConstrainedSchema, values: _Values, writers: Sequence[ConstrainedSchema]) -> bool:
        """Return whether a schema surely accepts the values, without noting refusals."""
        noted = len(self._refusals)
        self._applies(schema, values, writers)
        is_accepted = len(self._refusals) == noted
        del self._refusals[noted:]
        return is_accepted

    def _applies(self, schema: ConstrainedSchema, values: _Values, writers: Sequence[ConstrainedSchema]) -> None:
        """Apply a schema to values that are all valid for each of ``writers``, and note the ones that it may refuse."""
        if schema.accepts_everything or not values.types:
            return
        known = list(_all_of(writers))
        if schema.text is not None and any(each.text == schema.text for each in known):
            return
        self._left -= 1
        key = (id(schema), values.place, values.types)
        facts = schema.facts
        if facts.is_false or facts.is_opaque or key in self._active or self._left < 0:
            self._refuse(schema, values)
            return
        self._active.add(key)
        self._keywords(schema, facts, values, known)
        self._active.discard(key)

    def _keywords(
        self, schema: ConstrainedSchema, facts: KeywordFacts, values: _Values, writers: list[ConstrainedSchema]
    ) -> None:
        self._types(schema, facts, values)
        self._enumerated(schema, facts, values, writers)
        if values.types & _NUMBERS:
            self._numbers(schema, facts, values.only(_NUMBERS), writers)
        if "string" in values.types:
            self._texts(schema, facts, values.only(["string"]), writers)
        if "object" in values.types:
            self._objects(schema, facts, values.only(["object"]), writers)
        if "array" in values.types:
            self._arrays(schema, facts, values.only(["array"]), writers)
        self._combined(schema, facts, values, writers)

    def _types(self, schema: ConstrainedSchema, facts: KeywordFacts, values: _Values) -> None:
        if facts.types is not None:
            wrong = [each for each in values.types if not _is_of(each, facts.types)]
            if wrong:
                self._refuse(schema, values, "type", count=values.count(wrong))

    def _enumerated(
        self, schema: ConstrainedSchema, facts: KeywordFacts, values: _Values, writers: list[ConstrainedSchema]
    ) -> None:
        listed = facts.values
        if listed is None:
            return
        for writer in writers:
            allowed = writer.facts.values
            if allowed is not None and all(any(are_equal(one, other) for other in listed) for one in allowed):
                return
        keyword = "enum" if "enum" in _written(schema) else "const"
        symbols = values.sketch.symbols
        if values.types <= {"string", "null"} and symbols is not None:
            others = sum(count for text, count in symbols.items() if text not in listed)
            nulls = values.sketch.nulls if "null" in values.types and None not in listed else 0
            others = others if "string" in values.types else 0
            if others + nulls:
                self._refuse(schema, values, keyword, count=others + nulls)
            return
        if values.types == {"boolean"} and all(any(each is one for one in listed) for each in (True, False)):
            return
        self._refuse(schema, values, keyword)

    def _numbers(
        self, schema: ConstrainedSchema, facts: KeywordFacts, values: _Values, writers: list[ConstrainedSchema]
    ) -> None:
        least, most = values.sketch.least, values.sketch.most
        for keyword, limit in (("minimum", facts.minimum), ("maximum", facts.maximum)):
            if limit is None or any(getattr(each.facts, keyword) == limit for each in writers):
                continue
            found = least if keyword == "minimum" else most
            if found is None or not _is_within(found, limit, is_low=keyword == "minimum"):
                self._refuse(schema, values, _spelled(schema, keyword))
        unit = facts.multiple_of
        is_whole = unit == 1 and values.types == {"integer"}
        if unit is not None and not is_whole and not any(each.facts.multiple_of == unit for each in writers):
            self._refuse(schema, values, "multipleOf")

    def _texts(
        self, schema: ConstrainedSchema, facts: KeywordFacts, values: _Values, writers: list[ConstrainedSchema]
    ) -> None:
        self._sizes(schema, values, writers, ("min_length", "minLength"), ("max_length", "maxLength"))
        pattern, symbols = facts.pattern, values.sketch.symbols
        if pattern is None or any(each.facts.pattern == pattern for each in writers):
            return
        if symbols is None:
            self._refuse(schema, values, "pattern")
            return
        others = sum(count for text, count in symbols.items() if holds_match(pattern, text) is not True)
        if others:
            self._refuse(schema, values, "pattern", count=others)

    def _sizes(
        self,
        schema: ConstrainedSchema,
        values: _Values,
        writers: list[ConstrainedSchema],
        low: tuple[str, str],
        high: tuple[str, str],
    ) -> None:
        """Apply the limits of a length; each is a name among the facts, and the keyword."""
        for (name, keyword), found in ((low, values.sketch.shortest), (high, values.sketch.longest)):
            limit = getattr(schema.facts, name)
            if limit is None or any(getattr(each.facts, name) == limit for each in writers):
                continue
            if found is None or (found < limit if name == low[0] else found > limit):
                self._refuse(schema, values, keyword)

    def _objects(
        self, schema: ConstrainedSchema, facts: KeywordFacts, values: _Values, writers: list[ConstrainedSchema]
    ) -> None:
        self._sizes(schema, values, writers, ("min_properties", "minProperties"), ("max_properties", "maxProperties"))
        for name in sorted(facts.required.difference(*(each.facts.required for each in writers))):
            absent = self._absent(values, name)
            if absent:
                beside = ((*schema.pointer, "properties", name),)
                self._refuse(schema, values, "required", *_index(schema, name), count=absent, beside=beside)
        for name, needed in facts.needed_names.items():
            if any(needed <= each.facts.needed_names.get(name, frozenset()) for each in writers):
                continue
            if self._present(values, name) and any(self._absent(values, other) for other in needed):
                self._refuse(schema, values)
        for name, inner in facts.needed_schemas.items():
            if self._present(values, name):
                self._applies(inner, values, writers)
        if facts.names is not None and not any(_is_same(facts.names, each.facts.names) for each in writers):
            self._refuse(schema, values, "propertyNames")
        if _restricts(facts.unevaluated_properties) and any(facts.beside()):
            self._refuse(schema, values, "unevaluatedProperties")
        self._properties(schema, facts, values, writers)

    def _absent(self, values: _Values, name: str) -> int:
        """Return the largest number of objects that lack a property."""
        return max(0, values.sketch.branches.get("object", 0) - self._surely_present(values, name))

    def _surely_present(self, values: _Values, name: str) -> int:
        if name not in self._declared:
            return (values.sketch.names or {}).get(name, 0)
        found = self._sketch.find((*values.place, step_of(name)))
        return 0 if found is None else found.values

    def _present(self, values: _Values, name: str) -> bool:
        """Return whether an object may have a property."""
        if name not in self._declared:
            return values.sketch.names is None or name in values.sketch.names
        found = self._sketch.find((*values.place, step_of(name)))
        return found is None or found.values > 0

    def _properties(
        self, schema: ConstrainedSchema, facts: KeywordFacts, values: _Values, writers: list[ConstrainedSchema]
    ) -> None:
        """Apply the schemas of properties: the declared ones each by itself, and the others together."""
        for name in sorted(self._declared):
            place = (*values.place, step_of(name))
            if place in self._sketch.places or self._sketch.find(place) is None:
                inner = [each for writer in writers for each in writer.facts.property(name)]
                self._inside(schema, place, facts.property(name), inner)
        place = (*values.place, OTHERS)
        if self._sketch.find(place) == PlaceSketch():
            return
        names = values.sketch.names
        if names is not None:
            for name in names:
                inner = [each for writer in writers for each in writer.facts.property(name)]
                self._inside(schema, place, facts.property(name), inner)
            return
        undeclared = [each for name, each in facts.properties.items() if name not in self._declared]
        rest = [facts.additional or facts.unevaluated_properties]
        self._inside(schema, place, [*undeclared, *facts.patterns.values(), *(each for each in rest if each)], [])

    def _inside(
        self,
        around: ConstrainedSchema,
        place: Place,
        schemas: Iterable[ConstrainedSchema],
        writers: Sequence[ConstrainedSchema],
    ) -> None:
        values = self._values(place)
        for each in schemas:
            if values is None and not each.accepts_everything:
                self._refusals.append(SketchRefusal((each.pointer or around.pointer,), self._sketch.records))
            elif values is not None:
                self._applies(each, values, writers)

    def _arrays(
        self, schema: ConstrainedSchema, facts: KeywordFacts, values: _Values, writers: list[ConstrainedSchema]
    ) -> None:
        self._sizes(schema, values, writers, ("min_items", "minItems"), ("max_items", "maxItems"))
        longest = values.sketch.longest
        is_longer = longest is None or longest > 1
        if facts.has_unique_items and is_longer and not any(each.facts.has_unique_items for each in writers):
            self._refuse(schema, values, "uniqueItems")
        if not _is_any_number(facts) and not any(_is_same_contains(facts, each.facts) for each in writers):
            self._refuse(schema, values, "contains")
        if _restricts(facts.unevaluated_items) and facts.items is None:
            self._refuse(schema, values, "unevaluatedItems")
        used = [each for index, each in enumerate(facts.prefix) if longest is None or index < longest]
        if facts.items is not None and (longest is None or longest > len(facts.prefix)):
            used.append(facts.items)
        inner = [each.facts.items for each in writers if each.facts.items is not None and not each.facts.prefix]
        self._inside(schema, (*values.place, ITEMS), used, inner)

    def _combined(
        self, schema: ConstrainedSchema, facts: KeywordFacts, values: _Values, writers: list[ConstrainedSchema]
    ) -> None:
        for each in facts.all_of:
            self._applies(each, values, writers)
        for keyword, branches in (("anyOf", facts.any_of), ("oneOf", facts.one_of)):
            is_same = any(_are_same(branches, _branches(each.facts, keyword)) for each in writers)
            if branches is not None and not is_same:
                self._alternatives(schema, keyword, branches, values, writers)
        refused = facts.refused
        is_same = any(_is_same(refused, each.facts.refused) for each in writers)
        if refused is not None and not is_same and not _surely_refuses(refused, values):
            self._refuse(schema, values, "not")
        if facts.condition is not None and not any(_is_same_condition(facts, each.facts) for each in writers):
            for inner in (facts.consequence, facts.alternative):
                if inner is not None:
                    self._applies(inner, values, writers)

    def _alternatives(
        self,
        schema: ConstrainedSchema,
        keyword: str,
        branches: tuple[ConstrainedSchema, ...],
        values: _Values,
        writers: list[ConstrainedSchema],
    ) -> None:
        """Apply the branches of anyOf or oneOf to the values of each type by itself."""
        for name in sorted(values.types):
            of_type = values.only([name])
            fits = [each for each in branches if self._accepts(each, of_type, writers)]
            others = [each for each in branches if each not in fits]
            is_one = len(fits) == 1 and all(_surely_refuses(each, of_type) for each in others)
            if not fits or (keyword == "oneOf" and not is_one):
                self._refuse(schema, of_type, keyword)


def _all_of(schemas: Iterable[ConstrainedSchema]) -> Iterator[ConstrainedSchema]:
    """Yield schemas, and those that apply wherever they do, each once."""
    seen: set[int] = set()
    waiting = list(schemas)
    while waiting:
        each = waiting.pop()
        if id(each) not in seen:
            seen.add(id(each))
            yield each
            waiting += each.facts.all_of


def _is_of(found: str, types: frozenset[str]) -> bool:
    return found in types or (found == "integer" and "number" in types)


def _may_be_of(found: str, types: frozenset[str]) -> bool:
    """Return whether a value may be of one of ``types``; 1.0 is a number and in most drafts an integer."""
    return found in types or (found in _NUMBERS and not _NUMBERS.isdisjoint(types))


def _is_within(found: float, limit: tuple[Json, bool], *, is_low: bool) -> bool:
    bound, is_excluded = limit
    if isinstance(found, float):
        bound = _as_float(bound)
    if found == bound:
        return not is_excluded
    return bool(found > bound) if is_low else bool(found < bound)


def _as_float(number: Json) -> float:
    """Return the number that programs read it as."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _spelled(schema: ConstrainedSchema, keyword: str) -> str:
    """Return the keyword by which a schema has a limit: it may be the exclusive one."""
    exclusive = f"exclusive{keyword[:1].upper()}{keyword[1:]}"
    written = _written(schema)
    return exclusive if keyword not in written and exclusive in written else keyword


def _written(schema: ConstrainedSchema) -> Mapping[str, Json]:
    """Return the keywords of a schema as they are written."""
    return schema.keywords if isinstance(schema, WrittenSchema) else {}


def _index(schema: ConstrainedSchema, name: str) -> tuple[int, ...]:
    """Return the step to a name in the list of required properties."""
    listed = _written(schema).get("required")
    return (listed.index(name),) if isinstance(listed, list) and name in listed else ()


def _branches(facts: KeywordFacts, keyword: str) -> tuple[ConstrainedSchema, ...] | None:
    return facts.any_of if keyword == "anyOf" else facts.one_of


def _is_same(one: ConstrainedSchema | None, other: ConstrainedSchema | None) -> bool:
    if one is None or other is None:
        return one is other
    return one.text is not None and one.text == other.text


def _are_same(one: tuple[ConstrainedSchema, ...] | None, other: tuple[ConstrainedSchema, ...] | None) -> bool:
    return one is not None and other is not None and len(one) == len(other) and all(map(_is_same, one, other))


def _restricts(schema: ConstrainedSchema | None) -> bool:
    return schema is not None and not schema.accepts_everything


def _is_any_number(facts: KeywordFacts) -> bool:
    return facts.contains is None or (facts.min_contains == 0 and facts.max_contains is None)


def _is_same_contains(one: KeywordFacts, other: KeywordFacts) -> bool:
    return _is_same(one.contains, other.contains) and (one.min_contains, one.max_contains) == (
        other.min_contains,
        other.max_contains,
    )


def _is_same_condition(one: KeywordFacts, other: KeywordFacts) -> bool:
    return (
        _is_same(one.condition, other.condition)
        and _is_same(one.consequence, other.consequence)
        and _is_same(one.alternative, other.alternative)
    )


def _surely_refuses(schema: ConstrainedSchema, values: _Values) -> bool:
    """Return whether a schema refuses every value of these types."""
    facts = schema.facts
    if facts.is_false or (facts.types is not None and not any(_may_be_of(each, facts.types) for each in values.types)):
        return True
    symbols = values.sketch.symbols
    if facts.values is not None and values.types == {"string"} and symbols is not None:
        return not any(isinstance(each, str) and each in symbols for each in facts.values)
    return any(_surely_refuses(each, values) for each in facts.all_of)


# The questions of JSON Schema's rules to a sketch: how many records can trigger a finding.
#
# Findings of JSON Schema are not independent of one another: one stands for several keywords. Therefore the reader's
# whole schema is applied to the sketch, as a validator applies it to a value: the functions above return each
# place of the reader at which a value may be refused. A finding is counted by the places that touch its own. If the
# reader may refuse something at a place that no finding touches, the result is 0 for no finding.


def counting(schema: JsonSchema, builder: SketchBuilder, hidden: Hidden) -> JsonSketcher:
    """Return a counter of the records of a schema."""
    return JsonSketcher(schema, builder, hidden)


def counts(
    reader: ParsedSchema, writer: ParsedSchema, differences: Sequence[Difference], sketch: SchemaSketch
) -> list[Count | None]:
    """Return how many records trigger each difference."""
    if not isinstance(reader, JsonSchema) or not isinstance(writer, JsonSchema):
        return [None] * len(differences)
    refusals = Acceptance(reader, writer, sketch).refusals()
    found = [_count(each.reader_pointer, refusals) for each in differences]
    if any(not any(_touches(refusal, each.reader_pointer) for each in differences) for refusal in refusals):
        return [None if count.most == 0 else count for count in found]
    return list(found)


def _count(pointer: Pointer, refusals: Sequence[SketchRefusal]) -> Count:
    touched = [refusal for refusal in refusals if _touches(refusal, pointer)]
    is_exact = all(refusal.is_exact for refusal in touched) and len(touched) <= 1
    return Count(sum(refusal.records for refusal in touched), is_exact=is_exact)


def _touches(refusal: SketchRefusal, pointer: Pointer) -> bool:
    """Return whether one of the two places contains the other."""
    return any(all(mine == theirs for mine, theirs in zip(each, pointer, strict=False)) for each in refusal.pointers)
