"""Outlines of Protobuf and JSON Schema texts. Those of Avro are beside the tree's tests."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.contracts.project.languages import has_schema_suffix, language_of, stem_of
from counterfoil.schema.model import SchemaType
from counterfoil.schema.parsing import outline
from counterfoil.schema.texts import Position

PROTO = """\
// message Comment {}  package no;
syntax = "proto3";  /* import "no.proto"; message Other { */
package shop . not_read;
package shop.v1;
import "a/b.proto";
  import public 'c.proto';
import weak "d.proto";
option (x) = { message: "message Text {" };
enum E { A = 0; }
message Order { message Inner {} string message = 1; }
message Second {}
"""


def of_json(document):
    return outline(json.dumps(document), SchemaType.JSON)


def test_package_message_and_imports():
    found = outline(PROTO, SchemaType.PROTOBUF)
    assert found.name == "shop.v1.Order"
    assert [(use.names, use.position(PROTO)) for use in found.used] == [
        (("a/b.proto",), Position(5, 8)),
        (("c.proto",), Position(6, 17)),
        (("d.proto",), Position(7, 13)),
    ]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("", None),
        ("enum E { A = 0; }", None),
        ("message M {}", "M"),
        ("export message M {}", "M"),
        ("local message M {}", "M"),
        ("message M {", "M"),
        ("}}} message M {}", "M"),
        ("service message {} message M {}", "M"),
        ('option a = "message X {"; message M {}', "M"),
    ],
)
def test_the_first_message(text, name):
    assert outline(text, SchemaType.PROTOBUF).name == name


@given(st.text(alphabet="\"'\\/*{};.\n ainmpeorstgku", max_size=200))
def test_any_text_has_a_protobuf_outline(text):
    assert outline(text, SchemaType.PROTOBUF) is not None


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["/*", '\\"', "'", '"\\', "import ", "{", "message M {", "//"])
@pytest.mark.timeout(120)  # each takes less than a second
def test_outlines_of_long_texts_end(piece):
    assert outline(piece * 100_000, SchemaType.PROTOBUF) is not None


def test_identifiers_and_references():
    found = of_json(
        {
            "$id": "https://x.example/a/order.json",
            "title": "Order",
            "properties": {
                "default": {"$ref": "b.json#/x"},  # a property's name is no keyword
                "own": {"$ref": "#/properties"},
                "self": {"$ref": "order.json"},
                "part": {"$id": "/c/", "items": {"$dynamicRef": "d"}},
                "data": {"const": {"$ref": "no"}, "examples": [{"$ref": "no"}]},
                "$ref": {"type": "string"},
            },
        }
    )
    assert found.name == "https://x.example/a/order.json"
    assert found.declared == {"https://x.example/a/order.json", "https://x.example/c/"}
    assert [use.names for use in found.used] == [
        ("https://x.example/a/b.json", "b.json"),
        ("https://x.example/c/d", "d"),
    ]
    assert found.used[0].place == ("properties", "default", "$ref")


@pytest.mark.parametrize(
    ("document", "name"),
    [
        ({"title": "T"}, "T"),
        ({"title": 5, "$id": 5}, None),
        ({"id": "i", "$schema": "http://json-schema.org/draft-04/schema#"}, "i"),
        ({"id": "i"}, None),
        (True, None),
        ([], None),
    ],
)
def test_what_a_json_schema_is_known_by(document, name):
    assert of_json(document).name == name


def test_what_is_no_json_has_no_outline():
    assert outline("{", SchemaType.JSON) is None
    assert outline('{"items":' * 5000, SchemaType.JSON) is None


KEYS = st.sampled_from(["$id", "id", "$ref", "properties", "items", "$defs", "enum", "title", "$schema", "a/b"])
JSON = st.recursive(
    st.none() | st.text() | st.sampled_from(["#", "#/x", "http://[", "a.json", "../b#c", "urn:x", "//"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)


@pytest.mark.slow
@given(JSON)
def test_any_json_has_an_outline(value):
    found = of_json(value)
    assert all(use.position(json.dumps(value)) for use in found.used)


@pytest.mark.parametrize(
    ("path", "schema_type", "stem", "is_found"),
    [
        ("a/order.avsc", "AVRO", "order", True),
        ("a/orders-value.proto", "PROTOBUF", "orders-value", True),
        ("orders-value.schema.json", "JSON", "orders-value", True),
        ("order.jsonschema", "JSON", "order", True),
        ("orders-key.json", "JSON", "orders-key", False),
        ("order.txt", "AVRO", "order.txt", False),
    ],
)
def test_languages_of_files(path, schema_type, stem, is_found):
    assert (language_of(path), stem_of(path), has_schema_suffix(path)) == (schema_type, stem, is_found)
