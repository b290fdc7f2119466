"""Comparison of combinations: the reader's branches are matched to the writer's."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Final

from counterfoil.schema.languages.jsonschema.compare import rules
from counterfoil.schema.languages.jsonschema.compare.findings import (
    Comparing,
    Findings,
    JsonDifference,
    Part,
    PathPart,
    VerdictOf,
    at_kind,
    below,
)
from counterfoil.schema.languages.jsonschema.compare.nodes import Criterion
from counterfoil.schema.languages.jsonschema.compare.places import branch_step, key_of, spot_of_branch

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from counterfoil.schema.compatibility.rules import CompatibilityRule
    from counterfoil.schema.languages.jsonschema.compare.content_models import Walk
    from counterfoil.schema.languages.jsonschema.compare.nodes import CombinationSchema, Node
    from counterfoil.schema.paths import FieldPath


_MAX_RANKED: Final = 8
"""The largest number of unmatched branches of each side that are ranked by similarity."""


def compare_combinations(walk: Walk, reader: CombinationSchema, writer: CombinationSchema) -> Comparing:
    """Return the findings about two combinations."""
    mine, theirs = _distinct(reader.branches), _distinct(writer.branches)
    found: list[Part] = []
    if reader.criterion is not writer.criterion:
        facts = {"reader": reader.criterion.value, "writer": writer.criterion.value}
        if not _is_extended(reader, writer):
            return [at_kind(rules.COMBINED_TYPE_CHANGED, reader, writer, **facts)]
        found.append(at_kind(rules.COMBINED_TYPE_EXTENDED, reader, writer, **facts))
    branches = _Branches(walk, reader, writer, mine, theirs)
    yield from branches.match()
    rule = _size_rule(reader, writer, len(mine), len(theirs))
    if rule is not None:
        found.append(branches.sized(rule))
    return found + branches.compared()


class _Branches:
    """The branches of two combinations.

    After :meth:`match`, ``_partner`` has the reader's branch for each of the writer's, and ``_changed`` the pairs of
    those without one, the most similar first.
    """

    def __init__(
        self,
        walk: Walk,
        reader: CombinationSchema,
        writer: CombinationSchema,
        mine: Sequence[Node],
        theirs: Sequence[Node],
    ) -> None:
        self._walk = walk
        self._reader, self._writer = reader, writer
        self._mine, self._theirs = mine, theirs
        self._inner_by_pair: dict[tuple[int, int], Findings] = {}
        self._is_read: dict[tuple[int, int], bool] = {}
        self._partner: Mapping[int, int] = {}
        self._changed: Sequence[tuple[int, int]] = ()

    def match(self) -> Generator[tuple[Node, Node], Findings, None]:
        """Match the branches."""
        mine, theirs = self._mine, self._theirs
        index_by_key = {key_of(branch): right for right, branch in enumerate(mine)}
        same = {left: index_by_key[key] for left, each in enumerate(theirs) if (key := key_of(each)) in index_by_key}
        likely: list[tuple[int, int]] = []
        for left, right in same.items():
            if self._walk.is_compatible((yield from self._inner(left, right))):
                likely.append((left, right))
        matching = match(len(theirs), len(mine), likely=dict(likely))
        try:
            pair = next(matching)
            while True:
                pair = matching.send((yield from self._reads(*pair)))
        except StopIteration as done:
            self._partner = done.value
        if self._walk.is_large:
            return
        for pair in self._partner.items():
            yield from self._inner(*pair)
        if len(self._partner) < max(len(mine), len(theirs)):
            self._changed = yield from self._ranked()

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

    def compared(self) -> list[Part]:
        """Return the findings between matched branches, and one finding if some branches have no match."""
        found: list[Part] = []
        criterion = self._reader.criterion.value
        for left, right in sorted(self._partner.items()):
            inner = self._inner_by_pair.get((left, right))
            if inner:
                reader, writer = self._branch_steps(left, right)
                found += below([inner], criterion, str(left), reader=reader, writer=writer)
        smaller = min(len(self._mine), len(self._theirs))
        if len(self._partner) < smaller:
            facts = {"reader": criterion, "count": len(self._partner), "size": smaller}
            changed = at_kind(rules.COMBINED_TYPE_SUBSCHEMAS_CHANGED, self._reader, self._writer, **facts)
            found.append(self._at_cause(changed))
        return found

    def _at_cause(self, changed: JsonDifference) -> JsonDifference:
        """Return the finding at the first incompatibility between the two most similar unmatched branches."""
        if not self._changed:
            return changed
        left, right = self._changed[0]
        cause = next(self._inner_by_pair[left, right].each(self._walk.policy), None)
        if cause is None:
            return changed
        self._walk.spend(len(cause.way))
        return changed.at_cause(PathPart((), *self._branch_steps(left, right)), cause)

    def _branch_steps(self, left: int, right: int) -> tuple[FieldPath, FieldPath]:
        """Return the steps into a branch of the reader's and into one of the writer's."""
        return branch_step(self._reader, self._mine[right]), branch_step(self._writer, self._theirs[left])

    def _ranked(self) -> Generator[tuple[Node, Node], Findings, list[tuple[int, int]]]:
        """Return the pairs of unmatched branches, the most similar first."""
        taken = set(self._partner.values())
        lefts = [left for left in range(len(self._theirs)) if left not in self._partner][:_MAX_RANKED]
        rights = [right for right in range(len(self._mine)) if right not in taken][:_MAX_RANKED]
        pairs: list[tuple[int, int]] = []
        for pair in product(lefts, rights):
            yield from self._inner(*pair)
        if len(lefts) == len(rights) == 1:
            return [(lefts[0], rights[0])]
        for left, right in sorted(product(lefts, rights), key=self._unlikeness):
            if all(left != other[0] and right != other[1] for other in pairs):
                pairs.append((left, right))
        return pairs

    def _unlikeness(self, pair: tuple[int, int]) -> tuple[bool, int, int]:
        inner = self._inner_by_pair[pair]
        return inner.changes_kind, inner.breaking(self._walk.policy), abs(pair[0] - pair[1])

    def _inner(self, left: int, right: int) -> Generator[tuple[Node, Node], Findings, Findings]:
        pair = (left, right)
        self._walk.spend(2)
        if pair not in self._inner_by_pair:
            self._inner_by_pair[pair] = yield self._mine[right], self._theirs[left]
        return self._inner_by_pair[pair]

    def _reads(self, left: int, right: int) -> Generator[tuple[Node, Node], Findings, bool]:
        """Return whether a branch of the reader's reads one of the writer's."""
        pair = (left, right)
        if pair in self._inner_by_pair or min(len(self._mine), len(self._theirs)) <= _MAX_RANKED:
            return self._walk.is_compatible((yield from self._inner(left, right)))
        self._walk.spend(2)
        if pair not in self._is_read:  # of many branches most do not belong together, and why is not reported
            verdict = yield VerdictOf(self._mine[right], self._theirs[left])
            self._is_read[pair] = self._walk.is_compatible(verdict)
        return self._is_read[pair]


def _distinct(branches: Sequence[Node]) -> list[Node]:
    """Return the branches without those that equal an earlier one."""
    return list({key_of(branch): branch for branch in reversed(branches)}.values())[::-1]


def _is_extended(reader: CombinationSchema, writer: CombinationSchema) -> bool:
    mine, theirs = len(reader.branches), len(writer.branches)
    return (
        reader.criterion is Criterion.ANY_OF
        or (mine == 1 and theirs == 1)
        or (theirs == 1 and reader.criterion is Criterion.ONE_OF)
        or (mine == 1 and writer.criterion is Criterion.ALL_OF)
    )


def _size_rule(
    reader: CombinationSchema, writer: CombinationSchema, mine: int, theirs: int
) -> CompatibilityRule | None:
    if mine > theirs:
        is_product = reader.criterion is Criterion.ALL_OF
        return rules.PRODUCT_TYPE_EXTENDED if is_product else rules.SUM_TYPE_EXTENDED
    if mine < theirs:
        is_product = writer.criterion is Criterion.ALL_OF
        return rules.PRODUCT_TYPE_NARROWED if is_product else rules.SUM_TYPE_NARROWED
    return None


def match(
    left_size: int, right_size: int, *, likely: Mapping[int, int]
) -> Generator[tuple[int, int], bool, dict[int, int]]:
    """Return a largest matching of left to right indexes: the right index for each matched left one.

    It yields a pair of indexes where it needs to know whether they may be paired, and is sent the answer. ``likely``
    are the first pairs. Method: augmenting paths, searched breadth first (Berge's theorem), without recursion.
    """
    right_of = dict(likely)
    left_of = {right: left for left, right in right_of.items()}
    for start in range(left_size):
        if len(left_of) == right_size:
            break
        if start not in right_of:
            free, came_from = yield from _search(start, right_size, left_of)
            while free is not None:
                left = came_from[free]
                given_up = right_of.get(left)
                right_of[left], left_of[free] = free, left
                free = given_up
    return right_of


def _search(
    start: int, right_size: int, left_of: Mapping[int, int]
) -> Generator[tuple[int, int], bool, tuple[int | None, dict[int, int]]]:
    """Return an unmatched right side that an augmenting path from ``start`` reaches, and the path.

    The path maps each right side on the way to the left side from which it was reached. None if no path exists.
    """
    came_from: dict[int, int] = {}
    waiting = [start]
    for left in waiting:
        for right in range(right_size):
            if right in came_from or not (yield left, right):
                continue
            came_from[right] = left
            if right not in left_of:
                return right, came_from
            waiting.append(left_of[right])
    return None, came_from
