"""The test of a topic's records, batch by batch, or in parallel by another engine, which the entry points name."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Final, Protocol

from counterfoil.contracts.errors import PreconditionFailed
from counterfoil.contracts.testing import Check, Metric, QualityCheck
from counterfoil.contracts.testing.plan import (
    UNDECODABLE,
    UNFRAMED,
    Key,
    Layout,
    Proposed,
    RecordPlace,
    RecordTestPlan,
    Span,
    Tally,
    Window,
    Writer,
    Writers,
    frame_key,
    window_start,
)
from counterfoil.contracts.testing.promises import TopicTest
from counterfoil.contracts.testing.run import RecordGroup, RecordGroupTest
from counterfoil.contracts.testing.sources import RecordBatch, reason_of
from counterfoil.schema.datum import Datum
from counterfoil.schema.errors import needed_by
from counterfoil.schema.sampling import Range, takes
from counterfoil.schema.wire import VALUE_HEADER
from counterfoil.sdk.errors import SerdeError
from counterfoil.sdk.serde import read_header

if TYPE_CHECKING:
    from counterfoil.contracts.testing.sources import SampleUnderTest
    from counterfoil.sdk.client import Registry
    from counterfoil.sdk.kafka import KafkaAccess


# The test of a topic's records, batch by batch: from bytes to counts.
#
# Where the messages of a writer become columns, constraints are evaluated on these, and only rows that may fail are
# read as values; else every record is. What a record fails is decided by its value alone, so that both ways count the
# same.

_MOST_WRITERS: Final = 1_000
"""How many writers are counted one by one: bytes that are no messages may look like many different ids."""


class TopicTester:
    """Tests the records of one topic, and counts in the tally of its plan."""

    def __init__(self, plan: RecordTestPlan, writers: Writers) -> None:
        self._plan = plan
        self._writers = writers

    @property
    def tally(self) -> Tally:
        """The counts so far."""
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
            self._plan.fail(UNDECODABLE, RecordPlace(batch.partitions[row], batch.offsets[row], label, reason))
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
                RecordGroupTest(self._plan, RecordGroup(batch, some, writer, layout, offset, prefix)).test()


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


# The tests of a whole topic in parallel: each partition by a task of another engine, which the entry points name.
#
# The engine knows nothing of contracts. It runs work that this module sends, which returns counts as JSON.

GROUP: Final = "counterfoil.topic_scanners"
"""The entry points that name scanners, by the name of the engine."""


class TopicScanner(Protocol):
    """Reads topics in parallel.

    Work gets batches of Arrow with the columns partition, offset, timestamp, timestampType, key, value and headers.
    ``kafka`` are settings of Kafka's Java clients.
    """

    def scan(
        self,
        kafka: Mapping[str, str],
        topic: str,
        ranges: Mapping[int, Range],
        work: Callable[[Iterator[Datum]], Iterable[str]],
    ) -> list[str]:
        """Return the texts that ``work`` makes of the records of each partition."""

    def repeated(
        self,
        kafka: Mapping[str, str],
        topic: str,
        ranges: Mapping[int, Range],
        work: Callable[[Iterator[Datum]], Iterable[tuple[str, int]]],
    ) -> dict[str, int]:
        """Return how many of the pairs that ``work`` makes of records were there before, by the first of each pair."""


def open_scanner(engine: str) -> AbstractContextManager[TopicScanner]:
    """Return the scanner of an engine, which is started; raise ``PreconditionFailed`` if none is installed."""
    found = next(iter(entry_points(group=GROUP, name=engine)), None)
    if found is None:
        raise PreconditionFailed(f"nothing that is installed reads topics with {engine}")
    with needed_by(f"--engine {engine}", extra="converter"):
        opened: AbstractContextManager[TopicScanner] = found.load()()
    return opened


@dataclass(frozen=True, slots=True)
class DistributedTest:
    """A test that is sent to tasks. ``wanted`` are the offsets of the sample; ``registry`` is a client."""

    test: TopicTest
    wanted: Mapping[int, tuple[Range, ...]]
    registry: Registry
    proposed: Proposed | None = None
    shows_values: bool = False

    def run(self, scanner: TopicScanner, access: KafkaAccess) -> Tally:
        """Return the counts of the whole sample.

        Values that occur in several partitions are found by the engine, in a second job if there are rules about them.
        """
        kafka = access.with_files_read().java_settings()
        spans = {number: (ranges[0][0], ranges[-1][1]) for number, ranges in self.wanted.items()}
        tally = Tally()
        for text in scanner.scan(kafka, self.test.topic, spans, self.counts):
            tally.merge(Tally.read(json.loads(text)))
        if self._rules():
            for name, count in scanner.repeated(kafka, self.test.topic, spans, self.keys).items():
                number, _, start = name.partition("/")
                length = self.test.checks[int(number)].window_ms  # type: ignore[attr-defined]  # a rule about duplicates
                window = tally.windows.setdefault(length, {}).setdefault(int(start), Window())
                if count:
                    window.duplicates[int(number)] = count
        return tally

    def counts(self, batches: Iterator[object]) -> Iterator[str]:
        """Yield the counts of a partition, as JSON; this runs in a task."""
        collected = _Collected()
        tester = self._tester(self.test, lambda *_: collected)
        for batch in batches:
            tester.feed(_record_batch(batch, self.wanted))
            collected.keys.clear()
        yield json.dumps(tester.tally.document())

    def keys(self, batches: Iterator[object]) -> Iterator[tuple[str, int]]:
        """Yield the keys of the rules about duplicates, each with the rule's number and window; this runs in a task."""
        rules = self._rules()
        neutral = tuple(
            each if number in rules else Check(each.rule, each.text, each.file)
            for number, each in enumerate(self.test.checks)
        )
        by_rule = {number: _Collected() for number in rules}
        tester = self._tester(replace(self.test, checks=neutral), lambda number, _: by_rule[number])
        for batch in batches:
            tester.feed(_record_batch(batch, self.wanted))
            for number, collected in by_rule.items():
                for key in collected.keys:
                    start = window_start(key.moment_ms, rules[number].window_ms)
                    if start is not None:
                        yield f"{number}/{start}", key.digest - 2**63
                collected.keys.clear()

    def _rules(self) -> dict[int, QualityCheck]:
        return {
            number: each
            for number, each in enumerate(self.test.checks)
            if isinstance(each, QualityCheck) and each.metric is Metric.DUPLICATE
        }

    def _tester(self, test: TopicTest, repeats: Callable[[int, QualityCheck], Datum]) -> TopicTester:
        registry = self.registry
        plan = RecordTestPlan(
            test,
            keys=Writers(lambda: registry),
            shows_values=self.shows_values,
            has_proposed=self.proposed is not None,
            repeats=repeats,
        )
        return TopicTester(plan, Writers(lambda: registry, self.proposed))


class _Collected:
    """Keys that are not compared here."""

    is_crowded = False

    def __init__(self) -> None:
        self.keys: list[Key] = []

    def add(self, keys: Iterable[Key]) -> list[tuple[int, int]]:
        """Keep the keys."""
        self.keys.extend(keys)
        return []


def sendable(proposed: Proposed | None) -> Proposed | None:
    """Return a proposed schema as it is sent to tasks: its text, which is parsed there."""
    return None if proposed is None else replace(proposed, found=replace(proposed.found, schema=None))


def wanted_of(sample: SampleUnderTest) -> Mapping[int, tuple[Range, ...]]:
    """Return the offsets of a sample, without partitions that have none."""
    return {number: ranges for number, ranges in sample.offsets.items() if ranges}


def _record_batch(batch: Any, wanted: Mapping[int, tuple[Range, ...]]) -> RecordBatch:
    """Return the records of an Arrow batch that belong to the sample."""
    names = ("partition", "offset", "timestamp", "timestampType", "key", "value", "headers")
    partitions, offsets, moments, kinds, keys, values, headers = (batch.column(name).to_pylist() for name in names)
    kept = [
        row
        for row, (partition, offset) in enumerate(zip(partitions, offsets, strict=True))
        if takes(wanted[partition], offset)
    ]
    return RecordBatch(
        [partitions[row] for row in kept],
        [offsets[row] for row in kept],
        [None if kinds[row] < 0 else round(moments[row].timestamp() * 1000) for row in kept],
        [keys[row] for row in kept],
        [values[row] for row in kept],
        [[(each["key"], each["value"]) for each in headers[row]] if headers[row] else None for row in kept],
    )
