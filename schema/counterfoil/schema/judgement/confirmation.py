"""The confirmation of a verdict "compatible": generated values, written with one schema and read with the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.schema.formats.table import format_for
from counterfoil.schema.judgement.defects import guarded
from counterfoil.schema.witness import Confirmation

if TYPE_CHECKING:
    from counterfoil.schema.parsed import ParsedSchema

DEFAULT_COUNT: Final = 200
"""The number of values that are written and read."""


def confirm_compatible(reader: ParsedSchema, writer: ParsedSchema, count: int = DEFAULT_COUNT) -> Confirmation:
    """Return how many of ``count`` values of ``writer`` mean the same to ``reader``, or the first that does not.

    The values are the same on every call; every branch of a union and every symbol of an enum are among the first.
    Encoder and decoder are of other projects. Read and written values are compared by their meaning: an instant with an
    instant, a decimal with a decimal. Raises nothing: schemas that the decoder refuses are reported in the result, and
    a defect of this function is logged.
    """
    return guarded(
        lambda: confirm_unguarded(reader, writer, count),
        lambda reason: Confirmation(0, reason=reason),
        reader,
        writer,
    )


def confirm_unguarded(reader: ParsedSchema, writer: ParsedSchema, count: int = DEFAULT_COUNT) -> Confirmation:
    """Return the confirmation, but raise the exceptions of defects; tests call it to see them."""
    if reader.schema_type is not writer.schema_type:
        return Confirmation(0, reason="the two schemas are of different languages")
    return format_for(writer.schema_type).confirm_compatible(reader, writer, count)
