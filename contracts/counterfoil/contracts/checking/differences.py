"""The findings about a difference between two schemas: identity, place, and a search for a record that found none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.schema.compatibility.levels import Direction
from counterfoil.schema.formats.table import format_for
from counterfoil.schema.witness import Witness

if TYPE_CHECKING:
    from counterfoil.schema.compatibility.report import Difference, Failure
    from counterfoil.schema.position import Position
    from counterfoil.schema.witness import NoWitness


def position_of(failure: Failure, difference: Difference) -> Position | None:
    """Return the position of the difference in the schema that is checked; for a missing part, the nearest position."""
    pointers = [difference.reader_pointer, difference.writer_pointer]
    candidate, is_reader = failure.reader, failure.direction is Direction.BACKWARD
    if not is_reader:
        candidate, pointers = failure.writer, pointers[::-1]
    if format_for(candidate.schema_type).pointers_are_names:
        return candidate.locate(pointers[0] or pointers[1])
    return candidate.locate(pointers[0])


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
