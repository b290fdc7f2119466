"""Protobuf schemas as table types: the first message is the row.

Fields without presence have a default; fields with presence are nullable, unless they are required. An enum is a
string. A message that contains itself has no table type.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from counterfoil.schema.compatibility.findings import DifferenceOrigin
from counterfoil.schema.languages.protobuf.schema import ProtobufSchema
from counterfoil.schema.languages.protobuf.types import FieldValueType, MessageType, NumberedField
from counterfoil.schema.languages.table_types import (
    Column,
    ColumnCount,
    NotATable,
    TableList,
    TableMap,
    TableRow,
    TableScalar,
    TableType,
)
from counterfoil.schema.texts import Pointer

_STRING: Final = TableScalar("string")
_TIMESTAMP: Final = "google.protobuf.Timestamp"
_WORD_BY_SCALAR: Final[Mapping[str, str]] = {
    **dict.fromkeys(("int32", "sint32", "sfixed32"), "int"),
    **dict.fromkeys(("int64", "sint64", "sfixed64", "uint32", "fixed32"), "long"),
    **dict.fromkeys(("uint64", "fixed64"), "decimal"),
    "float": "float",
    "double": "double",
    "bool": "boolean",
    "string": "string",
    "bytes": "bytes",
}
_DIGITS_OF_64_BITS: Final = 20


class _Around(NamedTuple):
    """The names of the messages around a place, and the columns of the schema so far."""

    names: tuple[str, ...]
    columns: ColumnCount


def table_column(schema: ProtobufSchema, count: ColumnCount) -> Column:
    """Return the schema's first message as one column; raise ``NotATable`` for a type that has no table type."""
    first = next(iter(schema.file.messages), None)
    message = None if first is None else schema.types.types_of(schema.file).message(first)
    if message is None:
        raise NotATable("a file without messages has no table type", ())
    return Column(
        "",
        _row(message, _Around((), count), message.pointer),
        pointer=message.pointer,
        type_pointer=message.pointer,
    )


def _row(message: MessageType, around: _Around, pointer: Pointer) -> TableRow:
    """Return the row type of a message; the columns of an imported one have ``pointer``, that of the using field."""
    if message.full_name in around.names:
        raise NotATable(f"message {message.full_name} holds itself, which has no table type", pointer)
    within = _Around((*around.names, message.full_name), around.columns)
    origin = DifferenceOrigin(message.full_name, (), message.is_in_own_file)
    columns = (
        _column(field, within, field.pointer if origin.is_own else pointer, origin.below(str(field.number)))
        for field in message.fields.values()
    )
    return TableRow(tuple(columns), message.pointer if origin.is_own else pointer, origin)


def _column(field: NumberedField, around: _Around, pointer: Pointer, origin: DifferenceOrigin) -> Column:
    around.columns.take(pointer)
    table_type = _table_type(field.holds, pointer, origin, around)
    if field.is_repeated and not field.holds.is_map:
        element = Column("element", table_type, pointer=pointer, type_pointer=pointer, origin=origin.below("element"))
        held = TableList(element)
        return Column(field.name, held, has_default=True, pointer=pointer, type_pointer=pointer, origin=origin)
    nullable = field.has_presence and not field.is_required and not field.holds.is_map
    has_default = field.holds.is_map or not field.has_presence
    return Column(field.name, table_type, nullable, has_default, pointer, pointer, origin=origin)


def _table_type(held: FieldValueType, pointer: Pointer, origin: DifferenceOrigin, around: _Around) -> TableType:
    if held.key is not None and held.value is not None:
        key = _table_type(held.key, pointer, origin, around)
        inside = origin.below("value")
        value_type = _table_type(held.value, pointer, inside, around)
        value = Column("value", value_type, pointer=pointer, type_pointer=pointer, origin=inside)
        if not isinstance(key, TableScalar):
            raise NotATable("the key of a map has no table type", pointer)
        return TableMap(key, value)
    if held.scalar is not None:
        word = _WORD_BY_SCALAR[held.scalar]
        return TableScalar(word, precision=_DIGITS_OF_64_BITS) if word == "decimal" else TableScalar(word)
    if held.enum is not None:
        return _STRING
    if held.message is None:
        raise NotATable(f"type {held.name} is not known", pointer)
    return TableScalar("timestamp") if held.message.full_name == _TIMESTAMP else _row(held.message, around, pointer)
