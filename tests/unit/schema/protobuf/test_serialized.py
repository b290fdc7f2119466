"""Descriptors as the registry gives them: what the text says and no more, and what the runtime's pool takes."""

from __future__ import annotations

from base64 import b64decode
from typing import Any

import pytest
from google.protobuf import descriptor_pool, message_factory, timestamp_pb2
from google.protobuf.descriptor_pb2 import FileDescriptorProto

from counterfoil.schema import SchemaType, parse_schema

TEXT = """syntax = "proto3";
package shop;

import "google/protobuf/timestamp.proto";

message Order {
  int64 id = 1;
  google.protobuf.Timestamp at = 2;
  map<string, Line> lines_by_sku = 3;
  repeated State states = 4 [json_name = "s"];
  optional string note = 5;
  oneof paid {
    string card = 6;
  }

  message Line {
    double price = 1;
  }
  enum State {
    OPEN = 0;
  }
}
"""


def descriptor(text: str) -> FileDescriptorProto:
    serialized = parse_schema(text, SchemaType.PROTOBUF).formatted("serialized")
    assert serialized is not None
    return FileDescriptorProto.FromString(b64decode(serialized))


def test_types_stand_as_they_are_written_and_nothing_is_derived():
    fields = {field.name: field for field in descriptor(TEXT).message_type[0].field}
    assert fields["at"].type_name == "google.protobuf.Timestamp"
    assert [field.name for field in fields.values() if field.HasField("json_name")] == ["states"]
    assert [field.name for field in fields.values() if field.HasField("label")] == ["lines_by_sku", "states", "note"]


def test_a_descriptor_pool_takes_it_and_messages_are_read():
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(timestamp_pb2.DESCRIPTOR.serialized_pb)
    pool.AddSerializedFile(descriptor(TEXT).SerializeToString())
    order: Any = message_factory.GetMessageClass(pool.FindMessageTypeByName("shop.Order"))
    made = order(id=7, note="x", states=[0])
    made.lines_by_sku["a"].price = 2.5
    assert order.FromString(made.SerializeToString()).lines_by_sku["a"].price == 2.5


@pytest.mark.parametrize("text", [TEXT, 'syntax = "proto3";\nmessage M {\n  int32 a = 1;\n}\n'])
def test_it_is_read_back_as_the_same_schema(text: str):
    schema = parse_schema(text, SchemaType.PROTOBUF)
    serialized = schema.formatted("serialized")
    assert serialized is not None
    assert parse_schema(serialized, SchemaType.PROTOBUF).normalized() == schema.normalized()


def test_other_forms_are_not_known():
    assert parse_schema(TEXT, SchemaType.PROTOBUF).formatted("resolved") is None
