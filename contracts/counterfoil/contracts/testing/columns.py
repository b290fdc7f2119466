"""Constraints on columns of records: which rows may fail, found for a whole batch at once.

A row that is not named here passes. A row that is named is looked at again as a value, which decides and gives the
reason; so these functions may name too many rows, and never too few.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from counterfoil.contracts.values.constraints import MISSING, OneOfValues, Required, Within
from counterfoil.schema.datum import Datum
from counterfoil.schema.paths import FieldPath, StepKind
from counterfoil.sdk.errors import SerdeError
from counterfoil.sdk.serde.codec import Decode

_PLAIN: Final = (
    pa.types.is_string,
    pa.types.is_boolean,
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_date32,
    pa.types.is_decimal,
    pa.types.is_binary,
    pa.types.is_fixed_size_binary,
    pa.types.is_null,
)
"""The types whose values in Python are those of the decoder."""


class RecordColumns:
    """The rows of some messages of one writer. ``odd`` are messages that no column takes, by number."""

    def __init__(self, table: pa.Table, kept: list[int], errors: dict[int, SerdeError], odd: list[int]) -> None:
        self.table = table
        self.kept = kept
        self.errors = errors
        self.odd = odd

    @classmethod
    def read(cls, source: Any, decode: Decode, messages: list[bytes | None], prefix: bytes) -> RecordColumns | None:
        """Return the rows of messages that begin with ``prefix``; None for a schema without columns in Arrow.

        ``decode`` decides which messages cannot be read.
        """
        try:
            rows = source.rows()
        except SerdeError:  # such as a type that contains itself
            return None
        kept: list[int] = []
        errors: dict[int, SerdeError] = {}
        odd: list[int] = []
        start = 0
        while start < len(messages):
            end = rows.extend(messages, start, prefix)
            kept.extend(range(start, end))
            if end < len(messages):
                error, is_odd = _add_one(rows, decode, messages[end] or b"", len(prefix))
                if error is not None:
                    errors[end] = error
                else:
                    (odd if is_odd else kept).append(end)
                end += 1
            start = end
        return cls(rows.table(None), kept, errors, odd)

    def suspects(self, path: FieldPath, constraint: Any) -> set[int] | None:
        """Return the rows, by their number in the table, that may fail; None if columns cannot say."""
        if path and path[0].name not in self.table.column_names:  # of an older version, for example
            return set() if constraint.fits(MISSING) else set(range(len(self.table)))
        found = column_at(self.table, path)
        if found is None:
            return None
        column, is_exact = found
        try:
            mask = _failing(constraint, column)
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            return None
        if mask is None:
            return None
        numbers = pc.indices_nonzero(mask)
        if not len(numbers):
            return set()
        return set(numbers.to_pylist()) if is_exact else set(range(len(self.table)))

    def values(self, path: FieldPath) -> list[Datum] | None:
        """Return the plain values of a field, one for each row; None if columns do not have them."""
        found = column_at(self.table, path)
        if found is None or not found[1] or not _is_plain(found[0].type):
            return None
        return list(found[0].to_pylist())

    def dicts(self, names: Sequence[str]) -> Iterator[dict[str, Datum]] | None:
        """Return each row as a dict with these fields, as far as the writer has them; None if columns do not say."""
        there = [name for name in names if name in self.table.column_names]
        if not all(_is_plain(self.table.column(name).type) for name in there) or not there:
            return None
        columns = [self.table.column(name).to_pylist() for name in there]
        return (dict(zip(there, row, strict=True)) for row in zip(*columns, strict=True))


def column_at(table: pa.Table, path: FieldPath) -> tuple[pa.ChunkedArray, bool] | None:
    """Return the values at a path, and whether there is one for each row; None for a path that columns do not have."""
    if not path or path[0].kind is not StepKind.MEMBER or path[0].name not in table.column_names:
        return None
    column, is_exact = table.column(path[0].name), True
    for step in path[1:]:
        if step.kind is StepKind.MEMBER and pa.types.is_struct(column.type):
            if column.type.get_field_index(step.name) < 0:
                return None
            column = pc.struct_field(column, step.name)
        elif step.kind is StepKind.ITEM and not step.name and pa.types.is_list(column.type):
            column, is_exact = pc.list_flatten(column), False
        else:
            return None
    return column, is_exact


def _add_one(rows: Any, decode: Decode, data: bytes, offset: int) -> tuple[SerdeError | None, bool]:
    """Add a row that did not fit in with others; return why it cannot be read, or that no column takes its value."""
    try:
        decode(data, offset)
    except SerdeError as error:
        return error, False
    try:
        rows.append(data, offset)
    except SerdeError:
        return None, True
    return None, False


def _failing(constraint: Any, column: pa.ChunkedArray) -> Datum:
    """Return which values may fail; None if the constraint must look at values of another form."""
    if isinstance(constraint, Required):
        return pc.is_null(column)
    if isinstance(constraint, Within) and _is_number(column.type):
        mask = _outside(constraint, column)
        if mask is not None:
            return mask
    if isinstance(constraint, OneOfValues) and pa.types.is_string(column.type):
        listed = pa.array([each for each in constraint.values if isinstance(each, str)], pa.string())
        return pc.and_(pc.is_valid(column), pc.invert(pc.is_in(column, value_set=listed)))
    if not _is_plain(column.type):
        return None
    return pa.array([not constraint.fits(each) for each in column.to_pylist()], pa.bool_())


def _outside(constraint: Within, column: pa.ChunkedArray) -> Datum:
    limits = constraint.range
    mask: Any = None
    for limit, is_open, keep in (
        (limits.minimum, limits.is_open_below, (pc.greater, pc.greater_equal)),
        (limits.maximum, limits.is_open_above, (pc.less, pc.less_equal)),
    ):
        if limit is None:
            continue
        if isinstance(limit, str) or (isinstance(limit, float) and pa.types.is_integer(column.type)):
            return None
        inside = keep[0 if is_open else 1](column, pa.scalar(limit))
        outside = pc.fill_null(pc.invert(inside), fill_value=False)
        mask = outside if mask is None else pc.or_(mask, outside)
    return mask


def _is_number(arrow_type: pa.DataType) -> bool:
    return bool(pa.types.is_integer(arrow_type) or pa.types.is_floating(arrow_type))


def _is_plain(arrow_type: pa.DataType) -> bool:
    is_moment = pa.types.is_timestamp(arrow_type) and arrow_type.unit != "ns"
    return is_moment or any(test(arrow_type) for test in _PLAIN)
