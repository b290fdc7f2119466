"""Parts of a JSON schema in words, for people: the names of definitions, types, constraints.

Source: the validation specifications of draft-04 to 2020-12.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from counterfoil.schema.datum import Json
from counterfoil.schema.languages.element_rows import shortened
from counterfoil.schema.languages.jsonschema.json_values import is_number, print_exact, type_of
from counterfoil.schema.languages.jsonschema.view.written import DEFINITIONS, WrittenSchema
from counterfoil.schema.texts import counted, excerpt, print_pointer

_DEPTH: Final = 4
"""How deep arrays and maps in a type are described."""
_LONGEST_CHOICE: Final = 80
"""The largest number of characters of a choice whose branches are named; others are counted."""
_LONGEST_VALUE: Final = 200
_OF_A_DEFINITION: Final = 2
_VERB_BY_CHOICE: Final = {"oneOf": "one of", "anyOf": "any of", "allOf": "all of"}
_NULL: Final = "null"


# The names of schemas to which references lead.


def name_of(schema: WrittenSchema) -> str:
    """Return the name of a definition, the title of the schema itself, or the URI reference of any other schema."""
    document, pointer = schema.base.document, schema.base.pointer
    if document:
        return f"{document}#{print_pointer(pointer)}" if pointer else document
    if not pointer:
        title = schema.value.get("title") if isinstance(schema.value, dict) else None
        return title if isinstance(title, str) and title else "#"
    if len(pointer) == _OF_A_DEFINITION and pointer[0] in DEFINITIONS:
        return str(pointer[1])
    return f"#{print_pointer(pointer)}"


# Types in words.


def describe_type(schema: WrittenSchema) -> tuple[str, tuple[str, ...]]:
    """Return a type in words, and the names in it: ``string (date-time)``, ``integer | null``, ``array of Line``."""
    names: dict[str, None] = {}
    words = _words(schema, names, 0)
    return shortened(words), tuple(names)


def _words(schema: WrittenSchema, names: dict[str, None], depth: int) -> str:
    if isinstance(schema.value, bool):
        return "anything" if schema.value else "nothing"
    if depth > _DEPTH:
        return "…"
    keywords = schema.keywords
    referred = schema.referred
    if referred:
        name = name_of(referred[0])
        names[name] = None
        return name
    named = keywords.get("type")
    if isinstance(named, str | list):
        kinds = named if isinstance(named, list) else [named]
        return " | ".join(_of_kind(str(kind), schema, names, depth) for kind in kinds) or "nothing"
    for keyword in _VERB_BY_CHOICE:
        branches = schema.children(keyword)
        if branches:
            return _choice(keyword, branches, names, depth)
    return _implied(schema, names, depth)


def _of_kind(kind: str, schema: WrittenSchema, names: dict[str, None], depth: int) -> str:
    if kind == "string" and isinstance(format_ := schema.keywords.get("format"), str):
        return f"string ({excerpt(format_, _LONGEST_VALUE)})"
    if kind == "array":
        return _array(schema, names, depth)
    return _object(schema, names, depth) if kind == "object" else kind


def _array(schema: WrittenSchema, names: dict[str, None], depth: int) -> str:
    prefix = schema.keywords.get(schema.prefix_keyword)
    if isinstance(prefix, list):
        return f"array that begins with {counted(len(prefix), 'item')}"
    items = schema.one("items")
    return f"array of {_grouped(items, names, depth)}" if items and isinstance(items.value, dict) else "array"


def _object(schema: WrittenSchema, names: dict[str, None], depth: int) -> str:
    """Return ``map of …`` for an object without listed properties whose values have a schema."""
    rest = schema.one("additionalProperties")
    is_map = rest is not None and isinstance(rest.value, dict) and not schema.keywords.get("properties")
    return f"map of {_grouped(rest, names, depth)}" if is_map and rest else "object"


def _grouped(schema: WrittenSchema, names: dict[str, None], depth: int) -> str:
    words = _words(schema, names, depth + 1)
    return f"({words})" if " | " in words and " of " not in words else words


def _choice(keyword: str, branches: list[WrittenSchema], names: dict[str, None], depth: int) -> str:
    """Return the branches if they are few and short, else their number; null is always named."""
    others = [each for each in branches if each.keywords.get("type") != _NULL]
    null = f" | {_NULL}" if len(others) < len(branches) and keyword != "allOf" else ""
    if len(others) == 1:
        return f"{_words(others[0], names, depth + 1)}{null}"
    found: dict[str, None] = {}
    said = [_words(each, found, depth + 1) for each in others] if len(others) <= _LONGEST_CHOICE else []
    joined = (" & " if keyword == "allOf" else " | ").join(said)
    is_plain = not any(" | " in each or " & " in each or " of " in each for each in said if each not in found)
    if said and is_plain and len(set(said)) == len(said) and len(joined) <= _LONGEST_CHOICE:
        names.update(found)
        return f"{joined}{null}"
    return f"{_VERB_BY_CHOICE[keyword]} {counted(len(others), 'schema')}{null}"


def _implied(schema: WrittenSchema, names: dict[str, None], depth: int) -> str:
    """Return the type that a schema without ``type`` implies by its values or its properties."""
    keywords = schema.keywords
    values = _values(keywords)
    if values is not None:
        return " | ".join(dict.fromkeys(map(type_of, values))) or "nothing"
    if keywords.keys() & {"properties", "patternProperties", "additionalProperties", "required"}:
        return _object(schema, names, depth)
    return _array(schema, names, depth) if keywords.keys() & {"items", "prefixItems"} else "anything"


# Listed values.


def symbols_of(schema: WrittenSchema) -> tuple[str, ...]:
    """Return the values of ``enum`` or ``const``: texts as they are if all are texts, else as JSON."""
    values = _values(schema.keywords)
    if values is None:
        return ()
    return tuple(values) if all(isinstance(each, str) for each in values) else tuple(map(print_exact, values))


def _values(keywords: Mapping[str, Json]) -> list[Json] | None:
    listed = keywords.get("enum")
    if isinstance(listed, list):
        return listed
    return [keywords["const"]] if "const" in keywords else None


# Constraints in words.

_SENTENCES: Final[Mapping[str, str]] = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "multipleOf": "a multiple of {}",
    "pattern": "matches {}",
    "contentEncoding": "encoded as {}",
    "contentMediaType": "content of the type {}",
}
_COUNTS: Final[Mapping[str, tuple[str, str, str]]] = {
    "minLength": ("at least", "character", "characters"),
    "maxLength": ("at most", "character", "characters"),
    "minItems": ("at least", "item", "items"),
    "maxItems": ("at most", "item", "items"),
    "minProperties": ("at least", "property", "properties"),
    "maxProperties": ("at most", "property", "properties"),
    "minContains": ("at least", "item that fits [some]", "items that fit [some]"),
    "maxContains": ("at most", "item that fits [some]", "items that fit [some]"),
}
_FLAGS: Final[Mapping[str, str]] = {
    "uniqueItems": "all items differ",
    "readOnly": "read only",
    "writeOnly": "write only",
}
_EXCLUSIVE: Final[Mapping[str, tuple[str, str]]] = {
    "exclusiveMinimum": ("more than", "minimum"),
    "exclusiveMaximum": ("less than", "maximum"),
}


def constraints_of(schema: WrittenSchema) -> tuple[str, ...]:
    """Return the constraints of a schema in words, in the order of its text; that of open objects is the last."""
    keywords = schema.keywords
    said = [sentence for keyword, held in keywords.items() for sentence in _sentences(keyword, held, keywords)]
    return (*said, *openness_of(schema))


def openness_of(schema: WrittenSchema) -> tuple[str, ...]:
    """Return whether an object may have properties that its schema does not list; empty for what is no object."""
    keywords = schema.keywords
    if not ("properties" in keywords or keywords.get("type") == "object"):
        return ()
    for keyword in ("additionalProperties", "unevaluatedProperties"):
        rest = schema.one(keyword)
        if rest is not None and rest.value is False:
            return ("closed: no other properties",)
        if rest is not None and isinstance(rest.value, dict) and rest.value:
            return (f"other properties: {describe_type(rest)[0]}",) if keywords.get("properties") else ()
    return ("open: other properties are allowed",)


def _sentences(keyword: str, held: Json, keywords: Mapping[str, Json]) -> Iterator[str]:
    if keyword in _SENTENCES:
        bound = next((each for each, (_, of) in _EXCLUSIVE.items() if of == keyword), "")
        if keywords.get(bound) is not True:  # in draft-04, a flag beside the limit
            yield _SENTENCES[keyword].format(_shown(held))
    elif keyword in _COUNTS and is_number(held):
        words, one, several = _COUNTS[keyword]
        yield f"{words} {_shown(held)} {one if held == 1 else several}"
    elif keyword in _EXCLUSIVE:
        words, limit = _EXCLUSIVE[keyword]
        value = keywords.get(limit) if held is True else held
        if is_number(value):
            yield f"{words} {_shown(value)}"
    elif keyword in _FLAGS and held is True:
        yield _FLAGS[keyword]
    elif keyword in ("dependentRequired", "dependencies") and isinstance(held, dict):
        for name, needed in held.items():
            if isinstance(needed, list):
                yield shortened(f"requires {', '.join(map(str, needed))} if {name} is there")


def _shown(held: Json) -> str:
    return excerpt(held if isinstance(held, str) else print_exact(held), _LONGEST_VALUE)
