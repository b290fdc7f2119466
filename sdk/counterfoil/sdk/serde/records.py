"""Records of Kafka clients, of which a deserializer reads the key or the value."""

from __future__ import annotations

import gc
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from counterfoil.schema.errors import Forbidden
from counterfoil.schema.extras import needed_by
from counterfoil.sdk.errors import SchemaNotCached, SerdeError
from counterfoil.sdk.serde.context import SerializationContext, field_of
from counterfoil.sdk.serde.places import place_denial, read_record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, MutableMapping

    import pyarrow as pa

    from counterfoil.sdk.serde.arrow.tables import TableReader
    from counterfoil.sdk.serde.context import MessageContext
    from counterfoil.sdk.serde.places import Record
    from counterfoil.sdk.serde.plans import ReadPlan
    from counterfoil.sdk.subjects import Field

T_co = TypeVar("T_co", covariant=True)


class RecordReader(ABC, Generic[T_co]):
    """The ways to call a deserializer."""

    _returns_errors: bool

    @abstractmethod
    def __call__(self, data: bytes | None, ctx: MessageContext | None = None) -> T_co | None:
        """Return the value of a message; None for None, a tombstone."""

    @abstractmethod
    def read_plan(self, data: bytes, ctx: MessageContext | None) -> ReadPlan:
        """Return the plan of a message."""

    @abstractmethod
    def empty_schema(self) -> Any:
        """Return the Arrow schema of a table of no records; None if it is not known."""

    def read(self, record: Record, *, topic: str | None = None, field: Field = "value") -> T_co | None:
        """Return the key or the value of a record of a Kafka client, by its own topic and headers.

        ``record`` may be bytes, of ``topic``. Raises the same errors as calling the deserializer.
        """
        data, ctx = read_record(record, topic, field)
        try:
            return self(data, ctx)
        except Forbidden as error:
            place_denial(error, record, ctx)
            raise

    def many(self, records: Iterable[Record], *, topic: str | None = None, field: Field = "value") -> list[Any]:
        """Return the keys or the values of many records, in order.

        A record is the bytes of a message of ``topic``, None, or a record of a Kafka client, which has its own topic
        and headers. A value that cannot be read is replaced by its error. Only a ``SerdeError`` replaces a value; the
        registry's errors and ``SchemaNotCached`` end the call. Python's garbage collector is paused during the call,
        since thousands of new values would start it without need.
        """
        ctx = SerializationContext(topic, field)
        was_enabled = gc.isenabled()
        gc.disable()
        try:
            return [self._value_or_error(record, ctx) for record in records]
        finally:
            if was_enabled:
                gc.enable()

    def arrow(
        self,
        records: Iterable[Record],
        *,
        topic: str | None = None,
        field: Field = "value",
        schema: pa.Schema | None = None,
        errors: MutableMapping[int, SerdeError] | None = None,
    ) -> pa.Table:
        """Return the keys or the values of many records as an Arrow table: a row for each record, in order.

        A record is the same as for :meth:`many`. The fields of its value are the columns; a value that is no record is
        one column, ``value``. Values keep the types of their schema (for Avro see
        :mod:`counterfoil.sdk.serde.arrow.avro_types`; for JSON and Protobuf Arrow infers them), and are not converted
        by ``from_dict`` or to a model. None, a tombstone, is a row of nulls. Records of different writers have the
        columns of all of them, unless there is a reader's schema.

        With ``schema``, the table has its columns, cast to its types; columns that the values do not have are null.
        The first record that cannot be read raises its error; with ``errors``, a dict, each such record is a row of
        nulls, and ``errors[number of the row]`` is its error; so is a record with a value that does not fit the type
        that ``schema`` gives its column. With ``on_error="return"`` it is a row of nulls too. The registry's errors and
        ``SchemaNotCached`` end the call.

        Raises ``SerdeError`` for values that have no type in Arrow, or no common one, and ``MissingExtra`` without
        pyarrow, which the extra ``arrow`` installs.
        """
        reader = self.table_reader(topic=topic, field=field, errors=errors)
        reader.read(records)
        return reader.table(schema, self.empty_schema)

    def table_reader(
        self, *, topic: str | None, field: Field, errors: MutableMapping[int, SerdeError] | None
    ) -> TableReader:
        """Return what reads records into one table, with the arguments of :meth:`arrow`."""
        with needed_by("arrow()", extra="arrow"):
            from counterfoil.sdk.serde.arrow.tables import TableReader
        if errors is None and self._returns_errors:
            errors = {}
        return TableReader(self.read_plan, ctx=SerializationContext(topic, field), errors=errors)

    def bind(self, topic: str | None, field: Field = "value") -> Callable[[bytes | None], T_co | None]:
        """Return a function of the data alone, for clients that call deserializers as ``callable(data)``."""
        context = SerializationContext(topic, field)

        def read(data: bytes | None) -> T_co | None:
            return self(data, context)

        return read

    def _value_or_error(self, record: Record, ctx: SerializationContext) -> Any:
        try:
            if record.__class__ is bytes:
                return self(record, ctx)
            return self.read(record, topic=ctx.topic, field=field_of(ctx))
        except SchemaNotCached:
            raise
        except SerdeError as error:
            return error
