"""Paths with wildcards, by which the metadata of a schema assign tags.

Source: Confluent's documentation of data contracts, metadata ``tags``: ``?`` matches one character and ``*`` any number
of them, without dots; ``**`` matches anything.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_PART: Final = re.compile(r"\*\*|.", re.DOTALL)
_ANY_NUMBER: Final = ("*", "**")


def matches_path(pattern: str, path: str) -> bool:
    """Return whether a path with wildcards matches ``path``, in time proportional to the product of their lengths.

    >>> matches_path("**.ssn", "shop.Customer.ssn"), matches_path("shop.*.ssn", "shop.a.b.ssn")
    (True, False)
    """
    parts = _PART.findall(pattern)
    reached = _skipping(parts, {0})
    for character in path:
        reached = _skipping(parts, {after for at in reached for after in _after(parts, at, character)})
        if not reached:
            return False
    return len(parts) in reached


def may_match_below(pattern: str, path: str) -> bool:
    """Return whether a path with wildcards may match a path that continues ``path`` by more parts.

    >>> may_match_below("$.m.key", "$.m"), may_match_below("**.ssn", "$.m"), may_match_below("$.n", "$.m")
    (True, True, False)
    """
    parts = _PART.findall(pattern)
    reached = _skipping(parts, {0})
    for character in f"{path}.":
        reached = _skipping(parts, {after for at in reached for after in _after(parts, at, character)})
    return any(at < len(parts) for at in reached)


def has_wildcards(pattern: str) -> bool:
    """Return whether a path has wildcards."""
    return "*" in pattern or "?" in pattern


def _skipping(parts: Sequence[str], reached: set[int]) -> set[int]:
    """Return the places in the pattern that are reached if wildcards for any number of characters match none."""
    waiting = list(reached)
    while waiting:
        at = waiting.pop()
        if at < len(parts) and parts[at] in _ANY_NUMBER and at + 1 not in reached:
            reached.add(at + 1)
            waiting.append(at + 1)
    return reached


def _after(parts: Sequence[str], at: int, character: str) -> Iterator[int]:
    """Yield the places in the pattern that are reached from ``at`` with one character."""
    if at == len(parts):
        return
    part = parts[at]
    if part == "**" or (part == "*" and character != "."):
        yield at
    elif part == character or (part == "?" and character != "."):
        yield at + 1
