"""Functions that count values of one place: what the sketches of Avro and Protobuf have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.schema.sketch.collect import PlaceCounts

    Visit: TypeAlias = Callable[[Any, int], None]
    """Counts a value of the record with a number."""


def visit_of_number(counts: PlaceCounts) -> Visit:
    """Return the function that counts a number."""

    def visit_number(value: Any, record: int) -> None:
        counts.seen(record)
        counts.number(value)

    return visit_number


def visit_of_text(counts: PlaceCounts) -> Visit:
    """Return the function that counts a text."""

    def visit_text(value: Any, record: int) -> None:
        counts.seen(record)
        counts.text(value)

    return visit_text


def visit_of_bytes(counts: PlaceCounts) -> Visit:
    """Return the function that counts bytes by their number."""

    def visit_bytes(value: Any, record: int) -> None:
        counts.seen(record)
        counts.size(len(value))

    return visit_bytes


def visit_of_items(counts: PlaceCounts, inner: Visit) -> Visit:
    """Return the function that counts a list, and has ``inner`` count each item."""

    def visit_items(items: Any, record: int) -> None:
        counts.seen(record)
        counts.size(len(items))
        for each in items:
            inner(each, record)

    return visit_items
