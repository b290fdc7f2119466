"""Warnings about what a draft's specification forbids although the reference registry accepts it.

Such a schema is refused under the policy SOUND.

Source: the validation specifications of draft-04 to 2020-12.
"""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.errors import InvalidSchema
from counterfoil.schema.excerpt import excerpt
from counterfoil.schema.formats.jsonschema.read.canonical import print_number
from counterfoil.schema.formats.jsonschema.read.drafts import Draft
from counterfoil.schema.formats.jsonschema.read.keywords import subschemas
from counterfoil.schema.formats.jsonschema.read.patterns import compile_pattern, is_too_large
from counterfoil.schema.formats.jsonschema.read.resolve import is_copied
from counterfoil.schema.parsed import SchemaWarning
from counterfoil.schema.pointer import print_pointer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from counterfoil.schema.formats.jsonschema.read.resolve import Base, Resolver
    from counterfoil.schema.pointer import Pointer

_COUNTS: Final = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
_COMBINATIONS: Final = ("allOf", "anyOf", "oneOf")
_OBJECTS_IN_DRAFT_4: Final = frozenset({"definitions", "not", "patternProperties", "properties", *_COMBINATIONS})
"""The keywords of draft-04 whose value is a schema and may not be true or false."""


def find_warnings(document: Any, resolver: Resolver) -> list[SchemaWarning]:
    """Return everything that the specification forbids in ``document``, the schema's own text, in its order."""
    found: list[SchemaWarning] = []
    waiting: list[tuple[Any, Base]] = [(document, resolver.root)]
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


def _warnings(schema: dict[str, Any], draft: Draft) -> Iterator[tuple[str, str, Pointer]]:
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


def _limits(schema: dict[str, Any]) -> Iterator[tuple[str, str, Pointer]]:
    for keyword in (*_COUNTS, "multipleOf"):
        value = schema.get(keyword)
        if isinstance(value, bool) or not isinstance(value, int | Decimal):
            continue
        if value < 0:
            yield "negative-limit", f"{keyword} is {print_number(value)}; it must not be negative", (keyword,)
        elif keyword in _COUNTS and isinstance(value, Decimal) and value != value.to_integral_value():
            yield "fractional-limit", f"{keyword} is {print_number(value)}; it must be a whole number", (keyword,)


def _lists(schema: dict[str, Any], draft: Draft) -> Iterator[tuple[str, str, Pointer]]:
    for keyword in ("type", *_COMBINATIONS, "enum", *(["required"] if draft is Draft.DRAFT_4 else [])):
        if schema.get(keyword) == []:
            yield "empty-list", f"{keyword} is empty; it must have an entry", (keyword,)
    for keyword in ("type", "required"):
        held = schema.get(keyword)
        names = [name for name in held if isinstance(name, str)] if isinstance(held, list) else []
        for name in (name for name, count in Counter(names).items() if count > 1):
            yield "repeated-name", f"{keyword} says {name!r} more than once", (keyword,)


def _boolean_schemas(schema: dict[str, Any]) -> Iterator[tuple[str, str, Pointer]]:
    """Yield the schemas that are true or false, which exist since draft-06."""
    for steps, child in subschemas(schema):
        if isinstance(child, bool) and steps[0] in _OBJECTS_IN_DRAFT_4:
            yield (
                "boolean-schema",
                f"{print_pointer(steps)[1:]} is {str(child).lower()}; in draft-04 a schema is an object",
                steps,
            )


def _doubtful_reference(
    schema: dict[str, Any], base: Base, resolve: Callable[[str, Base], tuple[Any, Base]]
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
