"""Avro schemas as table types.

A union of null and one other type is that type, nullable; other unions, and records that hold themselves, have no table
type. An enum is a string.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.schema.formats.avro.types import Array, Enum, Fixed, Kind, Map, Record, Union
from counterfoil.schema.logical.model import Column, ListOf, MapOf, NotATable, Row, Scalar

if TYPE_CHECKING:
    from counterfoil.schema.formats.avro.schema import AvroSchema
    from counterfoil.schema.formats.avro.types import AvroType
    from counterfoil.schema.logical.model import TableType

_STRING: Final = Scalar("string")


def table_column(schema: AvroSchema) -> Column:
    """The schema as one column; ``NotATable`` says what has no table type."""
    return _column("", schema.root, pointer=schema.root.pointer, has_default=False, around=())


def _column(name: str, node: AvroType, *, pointer: str, has_default: bool, around: tuple[int, ...]) -> Column:
    kept = [branch for branch in node.branches if branch.kind is not Kind.NULL] if isinstance(node, Union) else [node]
    if len(kept) != 1:
        raise NotATable("a union of several types has no table type", node.pointer or pointer)
    nullable = isinstance(node, Union) and len(kept) < len(node.branches)
    return Column(name, _table_type(kept[0], pointer, around), nullable, has_default, pointer)


def _table_type(node: AvroType, pointer: str, around: tuple[int, ...]) -> TableType:
    match node:
        case Record():
            if id(node) in around:
                raise NotATable(f"record {node.full_name} holds itself, which has no table type", pointer)
            return Row(tuple(_of_field(node, index, (*around, id(node))) for index in range(len(node.fields))))
        case Array():
            return ListOf(_column("element", node.items, pointer=pointer, has_default=False, around=around))
        case Map():
            return MapOf(_STRING, _column("value", node.values, pointer=pointer, has_default=False, around=around))
        case Enum():
            return _STRING
    return _scalar(node, pointer)


def _of_field(record: Record, index: int, around: tuple[int, ...]) -> Column:
    field = record.fields[index]
    return _column(field.name, field.type, pointer=field.pointer, has_default=field.has_default, around=around)


def _scalar(node: AvroType, pointer: str) -> Scalar:
    logical = node.logical_type
    if logical is not None:
        return Scalar(logical.name, logical.precision or 0, logical.scale)
    if node.kind is Kind.NULL:
        raise NotATable("null alone has no table type", pointer)
    return Scalar("fixed", size_bytes=node.size) if isinstance(node, Fixed) else Scalar(node.kind.value)
