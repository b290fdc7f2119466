"""``counterfoil bridge verify``: every record of the source is on exactly one of the targets, by partition."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

import click

from counterfoil.converter.bridge import ResolvedBridge, load_bridge_file, resolve_with, stored_bridge
from counterfoil.converter.engines.reference import Converted, KeyConverter, ReferenceEngine, key_converter
from counterfoil.converter.errors import BridgeError
from counterfoil.converter.kafka import origins as headers
from counterfoil.converter.kafka.cluster import named_cluster
from counterfoil.converter.kafka.origins import (
    OffsetSet,
    RecordOrigin,
    is_echo,
    is_replayed,
    last_value,
    original_headers,
    written_by,
)
from counterfoil.converter.outputs import WITH_JUNIT, failures_as_cases, give, parse_forms
from counterfoil.converter.run.checkpoint import Checkpoint, begun_plan, checkpoint_of
from counterfoil.converter.run.progress import job_name, now_ms
from counterfoil.schema.datum import Json, JsonObject
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.schema.plans.bridge import BridgeFile, Partitioning
from counterfoil.schema.reports.forms import Case, CaseOutcome, Suite
from counterfoil.schema.rest.bridges import BridgeVerification
from counterfoil.schema.texts import counted
from counterfoil.sdk import Registry, operations
from counterfoil.sdk.kafka import KafkaAccess

if TYPE_CHECKING:
    from counterfoil.sdk.commands.options import RegistryAccess


# The results of a verification, by source partition, as values, text and JSON.

EXAMPLES: Final = 5
"""How many offsets a report has for each kind of fault."""

_CASES: Final = {
    "missing": "no record is missing",
    "repeated": "no record is repeated",
    "out_of_order": "records are in order",
    "misplaced": "records are on their partition",
    "unmatched": "every output record is from the source",
    "unwarranted": "echoes are left out, tombstones are tombstones",
    "changed": "keys, headers and dead letters are unchanged",
    "differing": "values are those of the reference evaluator",
}
"""The kinds of fault, each with what is right, as the name of a test case."""


@dataclass(slots=True)
class PartitionVerdict:
    """One partition of the source, and what was found of its records.

    ``first`` and ``end`` bound the offsets that were verified, the end exclusive. ``records`` were on the source:
    ``converted``, ``tombstones`` and ``dead_letters`` of them were found on the outputs, ``echoes`` were correctly left
    out. Everything else counts faults: ``missing`` (on neither output), ``repeated`` (more than once), ``out_of_order``
    (after a later one, on one output partition), ``misplaced`` (on another partition than the bridge file requires),
    ``unmatched`` (an output names an offset that is not in the source), ``unwarranted`` (an echo that was written, or a
    tombstone that is none on the target, or the reverse), ``changed`` (runs of offsets in which a key, a header or a
    dead letter's value is not the original's) and ``differing`` (values that differ from the reference evaluator's, of
    ``recomputed`` ones). ``examples`` has the first offsets of each.
    """

    partition: int
    first: int
    end: int
    records: int = 0
    converted: int = 0
    tombstones: int = 0
    dead_letters: int = 0
    echoes: int = 0
    recomputed: int = 0
    missing: int = 0
    repeated: int = 0
    out_of_order: int = 0
    misplaced: int = 0
    unmatched: int = 0
    unwarranted: int = 0
    changed: int = 0
    differing: int = 0
    examples: dict[str, list[str]] = field(default_factory=dict)

    @property
    def faults(self) -> dict[str, int]:
        """The kinds of fault that occurred, with their counts."""
        return {kind: count for kind in _CASES if (count := getattr(self, kind))}

    def fault(self, kind: str, example: str) -> None:
        """Count one fault of ``kind``, and keep ``example`` if it is among the first."""
        setattr(self, kind, getattr(self, kind) + 1)
        named = self.examples.setdefault(kind, [])
        if len(named) < EXAMPLES:
            named.append(example)


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """The results of all partitions.

    ``native`` counts records of the target, and ``foreign`` of the dead-letter topic, that this bridge did not
    write.
    """

    bridge: str
    source_topic: str
    target_topic: str
    dead_letter_topic: str
    partitions: list[PartitionVerdict]
    native: int
    foreign: int
    dead_by_code: dict[str, int]

    @property
    def records(self) -> int:
        """How many records of the source were verified."""
        return sum(each.records for each in self.partitions)

    @property
    def is_good(self) -> bool:
        """Whether every record is on exactly one output, once, in order and with the right content."""
        return not any(each.faults for each in self.partitions)

    @property
    def exit_code(self) -> ExitCode:
        """OK, BROKEN, or CANNOT_SAY when the source has no records."""
        if not self.is_good:
            return ExitCode.BROKEN
        return ExitCode.OK if self.records else ExitCode.CANNOT_SAY

    def totals(self) -> dict[str, int]:
        """Return the counts of all partitions together; ``source`` is the number of verified source records."""
        names = [name for name, value in asdict(PartitionVerdict(0, 0, 0)).items() if isinstance(value, int)]
        sums = {name: self._count(name) for name in names if name not in {"partition", "first", "end", "records"}}
        return {"source": self.records, **sums}

    def as_json(self) -> JsonObject:
        """Return the report as a JSON object."""
        return {
            **asdict(self),
            "partitions": [{**asdict(each), "faults": each.faults} for each in self.partitions],
            "totals": self.totals(),
            "good": self.is_good,
        }

    def lines(self) -> list[str]:
        """Return the report as lines of text."""
        shown = [f"{self.source_topic} -> {self.target_topic} (dead letters: {self.dead_letter_topic})"]
        shown += [line for each in self.partitions for line in _partition_lines(each)]
        if self.native:
            shown.append(_not_ours(self.native, self.target_topic))
        if self.foreign:
            shown.append(_not_ours(self.foreign, self.dead_letter_topic))
        if self.dead_by_code:
            by_code = ", ".join(f"{code} {count:,}" for code, count in sorted(self.dead_by_code.items()))
            shown.append(f"dead letters by reason: {by_code}")
        return [*shown, self._conclusion()]

    def suite(self) -> Suite:
        """Return one test case for each kind of fault."""
        group = verify_group(self.bridge)
        if not self.records:
            why = f"{self.source_topic} holds no records"
            return Suite(group, (Case("records", group, CaseOutcome.NOT_RUN, "no-records", why),))
        cases = [Case("records", group, output="\n".join(self.lines()))]
        for kind, name in _CASES.items():
            count = self._count(kind)
            places = [
                f"partition {each.partition}: {', '.join(each.examples.get(kind, []))}"
                for each in self.partitions
                if getattr(each, kind)
            ]
            message = f"{_spoken(kind)} {count:,}"
            cases.append(
                Case(name, group, CaseOutcome.BROKEN, kind, message, "\n".join(places)) if count else Case(name, group)
            )
        return Suite(group, tuple(cases))

    def _conclusion(self) -> str:
        if not self.is_good:
            counts = [f"{_spoken(kind)} {self._count(kind):,}" for kind in _kinds(self.partitions)]
            return f"NOT GOOD: {', '.join(counts)}"
        if not self.records:
            return f"cannot say: {self.source_topic} holds no records"
        recomputed = sum(each.recomputed for each in self.partitions)
        records = counted(self.records, "record", spec=",")
        return f"good: {records}, each exactly once and in order; {recomputed:,} computed again and equal"

    def _count(self, kind: str) -> int:
        return sum(getattr(each, kind) for each in self.partitions)


def _not_ours(count: int, topic: str) -> str:
    records = counted(count, f"record of {topic} is", f"records of {topic} are", spec=",")
    return f"{records} not from this bridge"


def _spoken(kind: str) -> str:
    return kind.replace("_", " ")


def _kinds(partitions: list[PartitionVerdict]) -> list[str]:
    return list(dict.fromkeys(kind for each in partitions for kind in each.faults))


def _partition_lines(each: PartitionVerdict) -> list[str]:
    parts = [f"{each.converted:,} converted", counted(each.dead_letters, "dead letter", spec=",")]
    parts += [counted(each.tombstones, "tombstone", spec=",")] if each.tombstones else []
    parts += [counted(each.echoes, "echo", "echoes", spec=",")] if each.echoes else []
    line = f"  partition {each.partition}: {counted(each.records, 'record', spec=',')} = {' + '.join(parts)}"
    faults = [
        f"    {_spoken(kind)} {count:,}: {', '.join(each.examples.get(kind, []))}"
        for kind, count in each.faults.items()
    ]
    return [line if not faults else f"{line}; faults:", *faults]


def verify_group(bridge: str) -> str:
    """Return the name under which build servers list the verification of a bridge."""
    return f"bridge verify {bridge}"


# Verification after a run: every record of the source must be on exactly one output, once, in order, and correct.
#
# It reads the topics, not the run's own counts, and stores intervals of offsets and checksums of blocks instead of
# records, so that its memory does not grow with the topics. Gaps in the source's offsets (compaction, transactions) are
# no faults.

_BLOCK: Final = 1024
"""How many offsets share a checksum; a difference is reported as the block that contains it."""
_KEYS: Final = 100_000
"""How many converted keys are kept: topics have few keys."""
_MASK: Final = (1 << 64) - 1

Range: TypeAlias = "tuple[int, int]"


class VerifiedTopics(Protocol):
    """The part of a cluster that verification needs."""

    def settled_watermarks(self, topic: str) -> dict[int, Range]:
        """Return the first offset and the one after the last, by partition, when they no longer change."""

    def read(self, topic: str, range_by_partition: Mapping[int, Range]) -> Iterator[Json]:
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
class RecomputedSample:
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
class TopicVerification:
    """A verification of ``file``'s bridge.

    ``ranges`` bounds the source offsets to verify, the ends exclusive; None is the whole source. ``recompute`` is the
    reference evaluator; without it values are not compared. ``convert_key`` converts keys; None: keys are copied.
    """

    file: BridgeFile
    topics: VerifiedTopics
    recompute: Recompute | None = None
    sample: RecomputedSample = field(default_factory=RecomputedSample)
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
        self, task: TopicVerification, verdicts: dict[int, PartitionVerdict], sampled: Mapping[int, frozenset[int]]
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
        origin: RecordOrigin,
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

    def _take(
        self, message: Any, own: list[Json], origin: RecordOrigin, verdict: PartitionVerdict, *, is_dead: bool
    ) -> None:
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


def _untouched(key: bytes | None, kept: Iterable[object], value: bytes | None) -> object:
    """Return the bytes that must be the same on both sides, to be hashed."""
    return key, tuple(kept), value


# The report of a verification to the registry that stores the bridge.


def report_verification(registry: Registry, bridge: ResolvedBridge, report: VerifyReport) -> None:
    """Send the result of a verification, if the registry stores the bridge; raise the errors of its client."""
    if stored_bridge(registry, bridge.file.name) is None:
        return
    faults: Counter[str] = Counter()
    for partition in report.partitions:
        faults.update(partition.faults)
    found = BridgeVerification(
        plan_hash=bridge.plan.hash,
        records=report.records,
        faults=dict(faults),
        dead_letters=sum(each.dead_letters for each in report.partitions),
        job=job_name(),
        ts=now_ms(),
    )
    registry.call(operations.report_verification(bridge.file.name, found))


# ``counterfoil bridge verify``: that every record of the source was written once.


def verify_bridge(
    *,
    file: Path,
    registry: RegistryAccess,
    kafka: KafkaAccess | None,
    formats: Sequence[str],
    sample: str,
    seed: int,
    checkpoint: Path | str | None,
) -> ExitCode:
    """Run ``bridge verify``: check that every source record was written once."""
    forms = parse_forms(formats, WITH_JUNIT)
    if sample != "all" and not sample.isdecimal():
        raise click.UsageError("--sample must be a number, or all")
    declared = load_bridge_file(file)
    with failures_as_cases(forms, verify_group(declared.name)):
        resolved = resolve_with(declared, registry, lambda: begun_plan(checkpoint_of(file, declared.name, checkpoint)))
        reference, keys = ReferenceEngine(resolved.conversion()), resolved.key_conversion()
        cluster = named_cluster(kafka)
        report = TopicVerification(
            file=resolved.file,
            topics=cluster,
            recompute=lambda value: reference.convert_value(value).value,
            sample=RecomputedSample(size=None if sample == "all" else int(sample), seed=seed),
            ranges=_finished(checkpoint, resolved.file.source_topic) if checkpoint else None,
            convert_key=None if keys is None else key_converter(ReferenceEngine(keys)),
        ).run()
    give(forms, lines=report.lines, document=report.as_json, suite=report.suite)
    with registry.open() as client:
        report_verification(client, resolved, report)
    return report.exit_code


def _finished(folder: Path | str, topic: str) -> dict[int, tuple[int, int]]:
    """Return the source offsets whose batches are finished, by partition."""
    checkpoint = Checkpoint(folder)
    beginning, position = checkpoint.beginning(topic), checkpoint.position(topic)
    if beginning is None or position is None:
        raise BridgeError(f"The checkpoint {folder} has no batches of topic {topic}")
    return {partition: (beginning.get(partition, 0), end) for partition, end in position.items()}
