"""Avro schemas as table types.

A union of null and one other type is that type, nullable; other unions, and recursive records, have no table type. An
enum is a string.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from counterfoil.schema.compatibility.findings import DifferenceOrigin
from counterfoil.schema.languages.avro.schema import AvroSchema
from counterfoil.schema.languages.avro.types import (
    AvroArray,
    AvroEnum,
    AvroField,
    AvroFixed,
    AvroKind,
    AvroMap,
    AvroRecord,
    AvroType,
    AvroUnion,
)
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


def table_column(schema: AvroSchema, count: ColumnCount) -> Column:
    """Return the schema as one column; raise ``NotATable`` if it has no table type."""
    root = _Where((), (), DifferenceOrigin("", (), is_own=True), ())
    return _Reader(schema, count).column("", schema.root, root, has_default=False)


class _Where(NamedTuple):
    """The place of a column.

    ``column`` and ``type`` are the nearest pointers in the schema's own text, ``origin`` is the declaration that
    contains it, ``around`` are the ids of the records around it.
    """

    column: Pointer
    type: Pointer
    origin: DifferenceOrigin
    around: tuple[int, ...]

    def below(self, step: str, column: Pointer, type_pointer: Pointer = ()) -> _Where:
        """Return the place of a column inside.

        With an empty ``column`` it is not in the schema's own text, and gets the pointer of this one's type.
        """
        pointers = (column, type_pointer or column) if column else (self.type, self.type)
        return _Where(*pointers, self.origin.below(step), self.around)


class _Reader:
    def __init__(self, schema: AvroSchema, count: ColumnCount) -> None:
        self._root = schema.root
        self._count = count

    def column(self, name: str, node: AvroType, where: _Where, *, has_default: bool) -> Column:
        """Return the type ``node`` as a column."""
        self._count.take(where.type)
        branches = node.branches if isinstance(node, AvroUnion) else (node,)
        kept = (
            [branch for branch in branches if branch.kind is not AvroKind.NULL]
            if isinstance(node, AvroUnion)
            else [node]
        )
        if len(kept) != 1:
            raise NotATable("a union of several types has no table type", where.type)
        nullable = len(kept) < len(branches)
        table_type = self._type(kept[0], where)
        return Column(name, table_type, nullable, has_default, where.column, where.type, origin=where.origin)

    def _type(self, node: AvroType, where: _Where) -> TableType:
        is_own = bool(node.pointer) or node is self._root
        match node:
            case AvroRecord():
                if id(node) in where.around:
                    raise NotATable(f"record {node.full_name} holds itself, which has no table type", where.type)
                inside = where._replace(
                    origin=DifferenceOrigin(node.full_name, (), is_own), around=(*where.around, id(node))
                )
                columns = tuple(self._of_field(field, inside) for field in node.fields)
                return TableRow(columns, (*node.pointer, "fields") if is_own else where.type, inside.origin)
            case AvroArray():
                inside = where.below("element", (*node.pointer, "items") if is_own else ())
                return TableList(self.column("element", node.items, inside, has_default=False))
            case AvroMap():
                inside = where.below("value", (*node.pointer, "values") if is_own else ())
                return TableMap(_STRING, self.column("value", node.values, inside, has_default=False))
            case AvroEnum():
                return _STRING
        return _scalar(node, where.type)

    def _of_field(self, field: AvroField, where: _Where) -> Column:
        inside = where.below(field.name, field.pointer, (*field.pointer, "type"))
        return self.column(field.name, field.type, inside, has_default=field.has_default)


def _scalar(node: AvroType, pointer: Pointer) -> TableScalar:
    logical = node.logical_type
    if logical is not None:
        return TableScalar(logical.name, logical.precision or 0, logical.scale)
    if node.kind is AvroKind.NULL:
        raise NotATable("null alone has no table type", pointer)
    return TableScalar("fixed", size_bytes=node.size) if isinstance(node, AvroFixed) else TableScalar(node.kind.value)
