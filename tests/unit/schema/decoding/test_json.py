"""JSON texts part by part: Python's parser reads the same values, and the places are bytes, not characters."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.schema.languages.jsonschema.schema import parse_json_schema
from counterfoil.schema.parsed import Validation
from strategies.avro.codec_outcomes import damaged
from strategies.json_schema.pairs import random_schema, random_value
from strategies.languages.decoded import check_partition, decoded, leaves

ANYTHING = parse_json_schema("{}", (), validation=Validation.LENIENT)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@given(VALUES, st.sampled_from([None, 1]), st.sampled_from(["utf-8", "ascii"]))
def test_a_text_is_what_the_parser_of_python_reads(value: Any, indent: int | None, encoding: str):
    body = json.dumps(value, indent=indent, ensure_ascii=encoding == "ascii").encode()
    found = decoded(ANYTHING, body)
    check_partition(found, body)
    assert (found.fault, found.rest) == (None, 0)
    assert found.value is not None
    assert json.loads(found.value) == value


def test_the_places_are_those_of_bytes_in_utf_8():
    body = '{"é": "ü", "a":[1, {}]}'.encode()
    found = decoded(ANYTHING, body)
    assert [(body[node.first : node.end].decode(), node.path, node.type, node.value) for node in found.nodes] == [
        ('{"é": "ü", "a":[1, {}]}', "", "object", None),
        ("{", "", "punctuation", '"{"'),
        ('"é": "ü"', "é", "string", '"ü"'),
        (", ", "", "punctuation", '", "'),
        ('"a":', "a", "name", '"a"'),
        ("[1, {}]", "a", "array", None),
        ("[", "a", "punctuation", '"["'),
        ("1", "a[0]", "number", "1"),
        (", ", "a", "punctuation", '", "'),
        ("{}", "a[1]", "object", None),
        ("{}", "a[1]", "punctuation", '"{}"'),
        ("]", "a", "punctuation", '"]"'),
        ("}", "", "punctuation", '"}"'),
    ]


def is_json(data: bytes) -> bool:
    try:
        json.loads(data.decode(), parse_constant=int)  # NaN and Infinity are no JSON
    except ValueError:
        return False
    return True


@pytest.mark.slow
def test_damaged_and_cut_bytes_have_a_fault_where_the_parser_of_python_refuses_them():
    random, refused = Random(6), 0
    text = json.dumps({"a": [1, -2.5e3, "x\u00e9\n"], "b": {"c": None, "d": True}, "e": "\\"}, ensure_ascii=False)
    body = text.encode()
    cases = [*(body[:cut] for cut in range(len(body))), *(damaged(random, body) for _ in range(1_500))]
    for data in cases:
        found = decoded(ANYTHING, data)
        check_partition(found, data)
        is_whole = found.fault is None and found.rest == 0
        assert is_whole == is_json(data), data
        refused += not is_whole
    assert 500 < refused < 1_550


def test_cut_bytes_have_the_same_parts_before_the_cut():
    body = b'{"ab": [true, "x"], "c": {"d": null}}'
    whole = leaves(decoded(ANYTHING, body))
    for cut in range(len(body)):
        found = leaves(decoded(ANYTHING, body[:cut]))
        if found and found[-1].type == "punctuation" and found[-1].end == cut:  # white space may follow
            assert found.pop().first == whole[len(found)].first
        assert found == whole[: len(found)]
        assert whole[len(found)].end >= cut


@pytest.mark.slow
def test_a_value_that_the_schema_does_not_accept_is_a_fault_at_its_place():
    random, refused = Random(8), 0
    for _ in range(400):
        document = random_schema(random, 7)
        value = random_value(random, document)
        schema = parse_json_schema(json.dumps(document), (), validation=Validation.LENIENT)
        body = json.dumps(value).encode()
        found = decoded(schema, body)
        is_valid = jsonschema.Draft7Validator(document).is_valid(value)
        if found.fault is not None:
            refused += 1
            assert not is_valid
            assert body[found.fault.offset : found.fault.offset + 1] not in {b",", b":", b" ", b"}", b"]"}
        elif not is_valid:
            pytest.fail(f"{document} does not accept {value}, and there is no fault")
    assert refused > 40


@pytest.mark.parametrize(
    ("text", "offset", "path", "expected"),
    [
        ("", 0, "", "a value of JSON"),
        ('{"a" 1}', 5, "", "a colon after the name"),
        ('{"a": 1 "b"', 8, "", "a comma or }"),
        ("{1}", 1, "", "a name in quotes"),
        ("[1,]", 3, "[1]", "a value of JSON"),
        ('["a', 3, "[0]", "the quote at the end of the string"),
        ('["\t"]', 2, "[0]", "an escape for it"),
        ('{"a": NaN}', 6, "a", "a value of JSON"),
    ],
)
def test_a_fault_says_where_it_is_and_what_would_be_right(text: str, offset: int, path: str, expected: str):
    fault = decoded(ANYTHING, text.encode()).fault
    assert fault is not None
    assert (fault.offset, fault.path, fault.expected) == (offset, path, expected)


def test_halves_of_surrogate_pairs_can_be_written_as_utf_8():
    found = decoded(ANYTHING, b'{"\\ud800": "\\udfff"}')
    assert found.fault is None
    assert "".join(node.path + (node.value or "") for node in found.nodes).encode().count(b"\\u") > 1
    assert (found.value or "").encode().count(b"\\u") == 2


def test_texts_inside_one_another_end_at_the_largest_depth():
    found = decoded(ANYTHING, b"[" * 10_000)
    assert found.fault is not None
    assert "deeper than 100 levels" in found.fault.message
