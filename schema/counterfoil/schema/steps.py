"""A version's step from the one before it: how much changed, and which of the two reads the records of the other."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from counterfoil.schema.compatibility import CompatibilityPolicy, Direction, Steps
from counterfoil.schema.errors import InvalidSchema, JudgementUndecided
from counterfoil.schema.judgement import find_breaking
from counterfoil.schema.languages.table import find_changes, parse_schema
from counterfoil.schema.parsed import ParsedSchema, SchemaSource, Validation


@dataclass(frozen=True, slots=True)
class StepFacts:
    """What is known of a step: counts of changes, the first of them in words, and verdicts.

    A verdict is None if it cannot be decided. ``is_whole`` is false if a comparison ended by its limits.
    """

    added: int = 0
    removed: int = 0
    changed: int = 0
    change: str = ""
    strict_backward: bool | None = None
    strict_forward: bool | None = None
    sound_backward: bool | None = None
    sound_forward: bool | None = None
    is_whole: bool = True


UNKNOWN_STEP: Final = StepFacts(change="The two versions cannot be compared within the limits", is_whole=False)
"""The step between two versions whose comparison was given up."""

_VERDICTS: Final = (
    ("strict_backward", CompatibilityPolicy.STRICT, Direction.BACKWARD),
    ("strict_forward", CompatibilityPolicy.STRICT, Direction.FORWARD),
    ("sound_backward", CompatibilityPolicy.SOUND, Direction.BACKWARD),
    ("sound_forward", CompatibilityPolicy.SOUND, Direction.FORWARD),
)


def find_step(earlier: ParsedSchema, later: ParsedSchema, *, max_steps: int | None = None) -> StepFacts:
    """Return the step from ``earlier`` to ``later``; each comparison has at most ``max_steps`` steps.

    >>> from counterfoil.schema.languages.table import parse_schema
    >>> step = find_step(parse_schema('"int"'), parse_schema('"long"'))
    >>> step.changed, step.change, step.strict_backward, step.strict_forward
    (1, 'type changed: int → long', True, False)
    """
    if earlier.schema_type is not later.schema_type:
        return StepFacts(changed=1, change=f"schema type changed: {earlier.schema_type} → {later.schema_type}")
    found = _changes(earlier, later)
    for name, policy, direction in _VERDICTS:
        steps = None if max_steps is None else Steps(max_steps)
        try:
            reads = not find_breaking(later, earlier, direction, policy=policy, steps=steps)
        except (JudgementUndecided, InvalidSchema):
            found = replace(found, is_whole=False)
        else:
            found = replace(found, **{name: reads})  # type: ignore[arg-type]  # the names are those of verdicts
    return found


def find_steps(pairs: Sequence[tuple[SchemaSource, SchemaSource]]) -> tuple[StepFacts, ...]:
    """Return the step of each pair of sources, which are parsed here; of those that are no schemas nothing is known."""
    known: dict[SchemaSource, ParsedSchema | None] = {}
    found = []
    for pair in pairs:
        for source in pair:
            if source not in known:
                known[source] = _parsed(source)
        earlier, later = (known[source] for source in pair)
        found.append(UNKNOWN_STEP if earlier is None or later is None else find_step(earlier, later))
    return tuple(found)


def _changes(earlier: ParsedSchema, later: ParsedSchema) -> StepFacts:
    try:
        changes = find_changes(earlier, later)
    except (InvalidSchema, RecursionError):
        return UNKNOWN_STEP
    added = sum(each.kind.endswith("-added") for each in changes)
    removed = sum(each.kind.endswith("-removed") for each in changes)
    first = "" if not changes else f"{changes[0].element} {changes[0].text}".strip()
    return StepFacts(added, removed, len(changes) - added - removed, first)


def _parsed(source: SchemaSource) -> ParsedSchema | None:
    """Return a stored schema as it is compared: by the strict rules, or else by those of its source."""
    for validation in (Validation.STRICT, source.validation):
        with suppress(InvalidSchema, RecursionError):
            return parse_schema(source.text, source.schema_type, references=source.references, validation=validation)
    return None
