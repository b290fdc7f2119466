"""Comparison of combinations: which branch of the reader answers to which of the writer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.schema.formats.jsonschema import rules
from counterfoil.schema.formats.jsonschema.findings import Finding, at, below
from counterfoil.schema.formats.jsonschema.model import Criterion
from counterfoil.schema.formats.jsonschema.sameness import key_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from counterfoil.schema.compatibility.rules import CompatibilityRule
    from counterfoil.schema.formats.jsonschema.content_models import Walk
    from counterfoil.schema.formats.jsonschema.model import Combination, Node


def compare_combinations(walk: Walk, reader: Combination, writer: Combination) -> list[Finding]:
    """Two combinations."""
    mine, theirs = distinct(reader.branches), distinct(writer.branches)
    found: list[Finding] = []
    if reader.criterion is not writer.criterion:
        facts = {"reader": reader.criterion.value, "writer": writer.criterion.value}
        if not _is_extended(reader, writer):
            return [at(rules.COMBINED_TYPE_CHANGED, reader, writer, **facts)]
        found.append(at(rules.COMBINED_TYPE_EXTENDED, reader, writer, **facts))
    rule = _size_rule(reader, writer, len(mine), len(theirs))
    if rule is not None:
        found.append(at(rule, reader, writer))
    return found + _compare_branches(walk, reader, writer, mine, theirs)


def _compare_branches(
    walk: Walk, reader: Combination, writer: Combination, mine: Sequence[Node], theirs: Sequence[Node]
) -> list[Finding]:
    inner_by_pair = {
        (left, right): inner
        for left, branch in enumerate(theirs)
        for right, candidate in enumerate(mine)
        if walk.is_compatible(inner := walk.compare(candidate, branch))
    }
    edges = [[right for right in range(len(mine)) if (left, right) in inner_by_pair] for left in range(len(theirs))]
    partner = match(edges)
    found: list[Finding] = []
    for left, right in sorted(partner.items()):
        found += below(inner_by_pair[left, right], reader.criterion.value, str(left))
    smaller = min(len(mine), len(theirs))
    if len(partner) < smaller:
        facts = {"reader": reader.criterion.value, "count": len(partner), "size": smaller}
        found.append(at(rules.COMBINED_TYPE_SUBSCHEMAS_CHANGED, reader, writer, **facts))
    return found


def distinct(branches: Sequence[Node]) -> list[Node]:
    """The branches without those that say the same as an earlier one."""
    return list({key_of(branch): branch for branch in reversed(branches)}.values())[::-1]


def _is_extended(reader: Combination, writer: Combination) -> bool:
    mine, theirs = len(distinct(reader.branches)), len(distinct(writer.branches))
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


def match(edges: Sequence[Sequence[int]]) -> Mapping[int, int]:
    """A largest set of pairs in which nobody has two partners: from each left side to its right side.

    ``edges`` lists, for each on the left, those on the right it may be paired with. Method: augmenting paths, searched
    breadth first (Berge's theorem), so no depth of alternation exhausts the stack.

    >>> sorted(match([[0, 1], [0]]).items())
    [(0, 1), (1, 0)]
    """
    left_of: dict[int, int] = {}
    for start in range(len(edges)):
        came_from: dict[int, int] = {}
        waiting = [start]
        for left in waiting:
            free = None
            for right in edges[left]:
                if right in came_from:
                    continue
                came_from[right] = left
                if right not in left_of:
                    free = right
                    break
                waiting.append(left_of[right])
            if free is not None:
                _augment(free, start, came_from, left_of)
                break
    return {left: right for right, left in left_of.items()}


def _augment(free: int, start: int, came_from: Mapping[int, int], left_of: dict[int, int]) -> None:
    right_of = {left: right for right, left in left_of.items()}
    right: int | None = free
    while right is not None:
        left = came_from[right]
        following = right_of.get(left)
        left_of[right] = left
        right = None if left == start else following
