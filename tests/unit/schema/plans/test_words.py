"""The sentences of plans and of failures: decimals as numbers, null as YAML writes it, types by any of their names."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from counterfoil.schema.model import SchemaType
from counterfoil.schema.parsing import parse_schema
from counterfoil.schema.plans import ConversionError, shown, spelt_as_yaml
from counterfoil.schema.plans.casts import readable
from counterfoil.schema.plans.derive import derive_plan
from counterfoil.schema.plans.evaluate import evaluate
from counterfoil.schema.plans.languages import tree_of
from counterfoil.schema.plans.rules import parse_rules

DECIMAL = {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2}
WIDE = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 4}
FIXED = {"type": "fixed", "name": "F", "size": 2, "logicalType": "decimal", "precision": 4, "scale": 2}


def avro(kind: Any, **more: Any) -> Any:
    fields = [{"name": "a", "type": kind, **more}]
    return parse_schema(json.dumps({"type": "record", "name": "R", "fields": fields}))


def converted(source: Any, target: Any, value: Any, **rule: Any) -> Any:
    """Return the converted value, or the sentence of the failure."""
    plan = derive_plan(avro(source), avro(target), parse_rules({"a": {"from": "a", **rule}}))
    assert plan.is_complete, plan.problems
    try:
        return evaluate(plan, {"a": value})["a"]
    except ConversionError as failure:
        return f"{failure.code}: {failure.text}"


def number(made: bytes, scale: int) -> Decimal:
    return Decimal(int.from_bytes(made, "big", signed=True)).scaleb(-scale)


def problem(source: Any, target: Any, rule: dict[str, Any]) -> str:
    (found,) = derive_plan(source, target, parse_rules({"a": rule})).problems
    return str(found)


@pytest.mark.parametrize(
    ("source", "value", "decimals", "result"),
    [
        ("string", "1.005", 2, "1.01"),
        ("string", "-1.005", 2, "-1.01"),
        ("string", "1.15", 1, "1.20"),
        ("double", 2.675, 2, "2.68"),
        ("float", 0.1, 2, "0.10"),
        (WIDE, Decimal("1.2351"), 2, "1.24"),
        ("long", 7, 0, "7.00"),
        ("double", -0.001, 2, "0.00"),
    ],
)
def test_decimals_beside_a_cast_to_decimal_round_half_up(source: Any, value: Any, decimals: int, result: str):
    for target in (DECIMAL, FIXED):
        made = converted(source, target, value, cast="decimal", decimals=decimals)
        assert number(made, 2) == Decimal(result)


def test_a_decimal_becomes_a_text_with_the_decimals_of_its_rule():
    assert converted(DECIMAL, "string", Decimal("1.25"), cast="string", decimals=1) == "1.3"
    assert converted(DECIMAL, "string", Decimal("1.25"), cast="string", decimals=4) == "1.2500"
    assert converted(DECIMAL, "string", Decimal("1.25"), cast="string") == "1.25"
    assert converted(WIDE, DECIMAL, Decimal("1.2351"), cast="decimal", decimals=1) == b"\x78"


def test_the_hash_of_a_plan_without_rounding_is_what_it_was_and_rounding_changes_it():
    plans = [
        derive_plan(avro(WIDE), avro(DECIMAL), parse_rules({"a": {"from": "a", "cast": "decimal", **more}}))
        for more in ({}, {"decimals": 1}, {"decimals": 2})
    ]
    assert len({plan.hash for plan in plans}) == 3
    assert plans[0].hash == "4b2593deabeb89289979cc903065d02c2be6879e698ee1503a5efe8a33acf728"


@pytest.mark.parametrize(
    ("source", "target", "rule", "text"),
    [
        ("int", "string", {"cast": "string"}, "decimals: 2 has no effect on int as string; leave it out"),
        ("string", "double", {"cast": "double"}, "decimals: 2 has no effect on string as double; leave it out"),
        ("string", "string", {"cast": "string"}, "decimals: 2 has no effect on string as string; leave it out"),
        ("int", "double", {"cast": "double"}, "decimals: 2 has no effect on int as double; leave it out"),
        ("boolean", "string", {"cast": "string"}, "decimals: 2 has no effect on boolean as string; leave it out"),
        (DECIMAL, "double", {"cast": "double"}, "decimals: 2 has no effect on decimal(5, 2) as double; leave it out"),
    ],
)
def test_decimals_without_an_effect_are_refused(source: Any, target: Any, rule: dict[str, Any], text: str):
    assert problem(avro(source), avro(target), {"from": "a", **rule, "decimals": 2}) == f"a: {text}"


def test_more_decimals_than_the_field_has_are_refused():
    rule = {"from": "a", "cast": "decimal", "decimals": 3}
    assert problem(avro("string"), avro(DECIMAL), rule) == "a: decimals: 3, but the field is decimal(5, 2), which has 2"
    rule.pop("decimals")
    text = "a: double as decimal(5, 2) needs decimals: such as decimals: 2"
    assert problem(avro("double"), avro(DECIMAL), rule) == text


@pytest.mark.parametrize(
    ("source", "target", "value", "text"),
    [
        (WIDE, DECIMAL, Decimal("12.3456"), "cast-failed: 12.3456 is more exact than 2 decimals"),
        (WIDE, DECIMAL, Decimal("-12345.0000"), "out-of-range: -12345.0000 does not fit decimal(5, 2)"),
        ("string", DECIMAL, "1e9", "out-of-range: '1e9' does not fit decimal(5, 2)"),
    ],
)
def test_decimals_in_messages_are_numbers(source: Any, target: Any, value: Any, text: str):
    assert converted(source, target, value, cast="decimal") == text


def test_constants_and_defaults_of_decimals_are_numbers():
    plan = derive_plan(avro("int"), avro(DECIMAL), parse_rules({"a": {"const": 1.5}}, "rest"))
    assert number(evaluate(plan, {"a": 1})["a"], 2) == Decimal("1.50")
    text = "a: const: 1.505 is no value here; expected a number that is exactly decimal(5, 2)"
    assert (
        str(derive_plan(avro("int"), avro(DECIMAL), parse_rules({"a": {"const": 1.505}}, "rest")).problems[0]) == text
    )
    other = parse_schema(json.dumps({"type": "record", "name": "R", "fields": []}))
    (row,) = derive_plan(other, avro(DECIMAL, default="\x01\x2c")).described
    assert (row.how, row.note) == ("default", "3.00")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        ({"a": None, "b c": [False, "x"]}, "{a: null, 'b c': [false, 'x']}"),
        ([[[[[[[[[[1]]]]]]]]]], "[[[[[[[[…]]]]]]]]"),
        ("it's", '"it\'s"'),
    ],
)
def test_values_are_printed_as_yaml_writes_them(value: Any, text: str):
    assert shown(value) == text


def test_null_is_written_as_yaml_writes_it():
    target = avro(["null", "int"], default=None)
    other = parse_schema(json.dumps({"type": "record", "name": "R", "fields": []}))
    assert [row.note for row in derive_plan(other, target).described] == ["null"]
    assert problem(avro("int"), avro("int"), {"from": "a", "null": None}).startswith("a: null: null is no value here")
    assert problem(avro("string"), avro("int"), {"from": "a", "lookup": {"x": None}, "else": 0}) == (
        "a: lookup 'x': null is no value here; expected int"
    )
    (row,) = derive_plan(avro("int"), avro(["null", "int"]), parse_rules({"a": {"const": None}}, "rest")).described
    assert row.note == "null"


PROTOBUF = {
    "int32": "int32", "sint32": "sint32", "int64": "int64", "sfixed64": "sfixed64", "uint32": "fixed32",
    "uint64": "uint64", "bool": "bool", "float": "float", "double": "double", "string": "string",
}  # fmt: skip


@pytest.mark.parametrize("name", [*PROTOBUF, "long", "int64", "fixed32"])
def test_a_cast_names_a_type_of_protobuf_as_protobuf_does(name: str):
    kind = {"long": "int64", "fixed32": "fixed32"}.get(name) or PROTOBUF[name]
    target = parse_schema(f'syntax = "proto3"; message R {{ {kind} a = 1; }}', SchemaType.PROTOBUF)
    source = avro("int" if name in {"bool", "string"} else "string")
    assert derive_plan(source, target, parse_rules({"a": {"from": "a", "cast": name}})).is_complete


@pytest.mark.parametrize(
    ("kind", "name"), [("integer", "integer"), ("integer", "long"), ("number", "number"), ("boolean", "boolean")]
)
def test_a_cast_names_a_type_of_json_schema_as_json_schema_does(kind: str, name: str):
    document = {"type": "object", "properties": {"a": {"type": kind}}}
    target = parse_schema(json.dumps(document), SchemaType.JSON)
    assert derive_plan(avro("string"), target, parse_rules({"a": {"from": "a", "cast": name}})).is_complete


@pytest.mark.parametrize(("kind", "name", "own"), [("int32", "int64", "int"), ("int64", "int32", "long")])
def test_a_cast_to_another_type_than_the_field_has_is_refused_with_the_right_one(kind: str, name: str, own: str):
    target = parse_schema(f'syntax = "proto3"; message R {{ {kind} a = 1; }}', SchemaType.PROTOBUF)
    text = problem(avro("string"), target, {"from": "a", "cast": name})
    assert text == f"a: cast: {name}, but the field is {own}; write cast: {own}"


def test_decimals_of_a_value_are_numbers_wherever_they_stand():
    inner = {"type": "record", "name": "P", "fields": [{"name": "d", "type": ["null", DECIMAL]}]}
    tree = tree_of(
        parse_schema(
            json.dumps(
                {
                    "type": "record",
                    "name": "R",
                    "fields": [
                        {"name": "a", "type": DECIMAL},
                        {"name": "b", "type": {"type": "array", "items": FIXED}},
                        {"name": "c", "type": {"type": "map", "values": inner}},
                        {"name": "e", "type": "bytes"},
                    ],
                }
            )
        )
    )
    value = {"a": b"\x7d", "b": [b"\x00\x7d"], "c": {"x": {"d": b"\x83"}, "y": {"d": None}}, "e": b"\x7d"}
    text = "{a: 1.25, b: [1.25], c: {x: {d: -1.25}, y: {d: null}}, e: b'}'}"
    assert spelt_as_yaml(readable(tree, value)) == text
