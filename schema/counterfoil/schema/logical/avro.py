"""Avro schemas as table types.

A union of null and one other type is that type, nullable; other unions, and records that hold themselves, have no table
type. An enum is a string.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from counterfoil.schema.compatibility.report import Origin
from counterfoil.schema.formats.avro.types import Array, Enum, Fixed, Kind, Map, Record, Union
from counterfoil.schema.logical.model import Column, ListOf, MapOf, NotATable, Row, Scalar

if TYPE_CHECKING:
    from counterfoil.schema.formats.avro.schema import AvroSchema
    from counterfoil.schema.formats.avro.types import AvroType, Field
    from counterfoil.schema.logical.model import TableType

_STRING: Final = Scalar("string")


def table_column(schema: AvroSchema) -> Column:
    """The schema as one column; ``NotATable`` says what has no table type."""
    return _column("", schema.root, _Place(schema.root.pointer, Origin("", (), is_own=True), ()), has_default=False)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a column stands: in the text, in which declaration, and inside which records."""

    pointer: str
    origin: Origin
    around: tuple[int, ...]

    def below(self, step: str) -> _Place:
        return replace(self, origin=self.origin.below(step))


def _column(name: str, node: AvroType, place: _Place, *, has_default: bool) -> Column:
    kept = [branch for branch in node.branches if branch.kind is not Kind.NULL] if isinstance(node, Union) else [node]
    if len(kept) != 1:
        raise NotATable("a union of several types has no table type", node.pointer or place.pointer)
    nullable = isinstance(node, Union) and len(kept) < len(node.branches)
    return Column(name, _table_type(kept[0], place), nullable, has_default, place.pointer, place.origin)


def _table_type(node: AvroType, place: _Place) -> TableType:
    match node:
        case Record():
            if id(node) in place.around:
                raise NotATable(f"record {node.full_name} holds itself, which has no table type", place.pointer)
            is_root = place.origin == Origin("", (), is_own=True)
            origin = Origin(node.full_name, (), is_own=bool(node.pointer) or is_root)
            inside = _Place(place.pointer, origin, (*place.around, id(node)))
            return Row(tuple(_of_field(field, inside) for field in node.fields), origin)
        case Array():
            return ListOf(_column("element", node.items, place.below("element"), has_default=False))
        case Map():
            return MapOf(_STRING, _column("value", node.values, place.below("value"), has_default=False))
        case Enum():
            return _STRING
    return _scalar(node, place.pointer)


def _of_field(field: Field, place: _Place) -> Column:
    """The column of a field; one that another text declares stands where the record around it is used."""
    inside = replace(place.below(field.name), pointer=field.pointer or place.pointer)
    return _column(field.name, field.type, inside, has_default=field.has_default)


def _scalar(node: AvroType, pointer: str) -> Scalar:
    logical = node.logical_type
    if logical is not None:
        return Scalar(logical.name, logical.precision or 0, logical.scale)
    if node.kind is Kind.NULL:
        raise NotATable("null alone has no table type", pointer)
    return Scalar("fixed", size_bytes=node.size) if isinstance(node, Fixed) else Scalar(node.kind.value)
