"""Prefixes of names as ranges in the order of code points, which an index can search; sets of names as ranges."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple, TypeAlias

from counterfoil.schema.contexts import QualifiedSubject

_LAST: Final = 0x10FFFF
_BEFORE_SURROGATES: Final = 0xD7FF
_AFTER_SURROGATES: Final = 0xE000

Range: TypeAlias = "tuple[str, str | None]"
"""The names from the first text on and below the second one; None is no end."""

Ranges: TypeAlias = "tuple[Range, ...]"
"""A set of names: sorted ranges without overlaps and without gaps of nothing between them."""


class SubjectRange(NamedTuple):
    """The names of one context from ``low`` on and below ``high``; None is no end."""

    context: str
    low: str
    high: str | None


ALL_NAMES: Final[Ranges] = (("", None),)


def above(prefix: str) -> str | None:
    """Return the lowest text above all that begin with ``prefix``; None for an empty prefix and others without one."""
    kept = prefix.rstrip(chr(_LAST))
    if not kept:
        return None
    last = ord(kept[-1])
    return kept[:-1] + chr(_AFTER_SURROGATES if last == _BEFORE_SURROGATES else last + 1)


def of_prefix(prefix: str) -> Range:
    """Return the names that begin with ``prefix``."""
    return prefix, above(prefix)


def of_name(name: str) -> Range:
    r"""Return ``name`` alone; no name continues with a control character.

    >>> of_name("a")
    ('a', 'a\x01')
    """
    return name, name + "\x01"


def union(ranges: Iterable[Range]) -> Ranges:
    """Return the names that are in one of ``ranges``.

    >>> union([("c", "e"), ("a", "b"), ("d", "f")])
    (('a', 'b'), ('c', 'f'))
    """
    found: list[Range] = []
    for low, high in sorted(ranges, key=lambda each: each[0]):
        if high is not None and high <= low:
            continue
        if found and _reaches(found[-1][1], low):
            found[-1] = (found[-1][0], _later(found[-1][1], high))
        else:
            found.append((low, high))
    return tuple(found)


def difference(ranges: Ranges, others: Ranges) -> Ranges:
    """Return the names of ``ranges`` that are not in ``others``.

    >>> difference((("a", None),), (("c", "d"), ("x", "y")))
    (('a', 'c'), ('d', 'x'), ('y', None))
    """
    return intersection(ranges, _complement(others))


def intersection(ranges: Ranges, others: Ranges) -> Ranges:
    """Return the names that are in both."""
    found: list[Range] = []
    left, right = 0, 0
    while left < len(ranges) and right < len(others):
        (low, high), (other_low, other_high) = ranges[left], others[right]
        start, end = max(low, other_low), _earlier(high, other_high)
        if end is None or start < end:
            found.append((start, end))
        if end == high:
            left += 1
        else:
            right += 1
    return tuple(found)


def within(subjects: Iterable[QualifiedSubject], ranges: Iterable[SubjectRange]) -> list[QualifiedSubject]:
    """Return the subjects that are in one of ``ranges``."""
    by_context: dict[str, list[SubjectRange]] = {}
    for each in ranges:
        by_context.setdefault(each.context, []).append(each)
    return [
        subject
        for subject in subjects
        if any(
            each.low <= subject.name and (each.high is None or subject.name < each.high)
            for each in by_context.get(subject.context, ())
        )
    ]


def _complement(ranges: Ranges) -> Ranges:
    found: list[Range] = []
    start: str | None = ""
    for low, high in ranges:
        if start is not None and start < low:
            found.append((start, low))
        start = high
    if start is not None:
        found.append((start, None))
    return tuple(found)


def _reaches(end: str | None, start: str) -> bool:
    return end is None or start <= end


def _later(one: str | None, other: str | None) -> str | None:
    return None if one is None or other is None else max(one, other)


def _earlier(one: str | None, other: str | None) -> str | None:
    if one is None or other is None:
        return other if one is None else one
    return min(one, other)
