"""The search for a witness of a difference, in any language."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.schema.formats.table import format_for
from counterfoil.schema.judgement.defects import guarded
from counterfoil.schema.logical.rules import RULES as TABLE_RULES
from counterfoil.schema.witness import NoWitness, Witness

if TYPE_CHECKING:
    from counterfoil.schema.compatibility.report import Difference
    from counterfoil.schema.parsed import ParsedSchema
    from counterfoil.schema.steps import Steps

_ABOUT_TABLES: Final = frozenset(rule.id for rule in TABLE_RULES)


def search_for_witness(
    reader: ParsedSchema, writer: ParsedSchema, difference: Difference, *, steps: Steps | None = None
) -> Witness | NoWitness:
    """Return a value of ``writer`` that ``reader`` cannot read because of ``difference``, or why none was found.

    Raises nothing: a schema that the decoder refuses has no witness; a search that fails with a defect finds none, and
    the defect is logged. ``steps`` are spent; by default, a search has steps of its own.
    """
    return guarded(
        lambda: search_unguarded(reader, writer, difference, steps=steps),
        lambda reason: NoWitness(0, reason),
        reader,
        writer,
    )


def search_unguarded(
    reader: ParsedSchema, writer: ParsedSchema, difference: Difference, *, steps: Steps | None = None
) -> Witness | NoWitness:
    """Return the result of the search, but raise the exceptions of defects; tests call it to see them."""
    if reader.schema_type is not writer.schema_type:
        return NoWitness(0, "the two schemas are of different languages")
    if difference.rule in _ABOUT_TABLES:
        return NoWitness(0, "the rule is about the table in which records land, and not about reading them")
    return format_for(writer.schema_type).search_for_witness(reader, writer, difference, steps=steps)
