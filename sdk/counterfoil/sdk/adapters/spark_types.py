"""Schemas of any language as Spark's types, by their table types, and the conversion of values in both directions."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from counterfoil.schema.extras import needed_by
from counterfoil.schema.logical.model import Column, ListOf, MapOf, Row, Scalar
from counterfoil.schema.model import SchemaType
from counterfoil.sdk.errors import InvalidSettings

with needed_by("The adapter of PySpark", extra="pyspark"):
    from pyspark.sql import functions, types

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import Column as SparkColumn

    from counterfoil.schema.logical.model import TableType


_Convert: TypeAlias = "Callable[[Any], Any] | None"
"""A function of a value that is not None; None where the value stays as it is."""

_Members: TypeAlias = "list[tuple[Column, Callable[[Any], Any]]]"
_Build: TypeAlias = "Callable[[Any, _Members], dict[str, Any]]"

_WELL_KNOWN: Final = "google.protobuf."
_MAX_DIGITS: Final = 38
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LOCAL_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001 - local timestamps have no zone


@dataclass(frozen=True, slots=True)
class _Kind:
    """How values of a scalar type are stored in Spark.

    ``to_spark`` makes Spark's value of ours, ``sent`` is what Spark sends to Python of its value, and ``from_spark``
    makes our value of that.
    """

    type: types.DataType
    to_spark: _Convert = None
    sent: Callable[[SparkColumn], SparkColumn] | None = None
    from_spark: _Convert = None


def _micros_of_day(value: time) -> int:
    return ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond


def _millis_of_day(value: time) -> int:
    return _micros_of_day(value) // 1000


def _instant(micros: int) -> datetime:
    return _EPOCH + timedelta(microseconds=micros)


def _local(micros: int) -> datetime:
    return _LOCAL_EPOCH + timedelta(microseconds=micros)


def _micros(value: SparkColumn) -> SparkColumn:
    return functions.unix_micros(value)


def _local_micros(value: SparkColumn) -> SparkColumn:
    return functions.timestamp_diff("MICROSECOND", functions.lit("1970-01-01 00:00:00").cast("timestamp_ntz"), value)


_TIMESTAMP: Final = _Kind(types.TimestampType(), sent=_micros, from_spark=_instant)
_LOCAL: Final = _Kind(types.TimestampNTZType(), sent=_local_micros, from_spark=_local)
_TEXT: Final = _Kind(types.StringType())
_NUMBER: Final = _Kind(types.LongType())
_BYTES: Final = _Kind(types.BinaryType(), from_spark=bytes)
_KINDS: Final[Mapping[str, _Kind]] = {
    "boolean": _Kind(types.BooleanType()),
    "int": _Kind(types.IntegerType()),
    "long": _NUMBER,
    "float": _Kind(types.FloatType()),
    "double": _Kind(types.DoubleType(), to_spark=float),
    "string": _TEXT,
    "bytes": _BYTES,
    "fixed": _BYTES,
    "date": _Kind(types.DateType()),
    "uuid": _Kind(types.StringType(), to_spark=str),
    "time-millis": _Kind(types.IntegerType(), to_spark=_millis_of_day),
    "time-micros": _Kind(types.LongType(), to_spark=_micros_of_day),
    "timestamp": _TIMESTAMP,
    "timestamp-millis": _TIMESTAMP,
    "timestamp-micros": _TIMESTAMP,
    "timestamp-nanos": _NUMBER,
    "local-timestamp-millis": _LOCAL,
    "local-timestamp-micros": _LOCAL,
    "local-timestamp-nanos": _NUMBER,
}
_KINDS_IN_JSON: Final[Mapping[str, _Kind]] = {
    **dict.fromkeys(("date", "time", "timestamp"), _TEXT),
    "long": _Kind(types.LongType(), to_spark=int),  # 5.0 is an integer in JSON
}


def _type_in_python(column: Column) -> TableType:
    """Return the type of a column's values in Python: that of its only field for a wrapper of Protobuf."""
    match column.type:
        case Row((only,)) as row if only.name == "value" and row.origin.holder.startswith(_WELL_KNOWN):
            return only.type
        case Row() as row if row.origin.holder.startswith(_WELL_KNOWN):
            problem = f"The type {row.origin.holder} of the column {column.name!r} has no type in Spark"
            raise InvalidSettings(problem, setting="schema")
    return column.type


def _columns_of(value: Any, members: _Members) -> dict[str, Any]:
    return {column.name: convert(value.get(column.name)) for column, convert in members}


def _value_of(row: Any, members: _Members) -> dict[str, Any]:
    """Return the value of a row; what may be left out, as in JSON, is left out where it is null."""
    pairs = ((column, convert(row[column.name])) for column, convert in members)
    return {column.name: value for column, value in pairs if value is not None or not column.is_optional}


@dataclass(frozen=True, slots=True)
class SparkTypes:
    """The types of one schema language."""

    language: SchemaType

    def type_of(self, column: Column) -> types.DataType:
        """Return Spark's type of a column; raise ``InvalidSettings`` for a type that Spark does not have."""
        match _type_in_python(column):
            case Row(columns):
                return types.StructType([types.StructField(each.name, self.type_of(each)) for each in columns])
            case ListOf(element):
                return types.ArrayType(self.type_of(element))
            case MapOf(key, value):
                return types.MapType(self._kind(key, column.name).type, self.type_of(value))
            case Scalar() as scalar:
                return self._kind(scalar, column.name).type

    def to_spark(self, column: Column) -> _Convert:
        """Return the conversion of our values."""
        return self._conversion(column, lambda kind: kind.to_spark, _columns_of)

    def from_spark(self, column: Column) -> _Convert:
        """Return the conversion of the values that :meth:`sent` sends."""
        return self._conversion(column, lambda kind: kind.from_spark, _value_of)

    def sent(self, value: SparkColumn, column: Column) -> SparkColumn:
        """Return what Spark sends to Python: the schema's columns, with its types.

        Instants are numbers, since Python's would be in the time zone of a machine.
        """
        match _type_in_python(column):
            case Row(columns):
                members = [self.sent(value[each.name], each).alias(each.name) for each in columns]
                return functions.when(value.isNotNull(), functions.struct(*members))
            case ListOf(element):
                return functions.transform(value, lambda item: self.sent(item, element))
            case MapOf(_, of):
                return functions.transform_values(value, lambda _, item: self.sent(item, of))
            case Scalar() as scalar:
                kind = self._kind(scalar, column.name)
                cast = value.cast(kind.type)
                return cast if kind.sent is None else kind.sent(cast)

    def _conversion(self, column: Column, pick: Callable[[_Kind], _Convert], build: _Build) -> _Convert:
        def inside(column: Column) -> Callable[[Any], Any]:
            convert = self._conversion(column, pick, build)
            if convert is None:
                return lambda value: value
            return lambda value: None if value is None else convert(value)

        match _type_in_python(column):
            case Row(columns):
                members = [(each, inside(each)) for each in columns]
                return lambda row: build(row, members)
            case ListOf(element):
                item = inside(element)
                return lambda values: [item(value) for value in values]
            case MapOf(_, of):
                item = inside(of)
                return lambda values: {key: item(value) for key, value in values.items()}
            case Scalar() as scalar:
                return pick(self._kind(scalar, column.name))

    def _kind(self, scalar: Scalar, name: str) -> _Kind:
        if self.language is SchemaType.JSON and scalar.name in _KINDS_IN_JSON:
            return _KINDS_IN_JSON[scalar.name]
        if scalar.name == "decimal" and scalar.precision <= _MAX_DIGITS:
            from_spark = int if self.language is SchemaType.PROTOBUF else None
            return _Kind(types.DecimalType(scalar.precision, scalar.scale), to_spark=Decimal, from_spark=from_spark)
        found = _KINDS.get(scalar.name)
        if found is None:
            problem = f"The type {scalar} of the column {name!r} has no type in Spark"
            raise InvalidSettings(problem, setting="schema")
        return found
