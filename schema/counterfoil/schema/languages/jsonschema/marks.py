"""How tags mark the values of a JSON schema.

Confluent's clients know the tags in the schemas of properties. They follow ``properties``, ``items`` with one schema,
``$ref``, and the branches of ``allOf``, or else of ``oneOf``, or else of ``anyOf``; they ignore tags behind a
reference, in a branch and in ``items``, every other keyword with schemas, what stands beside a ``$ref``, and scalars
whose type is not named by the schema, or stands beside branches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple, Protocol

from counterfoil.schema.datum import Json
from counterfoil.schema.languages.jsonschema.document import subschemas
from counterfoil.schema.languages.jsonschema.schema import JsonSchema
from counterfoil.schema.languages.jsonschema.view.evaluation import (
    Certain,
    certain_beside,
    certain_of_item,
    certain_of_property,
    certain_of_unlisted,
    may_be_text,
)
from counterfoil.schema.languages.jsonschema.view.facts import ANYTHING, ConstrainedSchema, KeywordFacts
from counterfoil.schema.languages.jsonschema.view.written import WrittenSchema, root_of
from counterfoil.schema.marks import ROOT, TAGS, FieldTags, Mark, TaggedPlace, WalkLimit, known_tags_in, tags_in
from counterfoil.schema.patterns.matching import holds_match

ANY_KEY: Final = "*"
"""Stands, in full names, for the names of properties that a schema does not list."""
TYPE_BY_WORD: Final[Mapping[str, str]] = {
    "string": "STRING",
    "integer": "INT",
    "number": "DOUBLE",
    "boolean": "BOOLEAN",
}
"""The types of scalars by the names of field rules; the first that a schema names counts."""

_BRANCHES: Final = ("allOf", "oneOf", "anyOf")
"""Keywords with branches: Confluent's clients follow the first of them that a schema has."""

ABOUT_EVERY_TEXT: Final = frozenset(
    {"type", "format", "title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "$comment"}
    | {"contentEncoding", "contentMediaType", TAGS}
)
"""The keywords of a schema for texts that say nothing about which texts are valid."""
_DEFINITIONS: Final = frozenset({"$defs", "definitions"})
_DYNAMIC: Final = ("$dynamicRef", "$recursiveRef")
_NAMES_OF_ONE_STATE: Final = 200
"""How many full names of one recursive schema are looked at; tags by path may depend on them."""


class BranchChoice(Protocol):
    """Decides which of the schemas beside a schema describe a value."""

    def branches(self, branches: Sequence[ConstrainedSchema]) -> Iterable[ConstrainedSchema]:
        """Return those of ``anyOf`` or ``oneOf`` that may describe the value."""

    def conditional(self, facts: KeywordFacts) -> Iterable[ConstrainedSchema]:
        """Return those of ``if``, ``then`` and ``else`` that may describe the value."""

    def needed(self, name: str) -> bool:
        """Return whether the value may have a property, on which another schema depends."""

    def contains(self, schema: ConstrainedSchema, index: int) -> bool:
        """Return whether the item at ``index`` may be one that ``contains`` describes."""


class DescribingSchema(NamedTuple):
    """A schema that describes a value; ``is_beyond``: Confluent's clients do not get to it."""

    schema: ConstrainedSchema
    is_beyond: bool


@dataclass(frozen=True, slots=True)
class DescribedValue:
    """The schemas that describe one value together, and the mark of the value."""

    parts: tuple[DescribingSchema, ...]
    mark: Mark

    def open_to_texts(self) -> DescribedValue:
        """Return the parts without listed values, if one of these says that other texts are possible as well."""
        free = tuple(part for part in self.parts if part.schema.facts.values is None)
        is_open = any("string" in (part.schema.facts.types or ()) for part in free)
        listed_around = self.parts[0].schema.facts.values is not None
        return replace(self, parts=free) if is_open and not listed_around else self

    def type_word(self, words: Iterable[str]) -> tuple[str | None, bool]:
        """Return the first of ``words`` that is named as the type, and whether Confluent's clients know this type.

        ``enum`` stands for the type of values that are listed.
        """
        if any(part.schema.facts.values is not None for part in self.parts):
            return "enum", True
        named = {word: False for word in words if any(word in (each.schema.facts.types or ()) for each in self.parts)}
        for part in self.parts:
            if not part.is_beyond and _is_plain(part.schema):
                named |= {word: True for word in named if word in (part.schema.facts.types or ())}
        word = next(iter(named), None)
        return word, word is not None and named[word]

    def runs_for_text(self) -> int:
        """Return how often Confluent's clients run a rule for a text: once for each schema whose type it is.

        A branch of ``anyOf`` that only some texts fit is left out, since a ciphertext may fit it or not.
        """
        certain = _always_beside(self.parts[0].schema)
        texts = [
            part.schema
            for part in self.parts
            if not part.is_beyond and _is_plain(part.schema) and "string" in (part.schema.facts.types or ())
        ]
        return max(1, sum(each in certain or written(each).keys() <= ABOUT_EVERY_TEXT for each in texts))


class JsonMarks:
    """Follows marks through a JSON schema whose fields have ``tags``."""

    def __init__(self, tags: FieldTags) -> None:
        self.tags = tags
        self._unfollowed_by_schema: dict[ConstrainedSchema, frozenset[str]] = {}

    def _unfollowed(self, schema: ConstrainedSchema) -> frozenset[str]:
        known = self._unfollowed_by_schema.get(schema)
        if known is None:
            known = self._unfollowed_by_schema[schema] = _unfollowed_tags(schema)
        return known

    def described(self, schema: ConstrainedSchema, mark: Mark, choice: BranchChoice) -> DescribedValue:
        """Return what describes a value of ``schema``; ``mark`` is that of the place at which the schema stands."""
        found: dict[ConstrainedSchema, bool] = {}
        waiting = [DescribingSchema(schema, mark.is_beyond)]
        outer: set[str] = set()
        while waiting:
            part = waiting.pop()
            if not found.get(part.schema, True) or (part.is_beyond and part.schema in found):
                continue
            found[part.schema] = part.is_beyond
            if part.schema is not schema:
                outer |= tags_of(part.schema)
            outer |= self._unfollowed(part.schema)
            waiting += [
                DescribingSchema(each, part.is_beyond or is_beyond) for each, is_beyond in _beside(part.schema, choice)
            ]
        return DescribedValue(tuple(DescribingSchema(*each) for each in found.items()), mark.joined(frozenset(outer)))

    def at_root(self, root: ConstrainedSchema) -> Mark:
        """Return the mark of whole values."""
        return Mark(outer=tags_of(root) | self.tags.given(ROOT))

    def of_property(self, around: DescribedValue, name: str) -> list[tuple[ConstrainedSchema, Mark]]:
        """Return the schemas of a property of an object, each with its mark."""
        inside = around.mark.tags
        full_name = f"{around.mark.full_name}.{name}"
        found = []
        for schema, is_beyond in _property_schemas(around.parts, name):
            own = self.tags.of(full_name, known_tags_in(written(schema)))
            found.append((schema, Mark(full_name, name, own, inside | tags_of(schema) - own, is_beyond)))
        if not found and (inside or self.tags.has_paths):
            found.append((ANYTHING, Mark(full_name, name, self.tags.of(full_name), inside, is_beyond=True)))
        return found

    def of_key(self, around: DescribedValue, choice: BranchChoice) -> Mark | None:
        """Return the mark of the names of an object's properties that its schemas assign; None without one."""
        found: frozenset[str] = frozenset()
        for part in around.parts:
            names = part.schema.facts.names
            if names is not None:
                found |= tags_of(names) | self.described(names, Mark(), choice).mark.outer
        return Mark(around.mark.full_name, around.mark.name, outer=found, is_beyond=True) if found else None

    def of_item(self, around: DescribedValue, index: int, choice: BranchChoice) -> list[tuple[ConstrainedSchema, Mark]]:
        """Return the schemas of the item of an array, each with its mark."""
        mark = around.mark
        found = []
        for part in around.parts:
            for schema, is_beyond in _item_schemas(part, index, choice):
                joined = mark.joined(tags_of(schema))
                found.append((schema, joined.beyond() if is_beyond else replace(joined, is_beyond=part.is_beyond)))
        if not found and (mark.tags or self.tags.has_paths):
            found.append((ANYTHING, mark.beyond()))
        return found


def carrying(root: ConstrainedSchema, wanted: frozenset[str]) -> set[ConstrainedSchema]:
    """Return the schemas in which, or in a schema inside or behind them, one of these tags stands."""
    users: dict[ConstrainedSchema, list[ConstrainedSchema]] = {}
    found: list[ConstrainedSchema] = []
    waiting, seen = [root], {root}
    while waiting:
        each = waiting.pop()
        if wanted & (tags_of(each) | _unfollowed_tags(each)):
            found.append(each)
        for inner in inside(each):
            users.setdefault(inner, []).append(each)
            if inner not in seen:
                seen.add(inner)
                waiting.append(inner)
    carriers = set(found)
    while found:
        more = [user for user in users.get(found.pop(), ()) if user not in carriers]
        carriers.update(more)
        found += more
    return carriers


def inside(schema: ConstrainedSchema) -> Iterator[ConstrainedSchema]:
    """Yield the schemas directly inside a schema and beside it, also behind its references; ``not`` is left out."""
    facts = schema.facts
    yield from (*facts.properties.values(), *facts.patterns.values(), *facts.prefix, *facts.beside())
    single = (facts.additional, facts.names, facts.items, facts.contains)
    unevaluated = (facts.unevaluated_properties, facts.unevaluated_items)
    yield from (each for each in (*single, *unevaluated) if each is not None)


def tags_of(schema: ConstrainedSchema) -> frozenset[str]:
    """Return the tags in a schema, also those beside a reference."""
    return tags_in(written(schema))


def written(schema: ConstrainedSchema) -> Mapping[str, Json]:
    """Return the keywords of a schema as they are written, also those beside a reference."""
    return schema.value if isinstance(schema, WrittenSchema) and isinstance(schema.value, dict) else {}


def _is_plain(schema: ConstrainedSchema) -> bool:
    keywords = written(schema)
    return not ("$ref" in keywords or any(isinstance(keywords.get(word), list) for word in _BRANCHES))


def _beside(schema: ConstrainedSchema, choice: BranchChoice) -> Iterator[tuple[ConstrainedSchema, bool]]:
    """Yield the schemas beside a schema that describe the same value, and whether Confluent's clients skip them."""
    facts, keywords = schema.facts, written(schema)
    has_reference = "$ref" in keywords
    is_dynamic = any(word in keywords for word in _DYNAMIC)
    referred = schema.referred if isinstance(schema, WrittenSchema) else ()
    for each in facts.all_of:
        yield each, is_dynamic if each in referred else has_reference
    followed = next((word for word in _BRANCHES if isinstance(keywords.get(word), list)), None)
    for word, branches in (("anyOf", facts.any_of), ("oneOf", facts.one_of)):
        is_beyond = has_reference or word != followed
        yield from ((each, is_beyond) for each in choice.branches(branches or ()))
    yield from ((each, True) for each in choice.conditional(facts))
    yield from ((needed, True) for name, needed in facts.needed_schemas.items() if choice.needed(name))


def _always_beside(schema: ConstrainedSchema) -> set[ConstrainedSchema]:
    """Return a schema, and those that it and its ``allOf`` and references require without a condition."""
    found = {schema}
    waiting = [schema]
    while waiting:
        more = [each for each in waiting.pop().facts.all_of if each not in found]
        found.update(more)
        waiting += more
    return found


def _unfollowed_tags(schema: ConstrainedSchema) -> frozenset[str]:
    """Return the tags inside a schema of which no walk says what they mark; they count for its values as a whole.

    They are in ``contentSchema``, which describes what is in a text, in ``not``, which values do not fit, and under
    keywords that the schema's draft does not have, or ignores beside a ``$ref``. Definitions mark nothing by
    themselves.
    """
    found: set[str] = set()
    if isinstance(schema, WrittenSchema):
        followed = {*inside(schema)}
        for steps, child in subschemas(schema.value):
            if steps[0] not in _DEFINITIONS and schema.below(*steps) not in followed:
                found |= _tags_below(child)
    if schema.facts.refused is not None:
        found |= _tags_around(schema.facts.refused)
    return frozenset(found)


def _tags_below(node: object) -> set[str]:
    """Return the tags in a part of a text, definitions included."""
    found: set[str] = set()
    waiting = [node]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            found |= tags_in(each)
            waiting += [value for keyword, value in each.items() if keyword != TAGS]
        elif isinstance(each, list):
            waiting += each
    return found


def _tags_around(root: ConstrainedSchema) -> set[str]:
    """Return the tags in a schema, and in all schemas inside it and behind its references."""
    found: set[str] = set()
    waiting, seen = [root], {root}
    while waiting:
        each = waiting.pop()
        found |= tags_of(each)
        refused = each.facts.refused
        for inner in (*inside(each), *(() if refused is None else (refused,))):
            if inner not in seen:
                seen.add(inner)
                waiting.append(inner)
    return found


def _property_schemas(parts: Sequence[DescribingSchema], name: str) -> list[tuple[ConstrainedSchema, bool]]:
    found = []
    rest = []
    for part in parts:
        facts = part.schema.facts
        declared = facts.properties.get(name)
        if declared is not None:
            found.append((declared, part.is_beyond or "$ref" in written(part.schema)))
        matching = [schema for pattern, schema in facts.patterns.items() if _may_match(pattern, name)]
        found += [(schema, True) for schema in matching]
        if declared is None and facts.additional is not None:
            rest += [(facts.additional, True)] if not matching or name == ANY_KEY else []
    found += rest
    if not found or name == ANY_KEY:
        unlooked = [part.schema.facts.unevaluated_properties for part in parts]
        found += [(schema, True) for schema in unlooked if schema is not None]
    return found


def _may_match(pattern: str, name: str) -> bool:
    return name == ANY_KEY or holds_match(pattern, name) is not False


def _item_schemas(part: DescribingSchema, index: int, choice: BranchChoice) -> Iterator[tuple[ConstrainedSchema, bool]]:
    facts = part.schema.facts
    is_beyond = part.is_beyond or "$ref" in written(part.schema)
    if index < len(facts.prefix):
        yield facts.prefix[index], True
    elif facts.items is not None:
        yield facts.items, is_beyond or bool(facts.prefix)
    elif facts.unevaluated_items is not None:
        yield facts.unevaluated_items, True
    if facts.contains is not None and choice.contains(facts.contains, index):
        yield facts.contains, True


class Every:
    """The choice of everything that may describe any value."""

    def branches(self, branches: Sequence[ConstrainedSchema]) -> Iterable[ConstrainedSchema]:
        """Return all branches."""
        return branches

    def conditional(self, facts: KeywordFacts) -> Iterable[ConstrainedSchema]:
        """Return all of ``if``, ``then`` and ``else``."""
        return [each for each in (facts.condition, facts.consequence, facts.alternative) if each is not None]

    def needed(self, name: str) -> bool:
        """Return True."""
        del name
        return True

    def contains(self, schema: ConstrainedSchema, index: int) -> bool:
        """Return True."""
        del schema, index
        return True


EVERY: Final = Every()


def places(schema: JsonSchema, tags: FieldTags) -> Iterator[TaggedPlace]:
    """Yield the places of a schema whose values are scalars, or of which it declares no more, with their marks.

    After very many steps, one place follows that has all tags of the schema.
    """
    yield from _Places(JsonMarks(tags)).of(root_of(schema))


class _Waiting(NamedTuple):
    """A schema that is still to be looked at; ``certain`` are schemas that every value there fits."""

    schema: ConstrainedSchema
    mark: Mark
    where: str
    certain: Certain


class _Places:
    def __init__(self, marks: JsonMarks) -> None:
        self._marks = marks
        self._steps = WalkLimit()
        self._seen: dict[tuple[ConstrainedSchema, Mark, Certain], set[str]] = {}
        self._waiting: list[_Waiting] = []

    def of(self, root: WrittenSchema) -> Iterator[TaggedPlace]:
        self._waiting = [_Waiting(root, self._marks.at_root(root), "", (root,))]
        while self._waiting:
            each = self._waiting.pop()
            if not self._is_new(each):
                continue
            described = self._marks.described(each.schema, each.mark, EVERY)
            if not self._steps.take():
                yield TaggedPlace(Mark(outer=_all_tags(root), is_beyond=True), "COMBINED")
                return
            yield from self._found(described, each)

    def _is_new(self, each: _Waiting) -> bool:
        mark = each.mark
        key = (each.schema, replace(mark, full_name="", name=""), each.certain)
        names = self._seen.setdefault(key, set())
        limit = _NAMES_OF_ONE_STATE if self._marks.tags.has_paths else 1
        if mark.full_name in names or len(names) >= limit:
            return False
        names.add(mark.full_name)
        return True

    def _found(self, described: DescribedValue, each: _Waiting) -> Iterator[TaggedPlace]:
        schema, where = each.schema, each.where
        mark, pointer = described.mark, schema.pointer
        around = certain_beside(each.certain)
        named = self._add_properties(described, around) + self._add_items(described, around)
        key = self._marks.of_key(described, EVERY)
        if key is not None:
            yield TaggedPlace(key, "KEY", "in the names of the properties of", pointer)
        words = {word for part in described.parts for word in part.schema.facts.types or ()}
        word, is_known = described.open_to_texts().type_word(TYPE_BY_WORD)
        if word is not None:
            found = "ENUM" if word == "enum" else TYPE_BY_WORD[word]
            texts = may_be_text(each.certain) if found == "STRING" else None
            yield TaggedPlace(mark if is_known else mark.beyond(), found, where, pointer, may_be=texts)
        elif not words and not named and schema.facts.is_false is False:
            yield TaggedPlace(mark.beyond(), "COMBINED", where, pointer)
        if not named and "object" in words:
            yield TaggedPlace(mark.beyond(), "RECORD", where, pointer)
        if not named and "array" in words:
            yield TaggedPlace(mark.beyond(), "ARRAY", where, pointer)

    def _add_properties(self, described: DescribedValue, around: Certain) -> int:
        names: dict[str, str] = {}
        for part in described.parts:
            facts = part.schema.facts
            names |= dict.fromkeys(facts.properties, "")
            for word, held in (
                ("patternProperties", facts.patterns or None),
                ("additionalProperties", facts.additional),
                ("unevaluatedProperties", facts.unevaluated_properties),
            ):
                if held is not None and not getattr(getattr(held, "facts", None), "is_false", False):
                    names.setdefault(ANY_KEY, f"in {word} of")
        count = 0
        for name, where in names.items():
            listed = certain_of_property(around, name)
            for schema, mark in self._marks.of_property(described, name):
                count += 1
                certain = certain_of_unlisted(around, schema) if name == ANY_KEY else listed
                self._waiting.append(_Waiting(schema, mark, where, certain))
        return count

    def _add_items(self, described: DescribedValue, around: Certain) -> int:
        count = 0
        longest = max((len(part.schema.facts.prefix) for part in described.parts), default=0)
        for index in range(longest + 1):
            for schema, mark in self._marks.of_item(described, index, EVERY):
                if schema is not ANYTHING:
                    count += 1
                    certain = certain_of_item(around, index)
                    self._waiting.append(_Waiting(schema, mark, "in the items of", certain))
        return count


def _all_tags(root: WrittenSchema) -> frozenset[str]:
    found: set[str] = set()
    waiting: list[Json] = [*root.source.resolver.documents.values()]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            found |= tags_in(each)
            waiting += each.values()
        elif isinstance(each, list):
            waiting += each
    return frozenset(found)
