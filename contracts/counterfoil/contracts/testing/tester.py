"""The test of a topic's records, batch by batch: from bytes to counts.

Where the messages of a writer become columns, constraints are evaluated on these, and only rows that may fail are read
as values; else every record is. What a record fails is decided by its value alone, so that both ways count the same.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from counterfoil.contracts.testing.plan import UNDECODABLE
from counterfoil.contracts.testing.reasons import reason_of
from counterfoil.contracts.testing.run import Group, Run
from counterfoil.contracts.testing.tally import Place, Span
from counterfoil.contracts.testing.writers import UNFRAMED, frame_key
from counterfoil.schema.wire import VALUE_HEADER
from counterfoil.sdk.errors import SerdeError
from counterfoil.sdk.serde.headers import read_header

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from counterfoil.contracts.testing.batches import RecordBatch
    from counterfoil.contracts.testing.plan import Plan
    from counterfoil.contracts.testing.tally import Tally
    from counterfoil.contracts.testing.writers import Layout, Writer, Writers

_MOST_WRITERS: Final = 1_000
"""How many writers are counted one by one: bytes that are no messages may look like many different ids."""


class TopicTester:
    """Tests the records of one topic, and counts in the tally of its plan."""

    def __init__(self, plan: Plan, writers: Writers) -> None:
        self._plan = plan
        self._writers = writers

    @property
    def tally(self) -> Tally:
        """What was counted so far."""
        return self._plan.tally

    def feed(self, batch: RecordBatch) -> None:
        """Test the records of a batch."""
        if not len(batch):
            return
        self._count(batch)
        for key, named, rows in _groups(batch):
            found = self._writers.find(key, batch.values[rows[0]] or b"", named)
            if isinstance(found, SerdeError):
                self._refuse(batch, rows, self._label(key), found)
            else:
                self._test_rows(batch, rows, found, named)

    # --- what all records have ----------------------------------------------------------------------------------------

    def _count(self, batch: RecordBatch) -> None:
        tally = self._plan.tally
        tally.records += len(batch)
        tally.tombstones += batch.values.count(None)
        tally.null_keys += batch.keys.count(None)
        tally.with_headers += sum(map(bool, batch.headers))
        tally.size_bytes += batch.size_bytes
        self._count_spans(batch)
        self._count_windows(batch)
        for number in self._plan.broker_levels:
            self._plan.note_moments(number, batch.timestamps)

    def _count_windows(self, batch: RecordBatch) -> None:
        for length in self._plan.window_lengths:
            if length:
                starts = Counter(
                    moment // length * length
                    for moment, value in zip(batch.timestamps, batch.values, strict=True)
                    if value is not None and moment is not None
                )
            else:
                starts = Counter({0: len(batch) - batch.values.count(None)})
            for start, count in starts.items():
                self._plan.window(length, start).records += count

    def _count_spans(self, batch: RecordBatch) -> None:
        numbers = range(len(batch))
        first = dict(zip(reversed(batch.partitions), reversed(numbers), strict=True))
        last = dict(zip(batch.partitions, numbers, strict=True))
        for partition, start in first.items():
            end = last[partition]
            span = Span(batch.offsets[start], batch.offsets[end], batch.timestamps[start], batch.timestamps[end])
            known = self._plan.tally.spans.setdefault(partition, span)
            if known is not span:
                known.merge(span)

    # --- the records of one writer ------------------------------------------------------------------------------------

    def _label(self, key: bytes) -> str:
        """Return the label of records whose schema is not there; one for all where there are too many of them."""
        is_named = key != UNFRAMED and key[0] == 0 and len(self._plan.tally.writers) < _MOST_WRITERS
        return f"id {int.from_bytes(key[1:5], 'big')}" if is_named else "unknown"

    def _refuse(self, batch: RecordBatch, rows: Sequence[int], label: str, error: SerdeError) -> None:
        outcomes = self._plan.tally.outcomes(label)
        reason = reason_of(error, shows_values=self._plan.shows_values)
        for row in rows:
            self._plan.fail(UNDECODABLE, Place(batch.partitions[row], batch.offsets[row], label, reason))
        outcomes.records += len(rows)
        outcomes.undecodable += len(rows)
        outcomes.failing += len(rows)

    def _test_rows(self, batch: RecordBatch, rows: list[int], writer: Writer, named: bytes | None) -> None:
        """Test records with one frame; those of Protobuf may have several types."""
        layouts: dict[bytes, tuple[Layout, int, list[int]]] = {}
        is_one_layout = writer.opened.codec.suffix_size == 0 or named is not None
        for some in [rows] if is_one_layout else ([row] for row in rows):
            try:
                layout, offset, prefix = writer.layout(batch.values[some[0]] or b"", named)
            except SerdeError as error:
                self._refuse(batch, some, writer.label, error)
            else:
                layouts.setdefault(prefix, (layout, offset, []))[2].extend(some)
        for prefix, (layout, offset, some) in layouts.items():
            problem = layout.problem
            if problem is not None:
                self._refuse(batch, some, writer.label, problem)
            else:
                Run(self._plan, Group(batch, some, writer, layout, offset, prefix)).test()


def _groups(batch: RecordBatch) -> Iterator[tuple[bytes, bytes | None, list[int]]]:
    """Yield the rows of records with a value by what names their schema: a header, or their first bytes."""
    rows_by_key: dict[tuple[bytes, bytes | None], list[int]] = {}
    last: tuple[bytes, bytes | None] | None = None
    rows: list[int] = []
    for row, (data, headers) in enumerate(zip(batch.values, batch.headers, strict=True)):
        if data is None:
            continue
        named = read_header(headers, VALUE_HEADER) if headers else None
        key = (frame_key(data), None) if named is None else (named, named)
        if key != last:
            rows = rows_by_key.setdefault(key, [])
            last = key
        rows.append(row)
    for (key_bytes, named), found in rows_by_key.items():
        yield key_bytes, named, found
