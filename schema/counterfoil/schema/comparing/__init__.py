"""The comparison of two schemas: verdicts by policy and direction, levels, changes, and findings with their proofs.

Questions and answers are plain values, so that another process may work on them: schemas cross as what they were parsed
from. Everything that grows with the schemas is counted in steps.
"""

from __future__ import annotations

from typing import Final

from counterfoil.schema.comparing.changes import place_changes
from counterfoil.schema.comparing.findings import place_findings
from counterfoil.schema.comparing.grid import Grid
from counterfoil.schema.comparing.levels import answer_levels
from counterfoil.schema.comparing.question import ComparedSide, ComparisonLimits, ComparisonQuestion
from counterfoil.schema.comparing.sides import LaidOutSides
from counterfoil.schema.compatibility import Steps
from counterfoil.schema.rest.comparisons import CellAnswer, SchemaComparison

__all__ = ["ComparedSide", "ComparisonLimits", "ComparisonQuestion", "compare_schemas"]

_DEFAULT_LIMITS: Final = ComparisonLimits()


def compare_schemas(question: ComparisonQuestion, limits: ComparisonLimits = _DEFAULT_LIMITS) -> SchemaComparison:
    """Return the comparison of two schemas, without readers.

    Raises ``JudgementUndecided`` only if the limits ask for a whole answer and something ended by its steps.
    """
    grid = Grid(question, limits)
    history_steps = Steps(limits.history_steps)
    levels = answer_levels(question, limits, history_steps)
    lines = LaidOutSides(question)
    findings = place_findings(grid, lines, limits)
    changes = place_changes(question, grid, lines, history_steps)
    return SchemaComparison(
        earlier=question.earlier.operand,
        later=question.later.operand,
        policy=question.policy.value,
        level=question.level.value,
        cells=grid.cells(findings.counts),
        levels=levels,
        changes=tuple(changes[: limits.changes]),
        findings=findings.listed,
        note=_note(question, grid),
        changes_left=max(0, len(changes) - limits.changes),
        findings_left=findings.left,
        witnesses_left=findings.witnesses_left,
    )


def _note(question: ComparisonQuestion, grid: Grid) -> str:
    """Return the sentence for what is unusual about the whole comparison; empty for an ordinary one."""
    earlier, later = question.earlier.schema, question.later.schema
    if not question.are_of_one_language:
        return (
            f"The earlier schema is {earlier.schema_type}, the later one {later.schema_type}: records of one language "
            "cannot be read with a schema of another"
        )
    if grid.problem:
        return grid.problem
    if grid.has(CellAnswer.UNDECIDED):
        return (
            "A part of the comparison ended at its limits: too many parts of the schemas must be compared with each "
            "other"
        )
    return "Both texts are equal" if question.are_equal else ""
