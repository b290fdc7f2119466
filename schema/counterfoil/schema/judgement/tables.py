"""What breaks a table of records, for schemas of any language: the policy LOGICAL."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from counterfoil.schema.compatibility.report import Difference
from counterfoil.schema.errors import InvalidSchema
from counterfoil.schema.formats.table import format_for
from counterfoil.schema.logical import rules
from counterfoil.schema.logical.differences import compare_columns
from counterfoil.schema.logical.model import NotATable
from counterfoil.schema.model import SchemaType

if TYPE_CHECKING:
    from counterfoil.schema.logical.model import Column
    from counterfoil.schema.parsed import ParsedSchema


def find_logical_differences(
    reader: ParsedSchema, writer: ParsedSchema, *, candidate: ParsedSchema
) -> list[Difference]:
    """What breaks a table when rows of ``writer`` meet the columns of ``reader``; in the order of the columns.

    ``candidate`` is the one of the two that is new: it must have a table type, which is else the only difference. An
    earlier schema without one is not compared. Raises ``InvalidSchema`` for schemas nested too deep to be walked.
    """
    try:
        new = _column(candidate)
    except NotATable as fault:
        pointers = (fault.pointer, "") if candidate is reader else ("", fault.pointer)
        sentence = rules.NOT_A_TABLE.about({"reason": fault.reason})
        return [Difference(rules.NOT_A_TABLE.id, "", "#/", fault.reason, sentence, *pointers)]
    try:
        earlier = _column(writer if candidate is reader else reader)
    except NotATable:
        return []
    found = compare_columns(*((new, earlier) if candidate is reader else (earlier, new)))
    if candidate.schema_type is SchemaType.PROTOBUF:  # there a place is called after the message that declares it
        return [replace(difference, place=None) for difference in found]
    return found


def _column(schema: ParsedSchema) -> Column:
    try:
        return format_for(schema.schema_type).table_column(schema)
    except RecursionError:
        raise InvalidSchema("Invalid schema: its types are nested too deep to be compared; flatten them") from None
