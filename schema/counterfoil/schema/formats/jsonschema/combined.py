"""Comparison of combinations: which branch of the reader answers to which of the writer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.schema.formats.jsonschema import rules
from counterfoil.schema.formats.jsonschema.findings import Finding, at, below
from counterfoil.schema.formats.jsonschema.model import Criterion
from counterfoil.schema.formats.jsonschema.sameness import key_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from counterfoil.schema.compatibility.rules import CompatibilityRule
    from counterfoil.schema.formats.jsonschema.content_models import Walk
    from counterfoil.schema.formats.jsonschema.model import Combination, Node


def compare_combinations(walk: Walk, reader: Combination, writer: Combination) -> list[Finding]:
    """Two combinations."""
    mine, theirs = _distinct(reader.branches), _distinct(writer.branches)
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
    inner_by_pair: dict[tuple[int, int], Sequence[Finding]] = {}

    def reads(left: int, right: int) -> bool:
        pair = (left, right)
        if pair not in inner_by_pair:
            inner_by_pair[pair] = walk.compare(mine[right], theirs[left])
        return walk.is_compatible(inner_by_pair[pair])

    index_by_key = {key_of(branch): right for right, branch in enumerate(mine)}
    same = {left: index_by_key[key] for left, branch in enumerate(theirs) if (key := key_of(branch)) in index_by_key}
    likely = {left: right for left, right in same.items() if reads(left, right)}
    partner = match(len(theirs), len(mine), reads, likely=likely)
    found: list[Finding] = []
    for left, right in sorted(partner.items()):
        found += below(inner_by_pair[left, right], reader.criterion.value, str(left))
    smaller = min(len(mine), len(theirs))
    if len(partner) < smaller:
        facts = {"reader": reader.criterion.value, "count": len(partner), "size": smaller}
        found.append(at(rules.COMBINED_TYPE_SUBSCHEMAS_CHANGED, reader, writer, **facts))
    return found


def _distinct(branches: Sequence[Node]) -> list[Node]:
    """The branches without those that say the same as an earlier one."""
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
    """A largest set of pairs in which nobody has two partners: from each left side to its right side.

    ``are_fit`` says whether two may be paired; it is asked no more than needed. ``likely`` are pairs to begin with.
    Method: augmenting paths, searched breadth first (Berge's theorem), so no length of path exhausts the stack.

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
    """A free right side that a path of changes leads to from ``start``, and how each right side was come upon."""
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
