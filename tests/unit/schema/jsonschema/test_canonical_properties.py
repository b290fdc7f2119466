"""What holds for the texts of every JSON schema."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.schema.languages.jsonschema.json_values import print_exact, read_exact_json
from counterfoil.schema.languages.jsonschema.schema import parse_json_schema
from strategies.json_schema.schemas import json_schema_texts, json_schemas, json_values


@given(json_schema_texts())
def test_canonical_text_is_its_own_canonical_text(text: str):
    once = parse_json_schema(text).canonical()
    assert parse_json_schema(once).canonical() == once


@given(json_schema_texts())
def test_normalised_text_is_its_own_normalised_and_canonical_text(text: str):
    once = parse_json_schema(text).normalized()
    again = parse_json_schema(once)
    assert (again.normalized(), again.canonical()) == (once, once)


@given(json_schema_texts())
def test_texts_keep_the_content(text: str):
    schema = parse_json_schema(text)
    assert json.loads(schema.canonical()) == json.loads(schema.normalized()) == json.loads(text)


@given(json_schemas(), st.data())
def test_the_order_of_keys_is_the_only_thing_that_normalising_changes(schema: dict[str, Any], data: st.DataObject):
    shuffled = dict(data.draw(st.permutations([*schema.items()])))
    first, second = (parse_json_schema(json.dumps(one)) for one in (schema, shuffled))
    assert first.normalized() == second.normalized()
    assert first.is_equivalent(second) == ([*schema] == [*shuffled])


@given(json_values)
def test_printed_values_read_as_themselves(value: Any):
    assert read_exact_json(print_exact(value)) == read_exact_json(json.dumps(value))


@given(st.decimals(allow_nan=False, allow_infinity=False))
def test_numbers_keep_their_value_and_their_digits(number: Decimal):
    printed = print_exact(number)
    assert Decimal(printed) == number
    assert print_exact(read_exact_json(printed)) == printed


@pytest.mark.parametrize(
    ("sent", "printed"),
    [
        ("1.0", "1.0"),
        ("-0.0", "0.0"),
        ("-0", "0"),
        ("5e0", "5"),
        ("0.1e1", "1"),
        ("-1.20e-3", "-0.00120"),
        ("1e-7", "1E-7"),
        ("1e400", "1E+400"),
        ("12345678901234567890", "12345678901234567890"),
        ("0.1234567890123456789", "0.1234567890123456789"),
    ],
)
def test_numbers_are_printed_as_exact_decimals(sent: str, printed: str):
    assert parse_json_schema(f'{{"x": {sent}}}').canonical() == f'{{"x":{printed}}}'


def test_tags_and_unknown_keywords_are_kept():
    text = '{"properties":{"ssn":{"type":"string","confluent:tags":["PII"]}},"x-mine":{"b":[1.50],"a":null}}'
    schema = parse_json_schema(text)
    assert schema.canonical() == text
    assert schema.normalized() == (
        '{"properties":{"ssn":{"confluent:tags":["PII"],"type":"string"}},"x-mine":{"a":null,"b":[1.50]}}'
    )


def test_keys_sort_as_java_sorts_strings():
    schema = parse_json_schema('{"\\ue000": 1, "\\ud83d\\ude00": 2}')
    assert [*json.loads(schema.normalized())] == ["\U0001f600", "\ue000"]
