"""The rows of one writer in a batch, and those of formats whose messages become dicts first."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from counterfoil.schema.excerpt import excerpt
from counterfoil.sdk.errors import SerdeError
from counterfoil.sdk.serde.arrow.avro_types import VALUE

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.sdk.serde.codec import Decode, RowErrors

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
        self._values: list[Any] = []

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


def values_as(wanted: pa.Field, values: list[Any], misfits: RowErrors) -> pa.Array:
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


def _converted(values: Any, wanted: pa.DataType) -> pa.Array:
    if isinstance(values, pa.ChunkedArray):
        return cast(values, wanted).combine_chunks()
    try:
        return _exactly(values, wanted)
    except _NO_VALUE:
        return pa.array(values).cast(wanted)


def _exactly(values: list[Any], wanted: pa.DataType) -> pa.Array:
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


def _inferred(name: str, values: list[Any], wanted: pa.Schema | None, misfits: RowErrors | None) -> pa.Array:
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
