"""Random schemas of the three languages with tags at random places, a value, and which texts of it a tag marks.

The texts of a value are all different. Which of them a tag ``PII`` (or one of several tags ``wanted``) marks is found
by walks of this module over schema and value, written from the specifications of the languages: a tag marks all values
that its element describes, and everything inside them.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jsonschema_rs
from hypothesis import strategies as st

from counterfoil.schema.model import SchemaType

if TYPE_CHECKING:
    from collections.abc import Iterator

Json = Any
TAGS = "confluent:tags"
PII = frozenset({"PII"})
_DEPTH = 3


@dataclass(frozen=True)
class Tree:
    """A schema, a value of it, and the texts and numbers in the value that are marked, and that are not."""

    schema_type: SchemaType
    text: str
    value: Json
    marked: frozenset[Any]
    free: frozenset[Any]


class _Draw:
    """Draws parts of one schema, and counts texts and names, so that all are different."""

    def __init__(self, draw: Any, *, has_tags: bool, wanted: frozenset[str]) -> None:
        self.draw = draw
        self.has_tags = has_tags
        self.wanted = wanted
        self._count = 0

    def number(self) -> int:
        self._count += 1
        return 700_000_000 + self._count

    def text(self) -> str:
        self._count += 1
        return f"text{self._count}q"

    def name(self, prefix: str = "n") -> str:
        self._count += 1
        return f"{prefix}{self._count}"

    def one(self, *choices: Any) -> Any:
        return self.draw(st.sampled_from(choices))

    def flip(self, times: int = 2) -> bool:
        return bool(self.draw(st.integers(0, times - 1)) == 0)

    def tags(self) -> list[str]:
        """Return the tags of an element: mostly none."""
        return self.one([], [], [], [], ["OTHER"], ["PII"]) if self.has_tags else []

    def with_tags(self, element: dict[str, Json]) -> dict[str, Json]:
        tags = self.tags()
        return {**element, TAGS: tags} if tags else element


def _split(values: Iterator[tuple[Any, bool]]) -> tuple[frozenset[Any], frozenset[Any]]:
    found = list(values)
    marked = frozenset(value for value, is_marked in found if is_marked)
    return marked, frozenset(value for value, _ in found) - marked


# --- JSON


@st.composite
def json_trees(draw: Any, *, has_tags: bool = True, wanted: frozenset[str] = PII) -> Tree:
    make = _Draw(draw, has_tags=has_tags, wanted=wanted)
    definitions: dict[str, Json] = {}
    schema, value = _json(make, _DEPTH, definitions, is_root=True)
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "$defs": definitions}
    marked, free = _split(_json_values(schema, schema, value, wanted, is_marked=False))
    free_texts = frozenset(_texts(value)) - marked
    return Tree(SchemaType.JSON, json.dumps(schema), value, marked, free_texts | (free - marked))


@st.composite
def deciding_trees(draw: Any, *, wanted: frozenset[str] = PII) -> Tree:
    """Return JSON schemas in which one text decides which tags another one has."""
    schema, value = _deciding(_Draw(draw, has_tags=True, wanted=wanted))
    marked, free = _split(_json_values({"$defs": {}}, schema, value, wanted, is_marked=False))
    return Tree(SchemaType.JSON, json.dumps(schema), value, marked, (frozenset(_texts(value)) | free) - marked)


def _json(make: _Draw, depth: int, definitions: dict[str, Json], *, is_root: bool = False) -> tuple[Json, Json]:
    simple = (
        "string",
        "string",
        "string",
        "string",
        "untyped",
        "integer",
        "null or string",
        "texts",
        "alike",
        "deciding",
    )
    nested = (
        "object",
        "object",
        "object",
        "object",
        "map",
        "pattern",
        "array",
        "prefix",
        "contains",
        "ref",
        "branch",
        "all",
        "if",
        "alike",
        "alike",
        "deciding",
        "deciding",
    )
    kind = (
        "object"
        if is_root and make.flip()
        else make.one(*(nested if is_root else (*simple, *nested) if depth else simple))
    )
    schema, value = _json_of(make, kind, depth - 1, definitions)
    return make.with_tags(schema), value


def _json_of(make: _Draw, kind: str, depth: int, definitions: dict[str, Json]) -> tuple[Json, Json]:
    if kind in _JSON_SIMPLE:
        return _json_simple(make, kind)
    inner, value = _json(make, depth, definitions)
    if kind in ("map", "pattern", "array", "contains", "all"):
        return _json_around(make, kind, inner, value)
    more, other = _json(make, depth, definitions)
    match kind:
        case "object":
            one, two = make.name(), make.name()
            found = {one: value, two: other}
            if make.flip(4):
                found[make.name("x")] = make.text()
            return {"type": "object", "properties": {one: inner, two: more}}, found
        case "prefix":
            return {"type": "array", "prefixItems": [inner], "items": more}, [value, other]
        case "ref":
            name = make.name("d")
            definitions[name] = inner
            return {"$ref": f"#/$defs/{name}"}, value
        case "branch":
            return {"anyOf": [inner, more]}, make.one(value, other)
    name = make.name()
    then = {"properties": {name: inner}}
    return {"type": "object", "if": {"required": [name]}, "then": then}, {name: value}


def _json_around(make: _Draw, kind: str, inner: Json, value: Json) -> tuple[Json, Json]:
    match kind:
        case "map":
            return {"type": "object", "additionalProperties": inner}, {make.name("k"): value}
        case "pattern":
            return {"type": "object", "patternProperties": {"^p": inner}}, {make.name("p"): value}
        case "array":
            return {"type": "array", "items": inner}, [value]
        case "contains":
            return {"type": "array", "contains": inner}, [value]
    return {"allOf": [inner, {"minProperties": 0}]}, value


_JSON_SIMPLE = ("string", "untyped", "integer", "null or string", "texts", "alike", "deciding")
_LIMITS: tuple[dict[str, Json], ...] = (
    {"maxLength": 3},
    {"maxLength": 20},
    {"minLength": 30},
    {"minLength": 2},
    {"pattern": "^text"},
    {"pattern": "^[A-Z]"},
    {"format": "date"},
    {"enum": ["x"]},
    {},
)


def _json_simple(make: _Draw, kind: str) -> tuple[Json, Json]:
    match kind:
        case "string":
            return {"type": "string"}, make.text()
        case "untyped":
            return make.one({}, {"minLength": 1}), make.text()
        case "integer":
            return {"type": "integer"}, make.number()
        case "texts":  # of which one fits every text, so that the schema accepts ciphertexts
            return {"anyOf": _shuffled(make, [_limited(make), {"type": "string"}])}, make.text()
        case "alike":
            name = make.name()
            texts = [make.with_tags(each) for each in (_limited(make), {"type": "string"})]
            if make.flip(3):
                texts.append(make.with_tags(_limited(make)))
            objects = [make.with_tags({"type": "object", "properties": {name: each}}) for each in texts]
            return {"anyOf": _shuffled(make, objects)}, {name: make.text()}
        case "deciding":
            return _deciding(make)
    branches = [make.with_tags({"type": "string"}), {"type": "null"}]
    return {make.one("anyOf", "oneOf"): branches}, make.one(make.text(), None)


def _deciding(make: _Draw) -> tuple[Json, Json]:
    """Return a schema in which one text decides which tags another one has, and a value."""
    name, other = make.name(), make.name()
    value = {name: make.text(), other: make.text()}
    first, second = _often_tagged(make), _often_tagged(make)
    known = {"properties": {name: _often_tagged(make)}}
    if make.flip():
        condition = {"properties": {name: {"type": "string", **make.one(*_LIMITS)}}}
        ways = {"then": {"properties": {other: first}}, "else": {"properties": {other: second}}}
        return {"type": "object", **known, "if": condition, **ways}, value
    limited = {**_often_tagged(make), **make.one(*_LIMITS)}
    branches: list[Json] = [
        {"type": "object", "properties": {name: limited, other: first}},
        {"type": "object", "properties": {name: _often_tagged(make), other: second}},
    ]
    return {"type": "object", **(known if make.flip() else {}), "anyOf": _shuffled(make, branches)}, value


def _often_tagged(make: _Draw) -> Json:
    tags = make.one([], ["OTHER"], ["PII"]) if make.has_tags else []
    return {"type": "string", **({TAGS: tags} if tags else {})}


def _limited(make: _Draw) -> Json:
    """Return a schema for some texts, or for all."""
    return make.with_tags({"type": "string", **make.one(*_LIMITS)})


def _shuffled(make: _Draw, branches: list[Json]) -> list[Json]:
    return list(make.draw(st.permutations(branches)))


def _json_values(
    root: Json, schema: Json, value: Json, wanted: frozenset[str], *, is_marked: bool
) -> Iterator[tuple[Any, bool]]:
    """Yield the scalars of a value that a schema describes, each with whether a tag in the schema marks it."""
    if not isinstance(schema, dict):
        return
    is_marked = is_marked or bool(wanted & {*schema.get(TAGS, ())})
    if is_marked:
        yield from ((each, True) for each in _texts(value))

    for below, part in _json_below(root, schema, value):
        yield from _json_values(root, below, part, wanted, is_marked=is_marked)
    if value is not None and not isinstance(value, dict | list):
        yield value, is_marked


def _json_below(root: Json, schema: Json, value: Json) -> Iterator[tuple[Json, Json]]:
    """Yield the schemas inside a schema that describe the value or parts of it, each with the part."""

    def fits(below: Json, part: Json) -> bool:
        return jsonschema_rs.is_valid({**below, "$defs": root["$defs"]}, part)

    if "$ref" in schema:
        yield root["$defs"][schema["$ref"].rpartition("/")[2]], value
    yield from ((branch, value) for branch in schema.get("allOf", ()))
    branches = (*schema.get("anyOf", ()), *schema.get("oneOf", ()))
    yield from ((branch, value) for branch in branches if fits(branch, value))
    if "if" in schema:
        yield schema["then"] if fits(schema["if"], value) else schema.get("else"), value
        if fits(schema["if"], value):
            yield schema["if"], value
    if isinstance(value, dict):
        for name, part in value.items():
            patterns = schema.get("patternProperties", {})
            matching = [below for pattern, below in patterns.items() if re.search(pattern, name)]
            known = [schema["properties"][name]] if name in schema.get("properties", ()) else []
            yield from ((below, part) for below in [*known, *matching] or [schema.get("additionalProperties")])
    elif isinstance(value, list):
        prefix = schema.get("prefixItems", [])
        for index, part in enumerate(value):
            yield prefix[index] if index < len(prefix) else schema.get("items"), part
            if "contains" in schema and fits(schema["contains"], part):
                yield schema["contains"], part


def _texts(value: Json) -> Iterator[Any]:
    """Yield the texts and numbers in a value, but not the keys of objects."""
    match value:
        case dict():
            for each in value.values():
                yield from _texts(each)
        case list():
            for each in value:
                yield from _texts(each)
        case None:
            return
        case _:
            yield value


# --- Avro


@st.composite
def avro_trees(draw: Any, *, has_tags: bool = True, wanted: frozenset[str] = PII) -> Tree:
    make = _Draw(draw, has_tags=has_tags, wanted=wanted)
    named: dict[str, Json] = {}
    kind = make.one("record", "record", "record", "array", "map")
    schema, value = _avro(make, kind, _DEPTH, named)
    marked, free = _split(_avro_values(schema, value, {}, wanted, is_marked=False))
    return Tree(SchemaType.AVRO, json.dumps(schema), value, marked, free)


def _avro_any(make: _Draw, depth: int, named: dict[str, Json]) -> tuple[Json, Json]:
    simple = ("string", "string", "bytes", "int", "optional", "several")
    return _avro(make, make.one(*((*simple, "record", "record", "array", "map") if depth else simple)), depth, named)


def _avro(make: _Draw, kind: str, depth: int, named: dict[str, Json]) -> tuple[Json, Json]:
    match kind:
        case "string" | "bytes" | "int":
            text = make.text()
            value = {"string": text, "bytes": text.encode(), "int": make.number()}[kind]
            element = make.with_tags({"type": kind})
            return (element if TAGS in element or make.flip() else kind), value
        case "optional":
            inner, value = _avro(make, make.one("string", "bytes"), depth, named)
            return ["null", inner], make.one(value, None)
        case "several":
            return ["int", "string", "null"], make.one(make.text(), make.number(), None)
        case "array":
            inner, value = _avro_any(make, depth - 1, named)
            return make.with_tags({"type": "array", "items": inner}), [value]
        case "map":
            inner, value = _avro_any(make, depth - 1, named)
            return make.with_tags({"type": "map", "values": inner}), {make.name("k"): value}
    if named and make.flip(4):
        name = make.one(*named)
        return name, _fresh(make, named[name])
    fields, found = [], {}
    for _ in range(make.one(1, 2, 3)):
        inner, value = _avro_any(make, depth - 1, named)
        field = make.with_tags({"name": make.name("f"), "type": inner})
        fields.append(field)
        found[field["name"]] = value
    name = make.name("R")
    named[name] = found
    return make.with_tags({"type": "record", "name": name, "fields": fields}), found


def _fresh(make: _Draw, value: Json) -> Json:
    """Return a value of the same types with other texts."""
    match value:
        case dict():
            return {name: _fresh(make, each) for name, each in value.items()}
        case list():
            return [_fresh(make, each) for each in value]
        case str():
            return make.text()
        case bytes():
            return make.text().encode()
        case int():
            return make.number()
    return value


def _avro_values(
    schema: Json, value: Json, named: dict[str, Json], wanted: frozenset[str], *, is_marked: bool
) -> Iterator[tuple[Any, bool]]:
    """Yield the scalars of a value, each with whether a tag in the schema marks it."""
    if isinstance(schema, str) and schema in named:
        schema = named[schema]
    if isinstance(schema, list):
        kind = {str: "string", bytes: "bytes", int: "int"}.get(type(value))
        for branch in schema:
            if (branch["type"] if isinstance(branch, dict) else branch) == kind:
                yield from _avro_values(branch, value, named, wanted, is_marked=is_marked)
        return
    if not isinstance(schema, dict):
        yield value, is_marked
        return
    is_marked = is_marked or bool(wanted & {*schema.get(TAGS, ())})
    match schema["type"]:
        case "record":
            named[schema["name"]] = schema
            for field in schema["fields"]:
                is_inner = is_marked or bool(wanted & {*field.get(TAGS, ())})
                yield from _avro_values(field["type"], value[field["name"]], named, wanted, is_marked=is_inner)
        case "array" | "map" as kind:
            parts = value if kind == "array" else value.values()
            for part in parts:
                below = schema["items"] if kind == "array" else schema["values"]
                yield from _avro_values(below, part, named, wanted, is_marked=is_marked)
        case _:
            yield value, is_marked


# --- Protobuf

_HEAD = """syntax = "proto3";
package tagged.trees;
import "confluent/meta.proto";
import "google/protobuf/wrappers.proto";
import "google/protobuf/struct.proto";
"""


@st.composite
def protobuf_trees(draw: Any, *, has_tags: bool = True, wanted: frozenset[str] = PII) -> Tree:
    make = _Draw(draw, has_tags=has_tags, wanted=wanted)
    messages: list[str] = []
    _, value, values = _message(make, _DEPTH, messages, is_marked=False)
    marked, free = _split(iter(values))
    return Tree(SchemaType.PROTOBUF, _HEAD + "\n".join(reversed(messages)), value, marked, free)


def _message(
    make: _Draw, depth: int, messages: list[str], *, is_marked: bool
) -> tuple[str, Json, list[tuple[Any, bool]]]:
    """Add a message type; return its name, a value, and the scalars of the value, each with whether it is marked."""
    name, tags = make.name("M"), make.tags()
    is_marked = is_marked or bool(make.wanted & {*tags})
    lines = [f'option (confluent.message_meta).tags = "{tag}";' for tag in tags]
    found: dict[str, Json] = {}
    values: list[tuple[Any, bool]] = []
    for number in range(1, 1 + make.one(1, 2, 3)):
        field, own = make.name("f"), make.tags()
        option = "".join(f' [(confluent.field_meta).tags = "{tag}"]' for tag in own)
        is_inner = is_marked or bool(make.wanted & {*own})
        kind = make.one(*_SCALARS, *(("message", "messages", "message map") if depth else ()))
        if "message" in kind:
            inner, part, inside = _message(make, depth - 1, messages, is_marked=is_inner)
            form = {"message": inner, "messages": f"repeated {inner}", "message map": f"map<string, {inner}>"}[kind]
            found[field] = {"message": part, "messages": [part], "message map": {make.name("k"): part}}[kind]
            values += inside
        else:
            form = kind
            scalar, found[field] = _scalar(make, kind)
            values += [(scalar, is_inner)]
            if kind == "oneof":
                lines.append(
                    f"oneof o{number} {{ string {field} = {number}{option}; int32 z{number} = {number + 100}; }}"
                )
                continue
        lines.append(f"{form} {field} = {number}{option};")
    messages.append(f"message {name} {{ {' '.join(lines)} }}")
    return name, found, values


_SCALARS = (
    "string",
    "string",
    "optional string",
    "bytes",
    "repeated string",
    "map<string, string>",
    "oneof",
    "google.protobuf.StringValue",
    "google.protobuf.Struct",
    "int64",
)


def _scalar(make: _Draw, kind: str) -> tuple[Any, Json]:
    """Return a scalar, and the value of a field of this kind that contains it."""
    text = make.text()
    match kind:
        case "bytes":
            return text.encode(), text.encode()
        case "repeated string":
            return text, [text]
        case "map<string, string>":
            return text, {make.name("k"): text}
        case "google.protobuf.Struct":
            return text, {make.name("k"): text}
        case "int64":
            number = make.number()
            return number, number
    return text, text


def trees(*, has_tags: bool = True, wanted: frozenset[str] = PII) -> st.SearchStrategy[Tree]:
    """Return schemas of all three languages; the texts that one of the tags ``wanted`` marks are those marked."""
    return st.one_of([each(has_tags=has_tags, wanted=wanted) for each in (json_trees, avro_trees, protobuf_trees)])
