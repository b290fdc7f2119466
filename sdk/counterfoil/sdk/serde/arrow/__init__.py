"""A batch of messages as one table: rows of different writers together, and the rows of values that are dicts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, MutableMapping, Sequence
from functools import cache
from itertools import groupby
from typing import Any, Final, NamedTuple

import pyarrow as pa

from counterfoil.schema.datum import Datum
from counterfoil.schema.errors import Forbidden
from counterfoil.schema.texts import excerpt
from counterfoil.sdk.errors import InvalidSettings, NotFramed, SchemaNotCached, SerdeError
from counterfoil.sdk.serde import (
    MessageContext,
    Record,
    SerializationContext,
    field_of,
    place,
    place_denial,
    read_record,
    topic_of,
)
from counterfoil.sdk.serde.arrow.avro_types import VALUE
from counterfoil.sdk.serde.codec import Decode, MessageRows, RowErrors
from counterfoil.sdk.serde.plans import ReadPlan

# The rows of one writer in a batch, and those of formats whose messages become dicts first.

_NO_VALUE: Final = (pa.ArrowException, TypeError, ValueError, OverflowError)


class DictRowSource:
    """Makes rows of messages that become dicts; ``compiled`` returns the function that reads one."""

    def __init__(self, compiled: Callable[[], Decode]) -> None:
        self._compiled = cache(compiled)

    def schema(self) -> None:
        """Return None: the types of the columns depend on the values."""

    def rows(self) -> DictRows:
        """Return new rows."""
        return DictRows(self._compiled())


class DictRows:
    """Rows of decoded values, mostly dicts; the types of their columns are those that Arrow infers."""

    def __init__(self, decode: Decode) -> None:
        self._decode = decode
        self._values: list[Datum] = []

    def extend(self, messages: list[bytes | None], start: int, prefix: bytes) -> int:
        """Add the rows of messages up to the first with another prefix, or that cannot be read."""
        for number in range(start, len(messages)):
            data = messages[number]
            if data is None or not data.startswith(prefix):
                return number
            try:
                self._values.append(self._decode(data, len(prefix)))
            except SerdeError:
                return number
        return len(messages)

    def append(self, data: bytes, offset: int) -> None:
        """Add a row."""
        self._values.append(self._decode(data, offset))

    def append_null(self) -> None:
        """Add a row of nulls."""
        self._values.append(None)

    def table(self, wanted: pa.Schema | None, misfits: RowErrors | None = None) -> pa.Table:
        """Return the rows; the keys of all dicts are the columns, in the order in which they come first."""
        values = self._values
        if all(value is None or isinstance(value, dict) for value in values):
            names = list(dict.fromkeys(name for value in values if value for name in value))
            columns = {name: [value and value.get(name) for value in values] for name in names}
        else:
            columns = {VALUE: values}
        arrays = {name: _inferred(name, column, wanted, misfits) for name, column in columns.items()}
        return pa.table(arrays) if arrays else empty_rows(len(values))


def empty_rows(count: int) -> pa.Table:
    """Return a table of so many rows without columns."""
    return pa.Table.from_batches([pa.RecordBatch.from_struct_array(pa.array([{}] * count, pa.struct([])))])


def values_as(wanted: pa.Field, values: list[Datum], misfits: RowErrors) -> pa.Array:
    """Return values as an array of the wanted type; ``misfits`` is as for :func:`fitting`."""
    try:
        return _exactly(values, wanted.type)
    except _NO_VALUE:
        return fitting(values, wanted, misfits)


def fitting(column: Any, wanted: pa.Field, misfits: RowErrors) -> pa.Array:
    """Return the values of a column, an array or a list, as an array of the wanted type; the others are null.

    ``misfits`` gets their errors by the number of the row, unless the row has one already.
    """
    arrays = []
    for row in range(len(column)):
        one = column[row : row + 1]
        try:
            arrays.append(_converted(one, wanted.type))
        except _NO_VALUE as error:
            shown = excerpt(repr(one[0].as_py() if isinstance(one, (pa.Array, pa.ChunkedArray)) else one[0]))
            problem = f"The column {wanted.name!r} is {wanted.type}, and {shown} does not fit: {error}"
            misfits.setdefault(row, SerdeError(problem))
            arrays.append(pa.nulls(1, wanted.type))
    return pa.concat_arrays(arrays) if arrays else pa.nulls(0, wanted.type)


def _converted(values: Datum, wanted: pa.DataType) -> pa.Array:
    if isinstance(values, pa.ChunkedArray):
        return cast(values, wanted).combine_chunks()
    try:
        return _exactly(values, wanted)
    except _NO_VALUE:
        return pa.array(values).cast(wanted)


def _exactly(values: list[Datum], wanted: pa.DataType) -> pa.Array:
    """Return values as an array of a type; where Arrow would drop digits, such as those of 1.5, it raises instead."""
    if pa.types.is_integer(wanted) or pa.types.is_temporal(wanted):
        found = pa.array(values)
        if pa.types.is_floating(found.type) or pa.types.is_temporal(found.type):
            return found.cast(wanted)
    return pa.array(values, wanted)


def cast(column: pa.ChunkedArray, wanted: pa.DataType) -> pa.ChunkedArray:
    """Return a column with another type. Raises ``pa.ArrowException``."""
    if isinstance(column.type, pa.UuidType) and pa.types.is_string(wanted):
        return pa.chunked_array([[value and str(value) for value in column.to_pylist()]], wanted)
    return column.cast(wanted)


def _inferred(name: str, values: list[Datum], wanted: pa.Schema | None, misfits: RowErrors | None) -> pa.Array:
    known = wanted.field(name).type if wanted is not None and name in wanted.names else None
    try:
        if known is not None:
            try:
                return _exactly(values, known)
            except _NO_VALUE:
                pass  # perhaps what is inferred can be cast
        return pa.array(values)
    except _NO_VALUE as error:
        if known is not None and misfits is not None:
            return fitting(values, pa.field(name, known), misfits)
        problem = f"The column {name!r} has values without a common type: {error}; name its type with schema="
        raise SerdeError(problem) from error


# A batch of messages as one table: rows of different writers together, in the order of the messages.


class BatchReader:
    """Reads one batch. ``plan_of`` returns the plan of a message.

    ``errors`` gets the errors of messages that cannot be read, by the number of their row, which has nulls; without it
    the first one is raised.
    """

    def __init__(
        self,
        plan_of: Callable[[bytes, MessageContext], ReadPlan],
        *,
        ctx: SerializationContext,
        errors: MutableMapping[int, SerdeError] | None,
    ) -> None:
        self._plan_of = plan_of
        self._ctx = ctx
        self._errors = errors
        self._read: dict[int, tuple[ReadPlan, MessageRows]] = {}
        self._runs: list[tuple[int, int]] = []
        self.count = 0
        """How many records were read."""
        self._leading_nulls = 0

    def read(self, records: Iterable[Record]) -> None:
        """Add a row for each record."""
        for found in self._batches(records):
            self._read_batch(found)

    def table(self, schema: pa.Schema | None, empty: Callable[[], pa.Schema | None]) -> pa.Table:
        """Return the rows, with the columns of ``schema``; without rows and schema, with those of ``empty``.

        With ``schema`` and errors, a row with a value that does not fit its column is an error and a row of nulls.
        """
        if not isinstance(schema, pa.Schema | None):
            raise InvalidSettings(f"schema is a {type(schema).__name__}; expected a pyarrow.Schema", setting="schema")
        if not self._read:
            known = empty() if schema is None else schema
            return empty_rows(self.count) if known is None else _nulls(known, self.count)
        misfits: list[RowErrors | None] = [None if schema is None or self._errors is None else {} for _ in self._read]
        try:
            each = zip(self._read.values(), misfits, strict=True)
            tables = [rows.table(schema, found) for (_, rows), found in each]
            wanted = schema or pa.unify_schemas([one.schema for one in tables], promote_options="permissive")
            if not len(wanted):
                return empty_rows(self.count)
            joined = pa.concat_tables([_cast(one, wanted, found) for one, found in zip(tables, misfits, strict=True)])
        except pa.ArrowException as error:
            problem = f"The messages have no common columns: {error}; name them with schema=, or use a reader's schema"
            raise SerdeError(problem, topic=self._ctx.topic, field=self._ctx.field) from error
        except SerdeError as error:
            place(error, self._ctx)
            raise
        order = self._order([one.num_rows for one in tables])
        if any(misfits):
            return joined.take(self._without_misfits(order, tables, misfits))
        return joined if len(tables) == 1 else joined.take(pa.array(order, pa.int64()))

    def _batches(self, records: Iterable[Record]) -> Iterator[_Batch]:
        """Return runs of messages of one topic whose headers name the same schema, as bytes where they are bytes."""
        bare = records if isinstance(records, list) else list(records)
        if all(one is None or one.__class__ is bytes for one in bare):
            yield _Batch(bare, [self._ctx] * len(bare), bare)
            return
        read = [self._message_of(one) for one in bare]
        for _, run in groupby(read, lambda one: (one.ctx.topic, _key_of(one.ctx))):
            found = list(run)
            yield _Batch([one.data for one in found], [one.ctx for one in found], [one.record for one in found])

    def _message_of(self, record: Record) -> _Message:
        try:
            data, ctx = read_record(record, self._ctx.topic, field_of(self._ctx))
        except SerdeError as error:
            return _Message(error, self._ctx, record)
        if isinstance(data, (bytearray, memoryview)):
            data = bytes(data)
        return _Message(data, ctx, record)

    def _read_batch(self, batch: _Batch) -> None:
        number = 0
        while number < len(batch.messages):
            before = self.count
            try:
                self._read_from(batch.messages, number, batch.contexts[number])
            except SchemaNotCached:
                raise
            except Forbidden as error:
                place_denial(error, batch.records[number], batch.contexts[number])
                raise
            except SerdeError as error:
                if self._errors is None:
                    raise
                self._errors[self.count] = error
                self._append_null()
            number += self.count - before

    def _read_from(self, messages: list[Datum], number: int, ctx: SerializationContext) -> None:
        """Add the rows of one or more messages."""
        data = messages[number]
        if data is None:
            self._append_null()
            return
        if isinstance(data, SerdeError):
            raise data
        if not isinstance(data, bytes):
            problem = f"The message is a {type(data).__name__}; expected bytes"
            raise NotFramed(problem, topic=topic_of(ctx), field=field_of(ctx))
        plan = self._plan_of(data, ctx)
        try:
            rows = self._rows_of(plan)
            if plan.rules is None:
                added = rows.extend(messages, number, data[: plan.offset]) - number
                if not added:
                    plan.decode(data, plan.offset)  # raises the error of the message, if it has one
                    rows.append(data, plan.offset)
            else:
                added = 0
                rows.append(plan.rules.body(data, plan.offset, ctx), 0)
        except SerdeError as error:
            place(error, ctx, schema_id=plan.schema_id, data=data)
            raise
        self._add_run(id(plan), added or 1)
        plan.note_rows(added or 1)

    def _rows_of(self, plan: ReadPlan) -> MessageRows:
        found = self._read.get(id(plan))
        if found is None:
            rows = plan.row_source().rows()
            for _ in range(self._leading_nulls):
                rows.append_null()
            if self._leading_nulls:
                self._runs.append((id(plan), self._leading_nulls))
                self._leading_nulls = 0
            found = self._read[id(plan)] = (plan, rows)
        return found[1]

    def _append_null(self) -> None:
        if self._runs:
            key = self._runs[-1][0]
            self._read[key][1].append_null()
            self._add_run(key, 1)
        else:
            self._leading_nulls += 1
            self.count += 1

    def _add_run(self, key: int, count: int) -> None:
        self._runs.append((key, count))
        self.count += count

    def _without_misfits(
        self, order: list[int], tables: list[pa.Table], misfits: Sequence[RowErrors | None]
    ) -> pa.Array:
        """Return the order with null for each row that does not fit, and note the errors of these rows."""
        start, by_place = 0, {}
        for table, found in zip(tables, misfits, strict=True):
            by_place.update({start + row: error for row, error in (found or {}).items()})
            start += table.num_rows
        for row, number in enumerate(order):
            if number in by_place and self._errors is not None:
                place(by_place[number], self._ctx)
                self._errors.setdefault(row, by_place[number])
        return pa.array([None if number in by_place else number for number in order], pa.int64())

    def _order(self, sizes: list[int]) -> list[int]:
        """Return for each row of the batch its number in the rows of all writers, one after the other."""
        starts = dict(zip(self._read, (sum(sizes[:number]) for number in range(len(sizes))), strict=True))
        order: list[int] = []
        for key, count in self._runs:
            order.extend(range(starts[key], starts[key] + count))
            starts[key] += count
        return order


class _Message(NamedTuple):
    data: Any
    ctx: SerializationContext
    record: Record


class _Batch(NamedTuple):
    messages: list[Datum]
    contexts: list[SerializationContext]
    records: list[Record]


def _key_of(ctx: SerializationContext) -> Datum:
    """Return the headers as they decide about the schema."""
    headers = ctx.headers
    if not headers:
        return None
    pairs = headers.items() if isinstance(headers, dict) else headers
    return [(name, value) for name, value in pairs if name.startswith("__")]


def _nulls(schema: pa.Schema, count: int) -> pa.Table:
    return pa.table([pa.nulls(count, one.type) for one in schema], schema)


def _cast(table: pa.Table, schema: pa.Schema, misfits: RowErrors | None) -> pa.Table:
    """Return the table with the columns of a schema; those that it does not have are null."""
    if table.schema.equals(schema):
        return table
    known = set(table.schema.names)
    columns = [
        _cast_column(table.column(one.name), one, misfits) if one.name in known else pa.nulls(table.num_rows, one.type)
        for one in schema
    ]
    return pa.table(columns, schema)


def _cast_column(column: pa.ChunkedArray, wanted: pa.Field, misfits: RowErrors | None) -> Datum:
    if column.type.equals(wanted.type):
        return column
    try:
        return cast(column, wanted.type)
    except pa.ArrowException as error:
        if misfits is not None:
            return fitting(column, wanted, misfits)
        problem = f"The column {wanted.name!r} cannot be cast from {column.type} to {wanted.type}: {error}"
        raise SerdeError(problem) from error
