"""The descriptor of a file with its names as they were written, as registries return it.

It differs from the descriptor that ``protoc`` makes: type names are not resolved, and labels, JSON names and the syntax
are missing if they were not written. The runtime accepts it, and the text printed from it is the original one.

Source: responses with ``format=serialized`` recorded from Confluent Schema Registry 8.5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.schema.formats.protobuf.describe.to_descriptor import DescriptorBuilder
from counterfoil.schema.formats.protobuf.read.naming import map_entry_name

if TYPE_CHECKING:
    from collections.abc import Container

    from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto

    from counterfoil.schema.formats.protobuf.read.ast import Field, MapType


class AsWrittenBuilder(DescriptorBuilder):
    """A builder of the descriptor of one file with its names as they were written."""

    def _build(self, dependencies: Container[str]) -> None:
        super()._build(dependencies)
        if self._file.syntax:
            self.proto.syntax = self._file.syntax

    def _add_field(
        self, proto: FieldDescriptorProto, field: Field, scope: str, *, oneof_index: int | None = None
    ) -> None:
        super()._add_field(proto, field, scope, oneof_index=oneof_index)
        if field.label is None and field.map is None:
            proto.ClearField("label")
        if not any(option.name == "json_name" for option in field.options):
            proto.ClearField("json_name")
        if field.map is not None:
            proto.ClearField("type")
            proto.type_name = _entry_name(field.name)

    def _add_map_entry(self, proto: DescriptorProto, field: Field, map_type: MapType, scope: str) -> None:
        super()._add_map_entry(proto, field, map_type, scope)
        proto.name = _entry_name(field.name)
        for inner in proto.field:
            inner.ClearField("label")
            inner.ClearField("json_name")

    def _set_type(self, proto: FieldDescriptorProto, name: str, scope: str) -> None:
        super()._set_type(proto, name, scope)
        if proto.type_name:
            proto.type_name = name

    def _type_name(self, name: str, scope: str) -> str:  # noqa: ARG002 - names are as written, whatever their scope
        return name


def _entry_name(name: str) -> str:
    """Return the name of a map's entries: in camel case only if the field's name has underscores."""
    return map_entry_name(name) if "_" in name else f"{name}Entry"
