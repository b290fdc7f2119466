"""The tests of a whole topic in parallel: each partition by a task of another engine, which the entry points name.

The engine knows nothing of contracts. It runs work that this module sends, which returns counts as JSON.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Final, Protocol

from counterfoil.contracts.errors import PreconditionFailed
from counterfoil.contracts.testing.batches import RecordBatch
from counterfoil.contracts.testing.checks import Check
from counterfoil.contracts.testing.plan import Plan
from counterfoil.contracts.testing.quality import Metric, QualityCheck
from counterfoil.contracts.testing.repeats import window_start
from counterfoil.contracts.testing.tally import Tally, Window
from counterfoil.contracts.testing.tester import TopicTester
from counterfoil.contracts.testing.writers import Writers
from counterfoil.schema.extras import needed_by
from counterfoil.schema.sampling.runs import takes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from contextlib import AbstractContextManager

    from counterfoil.contracts.testing.promises import TopicTest
    from counterfoil.contracts.testing.repeats import Key
    from counterfoil.contracts.testing.sources import Sample
    from counterfoil.contracts.testing.writers import Proposed
    from counterfoil.schema.sampling.selection import Range
    from counterfoil.sdk.client import Registry
    from counterfoil.sdk.kafka.access import KafkaAccess

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
        work: Callable[[Iterator[Any]], Iterable[str]],
    ) -> list[str]:
        """Return the texts that ``work`` makes of the records of each partition."""

    def repeated(
        self,
        kafka: Mapping[str, str],
        topic: str,
        ranges: Mapping[int, Range],
        work: Callable[[Iterator[Any]], Iterable[tuple[str, int]]],
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

    def counts(self, batches: Iterator[Any]) -> Iterator[str]:
        """Yield the counts of a partition, as JSON; what a task runs."""
        collected = _Collected()
        tester = self._tester(self.test, lambda *_: collected)
        for batch in batches:
            tester.feed(_record_batch(batch, self.wanted))
            collected.keys.clear()
        yield json.dumps(tester.tally.document())

    def keys(self, batches: Iterator[Any]) -> Iterator[tuple[str, int]]:
        """Yield the keys of the rules about duplicates, each with the rule's number and window; what a task runs."""
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

    def _tester(self, test: TopicTest, repeats: Callable[[int, QualityCheck], Any]) -> TopicTester:
        registry = self.registry
        plan = Plan(
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


def wanted_of(sample: Sample) -> Mapping[int, tuple[Range, ...]]:
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
