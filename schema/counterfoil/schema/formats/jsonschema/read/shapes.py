"""The required shape of each keyword's value, by draft: a table, and a check for each shape.

The reference registry reads drafts up to 7 with one library, and both newer drafts with another. The first checks the
keywords of the types that a schema names (all keywords if it names none) and only reachable schemas; the second checks
every keyword that it knows. The tables do the same, so that both registries accept the same schemas.

Source: the validation specifications of draft-04 to 2020-12; recorded answers of Confluent Schema Registry 8.5.
"""

from __future__ import annotations

from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.formats.jsonschema.read.canonical import print_number
from counterfoil.schema.formats.jsonschema.read.drafts import Draft
from counterfoil.schema.formats.jsonschema.read.patterns import fault_of_pattern
from counterfoil.schema.formats.jsonschema.read.values import is_number

if TYPE_CHECKING:
    from collections.abc import Mapping

TYPE_NAMES: Final = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})


class Shape(Enum):
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


_COMBINATIONS: Final = dict.fromkeys(("allOf", "anyOf", "oneOf"), Shape.SCHEMAS)
_STRING: Final = {
    "minLength": Shape.INTEGER,
    "maxLength": Shape.INTEGER,
    "pattern": Shape.PATTERN,
    "format": Shape.STRING,
}
_NUMBER: Final = {
    "minimum": Shape.NUMBER,
    "maximum": Shape.NUMBER,
    "exclusiveMinimum": Shape.NUMBER,
    "exclusiveMaximum": Shape.NUMBER,
    "multipleOf": Shape.FACTOR,
}
_ARRAY: Final = {
    "items": Shape.SCHEMA_OR_SCHEMAS,
    "additionalItems": Shape.FLAG_OR_SCHEMA,
    "minItems": Shape.INTEGER,
    "maxItems": Shape.INTEGER,
    "uniqueItems": Shape.BOOLEAN,
    "contains": Shape.SCHEMA,
}
_OBJECT: Final = {
    "properties": Shape.SCHEMA_MAP,
    "patternProperties": Shape.PATTERN_MAP,
    "additionalProperties": Shape.FLAG_OR_SCHEMA,
    "required": Shape.NAMES,
    "minProperties": Shape.INTEGER,
    "maxProperties": Shape.INTEGER,
    "dependencies": Shape.DEPENDENCIES,
    "propertyNames": Shape.SCHEMA,
}
_SHAPES_BY_TYPE: Final[Mapping[str, Mapping[str, Shape]]] = {
    "string": _STRING,
    "number": _NUMBER,
    "integer": _NUMBER,
    "array": _ARRAY,
    "object": _OBJECT,
    "boolean": {},
    "null": {},
}
_OF_ANY_TYPE: Final = {
    "type": Shape.TYPE,
    "title": Shape.STRING,
    "description": Shape.STRING,
    "enum": Shape.LIST,
    "not": Shape.SCHEMA,
    **_COMBINATIONS,
}
_SINCE_DRAFT_7: Final = {
    "readOnly": Shape.BOOLEAN,
    "writeOnly": Shape.BOOLEAN,
    "if": Shape.SCHEMA,
    "then": Shape.SCHEMA,
    "else": Shape.SCHEMA,
}
_MODERN: Final[Mapping[str, Shape]] = {
    **_OF_ANY_TYPE,
    **_STRING,
    **_NUMBER,
    **_ARRAY,
    **_OBJECT,
    **_SINCE_DRAFT_7,
    "$id": Shape.URI,
    "items": Shape.SCHEMA,
    "prefixItems": Shape.SCHEMAS,
    "minContains": Shape.INTEGER,
    "maxContains": Shape.INTEGER,
    "unevaluatedItems": Shape.SCHEMA,
    "unevaluatedProperties": Shape.SCHEMA,
    "dependentRequired": Shape.NAMES_MAP,
    "dependentSchemas": Shape.SCHEMA_MAP,
    "$defs": Shape.SCHEMA_MAP,
    "definitions": Shape.DEFINITIONS,
}
_NOT_MODERN: Final = frozenset({"additionalItems", "dependencies"})
_NOT_IN_DRAFT_4: Final = frozenset({"contains", "propertyNames"})


_NOT_IN_URIS: Final = frozenset(' "<>\\^`{|}')

_ALL_TYPES: Final = ""
"""The key for a schema without a type: the keywords of every type are checked."""


def shapes_of(schema: Mapping[str, Any], draft: Draft) -> Mapping[str, Shape]:
    """Return the keywords that are checked in ``schema``, with their shapes."""
    named = schema.get("type", _ALL_TYPES)
    if isinstance(named, str):
        return _shapes_of_types(draft, named if named in _SHAPES_BY_TYPE or named == _ALL_TYPES else ())
    if isinstance(named, list):
        known = (name for name in named if isinstance(name, str) and name in _SHAPES_BY_TYPE)
        return _shapes_of_types(draft, tuple(dict.fromkeys(known)))  # few and short, whatever the schema has
    return _shapes_of_types(draft, _ALL_TYPES)


@lru_cache(maxsize=1024)
def _shapes_of_types(draft: Draft, types: str | tuple[str, ...]) -> Mapping[str, Shape]:
    if draft.is_modern:
        return {keyword: shape for keyword, shape in _MODERN.items() if keyword not in _NOT_MODERN}
    shapes: dict[str, Shape] = {**_OF_ANY_TYPE, draft.id_keyword: Shape.URI}
    for name in types if isinstance(types, tuple) else [types] if types else _SHAPES_BY_TYPE:
        shapes.update(_SHAPES_BY_TYPE.get(name, {}))
    if draft is Draft.DRAFT_7:
        shapes.update(_SINCE_DRAFT_7)
    if draft is Draft.DRAFT_4:
        shapes = {keyword: _in_draft_4(keyword, shape) for keyword, shape in shapes.items()}
        shapes = {keyword: shape for keyword, shape in shapes.items() if keyword not in _NOT_IN_DRAFT_4}
    return shapes


def _in_draft_4(keyword: str, shape: Shape) -> Shape:
    return Shape.BOOLEAN if keyword in ("exclusiveMinimum", "exclusiveMaximum") else shape


def has_shape(value: Any, shape: Shape, draft: Draft) -> bool:
    """Return whether a keyword's value has its shape; the content of schemas inside it is not checked."""
    match shape:
        case Shape.STRING:
            return isinstance(value, str)
        case Shape.BOOLEAN:
            return isinstance(value, bool)
        case Shape.NUMBER | Shape.FACTOR:
            return is_number(value) and not (shape is Shape.FACTOR and value == 0)
        case Shape.INTEGER:
            return is_number(value) and (draft.is_modern or print_number(value).lstrip("-").isdigit())
        case Shape.LIST | Shape.NAMES:
            return isinstance(value, list) and (shape is Shape.LIST or _are_strings(value))
        case Shape.NAMES_MAP:
            return isinstance(value, dict) and all(map(_are_strings, value.values()))
        case Shape.TYPE:
            return all(isinstance(name, str) and name in TYPE_NAMES for name in _as_list(value))
        case Shape.PATTERN:
            return isinstance(value, str) and fault_of_pattern(value) is None
        case Shape.URI:
            return not set(value) & _NOT_IN_URIS if isinstance(value, str) else draft.is_modern
    return _has_schema_shape(value, shape, draft)


def _has_schema_shape(value: Any, shape: Shape, draft: Draft) -> bool:
    match shape:
        case Shape.SCHEMA | Shape.FLAG_OR_SCHEMA:
            return isinstance(value, dict | bool)
        case Shape.SCHEMAS:
            return isinstance(value, list) and all(isinstance(item, dict | bool) for item in value)
        case Shape.SCHEMA_OR_SCHEMAS:
            return all(_is_schema(item, draft) for item in _as_list(value))
        case Shape.SCHEMA_MAP:
            return isinstance(value, dict) and all(isinstance(item, dict | bool) for item in value.values())
        case Shape.DEFINITIONS:
            return not isinstance(value, dict) or _has_schema_shape(value, Shape.SCHEMA_MAP, draft)
        case Shape.PATTERN_MAP:
            return _has_schema_shape(value, Shape.SCHEMA_MAP, draft) and all(
                fault_of_pattern(name) is None for name in value
            )
        case Shape.DEPENDENCIES:
            return isinstance(value, dict) and all(
                _is_schema(item, draft) or _are_strings(item) for item in value.values()
            )
    raise ValueError(shape)


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _are_strings(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _is_schema(value: Any, draft: Draft) -> bool:
    """Return whether ``value`` is a schema in ``items`` or ``dependencies``; in draft-04, a boolean is not."""
    return isinstance(value, dict if draft is Draft.DRAFT_4 else dict | bool)
