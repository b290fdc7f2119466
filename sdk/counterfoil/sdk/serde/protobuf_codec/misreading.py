"""Fields of one number whose bytes two message types understand as different values.

A field that only one type has is no misreading, nor is one whose bytes the other type puts among its unknown fields.

Source: the Protocol Buffers encoding guide.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from google.protobuf.descriptor import FieldDescriptor

if TYPE_CHECKING:
    from counterfoil.schema.formats.protobuf.describe.dynamic import AnyDescriptor, AnyField

_GROUP_BY_TYPE: Final = {
    **dict.fromkeys(
        (
            *(FieldDescriptor.TYPE_INT32, FieldDescriptor.TYPE_INT64, FieldDescriptor.TYPE_UINT32),
            *(FieldDescriptor.TYPE_UINT64, FieldDescriptor.TYPE_BOOL, FieldDescriptor.TYPE_ENUM),
        ),
        ("varint", "plain"),
    ),
    **dict.fromkeys((FieldDescriptor.TYPE_SINT32, FieldDescriptor.TYPE_SINT64), ("varint", "zigzag")),
    **dict.fromkeys((FieldDescriptor.TYPE_FIXED32, FieldDescriptor.TYPE_SFIXED32), ("32 bits", "integer")),
    FieldDescriptor.TYPE_FLOAT: ("32 bits", "float"),
    **dict.fromkeys((FieldDescriptor.TYPE_FIXED64, FieldDescriptor.TYPE_SFIXED64), ("64 bits", "integer")),
    FieldDescriptor.TYPE_DOUBLE: ("64 bits", "float"),
    **dict.fromkeys((FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES), ("length", "text")),
    FieldDescriptor.TYPE_MESSAGE: ("length", "message"),
    FieldDescriptor.TYPE_GROUP: ("group", "message"),
}
"""The wire type of each type, and the meaning of its bytes."""


@dataclass(frozen=True, slots=True)
class Misreading:
    """A field, by its path in the writer's type, and the two types."""

    path: str
    writer: str
    reader: str


def find_misreading(reader: AnyDescriptor, writer: AnyDescriptor) -> Misreading | None:
    """Return the first field of ``writer`` that ``reader`` understands otherwise; None if there is none."""
    waiting = [(reader, writer, "")]
    seen = set()
    while waiting:
        mine, theirs, path = waiting.pop()
        if (mine.full_name, theirs.full_name) in seen:
            continue
        seen.add((mine.full_name, theirs.full_name))
        for field in theirs.fields:
            other = mine.fields_by_number.get(field.number)
            place = f"{path}.{field.name}" if path else field.name
            if other is None:
                continue
            if _is_misread(other, field):
                return Misreading(place, _words(field), _words(other))
            if other.message_type is not None and field.message_type is not None:
                waiting.append((other.message_type, field.message_type, place))
    return None


def _is_misread(reader: AnyField, writer: AnyField) -> bool:
    wire_type, meaning = _GROUP_BY_TYPE[writer.type]
    other_wire_type, other_meaning = _GROUP_BY_TYPE[reader.type]
    return wire_type == other_wire_type and meaning != other_meaning


def _words(field: AnyField) -> str:
    if field.message_type is not None:
        return str(field.message_type.full_name)
    return NAME_BY_TYPE[field.type]


NAME_BY_TYPE: Final = {
    number: name.removeprefix("TYPE_").lower()
    for name, number in vars(FieldDescriptor).items()
    if name.startswith("TYPE_")
}
"""The name of each type, as it is written in ``.proto`` files."""
