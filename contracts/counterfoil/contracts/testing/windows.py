"""Which windows of time lie completely within the records that were read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterfoil.contracts.testing.sources import Sample
    from counterfoil.contracts.testing.tally import Tally

_MOST: Final = 100_000
"""How many windows are looked at, beginning with the newest."""


def complete_windows(sample: Sample, tally: Tally, length_ms: int) -> Sequence[int]:
    """Return the starts of the windows of which every record was read, ascending; none if that is not known.

    A partition that was not read from its beginning limits them by its first timestamp, one that was not read to its
    end by its last.
    """
    if not sample.is_contiguous:
        return ()
    earliest = [span.earliest_ms for span in tally.spans.values() if span.earliest_ms is not None]
    if not earliest:
        return ()
    low, high = min(earliest), sample.taken_ms
    for partition, ((first, end),) in sample.offsets.items():
        bounds, span = sample.bounds.get(partition, (first, end)), tally.spans.get(partition)
        if span is None:
            continue
        if first > bounds[0] and span.earliest_ms is not None:
            low = max(low, span.earliest_ms)
        if end < bounds[1] and span.latest_ms is not None:
            high = min(high, span.latest_ms)
    if any(number not in sample.offsets for number, (first, end) in sample.bounds.items() if first < end):
        return ()
    start = max(-(-low // length_ms), high // length_ms - _MOST)
    return [number * length_ms for number in range(start, high // length_ms)]
