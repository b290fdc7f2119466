"""A dry run: some records of the source, converted by the reference evaluator and by the engine, and compared."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final

from counterfoil.converter.engines.protocol import CONVERTED_KEY, RECORD_COLUMNS
from counterfoil.converter.engines.record import Converted
from counterfoil.schema.counting import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from counterfoil.converter.engines.keyed import KeyConverter
    from counterfoil.converter.engines.protocol import Engine
    from counterfoil.converter.kafka.cluster import Cluster

_SPOTS: Final = 5
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


@dataclass(slots=True)
class TrialReport:
    """The result of a dry run.

    ``failures`` counts by ``code`` and ``field``, each with an example of a record and its reason; ``disagreements``
    are records for which the engine and the reference evaluator returned different bytes or codes.
    """

    engine: str
    records: int = 0
    converted: int = 0
    tombstones: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    failures: Counter[tuple[str, str]] = field(default_factory=Counter)
    examples: dict[tuple[str, str], str] = field(default_factory=dict)
    by_writer_id: Counter[int] = field(default_factory=Counter)
    disagreements: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """Return the report as a JSON object."""
        failures = [
            {"code": code, "field": name, "count": count, "example": self.examples[code, name]}
            for (code, name), count in self.failures.most_common()
        ]
        plain = {key: value for key, value in asdict(self).items() if key not in {"failures", "examples"}}
        return {**plain, "failures": failures, "dead_letters": self.failures.total()}

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
        verdict = f"{self.engine} and reference agree" if not self.disagreements else f"{self.engine} DISAGREES:"
        return [*shown, verdict, *(f"  {each}" for each in self.disagreements)]


def sample(cluster: Cluster, topic: str, *, size: int, seed: int) -> Iterator[Sampled]:
    """Return about ``size`` records of ``topic``: the oldest, the newest, and some at random, of every partition."""
    marks = {number: mark for number, mark in cluster.watermarks(topic).items() if mark[0] < mark[1]}
    if not marks:
        return
    chunk = max(1, size // (len(marks) * _SPOTS))
    chooser = random.Random(seed)  # noqa: S311 - a sample, not a secret
    starts = {number: _spots(first, end, chunk, chooser) for number, (first, end) in marks.items()}
    for turn in range(_SPOTS):
        ranges = {
            number: (spots[turn], _end_of(spots, turn, chunk, marks[number][1]))
            for number, spots in starts.items()
            if turn < len(spots)
        }
        for message in cluster.read(topic, ranges):
            yield Sampled(message.partition(), message.offset(), message.key(), message.value())


def _spots(first: int, end: int, chunk: int, chooser: random.Random) -> list[int]:
    """Return the offsets at which the chunks of a partition begin, ascending."""
    newest = max(first, end - chunk)
    return sorted({first, newest, *(chooser.randint(first, newest) for _ in range(_SPOTS - 2))})


def _end_of(spots: Sequence[int], turn: int, chunk: int, end: int) -> int:
    """Return the end of a chunk, which never overlaps the next one."""
    following = spots[turn + 1] if turn + 1 < len(spots) else end
    return min(spots[turn] + chunk, following, end)


def try_out(
    records: Iterable[Sampled],
    *,
    engine: Engine,
    reference: Callable[[bytes], Converted],
    spark: SparkSession,
    keys: KeyConverter | None = None,
) -> TrialReport:
    """Convert ``records`` with the reference evaluator and with the engine, and return the comparison.

    ``keys`` is the reference evaluator of keys where they are converted.
    """
    report = TrialReport(engine=engine.name)
    kept = list(records)
    expected = [_expected(record, reference, keys) for record in kept]
    for record, wanted in zip(kept, expected, strict=True):
        _count(report, record, wanted)
    if kept:
        given = _run(engine, kept, spark)
        for record, wanted in zip(kept, expected, strict=True):
            row = given.get((record.partition, record.offset))
            _compare(report, record, wanted, row)
            if keys is not None and row is not None and wanted.failure is None:
                _compare_keys(report, record, keys(record.key), row)
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
        report.bytes_in += len(record.value)
        report.bytes_out += len(wanted.value)
    if wanted.failure is not None:
        kind = (str(wanted.failure.code), wanted.failure.field)
        report.failures[kind] += 1
        report.examples.setdefault(kind, f"partition {record.partition} offset {record.offset}: {wanted.failure.text}")


def _run(engine: Engine, records: Sequence[Sampled], spark: SparkSession) -> Mapping[tuple[int, int], Any]:
    """Return the engine's rows, by partition and offset."""
    converted = engine.convert(_frame(records, spark)).drop("value", "headers", "timestamp")
    return {(row["partition"], row["offset"]): row for row in converted.collect()}


def _frame(records: Sequence[Sampled], spark: SparkSession) -> DataFrame:
    rows = [(each.key, each.value, "sample", each.partition, each.offset, None, 0, None) for each in records]
    return spark.createDataFrame(rows, _SCHEMA).select(*RECORD_COLUMNS)


def _compare(report: TrialReport, record: Sampled, wanted: Converted, row: Any) -> None:
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


def _compare_keys(report: TrialReport, record: Sampled, wanted: Converted, row: Any) -> None:
    key = None if row[CONVERTED_KEY] is None else bytes(row[CONVERTED_KEY])
    if key != wanted.value:
        report.disagreements.append(f"partition {record.partition} offset {record.offset}: another key")
