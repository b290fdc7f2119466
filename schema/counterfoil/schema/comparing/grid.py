"""The grid of policies and directions: what each policy says of each direction, and what shows it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from counterfoil.schema.comparing.parts import Parts
from counterfoil.schema.comparing.question import ComparisonLimits, ComparisonQuestion
from counterfoil.schema.compatibility import CompatibilityPolicy, Direction, Steps
from counterfoil.schema.compatibility.findings import Difference, Earlier
from counterfoil.schema.errors import InvalidSchema, JudgementUndecided
from counterfoil.schema.judgement import confirm_compatible, find_breaking, reader_and_writer
from counterfoil.schema.languages.table import language_for
from counterfoil.schema.model import SchemaType
from counterfoil.schema.parsed import ParsedSchema
from counterfoil.schema.rest.comparisons import CellAnswer, VerdictCell

DIRECTIONS: Final = (Direction.BACKWARD, Direction.FORWARD)
_OF_EVERY_LANGUAGE: Final = (
    CompatibilityPolicy.STRICT,
    CompatibilityPolicy.LENIENT,
    CompatibilityPolicy.LOGICAL,
    CompatibilityPolicy.SOUND,
)
_CONFIRMED_CHARS: Final = 4_000_000
"""The characters of both schemas times the number of values that are written and read: the work of a second or two."""


def name_of(direction: Direction) -> str:
    """Return the name of a direction in values: ``backward`` or ``forward``."""
    return direction.name.lower()


def policies_of(schema_type: SchemaType) -> tuple[CompatibilityPolicy, ...]:
    """Return the policies of the grid of a language, in its order."""
    about_bytes = language_for(schema_type).policies_about_bytes
    return (*_OF_EVERY_LANGUAGE, *(each for each in CompatibilityPolicy if each in about_bytes))


@dataclass(frozen=True, slots=True)
class GridCell:
    """What one policy says of one direction."""

    policy: CompatibilityPolicy
    direction: Direction
    answer: CellAnswer
    differences: tuple[Difference, ...] = ()


class Grid:
    """All cells of a comparison; ``problem`` says why some cannot be compared, such as schemas that are too deep.

    :meth:`fill` finds them; it raises ``JudgementUndecided`` where a comparison ends at its steps and the limits ask
    for a whole answer.
    """

    def __init__(self, question: ComparisonQuestion, limits: ComparisonLimits) -> None:
        self.question = question
        self.problem = ""
        self._limits = limits
        self._cells: list[GridCell] = []

    def fill(self) -> Parts[None]:
        """Compare the schemas under each policy, in each direction."""
        for policy in policies_of(self.question.later.schema.schema_type):
            for direction in DIRECTIONS:
                self._cells.append(self._cell(policy, direction))
                yield

    def __iter__(self) -> Iterator[GridCell]:
        return iter(self._cells)

    def has(self, answer: CellAnswer) -> bool:
        """Return whether a cell has this answer."""
        return any(cell.answer is answer for cell in self._cells)

    def sides(self, direction: Direction) -> tuple[ParsedSchema, ParsedSchema]:
        """Return the reader and the writer of a direction."""
        return reader_and_writer(self.question.later.schema, Earlier(self.question.earlier.schema), direction)

    def in_force(self) -> Iterator[GridCell]:
        """Yield the cells of the policy in force."""
        return (cell for cell in self._cells if cell.policy is self._policy_in_force)

    @property
    def _policy_in_force(self) -> CompatibilityPolicy:
        """The policy in force, which is STRICT in a language whose grid does not have it."""
        policy = self.question.policy
        return policy if policy in policies_of(self.question.later.schema.schema_type) else CompatibilityPolicy.STRICT

    def cells(self, counts: dict[tuple[CompatibilityPolicy, Direction], int]) -> Parts[tuple[VerdictCell, ...]]:
        """Return the cells as values; ``counts`` are the numbers of findings, each cause once."""
        found: list[VerdictCell] = []
        proofs: dict[str, str] = {}
        for cell in self._cells:
            proof = ""
            if self._has_proof(cell):
                sides = "" if self.question.have_one_text else name_of(cell.direction)
                if sides not in proofs:
                    proofs[sides] = self._proof(cell)
                    yield
                proof = proofs[sides]
            found.append(
                VerdictCell(
                    cell.policy.value,
                    name_of(cell.direction),
                    cell.answer,
                    findings=counts.get((cell.policy, cell.direction), 0),
                    proof=proof,
                    in_force=cell.policy is self._policy_in_force,
                )
            )
        return tuple(found)

    def _cell(self, policy: CompatibilityPolicy, direction: Direction) -> GridCell:
        question = self.question
        if not question.are_of_one_language:
            return GridCell(policy, direction, CellAnswer.IMPOSSIBLE)
        later, earlier = question.later.schema, question.earlier.schema
        most = self._limits.comparison_steps
        steps = None if most is None else Steps(most)
        try:
            found = find_breaking(later, earlier, direction, policy=policy, steps=steps)
        except JudgementUndecided:
            if self._limits.is_whole:
                raise
            return GridCell(policy, direction, CellAnswer.UNDECIDED)
        except InvalidSchema as problem:
            self.problem = self.problem or problem.message
            return GridCell(policy, direction, CellAnswer.IMPOSSIBLE)
        return GridCell(policy, direction, CellAnswer.BREAKS if found else CellAnswer.READS, found)

    def _has_proof(self, cell: GridCell) -> bool:
        """Return whether values are written and read to show the answer of a cell."""
        is_proved = cell.policy is CompatibilityPolicy.SOUND and cell.answer is CellAnswer.READS
        return is_proved and bool(self._limits.confirmed)

    def _proof(self, cell: GridCell) -> str:
        """Return what shows that a direction can be read under SOUND: values that were written and read."""
        reader, writer = self.sides(cell.direction)
        chars = sum(len(each.text) + each.referenced_chars for each in (reader, writer))
        count = min(self._limits.confirmed, max(1, _CONFIRMED_CHARS // max(1, chars)))
        said = str(confirm_compatible(reader, writer, count))
        return said if count == self._limits.confirmed else f"{said}; fewer than usual, since the schemas are large"
