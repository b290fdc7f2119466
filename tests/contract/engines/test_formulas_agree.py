"""Random formulas: the engine ``java``, the reference and a meaning in plain Python give the same values."""

from __future__ import annotations

import io
import json
import math
import random
from typing import TYPE_CHECKING, Any

import fastavro
import pytest

from counterfoil.converter.engines.protocol import Conversion
from counterfoil.converter.messages.table import make_writer, pack
from counterfoil.schema.languages.table import parse_schema
from counterfoil.schema.model import SchemaType
from counterfoil.schema.plans.derive import derive_plan
from counterfoil.schema.plans.rules import parse_rules
from strategies.engines.conversions import class_in
from strategies.engines.formulas import SECRET, SECRET_NAME, Failed, Made, formula, records
from strategies.engines.java import check

if TYPE_CHECKING:
    from counterfoil.schema.plans.model import ConversionPlan
    from strategies.engines.java import Convert

MILLIS = {"type": "long", "logicalType": "timestamp-millis"}
SOURCE = {
    "type": "record",
    "name": "Ride",
    "fields": [
        {"name": "n", "type": "int"},
        {"name": "big", "type": "long"},
        {"name": "maybe", "type": ["null", "long"]},
        {"name": "km", "type": "double"},
        {"name": "rate", "type": ["null", "double"]},
        {"name": "name", "type": "string"},
        {"name": "note", "type": ["string", "null"]},
        {"name": "colour", "type": {"type": "enum", "name": "Colour", "symbols": ["RED", "Blue"]}},
        {"name": "flag", "type": "boolean"},
        {"name": "sure", "type": ["null", "boolean"]},
        {"name": "at", "type": MILLIS},
        {"name": "seen", "type": ["null", MILLIS]},
    ],
}
AVRO = {"long": "long", "double": "double", "text": "string", "boolean": "boolean", "moment": MILLIS}
JSON = {"long": "integer", "double": "number", "text": "string", "boolean": "boolean", "moment": "integer"}
FORMULAS = 12


@pytest.fixture(autouse=True)
def _salted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SECRET_NAME, SECRET)


def target_of(language: SchemaType, kinds: list[str]) -> Any:
    if language is SchemaType.AVRO:
        fields = [{"name": f"f{n}", "type": ["null", AVRO[kind]]} for n, kind in enumerate(kinds)]
        return parse_schema(json.dumps({"type": "record", "name": "T", "fields": fields}))
    properties = {f"f{n}": {"type": [JSON[kind], "null"]} for n, kind in enumerate(kinds)}
    return parse_schema(json.dumps({"type": "object", "properties": properties}), language)


def expected_of(made: list[Made], record: dict[str, Any], caught: set[str]) -> Any:
    """Return the values of all formulas, null for those that fail at ``caught``, else the first failure."""
    values: dict[str, Any] = {}
    for number, each in enumerate(made):
        name = f"f{number}"
        try:
            values[name] = each.meaning(record)
        except Failed as failed:
            if name not in caught:
                return str(failed), name
            values[name] = None
    return values


def plan_of(source: Any, target: Any, made: list[Made], *, catches: bool) -> tuple[ConversionPlan, set[str]]:
    """Return the plan of formulas, and the fields that become null where they fail; replace refused formulas."""
    rules: dict[str, Any] = {f"f{n}": {"expr": each.text} for n, each in enumerate(made)}
    if catches:
        rules = {name: rule | {"else": None} for name, rule in rules.items()}
    for problem in derive_plan(source, target, parse_rules(rules, "rest")).problems:
        if "so that else has no effect" in problem.text:
            rules[problem.field].pop("else")
        else:  # a formula without a result for any record is refused before
            assert "no record has a value here" in problem.text, problem
            rules[problem.field] = {"const": None}
            made[int(problem.field[1:])] = Made("null", lambda _: None)
    plan = derive_plan(source, target, parse_rules(rules, "rest"))
    assert plan.is_complete, plan.problems
    return plan, {name for name, rule in rules.items() if "else" in rule}


def read(language: SchemaType, target: Any, value: bytes) -> Any:
    if language is SchemaType.JSON:
        return json.loads(value[5:])
    schema = json.loads(target.text.replace('"logicalType": "timestamp-millis"', '"doc": ""'))
    return fastavro.schemaless_reader(io.BytesIO(value[5:]), schema, None)


def spelt(value: Any) -> Any:
    """Return values so that zeros with another sign, and whole numbers and others, differ."""
    if isinstance(value, dict):
        return {name: spelt(part) for name, part in value.items()}
    return (value, math.copysign(1, value)) if isinstance(value, float) else (type(value).__name__, value)


@pytest.mark.slow
@pytest.mark.parametrize("language", [SchemaType.AVRO, SchemaType.JSON])
@pytest.mark.parametrize("seed", range(8))
def test_a_formula_has_one_meaning(language: SchemaType, seed: int, convert: Convert) -> None:
    rng = random.Random(seed)
    kinds = [rng.choice([*AVRO]) for _ in range(FORMULAS)]
    if language is SchemaType.JSON:
        kinds = ["long" if kind == "moment" else kind for kind in kinds]
    made = [formula(rng, kind, rng.choice([2, 3, 4])) for kind in kinds]
    source, target = parse_schema(json.dumps(SOURCE)), target_of(language, kinds)
    plan, caught = plan_of(source, target, made, catches=seed % 4 != 0)
    write = make_writer(pack(source), 7)
    given = [records(rng) for _ in range(120)]
    answers = check(Conversion(plan, {7: source}, 9), [write(each) for each in given], convert)
    for record, (value, failure) in zip(given, answers, strict=True):
        expected = expected_of(made, record, caught)
        found = failure if value is None else read(language, target, value)
        if isinstance(expected, dict) and isinstance(found, dict):
            if language is SchemaType.JSON:
                found = {f"f{n}": found.get(f"f{n}") for n in range(FORMULAS)}
                found = {
                    n: float(v) if kinds[int(n[1:])] == "double" and v is not None else v for n, v in found.items()
                }
            assert spelt(found) == spelt(expected), (record, [each.text for each in made])
        else:
            assert found == expected, (record, [each.text for each in made])


def text_answers(formulas: list[str], texts: list[str], convert: Convert) -> list[dict[str, Any]]:
    """Return the results of formulas of one text, which are the same in both engines."""
    source = parse_schema('{"type": "record", "name": "R", "fields": [{"name": "t", "type": "string"}]}')
    target = target_of(SchemaType.AVRO, ["text"] * len(formulas))
    rules = parse_rules({f"f{n}": {"expr": each} for n, each in enumerate(formulas)}, "rest")
    plan = derive_plan(source, target, rules)
    assert plan.is_complete, plan.problems
    write = make_writer(pack(source), 7)
    answers = check(Conversion(plan, {7: source}, 9), [write({"t": text}) for text in texts], convert)
    assert all(failure is None for _, failure in answers)
    return [read(SchemaType.AVRO, target, value or b"") for value, _ in answers]


@pytest.mark.slow
def test_every_character_has_the_letters_of_python(convert: Convert) -> None:
    points = [point for point in range(0x110000) if not 0xD800 <= point < 0xE000]
    texts = ["".join(map(chr, points[start : start + 1024])) for start in range(0, len(points), 1024)]
    words = [f"A\u03a3{chr(point)}B \u03a3{chr(point)}\u03a3" for point in range(0x2000)]
    for text, made in zip(
        [*texts, *words], text_answers(["lower(t)", "upper(t)"], [*texts, *words], convert), strict=True
    ):
        assert made == {"f0": text.lower(), "f1": text.upper()}


@pytest.mark.slow
def test_long_patterns_are_found_where_they_are(convert: Convert) -> None:
    rng = random.Random(5)
    olds = ["a" * 17, "aab" * 7, "ab" * 9 + "a", "é" * 9 + "a"]
    texts = ["".join(rng.choices(["a", "b", "aab", "é", *olds], k=30)) for _ in range(300)]
    formulas = [f"replace(t, '{old}', '<>')" for old in olds]
    for text, made in zip(texts, text_answers(formulas, texts, convert), strict=True):
        assert made == {f"f{n}": "<>".join(text.split(old)) for n, old in enumerate(olds)}


def test_types_of_other_languages_stand_in_formulas(convert: Convert) -> None:
    moment = {"type": "string", "format": "date-time"}
    day = {"type": "string", "format": "date"}
    properties = {"a": moment, "b": moment, "n": {"type": "number"}, "d": day, "e": day, "k": {"enum": ["X", "Y"]}}
    source = parse_schema(json.dumps({"type": "object", "properties": properties}), SchemaType.JSON)
    formulas = {
        "earlier": ("boolean", "a < b"),
        "first": ("text", "if a <= b then a else coalesce(b, a)"),
        "same": ("boolean", "a = b or d = e"),
        "day": ("text", "coalesce(d, e)"),
        "half": ("double", "if n > 10 then n / 2 else n"),
        "code": ("text", "if k = 'X' then lower(k) else concat(k, '-', trim(' y '))"),
        "later": ("boolean", "not (d < e)"),
    }
    kinds = {"text": {"type": "string"}, "boolean": {"type": "boolean"}, "double": {"type": "number"}}
    document = {"type": "object", "properties": {name: kinds[kind] for name, (kind, _) in formulas.items()}}
    document["properties"]["first"] = moment
    target = parse_schema(json.dumps(document), SchemaType.JSON)
    rules = {name: {"expr": text, "else": None} for name, (_, text) in formulas.items()}
    for problem in derive_plan(source, target, parse_rules(rules, "rest")).problems:
        assert "else has no effect" in problem.text, problem
        rules[problem.field].pop("else")
    plan = derive_plan(source, target, parse_rules(rules, "rest"))
    given: list[dict[str, Any]] = [
        {
            "a": "2026-01-31T12:00:00+01:00",
            "b": "2026-01-31T11:00:00Z",
            "n": 2**70,
            "d": "2026-01-01",
            "e": "2026-01-02",
        },
        {"a": "2026-01-31T12:00:00.1Z", "b": "2026-01-31T12:00:00.10000000000001Z", "n": 0.5, "k": "X"},
        {"a": "2026-01-31T12:00:00Z", "n": -3, "d": "2026-02-30", "e": "2026-01-02", "k": "Y"},
        {"b": "0001-01-01T00:00:00+01:00", "a": "9999-12-31T23:59:59Z", "n": 11, "d": "2026-01-03", "e": "2026-01-02"},
    ]
    answers = check(
        Conversion(plan, {7: source}, 9), [b"\0\0\0\0\x07" + json.dumps(each).encode() for each in given], convert
    )
    made = [json.loads(value[5:]) for value, _ in answers if value is not None]
    assert [each.get("earlier") for each in made] == [False, None, None, False]
    assert [each.get("half") for each in made] == [2.0**69, 0.5, -3, 5.5]
    assert [each.get("code") for each in made] == [None, "x", "Y-y", None]
    assert [each.get("later") for each in made] == [False, None, None, True]


def test_messages_of_protobuf_stand_in_formulas(convert: Convert) -> None:
    source = parse_schema(
        'syntax = "proto3"; import "google/protobuf/timestamp.proto"; import "google/protobuf/wrappers.proto"; '
        "message R { google.protobuf.Timestamp a = 1; google.protobuf.Timestamp b = 2; uint64 u = 3; uint32 v = 4; "
        "google.protobuf.StringValue s = 5; optional int64 o = 6; float f = 7; }",
        SchemaType.PROTOBUF,
    )
    target = parse_schema(
        'syntax = "proto3"; import "google/protobuf/timestamp.proto"; message T { google.protobuf.Timestamp last = 1; '
        "optional bool is = 2; double d = 3; int64 n = 4; string t = 5; uint64 x = 6; }",
        SchemaType.PROTOBUF,
    )
    rules = {
        "last": {"expr": "if a > b then a else coalesce(b, a)"},
        "is": {"expr": "u > v or s is null"},
        "d": {"expr": "coalesce(u * 2, f) + v", "else": -1},
        "n": {"expr": "coalesce(o, v)"},
        "t": {"expr": "mask(concat(s, o), 2)", "null": "none"},
        "x": {"from": "u", "cast": "uint64", "times": 3},
    }
    plan = derive_plan(source, target, parse_rules(rules, "rest"))
    assert plan.is_complete, plan.problems
    message = class_in(source.text)
    made = []
    for seconds, other, u, text in [(5, 4, 2**64 - 1, "é😀x"), (None, 4, 1, None), (4, 5, 2**62, "")]:
        value = message(u=u, v=7, f=0.5)
        if seconds is not None:
            value.a.seconds = seconds
            value.o = -(2**63)
        value.b.seconds, value.b.nanos = other, 9
        if text is not None:
            value.s.value = text
        made.append(b"\0\0\0\0\x07\0" + value.SerializeToString())
    answers = check(Conversion(plan, {7: source}, 9), made, convert)
    found = [class_in(target.text).FromString(value[6:]) for value, _ in answers if value is not None]
    assert [(each.last.seconds, each.last.nanos) for each in found] == [(0, 0), (5, 9)]
    assert [each.n for each in found] == [7, -(2**63)]
    assert [each.t for each in found] == ["none", "*" * 18 + "08"]
    assert [failure for _, failure in answers] == [("out-of-range", "x"), None, None]
