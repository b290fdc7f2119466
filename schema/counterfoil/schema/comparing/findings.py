"""The findings of a comparison: those of one cause folded, with places, advice, and the records that prove them."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import Final

from counterfoil.schema.comparing.grid import Grid, name_of
from counterfoil.schema.comparing.parts import Parts
from counterfoil.schema.comparing.question import ComparisonLimits
from counterfoil.schema.comparing.sides import LaidOutSides
from counterfoil.schema.compatibility import STEPS_A_CHARACTER, CompatibilityPolicy, Direction, Steps
from counterfoil.schema.compatibility.findings import (
    BEYOND_LIMITS,
    Difference,
    NoWitness,
    Witness,
    identity_of,
    without_message,
)
from counterfoil.schema.errors import JudgementUndecided
from counterfoil.schema.judgement import SEARCH_STEPS, search_for_witness
from counterfoil.schema.languages.rules import advice_of_rule
from counterfoil.schema.paths import print_path
from counterfoil.schema.rest.comparisons import PlacedFinding, ShownWitness
from counterfoil.schema.texts import print_pointer

_SEEN_FROM_THE_ROOT: Final = "column"
"""The fact about a difference that depends on the schema in which the difference shows."""
_SEARCHES_A_CAUSE: Final = 3
"""The number of ways to one cause for which a witness is searched for, until one is found."""
_MOST_FURTHER: Final = 20
"""The number of further paths to one cause that are listed."""
_LONGEST_SHOWN: Final = 100_000
"""The largest number of characters of a record that is shown."""


@dataclass(slots=True)
class FoldedFinding:
    """The differences of one cause in one direction: the first one, and those along other ways to it.

    ``policies`` are those under which they count.
    """

    direction: Direction
    difference: Difference
    others: list[Difference] = field(default_factory=list)
    policies: list[CompatibilityPolicy] = field(default_factory=list)
    _known: set[Hashable] = field(default_factory=set)

    def add(self, difference: Difference, policy: CompatibilityPolicy, identity: Hashable) -> None:
        """Add a difference that was found under a policy; one that is known already counts under one policy more."""
        if self._known and identity not in self._known:
            self.others.append(difference)
        self._known.add(identity)
        if policy not in self.policies:
            self.policies.append(policy)


@dataclass(frozen=True, slots=True)
class PlacedFindings:
    """The findings that are listed, the number of those that are not, and of those without a search for a record.

    ``counts`` are the numbers of causes by policy and direction.
    """

    listed: tuple[PlacedFinding, ...]
    left: int
    witnesses_left: int
    counts: dict[tuple[CompatibilityPolicy, Direction], int]


def place_findings(grid: Grid, lines: LaidOutSides, limits: ComparisonLimits) -> Parts[PlacedFindings]:
    """Return the findings of all cells, those of the policy in force first, with a witness for the first ones."""
    in_force = {cell.policy for cell in grid.in_force()}
    folded = sorted(_folded(grid), key=lambda each: in_force.isdisjoint(each.policies))
    search = _WitnessSearch(grid, limits)
    listed: list[PlacedFinding] = []
    for each in folded[: limits.findings]:
        listed.append(_placed(each, grid, lines, search))
        yield
    counts: dict[tuple[CompatibilityPolicy, Direction], int] = {}
    for each in folded:
        for policy in each.policies:
            counts[policy, each.direction] = counts.get((policy, each.direction), 0) + 1
    return PlacedFindings(tuple(listed), len(folded) - len(listed), len(folded) - search.searched, counts)


def _folded(grid: Grid) -> list[FoldedFinding]:
    found: dict[Hashable, FoldedFinding] = {}
    for cell in grid:
        for difference in cell.differences:
            identity = _hashable(identity_of(difference))
            key = (cell.direction, difference.rule, _cause(difference) or identity)
            folded = found.setdefault(key, FoldedFinding(cell.direction, difference))
            folded.add(difference, cell.policy, identity)
    return [*found.values()]


def _cause(difference: Difference) -> Hashable:
    """Return what is the same for a difference along all ways to it: its declarations, and its facts; None if unknown.

    The check of files folds the findings of several files by the same.
    """
    inner = difference.because or difference
    origins = (inner.reader_origin, inner.writer_origin)
    if None in origins:
        return None
    facts = tuple(fact for fact in inner.sentence.facts if fact[0] != _SEEN_FROM_THE_ROOT)
    return (inner.rule, *((each.holder, each.steps) for each in origins if each is not None), facts)


def _hashable(identity: object) -> Hashable:
    return tuple(map(_hashable, identity)) if isinstance(identity, list | tuple) else identity


def _placed(folded: FoldedFinding, grid: Grid, lines: LaidOutSides, search: _WitnessSearch) -> PlacedFinding:
    difference, (reader, writer) = folded.difference, grid.sides(folded.direction)
    witness, no_witness = search.of(folded)
    further = [path for path in _paths(folded, grid) if path != print_path(without_message(difference.element, reader))]
    return PlacedFinding(
        rule=difference.rule,
        direction=name_of(folded.direction),
        sentence=difference.text,
        path=print_path(without_message(difference.element, reader)),
        policies=tuple(each.value for each in folded.policies),
        reader_line=lines.line_in(reader, difference.reader_pointer),
        writer_line=lines.line_in(writer, difference.writer_pointer),
        reader_pointer=print_pointer(difference.reader_pointer),
        writer_pointer=print_pointer(difference.writer_pointer),
        fix=advice_of_rule(difference.rule, folded.direction),
        witness=witness,
        no_witness=no_witness,
        also_at=tuple(further[:_MOST_FURTHER]),
        also_left=max(0, len(further) - _MOST_FURTHER),
    )


def _paths(folded: FoldedFinding, grid: Grid) -> Iterator[str]:
    """Yield the paths of the further differences, each once."""
    reader, _ = grid.sides(folded.direction)
    return iter(dict.fromkeys(print_path(without_message(each.element, reader)) for each in folded.others))


class _WitnessSearch:
    """The searches for witnesses of one comparison, with steps for all of them together."""

    def __init__(self, grid: Grid, limits: ComparisonLimits) -> None:
        self.searched = 0
        self._grid = grid
        self._limits = limits
        schemas = grid.sides(Direction.BACKWARD)
        chars = sum(len(each.text) + each.referenced_chars for each in schemas)
        most = limits.search_steps
        self._steps = Steps(SEARCH_STEPS + STEPS_A_CHARACTER * chars if most is None else most)

    def of(self, folded: FoldedFinding) -> tuple[ShownWitness | None, str]:
        """Return the witness of a finding, or why there is none."""
        if self.searched >= self._limits.witnesses:
            return None, f"a record was searched for to prove the first {self._limits.witnesses} findings alone"
        self.searched += 1
        first: NoWitness | None = None
        for difference in (folded.difference, *folded.others)[:_SEARCHES_A_CAUSE]:
            outcome = self._search(folded.direction, difference)
            if isinstance(outcome, Witness):
                return _shown(outcome)
            first = first or outcome
            if outcome.reason == BEYOND_LIMITS and self._limits.is_whole:
                raise JudgementUndecided("A search for a record that proves a difference needs more steps")
        reason = "" if first is None else str(first) if first.tried else first.reason
        return None, reason

    def _search(self, direction: Direction, difference: Difference) -> Witness | NoWitness:
        if self._steps.left <= 0:
            return NoWitness(0, BEYOND_LIMITS)
        return search_for_witness(*self._grid.sides(direction), difference, steps=self._steps)


def _shown(witness: Witness) -> tuple[ShownWitness | None, str]:
    if len(witness.datum_json) + len(witness.body) > _LONGEST_SHOWN:
        return None, f"there is one of {len(witness.body)} bytes, which is too large to be shown"
    return ShownWitness(witness.datum_json, witness.body.hex(), witness.step, witness.confirmed_by), ""
