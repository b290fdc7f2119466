"""The check of a candidate against a subject's history under its compatibility level."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from counterfoil.schema.compatibility.levels import CompatibilityLevel, Direction
from counterfoil.schema.compatibility.policies import CompatibilityPolicy
from counterfoil.schema.compatibility.report import CompatibilityReport, Difference, Earlier, Failure
from counterfoil.schema.compatibility.rules import CompatibilityRule
from counterfoil.schema.formats.table import format_for
from counterfoil.schema.steps import Steps

if TYPE_CHECKING:
    from collections.abc import Iterable

    from counterfoil.schema.parsed import ParsedSchema

SCHEMA_TYPE_CHANGED: Final = CompatibilityRule(
    id="schema-type-changed",
    schema_type=None,
    error_type="",
    sentence="The schema is {candidate}, the earlier version {earlier}; "
    "a subject keeps one schema type unless its compatibility level is NONE",
    why="Records of one language cannot be read with a schema of another.",
    promises_witness=False,
)
"""The rule for two schemas in different languages; the reference has no error type for it."""


def check_compatibility(
    candidate: ParsedSchema,
    history: Iterable[Earlier],
    level: CompatibilityLevel,
    *,
    policy: CompatibilityPolicy = CompatibilityPolicy.STRICT,
    max_steps: int | None = None,
) -> CompatibilityReport:
    """Return whether ``candidate`` may follow ``history`` under ``level`` and ``policy``, and every reason why not.

    ``history`` is in order from the newest version and is consumed no further than needed: only the latest version for
    a level that is not transitive, else up to the first version that fails, which is the only one reported. A schema of
    another language fails under every level but NONE. Raises ``InvalidSchema`` for schemas that are nested too deep to
    be compared, and ``JudgementUndecided`` where a comparison needs more than ``max_steps`` steps (by default, those
    of :func:`~counterfoil.schema.steps.steps_for`).

    >>> from counterfoil.schema.parsing import parse_schema
    >>> earlier = Earlier(parse_schema('"string"'), version=1)
    >>> report = check_compatibility(parse_schema('"int"'), [earlier], CompatibilityLevel.BACKWARD)
    >>> [difference.text for failure in report.failures for difference in failure.differences]
    ['The reader expects int, the writer writes string']
    """
    if not level.directions:
        return CompatibilityReport(level)
    checked = 0
    for earlier in history if level.is_transitive else islice(history, 1):
        checked += 1
        failures = _failures(candidate, earlier, level.directions, policy, max_steps)
        if failures:
            return CompatibilityReport(level, failures, checked)
    return CompatibilityReport(level, checked=checked)


def _failures(
    candidate: ParsedSchema,
    earlier: Earlier,
    directions: tuple[Direction, ...],
    policy: CompatibilityPolicy,
    max_steps: int | None,
) -> tuple[Failure, ...]:
    if candidate.schema_type is not earlier.schema.schema_type:
        difference = (_schema_type_changed(candidate, earlier.schema),)
        return (Failure(earlier, directions[0], *reader_and_writer(candidate, earlier, directions[0]), difference),)

    def compare(reader: ParsedSchema, writer: ParsedSchema) -> list[Difference]:
        steps = None if max_steps is None else Steps(max_steps)
        find = format_for(candidate.schema_type).find_differences
        found = list(find(reader, writer, policy=policy, steps=steps))
        if policy is CompatibilityPolicy.LOGICAL:
            from counterfoil.schema.judgement.tables import find_logical_differences  # for this policy alone

            found += find_logical_differences(reader, writer, candidate=candidate)
        return found

    def differences_of(direction: Direction, reader: ParsedSchema, writer: ParsedSchema) -> tuple[Difference, ...]:
        found = compare(reader, writer)
        if direction is Direction.FORWARD:  # the earlier schema takes nothing away from the later one
            found = [each for each in found if not each.kind.is_of_change]
        of_candidate = "reader" if direction is Direction.BACKWARD else "writer"
        return tuple(each for each in found if each.kind.of_side in {"", of_candidate})

    sides = [(direction, *reader_and_writer(candidate, earlier, direction)) for direction in directions]
    return tuple(
        Failure(earlier, direction, reader, writer, differences)
        for direction, reader, writer in sides
        if (differences := differences_of(direction, reader, writer))
    )


def reader_and_writer(
    candidate: ParsedSchema, earlier: Earlier, direction: Direction
) -> tuple[ParsedSchema, ParsedSchema]:
    """Return the reader and the writer of a comparison in one direction."""
    return (candidate, earlier.schema) if direction is Direction.BACKWARD else (earlier.schema, candidate)


def _schema_type_changed(candidate: ParsedSchema, earlier: ParsedSchema) -> Difference:
    facts = {"candidate": candidate.schema_type, "earlier": earlier.schema_type}
    return Difference(SCHEMA_TYPE_CHANGED, facts, "{earlier} to {candidate}")
