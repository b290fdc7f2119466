"""The JSON reader that keeps positions: it reads what the standard library reads, and finds its way back."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.schema.errors import SchemaParseError
from counterfoil.schema.jsontext.reading import JsonScanner, locate, read_json
from counterfoil.schema.texts import Position

if TYPE_CHECKING:
    from counterfoil.schema.texts import Pointer

TEXT = st.text(st.characters(codec="utf-8"), max_size=8)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=20,
)


@given(JSON, st.booleans(), st.sampled_from([None, 1, "\t"]))
def test_the_scanner_reads_what_the_standard_library_reads(value: object, ascii_only: bool, indent: object) -> None:  # noqa: FBT001 - drawn by Hypothesis
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    assert JsonScanner(text).read() == json.loads(text)
    assert read_json(text) == json.loads(text)


@given(JSON, st.sampled_from([None, 2]))
def test_every_value_is_found_by_its_pointer(value: object, indent: int | None) -> None:
    text = json.dumps(value, indent=indent)
    lines = text.split("\n")
    for pointer, inner in _pointers(value, ()):
        place = locate(text, pointer)
        assert place is not None
        rest = "\n".join([lines[place.line - 1][place.column - 1 :], *lines[place.line :]])
        assert json.JSONDecoder().raw_decode(rest)[0] == inner


def _pointers(value: object, pointer: Pointer) -> list[tuple[Pointer, object]]:
    if isinstance(value, dict):
        inner = [((*pointer, key), item) for key, item in value.items()]
    elif isinstance(value, list):
        inner = [((*pointer, index), item) for index, item in enumerate(value)]
    else:
        inner = []
    return [(pointer, value), *(found for place, item in inner for found in _pointers(item, place))]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('/* c */ "a"', "a"),
        ("// c\n[1, /**/ 2] \n", [1, 2]),
        ('{"a": 1, "a": 2}', {"a": 2}),
        ('"/* no comment */ // none"', "/* no comment */ // none"),
        (r'"\/\b\f\n\r\t\u00e9"', "/\b\f\n\r\t\xe9"),
        ("-0", 0),
        ("1E2", 100.0),
        ("{ /* c */ }", {}),
        ("[ // c\n ]", []),
    ],
)
def test_what_is_read(text: str, value: object) -> None:
    assert read_json(text) == value
    assert JsonScanner(text).read() == value


@pytest.mark.parametrize(
    ("text", "place", "expected"),
    [
        ('{"a" 1}', Position(1, 6), "':'"),
        ('{"a": 1 "b": 2}', Position(1, 9), "',' or '}'"),
        ("[1 2]", Position(1, 4), "',' or ']'"),
        ("{a: 1}", Position(1, 2), "a key in double quotes"),
        ('["a\nb"]', Position(1, 4), "'\"', or an escape such as \\n"),
        ("[\n\n  tru]", Position(3, 3), "a JSON value"),
        ('"a" "b"', Position(1, 5), "the end of the text"),
        ("# c\n1", Position(1, 1), "a JSON value"),
        ('"a" // c', Position(1, 5), "the end of the text"),
        ("{} /* c */", Position(1, 4), "the end of the text"),
        ("[1]\n// c", Position(2, 1), "the end of the text"),
    ],
)
def test_what_is_refused_and_where(text: str, place: Position, expected: str) -> None:
    with pytest.raises(SchemaParseError) as caught:
        read_json(text)
    assert caught.value.position == place
    assert caught.value.expected == expected


def test_a_text_that_cannot_be_read_has_no_places() -> None:
    assert locate("{", ("a",)) is None
