"""The keywords of each draft: the required shape of each value, and warnings about forbidden ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from enum import Enum
from functools import lru_cache
from typing import Final

from counterfoil.schema.datum import Json, JsonObject
from counterfoil.schema.errors import InvalidSchema
from counterfoil.schema.languages.jsonschema.document import Base, Draft, ReferenceResolver, is_copied, subschemas
from counterfoil.schema.languages.jsonschema.json_values import is_number, print_number
from counterfoil.schema.parsed import SchemaWarning
from counterfoil.schema.patterns.matching import compile_pattern, fault_of_pattern, is_too_large
from counterfoil.schema.texts import Pointer, excerpt, print_pointer

# The required shape of each keyword's value, by draft: a table, and a check for each shape.
#
# The reference registry reads drafts up to 7 with one library, and both newer drafts with another. The first checks the
# keywords of the types that a schema names (all keywords if it names none) and only reachable schemas; the second
# checks every keyword that it knows. The tables do the same, so that both registries accept the same schemas.
#
# Source: the validation specifications of draft-04 to 2020-12; recorded answers of Confluent Schema Registry 8.5.

TYPE_NAMES: Final = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})


class KeywordShape(Enum):
    """The shape that a keyword's value must have; the enum value describes it."""

    STRING = "a string"
    BOOLEAN = "true or false"
    NUMBER = "a number"
    INTEGER = "an integer"
    FACTOR = "a number other than 0"
    LIST = "an array"
    NAMES = "an array of strings"
    NAMES_MAP = "an object of arrays of strings"
    TYPE = "array, boolean, integer, null, number, object, string, or an array of these"
    PATTERN = "a regular expression"
    URI = "a URI reference"
    SCHEMA = "a schema (an object, true or false)"
    FLAG_OR_SCHEMA = "true, false or a schema (an object)"
    SCHEMAS = "an array of schemas"
    SCHEMA_OR_SCHEMAS = "a schema or an array of schemas"
    SCHEMA_MAP = "an object of schemas"
    DEFINITIONS = "an object of schemas, or anything else, which defines nothing"
    PATTERN_MAP = "an object of schemas, by regular expression"
    DEPENDENCIES = "an object of schemas and arrays of strings"


_COMBINATIONS: Final = dict.fromkeys(("allOf", "anyOf", "oneOf"), KeywordShape.SCHEMAS)
_STRING: Final = {
    "minLength": KeywordShape.INTEGER,
    "maxLength": KeywordShape.INTEGER,
    "pattern": KeywordShape.PATTERN,
    "format": KeywordShape.STRING,
}
_NUMBER: Final = {
    "minimum": KeywordShape.NUMBER,
    "maximum": KeywordShape.NUMBER,
    "exclusiveMinimum": KeywordShape.NUMBER,
    "exclusiveMaximum": KeywordShape.NUMBER,
    "multipleOf": KeywordShape.FACTOR,
}
_ARRAY: Final = {
    "items": KeywordShape.SCHEMA_OR_SCHEMAS,
    "additionalItems": KeywordShape.FLAG_OR_SCHEMA,
    "minItems": KeywordShape.INTEGER,
    "maxItems": KeywordShape.INTEGER,
    "uniqueItems": KeywordShape.BOOLEAN,
    "contains": KeywordShape.SCHEMA,
}
_OBJECT: Final = {
    "properties": KeywordShape.SCHEMA_MAP,
    "patternProperties": KeywordShape.PATTERN_MAP,
    "additionalProperties": KeywordShape.FLAG_OR_SCHEMA,
    "required": KeywordShape.NAMES,
    "minProperties": KeywordShape.INTEGER,
    "maxProperties": KeywordShape.INTEGER,
    "dependencies": KeywordShape.DEPENDENCIES,
    "propertyNames": KeywordShape.SCHEMA,
}
_SHAPES_BY_TYPE: Final[Mapping[str, Mapping[str, KeywordShape]]] = {
    "string": _STRING,
    "number": _NUMBER,
    "integer": _NUMBER,
    "array": _ARRAY,
    "object": _OBJECT,
    "boolean": {},
    "null": {},
}
_OF_ANY_TYPE: Final = {
    "type": KeywordShape.TYPE,
    "title": KeywordShape.STRING,
    "description": KeywordShape.STRING,
    "enum": KeywordShape.LIST,
    "not": KeywordShape.SCHEMA,
    **_COMBINATIONS,
}
_SINCE_DRAFT_7: Final = {
    "readOnly": KeywordShape.BOOLEAN,
    "writeOnly": KeywordShape.BOOLEAN,
    "if": KeywordShape.SCHEMA,
    "then": KeywordShape.SCHEMA,
    "else": KeywordShape.SCHEMA,
}
_MODERN: Final[Mapping[str, KeywordShape]] = {
    **_OF_ANY_TYPE,
    **_STRING,
    **_NUMBER,
    **_ARRAY,
    **_OBJECT,
    **_SINCE_DRAFT_7,
    "$id": KeywordShape.URI,
    "items": KeywordShape.SCHEMA,
    "prefixItems": KeywordShape.SCHEMAS,
    "minContains": KeywordShape.INTEGER,
    "maxContains": KeywordShape.INTEGER,
    "unevaluatedItems": KeywordShape.SCHEMA,
    "unevaluatedProperties": KeywordShape.SCHEMA,
    "dependentRequired": KeywordShape.NAMES_MAP,
    "dependentSchemas": KeywordShape.SCHEMA_MAP,
    "$defs": KeywordShape.SCHEMA_MAP,
    "definitions": KeywordShape.DEFINITIONS,
}
_NOT_MODERN: Final = frozenset({"additionalItems", "dependencies"})
_NOT_IN_DRAFT_4: Final = frozenset({"contains", "propertyNames"})


_NOT_IN_URIS: Final = frozenset(' "<>\\^`{|}')

_ALL_TYPES: Final = ""
"""The key for a schema without a type: the keywords of every type are checked."""


def shapes_of(schema: Mapping[str, object], draft: Draft) -> Mapping[str, KeywordShape]:
    """Return the keywords that are checked in ``schema``, with their shapes."""
    named = schema.get("type", _ALL_TYPES)
    if isinstance(named, str):
        return _shapes_of_types(draft, named if named in _SHAPES_BY_TYPE or named == _ALL_TYPES else ())
    if isinstance(named, list):
        known = (name for name in named if isinstance(name, str) and name in _SHAPES_BY_TYPE)
        return _shapes_of_types(draft, tuple(dict.fromkeys(known)))  # few and short, whatever the schema has
    return _shapes_of_types(draft, _ALL_TYPES)


@lru_cache(maxsize=1024)
def _shapes_of_types(draft: Draft, types: str | tuple[str, ...]) -> Mapping[str, KeywordShape]:
    if draft.is_modern:
        return {keyword: shape for keyword, shape in _MODERN.items() if keyword not in _NOT_MODERN}
    shapes: dict[str, KeywordShape] = {**_OF_ANY_TYPE, draft.id_keyword: KeywordShape.URI}
    for name in types if isinstance(types, tuple) else [types] if types else _SHAPES_BY_TYPE:
        shapes.update(_SHAPES_BY_TYPE.get(name, {}))
    if draft is Draft.DRAFT_7:
        shapes.update(_SINCE_DRAFT_7)
    if draft is Draft.DRAFT_4:
        shapes = {keyword: _in_draft_4(keyword, shape) for keyword, shape in shapes.items()}
        shapes = {keyword: shape for keyword, shape in shapes.items() if keyword not in _NOT_IN_DRAFT_4}
    return shapes


def _in_draft_4(keyword: str, shape: KeywordShape) -> KeywordShape:
    return KeywordShape.BOOLEAN if keyword in ("exclusiveMinimum", "exclusiveMaximum") else shape


def has_shape(value: object, shape: KeywordShape, draft: Draft) -> bool:
    """Return whether a keyword's value has its shape; the content of schemas inside it is not checked."""
    match shape:
        case KeywordShape.STRING:
            return isinstance(value, str)
        case KeywordShape.BOOLEAN:
            return isinstance(value, bool)
        case KeywordShape.NUMBER | KeywordShape.FACTOR:
            return is_number(value) and not (shape is KeywordShape.FACTOR and value == 0)
        case KeywordShape.INTEGER:
            return is_number(value) and (draft.is_modern or print_number(value).lstrip("-").isdigit())
        case KeywordShape.LIST | KeywordShape.NAMES:
            return isinstance(value, list) and (shape is KeywordShape.LIST or _are_strings(value))
        case KeywordShape.NAMES_MAP:
            return isinstance(value, dict) and all(map(_are_strings, value.values()))
        case KeywordShape.TYPE:
            return all(isinstance(name, str) and name in TYPE_NAMES for name in _as_list(value))
        case KeywordShape.PATTERN:
            return isinstance(value, str) and fault_of_pattern(value) is None
        case KeywordShape.URI:
            return not set(value) & _NOT_IN_URIS if isinstance(value, str) else draft.is_modern
    return _has_schema_shape(value, shape, draft)


def _has_schema_shape(value: Json, shape: KeywordShape, draft: Draft) -> bool:
    match shape:
        case KeywordShape.SCHEMA | KeywordShape.FLAG_OR_SCHEMA:
            return isinstance(value, dict | bool)
        case KeywordShape.SCHEMAS:
            return isinstance(value, list) and all(isinstance(item, dict | bool) for item in value)
        case KeywordShape.SCHEMA_OR_SCHEMAS:
            return all(_is_schema(item, draft) for item in _as_list(value))
        case KeywordShape.SCHEMA_MAP:
            return isinstance(value, dict) and all(isinstance(item, dict | bool) for item in value.values())
        case KeywordShape.DEFINITIONS:
            return not isinstance(value, dict) or _has_schema_shape(value, KeywordShape.SCHEMA_MAP, draft)
        case KeywordShape.PATTERN_MAP:
            return _has_schema_shape(value, KeywordShape.SCHEMA_MAP, draft) and all(
                fault_of_pattern(name) is None for name in value
            )
        case KeywordShape.DEPENDENCIES:
            return isinstance(value, dict) and all(
                _is_schema(item, draft) or _are_strings(item) for item in value.values()
            )
    raise ValueError(shape)


def _as_list(value: object) -> list[Json]:
    return value if isinstance(value, list) else [value]


def _are_strings(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _is_schema(value: object, draft: Draft) -> bool:
    """Return whether ``value`` is a schema in ``items`` or ``dependencies``; in draft-04, a boolean is not."""
    return isinstance(value, dict if draft is Draft.DRAFT_4 else dict | bool)


# Warnings about what a draft's specification forbids although the reference registry accepts it.
#
# Such a schema is refused under the policy SOUND.
#
# Source: the validation specifications of draft-04 to 2020-12.

_COUNTS: Final = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
_COMBINING_KEYWORDS: Final = ("allOf", "anyOf", "oneOf")
_OBJECTS_IN_DRAFT_4: Final = frozenset({"definitions", "not", "patternProperties", "properties", *_COMBINING_KEYWORDS})
"""The keywords of draft-04 whose value is a schema and may not be true or false."""


def find_warnings(document: object, resolver: ReferenceResolver) -> list[SchemaWarning]:
    """Return everything that the specification forbids in ``document``, the schema's own text, in its order."""
    found: list[SchemaWarning] = []
    waiting: list[tuple[Json, Base]] = [(document, resolver.root)]
    while waiting:
        value, base = waiting.pop()
        if not isinstance(value, dict):
            continue
        if base.draft.is_modern or "$ref" not in value:
            found += (SchemaWarning(rule, text, base.pointer + at) for rule, text, at in _warnings(value, base.draft))
        found += _doubtful_reference(value, base, resolver.resolve)
        children = [(child, resolver.enter(child, base.below(*steps))) for steps, child in subschemas(value)]
        waiting.extend(reversed(children))
    return found


def _warnings(schema: JsonObject, draft: Draft) -> Iterator[tuple[str, str, Pointer]]:
    yield from _limits(schema)
    yield from _lists(schema, draft)
    if draft is Draft.DRAFT_4:
        yield from _boolean_schemas(schema)
    pattern = schema.get("pattern")
    patterns = [(("pattern",), pattern)] if isinstance(pattern, str) else []
    held = schema.get("patternProperties")
    patterns += [(("patternProperties",), name) for name in held] if isinstance(held, dict) else []
    for at, text in patterns:
        if is_too_large(text):
            problem = (
                f"the pattern {excerpt(text)!r} is too large to be tried, since its repetitions nest or have large "
                "least counts; it is compared as a text, and a serializer that validates refuses the schema"
            )
            yield "large-pattern", problem, at
        elif compile_pattern(text) is None:
            yield "unreadable-pattern", f"the pattern {text!r} cannot be read here; it is taken to match anything", at


def _limits(schema: JsonObject) -> Iterator[tuple[str, str, Pointer]]:
    for keyword in (*_COUNTS, "multipleOf"):
        value = schema.get(keyword)
        if isinstance(value, bool) or not isinstance(value, int | Decimal):
            continue
        if value < 0:
            yield "negative-limit", f"{keyword} is {print_number(value)}; it must not be negative", (keyword,)
        elif keyword in _COUNTS and isinstance(value, Decimal) and value != value.to_integral_value():
            yield "fractional-limit", f"{keyword} is {print_number(value)}; it must be a whole number", (keyword,)


def _lists(schema: JsonObject, draft: Draft) -> Iterator[tuple[str, str, Pointer]]:
    for keyword in ("type", *_COMBINING_KEYWORDS, "enum", *(["required"] if draft is Draft.DRAFT_4 else [])):
        if schema.get(keyword) == []:
            yield "empty-list", f"{keyword} is empty; it must have an entry", (keyword,)
    for keyword in ("type", "required"):
        held = schema.get(keyword)
        names = [name for name in held if isinstance(name, str)] if isinstance(held, list) else []
        for name in (name for name, count in Counter(names).items() if count > 1):
            yield "repeated-name", f"{keyword} says {name!r} more than once", (keyword,)


def _boolean_schemas(schema: JsonObject) -> Iterator[tuple[str, str, Pointer]]:
    """Yield the schemas that are true or false, which exist since draft-06."""
    for steps, child in subschemas(schema):
        if isinstance(child, bool) and steps[0] in _OBJECTS_IN_DRAFT_4:
            yield (
                "boolean-schema",
                f"{print_pointer(steps)[1:]} is {str(child).lower()}; in draft-04 a schema is an object",
                steps,
            )


def _doubtful_reference(
    schema: JsonObject, base: Base, resolve: Callable[[str, Base], tuple[Json, Base]]
) -> Iterator[SchemaWarning]:
    reference = schema.get("$ref")
    if not isinstance(reference, str):
        return
    try:
        _, place = resolve(reference, base)
    except InvalidSchema:
        text = f"the reference {reference!r} leads nowhere; it is taken to ask for nothing"
        yield SchemaWarning("missing-anchor", text, (*base.pointer, "$ref"))
    else:
        if is_copied(reference, place.pointer):
            text = (
                f"the reference {reference!r} leads to definitions: registries copy them into $defs, and other readers "
                "of the schema find nothing there"
            )
            yield SchemaWarning("reference-to-copied-definition", text, (*base.pointer, "$ref"))
