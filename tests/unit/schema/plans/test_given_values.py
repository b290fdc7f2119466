"""What a rule gives whatever the record is: a plan whose target refuses it is not complete.

The judges are jsonschema, fastavro and google.protobuf, of the values alone.
"""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import fastavro
import pytest
from google.protobuf.json_format import ParseDict, ParseError
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from counterfoil.converter.engines.protocol import Conversion
from counterfoil.converter.engines.reference import RecordConverter, recipe_of
from counterfoil.schema.languages.avro.schema import parse_avro
from counterfoil.schema.model import SchemaType
from counterfoil.schema.parsing import parse_schema
from counterfoil.schema.plans.derive import derive_plan
from counterfoil.schema.plans.rules import parse_rules
from counterfoil.schema.wire import frame
from counterfoil.sdk.serde.avro.coders import compile_encoder
from strategies.protobuf.classes import generated_classes

if TYPE_CHECKING:
    from counterfoil.schema.plans.model import ConversionPlan

NEW = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
SOURCE = parse_avro(
    json.dumps(
        {
            "type": "record",
            "name": "O",
            "fields": [
                {"name": "s", "type": "string"},
                {"name": "n", "type": ["null", "string"]},
                {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
                {"name": "d", "type": "double"},
                {"name": "b", "type": "boolean"},
                {"name": "e", "type": {"type": "enum", "name": "E", "symbols": ["AAAA", "BBBB"]}},
            ],
        }
    )
)
VALUE = {"s": "other", "n": None, "at": 1_700_000_000_000, "d": 2.5, "b": True, "e": "AAAA"}


def json_target(x: Any, **more: Any) -> Any:
    return parse_schema(json.dumps({**NEW, "type": "object", "properties": {"x": x}, **more}), SchemaType.JSON)


def avro_target(x: Any) -> Any:
    return parse_avro(json.dumps({"type": "record", "name": "T", "fields": [{"name": "x", "type": x}]}))


def protobuf_target(field: str) -> Any:
    files = "".join(f'import "google/protobuf/{name}.proto";' for name in ("timestamp", "duration"))
    return parse_schema(
        f'syntax = "proto3"; {files} enum Color {{ RED = 0; BLUE = 1; }} message M {{ {field} }}', SchemaType.PROTOBUF
    )


def plan_of(target: Any, rule: Any) -> ConversionPlan:
    return derive_plan(SOURCE, target, parse_rules({"x": rule} if rule is not None else {}, "rest"))


def written(plan: ConversionPlan) -> Any:
    """Return what a complete plan writes of the one record, with the failure if there is one."""
    data = frame(1, compile_encoder(SOURCE)(VALUE, b""))
    return RecordConverter(recipe_of(Conversion(plan, {1: SOURCE}, 2))).convert_value(data)


TEXT = {"type": "string"}
SHORT = {"type": "string", "maxLength": 3}
REFUSED = [
    (json_target(SHORT), {"const": "abcd"}, "const: 'abcd' is no value here; expected what maxLength 3 permits"),
    (json_target({**TEXT, "pattern": "^a"}), {"from": "s", "lookup": {"q": "b"}, "else": "a"}, "lookup 'q': 'b'"),
    (json_target({**TEXT, "pattern": "^a"}), {"from": "s", "lookup": {"q": "a"}, "else": "b"}, "else: 'b'"),
    (json_target({**TEXT, "pattern": "^a"}), {"from": "n", "null": "b"}, "null: 'b'"),
    (json_target({"type": "integer", "minimum": 5}), {"const": 3}, "minimum 5"),
    (json_target({"type": "integer", "multipleOf": 5}), {"const": 3}, "multipleOf 5"),
    (json_target({"type": "number", "exclusiveMaximum": 2.5}), {"const": 2.5}, "exclusiveMaximum 2.5"),
    (json_target({"type": "integer", "enum": [1, 2]}), {"const": 3}, "enum"),
    (json_target({"type": "integer", "minimum": 5}), {"expr": "1 + 1"}, "expr: 2 is no value here"),
    (json_target({"type": "integer"}), {"expr": "1 / 0", "cast": "long"}, "no record has a value here"),
    (avro_target("double"), {"expr": "2 * (1 / (3 - 3))"}, "no record has a value here"),
    (avro_target("double"), {"expr": "d / 0"}, "1 divided by zero"),
    (avro_target("int"), {"expr": "abs(d / (1 - 1)) + 1", "cast": "int"}, "divided by zero"),
    (protobuf_target("double x = 1;"), {"expr": "d + 9223372036854775807 * 2"}, "overflow"),
    (json_target({"type": "null"}), {"parse": "s", "as": "yyyy-MM-dd"}, "a date cannot become null"),
    (avro_target("int"), {"expr": "3000000000", "cast": "int"}, "3000000000 does not fit int"),
    (json_target({**TEXT, "format": "date-time"}), {"const": "soon"}, "a date and time such as"),
    (json_target({**TEXT, "format": "date"}), {"const": "2026-02-30"}, "a date such as"),
    (json_target({**TEXT, "format": "uuid"}), {"const": "soon"}, "the format uuid"),
    (json_target({**TEXT, "format": "ipv4"}), {"const": "1.2.3.400"}, "the format ipv4"),
    (json_target({**TEXT, "format": "time"}), {"const": "25:00:00Z"}, "the format time"),
    (json_target({**TEXT, "format": "email"}), {"const": "anna"}, "the format email"),
    (json_target({**TEXT, "contentEncoding": "base64"}), {"const": "??"}, "base64 with padding"),
    (json_target({"anyOf": [SHORT, {"type": "null"}]}), {"const": "abcd"}, "anyOf"),
    (json_target({"type": ["string", "null"], "maxLength": 3}), {"const": "abcd"}, "maxLength 3"),
    (json_target({"type": "array", "items": SHORT}), {"const": ["abcd"]}, "const: ['abcd']"),
    (json_target({"type": "array", "items": TEXT, "maxItems": 1}), {"const": ["a", "b"]}, "maxItems 1"),
    (json_target({"type": "object", "additionalProperties": SHORT}), {"const": {"k": "abcd"}}, "const: {k: 'abcd'}"),
    (json_target({**TEXT, "not": {"const": "x"}}), {"const": "x"}, "not"),
    (json_target({"$ref": "#/$defs/d"}, **{"$defs": {"d": SHORT}}), {"const": "abcd"}, "maxLength 3"),
    (json_target(TEXT, allOf=[{"properties": {"x": {"maxLength": 3}}}]), {"const": "abcd"}, "maxLength 3"),
    (json_target({**SHORT, "default": "abcd"}), None, "default: 'abcd'"),
    (json_target({**TEXT, "maxLength": 9}), {"format": "at", "as": "yyyy-MM-dd"}, "format: no result"),
    (json_target(SHORT), {"join": ["s", "s"], "with": "----"}, "join: no result"),
    (json_target(SHORT), {"from": "b", "cast": "string"}, "from: no result"),
    (json_target(SHORT), {"from": "e"}, "from: no result"),
    (avro_target({"type": "bytes", "logicalType": "decimal", "precision": 2}), {"const": "\u007f\u00ff"}, "2 digits"),
    (avro_target({"type": "fixed", "name": "F", "size": 2}), {"const": "abc"}, "2 bytes"),
    (avro_target({"type": "enum", "name": "E", "symbols": ["A"]}), {"const": "B"}, "one of A"),
    (avro_target({"type": "string", "logicalType": "uuid"}), {"const": "no"}, "a UUID"),
    (avro_target({"type": "int", "logicalType": "time-millis"}), {"const": 86_400_000}, "a time of day"),
    (avro_target({"type": "int", "logicalType": "date"}), {"const": 2_932_897}, "the years 1 to 9999"),
    (avro_target({"type": "long", "logicalType": "timestamp-millis"}), {"const": 10**15}, "the years 1 to 9999"),
    (protobuf_target("map<int32, string> x = 1;"), {"const": {"a": "b"}}, "keys are int"),
    (protobuf_target("map<bool, string> x = 1;"), {"const": {"1": "b"}}, "keys are boolean"),
    (protobuf_target("map<uint64, string> x = 1;"), {"const": {"-1": "b"}}, "keys are uint64"),
    (protobuf_target("uint32 x = 1;"), {"const": -1}, "uint32"),
    (protobuf_target("Color x = 1;"), {"const": "GREEN"}, "one of RED, BLUE"),
]


@pytest.mark.parametrize(("target", "rule", "text"), REFUSED, ids=[str(index) for index in range(len(REFUSED))])
def test_a_value_that_the_target_refuses_is_a_problem(target: Any, rule: Any, text: str) -> None:
    plan = plan_of(target, rule)
    assert [(each.field, text in each.text) for each in plan.problems] == [("x", True)], plan.problems


FITTING = [
    (json_target(SHORT), {"const": "abc"}),
    (json_target({"type": "integer", "minimum": 5}), {"expr": "2 + 3"}),
    (json_target({"type": "number", "exclusiveMaximum": 2.5}), {"const": 2.4}),
    (json_target({**TEXT, "maxLength": 10}), {"format": "at", "as": "yyyy-MM-dd"}),
    (json_target({**TEXT, "pattern": r"^\d{4}-\d\d$"}), {"format": "at", "as": "yyyy-MM"}),
    (json_target({**TEXT, "maxLength": 4}), {"from": "b", "cast": "string"}),
    (json_target({**TEXT, "pattern": "^A"}), {"from": "e"}),
    (json_target(SHORT), {"join": ["s", "s"], "with": "---"}),
    (json_target({**TEXT, "format": "date-time"}), {"const": "2026-01-31T12:00:00Z"}),
    (json_target({**TEXT, "format": "date-time", "default": ""}), None),
    (json_target({**TEXT, "format": "unknown"}), {"const": "any"}),
    (json_target({"anyOf": [SHORT, {"type": "null"}]}), {"const": None}),
    (avro_target({"type": "bytes", "logicalType": "decimal", "precision": 2}), {"const": 99}),
    (avro_target("double"), {"expr": "0 / d"}),
    (avro_target("double"), {"expr": "d / (d - d)"}),
    (avro_target({"type": "string", "logicalType": "uuid"}), {"const": "6ba7b810-9dad-11d1-80b4-00c04fd430c8"}),
    (protobuf_target("map<int32, string> x = 1;"), {"const": {"-1": "b"}}),
    (protobuf_target("map<bool, string> x = 1;"), {"const": {"true": "b"}}),
    (protobuf_target("google.protobuf.Duration x = 1;"), {"const": 10**18}),
]


@pytest.mark.parametrize(("target", "rule"), FITTING, ids=[str(index) for index in range(len(FITTING))])
def test_a_value_that_fits_is_none(target: Any, rule: Any) -> None:
    assert plan_of(target, rule).problems == ()


# --- the judges

LIMITS = st.fixed_dictionaries(
    {},
    optional={
        "maxLength": st.integers(0, 3),
        "minLength": st.integers(0, 3),
        "pattern": st.sampled_from(["^a", "b$", "^[ab]*$", "."]),
        "enum": st.lists(st.text("ab", max_size=3), min_size=1, max_size=3, unique=True),
        "not": st.sampled_from([{"const": "a"}, {"maxLength": 1}, {"pattern": "b"}]),
    },
)
NUMBERS = st.fixed_dictionaries(
    {},
    optional={
        "minimum": st.integers(-3, 3),
        "exclusiveMaximum": st.integers(-3, 3),
        "multipleOf": st.integers(1, 3),
        "enum": st.lists(st.integers(-4, 4), min_size=1, max_size=4, unique=True),
    },
)


@st.composite
def given_values(draw: st.DrawFn) -> tuple[dict[str, Any], Any]:
    """Draw the schema of a field, and a value of its type."""
    kind = draw(st.sampled_from(["string", "integer", "array", "object", "nullable"]))
    text: dict[str, Any] = {"type": "string", **draw(LIMITS)}
    if kind == "integer":
        return {"type": "integer", **draw(NUMBERS)}, draw(st.integers(-5, 5))
    value = draw(st.sampled_from(text["enum"]) if "enum" in text else st.text("abc", max_size=4))
    if kind == "array":
        return {"type": "array", "items": text, "maxItems": draw(st.integers(0, 2))}, [value]
    if kind == "object":
        return {"type": "object", "properties": {"k": text}, "maxProperties": draw(st.integers(0, 2))}, {"k": value}
    return (text if kind == "string" else {"anyOf": [{"type": "null"}, text]}), value


@given(given_values(), st.sampled_from(["const", "null", "lookup", "else"]))
def test_a_plan_is_complete_exactly_if_jsonschema_accepts_the_value(
    drawn: tuple[dict[str, Any], Any], word: str
) -> None:
    schema, value = drawn
    rule = {
        "const": {"const": value},
        "null": {"from": "n", "null": {"const": value}},
        "lookup": {"from": "s", "lookup": {"other": value}, "else": "error"},
        "else": {"from": "s", "lookup": {"another": value}, "else": {"const": value}},
    }[word]
    if word == "null" and (schema.get("type") != "string" or "enum" in schema):  # which needs a cast, or parts
        rule = {"const": value}
    plan = plan_of(json_target(schema), rule)
    assert plan.is_complete is Draft202012Validator({**NEW, **schema}).is_valid(value), plan.problems
    if plan.is_complete:
        answer = written(plan)
        assert answer.failure is None, answer
        assert json.loads(answer.value[5:])["x"] == value


@given(st.binary(min_size=1, max_size=4), st.integers(1, 6))
def test_decimals_of_avro(data: bytes, precision: int) -> None:
    kind = {"type": "bytes", "logicalType": "decimal", "precision": precision}
    number = int.from_bytes(data, "big", signed=True)
    plan = plan_of(avro_target(kind), {"const": data.decode("latin-1")})
    assert plan.is_complete is (len(str(abs(number))) <= precision)


@given(st.one_of(st.integers(-(2**31), 2**31 - 1), st.sampled_from([-719_162, -719_163, 2_932_896, 2_932_897])))
def test_dates_of_avro_are_read_by_fastavro(number: int) -> None:
    kind = {"type": "int", "logicalType": "date"}
    schema = {"type": "record", "name": "T", "fields": [{"name": "x", "type": kind}]}
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(schema), {"x": number})
    try:
        fastavro.schemaless_reader(io.BytesIO(stream.getvalue()), fastavro.parse_schema(schema), None)
        is_read = True
    except (ValueError, OverflowError):
        is_read = False
    assert plan_of(avro_target(kind), {"const": number}).is_complete is is_read


@given(
    st.sampled_from(["int32", "uint32", "bool", "sint64", "fixed64", "string"]),
    st.one_of(st.integers(-(2**64), 2**64).map(str), st.sampled_from(["a", "", "true", "false", "1"])),
)
def test_keys_of_maps_of_protobuf(word: str, key: str) -> None:
    target = protobuf_target(f"map<{word}, string> x = 1;")
    try:
        ParseDict({"x": {key: "v"}}, generated_classes({"m.proto": target.text})["M"]())
        is_key = True
    except (ParseError, ValueError):
        is_key = False
    assert plan_of(target, {"const": {key: "v"}}).is_complete is is_key


# --- several fields


def whole_target(**more: Any) -> Any:
    texts = dict.fromkeys(("x", "y", "s"), TEXT)
    return parse_schema(json.dumps({**NEW, "type": "object", "properties": texts, **more}), SchemaType.JSON)


IS_A = {"properties": {"x": {"const": "A"}}}
TOGETHER = [
    ({"if": IS_A, "then": {"required": ["y"]}}, "A", False),
    ({"if": IS_A, "then": {"required": ["y"]}}, "B", True),
    ({"if": IS_A, "then": {"required": ["s"]}}, "A", True),
    ({"if": IS_A, "else": {"required": ["y"]}}, "B", False),
    ({"anyOf": [{"required": ["y"]}, {"required": ["s"]}]}, "A", True),
    ({"not": {"required": ["x", "s"]}}, "A", False),
    ({"dependentSchemas": {"x": {"required": ["y"]}}}, "A", False),
    ({"dependentSchemas": {"y": {"required": ["s"]}}}, "A", True),
    ({"dependentSchemas": {"x": {"properties": {"s": {"type": "integer"}}}}}, "A", False),
]


@pytest.mark.parametrize(
    ("rule", "is_certain"),
    [
        ({"expr": "d * 2"}, True),
        ({"from": "e", "lookup": {"AAAA": 1, "BBBB": 2}}, True),
        ({"from": "n", "null": {"const": "x"}}, True),
        ({"from": "n"}, False),
        ({"from": "n", "lookup": {"a": "b"}, "else": "keep"}, False),
    ],
)
def test_what_a_field_needs_is_asked_of_fields_that_are_always_there(rule: Any, *, is_certain: bool) -> None:
    kind = {"type": "number"} if "expr" in rule else {"type": "integer"} if "e" in rule.values() else TEXT
    needs = {"if": {"required": ["x"]}, "then": {"required": ["y"]}}
    assert plan_of(json_target(kind, **needs), rule).is_complete is not is_certain


@pytest.mark.parametrize(("more", "value", "is_fine"), TOGETHER)
def test_fields_that_do_not_go_together(more: dict[str, Any], value: str, *, is_fine: bool) -> None:
    plan = plan_of(whole_target(**more), {"const": value})
    assert plan.is_complete is is_fine, plan.problems
    record = {"x": value, "s": "other"}
    assert Draft202012Validator({**NEW, **more}).is_valid(record) is is_fine
    if not is_fine:
        assert "accepts none of the records" in str(plan.problems[0])
