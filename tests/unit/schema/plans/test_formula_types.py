"""Formulas with texts and conditions: their types, their limits, null, and secrets."""

from __future__ import annotations

import hashlib
import hmac
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.converter.engines.java.letters import letter_table
from counterfoil.converter.engines.protocol import Conversion
from counterfoil.converter.engines.reference import RecordConverter, ReferenceEngine, recipe_of
from counterfoil.converter.messages.table import make_writer, pack
from counterfoil.schema.languages.table import parse_schema
from counterfoil.schema.plans import ConversionError, ExpressionError
from counterfoil.schema.plans.derive import derive_plan
from counterfoil.schema.plans.evaluate import evaluator
from counterfoil.schema.plans.expressions import parse_expression
from counterfoil.schema.plans.rules import parse_rules
from counterfoil.schema.plans.text_functions import MOST_TEXT_BYTES, SecretMissing

SOURCE = parse_schema(
    json.dumps(
        {
            "type": "record",
            "name": "R",
            "fields": [
                {"name": "km", "type": "double"},
                {"name": "n", "type": ["null", "long"]},
                {"name": "t", "type": "string"},
                {"name": "u", "type": ["null", "string"]},
                {"name": "b", "type": "boolean"},
                {"name": "y", "type": "bytes"},
                {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
                {"name": "day", "type": {"type": "int", "logicalType": "date"}},
                {"name": "p", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
                {"name": "k", "type": {"type": "enum", "name": "K", "symbols": ["A", "B"]}},
            ],
        }
    )
)
VALUES = {
    "km": 2.5, "n": None, "t": "Ada", "u": None, "b": True, "y": b"", "at": 5, "day": 1, "p": b"\x04\xd3", "k": "B",
}  # fmt: skip


def plan_of(text: str, kind: Any = "string", **more: Any) -> Any:
    target = parse_schema(json.dumps({"type": "record", "name": "T", "fields": [{"name": "f", "type": kind}]}))
    return derive_plan(SOURCE, target, parse_rules({"f": {"expr": text, **more}}, "rest"))


def run(text: str, kind: Any = "string", **values: Any) -> Any:
    plan = plan_of(text, ["null", kind])
    assert plan.is_complete, plan.problems
    try:
        return evaluator(plan)(VALUES | values)["f"]
    except ConversionError as failure:
        return str(failure.code)


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        ("lower(km)", "string", "lower: km is double; expected a text"),
        ("length(b)", "long", "length: b is boolean; expected a text"),
        ("t + 1", "long", "t is string; expected a number"),
        ("lower(t) * 2", "long", "lower(…) is string; expected a number"),
        ("if t then 1 else 2", "long", "if: t is string; expected a condition"),
        ("b and n", "boolean", "and: n is long; expected a condition"),
        ("not km", "boolean", "not: km is double; expected a condition"),
        ("if b then 1 else 'x'", "long", "then and else are long and string; expected values of one type"),
        ("coalesce(n, u)", "long", "coalesce are long and string; expected values of one type"),
        ("t > km", "boolean", "the sides of > are string and double; expected values of one type"),
        ("at = day", "boolean", "the sides of = are timestamp-millis and date; expected values of one type"),
        ("b < true", "boolean", "<: boolean cannot be compared so"),
        ("y = y", "boolean", "=: bytes cannot be compared so"),
        ("n = null", "boolean", "write is null, or is not null"),
        ("null", ["null", "long"], "the formula is always null; write const: null"),
        ("upper(missing)", "string", "the source has no field missing"),
        ("concat(km)", "string", "concat: km is double; expected a text"),
        ("at", "string", "timestamp-millis cannot become string"),
        ("upper(u)", "string", "the source may be null and the field may not"),
    ],
)
def test_a_part_of_another_type_is_a_problem_of_the_plan(text: str, kind: Any, words: str):
    problems = plan_of(text, kind).problems
    assert any(words in str(each) for each in problems), problems


@pytest.mark.parametrize(
    ("text", "position", "expected"),
    [
        ("pad_left(t, 1000000000, '0')", 13, "a whole number from 0 to 1000"),
        ("pad_left(t, n, '0')", 13, "a whole number from 0 to 1000"),
        ("pad_left(t, 5, '00')", 16, "one character in single quotes"),
        ("replace(t, '', 'x')", 12, "a text in single quotes that is not empty"),
        ("replace(t, 'x')", 15, ","),
        ("lower(t, t)", 8, ")"),
        ("hash(t, 'not a name')", 9, "the name of an environment variable in single quotes"),
        ("mask(t, -1)", 9, "a whole number from 0"),
        ("if b then 1", 12, "else"),
        ("t is 5", 6, "null"),
        ("'open", 1, "a number, a text in single quotes, a field, an operator or ( )"),
        ("if " * 60 + "b", 151, "at most 50 levels"),
        ("and", 1, "a number, a text, a field, a function or ("),
    ],
)
def test_a_formula_that_cannot_be_read_says_where(text: str, position: int, expected: str):
    with pytest.raises(ExpressionError) as mistake:
        parse_expression(text)
    assert (mistake.value.position, mistake.value.expected) == (position, expected)


@pytest.mark.parametrize(
    ("text", "kind", "result"),
    [
        ("if n is null then -1 else n", "long", -1),
        ("if n is not null and n > 3 then 'many' else 'few'", "string", "few"),
        ("n > 3", "boolean", None),
        ("n > 3 or b", "boolean", None),
        ("b or n > 3", "boolean", True),
        ("not (b and false)", "boolean", True),
        ("if km = 0 then 0 else 1 / km", "double", 0.4),
        ("coalesce(u, t, 'x')", "string", "Ada"),
        ("if p > 12.34 then 'dear' else 'cheap'", "string", "dear"),
        ("round(p * 100)", "double", 1235.0),
        ("k = 'B'", "boolean", True),
        ("at > at", "boolean", False),
        ("upper('straße İ ﬁ')", "string", "STRASSE İ FI"),
        ("lower('ΟΔΟΣ ΣΑΣ A.Σ İ')", "string", "οδος σας a.ς i\u0307"),
        ("length('e\u0301😀')", "long", 3),
        ("substring('😀é', 1)", "string", "é"),
        ("pad_left('😀', 3, 'é')", "string", "éé😀"),
        ("mask('ab', 4)", "string", "**"),
        ("'it''s'", "string", "it's"),
        ("concat(t, n)", "string", None),
    ],
)
def test_results(text: str, kind: str, result: Any):
    found = run(text, kind)
    assert found == result
    assert type(found) is type(result)


def test_what_a_condition_says_about_null_counts():
    assert plan_of("if n is null then 0 else n + 1", "long").is_complete
    assert plan_of("if n is not null and u is not null then concat(u, n) else ''").is_complete
    assert plan_of("if not (n is null or u is null) then concat(u, n) else ''").is_complete
    assert not plan_of("if n is not null or b then n else 0", "long").is_complete
    assert plan_of("n + 1", "long", null=0).is_complete


def test_a_text_does_not_grow_beyond_any_record():
    growing = "replace(t, 'a', '" + "b" * 1000 + "')"
    assert run(f"length({growing})", "long", t="a" * 1000) == 10**6
    assert run(growing, t="a" * 17_000) == "out-of-range"
    assert len("b" * 1000) * 17_000 > MOST_TEXT_BYTES
    assert run(f"concat({', '.join(['t'] * 20)})", t="x" * 10**6) == "out-of-range"


def test_a_hash_has_its_secret_from_the_environment_and_nowhere_else(monkeypatch: pytest.MonkeyPatch):
    plan = plan_of("hash(t, 'SALT_OF_TEST')")
    conversion = Conversion(plan, {7: SOURCE}, 9)
    monkeypatch.delenv("SALT_OF_TEST", raising=False)
    with pytest.raises(SecretMissing, match="the environment variable SALT_OF_TEST is not set"):
        ReferenceEngine(conversion)
    monkeypatch.setenv("SALT_OF_TEST", "pepper")
    recipe = recipe_of(conversion)
    monkeypatch.delenv("SALT_OF_TEST")
    value = make_writer(pack(SOURCE), 7)(VALUES)
    made = RecordConverter(recipe).convert(value)  # as in another process, which has no such variable
    assert made[7:] == hmac.new(b"pepper", b"Ada", hashlib.sha256).hexdigest().encode()
    other = plan_of("hash(t, 'ANOTHER')")
    assert plan.hash != other.hash
    for text in (repr(plan), repr(recipe), str(plan.rows()), plan.hash):
        assert "pepper" not in text


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=20))
def test_tables_of_letters_have_the_letters_of_python(text: str):
    lower, upper = letter_table(is_upper=False), letter_table(is_upper=True)
    for table, turn in ((lower, str.lower), (upper, str.upper)):
        made = dict(zip(table.points, table.made, strict=True))
        for letter in text:
            if ord(letter) >= 0x80:
                assert made.get(ord(letter), letter.encode()).decode() == turn(letter)


@pytest.mark.slow
def test_no_letter_has_another_case_beyond_the_tables():
    beyond = [point for point in range(0x20000, 0x110000) if not 0xE0000 <= point < 0xE0200]
    assert all(chr(point).lower() == chr(point).upper() == chr(point) for point in beyond)
    assert all(f"A\u03a3{chr(point)}A".lower()[1] == "\u03c2" for point in beyond)
