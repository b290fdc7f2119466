"""Tags in schemas: found, added, removed, in each language."""

from __future__ import annotations

import json

import pytest

from counterfoil.schema import InvalidSchema, SchemaType, parse_schema
from counterfoil.schema.marks import Entity, EntityKind, TagEdit, matches_path
from counterfoil.schema.tags import edit_tags, find_tags, tags_by_entity

AVRO = """{"type":"record","name":"Order","namespace":"shop","fields":[
  {"name":"id","type":"long","confluent:tags":["PII"]},
  {"name":"lines","type":{"type":"array","items":{"type":"record","name":"Line","fields":[{"name":"sku","type":"string"}]}}}
],"confluent:tags":["A"]}"""
PROTOBUF = """syntax = "proto3";
package shop;

import "confluent/meta.proto";

message Order {
  option (confluent.message_meta).tags = "A";

  int64 id = 1 [(confluent.field_meta) = {doc: "the id", tags: ["PII"]}];
  oneof paid {
    string card = 2;
  }
  message Line {
    string sku = 1;
  }
}
"""
JSON = """{"type":"object","title":"Order","confluent:tags":["A"],"properties":{
  "id":{"type":"integer","minimum":1.0,"confluent:tags":["PII"]},
  "lines":{"type":"array","items":{"type":"object","properties":{"sku":{"type":"string"}}}}}}"""

SCHEMAS = {
    SchemaType.AVRO: (AVRO, "shop.Order", "shop.Order.id", ["shop.Order.lines", "shop.Line", "shop.Line.sku"]),
    SchemaType.PROTOBUF: (PROTOBUF, "shop.Order", "shop.Order.id", ["shop.Order.card", "shop.Order.Line"]),
    SchemaType.JSON: (JSON, "object", "object.id", ["object.lines", "object.lines.array.object.sku"]),
}


def record(path: str) -> Entity:
    return Entity(path, EntityKind.RECORD)


def field(path: str) -> Entity:
    return Entity(path, EntityKind.FIELD)


@pytest.mark.parametrize("schema_type", SCHEMAS)
def test_everything_that_can_carry_tags_is_found_with_those_it_carries(schema_type: SchemaType):
    text, root, tagged, others = SCHEMAS[schema_type]
    found = find_tags(parse_schema(text, schema_type))
    assert dict(found)[record(root)] == ("A",)
    assert dict(found)[field(tagged)] == ("PII",)
    assert {entity.path for entity, tags in found if not tags} >= set(others)


@pytest.mark.parametrize("schema_type", SCHEMAS)
def test_tags_are_added_and_removed_and_nothing_else_changes(schema_type: SchemaType):
    text, root, tagged, others = SCHEMAS[schema_type]
    schema = parse_schema(text, schema_type)
    last = next(entity for entity, _ in find_tags(schema) if entity.path == others[-1])
    edit = TagEdit(
        add={field(tagged): ("B", "PII", "C"), last: ("NEW",)}, remove={record(root): ("A",), field(tagged): ("C",)}
    )
    edited = parse_schema(edit_tags(schema, edit), schema_type)
    tags = {entity: found for entity, found in find_tags(edited) if found}
    assert tags == {field(tagged): ("PII", "B"), last: ("NEW",)}
    back = TagEdit(add={record(root): ("A",)}, remove={field(tagged): ("B",), last: ("NEW",)})
    assert dict(find_tags(parse_schema(edit_tags(edited, back), schema_type))) == dict(find_tags(schema))


def test_an_edit_of_nothing_is_the_canonical_text():
    for schema_type, (text, *_) in SCHEMAS.items():
        schema = parse_schema(text, schema_type)
        assert edit_tags(schema, TagEdit()) == schema.canonical()


def test_new_tags_stand_last_where_the_reference_puts_them():
    schema = parse_schema('{"type":"record","name":"R","fields":[{"name":"a","type":"int","default":1}]}')
    edited = edit_tags(schema, TagEdit(add={field("R.a"): ("X", "B"), record("R"): ("Y",)}))
    assert json.loads(edited) == {
        "type": "record",
        "name": "R",
        "fields": [{"name": "a", "type": "int", "default": 1, "confluent:tags": ["X", "B"]}],
        "confluent:tags": ["Y"],
    }
    assert edited.endswith('"confluent:tags":["Y"]}')


def test_protobuf_imports_what_declares_the_options():
    schema = parse_schema('syntax = "proto3"; message M { int32 a = 1; }', SchemaType.PROTOBUF)
    edited = edit_tags(schema, TagEdit(add={field("M.a"): ("PII",)}))
    assert 'import "confluent/meta.proto";' in edited
    assert dict(find_tags(parse_schema(edited, SchemaType.PROTOBUF)))[field("M.a")] == ("PII",)


@pytest.mark.parametrize("schema_type", SCHEMAS)
def test_an_entity_that_is_not_there_is_named_with_those_that_are(schema_type: SchemaType):
    text, _, tagged, _ = SCHEMAS[schema_type]
    with pytest.raises(InvalidSchema, match=f"no sr_field 'nowhere'.*{tagged}"):
        edit_tags(parse_schema(text, schema_type), TagEdit(add={field("nowhere"): ("X",)}))


@pytest.mark.parametrize(
    ("pattern", "path", "is_meant"),
    [
        ("shop.Order.id", "shop.Order.id", True),
        ("shop.Order.id", "shopxOrder.id", False),
        ("**.id", "shop.Order.id", True),
        ("**.id", "shop.Order.paid", False),
        ("shop.*.id", "shop.Order.id", True),
        ("shop.*.id", "shop.Order.line.id", False),
        ("shop.Order.i?", "shop.Order.id", True),
        ("shop.Order.i?", "shop.Order.ids", False),
        ("**", "object", True),
        ("*y" * 100 + "x", "y" * 2000, False),
        ("a**", "a", True),
        ("", "a", False),
    ],
)
def test_paths_with_wildcards(pattern: str, path: str, *, is_meant: bool):
    assert matches_path(pattern, path) is is_meant


@pytest.mark.parametrize("schema_type", SCHEMAS)
def test_metadata_gives_tags_by_path_beside_those_in_the_text(schema_type: SchemaType):
    text, root, tagged, others = SCHEMAS[schema_type]
    schema = parse_schema(text, schema_type)
    found = tags_by_entity(schema, {"**.id": ("KEY", "PII"), others[-1]: ("X",)})
    last = next(entity for entity, _ in find_tags(schema) if entity.path == others[-1])
    assert found == {record(root): ("A",), field(tagged): ("PII", "KEY"), last: ("X",)}


def test_a_leading_dot_says_nothing():
    assert Entity.named(".a.b", "sr_field") == field("a.b")
    with pytest.raises(InvalidSchema, match="sr_record or sr_field"):
        Entity.named("a", "sr_enum")
