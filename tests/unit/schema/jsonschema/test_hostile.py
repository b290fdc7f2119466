"""Texts made to break the reading of JSON schemas, and what follows: each ends in bounded time, with our own errors."""

from __future__ import annotations

import json
import tracemalloc
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.schema.errors import InvalidSchema, SchemaParseError
from counterfoil.schema.judgement import confirm_compatible
from counterfoil.schema.languages.jsonschema.schema import parse_json_schema
from counterfoil.schema.parsed import Validation
from counterfoil.schema.parsing import find_changes
from counterfoil.schema.patterns.matching import compile_pattern, fault_of_pattern, holds_match
from strategies.json_schema.schemas import json_schema_texts

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.timeout(300)
"""Every case below takes a second or two; on a machine with a hundred times the load it still ends in time."""


def status_of(action: Callable[[], Any]) -> int:
    """What a registry would answer; any other exception comes through."""
    try:
        action()
    except InvalidSchema as error:
        return error.status
    return 200


def nested(head: str, tail: str, depth: int) -> str:
    return head * depth + "{}" + tail * depth


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(nested('{"not":', "}", 10_000), id="not"),
        pytest.param(nested('{"properties":{"a":', "}}", 10_000), id="properties"),
        pytest.param(nested('{"anyOf":[', "]}", 10_000), id="any-of"),
        pytest.param('{"x":' + "[" * 1_000_000, id="brackets"),
        pytest.param('{"enum":[' + nested("[", "]", 300) + "]}", id="enum"),
    ],
)
def test_depth_is_refused(text: str):
    with pytest.raises(SchemaParseError, match="nests too deep"):
        parse_json_schema(text)


def test_depth_within_the_limit_is_read_printed_and_compared():
    text = nested('{"properties":{"a":', "}}", 99)
    schema = parse_json_schema(text)
    assert schema.canonical() == schema.normalized() == text
    assert find_changes(schema, parse_json_schema(text)) == []


@pytest.mark.slow
def test_ten_megabytes_are_read():
    properties = {f"p{index}": {"type": "string", "description": "x" * 60} for index in range(100_000)}
    text = json.dumps({"properties": properties})
    assert len(text) > 10_000_000
    schema = parse_json_schema(text)
    assert len(schema.document["properties"]) == 100_000
    assert schema.canonical().startswith('{"properties":{"p0":{"type":"string"')


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('{"minimum": ' + "1" * 2_000 + "}", id="digits"),
        pytest.param('{"minimum": 1e99999999999}', id="exponent"),
        pytest.param('{"x": 1e-99999999999}', id="negative-exponent"),
    ],
)
def test_numbers_beyond_computing_are_refused(text: str):
    with pytest.raises(SchemaParseError):
        parse_json_schema(text)


REFERENCES = {
    "itself": {"$ref": "#"},
    "each-other": {
        "definitions": {"a": {"$ref": "#/definitions/b"}, "b": {"$ref": "#/definitions/a"}},
        "$ref": "#/definitions/a",
    },
    "required-for-ever": {"type": "object", "required": ["a"], "properties": {"a": {"$ref": "#"}}},
    "list": {"properties": {"next": {"$ref": "#"}, "value": {"type": "string"}}},
    "chain": {
        "definitions": {**{f"d{i}": {"$ref": f"#/definitions/d{i + 1}"} for i in range(3_000)}, "d3000": {}},
        "$ref": "#/definitions/d0",
    },
    "doubling": {
        "definitions": {
            **{f"d{i}": {"anyOf": [{"$ref": f"#/definitions/d{i + 1}"}] * 2} for i in range(60)},
            "d60": {"type": "string"},
        },
        "$ref": "#/definitions/d0",
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("name", REFERENCES)
def test_references_that_never_end_end(name: str):
    text = json.dumps(REFERENCES[name])
    earlier, later = parse_json_schema(text), parse_json_schema(text.replace('"string"', '"integer"'))
    find_changes(earlier, later)
    confirm_compatible(later, earlier, 3)


@pytest.mark.slow
@pytest.mark.parametrize(
    "keywords",
    [
        {"type": "string", "minLength": 10**900},
        {"type": "array", "minItems": 10**12, "items": {"type": "string"}},
        {"type": "object", "minProperties": 10**12},
        {"type": "string", "pattern": "(a+)+$", "minLength": 40},
        {"type": "string", "pattern": "((a{1,1000}){1,1000}){1,1000}"},
        {"type": "string", "pattern": "(" * 5_000 + ")" * 5_000},
        {"type": "string", "pattern": "(a|b)" * 50_000},
        {"oneOf": [{"properties": {f"p{i}": {"type": "string"}}} for i in range(1_000)]},
        {"enum": [*range(100_000)]},
    ],
    ids=lambda keywords: next(keyword for keyword in keywords if keyword != "type"),
)
def test_values_of_any_schema_are_looked_for_in_bounded_time(keywords: dict[str, Any]):
    schema = parse_json_schema(json.dumps(keywords))
    other = parse_json_schema('{"type": "boolean"}')
    confirm_compatible(other, schema, 20)


@pytest.mark.parametrize(
    "text",
    [
        '{"type":"number","minimum":1e400,"multipleOf":1e-400}',
        '{"type":"number","minimum":1e2000000000,"multipleOf":3}',
        '{"type":"number","multipleOf":1e-2000000000}',
        '{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"array","minItems":1e2000000000}',
    ],
)
def test_numbers_of_any_size_are_taken_along(text: str):
    schema = parse_json_schema(text)
    assert confirm_compatible(schema, schema, 5).counter_witness is None


def test_a_search_for_a_pattern_is_given_up_in_time():
    assert holds_match("^(([a-z])+.)+[A-Z]([a-z])+$", "a" * 5_000) in (None, False)


def test_an_exploding_pattern_is_given_up_as_unknown():
    assert holds_match(r"^(a|a|aa)+$", "a" * 200 + "b", timeout_s=0.01) in (None, False)


@pytest.mark.parametrize("pattern", ["[", "(", "a)", "*a", "a|*", "(?:", "a\\", "[^", "(*a)"])
def test_patterns_of_no_dialect_are_refused(pattern: str):
    assert fault_of_pattern(pattern)
    with pytest.raises(SchemaParseError, match="pattern"):
        parse_json_schema(json.dumps({"pattern": pattern}))


@pytest.mark.parametrize(
    "pattern",
    [
        "",
        "^$",
        "[]a]",
        "[^]]",
        "\\Q[(\\E",
        "(?<n>a)",
        "a++",
        "(?i)x",
        "\\[",
        "\\p{L}+",
        "a{2,3}?",
        "\\/",
        "\\cA",
        "x\\z",
    ],
)
def test_patterns_of_some_dialect_are_read(pattern: str):
    assert fault_of_pattern(pattern) is None
    assert compile_pattern(pattern) is not None


def test_a_pattern_of_another_dialect_is_a_warning():
    schema = parse_json_schema('{"pattern": "\\\\p{InNoSuchBlock}"}')
    assert [warning.rule for warning in schema.warnings()] == ["unreadable-pattern"]


def test_a_parsed_schema_of_fifty_fields_is_small():
    properties = {f"field_{index}": {"type": "string", "maxLength": index} for index in range(50)}
    text = json.dumps({"type": "object", "properties": properties, "required": [*properties][:10]})
    tracemalloc.start()
    try:
        schema = parse_json_schema(text)
        schema.canonical()
        size_bytes = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert schema.document
    assert size_bytes < 100_000


@given(st.text(max_size=60) | st.text('{}[]":,truefalsn01.-+eE\\u$id', max_size=60))
def test_any_text_is_read_or_refused(text: str):
    assert status_of(lambda: parse_json_schema(text)) in (200, 422)


@given(json_schema_texts(), st.data())
def test_one_changed_character_is_read_or_refused(text: str, data: st.DataObject):
    at = data.draw(st.integers(0, len(text)))
    changed = text[:at] + data.draw(st.sampled_from(['"', "{", "]", ",", "1", "x", "\\", " "])) + text[at + 1 :]
    assert status_of(lambda: parse_json_schema(changed).warnings()) in (200, 422)


@given(
    st.dictionaries(
        st.sampled_from(
            [
                "type",
                "items",
                "properties",
                "$ref",
                "$id",
                "required",
                "enum",
                "not",
                "pattern",
                "minimum",
                "dependencies",
                "anyOf",
            ]
        ),
        st.none()
        | st.booleans()
        | st.integers()
        | st.sampled_from(["string", "#", "#/x", "a b", "["])
        | st.lists(st.integers())
        | st.just({}),
        max_size=4,
    )
)
def test_keywords_of_any_shape_are_read_or_refused(keywords: dict[str, Any]):
    empty = parse_json_schema("{}")
    assert status_of(lambda: find_changes(parse_json_schema(json.dumps(keywords)), empty)) in (200, 422)


@given(
    st.dictionaries(
        st.sampled_from(
            ["type", "items", "properties", "$id", "required", "enum", "dependencies", "oneOf", "minItems"]
        ),
        st.recursive(
            st.none() | st.integers(-1, 2) | st.sampled_from(["string", "#", "["]),
            lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["type", "a"]), inner),
            max_leaves=4,
        ),
        max_size=4,
    )
)
def test_stored_schemas_of_any_shape_are_reported_about(keywords: dict[str, Any]):
    stored = parse_json_schema(json.dumps(keywords), validation=Validation.LENIENT)
    other = parse_json_schema('{"properties": {"a": {}}}')
    assert status_of(lambda: [*find_changes(stored, other), *find_changes(other, stored)]) in (200, 422)
    assert status_of(lambda: (confirm_compatible(other, stored, 3), confirm_compatible(stored, other, 3))) == 200
    assert isinstance(stored.warnings(), list)
