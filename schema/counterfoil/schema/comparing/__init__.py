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
from counterfoil.schema.comparing.parts import Parts, finished
from counterfoil.schema.comparing.question import ComparedSide, ComparisonLimits, ComparisonQuestion
from counterfoil.schema.comparing.sides import LaidOutSides
from counterfoil.schema.compatibility import Steps
from counterfoil.schema.rest.comparisons import CellAnswer, SchemaComparison

__all__ = [
    "ComparedSide",
    "ComparisonLimits",
    "ComparisonQuestion",
    "compare_schemas",
    "comparison_in_parts",
]

_DEFAULT_LIMITS: Final = ComparisonLimits()


def compare_schemas(question: ComparisonQuestion, limits: ComparisonLimits = _DEFAULT_LIMITS) -> SchemaComparison:
    """Return the comparison of two schemas, without readers.

    Raises ``JudgementUndecided`` only if the limits ask for a whole answer and something ended by its steps.
    """
    return finished(comparison_in_parts(question, limits))


def comparison_in_parts(question: ComparisonQuestion, limits: ComparisonLimits) -> Parts[SchemaComparison]:
    """Do what :func:`compare_schemas` does, in parts of a few milliseconds for small schemas."""
    grid = Grid(question, limits)
    yield from grid.fill()
    history_steps = Steps(limits.history_steps)
    levels = yield from answer_levels(question, limits, history_steps)
    lines = LaidOutSides(question)
    if question.are_of_one_language and not question.have_one_text:
        yield from lines.lay_out_both()
    findings = yield from place_findings(grid, lines, limits)
    changes = yield from place_changes(question, grid, lines, history_steps, is_whole=limits.is_whole)
    cells = yield from grid.cells(findings.counts)
    return SchemaComparison(
        earlier=question.earlier.operand,
        later=question.later.operand,
        policy=question.policy.value,
        level=question.level.value,
        cells=cells,
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
