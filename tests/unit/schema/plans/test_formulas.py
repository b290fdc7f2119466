"""Formulas: the grammar, the place of mistakes, the arithmetic."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.schema.plans import ConversionError, ExpressionError
from counterfoil.schema.plans.evaluate import compile_expression
from counterfoil.schema.plans.expressions import FUNCTIONS, parse_expression, paths_of, result_of
from counterfoil.schema.plans.model import Arithmetic


def run(text: str, **fields: float | None) -> object:
    expression = parse_expression(text)
    kinds = {path: "long" if isinstance(fields[path[0]], int) else "double" for path in paths_of(expression)}
    integers = tuple(path for path, kind in kinds.items() if kind == "long")
    op = Arithmetic(expression, result_of(expression, kinds), integers)
    return compile_expression(op, "target", lambda path: lambda scope: scope[path[0]])(fields)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("10 - 3 - 2", 5),
        ("2 * -3", -6),
        ("--4", 4),
        ("-(2 + 3)", -5),
        ("12 / 4 / 3", 1.0),
        ("1 / 8", 0.125),
        ("7 / 2", 3.5),
        ("1.5e2 + .5", 150.5),
        ("3. * 2", 6.0),
        ("round(2.5)", 2.0),
        ("round(-3.5)", -4.0),
        ("floor(-0.5) + ceil(0.5)", 0.0),
        ("abs(-3)", 3),
        ("abs(-3.5)", 3.5),
        ("9223372036854775807", 2**63 - 1),
    ],
)
def test_value(text: str, expected: float) -> None:
    value = run(text)
    assert value == expected
    assert type(value) is type(expected)


@pytest.mark.parametrize(
    ("text", "position", "expected"),
    [
        ("", 1, "a number, a text, a field, a function or ("),
        ("1 +", 4, "a number, a text, a field, a function or ("),
        ("1 2", 3, "an operator or the end"),
        ("(1", 3, ")"),
        ("1)", 2, "an operator or the end"),
        ("a & b", 3, "a number, a text in single quotes, a field, an operator or ( )"),
        ("sqrt(2)", 1, f"one of {', '.join(FUNCTIONS)}"),
        ("* 2", 1, "a number, a text, a field, a function or ("),
        ("99999999999999999999", 1, "a smaller number, or one with .0"),
        ("1 + 1e999", 5, "a smaller number"),
        ("(" * 60 + "1" + ")" * 60, 51, "at most 50 levels"),
        ("1 + " * 600 + "1", 2000, "at most 2000 characters"),
        ("1 + " * 260 + "1", 1003, "at most 250 operators"),
        ("٣ + 1", 1, "a number, a text in single quotes, a field, an operator or ( )"),
    ],
)
def test_mistakes_have_a_place(text: str, position: int, expected: str) -> None:
    with pytest.raises(ExpressionError) as mistake:
        parse_expression(text)
    assert mistake.value.position == position
    assert mistake.value.expected == expected
    assert f"at character {position}" in str(mistake.value)


@given(st.text(alphabet="ab.()+-*/ 019e_", max_size=30) | st.text(max_size=10))
def test_any_text_is_a_formula_or_an_error_of_ours(text: str) -> None:
    with suppress(ExpressionError):
        assert isinstance(list(paths_of(parse_expression(text))), list)


@pytest.mark.parametrize(
    ("text", "fields", "code"),
    [
        ("a / b", {"a": 1, "b": 0}, "division-by-zero"),
        ("a / (b - b)", {"a": 1.5, "b": 2.5}, "division-by-zero"),
        ("a + 1", {"a": 2**63 - 1}, "overflow"),
        ("-a", {"a": -(2**63)}, "overflow"),
        ("abs(a)", {"a": -(2**63)}, "overflow"),
        ("a * a", {"a": 1e200}, "overflow"),
        ("a * 0", {"a": float("inf")}, "not-a-number"),
        ("a", {"a": float("nan")}, "not-a-number"),
    ],
)
def test_what_has_no_value_has_a_name(text: str, fields: dict[str, float], code: str) -> None:
    with pytest.raises(ConversionError) as failure:
        run(text, **fields)
    assert (failure.value.code, failure.value.field) == (code, "target")


def test_null_goes_through() -> None:
    assert run("a + b", a=None, b=1) is None


_LONGS = st.integers(-(2**63), 2**63 - 1)


@given(_LONGS, _LONGS, _LONGS)
def test_longs_are_exact_or_refused(a: int, b: int, c: int) -> None:
    exact = a + b * c
    fits = -(2**63) <= b * c < 2**63 and -(2**63) <= exact < 2**63
    if fits:
        assert run("a + b * c", a=a, b=b, c=c) == exact
    else:
        with pytest.raises(ConversionError, match="overflow"):
            run("a + b * c", a=a, b=b, c=c)
