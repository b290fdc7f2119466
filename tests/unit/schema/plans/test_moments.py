"""Times in rules: what a plan asks for, refuses and notes; texts of JSON Schema; numbers of enums; failures."""

from __future__ import annotations

import json
from typing import Any

import pytest

from counterfoil.schema.languages.table import parse_schema
from counterfoil.schema.model import SchemaType
from counterfoil.schema.plans import ConversionError
from counterfoil.schema.plans.derive import derive_plan
from counterfoil.schema.plans.evaluate import evaluator
from counterfoil.schema.plans.rules import parse_rules

MILLIS = {"type": "long", "logicalType": "timestamp-millis"}
MICROS = {"type": "long", "logicalType": "timestamp-micros"}
LOCAL = {"type": "long", "logicalType": "local-timestamp-millis"}
DATE = {"type": "int", "logicalType": "date"}
TIME = {"type": "int", "logicalType": "time-millis"}
PRICE = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}
KIND = {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}
DATE_TIME = {"type": "string", "format": "date-time"}
FULL_DATE = {"type": "string", "format": "date"}


def avro(kind: Any) -> Any:
    return parse_schema(json.dumps({"type": "record", "name": "R", "fields": [{"name": "a", "type": kind}]}))


def js(kind: Any) -> Any:
    document = {"type": "object", "properties": {"a": kind}, "required": ["a"], "additionalProperties": False}
    return parse_schema(json.dumps(document), SchemaType.JSON)


def proto(kind: str) -> Any:
    imports = "".join(f'import "google/protobuf/{name}.proto"; ' for name in ("timestamp", "duration"))
    enum = "enum Kind { UNKNOWN = 0; CARD = 5; IBAN = 7; ALSO = 7; option allow_alias = true; }"
    return parse_schema(f'syntax = "proto3"; {imports} message R {{ {enum} {kind} a = 1; }}', SchemaType.PROTOBUF)


def plan_of(source: Any, target: Any, **rule: Any) -> Any:
    rules = {"a": rule if {"format", "parse", "expr"} & rule.keys() else {"from": "a", **rule}}
    return derive_plan(source, target, parse_rules(rules))


def converted(source: Any, target: Any, value: Any, **rule: Any) -> Any:
    """Return the converted base value, or the code of the failure."""
    plan = plan_of(source, target, **rule)
    assert plan.is_complete, plan.problems
    try:
        return evaluator(plan)({"a": value})["a"]
    except ConversionError as failure:
        return str(failure.code)


def problem(source: Any, target: Any, **rule: Any) -> str:
    (found,) = plan_of(source, target, **rule).problems
    return str(found).removeprefix("a: ")


@pytest.mark.parametrize(
    ("source", "target", "rule", "words"),
    [
        ("double", MILLIS, {"cast": "timestamp-millis"}, "needs the unit of the number"),
        ("double", MILLIS, {"cast": "timestamp-millis", "unit": "seconds"}, "what is smaller than a millisecond"),
        (MILLIS, "long", {"cast": "long", "unit": "seconds"}, "say how it is rounded, such as rounding: floor"),
        (MILLIS, LOCAL, {"cast": "local-timestamp-millis"}, "needs a zone, such as zone: Europe/Paris"),
        (MILLIS, DATE, {"cast": "date"}, "timestamp-millis as date needs a zone"),
        (LOCAL, DATE, {"cast": "date", "zone": "UTC"}, "zone has no effect on local-timestamp-millis as date"),
        (MILLIS, MICROS, {"cast": "timestamp-micros", "unit": "seconds"}, "unit has no effect"),
        (MILLIS, MICROS, {"cast": "timestamp-micros", "rounding": "floor"}, "rounding has no effect"),
        (MILLIS, MILLIS, {"cast": "timestamp-millis", "zone": "UTC"}, "zone has no effect"),
        ("long", "int", {"cast": "int", "unit": "seconds"}, "unit has no effect on long as int"),
        ("long", "int", {"cast": "int", "rounding": "floor"}, "rounding has no effect on long as int"),
        ("string", "boolean", {"cast": "boolean", "rounding": "floor"}, "rounding has no effect on string as boolean"),
        ("string", MILLIS, {"cast": "timestamp-millis", "times": 2}, "times has no effect"),
        (PRICE, "int", {"cast": "int", "times": 10}, "may lose digits; say how it is rounded"),
        (PRICE, "int", {"cast": "int", "times": 100, "rounding": "floor"}, "rounding has no effect"),
        (TIME, MILLIS, {"cast": "timestamp-millis", "zone": "UTC"}, "time-millis cannot become timestamp-millis"),
        ("boolean", MILLIS, {"cast": "timestamp-millis", "unit": "seconds"}, "boolean cannot become timestamp-millis"),
        (KIND, "int", {}, "enum Kind as int needs a rule such as {from: a, cast: int}"),
        ("long", "long", {"else": 0}, "nothing of this rule fails, so that else has no effect"),
        ("string", "int", {"cast": "int", "else": "x"}, "else: 'x' is no value here; expected int"),
        ("string", "int", {"cast": "int", "else": None}, "else: null is no value here; expected int"),
        ("long", "int", {"lookup": {"1": 1}, "ignore_case": True, "else": 0}, "ignore_case has no effect on long"),
        ("string", "int", {"lookup": {"a": 1, "A": 2}, "ignore_case": True, "else": 0}, "'a' is in the table twice"),
        ("boolean", "string", {"format": "a", "as": "rfc3339"}, "boolean has no date"),
        (LOCAL, "string", {"format": "a", "as": "rfc3339"}, "needs a zone"),
        ("string", "boolean", {"parse": "a", "as": "rfc3339"}, "boolean has no date"),
        ("string", MILLIS, {"parse": "a", "as": "yyyy-MM-dd", "rounding": "floor"}, "rounding has no effect on a text"),
        ("string", LOCAL, {"parse": "a", "as": "rfc3339"}, "needs a zone"),
    ],
)  # fmt: skip
def test_what_a_rule_must_say_or_says_in_vain_is_a_problem(source: Any, target: Any, rule: dict[str, Any], words: str):
    assert words in problem(avro(source), avro(target), **rule)


@pytest.mark.parametrize(
    ("source", "target", "rule", "note"),
    [
        (MILLIS, "long", {"cast": "long", "unit": "seconds", "rounding": "floor"}, "than a second is not kept (floor)"),
        (MILLIS, "long", {"cast": "long", "unit": "seconds", "rounding": "exact"}, "of a second is cast-failed"),
        (MILLIS, DATE, {"cast": "date", "zone": "UTC"}, "the time of day is not kept"),
        (MILLIS, LOCAL, {"cast": "local-timestamp-millis", "zone": "Europe/Paris"}, "it is not kept which one it was"),
        ("string", MILLIS, {"parse": "a", "as": "rfc3339"}, "the offset is not kept"),
        (PRICE, "long", {"cast": "long", "times": 10, "rounding": "floor"}, "digits that long has not are not kept"),
    ],
)  # fmt: skip
def test_what_is_lost_is_a_note_of_the_plan(source: Any, target: Any, rule: dict[str, Any], note: str):
    plan = plan_of(avro(source), avro(target), **rule)
    assert plan.is_complete, plan.problems
    assert plan.lossy == ("a",)
    assert any(each.startswith("a: ") and note in each for each in plan.notes), plan.notes


def test_what_is_not_lost_is_no_note():
    assert plan_of(avro("long"), avro(MILLIS), cast="timestamp-millis", unit="seconds").notes == ()
    assert plan_of(avro(MILLIS), avro(LOCAL), cast="local-timestamp-millis", zone="+05:30").lossy == ()


@pytest.mark.parametrize(
    ("source", "value", "rule", "result"),
    [
        (
            DATE_TIME,
            "2026-01-31T12:00:00.123456789+01:00",
            {"as": "yyyy-MM-dd HH:mm:ss.SSS"},
            "2026-01-31 11:00:00.123",
        ),
        (DATE_TIME, "2026-01-31T12:00:00Z", {"as": "HH:mm", "zone": "Asia/Kolkata"}, "17:30"),
        (DATE_TIME, "0001-01-01T00:00:00Z", {"as": "yyyy", "zone": "America/New_York"}, "format-failed"),
        (DATE_TIME, "2026-02-30T00:00:00Z", {"as": "yyyy"}, "parse-failed"),
        (FULL_DATE, "2024-02-29", {"as": "dd.MM.yyyy"}, "29.02.2024"),
        (FULL_DATE, "2026-02-29", {"as": "dd.MM.yyyy"}, "parse-failed"),
    ],
)
def test_texts_of_json_schema_are_formatted(source: Any, value: Any, rule: dict[str, Any], result: str):
    assert converted(js(source), js({"type": "string"}), value, format="a", **rule) == result


@pytest.mark.parametrize(
    ("target", "value", "rule", "result"),
    [
        (DATE_TIME, "31.01.2026 12:00", {"as": "dd.MM.yyyy HH:mm", "zone": "Europe/Paris"}, "2026-01-31T11:00:00Z"),
        (FULL_DATE, "29.02.2024", {"as": "dd.MM.yyyy"}, "2024-02-29"),
        (FULL_DATE, "29.02.2026", {"as": "dd.MM.yyyy"}, "parse-failed"),
        (DATE_TIME, "2026-01-31T12:00:00.5+01:00", {"as": "rfc3339"}, "2026-01-31T12:00:00.5+01:00"),
        (DATE_TIME, "2026-01-31", {"as": "rfc3339"}, "parse-failed"),
        (FULL_DATE, "2026-01-31T23:30:00Z", {"as": "rfc3339", "zone": "Europe/Paris"}, "2026-02-01"),
    ],
)
def test_texts_become_texts_of_json_schema(target: Any, value: Any, rule: dict[str, Any], result: str):
    assert converted(js({"type": "string"}), js(target), value, parse="a", **rule) == result


def test_numbers_of_enums_are_those_of_the_declaration():
    source = proto("Kind")
    assert converted(source, avro("int"), "IBAN", cast="int") == 7
    assert converted(avro("long"), source, 5, cast="enum") == "CARD"
    assert converted(avro("long"), source, 7, cast="enum") == "IBAN"
    assert converted(avro("long"), source, 6, cast="enum") == "lookup-missing"
    assert converted(avro("long"), source, 6, cast="enum", **{"else": "UNKNOWN"}) == "UNKNOWN"
    assert converted(avro(KIND), avro("long"), "B", cast="long") == 1
    assert "cannot become" in problem(js({"enum": ["A", "B"]}), avro("int"), cast="int")


def test_else_is_about_failures_and_null_is_about_null():
    target = avro(["null", "int"])
    rule = {"cast": "int", "else": -1, "null": 0}
    assert [converted(avro(["null", "string"]), avro("int"), value, **rule) for value in ("7", "x", None)] == [7, -1, 0]
    assert converted(avro("string"), target, "x", cast="int", **{"else": None}) is None
    assert converted(avro("string"), target, "x", cast="int", **{"else": "error"}) == "cast-failed"
    assert (
        converted(avro(["null", "string"]), avro("int"), None, cast="int", null="error", **{"else": 1})
        == "null-not-allowed"
    )
    assert converted(avro("string"), avro("string"), "x", expr="split(a, ',', 1)", **{"else": ""}) == ""


def test_a_table_in_any_case():
    rule = {"lookup": {"straße": 1, "CMT": 2}, "ignore_case": True, "else": "error"}
    found = [converted(avro("string"), avro("int"), text, **rule) for text in ("STRAßE", "cmt", "STRASSE")]
    assert found == [1, 2, "lookup-missing"]
    kept = converted(avro(KIND), avro("string"), "B", lookup={"a": "x"}, ignore_case=True, **{"else": "keep"})
    assert kept == "B"


def test_the_way_back_does_not_survive_what_is_cut():
    plan = plan_of(avro(MILLIS), avro("long"), cast="long", unit="seconds", rounding="floor")
    assert [(row.how, row.note) for row in plan.rows()] == [("from", "cast to long, in seconds, rounding floor")]


def test_fields_without_a_rule_are_told_the_rule():
    assert problem(avro("double"), avro(MILLIS)) == (
        "double as timestamp-millis needs the unit of the number, such as unit: millis"
    )
