"""What a problem of a plan advises is taken literally, and the next check accepts it."""

from __future__ import annotations

import json
import re
from itertools import product
from typing import Any

import pytest
import yaml

from counterfoil.schema.languages.table import parse_schema
from counterfoil.schema.model import SchemaType
from counterfoil.schema.plans.derive import derive_plan
from counterfoil.schema.plans.rules import parse_rules, rule_text

ADVICE = re.compile(r"such as (\{.*\})$")
AVRO: dict[str, Any] = {
    **{name: name for name in ("boolean", "int", "long", "float", "double", "string", "bytes")},
    "fixed": {"type": "fixed", "name": "F", "size": 2},
    "enum": {"type": "enum", "name": "E", "symbols": ["A", "B"]},
    "fewer": {"type": "enum", "name": "E", "symbols": ["A"]},
    "decimal": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 4},
    "small": {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 1},
    "millis": {"type": "long", "logicalType": "timestamp-millis"},
    "micros": {"type": "long", "logicalType": "timestamp-micros"},
    "date": {"type": "int", "logicalType": "date"},
    "uuid": {"type": "string", "logicalType": "uuid"},
}
PROTOBUF = ("bool", "int32", "sint64", "uint32", "fixed64", "float", "double", "string", "bytes")
JSON: tuple[dict[str, Any], ...] = (
    {"type": "boolean"},
    {"type": "integer"},
    {"type": "integer", "minimum": 0, "maximum": 9},
    {"type": "number"},
    {"type": "string"},
    {"type": "string", "format": "date-time"},
    {"type": "string", "contentEncoding": "base64"},
)


def avro(kind: Any, name: str = "a") -> Any:
    return parse_schema(json.dumps({"type": "record", "name": "R", "fields": [{"name": name, "type": kind}]}))


def schemas(name: str = "a") -> list[Any]:
    """Return schemas of all languages with one field of each type, required and nullable."""
    made = [avro(each, name) for kind in AVRO.values() for each in (kind, ["null", kind])]
    for label, kind in product(("", "optional "), PROTOBUF):
        text = f'syntax = "proto3"; message R {{ {label}{kind} {name} = 1; }}'
        made.append(parse_schema(text, SchemaType.PROTOBUF))
    for kind, required in product(JSON, ([], [name])):
        document = {"type": "object", "properties": {name: kind}, "required": required}
        made.append(parse_schema(json.dumps(document), SchemaType.JSON))
    return made


def taken(source: Any, target: Any, field: str) -> tuple[str, list[str]] | None:
    """Return the rule that the problem at a field advises, and the problems that are left with it."""
    for problem in derive_plan(source, target).problems:
        found = ADVICE.search(problem.text) if problem.field == field else None
        if found is not None:
            rule = {"null" if key is None else key: value for key, value in yaml.safe_load(found[1]).items()}
            left = derive_plan(source, target, parse_rules({field: rule}, "rest")).problems
            return found[1], [str(each) for each in left if each.field == field]
    return None


@pytest.mark.slow
@pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.long)])
def test_every_advised_rule_is_accepted_as_it_is_written(step: int):
    """Between pairs of all types, of fields with one name and of fields with similar names."""
    count = 0
    for named in ("a", "a_1"):
        for source, target in list(product(schemas(), schemas(named)))[::step]:
            found = taken(source, target, named)
            if found is not None:
                count += 1
                assert found[1] == [], (source.text, target.text, found)
    assert count > 1000 / step


def test_a_cast_to_text_is_advised_with_its_decimals_and_what_becomes_of_null():
    found = taken(avro(["null", "double"]), avro("string"), "a")
    assert found == ("{from: a, cast: string, decimals: 2, null: error}", [])
    assert taken(avro("double"), avro(AVRO["decimal"]), "a") == ("{from: a, cast: decimal, decimals: 4}", [])


@pytest.mark.parametrize(
    ("source", "target", "text"),
    [
        (["null", "int"], "int", "the field may not; give it a rule with null: error, or null: and a value"),
        ({"type": "array", "items": "long"}, {"type": "array", "items": "int"}, "such as {from: value, cast: int}"),
        ({"type": "map", "values": ["null", "int"]}, {"type": "map", "values": "int"}, "a rule with null: error"),
    ],
)
def test_items_and_values_of_maps_are_advised_as_fields_are(source: Any, target: Any, text: str):
    (problem,) = derive_plan(avro(source), avro(target)).problems
    assert text in problem.text


@pytest.mark.parametrize(("kind", "path"), [("array", "a[]"), ("map", "a{}")])
def test_the_rule_that_is_advised_for_an_item_completes_the_plan(kind: str, path: str):
    key = {"array": "items", "map": "values"}[kind]
    source, target = (avro({"type": kind, key: each}) for each in ("long", "int"))
    (problem,) = derive_plan(source, target).problems
    rule = yaml.safe_load(problem.text.partition("such as ")[2])
    assert problem.field == path
    assert derive_plan(source, target, parse_rules({path: rule})).is_complete


def test_parts_of_branches_are_advised_with_the_name_of_the_branch():
    def record(kind: Any) -> dict[str, Any]:
        return {"type": "record", "name": "P", "fields": [{"name": "x", "type": kind}, {"name": "y", "type": kind}]}

    other = {"type": "record", "name": "Q", "fields": [{"name": "z", "type": "string"}]}
    source, target = (avro([record(kind), other], "u") for kind in ("long", "int"))
    problems = derive_plan(source, target).problems
    assert [each.field for each in problems] == ["u<P>.x", "u<P>.y"]
    rules = {each.field: yaml.safe_load(each.text.partition("such as ")[2]) for each in problems}
    assert derive_plan(source, target, parse_rules(rules)).is_complete


def test_the_part_of_an_array_is_advised_as_it_is_written():
    stop = {"type": "record", "name": "S", "fields": [{"name": "lat", "type": "long"}]}
    less = {"type": "record", "name": "S", "fields": [{"name": "lat", "type": "int"}]}
    source, target = (avro({"type": "array", "items": each}) for each in (stop, less))
    wrong = derive_plan(source, target, parse_rules({"a.lat": {"from": "lat", "cast": "int"}})).problems
    assert any("write a[].lat for what is inside" in str(each) for each in wrong)
    assert derive_plan(source, target, parse_rules({"a[].lat": {"from": "lat", "cast": "int"}})).is_complete


def test_a_rule_is_written_as_yaml_reads_it():
    rule = {"from": "on", "cast": "string", "null": None}
    assert yaml.safe_load(rule_text(rule))["from"] == "on"
    assert rule_text({"from": "a b", "null": 0}) == '{from: "a b", null: 0}'
