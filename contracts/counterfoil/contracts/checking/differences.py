"""The findings about a difference between two schemas: identity, place, and a search for a record that found none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.schema.compatibility.levels import Direction
from counterfoil.schema.formats.table import format_for
from counterfoil.schema.witness import Witness

if TYPE_CHECKING:
    from counterfoil.schema.compatibility.report import Difference, Failure
    from counterfoil.schema.parsed import ParsedSchema
    from counterfoil.schema.pointer import Pointer
    from counterfoil.schema.position import Position
    from counterfoil.schema.witness import NoWitness


FIELDS: Final = "fields"
"""The member of a record of Avro that lists its fields."""


def position_of(failure: Failure, difference: Difference) -> Position | None:
    """Return the position of the difference in the schema that is checked; for a missing part, the nearest position."""
    pointers = [difference.reader_pointer, difference.writer_pointer]
    candidate, is_reader = failure.reader, failure.direction is Direction.BACKWARD
    if not is_reader:
        candidate, pointers = failure.writer, pointers[::-1]
    if format_for(candidate.schema_type).pointers_are_names:
        return candidate.locate(pointers[0] or pointers[1])
    return _beside_header(candidate, *pointers) or candidate.locate(pointers[0])


def _beside_header(candidate: ParsedSchema, mine: Pointer, theirs: Pointer) -> Position | None:
    """Return the position of the field that is now where a missing one was, or of the one before it.

    That is for a list of fields that begins in the line of its record, such as the first line of a file, which says
    nothing about the field. None for any other difference.
    """
    if mine[-1:] != (FIELDS,) or theirs[-2:-1] != (FIELDS,) or not isinstance(theirs[-1], int):
        return None
    header, listed = candidate.locate(mine[:-1]), candidate.locate(mine)
    if header is None or listed is None or header.line != listed.line:
        return None
    near = [candidate.locate((*mine, index)) for index in (theirs[-1], theirs[-1] - 1) if index >= 0]
    return next((each for each in near if each is not None and each.line > header.line), None)


def no_witness(outcome: Witness | NoWitness, difference: Difference) -> str:
    """Return the sentence about a search without a result.

    It is empty if nothing was tried and the rule promises no witness.
    """
    if isinstance(outcome, Witness):
        return ""
    from counterfoil.schema.formats.rules import RULE_BY_ID  # the tables of all languages cost start time

    rule = RULE_BY_ID.get(difference.rule)
    is_due = outcome.tried > 0 or (rule is not None and rule.promises_witness)
    return str(outcome) if is_due else ""
