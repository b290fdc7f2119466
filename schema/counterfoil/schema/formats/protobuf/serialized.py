"""A schema as a base64 ``FileDescriptorProto``, in the form in which the reference registry gives it.

It says what the text says and no more: types as they are written, no ``json_name`` that is only derived, no label that
is only implied. Descriptor pools resolve such names as protoc does. One thing differs from the reference: the entry of
a map has the name that pools ask for (``TagsEntry`` of ``tags``); the reference's ``tagsEntry`` is refused by them.

Source: recorded answers of Confluent Schema Registry 8.5 to ``format=serialized``; ``descriptor.proto``.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto

from counterfoil.schema.formats.protobuf.descriptors import file_descriptor

if TYPE_CHECKING:
    from google.protobuf.descriptor_pb2 import DescriptorProto

    from counterfoil.schema.formats.protobuf.ast import Field, Message
    from counterfoil.schema.formats.protobuf.schema import ProtobufSchema


def print_serialized(schema: ProtobufSchema) -> str:
    """The descriptor of the schema's file in base64. Raises ``InvalidSchema`` where it has none."""
    file = FileDescriptorProto.FromString(file_descriptor(schema))
    for message, node in zip(file.message_type, schema.file.messages, strict=False):
        _as_written(message, node)
    return base64.b64encode(file.SerializeToString(deterministic=True)).decode()


def _as_written(message: DescriptorProto, node: Message) -> None:
    field_by_number = {field.number: field for field in message.field}
    for written in node.all_fields:
        field = field_by_number.get(written.number)
        if field is not None and field.name == written.name:
            _field_as_written(field, written)
    inner_by_name = {inner.name: inner for inner in message.nested_type}
    for inner in node.messages:
        if inner.name in inner_by_name:
            _as_written(inner_by_name[inner.name], inner)
    for entry in message.nested_type:
        if entry.options.map_entry:
            _entry_as_written(entry)


def _field_as_written(field: FieldDescriptorProto, written: Field) -> None:
    if not any(option.name == "json_name" for option in written.options):
        field.ClearField("json_name")
    if written.map is not None:
        field.type_name = field.type_name.rpartition(".")[2]
        field.ClearField("type")
    elif field.type_name:
        field.type_name = written.type
    if written.label is None and written.map is None:
        field.ClearField("label")


def _entry_as_written(entry: DescriptorProto) -> None:
    for field in entry.field:
        field.ClearField("json_name")
        field.ClearField("label")
