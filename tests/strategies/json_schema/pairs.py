"""Pairs of JSON schemas, the second a change of the first, and values that fit or nearly fit them; all from a seed."""

from __future__ import annotations

import copy
import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from counterfoil.schema.languages.jsonschema.document import subschemas

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

URI_BY_DRAFT = {
    4: "http://json-schema.org/draft-04/schema#",
    7: "http://json-schema.org/draft-07/schema#",
    2020: "https://json-schema.org/draft/2020-12/schema",
}
TYPES = ("string", "integer", "number", "boolean", "null", "object", "array")
CONSTANTS: tuple[Any, ...] = (1, 2, "a", "b", None, True, 1.5, "abc", [], {}, [1], {"a": 1})
WORDS = ("", "a", "b", "c", "ab", "abc", "x1", "x", "z", "A", "0", "abcdefghij")


def schema_pairs(rng: random.Random, count: int) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield ``count`` pairs of schemas of one draft."""
    made = 0
    while made < count:
        draft = rng.choice((4, 7, 7, 2020))
        first: Any = random_object(rng, draft) if rng.random() < 0.5 else random_schema(rng, draft)
        second = changed(rng, first, draft)
        pair = [{"$schema": URI_BY_DRAFT[draft], **each} for each in (first, second) if isinstance(each, dict)]
        if len(pair) == 2:  # neither is true or false
            rng.shuffle(pair)
            yield pair[0], pair[1]
            made += 1


def random_schema(rng: random.Random, draft: int, depth: int = 0) -> Any:
    """Return a schema of a random kind, with little nesting."""
    if depth > 2 or rng.random() < 0.5:
        return rng.choice((random_type, random_text, random_number, random_values))(rng, draft)
    return rng.choice((random_object, random_object, random_array, random_combination))(rng, draft, depth)


def random_type(rng: random.Random, draft: int) -> Any:
    if draft != 4 and rng.random() < 0.2:
        return rng.choice((True, False))
    return rng.choice(({}, {"type": rng.choice(TYPES)}, {"type": rng.sample(TYPES, rng.randrange(1, 4))}))


def random_text(rng: random.Random, _draft: int) -> dict[str, Any]:
    parts = {"minLength": rng.randrange(4), "maxLength": rng.randrange(2, 6), "pattern": rng.choice(("^a", "b$"))}
    return {**sometimes(rng, {"type": "string"}, 0.7), **sometimes(rng, parts, 0.4)}


def random_number(rng: random.Random, draft: int) -> dict[str, Any]:
    parts: dict[str, Any] = {"minimum": rng.randrange(-2, 4), "maximum": rng.randrange(2, 8)}
    if draft == 4:
        parts = {**parts, "exclusiveMinimum": True, "exclusiveMaximum": True}
    else:
        parts |= {"exclusiveMinimum": rng.choice((-2, 0, 2.5)), "exclusiveMaximum": rng.choice((2, 4, 7.5))}
    chosen = sometimes(rng, {**parts, "multipleOf": rng.choice((1, 2, 3, 0.5, 6))}, 0.4)
    if draft == 4:
        chosen = {key: value for key, value in chosen.items() if not key.startswith("ex") or key[9:].lower() in chosen}
    return {**sometimes(rng, {"type": rng.choice(("integer", "number"))}, 0.8), **chosen}


def random_values(rng: random.Random, draft: int) -> dict[str, Any]:
    if draft != 4 and rng.random() < 0.4:
        return {"const": rng.choice(CONSTANTS)}
    return {"enum": rng.sample(CONSTANTS, rng.randrange(1, 4))}


def random_object(rng: random.Random, draft: int, depth: int = 0) -> dict[str, Any]:
    def inner() -> Any:
        return random_schema(rng, draft, depth + 1)

    named, schemas = ("dependencies",) * 2 if draft != 2020 else ("dependentRequired", "dependentSchemas")
    parts: dict[str, Any] = {
        "properties": {name: inner() for name in rng.sample(("a", "b", "c", "x1"), rng.randrange(4))},
        "required": rng.sample(("a", "b", "c", "z"), rng.randrange(1, 3)),
        "additionalProperties": rng.choice((True, False, inner())),
    }
    rare: dict[str, Any] = {
        "patternProperties": {rng.choice(("^x", "^a", "b")): inner()},
        "minProperties": rng.randrange(3),
        "maxProperties": rng.randrange(1, 4),
        schemas: {"a": inner()},
        named: {"a": ["b"]},
    }
    if draft != 4:
        rare["propertyNames"] = rng.choice(({"maxLength": 1}, {"pattern": "^[a-z]"}, {"enum": ["a", "b"]}))
    return {**sometimes(rng, {"type": "object"}, 0.85), **sometimes(rng, parts, 0.6), **sometimes(rng, rare, 0.13)}


def random_array(rng: random.Random, draft: int, depth: int) -> dict[str, Any]:
    def inner() -> Any:
        return random_schema(rng, draft, depth + 1)

    listed = "items" if draft != 2020 else "prefixItems"
    parts: dict[str, Any] = {"items": inner(), "minItems": rng.randrange(3), "maxItems": rng.randrange(1, 4)}
    rare: dict[str, Any] = {listed: [inner() for _ in range(rng.randrange(1, 3))], "uniqueItems": True}
    if draft != 4:
        rare["contains"] = inner()
    if draft == 2020:
        rare |= {"minContains": rng.randrange(3), "maxContains": rng.randrange(1, 3)}
    return {**sometimes(rng, {"type": "array"}, 0.85), **sometimes(rng, parts, 0.4), **sometimes(rng, rare, 0.2)}


def random_combination(rng: random.Random, draft: int, depth: int) -> dict[str, Any]:
    def inner() -> Any:
        return random_schema(rng, draft, depth + 1)

    if rng.random() < 0.15:
        return {"not": inner()}
    if draft == 7 and rng.random() < 0.2:
        return {"if": inner(), "then": inner(), "else": inner()}
    return {rng.choice(("anyOf", "oneOf", "allOf")): [inner() for _ in range(rng.randrange(1, 4))]}


def sometimes(rng: random.Random, parts: dict[str, Any], chance: float) -> dict[str, Any]:
    return {key: value for key, value in parts.items() if rng.random() < chance}


def changed(rng: random.Random, schema: Any, draft: int) -> Any:
    """Return ``schema`` with a keyword or a schema somewhere in it added, removed, or replaced by another."""
    schema = copy.deepcopy(schema)
    if not isinstance(schema, dict):
        return random_schema(rng, draft)
    inside = [child for _, child in subschemas(schema) if isinstance(child, dict)]
    inside += [child for each in inside for _, child in subschemas(each) if isinstance(child, dict)]
    place = rng.choice([schema, *inside])
    other = random_schema(rng, draft, 2)
    if place and rng.random() < 0.5:
        place.pop(rng.choice(sorted(place)))
    if isinstance(other, dict):
        place.update(sometimes(rng, other, 0.6))
    return schema


def random_value(rng: random.Random, schema: Any, depth: int = 0) -> Any:
    """Return a value that fits ``schema`` or nearly fits it; sometimes any value."""
    if not isinstance(schema, dict) or depth > 5 or rng.random() < 0.1:
        return any_value(rng, depth)
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return rng.choice(schema["enum"])
    for keyword in ("oneOf", "anyOf", "allOf"):
        branch = rng.choice(schema.get(keyword) or [None])
        if isinstance(branch, dict):
            rest = {key: value for key, value in schema.items() if key != keyword}
            return random_value(rng, {**rest, **branch}, depth + 1)
    named = schema.get("type", kind_of(schema))
    kind = rng.choice(named) if isinstance(named, list) and named else named
    match kind:
        case "string":
            least = schema.get("minLength", 0)
            start = str(schema.get("pattern", "")).strip("^$[]-+") if rng.random() < 0.7 else ""
            return (start + rng.choice(WORDS)).ljust(least, "a")[: schema.get("maxLength", 12)]
        case "integer" | "number":
            near = [schema[key] for key in schema if "imum" in key and not isinstance(schema[key], bool)] or [0, 5]
            value = rng.choice(near) + rng.choice((0, 1, -1, 2, 0.5))
            step = schema.get("multipleOf")
            return rng.randrange(-3, 20) * step if step else int(value) if kind == "integer" else value
        case "array":
            return random_array_value(rng, schema, depth)
        case "object":
            return random_object_value(rng, schema, depth)
    return any_value(rng, depth)


def kind_of(schema: dict[str, Any]) -> str | None:
    if schema.keys() & {"properties", "required", "additionalProperties", "patternProperties", "minProperties"}:
        return "object"
    return "array" if schema.keys() & {"items", "contains", "prefixItems", "minItems"} else None


def random_array_value(rng: random.Random, schema: dict[str, Any], depth: int) -> list[Any]:
    items = schema.get("items")
    listed = schema.get("prefixItems") or (items if isinstance(items, list) else [])
    behind = schema.get("additionalItems") if isinstance(items, list) else items
    size = schema.get("minItems", 0) + rng.randrange(4)
    made = [random_value(rng, listed[at] if at < len(listed) else behind, depth + 1) for at in range(size)]
    return [*made, random_value(rng, schema["contains"], depth + 1)] if "contains" in schema else made


def random_object_value(rng: random.Random, schema: dict[str, Any], depth: int) -> dict[str, Any]:
    declared = schema.get("properties") or {}
    required = schema.get("required") or []
    names = {name for name in declared if name in required or rng.random() < 0.5} | set(required)
    if schema.get("additionalProperties") is not False and rng.random() < 0.6:
        names |= {rng.choice(WORDS)}
    beside = schema.get("additionalProperties")
    return {name: random_value(rng, declared.get(name, beside), depth + 1) for name in sorted(names)}


def any_value(rng: random.Random, depth: int) -> Any:
    choices: list[Any] = [None, True, False, 0, 1, -1, 2, 0.5, 7, 12, *WORDS, *CONSTANTS]
    if depth < 3 and rng.random() < 0.3:
        many = [any_value(rng, depth + 1) for _ in range(rng.randrange(3))]
        return many if rng.random() < 0.5 else {rng.choice(WORDS): each for each in many}
    return rng.choice(choices)


def plain(value: Any) -> Any:
    """Return a value with floats instead of decimals, as validators accept it."""
    return json.loads(json.dumps(value, default=lambda each: float(each) if isinstance(each, Decimal) else each))
