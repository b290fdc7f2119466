"""Numbers as text and text as numbers, against exact arithmetic."""

from __future__ import annotations

import math
import struct
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from counterfoil.schema.plans.notation import (
    double_of_text,
    float_of_text,
    float_of_whole,
    nearest_float,
    shortest_float_text,
    text_of_real,
    whole_of_text,
)

FLOATS = st.floats(width=32, allow_nan=False, allow_infinity=False)
DOUBLES = st.floats(allow_nan=False, allow_infinity=False)


def next_floats(value: float) -> tuple[float, float]:
    """The floats below and above a float."""
    bits = struct.unpack("<i", struct.pack("<f", value))[0]
    found = []
    for step in (-1, 1):
        if value == 0:
            found.append(step * 2.0**-149)
        else:
            moved = bits + (step if value > 0 else -step)
            found.append(struct.unpack("<f", struct.pack("<i", moved))[0])
    return found[0], found[1]


def assert_nearest(value: float, exact: Fraction) -> None:
    below, above = next_floats(value)
    distance = abs(Fraction(value) - exact)
    for other in (below, above):
        if math.isfinite(other):
            assert distance <= abs(Fraction(other) - exact)


@given(st.from_regex(r"[+-]?[0-9]{1,25}(\.[0-9]{0,40})?(e[+-]?[0-9]{1,2})?", fullmatch=True).filter(str.isascii))
@example("16777217")
@example("16777217.0000000000000000000001")
@example("16777216.9999999999999999999999")
@example("1.00000017881393432617187499999999999999")
@example("1.4e-45")
@example("7.006492321624085354618e-46")
@example("7.0064923216240853546186479164495e-46")
def test_float_of_text_is_the_nearest(text: str) -> None:
    value = float_of_text(text)
    assert value is not None
    if math.isfinite(value):
        assert_nearest(value, Fraction(text))
    else:
        assert abs(Fraction(text)) > Fraction(3.4028234e38)


@given(st.integers(-(2**63), 2**63 - 1))
@example(2**60 + 2**36 + 1)
@example(2**24 + 1)
def test_float_of_whole_is_the_nearest(value: int) -> None:
    assert_nearest(float_of_whole(value), Fraction(value))


@pytest.mark.parametrize(
    "text", ["", " ", "NaN", "inf", "-Infinity", "1f", "0x1p3", "1_000", "1,5", "e3", ".", "+", "\u0661", "1e", "--1"]
)
def test_what_is_no_number(text: str) -> None:
    assert double_of_text(text) is None
    assert float_of_text(text) is None
    assert whole_of_text(text) is None


@pytest.mark.parametrize(("text", "value"), [(" +7\n", 7.0), (".5", 0.5), ("5.", 5.0), ("1E+2", 100.0), ("-0", -0.0)])
def test_what_is_one(text: str, value: float) -> None:
    assert str(double_of_text(text)) == str(value)


def test_beyond_the_range_is_infinite() -> None:
    assert float_of_text("3.5e38") == math.inf
    assert float_of_text("-1e999") == -math.inf
    assert double_of_text("1e999") == math.inf


def test_a_text_of_megabytes_is_no_number() -> None:
    assert whole_of_text("9" * 5000) is None
    assert double_of_text("9" * 5000) is None


@given(FLOATS)
def test_shortest_text_names_the_float(value: float) -> None:
    text = shortest_float_text(value)
    assert nearest_float(float(text)) == value
    assert len(text.lstrip("-").replace(".", "").split("e")[0].strip("0")) <= 9


@given(DOUBLES, st.integers(0, 18))
@example(2.675, 2)
@example(0.5, 0)
@example(-0.004, 2)
@example(1e22, 2)
def test_real_as_text_is_rounded_half_up(value: float, decimals: int) -> None:
    text = text_of_real(value, decimals, is_float=False)
    assert text is not None
    whole, _, fraction = text.partition(".")
    assert len(fraction) == decimals
    assert "e" not in text
    exact = Decimal(repr(value))
    if abs(value) < 1e9:
        assert Decimal(text) == exact.quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)
    assert Decimal(text) != 0 or not whole.startswith("-")


def test_real_as_text_examples() -> None:
    assert text_of_real(nearest_float(9.3), 2, is_float=True) == "9.30"
    assert text_of_real(2.675, 2, is_float=False) == "2.68"
    assert text_of_real(float("nan"), 2, is_float=False) is None
