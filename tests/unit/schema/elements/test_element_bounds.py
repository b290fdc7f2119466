"""The number of rows of schemas whose names repeat, and what the walk does for them, both counted."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.schema.elements import declared_types, find_elements
from counterfoil.schema.languages.element_rows import CHARACTERS_A_ROW, FREE_ROWS
from counterfoil.schema.languages.table import parse_schema
from counterfoil.schema.model import SchemaType

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from counterfoil.schema.parsed import ParsedSchema


def doubling_avro(levels: int) -> str:
    """Return a record whose fields double at each level: two fields of the record before."""
    inner: Any = "int"
    for level in range(levels):
        name = f"R{level}"
        previous = inner if level < 1 else f"R{level - 1}"
        inner = {
            "type": "record",
            "name": name,
            "fields": [{"name": "a", "type": inner}, {"name": "b", "type": previous}],
        }
    return json.dumps(inner)


def doubling_protobuf(levels: int) -> str:
    """Return messages with two fields of the next one each."""
    messages = [f"message M{level} {{ M{level + 1} a = 1; M{level + 1} b = 2; }}" for level in range(levels)]
    return f'syntax = "proto3"; {" ".join(messages)} message M{levels} {{ int32 a = 1; }}'


def doubling_json(levels: int) -> str:
    """Return definitions with two properties of the next one each."""
    definitions: dict[str, Any] = {
        f"d{level}": {"properties": {each: {"$ref": f"#/definitions/d{level + 1}"} for each in "ab"}}
        for level in range(levels)
    }
    definitions[f"d{levels}"] = {"type": "integer"}
    return json.dumps({"properties": {"x": {"$ref": "#/definitions/d0"}}, "definitions": definitions})


def bases_json(count: int) -> str:
    """Return many properties that all have the many properties of one base."""
    base = {"properties": {f"p{at}": {"type": "integer"} for at in range(count)}}
    properties = {f"q{at}": {"allOf": [{"$ref": "#/definitions/base"}]} for at in range(count)}
    return json.dumps({"properties": properties, "definitions": {"base": base}})


def circles_json(count: int) -> str:
    """Return definitions that each are all the others."""
    names = [f"d{at}" for at in range(count)]
    each = {name: {"allOf": [{"$ref": f"#/definitions/{other}"} for other in names]} for name in names}
    properties = {name: {"$ref": f"#/definitions/{name}"} for name in names}
    return json.dumps({"properties": properties, "definitions": each})


def long_names_avro(count: int) -> str:
    """Return a record with a name of many characters, inside which are many fields."""
    inner = [{"name": f"f{at}", "type": "int"} for at in range(count)]
    record = {"type": "record", "name": "I", "fields": inner}
    return json.dumps({"type": "record", "name": "R", "fields": [{"name": "n" * 50 * count, "type": record}]})


def long_namespaces_avro(count: int) -> str:
    """Return a record whose long full name many fields have as their type."""
    fields = [{"name": f"f{at}", "type": ["null", "R"]} for at in range(count)]
    return json.dumps({"type": "record", "name": "R", "namespace": "n" * 50 * count, "fields": fields})


def chain_protobuf(count: int) -> str:
    """Return messages that each have a field of the next one."""
    messages = [f"message M{at} {{ M{at + 1} next = 1; }}" for at in range(count)]
    return f'syntax = "proto3"; {" ".join(messages)} message M{count} {{ int32 a = 1; }}'


SHARED = [
    pytest.param(doubling_avro, 16, SchemaType.AVRO, id="avro-doubling"),
    pytest.param(doubling_protobuf, 40, SchemaType.PROTOBUF, id="protobuf-doubling"),
    pytest.param(doubling_json, 40, SchemaType.JSON, id="json-doubling"),
    pytest.param(bases_json, 120, SchemaType.JSON, id="json-bases"),
    pytest.param(circles_json, 16, SchemaType.JSON, id="json-circles"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("make", "size", "schema_type"), SHARED)
def test_the_rows_of_repeated_types_are_bounded_by_the_text(
    make: Callable[[int], str], size: int, schema_type: SchemaType
):
    schema = parse_schema(make(size), schema_type)
    rows = find_elements(schema)
    assert len(rows) <= FREE_ROWS + len(schema.text) // CHARACTERS_A_ROW
    assert len(rows) >= size


LINEAR = [
    *SHARED,
    pytest.param(long_names_avro, 300, SchemaType.AVRO, id="avro-long-names"),
    pytest.param(long_namespaces_avro, 300, SchemaType.AVRO, id="avro-long-namespaces"),
    pytest.param(chain_protobuf, 300, SchemaType.PROTOBUF, id="protobuf-chain"),
]


def calls_of(schema: ParsedSchema) -> int:
    """Return how many functions are called for the elements and types of a schema."""
    total = 0

    def counted(_frame: FrameType, event: str, _arg: object) -> None:
        nonlocal total
        total += event in ("call", "c_call")

    sys.setprofile(counted)
    try:
        find_elements(schema)
        declared_types(schema)
    finally:
        sys.setprofile(None)
    return total


@pytest.mark.slow
@pytest.mark.parametrize(("make", "size", "schema_type"), LINEAR)
def test_twice_the_schema_takes_at_most_twice_the_calls(make: Callable[[int], str], size: int, schema_type: SchemaType):
    """With a margin for the walks that end early; a cost that grows with the square would be four times as much."""
    small, large = (parse_schema(make(each), schema_type) for each in (size, 2 * size))
    growth = len(large.text) / len(small.text)
    assert calls_of(large) <= 1.5 * growth * calls_of(small)


@pytest.mark.slow
def test_the_characters_of_rows_are_bounded_by_the_text():
    for make in (long_names_avro, long_namespaces_avro):
        schema = parse_schema(make(1_000))
        rows = find_elements(schema)
        assert sum(len(row.path) + len(row.type) for row in rows) <= 3_000_000 + 25 * len(schema.text)


def test_a_schema_that_is_in_itself_ends():
    text = {"type": "record", "name": "A", "fields": [{"name": "a", "type": {"type": "array", "items": "A"}}]}
    assert [row.path for row in find_elements(parse_schema(json.dumps(text)))] == ["a"]
    schema = parse_schema(
        '{"properties": {"a": {"$ref": "#"}, "b": {"allOf": [{"$ref": "#/properties/b"}]}}}', SchemaType.JSON
    )
    assert [row.path for row in find_elements(schema)] == ["a", "b"]


def test_of_many_rows_small_types_are_still_expanded_everywhere():
    """A type of two fields is found at each of its thousand uses, and one of a hundred fields at its first use."""
    money = {
        "type": "record",
        "name": "Money",
        "fields": [{"name": each, "type": "long"} for each in ("amount", "unit")],
    }
    large = {"type": "record", "name": "Large", "fields": [{"name": f"l{at}", "type": "int"} for at in range(100)]}
    fields = [{"name": f"m{at}", "type": "Money" if at else money} for at in range(1_000)]
    fields += [{"name": f"x{at}", "type": "Large" if at else large} for at in range(50)]
    paths = [
        row.path for row in find_elements(parse_schema(json.dumps({"type": "record", "name": "R", "fields": fields})))
    ]
    assert "m999.amount" in paths
    assert "x0.l99" in paths
    assert "x1.l99" not in paths
