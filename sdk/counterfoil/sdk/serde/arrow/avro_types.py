"""The Arrow types of Avro's types.

========================  =======================================================
Avro                      Arrow
========================  =======================================================
null, boolean             null, bool
int, long                 int32, int64
float, double             float32, float64
string, enum              string
bytes, fixed              binary, fixed_size_binary
array, map                list, map with string keys
record                    struct
``["null", T]``           T, nullable
other unions              dense_union; the names of its fields are those of the branches
decimal                   decimal128, with more than 38 digits decimal256
uuid                      arrow.uuid
date                      date32
time-millis, -micros      time32 in ms, time64 in µs
timestamp-…               timestamp in ms, µs or ns, in UTC
local-timestamp-…         timestamp in ms, µs or ns, without a zone
duration                  fixed_size_binary of 12
========================  =======================================================

Every column is nullable, since a tombstone is a row of nulls. Inside a column only values of unions with null are.
Arrow has no recursive types, and no decimals of more than 76 digits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import pyarrow as pa

from counterfoil.schema.languages.avro.types import (
    AvroArray,
    AvroFixed,
    AvroKind,
    AvroMap,
    AvroRecord,
    AvroType,
    AvroUnion,
    LogicalType,
    branch_name,
)
from counterfoil.sdk.errors import SerdeError
from counterfoil.sdk.serde.avro.values import is_optional

if TYPE_CHECKING:
    from counterfoil.schema.languages.avro.schema import AvroSchema


Layout: TypeAlias = tuple[Any, ...]
"""What the accelerator makes of a type: the name of a kind of column, its numbers, and the layouts inside it."""

VALUE: Final = "value"
"""The name of the column of values that are no records."""

_MAX_DIGITS_128: Final = 38
_MAX_DIGITS_256: Final = 76


@dataclass(frozen=True, slots=True)
class ArrowColumn:
    """A type in both forms."""

    type: pa.DataType
    layout: Layout


_BY_KIND: Final = {
    AvroKind.NULL: ArrowColumn(pa.null(), ("null",)),
    AvroKind.BOOLEAN: ArrowColumn(pa.bool_(), ("boolean",)),
    AvroKind.INT: ArrowColumn(pa.int32(), ("number", 4, "integer")),
    AvroKind.LONG: ArrowColumn(pa.int64(), ("number", 8, "integer")),
    AvroKind.FLOAT: ArrowColumn(pa.float32(), ("number", 4, "real")),
    AvroKind.DOUBLE: ArrowColumn(pa.float64(), ("number", 8, "real")),
    AvroKind.BYTES: ArrowColumn(pa.binary(), ("bytes",)),
    AvroKind.STRING: ArrowColumn(pa.string(), ("text",)),
    AvroKind.ENUM: ArrowColumn(pa.string(), ("text",)),
}
_BY_LOGICAL_TYPE: Final = {
    "uuid": ArrowColumn(pa.uuid(), ("uuid",)),
    "date": ArrowColumn(pa.date32(), ("number", 4, "date")),
    "time-millis": ArrowColumn(pa.time32("ms"), ("number", 4, "time", 1000)),
    "time-micros": ArrowColumn(pa.time64("us"), ("number", 8, "time", 1)),
    "timestamp-millis": ArrowColumn(pa.timestamp("ms", "UTC"), ("number", 8, "timestamp", 1000)),
    "timestamp-micros": ArrowColumn(pa.timestamp("us", "UTC"), ("number", 8, "timestamp", 1)),
    "timestamp-nanos": ArrowColumn(pa.timestamp("ns", "UTC"), ("number", 8, "nanos")),
    "local-timestamp-millis": ArrowColumn(pa.timestamp("ms"), ("number", 8, "local-timestamp", 1000)),
    "local-timestamp-micros": ArrowColumn(pa.timestamp("us"), ("number", 8, "local-timestamp", 1)),
    "local-timestamp-nanos": ArrowColumn(pa.timestamp("ns"), ("number", 8, "local-nanos")),
}


def arrow_schema(schema: AvroSchema) -> pa.Schema:
    """Return the Arrow schema of a table with values of an Avro schema: a column for each field.

    A value that is no record is one column, ``value``. Raises ``SerdeError`` for a type that Arrow does not have.
    """
    return table_schema(column_of(schema.root).type)


def table_schema(root: pa.DataType) -> pa.Schema:
    """Return the schema of a table with values of a type."""
    fields = [*root] if pa.types.is_struct(root) else [pa.field(VALUE, root)]
    return pa.schema([pa.field(one.name, one.type) for one in fields])


def column_of(avro_type: AvroType, around: tuple[AvroType, ...] = ()) -> ArrowColumn:
    """Return the column for values of a type; ``around`` are the records around it. Raises ``SerdeError``."""
    match avro_type:
        case AvroRecord():
            return _record(avro_type, around)
        case AvroArray(items=items):
            inside = column_of(items, around)
            return ArrowColumn(pa.list_(_field("item", items, inside)), ("list", inside.layout))
        case AvroMap(values=values):
            inside = column_of(values, around)
            return ArrowColumn(pa.map_(pa.string(), _field("value", values, inside)), ("map", ("text",), inside.layout))
        case AvroUnion():
            return _union(avro_type, around)
    if avro_type.logical_type is not None:
        found = _logical(avro_type.logical_type)
        if found is not None:
            return found
    if isinstance(avro_type, AvroFixed):
        return ArrowColumn(pa.binary(avro_type.size), ("fixed", avro_type.size))
    return _BY_KIND[avro_type.kind]


def branches_of(union: AvroUnion) -> list[AvroType]:
    """Return the branches of a union that are not null."""
    return [branch for branch in union.branches if branch.kind is not AvroKind.NULL]


def _record(record: AvroRecord, around: tuple[AvroType, ...]) -> ArrowColumn:
    if record in around:
        raise SerdeError(f"The type {record.full_name} contains itself; Arrow has no such types")
    inside = [(one, column_of(one.type, (*around, record))) for one in record.fields]
    fields = [_field(one.name, one.type, column) for one, column in inside]
    return ArrowColumn(pa.struct(fields), ("struct", [(one.name, column.layout) for one, column in inside]))


def _union(union: AvroUnion, around: tuple[AvroType, ...]) -> ArrowColumn:
    columns = [column_of(branch, around) for branch in union.branches]
    if not is_optional(union):
        names = map(branch_name, union.branches)
        fields = [pa.field(name, one.type) for name, one in zip(names, columns, strict=True)]
        return ArrowColumn(pa.dense_union(fields), ("union", [one.layout for one in columns]))
    several = [
        column for column, branch in zip(columns, union.branches, strict=True) if branch.kind is not AvroKind.NULL
    ]
    return several[0] if several else _BY_KIND[AvroKind.NULL]


def _logical(logical_type: LogicalType) -> ArrowColumn | None:
    if logical_type.name != "decimal":
        return _BY_LOGICAL_TYPE.get(logical_type.name)
    precision, scale = logical_type.precision or 1, logical_type.scale
    if precision <= _MAX_DIGITS_128:
        return ArrowColumn(pa.decimal128(precision, scale), ("decimal", 16, precision, scale))
    if precision <= _MAX_DIGITS_256:
        return ArrowColumn(pa.decimal256(precision, scale), ("decimal", 32, precision, scale))
    raise SerdeError(f"A decimal of {precision} digits has no type in Arrow, which has at most {_MAX_DIGITS_256}")


def _field(name: str, avro_type: AvroType, column: ArrowColumn) -> pa.Field:
    return pa.field(name, column.type, nullable=isinstance(avro_type, AvroUnion) or avro_type.kind is AvroKind.NULL)


def optional_record(root: AvroType) -> AvroRecord | None:
    """Return the record of a union of null and one record."""
    if not isinstance(root, AvroUnion) or not is_optional(root):
        return None
    return next((branch for branch in branches_of(root) if isinstance(branch, AvroRecord)), None)
