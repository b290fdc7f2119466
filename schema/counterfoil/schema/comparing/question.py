"""What is compared, and the limits of the work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from counterfoil.schema.compatibility import CompatibilityLevel, CompatibilityPolicy
from counterfoil.schema.compatibility.findings import Earlier
from counterfoil.schema.judgement import DEFAULT_COUNT
from counterfoil.schema.parsed import ParsedSchema
from counterfoil.schema.rest.comparisons import Operand

HISTORY_STEPS: Final = 10_000_000
"""The steps of all comparisons with the versions of a history: some thousand versions of an ordinary schema."""


@dataclass(frozen=True, slots=True)
class ComparedSide:
    """One side of a comparison: as it is shown, and as it was parsed."""

    operand: Operand
    schema: ParsedSchema


@dataclass(frozen=True, slots=True)
class ComparisonQuestion:
    """What is asked about two schemas, with the level and the policy in force.

    ``history`` are the active versions before the later schema, from the newest, each with its number; for a draft all
    active versions. If the earlier schema is one of them by its number, the versions after it are the steps between the
    two.
    """

    earlier: ComparedSide
    later: ComparedSide
    level: CompatibilityLevel
    policy: CompatibilityPolicy
    history: Sequence[Earlier] = ()

    @property
    def are_of_one_language(self) -> bool:
        """Whether the two schemas can be compared at all."""
        return self.earlier.schema.schema_type is self.later.schema.schema_type

    @property
    def have_one_text(self) -> bool:
        """Whether the two are the same, letter by letter, so that no change lies between them."""
        earlier, later = self.earlier, self.later
        return (earlier.schema.text, earlier.operand.references) == (later.schema.text, later.operand.references)

    @property
    def are_equal(self) -> bool:
        """Whether the two are one text, with the same references."""
        earlier, later = self.earlier, self.later
        return (earlier.schema.canonical(), earlier.operand.references) == (
            later.schema.canonical(),
            later.operand.references,
        )

    @property
    def between(self) -> Sequence[Earlier] | None:
        """The versions between the two, from the newest; None if the earlier one is not in the history."""
        number = self.earlier.operand.version
        numbers = [each.version for each in self.history]
        return self.history[: numbers.index(number)] if number is not None and number in numbers else None


@dataclass(frozen=True, slots=True)
class ComparisonLimits:
    """The limits of a comparison; no verdict depends on those of searches.

    ``witnesses`` is the number of findings for which a record is searched for, ``confirmed`` that of the generated
    values that are written and read in a direction in which the policy SOUND finds nothing. ``changes`` and
    ``findings`` are the numbers of those that are listed. ``comparison_steps`` are the steps of each comparison of the
    two schemas and ``search_steps`` those of all searches; None for steps that grow with the schemas.
    ``history_steps`` are those of everything about the history. With ``is_whole``, the comparison raises
    ``JudgementUndecided`` instead of leaving out what needs more.
    """

    witnesses: int = 10
    confirmed: int = DEFAULT_COUNT
    changes: int = 500
    findings: int = 200
    comparison_steps: int | None = None
    search_steps: int | None = None
    history_steps: int = HISTORY_STEPS
    is_whole: bool = False
