"""The restart filter: it finds the records of an unfinished batch that are already on the output topics.

Spark replays a batch that it did not commit with the same offsets. Every record that a bridge writes names its origin,
so the outputs are read from the time when the batch was planned, and the records found there are left out of the
replay. Each offset is looked up separately: a record counts as written only when it was found, so that no record is
lost when a producer's later request succeeded and an earlier one did not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.converter.kafka.headers import written_by
from counterfoil.converter.kafka.offsets import OffsetSet

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from counterfoil.converter.kafka.cluster import Cluster
    from counterfoil.converter.run.checkpoint import Batch

CLOCK_SKEW_MS: Final = 60_000
"""How far the clocks of driver, executors and brokers may differ; the outputs are read from that much earlier."""

_RANGES: Final = 64
"""The number of the longest runs that are compared as ranges; other offsets are in a hash set."""


def written_of(
    batch: Batch, cluster: Cluster, *, bridge: str, source_topic: str, outputs: Iterable[str]
) -> dict[int, OffsetSet]:
    """Return the offsets of ``batch`` whose records are on an output topic, by source partition."""
    written: dict[int, OffsetSet] = {}
    for topic in outputs:
        since = cluster.offsets_since(topic, batch.started_ms - CLOCK_SKEW_MS)
        ends = cluster.settled_watermarks(topic)
        ranges = {number: (first, ends[number][1]) for number, first in since.items()}
        for message in cluster.read(topic, ranges):
            origin = written_by(message.headers(), bridge=bridge, topic=source_topic)
            if origin is None:
                continue
            first, end = batch.range_by_partition.get(origin.partition, (0, 0))
            if first <= origin.offset < end:
                written.setdefault(origin.partition, OffsetSet()).add(origin.offset)
    return written


def repeat_condition(written: Mapping[int, OffsetSet]) -> str:
    """Return a Spark SQL condition on ``partition`` and ``offset`` that is true for the records in ``written``.

    >>> repeat_condition({})
    'false'
    """
    cases = [
        f"WHEN {partition} THEN {_membership(offsets)}"
        for partition, offsets in sorted(written.items())
        if len(offsets)
    ]
    return f"CASE partition {' '.join(cases)} ELSE false END" if cases else "false"


def _membership(offsets: OffsetSet) -> str:
    """Return a condition that ``offset`` is in ``offsets``: the longest runs as ranges, the rest as a hash set."""
    runs = sorted(offsets, key=lambda run: run[0] - run[1])
    terms = [f"offset BETWEEN {first} AND {last}" for first, last in sorted(runs[:_RANGES])]
    rest = sorted(offset for first, last in runs[_RANGES:] for offset in range(first, last + 1))
    if rest:
        terms.append(f"offset IN ({', '.join(map(str, rest))})")
    return f"({' OR '.join(terms)})"
