"""Numbers and names that a message or enum reserves."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from counterfoil.schema.formats.protobuf.read.ast import Range

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from counterfoil.schema.formats.protobuf.read.ast import Reserved


def reserved_ranges(statements: Iterable[Reserved]) -> list[range]:
    """Return the reserved numbers, one range for each written number or range."""
    values = [value for statement in statements for value in statement.values if not isinstance(value, str)]
    return [
        range(value.start, value.end + 1) if isinstance(value, Range) else range(value, value + 1) for value in values
    ]


def reserved_names(statements: Iterable[Reserved]) -> list[str]:
    """Return the reserved names."""
    return [value for statement in statements for value in statement.values if isinstance(value, str)]


def no_longer_reserved(reader: Sequence[Reserved], writer: Sequence[Reserved]) -> list[str]:
    """Return the numbers and names that only the writer reserves, as texts: ``5``, ``5 to 9``, ``"name"``."""
    known = _joined(reserved_ranges(reader))
    starts = [each.start for each in known]
    ranges = [_words(each) for each in reserved_ranges(writer) if not _is_covered(each, known, starts)]
    names = set(reserved_names(reader))
    return ranges + [f'"{name}"' for name in reserved_names(writer) if name not in names]


def _joined(ranges: Iterable[range]) -> list[range]:
    """Return the ranges merged into the fewest, in ascending order."""
    joined: list[range] = []
    for each in sorted(ranges, key=lambda each: each.start):
        if joined and each.start <= joined[-1].stop:
            joined[-1] = range(joined[-1].start, max(joined[-1].stop, each.stop))
        else:
            joined.append(each)
    return joined


def _is_covered(wanted: range, known: Sequence[range], starts: Sequence[int]) -> bool:
    """Return whether one of ``known``, which are merged and in order, holds every number of ``wanted``."""
    index = bisect_right(starts, wanted.start) - 1
    return index >= 0 and wanted.stop <= known[index].stop


def _words(numbers: range) -> str:
    return str(numbers.start) if len(numbers) == 1 else f"{numbers.start} to {numbers.stop - 1}"
