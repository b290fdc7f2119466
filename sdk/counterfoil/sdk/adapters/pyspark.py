"""Columns of Spark's data frames that are read from, and written as, messages with a schema of the registry."""

from __future__ import annotations

import pickle
import zlib
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal
from functools import lru_cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from counterfoil.schema.errors import needed_by
from counterfoil.schema.languages.table import language_for
from counterfoil.schema.languages.table_types import Column, NotATable, TableList, TableMap, TableRow, TableScalar
from counterfoil.schema.model import Schema, SchemaType
from counterfoil.schema.parsed import Validation
from counterfoil.schema.wire import KEY_HEADER, VALUE_HEADER
from counterfoil.sdk.errors import InvalidSettings, SerdeError
from counterfoil.sdk.serde import SerializationContext
from counterfoil.sdk.serde.base import chosen
from counterfoil.sdk.serde.codec import resolve_references
from counterfoil.sdk.serde.multi import LANGUAGES
from counterfoil.sdk.subjects import TOPIC

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pandas as pd
    from pyspark.sql import Column as SparkColumn

    from counterfoil.schema.datum import Datum
    from counterfoil.schema.languages.table_types import TableType
    from counterfoil.sdk.client import Registry
    from counterfoil.sdk.subjects import Field


# Schemas of any language as Spark's types, by their table types, and the conversion of values in both directions.

with needed_by("The adapter of PySpark", extra="pyspark"):
    from pyspark.sql import functions, types


_Convert: TypeAlias = "Callable[[Datum], Datum] | None"
"""A function of a value that is not None; None where the value stays as it is."""

_Members: TypeAlias = "list[tuple[Column, Callable[[Datum], Datum]]]"
_Build: TypeAlias = "Callable[[Datum, _Members], dict[str, Datum]]"

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
        case TableRow((only,)) as row if only.name == "value" and row.origin.holder.startswith(_WELL_KNOWN):
            return only.type
        case TableRow() as row if row.origin.holder.startswith(_WELL_KNOWN):
            problem = f"The type {row.origin.holder} of the column {column.name!r} has no type in Spark"
            raise InvalidSettings(problem, setting="schema")
    return column.type


def _columns_of(value: Datum, members: _Members) -> dict[str, Datum]:
    return {column.name: convert(value.get(column.name)) for column, convert in members}


def _value_of(row: Datum, members: _Members) -> dict[str, Datum]:
    """Return the value of a row; an optional member, as in JSON, is left out where it is null."""
    pairs = ((column, convert(row[column.name])) for column, convert in members)
    return {column.name: value for column, value in pairs if value is not None or not column.is_optional}


@dataclass(frozen=True, slots=True)
class SparkTypes:
    """The types of one schema language."""

    language: SchemaType

    def type_of(self, column: Column) -> types.DataType:
        """Return Spark's type of a column; raise ``InvalidSettings`` for a type that Spark does not have."""
        match _type_in_python(column):
            case TableRow(columns):
                return types.StructType([types.StructField(each.name, self.type_of(each)) for each in columns])
            case TableList(element):
                return types.ArrayType(self.type_of(element))
            case TableMap(key, value):
                return types.MapType(self._kind(key, column.name).type, self.type_of(value))
            case TableScalar() as scalar:
                return self._kind(scalar, column.name).type

    def to_spark(self, column: Column) -> _Convert:
        """Return the conversion of our values."""
        return self._conversion(column, lambda kind: kind.to_spark, _columns_of)

    def from_spark(self, column: Column) -> _Convert:
        """Return the conversion of the values that :meth:`sent` sends."""
        return self._conversion(column, lambda kind: kind.from_spark, _value_of)

    def sent(self, value: SparkColumn, column: Column) -> SparkColumn:
        """Return the type that Spark sends to Python: the schema's columns, with its types.

        Instants are numbers, since Python's would be in the time zone of a machine.
        """
        match _type_in_python(column):
            case TableRow(columns):
                members = [self.sent(value[each.name], each).alias(each.name) for each in columns]
                return functions.when(value.isNotNull(), functions.struct(*members))
            case TableList(element):
                return functions.transform(value, lambda item: self.sent(item, element))
            case TableMap(_, of):
                return functions.transform_values(value, lambda _, item: self.sent(item, of))
            case TableScalar() as scalar:
                kind = self._kind(scalar, column.name)
                cast = value.cast(kind.type)
                return cast if kind.sent is None else kind.sent(cast)

    def _conversion(self, column: Column, pick: Callable[[_Kind], _Convert], build: _Build) -> _Convert:
        def inside(column: Column) -> Callable[[Datum], Datum]:
            convert = self._conversion(column, pick, build)
            if convert is None:
                return lambda value: value
            return lambda value: None if value is None else convert(value)

        match _type_in_python(column):
            case TableRow(columns):
                members = [(each, inside(each)) for each in columns]
                return lambda row: build(row, members)
            case TableList(element):
                item = inside(element)
                return lambda values: [item(value) for value in values]
            case TableMap(_, of):
                item = inside(of)
                return lambda values: {key: item(value) for key, value in values.items()}
            case TableScalar() as scalar:
                return pick(self._kind(scalar, column.name))

    def _kind(self, scalar: TableScalar, name: str) -> _Kind:
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


# The columns, and the functions that executors call.
#
# The schema is fixed when the columns are made, on the driver, since their type depends on it. Every Python process of
# an executor makes a client and a serializer of its own, once.

with needed_by("The adapter of PySpark", extra="pyspark"):
    from pyspark import cloudpickle
    from pyspark.sql import functions, types


Mode = Literal["FAILFAST", "PERMISSIVE"]
"""What happens to a value that cannot be read or written: the job fails, or the value is null and has a reason."""

_REASON: Final = "reason"
_IS_READ: Final = "is_read"


def from_registry(
    data: SparkColumn | str,
    registry: Registry,
    *,
    topic: str,
    field: Field = "value",
    reader: str | Schema | None = None,
    headers: SparkColumn | str | None = None,
    mode: Mode = "FAILFAST",
    **options: object,
) -> SparkColumn:
    """Return the values of messages in a binary column, of the type of the schema ``reader``; null for null.

    Without ``reader`` it is the latest version of the topic's subject, as it is now. Text is an Avro schema; a
    ``Schema`` has its language. ``headers`` is the column with the records' headers, for schema ids in headers: that of
    Spark's Kafka source with the option ``includeHeaders``. With the mode PERMISSIVE the column is a struct of
    ``value`` and ``reason``; one of the two is null, both are for a tombstone. ``options`` are those of the
    language's deserializer.

    Raises ``InvalidSettings`` for a schema that has no type in Spark, and the registry's errors.
    """
    known = _known(registry, reader, topic, field)
    columns = known.column.type.columns if isinstance(known.column.type, TableRow) else (known.column,)
    names = [f"c{number}" for number in range(len(columns))]
    parts = [types.StructField(name, known.types.type_of(each)) for name, each in zip(names, columns, strict=True)]
    result = types.StructType(
        [*parts, types.StructField(_IS_READ, types.BooleanType()), types.StructField(_REASON, types.StringType())]
    )
    deserializer = known.language.make_deserializer(registry, reader=known.schema, **{**known.reading, **options})
    packed = cloudpickle.dumps((deserializer, known.types.to_spark, known.column))
    task = SparkReading(
        packed=packed, is_row=isinstance(known.column.type, TableRow), topic=topic, field=field, fails=_fails(mode)
    )
    read = _batches(task, names)
    read.__name__ = _noted(TOPIC(topic, field, None), columns, is_row=isinstance(known.column.type, TableRow))
    row = functions.pandas_udf(read, result)(_column(data), _schema_header(headers, field))
    made = functions.struct(*(row[name].alias(each.name) for name, each in zip(names, columns, strict=True)))
    value = functions.when(row[_IS_READ], made if isinstance(known.column.type, TableRow) else row[names[0]])
    return value if mode == "FAILFAST" else functions.struct(value.alias("value"), row[_REASON].alias(_REASON))


def to_registry(
    data: SparkColumn | str,
    registry: Registry,
    *,
    topic: str,
    field: Field = "value",
    schema: str | Schema | None = None,
    mode: Mode = "FAILFAST",
    **options: object,
) -> SparkColumn:
    """Return the messages of values, as a binary column; null for null.

    ``schema`` is registered; without it, values are written with the latest version of the topic's subject, as it is
    now. The value has columns of the schema's names and of types that can be cast to the schema's. With the mode
    PERMISSIVE the column is a struct of ``value`` and ``reason``. ``options`` are those of the language's serializer.
    """
    known = _known(registry, schema, topic, field)
    if options.get("id_location", "prefix") != "prefix":
        raise InvalidSettings("A column has no headers, so that the schema id is in the prefix", setting="id_location")
    serializer = known.language.make_serializer(registry, known.schema, **{**known.writing, **options})
    packed = cloudpickle.dumps((serializer, known.types.from_spark, known.column))
    task = SparkWriting(
        packed=packed, is_row=isinstance(known.column.type, TableRow), topic=topic, field=field, fails=_fails(mode)
    )
    result = types.StructType(
        [types.StructField("value", types.BinaryType()), types.StructField(_REASON, types.StringType())]
    )
    written = functions.udf(task.write, result)(known.types.sent(_column(data), known.column))
    return written["value"] if mode == "FAILFAST" else written


decoded_columns: dict[str, tuple[str, tuple[str, ...]]] = {}
"""The subject, and the fields in their order, of each function that was made here, by the name that plans show."""


def _noted(subject: str, columns: Sequence[Column], *, is_row: bool) -> str:
    """Return the name of a function that decodes messages of a subject, by which its columns are found in a plan."""
    fields = tuple(each.name for each in columns) if is_row else ("",)
    name = f"from_registry({subject}, {zlib.crc32(repr(fields).encode()):08x})"
    decoded_columns[name] = (subject, fields)
    return name


@dataclass(frozen=True, slots=True)
class _Known:
    """A schema, its type, and options of its serializer and its deserializer."""

    schema: Schema
    column: Column
    types: SparkTypes
    reading: dict[str, Datum]
    writing: dict[str, Datum]

    @property
    def language(self) -> Datum:
        """The row of its language."""
        return LANGUAGES[self.schema.schema_type]


def _known(registry: Registry, schema: str | Schema | None, topic: str, field: Field) -> _Known:
    """Return the schema of a column: the one that is given, or the latest version of the topic's subject."""
    writing: dict[str, Datum] = {}
    if schema is None:
        latest = registry.version(TOPIC(topic, field, None))
        schema, writing = latest.schema, {"register": {"id": latest.id}}
    elif isinstance(schema, str):
        schema = Schema(schema, SchemaType.AVRO)
    references = registry.run(resolve_references(registry.calls, schema))
    language = language_for(schema.schema_type)
    try:
        column = language.table_column(language.parse(schema.text, references, validation=Validation.LENIENT))
    except NotATable as error:
        raise InvalidSettings(f"The schema has no type in Spark: {error.reason}", setting="schema") from error
    reading = {"values": "dict"} if schema.schema_type is SchemaType.PROTOBUF else {}
    return _Known(schema, column, SparkTypes(schema.schema_type), reading, writing)


def _fails(mode: Mode) -> bool:
    return chosen("mode", mode, ("FAILFAST", "PERMISSIVE")) == "FAILFAST"


def _column(data: SparkColumn | str) -> SparkColumn:
    return functions.col(data) if isinstance(data, str) else data


def _schema_header(headers: SparkColumn | str | None, field: Field) -> SparkColumn:
    """Return the value of the last header with a schema id; null without any."""
    if headers is None:
        return functions.lit(None).cast("binary")
    name = KEY_HEADER if field == "key" else VALUE_HEADER
    return functions.try_element_at(
        functions.filter(_column(headers), lambda each: each["key"] == name), functions.lit(-1)
    )["value"]


# --- on the executors -------------------------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def unpacked(packed: bytes) -> tuple[Datum, Callable[[Datum], Datum]]:
    """Return a serializer or deserializer, and the conversion of values: the same for all tasks of a process."""
    serde, conversion_of, column = pickle.loads(packed)  # noqa: S301 - the driver of the same job pickled it
    convert = conversion_of(column)
    return serde, convert or (lambda value: value)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Task:
    """The needs of executors; ``packed`` is a serializer or deserializer with the conversion of its values."""

    packed: bytes
    is_row: bool
    topic: str
    field: Field
    fails: bool


class SparkReading(_Task):
    """Reads a batch of messages."""

    def read(self, data: pd.Series, named: pd.Series, names: list[str]) -> pd.DataFrame:
        """Return the columns of the values, whether there is a value, and the reason why there is none."""
        import pandas as pd

        deserializer, convert = unpacked(self.packed)
        absent = [None] * len(names)
        rows: list[list[Datum]] = []
        records = map(self._record, data, named)
        for value in deserializer.many(records, topic=self.topic, field=self.field):
            if value is None:
                rows.append([*absent, False, None])
            elif not isinstance(value, SerdeError):
                made = convert(value)
                rows.append([*(made.values() if self.is_row else [made]), True, None])
            elif self.fails:
                raise value
            else:
                rows.append([*absent, False, str(value)])
        return pd.DataFrame(rows, columns=[*names, _IS_READ, _REASON], dtype=object)

    def _record(self, message: bytes | None, guid: bytes | None) -> Datum:
        """Return the message, or with a guid the record that has it in its headers."""
        if guid is None:
            return message
        header = KEY_HEADER if self.field == "key" else VALUE_HEADER
        return SimpleNamespace(**{self.field: message, "topic": self.topic, "headers": [(header, guid)]})


class SparkWriting(_Task):
    """Writes a value as a message."""

    def write(self, value: object) -> tuple[bytes | None, str | None]:
        """Return the message, or the reason why there is none."""
        if value is None:
            return None, None
        serializer, convert = unpacked(self.packed)
        try:
            return serializer(convert(value), SerializationContext(self.topic, self.field)), None
        except SerdeError as error:
            if self.fails:
                raise
            return None, str(error)


def _batches(task: SparkReading, names: list[str]) -> Callable[..., Any]:
    """Return the function of a batch; Spark reads its annotations, which cannot be text."""
    import pandas as pd

    def read(data: pd.Series, named: pd.Series) -> pd.DataFrame:
        return task.read(data, named, names)

    read.__annotations__ = {"data": pd.Series, "named": pd.Series, "return": pd.DataFrame}
    return read
