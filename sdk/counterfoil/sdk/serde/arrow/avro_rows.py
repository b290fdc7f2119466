"""Rows of Avro messages: decoded into columns by the accelerator, else as values that become columns."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from counterfoil.schema.datum import Datum
from counterfoil.schema.languages.avro.types import (
    AvroArray,
    AvroField,
    AvroKind,
    AvroMap,
    AvroRecord,
    AvroType,
    AvroUnion,
)
from counterfoil.sdk.errors import SerdeError
from counterfoil.sdk.serde.arrow import empty_rows
from counterfoil.sdk.serde.arrow.avro_types import ArrowColumn, branches_of, column_of, optional_record, table_schema
from counterfoil.sdk.serde.avro.coders import Decoder, make_decoder
from counterfoil.sdk.serde.avro.logical_types import conversion_of
from counterfoil.sdk.serde.avro.plan import FieldStep, RecordStep, Step
from counterfoil.sdk.serde.avro.resolve import SchemaResolver
from counterfoil.sdk.serde.avro.values import default_with_branches, is_optional
from counterfoil.sdk.serde.codec import RowErrors

if TYPE_CHECKING:
    from counterfoil.schema.languages.avro.schema import AvroSchema


# Arrow arrays of decoded Avro values: what is done without the accelerator, and for messages that it leaves out.
#
# The values are those of a plan of :class:`TaggedResolver`.


class TaggedResolver(SchemaResolver):
    """Makes plans whose values of unions of several types say which branch of the reader's union they are.

    Such a value is a dict with a name for every branch, its number; all of them but one are None.
    """

    def branch(self, union: AvroUnion, number: int, step: Step) -> Step:
        """Return the step that reads a branch of the reader's union."""
        if self.is_skipping or is_optional(union):
            return step
        name, names = str(number), [*map(str, range(len(union.branches)))]
        others = dict.fromkeys(one for one in names if one != name)
        return RecordStep("", [FieldStep(name, name, step)], names, others, is_branch=True)

    def default(self, field: AvroField) -> Datum:
        """Return the value of a field's default."""
        return default_with_branches(field.type, field.default, _mark)


def _mark(union: AvroUnion, number: int, value: object) -> Datum:
    return value if is_optional(union) else {str(number): value}


def array_of(avro_type: AvroType, values: Sequence[Datum]) -> pa.Array:
    """Return the array of values of a type; None is null. Raises ``SerdeError`` for values that its type cannot have.

    None may also stand for values of types that are not nullable: they are inside a row of nulls.
    """
    match avro_type:
        case AvroRecord(fields=fields):
            arrays = [array_of(one.type, [value and value[one.name] for value in values]) for one in fields]
            return _nested(avro_type, values, arrays)
        case AvroArray(items=items):
            return _nested(avro_type, values, [array_of(items, [one for value in values for one in value or ()])])
        case AvroMap(values=inner):
            keys = pa.array([key for value in values for key in value or ()], pa.string())
            items_ = array_of(inner, [one for value in values for one in (value or {}).values()])
            entries = pa.StructArray.from_arrays([keys, items_], fields=_entry_fields(avro_type))
            return _nested(avro_type, values, [entries])
        case AvroUnion() if not is_optional(avro_type):
            return _union(avro_type, values)
        case AvroUnion():
            inside = branches_of(avro_type)
            return array_of(inside[0], values) if inside else pa.nulls(len(values))
    return _scalars(avro_type, values)


def _scalars(avro_type: AvroType, values: Sequence[object]) -> pa.Array:
    arrow_type = column_of(avro_type).type
    conversion = conversion_of(avro_type)
    try:
        if isinstance(arrow_type, pa.UuidType):
            return pa.ExtensionArray.from_storage(arrow_type, pa.array([*map(_uuid_bytes, values)], pa.binary(16)))
        if conversion is None or _is_of_values(arrow_type):
            return pa.array(values, arrow_type)
        return pa.array([None if value is None else conversion.encode(value) for value in values], arrow_type)
    except (pa.ArrowException, ValueError, ArithmeticError, TypeError) as error:
        raise SerdeError(f"A value of {avro_type.kind.value} cannot be stored as {arrow_type}: {error}") from error


def _is_of_values(arrow_type: pa.DataType) -> bool:
    """Return whether Arrow itself makes the array of decimals, dates, times and instants, without loss of precision."""
    is_exact = pa.types.is_date(arrow_type) or getattr(arrow_type, "unit", None) == "us"
    return is_exact or pa.types.is_decimal(arrow_type)


def _uuid_bytes(value: Datum) -> bytes | None:
    return None if value is None else value.bytes


def _nested(avro_type: AvroType, values: Sequence[Datum], children: list[pa.Array]) -> pa.Array:
    """Return the array of records, lists or dicts; ``children`` are the arrays of their members."""
    validity = pa.array([value is not None for value in values], pa.bool_()).buffers()[1]
    buffers = [validity if None in values else None]
    if not isinstance(avro_type, AvroRecord):
        ends = [0]
        for value in values:
            ends.append(ends[-1] + len(value or ()))
        buffers.append(pa.array(ends, pa.int32()).buffers()[1])
    return pa.Array.from_buffers(column_of(avro_type).type, len(values), buffers, children=children)


def _entry_fields(avro_type: AvroMap) -> list[pa.Field]:
    map_type = column_of(avro_type).type
    return [map_type.key_field, map_type.item_field]


def _union(union: AvroUnion, values: Sequence[Datum]) -> pa.Array:
    null = next((number for number, one in enumerate(union.branches) if one.kind is AvroKind.NULL), 0)
    inside: list[list[Datum]] = [[] for _ in union.branches]
    numbers, places = [], []
    for value in values:
        number, item = next(((int(name), one) for name, one in (value or {}).items() if one is not None), (null, None))
        numbers.append(number)
        places.append(len(inside[number]))
        inside[number].append(item)
    children = [array_of(branch, items) for branch, items in zip(union.branches, inside, strict=True)]
    buffers = [None, pa.array(numbers, pa.int8()).buffers()[1], pa.array(places, pa.int32()).buffers()[1]]
    return pa.Array.from_buffers(column_of(union).type, len(values), buffers, children=children)


# The rows of one writer.
#
# The accelerator adds what it handles; any other message is read by the generated code. Its value, if it has one, is a
# chunk of its own.


class AvroRowSource:
    """Makes the rows of a writer's and a reader's schema; the code for it is compiled once, when it is needed."""

    def __init__(self, writer: AvroSchema, reader: AvroSchema | None, **limits: Any) -> None:
        self._writer = writer
        self._reader = reader
        self._limits = limits

    @cached_property
    def _root(self) -> AvroType:
        root = (self._reader or self._writer).root
        return optional_record(root) or root

    @cached_property
    def _column(self) -> ArrowColumn:
        return column_of(self._root)

    @cached_property
    def _decoder(self) -> Decoder:
        return make_decoder(self._writer, self._reader, resolver=TaggedResolver(), **self._limits)

    def schema(self) -> pa.Schema:
        """Return the schema of the rows."""
        return table_schema(self._column.type)

    def rows(self) -> AvroRows:
        """Return new rows."""
        return AvroRows(self._root, self._column, self._decoder)


class AvroRows:
    """Rows of one writer, as chunks in their order: those of the accelerator, and those of decoded values."""

    def __init__(self, root: AvroType, column: ArrowColumn, decoder: Decoder) -> None:
        self._root = root
        self._column = column
        self._decode = decoder.decode
        self._columns = decoder.columns(column.layout)
        self._chunks: list[pa.Array] = []

    def extend(self, messages: list[bytes | None], start: int, prefix: bytes) -> int:
        """Add the rows of messages up to the first with another prefix, or that cannot be read so."""
        if self._columns is not None:
            return int(self._columns.extend(messages, start, prefix))
        values = []
        for number in range(start, len(messages)):
            data = messages[number]
            if data is None or not data.startswith(prefix):
                break
            try:
                values.append(self._decode(data, len(prefix)))
            except SerdeError:
                break
        return start + self._extend_with(values)

    def _extend_with(self, values: list[Datum]) -> int:
        """Add the values before the first that has no place in its column, and return how many these are."""
        try:
            self._chunks.append(array_of(self._root, values))
        except SerdeError:
            if len(values) == 1:
                return 0
            half = len(values) // 2
            added = self._extend_with(values[:half])
            return added + self._extend_with(values[half:]) if added == half else added
        return len(values)

    def append(self, data: bytes, offset: int) -> None:
        """Add the row of one message."""
        chunk = array_of(self._root, [self._decode(data, offset)])
        self._take_columns()
        self._chunks.append(chunk)

    def append_null(self) -> None:
        """Add a row of nulls."""
        if self._columns is not None:
            self._columns.append_null()
        else:
            self._chunks.append(array_of(self._root, [None]))

    def table(self, wanted: pa.Schema | None, misfits: RowErrors | None = None) -> pa.Table:
        """Return all rows, with the types of their schema."""
        del wanted, misfits
        self._take_columns()
        arrow_type = self._column.type
        schema = table_schema(arrow_type)
        if not pa.types.is_struct(arrow_type):
            return pa.table([pa.chunked_array(self._chunks, arrow_type)], schema)
        if not arrow_type.num_fields:
            return empty_rows(sum(map(len, self._chunks)))
        columns = [
            pa.chunked_array([chunk.field(number) for chunk in self._chunks], arrow_type.field(number).type)
            for number in range(arrow_type.num_fields)
        ]
        return pa.table(columns, schema)

    def _take_columns(self) -> None:
        if self._columns is not None and self._columns.rows:
            self._chunks.append(_assembled(self._column.type, self._columns.take()))


def _assembled(arrow_type: pa.DataType, part: tuple[int, tuple[bytes | None, ...], list[Datum]]) -> pa.Array:
    """Return the array of buffers that the accelerator has filled."""
    count, contents, inside = part
    if pa.types.is_null(arrow_type):
        return pa.nulls(count)
    if isinstance(arrow_type, pa.UuidType):
        return pa.ExtensionArray.from_storage(arrow_type, _assembled(arrow_type.storage_type, part))
    buffers = [None if one is None else pa.py_buffer(one) for one in contents]
    types = _types_inside(arrow_type)
    children = [_assembled(one, piece) for one, piece in zip(types, inside, strict=True)]
    if pa.types.is_map(arrow_type):
        children = [pa.StructArray.from_arrays(children, fields=[arrow_type.key_field, arrow_type.item_field])]
    return pa.Array.from_buffers(arrow_type, count, buffers, children=children)


def _types_inside(arrow_type: pa.DataType) -> list[pa.DataType]:
    if pa.types.is_list(arrow_type):
        return [arrow_type.value_type]
    if pa.types.is_map(arrow_type):
        return [arrow_type.key_type, arrow_type.item_type]
    return [arrow_type.field(number).type for number in range(arrow_type.num_fields)]
