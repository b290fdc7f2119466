"""The policy LOGICAL: what breaks a table in which the records land, in each language."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.schema import CompatibilityLevel, Earlier, ParsedSchema, SchemaType, check_compatibility, parse_schema
from counterfoil.schema.compatibility import CompatibilityPolicy
from counterfoil.schema.languages import logical_rules as rules

if TYPE_CHECKING:
    from collections.abc import Callable

RULES = Path(__file__).parents[3] / "rules" / "logical"
TYPE_BY_SUFFIX = {".avsc": SchemaType.AVRO, ".proto": SchemaType.PROTOBUF}

Json = Any


def avro(*fields: Json) -> ParsedSchema:
    return parse_schema(json.dumps({"type": "record", "name": "R", "fields": [*fields]}))


def field(name: str, kind: Json, **more: Json) -> Json:
    return {"name": name, "type": kind, **more}


def proto(body: str, rest: str = "") -> ParsedSchema:
    return parse_schema(f'syntax = "proto3";\nmessage R {{\n{body}\n}}\n{rest}', SchemaType.PROTOBUF)


def json_schema(properties: Json, **more: Json) -> ParsedSchema:
    document = {"type": "object", "properties": properties, "additionalProperties": False, **more}
    return parse_schema(json.dumps(document), SchemaType.JSON)


def found(
    reader: ParsedSchema, writer: ParsedSchema, level: CompatibilityLevel = CompatibilityLevel.BACKWARD
) -> list[str]:
    """What LOGICAL finds beside what STRICT finds."""
    earlier = [Earlier(writer, 1)]
    logical, strict = (
        check_compatibility(reader, earlier, level, policy=policy)
        for policy in (CompatibilityPolicy.LOGICAL, CompatibilityPolicy.STRICT)
    )
    known = [each for failure in strict.failures for each in failure.differences]
    return [
        f"{each.error_type or each.rule} {each.path}"
        for failure in logical.failures
        for each in failure.differences
        if each not in known
    ]


A, B = field("a", "int"), field("b", "string")
NULLABLE_B = field("b", ["null", "string"], default=None)
CASES: dict[str, tuple[Callable[[], ParsedSchema], Callable[[], ParsedSchema], list[str]]] = {
    # what happened: reader, writer, what is found
    "nothing": (lambda: avro(A, B), lambda: avro(A, B), []),
    "a nullable column added": (lambda: avro(A, NULLABLE_B), lambda: avro(A), []),
    "a column with a default added": (lambda: avro(A, field("b", "int", default=1)), lambda: avro(A), []),
    "a required column added": (lambda: avro(A, B), lambda: avro(A), ["REQUIRED_FIELD_ADDED #/b"]),
    "a column removed": (lambda: avro(A), lambda: avro(A, B), ["FIELD_DELETED #/b"]),
    "columns in another order": (lambda: avro(B, A), lambda: avro(A, B), ["FIELD_REORDERED #/"]),
    "a column that may not be null any more": (
        lambda: avro(field("b", "string")),
        lambda: avro(NULLABLE_B),
        ["NULLABLE_TO_NON_NULLABLE #/b"],
    ),
    "a column that may be null now": (lambda: avro(NULLABLE_B), lambda: avro(B), []),
    "a default removed": (
        lambda: avro(A),
        lambda: avro(field("a", "int", default=1)),
        ["NON_NULLABLE_DEFAULT_REMOVED #/a"],
    ),
    "int becomes long": (lambda: avro(field("a", "long")), lambda: avro(A), []),
    "int becomes double, which Avro reads and a table does not": (
        lambda: avro(field("a", "double")),
        lambda: avro(A),
        ["TYPE_MISMATCH #/a"],
    ),
    "a column inside a list": (
        lambda: avro(field("items", {"type": "array", "items": {"type": "record", "name": "I", "fields": [A]}})),
        lambda: avro(field("items", {"type": "array", "items": {"type": "record", "name": "I", "fields": [A, B]}})),
        ["FIELD_DELETED #/items/element/b"],
    ),
    "the values of a map": (
        lambda: avro(field("m", {"type": "map", "values": "double"})),
        lambda: avro(field("m", {"type": "map", "values": "long"})),
        ["TYPE_MISMATCH #/m/value"],
    ),
    "a schema that is no table": (
        lambda: avro(field("a", ["int", "string"])),
        lambda: avro(field("a", ["int", "string"])),
        ["logical-not-a-table #/"],
    ),
    "an earlier schema that is no table is not compared": (
        lambda: avro(A),
        lambda: avro(A, field("b", ["int", "string"])),
        [],
    ),
    "Protobuf: a field removed": (
        lambda: proto("int32 a = 1;"),
        lambda: proto("int32 a = 1; string b = 2;"),
        ["FIELD_DELETED #/b"],
    ),
    "Protobuf: another kind of integer": (
        lambda: proto("int64 a = 1;"),
        lambda: proto("int32 a = 1;"),
        [],
    ),
    "Protobuf: an enum becomes a number": (
        lambda: proto("int32 a = 1; Color c = 2;", "enum Color { RED = 0; }"),
        lambda: proto("int32 a = 1; int32 c = 2;", "enum Color { RED = 0; }"),
        ["TYPE_MISMATCH #/c"],
    ),
    "Protobuf: the key of a map": (
        lambda: proto("map<int64, string> m = 1;"),
        lambda: proto("map<int32, string> m = 1;"),
        ["MAP_KEY_TYPE_MISMATCH #/m"],
    ),
    "Protobuf: optional becomes implicit": (
        lambda: proto("int32 a = 1;"),
        lambda: proto("optional int32 a = 1;"),
        ["NULLABLE_TO_NON_NULLABLE #/a"],
    ),
    "Protobuf: a message that holds itself": (
        lambda: proto("R next = 1;"),
        lambda: proto("R next = 1;"),
        ["logical-not-a-table #/"],
    ),
    "JSON: a property removed": (
        lambda: json_schema({"a": {"type": "string"}}),
        lambda: json_schema({"a": {"type": "string"}, "b": {"type": "string"}}),
        ["FIELD_DELETED #/b"],
    ),
    "JSON: properties in another order": (
        lambda: json_schema({"b": {"type": "string"}, "a": {"type": "string"}}),
        lambda: json_schema({"a": {"type": "string"}, "b": {"type": "string"}}),
        ["FIELD_REORDERED #/"],
    ),
    "JSON: integer becomes number, which a table does not take": (
        lambda: json_schema({"a": {"type": "number"}}),
        lambda: json_schema({"a": {"type": "integer"}}),
        ["TYPE_MISMATCH #/a"],
    ),
    "JSON: a reference": (
        lambda: json_schema({"a": {"$ref": "#/definitions/A"}}, definitions={"A": {"type": ["null", "string"]}}),
        lambda: json_schema({"a": {"type": "string"}}),
        [],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_breaks_a_table(case: str):
    reader, writer, expected = CASES[case]
    assert found(reader(), writer()) == expected


def test_under_forward_the_earlier_schema_is_the_reader():
    assert found(avro(A, B), avro(A), CompatibilityLevel.FORWARD) == ["FIELD_DELETED #/b"]


def test_a_finding_says_what_and_where():
    reader, writer = avro(field("a", "double")), avro(A)
    report = check_compatibility(
        reader, [Earlier(writer, 1)], CompatibilityLevel.BACKWARD, policy=CompatibilityPolicy.LOGICAL
    )
    (difference,) = report.failures[0].differences
    assert difference.text == "The reader's column #/a is of type double, the writer's of type int"
    assert (difference.reader_pointer, difference.writer_pointer) == (("fields", 0, "type"), ("fields", 0, "type"))


@pytest.mark.parametrize("rule", [rule.id for rule in rules.RULES])
@pytest.mark.parametrize("policy", [CompatibilityPolicy.STRICT, CompatibilityPolicy.LOGICAL])
def test_each_rule_has_an_example(rule: str, policy: CompatibilityPolicy):
    writer, reader = (
        parse_schema(path.read_text(), TYPE_BY_SUFFIX[path.suffix])
        for path in (next((RULES / rule).glob(f"{name}.*")) for name in ("previous", "current"))
    )
    report = check_compatibility(reader, [Earlier(writer, 1)], CompatibilityLevel.BACKWARD, policy=policy)
    told = [
        {"rule": each.rule, "error_type": each.error_type, "path": each.path}
        for failure in report.failures
        for each in failure.differences
    ]
    assert told == json.loads((RULES / rule / "expected.json").read_text())[policy.value]
