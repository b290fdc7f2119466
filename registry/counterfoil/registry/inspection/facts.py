"""What pages have found out about the contents of versions: cached by guids, each cache bounded in bytes.

A guid stands for a text with its references, metadata and rules, so that what follows from it never changes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Final, TypeAlias
from uuid import UUID

from counterfoil.schema.caches import RecentValues
from counterfoil.schema.element_tables import ElementTable
from counterfoil.schema.rest.comparisons import SchemaComparison
from counterfoil.schema.rest.inspection import ElementRow, ElementStep, SourceWindow
from counterfoil.schema.steps import StepFacts

_MB: Final = 1024 * 1024
_ROW_BYTES: Final = 800
_STEP_BYTES: Final = 400
_TOKEN_BYTES: Final = 250
_FINDING_BYTES: Final = 2_000
_CHAR_BYTES: Final = 4
"""The largest number of bytes of a character in memory."""

Versions: TypeAlias = "tuple[str, tuple[UUID, ...], tuple[int, ...]]"
"""A context, and some versions of a subject in it: their guids and their numbers."""


@dataclass(frozen=True)
class DerivedFacts:
    """The caches, by what each is found from.

    ``steps`` are of two contents, ``tables`` of a version and those before it, ``windows`` of a large one alone and the
    page, ``sources`` of a content and its lines, ``lives`` of all versions and a path, ``comparisons`` of two sides,
    the versions between them, and what is in force.
    """

    steps: RecentValues[tuple[str, UUID, UUID], StepFacts] = field(default_factory=partial(RecentValues, 4 * _MB))
    tables: RecentValues[Versions, ElementTable] = field(default_factory=partial(RecentValues, 8 * _MB))
    windows: RecentValues[tuple[object, ...], ElementTable] = field(default_factory=partial(RecentValues, 4 * _MB))
    sources: RecentValues[tuple[object, ...], SourceWindow] = field(default_factory=partial(RecentValues, 8 * _MB))
    lives: RecentValues[tuple[Versions, str], tuple[ElementStep, ...]] = field(
        default_factory=partial(RecentValues, 2 * _MB)
    )
    comparisons: RecentValues[tuple[object, ...], SchemaComparison] = field(
        default_factory=partial(RecentValues, 8 * _MB)
    )

    def of_past(self) -> DerivedFacts:
        """Return the caches for an earlier moment: those that are read after the contents that they are about.

        Contents that were deleted for good since are refused when they are read. The other caches would go on
        telling of them, and are empty.
        """
        return DerivedFacts(tables=self.tables, windows=self.windows, sources=self.sources, lives=self.lives)


# The bytes of values in memory, at least about.


def weight_of_step(step: StepFacts) -> int:
    """Return the bytes of a step."""
    return _STEP_BYTES + len(step.change)


def weight_of_table(table: ElementTable) -> int:
    """Return the bytes of a table of elements."""
    rows = (*table.elements.elements, *table.types)
    texts = sum(map(len, (*table.warnings, *table.tags))) + sum(map(_chars_of, rows))
    return _ROW_BYTES * (1 + len(rows)) + _CHAR_BYTES * texts


def _chars_of(row: ElementRow) -> int:
    listed = (*row.types, *row.tags, *row.constraints, *row.symbols, *row.aliases)
    return len(row.path) + len(row.type) + len(row.doc) + len(row.default or "") + sum(map(len, listed))


def weight_of_source(window: SourceWindow) -> int:
    """Return the bytes of some lines of a laid-out text."""
    tokens = [token for line in window.lines for token in line.tokens]
    return _TOKEN_BYTES * (1 + len(window.lines) + len(tokens)) + _CHAR_BYTES * sum(len(each.text) for each in tokens)


def weight_of_life(steps: tuple[ElementStep, ...]) -> int:
    """Return the bytes of the life of an element."""
    rows = [each.element for each in steps if each.element is not None]
    texts = sum(len(change) for each in steps for change in each.changes) + sum(map(_chars_of, rows))
    return _ROW_BYTES * (1 + len(steps)) + _CHAR_BYTES * texts


def weight_of_comparison(found: SchemaComparison) -> int:
    """Return the bytes of a comparison."""
    texts = len(found.earlier.schema) + len(found.later.schema)
    for change in found.changes:
        texts += len(change.path) + len(change.text) + len(change.earlier or "") + len(change.later or "")
    for finding in found.findings:
        texts += len(finding.path) + len(finding.sentence) + sum(map(len, finding.also_at))
        texts += 0 if finding.witness is None else len(finding.witness.datum) + len(finding.witness.body)
    return _FINDING_BYTES * (1 + len(found.changes) + len(found.findings)) + _CHAR_BYTES * texts
