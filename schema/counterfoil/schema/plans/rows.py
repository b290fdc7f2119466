"""The explanation of a plan: how a target field was found, and what is noted about its types."""

from __future__ import annotations

from typing import Final

from counterfoil.schema.plans.model import BuildRecord, MapItems, MapValues, Op, Repeat
from counterfoil.schema.plans.tree import Node, RecordField, UnionType
from counterfoil.schema.plans.types import describe, is_derived, same_values, scalar_of, split_null

SAME_NUMBER: Final = "same number"
"""How a row says that a field was found by its number alone."""


def is_part_by_part(op: Op) -> bool:
    """Return whether the parts of the value have rows of their own."""
    inner = getattr(op, "of", op) if isinstance(op, (MapItems, MapValues)) else op
    return isinstance(inner, BuildRecord | Repeat) or (
        isinstance(op, (MapItems, MapValues))
        and isinstance(op.item if isinstance(op, MapItems) else op.value, BuildRecord | Repeat)
    )


def how_found(member: RecordField, found: RecordField) -> str:
    """Return the relation of a target field to its source field, as a word."""
    if found.name == member.name:
        return "same name"
    return "alias" if {found.name, *found.aliases} & {member.name, *member.aliases} else SAME_NUMBER


def widened_note(source: Node, target: Node) -> str:
    """Return a note about a larger type; empty if the type is not larger."""
    source_null, source_inner = split_null(source)
    target_null, target_inner = split_null(target)
    notes = []
    if source_inner is not None and target_inner is not None and not same_values(source_inner, target_inner):
        left, right = scalar_of(source_inner), scalar_of(target_inner)
        word = "written as" if left and right and is_derived(left, right) else "widened"
        notes.append(f"{word} {describe(source_inner)} → {describe(target_inner)}")
    if target_null and not source_null and not isinstance(target_inner, UnionType):
        notes.append("may now be null")
    return ", ".join(notes)
