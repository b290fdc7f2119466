"""The rows of one writer in a batch, and those of formats whose messages become dicts first."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from counterfoil.sdk.errors import SerdeError
from counterfoil.sdk.serde.arrow.avro_types import VALUE

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.sdk.serde.codec import Decode


class Rows(Protocol):
    """Rows that are read from messages with one plan."""

    def extend(self, messages: list[bytes | None], start: int, prefix: bytes) -> int:
        """Add a row for each message from number ``start`` on, and return the number of the first that is not added.

        It is the first that does not begin with ``prefix``, after which the value begins, or that cannot be read.
        """

    def append(self, data: bytes, offset: int) -> None:
        """Add the row of a message whose value begins at ``offset``. Raises ``SerdeError``."""

    def append_null(self) -> None:
        """Add a row of nulls."""

    def table(self, wanted: pa.Schema | None) -> pa.Table:
        """Return all rows; columns of ``wanted`` may have its types already. Raises ``SerdeError``."""


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

    def table(self, wanted: pa.Schema | None) -> pa.Table:
        """Return the rows; the keys of all dicts are the columns, in the order in which they come first."""
        values = self._values
        if all(value is None or isinstance(value, dict) for value in values):
            names = list(dict.fromkeys(name for value in values if value for name in value))
            columns = {name: [value and value.get(name) for value in values] for name in names}
        else:
            columns = {VALUE: values}
        arrays = {name: _inferred(name, column, wanted) for name, column in columns.items()}
        return pa.table(arrays) if arrays else empty_rows(len(values))


def empty_rows(count: int) -> pa.Table:
    """Return a table of so many rows without columns."""
    return pa.Table.from_batches([pa.RecordBatch.from_struct_array(pa.array([{}] * count, pa.struct([])))])


def _inferred(name: str, values: list[Any], wanted: pa.Schema | None) -> pa.Array:
    known = wanted.field(name).type if wanted is not None and name in wanted.names else None
    try:
        if known is not None:
            try:
                return pa.array(values, known)
            except (pa.ArrowException, TypeError, ValueError, OverflowError):
                pass  # perhaps what is inferred can be cast
        return pa.array(values)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        problem = f"The column {name!r} has values without a common type: {error}; name its type with schema="
        raise SerdeError(problem) from error
