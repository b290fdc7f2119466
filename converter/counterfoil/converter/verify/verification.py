"""Verification after a run: every record of the source must be on exactly one output, once, in order, and correct.

It reads the topics, not the run's own counts, and stores intervals of offsets and checksums of blocks instead of
records, so that its memory does not grow with the topics. Gaps in the source's offsets (compaction, transactions) are
no faults.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

from counterfoil.converter.engines.record import Converted
from counterfoil.converter.kafka import headers
from counterfoil.converter.kafka.headers import (
    Origin,
    is_echo,
    is_replayed,
    last_value,
    original_headers,
    written_by,
)
from counterfoil.converter.kafka.offsets import OffsetSet
from counterfoil.converter.verify.verdict import EXAMPLES, PartitionVerdict, VerifyReport
from counterfoil.schema.bridges.model import Partitioning

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from counterfoil.converter.engines.keyed import KeyConverter
    from counterfoil.schema.bridges.model import BridgeFile

_BLOCK: Final = 1024
"""How many offsets share a checksum; a difference is reported as the block that contains it."""
_KEYS: Final = 100_000
"""How many converted keys are kept: topics have few keys."""
_MASK: Final = (1 << 64) - 1

Range: TypeAlias = "tuple[int, int]"


class Topics(Protocol):
    """The part of a cluster that verification needs."""

    def settled_watermarks(self, topic: str) -> dict[int, Range]:
        """Return the first offset and the one after the last, by partition, when they no longer change."""

    def read(self, topic: str, range_by_partition: Mapping[int, Range]) -> Iterator[Any]:
        """Return the records in the ranges."""


Recompute: TypeAlias = "Callable[[bytes], bytes | None]"
"""The reference evaluator: it returns the framed value for the target; None for a dead letter."""


class BlockChecksums:
    """Sums of hashes by block of offsets, which do not depend on the order of the items."""

    def __init__(self) -> None:
        self._sum_by_block: dict[int, int] = {}

    def add(self, offset: int, item: object) -> None:
        """Add ``item`` at ``offset``."""
        block = offset // _BLOCK
        self._sum_by_block[block] = (self._sum_by_block.get(block, 0) + hash((offset, item))) & _MASK

    def differing(self, other: BlockChecksums) -> Iterator[Range]:
        """Yield the blocks that differ, each as its first and last offset, ascending."""
        for block in sorted(self._sum_by_block.keys() | other._sum_by_block.keys()):
            if self._sum_by_block.get(block, 0) != other._sum_by_block.get(block, 0):
                yield block * _BLOCK, block * _BLOCK + _BLOCK - 1


@dataclass(slots=True)
class _OutputRecords:
    """The records of one source partition that were found on the outputs."""

    target: OffsetSet = field(default_factory=OffsetSet)
    tombstones: OffsetSet = field(default_factory=OffsetSet)
    dead: OffsetSet = field(default_factory=OffsetSet)
    seen: BlockChecksums = field(default_factory=BlockChecksums)
    values: BlockChecksums = field(default_factory=BlockChecksums)
    sampled: dict[int, bytes | None] = field(default_factory=dict)
    oversized: OffsetSet = field(default_factory=OffsetSet)
    replayed: OffsetSet = field(default_factory=OffsetSet)


@dataclass(frozen=True, slots=True)
class Sample:
    """Which records are computed again: ``size`` of them by ``seed``, or all when ``size`` is None."""

    size: int | None = 1000
    seed: int = 0

    def choose(self, ranges: Mapping[int, Range]) -> dict[int, frozenset[int]]:
        """Return the offsets to recompute, by partition: the first and the last, and the rest at random.

        Empty for all.
        """
        if self.size is None:
            return {}
        share = max(2, self.size // max(1, len(ranges)))
        chooser = random.Random(self.seed)  # noqa: S311 - a sample, not a secret
        return {
            partition: _some_of(first, end, share, chooser) if self.size else frozenset()
            for partition, (first, end) in ranges.items()
        }


def _some_of(first: int, end: int, count: int, chooser: random.Random) -> frozenset[int]:
    if end - first <= count:
        return frozenset(range(first, end))
    return frozenset({first, end - 1, *chooser.sample(range(first + 1, end - 1), count - 2)})


@dataclass
class Verification:
    """A verification of ``file``'s bridge.

    ``ranges`` bounds the source offsets to verify, the ends exclusive; None is the whole source. ``recompute`` is the
    reference evaluator; without it values are not compared. ``convert_key`` converts keys; None: keys are copied.
    """

    file: BridgeFile
    topics: Topics
    recompute: Recompute | None = None
    sample: Sample = field(default_factory=Sample)
    ranges: Mapping[int, Range] | None = None
    convert_key: KeyConverter | None = None

    def run(self) -> VerifyReport:
        """Read all three topics once and return the report."""
        source = self.file.source_topic
        here = self.topics.settled_watermarks(source)
        ranges = {
            partition: (max(first, wanted[0]), min(end, wanted[1]))
            for partition, (first, end) in here.items()
            if (wanted := (self.ranges or here).get(partition)) is not None
        }
        ranges = {partition: (first, max(first, end)) for partition, (first, end) in ranges.items()}
        verdicts = {number: PartitionVerdict(number, *bounds) for number, bounds in sorted(ranges.items())}
        reading = _Reading(self, verdicts, self.sample.choose(ranges))
        native = reading.read_outputs(self.file.target_topic, is_dead=False)
        foreign = reading.read_outputs(self.file.dead_letter_topic, is_dead=True)
        reading.read_source(ranges)
        reading.compare()
        return VerifyReport(
            bridge=self.file.name,
            source_topic=source,
            target_topic=self.file.target_topic,
            dead_letter_topic=self.file.dead_letter_topic,
            partitions=list(verdicts.values()),
            native=native,
            foreign=foreign,
            dead_by_code=dict(reading.dead_by_code),
        )


class _Reading:
    """One pass over the outputs, then one over the source."""

    def __init__(
        self, task: Verification, verdicts: dict[int, PartitionVerdict], sampled: Mapping[int, frozenset[int]]
    ) -> None:
        self._task = task
        self._file = task.file
        self._verdicts = verdicts
        self._sampled = sampled
        self._convert_key = None if task.convert_key is None else lru_cache(_KEYS)(task.convert_key)
        self._takes_all = task.sample.size is None and task.recompute is not None
        self._found = {partition: _OutputRecords() for partition in verdicts}
        self._source_seen = {partition: BlockChecksums() for partition in verdicts}
        self._source_values = {partition: BlockChecksums() for partition in verdicts}
        self._matched: Counter[int] = Counter()
        self.dead_by_code: Counter[str] = Counter()

    def read_outputs(self, topic: str, *, is_dead: bool) -> int:
        """Read an output topic, and return how many of its records another producer wrote."""
        last: dict[tuple[int, int], int] = {}
        others = 0
        for message in self._task.topics.read(topic, self._task.topics.settled_watermarks(topic)):
            own = message.headers() or []
            origin = written_by(own, bridge=self._file.name, topic=self._file.source_topic)
            if origin is None:
                others += 1
                continue
            verdict = self._verdicts.get(origin.partition)
            if verdict is None or not verdict.first <= origin.offset < verdict.end:
                continue
            self._check_place(message, origin, verdict, last, is_dead=is_dead)
            self._take(message, own, origin, verdict, is_dead=is_dead)
        return others

    def _check_place(
        self,
        message: Any,
        origin: Origin,
        verdict: PartitionVerdict,
        last: dict[tuple[int, int], int],
        *,
        is_dead: bool,
    ) -> None:
        """Check the order and the partition of one output record; a replayed one comes after others by nature."""
        where = f"{origin.offset} at {message.topic()}/{message.partition()}/{message.offset()}"
        pair = (message.partition(), origin.partition)
        if not is_replayed(message.headers()):
            if origin.offset < last.get(pair, -1):
                verdict.fault("out_of_order", where)
            last[pair] = max(origin.offset, last.get(pair, -1))
        is_same = is_dead or self._file.partitioning is Partitioning.SAME
        if is_same and message.partition() != origin.partition:
            verdict.fault("misplaced", where)

    def _take(self, message: Any, own: list[Any], origin: Origin, verdict: PartitionVerdict, *, is_dead: bool) -> None:
        """Record one output record, the first time that its origin occurs.

        The target is read first: the dead letter of a record that a replay has converted is over, and so is one that
        failed again, whose new dead letter comes after it.
        """
        found, offset = self._found[origin.partition], origin.offset
        value = message.value()
        is_again = is_replayed(own)
        if is_dead and (offset in found.replayed or (is_again and offset in found.dead)):
            return
        if is_again and not is_dead and offset not in found.target:
            found.replayed.add(offset)
        if offset in found.target or offset in found.dead:
            verdict.fault("repeated", f"{offset} at {message.topic()}/{message.partition()}/{message.offset()}")
            return
        (found.dead if is_dead else found.target).add(offset)
        code = (last_value(own, headers.ERROR) or b"?").decode(errors="replace") if is_dead else ""
        if is_dead:
            self.dead_by_code[code] += 1
        elif value is None:
            found.tombstones.add(offset)
        found.seen.add(offset, _untouched(message.key(), original_headers(own), value if is_dead else None))
        if code == headers.TOO_LARGE:  # its value can be converted; its size is the reason, which is not computed here
            found.oversized.add(offset)
        elif self._takes_all:
            found.values.add(offset, None if is_dead else value)
        elif offset in self._sampled.get(origin.partition, ()):
            found.sampled[offset] = None if is_dead else value

    def read_source(self, ranges: Mapping[int, Range]) -> None:
        """Compare every record of the source with the output records."""
        for message in self._task.topics.read(self._file.source_topic, ranges):
            verdict = self._verdicts[message.partition()]
            verdict.records += 1
            self._match(message, verdict, self._found[message.partition()])

    def _match(self, message: Any, verdict: PartitionVerdict, found: _OutputRecords) -> None:
        offset, value, own = message.offset(), message.value(), message.headers() or []
        is_on_target, is_on_dead = offset in found.target, offset in found.dead
        self._matched[verdict.partition] += is_on_target or is_on_dead
        if is_echo(own, target=self._file.target_topic):
            verdict.echoes += 1
            if is_on_target or is_on_dead:
                verdict.fault("unwarranted", f"{offset} (an echo that was written)")
            return
        if not is_on_target and not is_on_dead:
            verdict.fault("missing", str(offset))
            return
        key = Converted(value=message.key()) if self._convert_key is None else self._convert_key(message.key())
        if key.failure is not None:  # the record is a dead letter, whatever its value is
            value = None
        if (value is None and key.failure is None) != (offset in found.tombstones):
            verdict.fault("unwarranted", f"{offset} ({'a tombstone' if value is None else 'a value'} on the source)")
        verdict.tombstones += value is None and is_on_target
        verdict.converted += value is not None and is_on_target
        verdict.dead_letters += is_on_dead
        seen = self._source_seen[verdict.partition]
        expected_key = message.key() if is_on_dead else key.value
        seen.add(offset, _untouched(expected_key, own, message.value() if is_on_dead else None))
        self._recompute(offset, value, verdict, found)

    def _recompute(self, offset: int, value: bytes | None, verdict: PartitionVerdict, found: _OutputRecords) -> None:
        """Compute one value again, if it was chosen."""
        is_wanted = self._takes_all or offset in found.sampled
        if self._task.recompute is None or not is_wanted or offset in found.oversized:
            return
        expected = None if value is None else self._task.recompute(value)
        verdict.recomputed += 1
        if self._takes_all:
            self._source_values[verdict.partition].add(offset, expected)
        elif expected != found.sampled[offset]:
            verdict.fault("differing", str(offset))

    def compare(self) -> None:
        """Compare what needs both sides completely: checksums, and outputs without a source record."""
        for number, verdict in self._verdicts.items():
            found = self._found[number]
            for kind, here, there in (
                ("changed", self._source_seen[number], found.seen),
                ("differing", self._source_values[number], found.values),
            ):
                for first, last in self._blocks_to_blame(verdict, here, there):
                    verdict.fault(kind, f"between {first} and {last}")
            placed = len(found.target) + len(found.dead)
            verdict.unmatched += placed - self._matched[number]

    def _blocks_to_blame(self, verdict: PartitionVerdict, here: BlockChecksums, there: BlockChecksums) -> list[Range]:
        """Return the blocks that differ, except blocks with unmatched records, which are reported separately."""
        found = self._found[verdict.partition]
        if len(found.target) + len(found.dead) != self._matched[verdict.partition] or verdict.unwarranted:
            return []
        return list(here.differing(there))


def _untouched(key: bytes | None, kept: Iterable[Any], value: bytes | None) -> object:
    """Return the bytes that must be the same on both sides, to be hashed."""
    return key, tuple(kept), value


__all__ = ["EXAMPLES", "BlockChecksums", "Recompute", "Sample", "Topics", "Verification"]
