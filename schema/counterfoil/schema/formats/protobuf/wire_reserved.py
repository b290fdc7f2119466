"""Numbers and names that a message or enum reserves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.schema.formats.protobuf.ast import Range

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from counterfoil.schema.formats.protobuf.ast import Reserved


def reserved_ranges(statements: Iterable[Reserved]) -> list[range]:
    """The reserved numbers as they are written."""
    values = [value for statement in statements for value in statement.values if not isinstance(value, str)]
    return [
        range(value.start, value.end + 1) if isinstance(value, Range) else range(value, value + 1) for value in values
    ]


def reserved_names(statements: Iterable[Reserved]) -> list[str]:
    """The reserved names."""
    return [value for statement in statements for value in statement.values if isinstance(value, str)]


def no_longer_reserved(reader: Sequence[Reserved], writer: Sequence[Reserved]) -> list[str]:
    """What the writer reserves and the reader does not, in words: ``5``, ``5 to 9``, ``"name"``."""
    known = sorted(reserved_ranges(reader), key=lambda each: each.start)
    ranges = [_words(each) for each in reserved_ranges(writer) if not _is_covered(each, known)]
    names = set(reserved_names(reader))
    return ranges + [f'"{name}"' for name in reserved_names(writer) if name not in names]


def _is_covered(wanted: range, known: Iterable[range]) -> bool:
    """Whether ranges, in the order of their starts, hold every number of ``wanted`` between them."""
    next_needed = wanted.start
    for each in known:
        if each.start <= next_needed < each.stop:
            next_needed = each.stop
    return next_needed >= wanted.stop


def _words(numbers: range) -> str:
    return str(numbers.start) if len(numbers) == 1 else f"{numbers.start} to {numbers.stop - 1}"
