"""Conversion of the options in descriptors to those of syntax trees.

Source: ``google/protobuf/descriptor.proto``; the text format specification.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from counterfoil.schema.formats.protobuf.read.ast import Aggregate, Entry, ListValue, Option, Scalar, ValueKind
from counterfoil.schema.formats.protobuf.read.lexer import Cursor
from counterfoil.schema.formats.protobuf.read.literals import read_value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from google.protobuf import descriptor_pb2 as pb

    from counterfoil.schema.formats.protobuf.read.ast import OptionValue

    Described = (
        pb.FileDescriptorProto
        | pb.DescriptorProto
        | pb.DescriptorProto.ExtensionRange
        | pb.FieldDescriptorProto
        | pb.OneofDescriptorProto
        | pb.EnumDescriptorProto
        | pb.EnumValueDescriptorProto
        | pb.ServiceDescriptorProto
        | pb.MethodDescriptorProto
    )

_UNINTERPRETED: Final = "uninterpreted_option"
_FEATURES: Final = "features"
_NOT_WRITTEN: Final = frozenset(("map_entry",))
_BOOLEANS: Final = ("true", "false")
_SINGLE: Final = (str, bytes, int, float, Message)
_FLOAT_DIGITS: Final = range(6, 10)


def read_options(proto: Described) -> tuple[Option, ...]:
    """Return the options of a descriptor message: those that the runtime knows, then the uninterpreted ones."""
    return tuple(_options(proto)) if proto.HasField("options") else ()


def _options(proto: Described) -> Iterator[Option]:
    for field, value in proto.options.ListFields():
        if field.name == _UNINTERPRETED or (field.name in _NOT_WRITTEN and not field.is_extension):
            continue
        if field.name == _FEATURES and not field.is_extension:
            yield from _features(field.name, value)
            continue
        name = f"({field.full_name})" if field.is_extension else field.name
        for each in (value,) if isinstance(value, _SINGLE) else value:
            yield Option(name, _value(field, each))
    for option in proto.options.uninterpreted_option:
        yield Option(_uninterpreted_name(option), _uninterpreted_value(option))


def _features(path: str, message: Message) -> Iterator[Option]:
    """Yield one option for each feature, as written in files: ``features.field_presence = EXPLICIT``."""
    for field, value in message.ListFields():
        name = f"{path}.({field.full_name})" if field.is_extension else f"{path}.{field.name}"
        if isinstance(value, Message):
            yield from _features(name, value)
        else:
            yield Option(name, _value(field, value))


def _value(field: FieldDescriptor, value: object) -> OptionValue:
    if isinstance(value, Message):
        return Aggregate(tuple(_entries(value)))
    if isinstance(value, str):
        return Scalar(ValueKind.STRING, value)
    if isinstance(value, bytes):
        return Scalar(ValueKind.STRING, value.decode("utf-8", "surrogateescape"))
    if isinstance(value, bool):
        return Scalar(ValueKind.BOOLEAN, "true" if value else "false")
    if isinstance(value, float) and field.type == FieldDescriptor.TYPE_FLOAT:
        return Scalar(ValueKind.NUMBER, _shortest_float(value))
    values = None if field.enum_type is None else field.enum_type.values_by_number
    symbol = values.get(value) if values is not None and isinstance(value, int) else None
    return Scalar(ValueKind.NUMBER, repr(value)) if symbol is None else Scalar(ValueKind.WORD, symbol.name)


def _shortest_float(value: float) -> str:
    """Return the shortest decimal text that has this value as a 32-bit float."""
    for digits in _FLOAT_DIGITS:
        text = f"{value:.{digits}g}"
        if struct.pack("<f", float(text)) == struct.pack("<f", value):
            return text
    return repr(value)


def _entries(message: Message) -> Iterator[Entry]:
    for field, value in message.ListFields():
        name = f"[{field.full_name}]" if field.is_extension else field.name
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            yield from (Entry(name, entry) for entry in _map_entries(field, value))
        elif isinstance(value, _SINGLE):
            yield Entry(name, _value(field, value))
        else:
            yield Entry(name, ListValue(tuple(_value(field, each) for each in value)))


def _map_entries(field: FieldDescriptor, values: Mapping[Any, object]) -> Iterator[Aggregate]:
    if field.message_type is None:
        return
    parts = field.message_type.fields_by_name
    for key, value in sorted(values.items()):
        yield Aggregate((Entry("key", _value(parts["key"], key)), Entry("value", _value(parts["value"], value))))


def _uninterpreted_name(option: pb.UninterpretedOption) -> str:
    parts = (f"({part.name_part})" if part.is_extension else part.name_part for part in option.name)
    return ".".join(parts)


def _uninterpreted_value(option: pb.UninterpretedOption) -> OptionValue:
    if option.HasField("identifier_value"):
        kind = ValueKind.BOOLEAN if option.identifier_value in _BOOLEANS else ValueKind.WORD
        return Scalar(kind, option.identifier_value)
    if option.HasField("string_value"):
        return Scalar(ValueKind.STRING, option.string_value.decode("utf-8", "surrogateescape"))
    if option.HasField("aggregate_value"):
        return read_value(Cursor(f"{{{option.aggregate_value}}}"))
    if option.HasField("double_value"):
        return Scalar(ValueKind.NUMBER, repr(option.double_value))
    number = option.negative_int_value if option.HasField("negative_int_value") else option.positive_int_value
    return Scalar(ValueKind.NUMBER, str(number))
