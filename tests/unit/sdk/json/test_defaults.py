"""The defaults of a reader's schema, in values that were written before the properties existed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from counterfoil.schema.languages.jsonschema.schema import parse_json_schema
from counterfoil.sdk.serde.json import JsonCodec
from strategies.json_schema.schemas import json_schemas, json_values

TIP = {"type": "number", "default": 0.5}
MODERN = {"$schema": "https://json-schema.org/draft/2020-12/schema"}


def read(schema: Any, value: Any, **options: Any) -> Any:
    reader = parse_json_schema(json.dumps(schema))
    decode = JsonCodec(validate=False, **options).decoder(parse_json_schema("true"), reader, b"")
    return decode(json.dumps(value).encode(), 0)


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        ({"properties": {"tip": TIP}}, {"id": 1}, {"id": 1, "tip": 0.5}),
        ({"properties": {"tip": TIP}}, {"tip": None}, {"tip": None}),
        ({"properties": {"tip": TIP}}, [], []),
        ({"properties": {"a": {"default": None}, "b": {"default": 2**70}}}, {}, {"a": None, "b": 2**70}),
        ({"items": {"properties": {"tip": TIP}}}, [{}, 5, {"tip": 1}], [{"tip": 0.5}, 5, {"tip": 1}]),
        ({"items": [True, {"properties": {"tip": TIP}}]}, [{}, {}], [{}, {"tip": 0.5}]),
        ({**MODERN, "prefixItems": [{"properties": {"tip": TIP}}]}, [{}, {}], [{"tip": 0.5}, {}]),
        ({"additionalProperties": {"properties": {"tip": TIP}}}, {"a": {}}, {"a": {"tip": 0.5}}),
        (
            {"patternProperties": {"^x-": {"properties": {"tip": TIP}}}},
            {"x-a": {}, "b": {}},
            {"x-a": {"tip": 0.5}, "b": {}},
        ),
        (
            {"allOf": [{"$ref": "#/definitions/r"}], "definitions": {"r": {"properties": {"tip": TIP}}}},
            {},
            {"tip": 0.5},
        ),
        ({"properties": {"tip": {"$ref": "#/definitions/t"}}, "definitions": {"t": TIP}}, {}, {"tip": 0.5}),
        ({"oneOf": [{"type": "null"}, {"type": "object", "properties": {"tip": TIP}}]}, {}, {"tip": 0.5}),
        ({"oneOf": [{"type": "null"}, {"type": "object", "properties": {"tip": TIP}}]}, None, None),
        (
            {
                "anyOf": [
                    {"properties": {"kind": {"const": "cab"}, "tip": TIP}, "required": ["kind"]},
                    {"properties": {"kind": {"const": "bus"}, "line": {"default": "M1"}}, "required": ["kind"]},
                ]
            },
            {"kind": "bus"},
            {"kind": "bus", "line": "M1"},
        ),
        (
            {
                "if": {"required": ["a"]},
                "then": {"properties": {"tip": TIP}},
                "else": {"properties": {"b": {"default": 1}}},
            },
            {"a": 1},
            {"a": 1, "tip": 0.5},
        ),
        (
            {
                "if": {"required": ["a"]},
                "then": {"properties": {"tip": TIP}},
                "else": {"properties": {"b": {"default": 1}}},
            },
            {},
            {"b": 1},
        ),
        (
            {"properties": {"next": {"$ref": "#"}, "tip": TIP}},
            {"next": {"next": {}}},
            {"next": {"next": {"tip": 0.5}, "tip": 0.5}, "tip": 0.5},
        ),
        ({"properties": {"next": {"allOf": [{"$ref": "#"}], "default": {}}}}, {}, {"next": {}}),
        ({"properties": {"place": {"properties": {"zone": {"default": 1}}}}}, {}, {}),
        ({"properties": {"tip": {"$ref": "#/definitions/t", "default": 9}}, "definitions": {"t": {}}}, {}, {}),
        ({**MODERN, "properties": {"tip": {"$ref": "#/$defs/t", "default": 9}}, "$defs": {"t": {}}}, {}, {"tip": 9}),
        (
            {"oneOf": [{"type": "integer"}, {"properties": {"n": {"type": "integer"}, "t": TIP}}]},
            {"n": 1.0},
            {"n": 1.0, "t": 0.5},
        ),
    ],
)
def test_a_missing_property_gets_its_default(schema: Any, value: Any, expected: Any):
    assert read(schema, value) == expected
    assert read(schema, value, adds_defaults=False) == value


def test_every_message_has_its_own_default():
    decode = JsonCodec().decoder(None, parse_json_schema('{"properties": {"tags": {"default": [1.0]}}}'), b"")
    first, second = decode(b"{}", 0), decode(b"{}", 0)
    first["tags"].append(2)
    assert second == {"tags": [1.0]}
    assert type(second["tags"][0]) is float


def test_defaults_come_before_validation():
    schema = parse_json_schema('{"properties": {"tip": {"default": 1}}, "required": ["tip"]}')
    writer = parse_json_schema("{}")
    assert JsonCodec().decoder(writer, schema, b"")(b"{}", 0) == {"tip": 1}


@given(json_schemas(), json_values)
def test_defaults_change_no_value_that_is_there(schema: Any, value: Any):
    assert read({**schema, "default": 5}, value) == value
