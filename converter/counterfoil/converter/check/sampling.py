"""A dry run: some records of the source, converted by the reference engine, and how fast an engine converts them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that all of Spark's documentation uses

from counterfoil.converter.engines.protocol import CONVERTED_KEY, RECORD_COLUMNS, Engine
from counterfoil.converter.engines.reference import Converted, KeyConverter
from counterfoil.converter.kafka import origins as headers
from counterfoil.converter.kafka.origins import Headers, too_large
from counterfoil.converter.run.progress import duration
from counterfoil.schema.datum import Json, JsonObject
from counterfoil.schema.sampling import Strategy, choose_offsets
from counterfoil.schema.texts import counted

if TYPE_CHECKING:
    from counterfoil.converter.kafka.cluster import Cluster


# A dry run: some records of the source, converted by the reference evaluator and by the engine, and compared.

_SCHEMA: Final = (
    "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, timestampType int, "
    "headers array<struct<key: string, value: binary>>"
)


@dataclass(frozen=True, slots=True)
class Sampled:
    """One record of the source."""

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: Headers = None


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes of values before and after the conversion, in bytes. ``limit`` is the target's largest record."""

    source_median: int
    source_max: int
    converted_median: int
    converted_max: int
    ratio: float
    limit: int | None

    def __str__(self) -> str:
        room = "" if self.limit is None else f"; the target takes {self.limit:,}"
        return (
            f"bytes of a value: {self.source_median:,} (median) to {self.source_max:,} (largest) on the source, "
            f"{self.converted_median:,} to {self.converted_max:,} converted{room}"
        )


@dataclass(slots=True)
class TrialReport:
    """The result of a dry run.

    ``failures`` counts by ``code`` and ``field``, each with an example of a record and its reason; ``disagreements``
    are records for which the engine and the reference evaluator returned different bytes or codes. ``sizes`` are the
    sizes of each converted value before and after; ``limit`` is the largest record of the target.
    """

    engine: str
    records: int = 0
    converted: int = 0
    tombstones: int = 0
    limit: int | None = None
    sizes: list[tuple[int, int]] = field(default_factory=list)
    failures: Counter[tuple[str, str]] = field(default_factory=Counter)
    examples: dict[tuple[str, str], str] = field(default_factory=dict)
    by_writer_id: Counter[int] = field(default_factory=Counter)
    disagreements: list[str] = field(default_factory=list)

    @property
    def bytes_in(self) -> int:
        """The bytes of all values that can be converted, before the conversion."""
        return sum(before for before, _ in self.sizes)

    @property
    def bytes_out(self) -> int:
        """The bytes of all converted values."""
        return sum(after for _, after in self.sizes)

    def growth(self) -> Sizes | None:
        """Return how sizes change; None if no value can be converted."""
        if not self.sizes:
            return None
        before, after = sorted(each for each, _ in self.sizes), sorted(each for _, each in self.sizes)
        middle = len(before) // 2
        ratio = round(self.bytes_out / self.bytes_in, 3)
        return Sizes(before[middle], before[-1], after[middle], after[-1], ratio, self.limit)

    def as_json(self) -> JsonObject:
        """Return the report as a JSON object."""
        failures = [
            {"code": code, "field": name, "count": count, "example": self.examples[code, name]}
            for (code, name), count in self.failures.most_common()
        ]
        growth = self.growth()
        return {
            "engine": self.engine,
            "records": self.records,
            "converted": self.converted,
            "tombstones": self.tombstones,
            "by_writer_id": {str(each): count for each, count in sorted(self.by_writer_id.items())},
            "disagreements": self.disagreements,
            "bytes_in": self.bytes_in,
            "bytes_out": self.bytes_out,
            "sizes": None if growth is None else asdict(growth),
            "failures": failures,
            "dead_letters": self.failures.total(),
        }

    def lines(self) -> list[str]:
        """Return the report as lines of text."""
        if not self.records:
            return ["no records to try"]
        growth = f"{self.bytes_out / self.bytes_in:.2f} times the size" if self.bytes_in and self.bytes_out else "empty"
        converted = f"{self.converted:,} converted ({growth})"
        dead = counted(self.failures.total(), "would be a dead letter", "would be dead letters", spec=",")
        tombstones = counted(self.tombstones, "tombstone", spec=",")
        shown = [f"{counted(self.records, 'record', spec=',')} tried: {converted}, {tombstones}, {dead}"]
        for (code, name), count in self.failures.most_common():
            where = f" at {name}" if name else ""
            shown.append(f"  {count:,} {code}{where}, for example {self.examples[code, name]}")
        sizes = self.growth()
        shown += [str(sizes)] if sizes is not None else []
        verdict = f"{self.engine} and reference agree" if not self.disagreements else f"{self.engine} DISAGREES:"
        return [*shown, verdict, *(f"  {each}" for each in self.disagreements)]


def sample(cluster: Cluster, topic: str, *, size: int, seed: int) -> Iterator[Sampled]:
    """Return about ``size`` records of ``topic``: the oldest, the newest, and some at random, of every partition."""
    offsets = choose_offsets(cluster.watermarks(topic), Strategy.SPREAD, limit=size, seed=seed)
    for message in cluster.sample(topic, offsets):
        yield Sampled(message.partition(), message.offset(), message.key(), message.value(), message.headers())


def try_out(
    records: Sequence[Sampled],
    frame: DataFrame,
    *,
    engine: Engine,
    reference: Callable[[bytes], Converted],
    max_message_bytes: int | None,
    keys: KeyConverter | None = None,
) -> TrialReport:
    """Convert ``records`` with the reference evaluator and, in their ``frame``, with the engine; return the comparison.

    A converted record that is larger than ``max_message_bytes`` would be a dead letter, too. ``keys`` is the reference
    evaluator of keys where they are converted.
    """
    report = TrialReport(engine=engine.name, limit=max_message_bytes)
    expected = [_expected(record, reference, keys) for record in records]
    for record, wanted in zip(records, expected, strict=True):
        _count(report, record, wanted)
    if records:
        given = _run(engine, frame)
        for record, wanted in zip(records, expected, strict=True):
            row = given.get((record.partition, record.offset))
            _compare(report, record, wanted, row)
            made = None if keys is None or row is None or wanted.failure is not None else keys(record.key)
            if made is not None:
                _compare_keys(report, record, made, row)
            if wanted.value is None:
                continue
            key = record.key if made is None else made.value
            problem = too_large(key, wanted.value, record.headers or (), largest=max_message_bytes)
            if problem is not None:
                report.converted -= 1
                _fail(report, record, headers.TOO_LARGE, "", problem)
    return report


def _expected(record: Sampled, reference: Callable[[bytes], Converted], keys: KeyConverter | None) -> Converted:
    if keys is not None and (key := keys(record.key)).failure is not None:
        return key
    return Converted() if record.value is None else reference(record.value)


def _count(report: TrialReport, record: Sampled, wanted: Converted) -> None:
    report.records += 1
    if record.value is None:
        report.tombstones += wanted.failure is None
    elif record.value[:1] == b"\x00":
        report.by_writer_id[int.from_bytes(record.value[1:5], "big")] += 1
    if record.value is not None and wanted.value is not None:
        report.converted += 1
        report.sizes.append((len(record.value), len(wanted.value)))
    if wanted.failure is not None:
        _fail(report, record, str(wanted.failure.code), wanted.failure.field, wanted.failure.text)


def _fail(report: TrialReport, record: Sampled, code: str, name: str, text: str) -> None:
    report.failures[code, name] += 1
    report.examples.setdefault((code, name), f"partition {record.partition} offset {record.offset}: {text}")


def _run(engine: Engine, frame: DataFrame) -> Mapping[tuple[int, int], Json]:
    """Return the engine's rows, by partition and offset."""
    converted = engine.convert(frame).drop("value", "headers", "timestamp")
    return {(row["partition"], row["offset"]): row for row in converted.collect()}


def frame_of(records: Sequence[Sampled], spark: SparkSession) -> DataFrame:
    """Return records as Spark's source has them."""
    rows = [(each.key, each.value, "sample", each.partition, each.offset, None, 0, each.headers) for each in records]
    return spark.createDataFrame(rows, _SCHEMA).select(*RECORD_COLUMNS)


def _compare(report: TrialReport, record: Sampled, wanted: Converted, row: Json) -> None:
    where = f"partition {record.partition} offset {record.offset}"
    if row is None:
        report.disagreements.append(f"{where}: no row came back")
        return
    value = None if row["converted"] is None else bytes(row["converted"])
    code = None if row["failure"] is None else row["failure"]["code"]
    wanted_code = None if wanted.failure is None else str(wanted.failure.code)
    if (value, code) != (wanted.value, wanted_code):
        found = code or ("nothing" if value is None else "other bytes")
        report.disagreements.append(f"{where}: {found} instead of {wanted_code or 'the reference value'}")


def _compare_keys(report: TrialReport, record: Sampled, wanted: Converted, row: Json) -> None:
    key = None if row[CONVERTED_KEY] is None else bytes(row[CONVERTED_KEY])
    if key != wanted.value:
        report.disagreements.append(f"partition {record.partition} offset {record.offset}: another key")


# How fast an engine converts the records of a sample on this machine, and what follows for the whole source.

_WARM_UP_RECORDS: Final = 20_000
_WANTED_S: Final = 2.0
_MOST_RECORDS: Final = 2_000_000


@dataclass(frozen=True, slots=True)
class Throughput:
    """The rate of an engine alone, without Kafka, measured with copies of the sample, and the size of the source.

    ``source_records`` is the number of offsets, of which some may have no record (compaction, transactions).
    """

    records_per_s: float
    measured_records: int
    measured_s: float
    tasks: int
    source_records: int

    @property
    def eta_s(self) -> float:
        """The time that the engine needs for the whole source, in seconds; a run takes at least as long."""
        return self.source_records / self.records_per_s

    def as_json(self) -> JsonObject:
        """Return the estimate as a JSON object."""
        return {
            "records_per_s": round(self.records_per_s, 1),
            "measured_records": self.measured_records,
            "measured_s": round(self.measured_s, 3),
            "tasks": self.tasks,
            "source_records": self.source_records,
            "eta_s": round(self.eta_s, 1),
        }

    def __str__(self) -> str:
        return (
            f"about {self.records_per_s:,.0f} records/s in {self.tasks} tasks, without reading and writing Kafka; "
            f"{self.source_records:,} in the source: at least {duration(self.eta_s)}"
        )


def measure(engine: Engine, sample: DataFrame, *, size: int, source_records: int) -> Throughput:
    """Return the throughput of ``engine`` for copies of ``sample``, which has ``size`` records.

    A first round compiles the conversion; its rate gives the number of copies of the round that is measured.
    """
    copies = max(1, _WARM_UP_RECORDS // size)
    wanted = round(copies * _WANTED_S / _seconds(engine, sample, copies))
    copies = max(copies, min(wanted, _MOST_RECORDS // size))
    took_s = _seconds(engine, sample, copies)
    records = copies * size
    tasks = sample.sparkSession.sparkContext.defaultParallelism
    return Throughput(records / took_s, records, took_s, min(tasks, copies), source_records)


def _seconds(engine: Engine, sample: DataFrame, copies: int) -> float:
    spark = sample.sparkSession
    numbers = spark.range(0, copies, 1, min(copies, spark.sparkContext.defaultParallelism))
    many = numbers.crossJoin(F.broadcast(sample)).select(*RECORD_COLUMNS)
    started = time.perf_counter()
    engine.convert(many).write.format("noop").mode("overwrite").save()
    return max(time.perf_counter() - started, 1e-3)
