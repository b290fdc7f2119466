"""The differences that break a table of records, for schemas of any language: the policy LOGICAL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.schema.errors import InvalidSchema
from counterfoil.schema.formats.table import format_for
from counterfoil.schema.logical.differences import compare_columns, not_a_table
from counterfoil.schema.logical.model import NotATable

if TYPE_CHECKING:
    from counterfoil.schema.compatibility.report import Difference
    from counterfoil.schema.logical.model import Column
    from counterfoil.schema.parsed import ParsedSchema


def find_logical_differences(
    reader: ParsedSchema, writer: ParsedSchema, *, candidate: ParsedSchema
) -> list[Difference]:
    """Return what breaks a table with the columns of ``reader`` and rows of ``writer``, in the order of the columns.

    ``candidate`` is the new one of the two schemas: if it has no table type, that is the only difference. With an
    earlier schema without a table type the result is empty. Raises ``InvalidSchema`` for schemas that are nested too
    deep.
    """
    try:
        new = _column(candidate)
    except NotATable as fault:
        pointers = (fault.pointer, ()) if candidate is reader else ((), fault.pointer)
        return [not_a_table(fault.reason, candidate.path_at(fault.pointer), pointers)]
    try:
        earlier = _column(writer if candidate is reader else reader)
    except NotATable:
        return []
    is_named = format_for(candidate.schema_type).pointers_are_names  # a column's path is then that of its pointer
    sides = (new, earlier) if candidate is reader else (earlier, new)
    return compare_columns(*sides, path_at=reader.path_at if is_named else None)


def _column(schema: ParsedSchema) -> Column:
    try:
        return format_for(schema.schema_type).table_column(schema)
    except RecursionError:
        raise InvalidSchema("Invalid schema: its types are nested too deep to be compared; flatten them") from None
