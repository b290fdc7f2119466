"""Which changes between two schemas break, in which direction: the differences of the judgement, at their changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from counterfoil.contracts.advice import SIDE_NAMES_BY_DIRECTION
from counterfoil.schema.change import Change, ChangeKind
from counterfoil.schema.compatibility import CompatibilityLevel, CompatibilityPolicy, Direction
from counterfoil.schema.compatibility.findings import Difference, Earlier
from counterfoil.schema.judgement import Incompatibility, judge
from counterfoil.schema.parsed import ParsedSchema
from counterfoil.schema.paths import print_path
from counterfoil.schema.texts import Pointer

_HARMLESS: Final = frozenset({ChangeKind.DOC_CHANGED, ChangeKind.TITLE_CHANGED, ChangeKind.SORT_ORDER_CHANGED})
"""The kinds of changes that break nothing."""


@dataclass(frozen=True, slots=True)
class BreakTerms:
    """The level and the policy in force."""

    level: CompatibilityLevel = CompatibilityLevel.BACKWARD
    policy: CompatibilityPolicy = CompatibilityPolicy.STRICT


USUAL_TERMS: Final = BreakTerms()
"""The terms where nothing else is known."""


class BreakingChange(NamedTuple):
    """One reason why a schema cannot read what the other one writes; ``is_allowed``: the level does not forbid it.

    ``BACKWARD``: the later schema is the reader. ``element`` is the place in names.
    """

    direction: Direction
    rule: str
    element: str
    text: str
    is_allowed: bool


@dataclass(frozen=True, slots=True)
class Breaks:
    """The breaks between two schemas under ``terms``: those of each change, and ``others`` that no change explains."""

    terms: BreakTerms
    by_change: tuple[tuple[BreakingChange, ...], ...]
    others: tuple[BreakingChange, ...] = ()

    @property
    def is_compatible(self) -> bool:
        """Whether the level in force allows all of them."""
        return all(each.is_allowed for each in (*self.others, *(one for of in self.by_change for one in of)))

    @property
    def forbidden(self) -> int:
        """The number of changes with a break that the level forbids, and of further breaks."""
        changes = sum(any(not each.is_allowed for each in of) for of in self.by_change)
        return changes + sum(not each.is_allowed for each in self.others)


def find_breaks(was: ParsedSchema, now: ParsedSchema, changes: Sequence[Change], terms: BreakTerms) -> Breaks:
    """Return which of ``changes`` from ``was`` to ``now`` break under ``terms``, in both directions.

    The differences are those of the judgement, which compares whole schemas; each is found at the change that is
    nearest to its place. Raises ``InvalidSchema`` for schemas that are nested too deep to be compared.
    """
    found: list[list[BreakingChange]] = [[] for _ in changes]
    others = []
    places = _Places(changes)
    judgement = judge(now, [Earlier(was)], CompatibilityLevel.FULL, policy=terms.policy)
    for each in judgement.incompatibilities:
        made = _break(each, terms)
        numbers = places.nearest(each)
        for number in numbers:
            found[number].append(made)
        if not numbers:
            others.append(made)
    return Breaks(terms, tuple(map(tuple, found)), tuple(others))


def _break(found: Incompatibility, terms: BreakTerms) -> BreakingChange:
    direction, difference = found.failure.direction, found.difference
    text = difference.sentence.render(SIDE_NAMES_BY_DIRECTION[direction], is_start=False)
    is_allowed = direction not in terms.level.directions
    return BreakingChange(direction, difference.rule, print_path(difference.element), text, is_allowed)


class _Places:
    """The changes by their places, so that those around the place of a difference are found without a look at all."""

    def __init__(self, changes: Sequence[Change]) -> None:
        self._changes = changes
        weighty = [number for number, change in enumerate(changes) if change.kind not in _HARMLESS]
        self._only = weighty if len(weighty) == 1 else []
        self._at: dict[tuple[bool, Pointer], list[int]] = {}
        self._below: dict[tuple[bool, Pointer], list[int]] = {}
        for number, change in enumerate(changes):
            for is_later, pointer in ((True, change.later_pointer), (False, change.earlier_pointer)):
                self._at.setdefault((is_later, pointer), []).append(number)
                for length in range(1 if len(pointer) > 1 else 0, len(pointer)):
                    self._below.setdefault((is_later, pointer[:length]), []).append(number)

    def nearest(self, found: Incompatibility) -> list[int]:
        """Return the numbers of the changes at the place of a difference; several if nothing tells them apart.

        The only change is the cause of differences at any place of the texts.
        """
        difference = found.difference
        later, earlier = difference.reader_pointer, difference.writer_pointer
        if found.failure.direction is Direction.FORWARD:
            later, earlier = earlier, later
        scores = {number: _score(self._changes[number], later, earlier) for number in self._around(later, earlier)}
        best = max(scores.values(), default=0)
        nearest = [number for number, score in scores.items() if score == best and best > 0]
        named = [number for number in nearest if _is_named(self._changes[number], difference)]
        return named or nearest or (self._only if _is_own(difference) else [])

    def _around(self, later: Pointer, earlier: Pointer) -> list[int]:
        found: set[int] = set()
        for is_later, pointer in ((True, later), (False, earlier)):
            found.update(self._below.get((is_later, pointer), ()))
            for length in range(len(pointer) + 1):
                found.update(self._at.get((is_later, pointer[:length]), ()))
        return sorted(number for number in found if self._changes[number].kind not in _HARMLESS)


def _score(change: Change, later: Pointer, earlier: Pointer) -> int:
    """Return how near a change is to a place; 0 if it is elsewhere."""
    sides = ((change.later_pointer, later), (change.earlier_pointer, earlier))
    if change.later_pointer == later and change.earlier_pointer == earlier:
        return 3 + len(later) + len(earlier) + len(change.later_pointer) + len(change.earlier_pointer)
    if not any(_is_related(mine, theirs) for mine, theirs in sides):
        return 0
    return 1 + sum(2 * _shared(mine, theirs) + (mine == theirs) for mine, theirs in sides)


def _is_related(mine: Pointer, theirs: Pointer) -> bool:
    """Return whether one place is inside the other one; in the whole schema are only it and its members."""
    if not mine:
        return len(theirs) <= 1
    is_inside = mine == theirs[: len(mine)] or theirs == mine[: len(theirs)]
    return is_inside and (bool(theirs) or len(mine) == 1)


def _is_own(difference: Difference) -> bool:
    """Return whether a difference is in the texts themselves, and not in one that they refer to."""
    origins = (difference.reader_origin, difference.writer_origin)
    return all(origin is None or origin.is_own for origin in origins)


def _shared(first: Pointer, second: Pointer) -> int:
    number = 0
    while number < min(len(first), len(second)) and first[number] == second[number]:
        number += 1
    return number


def _is_named(change: Change, difference: Difference) -> bool:
    """Return whether the facts of a difference name what a change added or removed."""
    facts = " ".join(difference.own_facts)
    values = [value for value in (change.earlier, change.later) if value]
    return any(value in facts or value.partition(" ")[0] in facts.split() for value in values)
