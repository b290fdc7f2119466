"""Columns of Spark's data frames that are read from, and written as, messages with a schema of the registry.

The schema is fixed when the columns are made, on the driver, since their type depends on it. Every Python process of an
executor makes a client and a serializer of its own, once.
"""

from __future__ import annotations

import pickle
import zlib
from dataclasses import dataclass
from functools import lru_cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, Literal

from counterfoil.schema.extras import needed_by
from counterfoil.schema.formats.table import format_for
from counterfoil.schema.logical.model import Column, NotATable, Row
from counterfoil.schema.model import Schema, SchemaType
from counterfoil.schema.parsed import Validation
from counterfoil.schema.wire import KEY_HEADER, VALUE_HEADER
from counterfoil.sdk.adapters.spark_types import SparkTypes
from counterfoil.sdk.errors import InvalidSettings, SerdeError
from counterfoil.sdk.serde.context import SerializationContext
from counterfoil.sdk.serde.languages import LANGUAGES
from counterfoil.sdk.serde.references import resolve_references
from counterfoil.sdk.serde.serde import chosen
from counterfoil.sdk.subjects import TOPIC

with needed_by("The adapter of PySpark", extra="pyspark"):
    from pyspark import cloudpickle
    from pyspark.sql import functions, types

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pandas as pd
    from pyspark.sql import Column as SparkColumn

    from counterfoil.sdk.client import Registry
    from counterfoil.sdk.subjects import Field

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
    **options: Any,
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
    columns = known.column.type.columns if isinstance(known.column.type, Row) else (known.column,)
    names = [f"c{number}" for number in range(len(columns))]
    parts = [types.StructField(name, known.types.type_of(each)) for name, each in zip(names, columns, strict=True)]
    result = types.StructType(
        [*parts, types.StructField(_IS_READ, types.BooleanType()), types.StructField(_REASON, types.StringType())]
    )
    deserializer = known.language.make_deserializer(registry, reader=known.schema, **{**known.reading, **options})
    packed = cloudpickle.dumps((deserializer, known.types.to_spark, known.column))
    task = Reading(
        packed=packed, is_row=isinstance(known.column.type, Row), topic=topic, field=field, fails=_fails(mode)
    )
    read = _batches(task, names)
    read.__name__ = _noted(TOPIC(topic, field, None), columns, is_row=isinstance(known.column.type, Row))
    row = functions.pandas_udf(read, result)(_column(data), _schema_header(headers, field))
    made = functions.struct(*(row[name].alias(each.name) for name, each in zip(names, columns, strict=True)))
    value = functions.when(row[_IS_READ], made if isinstance(known.column.type, Row) else row[names[0]])
    return value if mode == "FAILFAST" else functions.struct(value.alias("value"), row[_REASON].alias(_REASON))


def to_registry(
    data: SparkColumn | str,
    registry: Registry,
    *,
    topic: str,
    field: Field = "value",
    schema: str | Schema | None = None,
    mode: Mode = "FAILFAST",
    **options: Any,
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
    task = Writing(
        packed=packed, is_row=isinstance(known.column.type, Row), topic=topic, field=field, fails=_fails(mode)
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
    reading: dict[str, Any]
    writing: dict[str, Any]

    @property
    def language(self) -> Any:
        """The row of its language."""
        return LANGUAGES[self.schema.schema_type]


def _known(registry: Registry, schema: str | Schema | None, topic: str, field: Field) -> _Known:
    """Return the schema of a column: the one that is given, or the latest version of the topic's subject."""
    writing: dict[str, Any] = {}
    if schema is None:
        latest = registry.version(TOPIC(topic, field, None))
        schema, writing = latest.schema, {"register": {"id": latest.id}}
    elif isinstance(schema, str):
        schema = Schema(schema, SchemaType.AVRO)
    references = registry.run(resolve_references(registry.calls, schema))
    language = format_for(schema.schema_type)
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
def unpacked(packed: bytes) -> tuple[Any, Callable[[Any], Any]]:
    """Return a serializer or deserializer, and the conversion of values: the same for all tasks of a process."""
    serde, conversion_of, column = pickle.loads(packed)  # noqa: S301 - the driver of the same job pickled it
    convert = conversion_of(column)
    return serde, convert or (lambda value: value)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Task:
    """What executors need; ``packed`` is a serializer or deserializer with the conversion of its values."""

    packed: bytes
    is_row: bool
    topic: str
    field: Field
    fails: bool


class Reading(_Task):
    """Reads a batch of messages."""

    def read(self, data: pd.Series, named: pd.Series, names: list[str]) -> pd.DataFrame:
        """Return the columns of the values, whether there is a value, and the reason why there is none."""
        import pandas as pd

        deserializer, convert = unpacked(self.packed)
        absent = [None] * len(names)
        rows: list[list[Any]] = []
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

    def _record(self, message: bytes | None, guid: bytes | None) -> Any:
        """Return the message, or with a guid the record that has it in its headers."""
        if guid is None:
            return message
        header = KEY_HEADER if self.field == "key" else VALUE_HEADER
        return SimpleNamespace(**{self.field: message, "topic": self.topic, "headers": [(header, guid)]})


class Writing(_Task):
    """Writes a value as a message."""

    def write(self, value: Any) -> tuple[bytes | None, str | None]:
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


def _batches(task: Reading, names: list[str]) -> Callable[..., Any]:
    """Return the function of a batch; Spark reads its annotations, which cannot be text."""
    import pandas as pd

    def read(data: pd.Series, named: pd.Series) -> pd.DataFrame:
        return task.read(data, named, names)

    read.__annotations__ = {"data": pd.Series, "named": pd.Series, "return": pd.DataFrame}
    return read
