"""Schemas with a tag at one place and a value with a text there, and what confluent-kafka 2.16 does with the text.

``known``: its serializers encrypt the text. ``once``: they encrypt it more often
than they decrypt it, and read what is encrypted once. ``refused``: they
raise an error when they read it. ``unread``: they encrypt it and do not decrypt it, or refuse what
they encrypted. ``plain``: they write it as it is. ``error``: they raise an error, whatever
the value is. ``unfit``: the same, and the type cannot be encrypted at all.
"""

from __future__ import annotations

import json
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.schema.languages.protobuf.describe.known_files import CONFLUENT_TEXT_BY_PATH
from counterfoil.schema.model import SchemaType
from strategies.protobuf.classes import generated_classes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MARK = "SECRETMARK"
NUMBER = 123456789
PII = {"confluent:tags": ["PII"]}
META = "confluent/meta.proto"


@dataclass(frozen=True)
class Case:
    """A schema and a value; that of a Protobuf message is a dict, None for one with an extension."""

    name: str
    theirs: str
    text: str
    schema_type: SchemaType
    value: Any = None

    def __str__(self) -> str:
        return f"{self.schema_type.lower()}: {self.name}"

    @cached_property
    def message_class(self) -> Any:
        """The generated class of a Protobuf message."""
        files = {META: CONFLUENT_TEXT_BY_PATH[META], "tagged.proto": self.text}
        return generated_classes(files)["tagged.places.R"]

    def message(self) -> Any:
        """Return a new value: rules of confluent-kafka change values."""
        if self.schema_type is not SchemaType.PROTOBUF:
            return deepcopy(self.value)
        return extended(self.message_class) if self.value is None else self.message_class(**self.value)


def some(cases: Sequence[Case]) -> Any:
    """Return the parameters of a test for these cases: a quarter of them, and the others in `make test-long` alone."""
    params = [
        pytest.param(case, marks=[pytest.mark.long] if index % 4 else [], id=str(case))
        for index, case in enumerate(cases)
    ]
    return pytest.mark.parametrize("case", params)


# --- JSON

S = {"type": "string"}
TS = {"type": "string", **PII}
NULL = {"type": "null"}
INT = {"type": "integer"}
LONG = {"minLength": 1}
SHORT = {"maxLength": 12}
SECRET = {"pattern": f"^({MARK})?$"}
NEW = {"$schema": "https://json-schema.org/draft/2020-12/schema"}


def obj(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def arr(items: Any, **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, **more}


def defined(**named: Any) -> dict[str, Any]:
    return {"definitions": named}


def ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/definitions/{name}"}


A, LIST, MAP = {"a": MARK}, {"a": [MARK]}, {"k": MARK}
JSON_CASES: dict[str, list[tuple[str, dict[str, Any], Any]]] = {
    "known": [
        ("a property", obj(a=TS), A),
        ("an object without a type", {"properties": {"a": TS}}, A),
        ("an array", obj(a=arr(S, **PII)), LIST),
        ("an array of arrays", obj(a=arr(arr(S), **PII)), {"a": [[MARK]]}),
        ("an array without a type", obj(a={"items": S, **PII}), LIST),
        ("objects in an array", obj(a=arr(obj(b=TS))), {"a": [{"b": MARK}]}),
        ("objects in an array of arrays", obj(a=arr(arr(obj(b=TS)))), {"a": [[{"b": MARK}]]}),
        ("an object in an object", obj(o=obj(a=TS)), {"o": A}),
        ("a root array of objects", arr(obj(a=TS)), [A]),
        ("beside a reference", {**obj(a={**ref("s"), **PII}), **defined(s=S)}, A),
        ("beside a chain of references", {**obj(a={**ref("s"), **PII}), **defined(s=ref("t"), t=S)}, A),
        ("beside a reference to an array", {**obj(a={**ref("s"), **PII}), **defined(s=arr(S))}, LIST),
        ("in a referenced object", {**obj(a=ref("s")), **defined(s=obj(b=TS))}, {"a": {"b": MARK}}),
        ("in referenced items", {**obj(a=arr(ref("s"))), **defined(s=obj(b=TS))}, {"a": [{"b": MARK}]}),
        ("a root reference", {**ref("s"), **defined(s=obj(b=TS))}, {"b": MARK}),
        ("beside anyOf with null", obj(a={"anyOf": [S, NULL], **PII}), A),
        ("beside oneOf with null", obj(a={"oneOf": [NULL, S], **PII}), A),
        ("beside allOf", obj(a={"allOf": [S, LONG], **PII}), A),
        ("beside anyOf of arrays", obj(a={"anyOf": [arr(S), NULL], **PII}), LIST),
        ("beside anyOf of texts", obj(a={"anyOf": [{**S, "format": "date"}, S, NULL], **PII}), A),
        ("beside anyOf of references to texts", {**obj(a={"anyOf": [ref("s"), ref("t")], **PII}),
         **defined(s={**S, "format": "date"}, t=S)}, A),
        ("beside allOf of texts", obj(a={"allOf": [S, {**S, **LONG}], **PII}), A),
        ("items of texts and texts", obj(a=arr({"anyOf": [{**S, "format": "date"}, S]}, **PII)), LIST),
        ("anyOf in items", obj(a=arr({"anyOf": [S, NULL]}, **PII)), LIST),
        ("an object in anyOf", obj(a={"anyOf": [NULL, obj(b=TS)]}), {"a": {"b": MARK}}),
        ("an object in allOf", obj(a={"allOf": [obj(b=TS)]}), {"a": {"b": MARK}}),
        ("properties in a root allOf", {"type": "object", "allOf": [obj(a=TS)]}, A),
        ("properties in a root anyOf", {"anyOf": [obj(a=TS), obj(b=INT)]}, A),
        ("properties beside anyOf", {**obj(a=TS), "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, A),
        ("properties beside if", {**obj(a=TS), "if": {"required": ["a"]}, "then": {"required": ["a"]}}, A),
        ("a property in two branches", {"allOf": [obj(a=TS), obj(a=TS)]}, A),
        ("a property and a branch", {**obj(a=TS), "allOf": [obj(a=S)]}, A),
        ("other texts beside an enum", obj(a={"anyOf": [{"enum": ["x"]}, S], **PII}), A),
        ("two types", obj(a={"type": ["string", "null"], **PII}), A),
        ("a string or a number", obj(a={"type": ["string", "integer"], **PII}), A),
        ("a recursive object", {**obj(a=TS, n={"$ref": "#"})}, {"a": "x", "n": {"a": MARK}}),
        ("a long text or null", obj(a={"anyOf": [{**S, "minLength": 2}, NULL], **PII}), A),
        ("an object with a limit or null", obj(a={"anyOf": [obj(b={**TS, "maxLength": 90}), NULL]}),
         {"a": {"b": MARK}}),
        ("a reference twice in allOf", {**obj(a={"allOf": [ref("s"), ref("s")], **PII}), **defined(s=S)}, A),
        ("an object twice in allOf", {"allOf": [ref("s"), ref("s")], **defined(s=obj(a=TS))}, A),
        ("a branch that the text does not fit", obj(a={"anyOf": [{**S, "maxLength": 3}, S], **PII}), A),
        ("objects of two kinds", {"anyOf": [obj(k={"const": 1}, a={**TS, **SHORT}), obj(k={"const": 2}, a=TS)]},
         {"k": 2, **A}),
    ],
    "once": [
        ("a short text or a text", obj(a={"anyOf": [{**S, **SHORT}, S], **PII}), A),
        ("a text of a pattern or a text", obj(a={"anyOf": [{**S, **SECRET}, S, NULL], **PII}), A),
        ("nested anyOf of texts", obj(a={"anyOf": [{"anyOf": [{**S, **SHORT}, S]}, NULL], **PII}), A),
        ("referenced texts", {**obj(a={"anyOf": [ref("s"), ref("t")], **PII}), **defined(s={**S, **SHORT}, t=S)}, A),
        ("items of two kinds", obj(a=arr({"anyOf": [{**S, **SHORT}, S]}, **PII)), {"a": [MARK, "other", "x" * 30]}),
        ("objects with a short text", {"anyOf": [obj(a={**TS, **SHORT}), obj(a=TS)]}, A),
        ("objects with a pattern", {"anyOf": [obj(a={**TS, **SECRET}), obj(a=TS, b=S)]}, {**A, "b": "open"}),
        ("nested objects", obj(o={"anyOf": [obj(a={**TS, **SHORT}), {"anyOf": [obj(a=TS), NULL]}]}), {"o": A}),
        ("anyOf inside allOf", {"allOf": [{"anyOf": [obj(a={**TS, **SHORT}), obj(a=TS)]}]}, A),
        ("objects in items", arr({"anyOf": [obj(a={**TS, **SHORT}), obj(a=TS)]}), [A, {"a": "other"}]),
        ("two properties", {"anyOf": [obj(a={**TS, **SHORT}, b=TS), obj(a=TS, b={**TS, **SHORT}), obj(a=TS, b=TS)]},
         {**A, "b": "other"}),
    ],
    "refused": [
        ("a text or a short text", obj(a={"anyOf": [S, {**S, **SHORT}], **PII}), A),
        ("an object or one with a short text", {"anyOf": [obj(a=TS), obj(a={**TS, **SHORT})]}, A),
    ],
    "unread": [
        ("a short text or null", obj(a={"anyOf": [{**S, **SHORT}, NULL], **PII}), A),
        ("a text of a pattern or null", obj(a={"oneOf": [{**S, **SECRET}, NULL], **PII}), A),
        ("a short text of two types", obj(a={"type": ["string", "null"], **SHORT, **PII}), A),
        ("an object with a short text or null", obj(a={"anyOf": [obj(b={**TS, **SHORT}), NULL]}), {"a": {"b": MARK}}),
        ("a short text in one of two objects", {"anyOf": [obj(a={**TS, **SHORT}), obj(a=S)]}, A),
        ("short texts of two kinds", {"anyOf": [obj(k={"const": 1}, a={**TS, **SHORT}), obj(k={"const": 2}, a=S)]},
         {"k": 1, **A}),
    ],
    "plain": [
        ("a tag that is no list", obj(a={**S, "confluent:tags": "PII"}), A),
        ("in items", obj(a=arr(TS)), LIST),
        ("an array of objects", obj(a=arr(obj(b=S), **PII)), {"a": [{"b": MARK}]}),
        ("objects in items", obj(a=arr({**obj(b=S), **PII})), {"a": [{"b": MARK}]}),
        ("an array without items", obj(a={"type": "array", **PII}), LIST),
        ("prefixItems", {**NEW, **obj(a={"type": "array", "prefixItems": [S], **PII})}, LIST),
        ("in prefixItems", {**NEW, **obj(a={"type": "array", "prefixItems": [TS]})}, LIST),
        ("in contains", obj(a={"type": "array", "contains": TS}), LIST),
        ("an object", obj(o={**obj(a=S), **PII}), {"o": A}),
        ("an object that declares nothing", obj(o={"type": "object", **PII}), {"o": A}),
        ("the root object", {**obj(a=S), **PII}, A),
        ("the root string", TS, MARK),
        ("in items of the root", arr(TS), [MARK]),
        ("the root array", arr(S, **PII), [MARK]),
        ("additionalProperties", {"type": "object", "additionalProperties": TS}, MAP),
        ("an object in additionalProperties", {"type": "object", "additionalProperties": obj(a=TS)}, {"k": A}),
        ("a map", obj(m={"type": "object", "additionalProperties": S, **PII}), {"m": MAP}),
        ("arrays in a map", {"type": "object", "additionalProperties": arr(S, **PII)}, {"k": [MARK]}),
        ("patternProperties", {"type": "object", "patternProperties": {"^k": TS}}, MAP),
        ("unevaluatedProperties", {**NEW, "type": "object", "unevaluatedProperties": TS}, MAP),
        ("behind a reference", {**obj(a=ref("s")), **defined(s=TS)}, A),
        ("a referenced object", {**obj(a=ref("s")), **defined(s={**obj(b=S), **PII})}, {"a": {"b": MARK}}),
        ("in anyOf", obj(a={"anyOf": [TS, NULL]}), A),
        ("in oneOf", obj(a={"oneOf": [NULL, TS]}), A),
        ("in allOf", obj(a={"allOf": [TS]}), A),
        ("beside anyOf of objects", obj(a={"anyOf": [obj(x=S), NULL], **PII}), {"a": {"x": MARK}}),
        ("a property without a type", obj(a=PII), A),
        ("a property with a length", obj(a={**LONG, **PII}), A),
        ("a type beside anyOf", obj(a={"type": "string", "anyOf": [LONG], **PII}), A),
        ("a type beside a reference", {**NEW, **obj(a={**ref("s"), **TS}), **defined(s=LONG)}, A),
        ("properties beside a reference", {**NEW, **obj(a={**ref("s"), **obj(b=TS)}), **defined(s={})},
         {"a": {"b": MARK}}),
        ("in then", {**obj(b=INT), "if": {}, "then": obj(a=TS)}, A),
        ("in else", {**obj(b=INT), "if": {"required": ["b"]}, "else": obj(a=TS)}, A),
        ("in dependentSchemas", {**NEW, **obj(b=INT), "dependentSchemas": {"b": obj(a=TS)}}, {"b": 1, **A}),
        ("in dependencies", {**obj(b=INT), "dependencies": {"b": obj(a=TS)}}, {"b": 1, **A}),
        (
            "behind a dynamic reference",
            {**NEW, "$dynamicAnchor": "n", **obj(a=S, n={"$dynamicRef": "#n"}, t=TS)},
            {"n": {"t": MARK}},
        ),
        ("in contentSchema", {**NEW, **obj(a={**S, "contentSchema": TS})}, A),
        ("anyOf beside allOf", {"allOf": [obj(b=INT)], "anyOf": [obj(a=TS)]}, A),
        ("anyOf beside oneOf", {"oneOf": [obj(b=INT)], "anyOf": [obj(a=TS)]}, A),
        ("oneOf beside allOf", {"allOf": [obj(b=INT)], "oneOf": [obj(a=TS)]}, A),
        ("in not", {**obj(b=S), "not": {"required": ["b"], **obj(a=TS)}}, A),
        ("a property in not", obj(a={**S, "not": {**TS, "maxLength": 1}}), A),
        ("behind a reference in not", {**NEW, **obj(b=S), "not": {"$ref": "#/$defs/s"}, "$defs": {
            "s": {"required": ["b"], **obj(a=TS)}}}, A),
        ("in if without then", {"type": "object", "if": obj(a=TS)}, A),
        ("in then without if", {"type": "object", "then": obj(a=TS)}, A),
        ("in unevaluatedItems", {**NEW, **obj(a={"type": "array", "unevaluatedItems": TS})}, LIST),
        ("in a keyword of another draft", {"type": "object", "unevaluatedProperties": TS}, MAP),
        ("in prefixItems of another draft", obj(a={"type": "array", "prefixItems": [TS]}), LIST),
        ("in dependentSchemas of another draft", {**obj(b=S), "dependentSchemas": {"b": obj(a=TS)}}, {"b": "x", **A}),
        ("beside a reference that hides it", {**obj(a={**ref("s"), **obj(b=TS)}), **defined(s={"type": "object"})},
         {"a": {"b": MARK}}),
        ("tags in one text", obj(a={**S, "confluent:tags": "A, PII"}), A),
        ("in then, if the text is short", {"if": obj(a=SHORT), "then": obj(a=TS)}, A),
        ("in contains, if the text is short",
         {**NEW, **obj(a={"type": "array", "contains": {**TS, **SHORT}, "minContains": 0})}, LIST),
    ],
    "unfit": [
        ("the names of properties", {"type": "object", "propertyNames": TS}, {MARK: 1}),
        ("an integer", obj(a={**INT, **PII}), {"a": NUMBER}),
        ("a number", obj(a={"type": "number", **PII}), {"a": NUMBER + 0.5}),
        ("an enum", obj(a={"type": "string", "enum": [MARK], **PII}), A),
        ("a constant", obj(a={"const": MARK, **PII}), A),
    ],
}  # fmt: skip


# --- Avro


def field(name: str, avro_type: Any) -> dict[str, Any]:
    return {"name": name, "type": avro_type}


def tagged(name: str, avro_type: Any) -> dict[str, Any]:
    return {**field(name, avro_type), **PII}


def record(*fields: Any, **more: Any) -> dict[str, Any]:
    return {"type": "record", "name": "R", "fields": list(fields), **more}


def inner(*fields: Any, **more: Any) -> dict[str, Any]:
    return record(*fields, name="I", **more)


TEXT = {"type": "string", **PII}
LETTERS = {"type": "enum", "name": "E", "symbols": [MARK]}
AVRO_CASES: dict[str, list[tuple[str, Any, Any]]] = {
    "known": [
        ("a string", record(tagged("a", "string")), A),
        ("bytes", record(tagged("a", "bytes")), {"a": MARK.encode()}),
        ("a union with null", record(tagged("a", ["null", "string"])), A),
        ("a union of several", record(tagged("a", ["null", "string", "int", "bytes"])), A),
        ("an array", record(tagged("a", arr("string"))), LIST),
        ("an array of arrays", record(tagged("a", arr(arr("string")))), {"a": [[MARK]]}),
        ("a map", record(tagged("a", {"type": "map", "values": "string"})), {"a": MAP}),
        ("a map of arrays", record(tagged("a", {"type": "map", "values": arr("string")})), {"a": {"k": [MARK]}}),
        ("an array of unions", record(tagged("a", arr(["null", "string"]))), LIST),
        ("a field of a record", record(field("a", inner(tagged("b", "string")))), {"a": {"b": MARK}}),
        ("records in an array", record(field("a", arr(inner(tagged("b", "string"))))), {"a": [{"b": MARK}]}),
        ("a record that is used twice", record(field("x", inner(tagged("b", "string"))), field("y", "I")),
         {"x": {"b": "q"}, "y": {"b": MARK}}),
        ("records in the root array", arr(record(tagged("a", "string"))), [A]),
        ("a root union", ["null", record(tagged("a", "string"))], A),
    ],
    "plain": [
        ("a tag that is no list", record({**field("a", "string"), "confluent:tags": "PII"}), A),
        ("in the type", record(field("a", TEXT)), A),
        ("in a branch", record(field("a", ["null", TEXT])), A),
        ("in items", record(field("a", arr(TEXT))), LIST),
        ("in the array", record(field("a", arr("string", **PII))), LIST),
        ("in values", record(field("a", {"type": "map", "values": TEXT})), {"a": MAP}),
        ("a field with a record", record(tagged("a", inner(field("b", "string")))), {"a": {"b": MARK}}),
        ("an array of records", record(tagged("a", arr(inner(field("b", "string"))))), {"a": [{"b": MARK}]}),
        ("a record or a string", record(tagged("a", ["string", inner(field("b", "string"))])), {"a": {"b": MARK}}),
        ("a record", record(field("a", inner(field("b", "string"), **PII))), {"a": {"b": MARK}}),
        ("the root record", record(field("a", "string"), **PII), A),
        ("a recursive record", record(tagged("a", ["null", "string"]), field("n", ["null", "R"])),
         {"a": None, "n": {"a": MARK, "n": None}}),
        ("an error", {**record(tagged("a", "string")), "type": "error"}, A),
        ("the root string", TEXT, MARK),
        ("the root array", arr("string", **PII), [MARK]),
        ("in items of the root", arr(TEXT), [MARK]),
        ("in values of the root", {"type": "map", "values": TEXT}, MAP),
    ],
    "unfit": [
        ("a fixed", record(tagged("a", {"type": "fixed", "name": "F", "size": len(MARK)})), {"a": MARK.encode()}),
        ("an enum", record(tagged("a", LETTERS)), A),
        ("an int", record(tagged("a", ["null", "int"])), {"a": NUMBER}),
        ("a record with an int", record(tagged("a", inner(field("b", "long")))), {"a": {"b": NUMBER}}),
    ],
}  # fmt: skip


# --- Protobuf

HEAD = 'syntax = "{}"; package tagged.places; import "confluent/meta.proto";\n'
T = '[(confluent.field_meta).tags = "PII"]'
OF_MESSAGE = 'option (confluent.message_meta).tags = "PII";'
STRUCT = f'import "google/protobuf/struct.proto"; message R {{ google.protobuf.Struct a = 1 {T}; }}'
WRAPPERS = 'import "google/protobuf/wrappers.proto"; '


def extended(kind: Any) -> Any:
    message = kind()
    message.Extensions[next(iter(kind.DESCRIPTOR.file.extensions_by_name.values()))] = MARK
    return message


PROTOBUF_CASES: dict[str, list[tuple[str, str, Any]]] = {
    "known": [
        ("a string", f"message R {{ string a = 1 {T}; }}", {"a": MARK}),
        ("bytes", f"message R {{ bytes a = 1 {T}; }}", {"a": MARK.encode()}),
        ("an optional", f"message R {{ optional string a = 1 {T}; }}", {"a": MARK}),
        ("repeated", f"message R {{ repeated string a = 1 {T}; }}", {"a": [MARK]}),
        ("a oneof", f"message R {{ oneof o {{ string a = 1 {T}; int32 b = 2; }} }}", {"a": MARK}),
        ("a nested message", f"message R {{ I i = 1; message I {{ string b = 1 {T}; }} }}", {"i": {"b": MARK}}),
        (
            "repeated messages",
            f"message R {{ repeated I i = 1; }} message I {{ string b = 1 {T}; }}",
            {"i": [{"b": MARK}]},
        ),
        (
            "messages in a map",
            f"message R {{ map<string,I> i = 1; }} message I {{ string b = 1 {T}; }}",
            {"i": {"k": {"b": MARK}}},
        ),
        ("a recursive message", f"message R {{ string a = 1 {T}; R n = 2; }}", {"a": "x", "n": {"a": MARK}}),
        ("required", f"message R {{ required string a = 1 {T}; }}", {"a": MARK}),
    ],
    "error": [
        ("a map", f"message R {{ map<string,string> a = 1 {T}; }}", {"a": {"k": MARK}}),
        ("a map of bytes", f"message R {{ map<string,bytes> a = 1 {T}; }}", {"a": {"k": MARK.encode()}}),
    ],
    "plain": [
        ("a field with a message", f"message R {{ I i = 1 {T}; }} message I {{ string b = 1; }}", {"i": {"b": MARK}}),
        (
            "a field with messages",
            f"message R {{ repeated I i = 1 {T}; }} message I {{ string b = 1; }}",
            {"i": [{"b": MARK}]},
        ),
        (
            "a map of messages",
            f"message R {{ map<string,I> i = 1 {T}; }} message I {{ string b = 1; }}",
            {"i": {"k": {"b": MARK}}},
        ),
        ("a message", f"message R {{ I i = 1; }} message I {{ {OF_MESSAGE} string b = 1; }}", {"i": {"b": MARK}}),
        ("the root message", f"message R {{ {OF_MESSAGE} string b = 1; }}", {"b": MARK}),
        ("the file", 'option (confluent.file_meta).tags = "PII"; message R { string b = 1; }', {"b": MARK}),
        ("StringValue", f"{WRAPPERS} message R {{ google.protobuf.StringValue a = 1 {T}; }}", {"a": {"value": MARK}}),
        (
            "BytesValue",
            f"{WRAPPERS} message R {{ google.protobuf.BytesValue a = 1 {T}; }}",
            {"a": {"value": MARK.encode()}},
        ),
        (
            "repeated StringValue",
            f"{WRAPPERS} message R {{ repeated google.protobuf.StringValue a = 1 {T}; }}",
            {"a": [{"value": MARK}]},
        ),
        ("Struct", STRUCT, {"a": {"fields": {"k": {"string_value": MARK}}}}),
        (
            "FieldMask",
            f'import "google/protobuf/field_mask.proto"; message R {{ google.protobuf.FieldMask a = 1 {T}; }}',
            {"a": {"paths": [MARK]}},
        ),
        ("a group", f"message R {{ optional group G = 1 {{ optional string b = 1 {T}; }} }}", {"g": {"b": MARK}}),
        ("an extension", f"message R {{ extensions 100 to 200; }} extend R {{ optional string e = 100 {T}; }}", None),
    ],
    "unfit": [
        ("an int", f"message R {{ optional int32 a = 1 {T}; }}", {"a": NUMBER}),
        ("an enum", f"enum E {{ Z = 0; {MARK} = 5; }} message R {{ E a = 1 {T}; }}", {"a": 5}),
        ("a message with an int", f"message R {{ I i = 1 {T}; }} message I {{ int64 b = 1; }}", {"i": {"b": NUMBER}}),
    ],
}
_IN_PROTO_2 = ("required", "group", "extend ")


def _cases() -> Iterator[Case]:
    for theirs, json_cases in JSON_CASES.items():
        for name, schema, value in json_cases:
            yield Case(name, theirs, json.dumps({"title": "T", **schema}), SchemaType.JSON, value)
    for theirs, avro_cases in AVRO_CASES.items():
        for name, schema, value in avro_cases:
            yield Case(name, theirs, json.dumps(schema), SchemaType.AVRO, value)
    for theirs, protobuf_cases in PROTOBUF_CASES.items():
        for name, body, value in protobuf_cases:
            syntax = "proto2" if any(word in body for word in _IN_PROTO_2) else "proto3"
            yield Case(name, theirs, HEAD.format(syntax) + body, SchemaType.PROTOBUF, value)


CASES = [*_cases()]
