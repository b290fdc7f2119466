"""Avro schemas as table types.

A union of null and one other type is that type, nullable; other unions, and recursive records, have no table type. An
enum is a string.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from counterfoil.schema.compatibility.report import Origin
from counterfoil.schema.formats.avro.types import Array, Enum, Fixed, Kind, Map, Record, Union
from counterfoil.schema.logical.model import Column, ListOf, MapOf, NotATable, Row, Scalar

if TYPE_CHECKING:
    from counterfoil.schema.formats.avro.schema import AvroSchema
    from counterfoil.schema.formats.avro.types import AvroType, Field
    from counterfoil.schema.logical.model import TableType
    from counterfoil.schema.pointer import Pointer

_STRING: Final = Scalar("string")


def table_column(schema: AvroSchema) -> Column:
    """Return the schema as one column; raise ``NotATable`` if it has no table type."""
    root = _Where((), (), Origin("", (), is_own=True), ())
    return _Reader(schema).column("", schema.root, root, has_default=False)


class _Where(NamedTuple):
    """The place of a column.

    ``column`` and ``type`` are the nearest pointers in the schema's own text, ``origin`` is the declaration that
    contains it, ``around`` are the ids of the records around it.
    """

    column: Pointer
    type: Pointer
    origin: Origin
    around: tuple[int, ...]

    def below(self, step: str, column: Pointer, type_pointer: Pointer = ()) -> _Where:
        """Return the place of a column inside.

        With an empty ``column`` it is not in the schema's own text, and gets the pointer of this one's type.
        """
        pointers = (column, type_pointer or column) if column else (self.type, self.type)
        return _Where(*pointers, self.origin.below(step), self.around)


class _Reader:
    def __init__(self, schema: AvroSchema) -> None:
        self._root = schema.root

    def column(self, name: str, node: AvroType, where: _Where, *, has_default: bool) -> Column:
        """Return the type ``node`` as a column."""
        branches = node.branches if isinstance(node, Union) else (node,)
        kept = [branch for branch in branches if branch.kind is not Kind.NULL] if isinstance(node, Union) else [node]
        if len(kept) != 1:
            raise NotATable("a union of several types has no table type", where.type)
        nullable = len(kept) < len(branches)
        table_type = self._type(kept[0], where)
        return Column(name, table_type, nullable, has_default, where.column, where.type, origin=where.origin)

    def _type(self, node: AvroType, where: _Where) -> TableType:
        is_own = bool(node.pointer) or node is self._root
        match node:
            case Record():
                if id(node) in where.around:
                    raise NotATable(f"record {node.full_name} holds itself, which has no table type", where.type)
                inside = where._replace(origin=Origin(node.full_name, (), is_own), around=(*where.around, id(node)))
                columns = tuple(self._of_field(field, inside) for field in node.fields)
                return Row(columns, (*node.pointer, "fields") if is_own else where.type, inside.origin)
            case Array():
                inside = where.below("element", (*node.pointer, "items") if is_own else ())
                return ListOf(self.column("element", node.items, inside, has_default=False))
            case Map():
                inside = where.below("value", (*node.pointer, "values") if is_own else ())
                return MapOf(_STRING, self.column("value", node.values, inside, has_default=False))
            case Enum():
                return _STRING
        return _scalar(node, where.type)

    def _of_field(self, field: Field, where: _Where) -> Column:
        inside = where.below(field.name, field.pointer, (*field.pointer, "type"))
        return self.column(field.name, field.type, inside, has_default=field.has_default)


def _scalar(node: AvroType, pointer: Pointer) -> Scalar:
    logical = node.logical_type
    if logical is not None:
        return Scalar(logical.name, logical.precision or 0, logical.scale)
    if node.kind is Kind.NULL:
        raise NotATable("null alone has no table type", pointer)
    return Scalar("fixed", size_bytes=node.size) if isinstance(node, Fixed) else Scalar(node.kind.value)
