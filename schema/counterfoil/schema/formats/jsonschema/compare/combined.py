"""Comparison of combinations: the reader's branches are matched to the writer's."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Final

from counterfoil.schema.formats.jsonschema.compare import rules
from counterfoil.schema.formats.jsonschema.compare.findings import JsonDifference, Way, at_kind, below
from counterfoil.schema.formats.jsonschema.compare.model import Criterion
from counterfoil.schema.formats.jsonschema.compare.places import branch_step, spot_of_branch
from counterfoil.schema.formats.jsonschema.compare.sameness import key_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from counterfoil.schema.compatibility.rules import CompatibilityRule
    from counterfoil.schema.formats.jsonschema.compare.content_models import Walk
    from counterfoil.schema.formats.jsonschema.compare.model import Combination, Node
    from counterfoil.schema.paths.model import FieldPath

_MAX_RANKED: Final = 8
"""The largest number of unmatched branches of each side that are ranked by similarity."""


def compare_combinations(walk: Walk, reader: Combination, writer: Combination) -> list[JsonDifference]:
    """Return the findings about two combinations."""
    mine, theirs = _distinct(reader.branches), _distinct(writer.branches)
    found: list[JsonDifference] = []
    if reader.criterion is not writer.criterion:
        facts = {"reader": reader.criterion.value, "writer": writer.criterion.value}
        if not _is_extended(reader, writer):
            return [at_kind(rules.COMBINED_TYPE_CHANGED, reader, writer, **facts)]
        found.append(at_kind(rules.COMBINED_TYPE_EXTENDED, reader, writer, **facts))
    branches = _Branches(walk, reader, writer, mine, theirs)
    rule = _size_rule(reader, writer, len(mine), len(theirs))
    if rule is not None:
        found.append(branches.sized(rule))
    return found + branches.compared()


class _Branches:
    """The branches of two combinations, matched: ``_partner`` has the reader's branch for each of the writer's."""

    def __init__(
        self, walk: Walk, reader: Combination, writer: Combination, mine: Sequence[Node], theirs: Sequence[Node]
    ) -> None:
        self._walk = walk
        self._reader, self._writer = reader, writer
        self._mine, self._theirs = mine, theirs
        self._inner_by_pair: dict[tuple[int, int], Sequence[JsonDifference]] = {}
        index_by_key = {key_of(branch): right for right, branch in enumerate(mine)}
        same = {left: index_by_key[key] for left, each in enumerate(theirs) if (key := key_of(each)) in index_by_key}
        likely = {left: right for left, right in same.items() if self._reads(left, right)}
        self._partner = match(len(theirs), len(mine), self._reads, likely=likely)

    def sized(self, rule: CompatibilityRule) -> JsonDifference:
        """Return the finding that one side has more branches, at its first branch without a counterpart."""
        found = at_kind(rule, self._reader, self._writer)
        if len(self._mine) > len(self._theirs):
            taken = {*self._partner.values(), *(right for _, right in self._changed)}
            added = next(node for right, node in enumerate(self._mine) if right not in taken)
            return replace(found, reader_spot=spot_of_branch(self._reader, added))
        taken = {*self._partner, *(left for left, _ in self._changed)}
        added = next(node for left, node in enumerate(self._theirs) if left not in taken)
        return replace(found, writer_spot=spot_of_branch(self._writer, added))

    def compared(self) -> list[JsonDifference]:
        """Return the findings between matched branches, and one finding if some branches have no match."""
        found: list[JsonDifference] = []
        criterion = self._reader.criterion.value
        for left, right in sorted(self._partner.items()):
            inner = self._inner(left, right)
            if inner:
                reader, writer = self._branch_steps(left, right)
                found += below(inner, criterion, str(left), reader=reader, writer=writer)
        smaller = min(len(self._mine), len(self._theirs))
        if len(self._partner) < smaller:
            facts = {"reader": criterion, "count": len(self._partner), "size": smaller}
            changed = at_kind(rules.COMBINED_TYPE_SUBSCHEMAS_CHANGED, self._reader, self._writer, **facts)
            found.append(self._at_cause(changed))
        return found

    def _at_cause(self, changed: JsonDifference) -> JsonDifference:
        """Return the finding at the first incompatibility between the two most similar unmatched branches."""
        left, right = self._changed[0]
        cause = next(each for each in self._inner(left, right) if not self._walk.is_compatible([each]))
        return changed.at_cause(Way((), *self._branch_steps(left, right)), cause)

    def _branch_steps(self, left: int, right: int) -> tuple[FieldPath, FieldPath]:
        """Return the steps into a branch of the reader's and into one of the writer's."""
        return branch_step(self._reader, self._mine[right]), branch_step(self._writer, self._theirs[left])

    @cached_property
    def _changed(self) -> list[tuple[int, int]]:
        """The pairs of unmatched branches, the most similar first."""
        taken = set(self._partner.values())
        lefts = [left for left in range(len(self._theirs)) if left not in self._partner][:_MAX_RANKED]
        rights = [right for right in range(len(self._mine)) if right not in taken][:_MAX_RANKED]
        pairs: list[tuple[int, int]] = []
        if len(lefts) == len(rights) == 1:
            return [(lefts[0], rights[0])]
        for left, right in sorted(product(lefts, rights), key=self._unlikeness):
            if all(left != other[0] and right != other[1] for other in pairs):
                pairs.append((left, right))
        return pairs

    def _unlikeness(self, pair: tuple[int, int]) -> tuple[bool, int, int]:
        breaking = [each for each in self._inner(*pair) if not self._walk.is_compatible([each])]
        is_of_another_kind = any(each.kind is rules.TYPE_CHANGED and not each.reader_path for each in breaking)
        return is_of_another_kind, len(breaking), abs(pair[0] - pair[1])

    def _inner(self, left: int, right: int) -> Sequence[JsonDifference]:
        pair = (left, right)
        self._walk.spend()
        if pair not in self._inner_by_pair:
            self._inner_by_pair[pair] = self._walk.compare(self._mine[right], self._theirs[left])
        return self._inner_by_pair[pair]

    def _reads(self, left: int, right: int) -> bool:
        return self._walk.is_compatible(self._inner(left, right))


def _distinct(branches: Sequence[Node]) -> list[Node]:
    """Return the branches without those that equal an earlier one."""
    return list({key_of(branch): branch for branch in reversed(branches)}.values())[::-1]


def _is_extended(reader: Combination, writer: Combination) -> bool:
    mine, theirs = len(reader.branches), len(writer.branches)
    return (
        reader.criterion is Criterion.ANY_OF
        or (mine == 1 and theirs == 1)
        or (theirs == 1 and reader.criterion is Criterion.ONE_OF)
        or (mine == 1 and writer.criterion is Criterion.ALL_OF)
    )


def _size_rule(reader: Combination, writer: Combination, mine: int, theirs: int) -> CompatibilityRule | None:
    if mine > theirs:
        is_product = reader.criterion is Criterion.ALL_OF
        return rules.PRODUCT_TYPE_EXTENDED if is_product else rules.SUM_TYPE_EXTENDED
    if mine < theirs:
        is_product = writer.criterion is Criterion.ALL_OF
        return rules.PRODUCT_TYPE_NARROWED if is_product else rules.SUM_TYPE_NARROWED
    return None


def match(
    left_size: int, right_size: int, are_fit: Callable[[int, int], bool], *, likely: Mapping[int, int]
) -> dict[int, int]:
    """Return a largest matching of left to right indexes: the right index for each matched left one.

    ``are_fit`` returns whether two may be paired; it is called only when needed. ``likely`` are the first pairs.
    Method: augmenting paths, searched breadth first (Berge's theorem), without recursion.

    >>> sorted(match(2, 2, lambda left, right: left + right < 2, likely={0: 0}).items())
    [(0, 1), (1, 0)]
    """
    right_of = dict(likely)
    left_of = {right: left for left, right in right_of.items()}
    for start in range(left_size):
        if len(left_of) == right_size:
            break
        if start not in right_of:
            free, came_from = _search(start, right_size, are_fit, left_of)
            while free is not None:
                left = came_from[free]
                given_up = right_of.get(left)
                right_of[left], left_of[free] = free, left
                free = given_up
    return right_of


def _search(
    start: int, right_size: int, are_fit: Callable[[int, int], bool], left_of: Mapping[int, int]
) -> tuple[int | None, dict[int, int]]:
    """Return an unmatched right side that an augmenting path from ``start`` reaches, and the path.

    The path maps each right side on the way to the left side from which it was reached. None if no path exists.
    """
    came_from: dict[int, int] = {}
    waiting = [start]
    for left in waiting:
        for right in range(right_size):
            if right in came_from or not are_fit(left, right):
                continue
            came_from[right] = left
            if right not in left_of:
                return right, came_from
            waiting.append(left_of[right])
    return None, came_from
