"""Numbers and strings as Java prints and reads them."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.schema.jsontext.java import (
    print_double,
    print_float,
    print_json,
    print_string,
    read_java_double,
    round_to_float,
)
from counterfoil.schema.languages.avro.schema import parse_avro


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (1.0, "1.0"),
        (1e3, "1000.0"),
        (0.001, "0.001"),
        (0.00099, "9.9E-4"),
        (1e7, "1.0E7"),
        (9999999.0, "9999999.0"),
        (12345678.9, "1.23456789E7"),
        (1e21, "1.0E21"),
        (123456789012345680000.0, "1.2345678901234568E20"),
        (1.5e-7, "1.5E-7"),
        (-2.5e-300, "-2.5E-300"),
        (5e-324, "4.9E-324"),
        (2e23, "2.0E23"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (3.14159265358979323846, "3.141592653589793"),
        (math.inf, '"Infinity"'),
        (-math.inf, '"-Infinity"'),
        (math.nan, '"NaN"'),
    ],
)
def test_doubles(value: float, text: str) -> None:
    assert print_double(value) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_printed_double_reads_back(value: float) -> None:
    text = print_double(value)
    assert float(text) == value
    assert read_java_double(text) == value
    mantissa, _, exponent = text.partition("E")
    assert "." in mantissa
    assert bool(exponent) == (value != 0 and not 1e-3 <= abs(value) < 1e7)


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_a_printed_float_reads_back_as_that_float_and_is_no_longer_than_needed(value: float) -> None:
    text = print_float(value)
    assert round_to_float(float(text)) == value
    assert len(text) <= len(print_double(value))


@pytest.mark.parametrize(
    ("value", "text"), [(0.1, "0.1"), (3.14159265358979, "3.1415927"), (1e39, '"Infinity"'), (1e-45, "1.4E-45")]
)
def test_floats(value: float, text: str) -> None:
    assert print_float(value) == text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1.0),
        (" +.5e1 ", 5.0),
        ("1.", 1.0),
        ("1d", 1.0),
        ("1F", 1.0),
        ("0x1.8p1", 3.0),
        ("-Infinity", -math.inf),
        ("1e999", math.inf),
        ("-0x1p9999", -math.inf),
        ("", None),
        ("1_0", None),
        ("inf", None),
        ("nan", None),
        ("0x10", None),
        ("１", None),  # noqa: RUF001 - a digit that is not ASCII
        (".", None),
        ("e1", None),
    ],
)
def test_numbers_in_text(text: str, value: float | None) -> None:
    assert read_java_double(text) == value


def test_a_nan_in_text() -> None:
    read = read_java_double(" -NaN\n")
    assert read is not None
    assert math.isnan(read)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ('a"b\\c/d\n\u2028é😀\x7f', '"a\\"b\\\\c/d\\n\u2028é😀\x7f"'),
        ("\x00\x0b\x1f\x1a\b\f\r\t", '"\\u0000\\u000B\\u001F\\u001A\\b\\f\\r\\t"'),
        ("\\u001f \x1f", '"\\\\u001f \\u001F"'),
    ],
)
def test_strings(value: str, text: str) -> None:
    assert print_string(value) == text
    assert json.loads(text) == value


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=8,
    )
)
def test_printed_json_reads_back(value: object) -> None:
    assert json.loads(print_json(value)) == value
    assert json.loads(print_json(value, sort_keys=True)) == value


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ('{"type":"int","x":-0}', '{"type":"int","x":0}'),
        ('{"type":"int","x":1e3}', '{"type":"int","x":1000.0}'),
        ('{"type":"int","x":12345678901234567890}', '{"type":"int","x":12345678901234567890}'),
        ('{"type":"int","x":[true,false,null,{"a":1.50}]}', '{"type":"int","x":[true,false,null,{"a":1.5}]}'),
    ],
)
def test_numbers_in_properties(text: str, printed: str) -> None:
    assert parse_avro(text).canonical() == printed
