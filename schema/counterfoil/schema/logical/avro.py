"""Avro schemas as table types.

A union of null and one other type is that type, nullable; other unions, and records that hold themselves, have no table
type. An enum is a string.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from counterfoil.schema.formats.avro.types import Array, Enum, Fixed, Kind, Map, Record, Union
from counterfoil.schema.logical.model import Column, ListOf, MapOf, NotATable, Row, Scalar

if TYPE_CHECKING:
    from counterfoil.schema.formats.avro.schema import AvroSchema
    from counterfoil.schema.formats.avro.types import AvroType, Field
    from counterfoil.schema.logical.model import TableType

_STRING: Final = Scalar("string")


def table_column(schema: AvroSchema) -> Column:
    """The schema as one column; ``NotATable`` says what has no table type."""
    return _Reader(schema).column("", schema.root, _Where("", ""), has_default=False, around=())


class _Where(NamedTuple):
    """Where in the schema's own text a column and its type are, or what is nearest to them there."""

    column: str
    type: str


class _Reader:
    def __init__(self, schema: AvroSchema) -> None:
        self._root = schema.root

    def column(self, name: str, node: AvroType, where: _Where, *, has_default: bool, around: tuple[int, ...]) -> Column:
        """The type ``node`` as a column."""
        kept = (
            [branch for branch in node.branches if branch.kind is not Kind.NULL] if isinstance(node, Union) else [node]
        )
        if len(kept) != 1:
            raise NotATable("a union of several types has no table type", where.type)
        nullable = isinstance(node, Union) and len(kept) < len(node.branches)
        return Column(name, self._type(kept[0], where, around), nullable, has_default, *where)

    def _type(self, node: AvroType, where: _Where, around: tuple[int, ...]) -> TableType:
        is_own = bool(node.pointer) or node is self._root
        match node:
            case Record():
                if id(node) in around:
                    raise NotATable(f"record {node.full_name} holds itself, which has no table type", where.type)
                columns = (self._of_field(field, where, (*around, id(node))) for field in node.fields)
                return Row(tuple(columns), f"{node.pointer}/fields" if is_own else where.type)
            case Array():
                items = f"{node.pointer}/items" if is_own else where.type
                return ListOf(
                    self.column("element", node.items, _Where(items, items), has_default=False, around=around)
                )
            case Map():
                values = f"{node.pointer}/values" if is_own else where.type
                return MapOf(
                    _STRING, self.column("value", node.values, _Where(values, values), has_default=False, around=around)
                )
            case Enum():
                return _STRING
        return _scalar(node, where.type)

    def _of_field(self, field: Field, where: _Where, around: tuple[int, ...]) -> Column:
        inner = _Where(field.pointer, f"{field.pointer}/type") if field.pointer else _Where(where.type, where.type)
        return self.column(field.name, field.type, inner, has_default=field.has_default, around=around)


def _scalar(node: AvroType, pointer: str) -> Scalar:
    logical = node.logical_type
    if logical is not None:
        return Scalar(logical.name, logical.precision or 0, logical.scale)
    if node.kind is Kind.NULL:
        raise NotATable("null alone has no table type", pointer)
    return Scalar("fixed", size_bytes=node.size) if isinstance(node, Fixed) else Scalar(node.kind.value)
