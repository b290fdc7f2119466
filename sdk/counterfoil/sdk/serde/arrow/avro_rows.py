"""Rows of Avro messages: decoded into columns by the accelerator, else as values that become columns.

The accelerator adds what it handles; any other message is read by the generated code. Its value, if it has one, is a
chunk of its own.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from counterfoil.sdk.errors import SerdeError
from counterfoil.sdk.serde.arrow.avro_types import column_of, optional_record, table_schema
from counterfoil.sdk.serde.arrow.avro_values import TaggedResolver, array_of
from counterfoil.sdk.serde.arrow.rows import empty_rows
from counterfoil.sdk.serde.avro_codec.decode import make_decoder

if TYPE_CHECKING:
    from counterfoil.schema.formats.avro.schema import AvroSchema
    from counterfoil.schema.formats.avro.types import AvroType
    from counterfoil.sdk.serde.arrow.avro_types import Column
    from counterfoil.sdk.serde.avro_codec.decode import Decoder
    from counterfoil.sdk.serde.codec import RowErrors


class AvroRowSource:
    """Makes the rows of a writer's and a reader's schema; what that takes is compiled once, when it is needed."""

    def __init__(self, writer: AvroSchema, reader: AvroSchema | None, **limits: Any) -> None:
        self._writer = writer
        self._reader = reader
        self._limits = limits

    @cached_property
    def _root(self) -> AvroType:
        root = (self._reader or self._writer).root
        return optional_record(root) or root

    @cached_property
    def _column(self) -> Column:
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

    def __init__(self, root: AvroType, column: Column, decoder: Decoder) -> None:
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

    def _extend_with(self, values: list[Any]) -> int:
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


def _assembled(arrow_type: pa.DataType, part: tuple[int, tuple[bytes | None, ...], list[Any]]) -> pa.Array:
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
