"""What plans make of values: each operation, each reason for failing."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from counterfoil.schema.languages.avro.schema import parse_avro
from counterfoil.schema.plans import ConversionError, PlanUnfinished
from counterfoil.schema.plans.derive import derive_plan
from counterfoil.schema.plans.evaluate import evaluate
from counterfoil.schema.plans.rules import parse_rules

MILLIS = {"type": "long", "logicalType": "timestamp-millis"}
MICROS = {"type": "long", "logicalType": "timestamp-micros"}
LOCAL = {"type": "long", "logicalType": "local-timestamp-micros"}
NANOS = {"type": "long", "logicalType": "timestamp-nanos"}
DATE = {"type": "int", "logicalType": "date"}
COLOUR = {"type": "enum", "name": "Colour", "symbols": ["RED", "GREEN", "BLUE"]}
PRICE = {"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2}
FULL = "yyyy-MM-dd HH:mm:ss.SSS"


def record(*fields: tuple[str, Any], name: str = "R") -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": field, "type": node} for field, node in fields]}


def convert(source: Any, target: Any, rules: Any, value: dict[str, Any]) -> dict[str, Any]:
    plan = derive_plan(parse_avro(json.dumps(source)), parse_avro(json.dumps(target)), parse_rules(rules, "rest"))
    assert plan.is_complete, [str(problem) for problem in plan.problems]
    return evaluate(plan, value)


def one(source: Any, target: Any, rule: Any, value: Any) -> Any:
    """What a rule for one field ``w`` makes of the field ``v``."""
    return convert(record(("v", source)), record(("w", target)), {"w": rule}, {"v": value})["w"]


CAST = {"from": "v"}


@pytest.mark.parametrize(
    ("source", "target", "rule", "value", "expected"),
    [
        ("int", "int", {}, 5, 5),
        ("int", "double", {}, 5, 5.0),
        ("string", "bytes", {}, "é", b"\xc3\xa9"),
        (COLOUR, "string", {}, "RED", "RED"),
        (COLOUR, "bytes", {}, "RED", b"RED"),
        (MILLIS, MICROS, {}, -1, -1000),
        ("long", "int", {"cast": "int"}, -(2**31), -(2**31)),
        ("double", "long", {"cast": "long"}, -3.0, -3),
        ("long", "float", {"cast": "float"}, 2**24 + 1, 16777216.0),
        ("double", "float", {"cast": "float"}, 0.1, 0.10000000149011612),
        ("double", "float", {"cast": "float"}, float("inf"), float("inf")),
        ("boolean", "int", {"cast": "int"}, True, 1),
        ("int", "boolean", {"cast": "boolean"}, 0, False),
        ("boolean", "string", {"cast": "string"}, False, "false"),
        ("string", "boolean", {"cast": "boolean"}, "true", True),
        ("string", "int", {"cast": "int"}, " +007\n", 7),
        ("string", "float", {"cast": "float"}, "9.30", 9.300000190734863),
        ("string", "double", {"cast": "double"}, "1e3", 1000.0),
        ("string", COLOUR, {"cast": "enum"}, "BLUE", "BLUE"),
        ("double", "string", {"cast": "string", "decimals": 2}, 2.675, "2.68"),
        ("float", "string", {"cast": "string", "decimals": 2}, 9.300000190734863, "9.30"),
        ("double", "string", {"cast": "string", "decimals": 0}, -0.4, "0"),
        ("long", "string", {"cast": "string"}, -7, "-7"),
        ("bytes", "string", {"cast": "string"}, b"\xc3\xa9", "é"),
        ("bytes", {"type": "fixed", "name": "F", "size": 2}, {"cast": "fixed"}, b"ab", b"ab"),
        (MICROS, MILLIS, {"cast": "timestamp-millis"}, -1, -1),
        ("long", MILLIS, {"cast": "timestamp-millis"}, 5, 5),
        (PRICE, "string", {"cast": "string"}, b"\x27\x10", "100.00"),
        (PRICE, "double", {"cast": "double"}, b"\xff", -0.01),
        ("string", PRICE, {"cast": "decimal"}, "-1.5e1", b"\xfa\x24"),
        ("long", PRICE, {"cast": "decimal"}, 1, b"\x64"),
        (PRICE, {**PRICE, "precision": 9, "scale": 3}, {}, b"\x01", b"\x0a"),
        (["null", "int"], ["null", "long"], {}, None, None),
        (["null", "int"], "int", {"null": 7}, None, 7),
        (["null", "int"], "int", {"null": "error"}, 3, 3),
        ("int", "string", {"lookup": {"1": "CMT"}}, 1, "CMT"),
        ("string", "string", {"lookup": {"a": "b"}, "else": "keep"}, "c", "c"),
        ("string", "int", {"lookup": {"a": 1}, "else": 0}, "c", 0),
        (["null", "string"], ["null", "int"], {"lookup": {"a": 1}, "else": 0}, None, None),
        ("boolean", COLOUR, {"lookup": {"true": "RED", "false": "BLUE"}}, False, "BLUE"),
        (["int", "string"], ["null", "bytes", "double"], {}, "x", b"x"),
        (["int", "string"], ["null", "bytes", "double"], {}, 3, 3.0),
        ({"type": "array", "items": "int"}, {"type": "array", "items": "double"}, {}, [1, 2], [1.0, 2.0]),
        ({"type": "map", "values": "int"}, {"type": "map", "values": "long"}, {}, {"a": 1}, {"a": 1}),
    ],
)
def test_values(source: Any, target: Any, rule: Any, value: Any, expected: Any) -> None:
    found = (
        one(source, target, {**CAST, **rule}, value)
        if rule
        else convert(record(("w", source)), record(("w", target)), {}, {"w": value})["w"]
    )
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("source", "target", "rule", "value", "expected"),
    [
        ("long", "int", {"cast": "int"}, 2**31, ("out-of-range", "2147483648 does not fit int")),
        ("double", "long", {"cast": "long"}, 2.5, ("cast-failed", "2.5 is no whole number")),
        ("double", "long", {"cast": "long"}, 1e19, ("out-of-range", "does not fit long")),
        ("double", "int", {"cast": "int"}, float("nan"), ("cast-failed", "nan is no whole number")),
        ("double", "float", {"cast": "float"}, 1e39, ("out-of-range", "1e+39 does not fit float")),
        ("int", "boolean", {"cast": "boolean"}, 2, ("cast-failed", "2 is neither 0 nor 1")),
        ("string", "boolean", {"cast": "boolean"}, "True", ("cast-failed", "'True' is neither true nor false")),
        ("string", "int", {"cast": "int"}, "1.0", ("cast-failed", "'1.0' is no whole number")),
        ("string", "int", {"cast": "int"}, "2147483648", ("out-of-range", "'2147483648' does not fit int")),
        ("string", "float", {"cast": "float"}, "n/a", ("cast-failed", "'n/a' is no number")),
        ("string", "float", {"cast": "float"}, "1e39", ("out-of-range", "'1e39' does not fit float")),
        ("string", COLOUR, {"cast": "enum"}, "red", ("cast-failed", "'red' is none of RED, GREEN, BLUE")),
        ("string", {"type": "string", "logicalType": "uuid"}, {"cast": "uuid"}, "x", ("cast-failed", "'x' is no UUID")),
        (
            "double",
            "string",
            {"cast": "string", "decimals": 2},
            float("inf"),
            ("cast-failed", "inf is no number that has"),
        ),
        ("bytes", "string", {"cast": "string"}, b"\xff", ("cast-failed", "not UTF-8")),
        (
            "bytes",
            {"type": "fixed", "name": "F", "size": 2},
            {"cast": "fixed"},
            b"a",
            ("cast-failed", "not 2 bytes long"),
        ),
        ("string", PRICE, {"cast": "decimal"}, "1.234", ("cast-failed", "more exact than 2 decimals")),
        ("string", PRICE, {"cast": "decimal"}, "12345", ("out-of-range", "does not fit decimal(6, 2)")),
        ("string", PRICE, {"cast": "decimal"}, "1e999999999", ("out-of-range", "does not fit")),
        ("string", PRICE, {"cast": "decimal"}, "x", ("cast-failed", "'x' is no number")),
        (["null", "int"], "int", {"null": "error"}, None, ("null-not-allowed", "the source is null here")),
        ("string", "int", {"lookup": {"a": 1}, "else": "error"}, "c" * 99, ("lookup-missing", "… is not in the table")),
        (MICROS, NANOS, {"cast": "timestamp-nanos"}, 2**62, ("out-of-range", "does not fit timestamp-nanos")),
    ],
)
def test_failures(source: Any, target: Any, rule: Any, value: Any, expected: tuple[str, str]) -> None:
    with pytest.raises(ConversionError) as failure:
        one(source, target, {**CAST, **rule}, value)
    assert (failure.value.code, failure.value.field) == (expected[0], "w")
    assert expected[1] in failure.value.text


@pytest.mark.parametrize(
    ("source", "pattern", "zone", "value", "expected"),
    [
        (MILLIS, FULL, "UTC", 0, "1970-01-01 00:00:00.000"),
        (MILLIS, FULL, "UTC", -1, "1969-12-31 23:59:59.999"),
        (MICROS, "yyyyMMdd'T'HHmmss.SSSSSS", "+05:30", 1, "19700101T053000.000001"),
        (NANOS, "ss.SSS", "UTC", 1_234_999_999, "01.234"),
        (MILLIS, FULL, "Europe/Paris", 1_593_561_600_000, "2020-07-01 02:00:00.000"),
        (LOCAL, FULL, "Europe/Paris", 0, "1970-01-01 00:00:00.000"),
        (DATE, "dd/MM/yyyy 'o''clock'", "UTC", -719_162, "01/01/0001 o'clock"),
    ],
)
def test_format(source: Any, pattern: str, zone: str, value: int, expected: str) -> None:
    assert one(source, "string", {"format": "v", "as": pattern, "zone": zone}, value) == expected


def test_format_outside_the_calendar() -> None:
    with pytest.raises(ConversionError, match="not in the years 1 to 9999") as failure:
        one(MILLIS, "string", {"format": "v", "as": "yyyy"}, 253_402_300_800_000)
    assert failure.value.code == "format-failed"


@pytest.mark.parametrize(
    ("target", "pattern", "zone", "text", "expected"),
    [
        (MILLIS, FULL, "UTC", "1970-01-01 00:00:00.001", 1),
        (MICROS, "yyyy-MM-dd", "+01:00", "1970-01-01", -3_600_000_000),
        (MILLIS, FULL, "Europe/Paris", "2020-03-29 02:30:00.000", 1_585_445_400_000),
        (MILLIS, FULL, "Europe/Paris", "2020-10-25 02:30:00.000", 1_603_585_800_000),
        (LOCAL, FULL, "Europe/Paris", "1970-01-01 00:00:00.000", 0),
        (DATE, "dd.MM.yyyy", "UTC", "29.02.2020", 18_321),
    ],
)
def test_parse(target: Any, pattern: str, zone: str, text: str, expected: int) -> None:
    assert one("string", target, {"parse": "v", "as": pattern, "zone": zone}, text) == expected


@pytest.mark.parametrize(
    ("target", "text", "code"),
    [
        (DATE, "2020-2-29", "parse-failed"),
        (DATE, "2021-02-29", "parse-failed"),
        (DATE, "2020-01-01 ", "parse-failed"),
        (DATE, "٢٠٢٠-01-01", "parse-failed"),
        (DATE, "0000-01-01", "parse-failed"),
        (NANOS, "9999-01-01", "out-of-range"),
    ],
)
def test_parse_failures(target: Any, text: str, code: str) -> None:
    with pytest.raises(ConversionError) as failure:
        one("string", target, {"parse": "v", "as": "yyyy-MM-dd"}, text)
    assert (failure.value.code, failure.value.field) == (code, "w")


def test_texts() -> None:
    source = record(("a", "string"), ("e", COLOUR), ("n", ["null", "int"]), ("b", "boolean"))
    target = record(("j", ["null", "string"]), ("k", "string"), ("first", "string"), ("last", "int"))
    rules = {
        "j": {"join": ["a", "n"], "with": "-"},
        "k": {"join": ["e", "b"]},
        "first": {"split": {"from": "a", "on": ".", "take": 0}},
        "last": {"split": {"from": "a", "on": ".", "take": -1}, "cast": "int"},
    }
    value = {"a": "x..7", "e": "RED", "n": 3, "b": True}
    assert convert(source, target, rules, value) == {"j": "x..7-3", "k": "REDtrue", "first": "x", "last": 7}
    assert convert(source, target, rules, {**value, "n": None})["j"] is None
    with pytest.raises(ConversionError, match="'x' has 1 piece; piece 1 is not there") as failure:
        one("string", "string", {"split": {"from": "v", "on": ".", "take": 1}}, "x")
    assert failure.value.code == "split-missing"


def test_failures_name_the_path() -> None:
    stop = record(("lat", "string"), name="Stop")
    source = record(("stops", {"type": "array", "items": stop}), ("m", {"type": "map", "values": "Stop"}))
    narrow = record(("lat", "float"), name="Stop")
    target = record(("stops", {"type": "array", "items": narrow}), ("m", {"type": "map", "values": "Stop"}))
    rules = {f"{path}.lat": {"from": "lat", "cast": "float"} for path in ("stops[]", "m{}")}
    good = {"stops": [{"lat": "1"}], "m": {"a": {"lat": "2"}}}
    assert convert(source, target, rules, good) == {"stops": [{"lat": 1.0}], "m": {"a": {"lat": 2.0}}}
    for bad, field in (
        ({"stops": [{"lat": "1"}, {"lat": "x"}]}, "stops[].lat"),
        ({"m": {"a": {"lat": "x"}}}, "m{}.lat"),
    ):
        with pytest.raises(ConversionError) as failure:
            convert(source, target, rules, {**good, **bad})
        assert failure.value.field == field


def test_a_nullable_record_stays_null() -> None:
    inner = record(("a", "int"), name="P")
    wider = record(("a", "long"), name="P")
    source, target = record(("p", ["null", inner])), record(("p", ["null", wider]))
    assert convert(source, target, {}, {"p": None}) == {"p": None}
    assert convert(source, target, {}, {"p": {"a": 1}}) == {"p": {"a": 1}}


def test_logical_values_become_base_values() -> None:
    uuid = {"type": "string", "logicalType": "uuid"}
    time = {"type": "int", "logicalType": "time-millis"}
    fields = (
        ("t", MILLIS),
        ("l", LOCAL),
        ("d", DATE),
        ("p", PRICE),
        ("u", uuid),
        ("c", time),
        ("n", ["null", MILLIS]),
        ("xs", {"type": "array", "items": DATE}),
    )
    moment = datetime(2020, 7, 1, 0, 25, 32, 500_000, tzinfo=UTC)
    key = UUID("9f3c1d2e-0000-4000-8000-00000000000a")
    value = {
        "t": moment,
        "l": moment.replace(tzinfo=None),
        "d": date(1970, 1, 2),
        "p": Decimal("-1.50"),
        "u": key,
        "c": moment.time(),
        "n": moment,
        "xs": [date(1969, 12, 31)],
    }
    millis = 1_593_563_132_500
    expected = {
        "t": millis,
        "l": millis * 1000,
        "d": 1,
        "p": b"\xff\x6a",
        "u": str(key),
        "c": 1_532_500,
        "n": millis,
        "xs": [-1],
    }
    assert convert(record(*fields), record(*fields), {}, value) == expected
    assert convert(record(*fields), record(*fields), {}, expected) == expected


def test_an_unfinished_plan_converts_nothing() -> None:
    plan = derive_plan(parse_avro(json.dumps(record(("a", "int")))), parse_avro(json.dumps(record(("b", "int")))))
    with pytest.raises(PlanUnfinished, match="b: nothing fills it"):
        evaluate(plan, {"a": 1})
