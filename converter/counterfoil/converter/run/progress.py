"""The state of a run at one moment, as a value and as JSON, and the counts from Spark's reports of batches."""

from __future__ import annotations

import os
import socket
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from counterfoil.converter.run.transactions import CONVERTED, TOMBSTONE
from counterfoil.schema.datum import Json, JsonObject
from counterfoil.schema.rest.bridges import COUNTS, Progress
from counterfoil.schema.rest.object_forms import INTEGER, REQUIRED, Member, ObjectForm, ReplyJson, form_of, list_of
from counterfoil.schema.texts import counted

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


# The state of a run at one moment, as a value and as JSON: what is displayed, recorded, published and measured.


class RunState(StrEnum):
    """What a run does, or how it ended."""

    RUNNING = "running"
    FINISHED = "finished"
    """It has converted the records that were there at its start."""
    STOPPED = "stopped"
    """A person, a limit or another driver ended it."""
    FAILED = "failed"
    """The query ended by itself."""


@dataclass(frozen=True, slots=True)
class PartitionPosition:
    """The progress in one partition of the source, as offsets.

    ``begin`` is the first one that the bridge has read, ``position`` the next one to read, ``end`` the one after the
    last record.
    """

    partition: int
    begin: int
    position: int
    end: int

    @property
    def lag(self) -> int:
        """The number of offsets that are still to be read."""
        return max(0, self.end - self.position)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSnapshot:
    """The state of one run of a bridge; counts are of this run, and of records of the source.

    ``started_ts`` and ``ts`` are epoch milliseconds, ``error`` is the reason of an end that was not requested.
    ``batch`` is the number of the latest batch, -1 before the first; ``batch_s`` is how long it took.
    ``dead_letters`` are counts by code, ``written_bytes`` those of the values on both outputs. ``rate_per_s`` is
    that of the last minute, and at the end that of the whole run.
    """

    bridge: str
    plan_hash: str
    engine: str
    job: str
    started_ts: int
    ts: int
    state: RunState = RunState.RUNNING
    error: str = ""
    batch: int = -1
    batch_records: int = 0
    batch_s: float = 0.0
    batches: int = 0
    read: int = 0
    converted: int = 0
    tombstones: int = 0
    echoes: int = 0
    repeats: int = 0
    dead_letters: Mapping[str, int] = field(default_factory=dict)
    written_bytes: int = 0
    partitions: tuple[PartitionPosition, ...] = ()
    rate_per_s: float = 0.0

    @property
    def dead_letter_count(self) -> int:
        """How many records went to the dead-letter topic."""
        return sum(self.dead_letters.values())

    @property
    def done(self) -> int:
        """The number of offsets that the bridge has read since its beginning."""
        return sum(each.position - each.begin for each in self.partitions)

    @property
    def total(self) -> int:
        """The number of offsets that the bridge has read or still has to read."""
        return sum(each.end - each.begin for each in self.partitions)

    @property
    def lag(self) -> int:
        """The number of offsets that are still to be read."""
        return sum(each.lag for each in self.partitions)

    @property
    def eta_s(self) -> float | None:
        """The estimated time until nothing is left, in seconds; None if it cannot be estimated."""
        return self.lag / self.rate_per_s if self.lag and self.rate_per_s >= 1 else None


_PARTITION: Final = ObjectForm(
    PartitionPosition,
    tuple(Member(name, name, INTEGER, otherwise=REQUIRED) for name in ("partition", "begin", "position", "end")),
)
SNAPSHOT: Final = form_of(
    RunSnapshot,
    "bridge",
    "plan_hash",
    "engine",
    "job",
    "state",
    "error",
    "started_ts",
    "ts",
    "batch",
    "batch_records",
    "batch_s",
    "batches",
    "read",
    "converted",
    "tombstones",
    "echoes",
    "repeats",
    "dead_letters",
    "written_bytes",
    "partitions",
    "rate_per_s",
    types={"dead_letters": COUNTS, "partitions": list_of(_PARTITION)},
    otherwise={"state": REQUIRED},
    keeps_empty=True,
)
"""The JSON form; sums are added where people and scripts read it (:func:`snapshot_json`)."""


def snapshot_json(snapshot: RunSnapshot) -> dict[str, object]:
    """Return a snapshot as a JSON object, with what follows from its members."""
    return {**SNAPSHOT.write(snapshot), "total": snapshot.total, "lag": snapshot.lag, "etaS": snapshot.eta_s}


def read_snapshot(document: object) -> RunSnapshot:
    """Return the snapshot of a JSON object; raise ``UnexpectedShapeError`` if it is none."""
    return SNAPSHOT.read(ReplyJson(document, root="the progress of a run"))


# The counts of a run from Spark's progress reports, and the lines that are printed.

_READ: Final = "read"
_WRITTEN: Final = "written"
_OTHER: Final = "other"
_PARTITIONS_SHOWN: Final = 8
_BINS: Final = 1 << 20  # memory is used for those alone that have counts
PROBLEM_CODE: Final = "problem_code"
"""The column with the code of a dead letter, null for every other record."""
VALUE_BYTES: Final = "value_bytes"
"""The column with the size of the value, null for a tombstone."""


@dataclass(slots=True)
class RunTotals:
    """The counts of a run so far; each counts records of the source."""

    batches: int = 0
    read: int = 0
    echoes: int = 0
    repeats: int = 0
    converted: int = 0
    tombstones: int = 0
    dead_by_code: Counter[str] = field(default_factory=Counter)
    written_bytes: int = 0

    @property
    def dead_letters(self) -> int:
        """How many records went to the dead-letter topic."""
        return self.dead_by_code.total()

    @property
    def written(self) -> int:
        """How many records were written, to either topic."""
        return self.converted + self.tombstones + self.dead_letters

    def add(self, report: Mapping[str, Json], *, codes: Sequence[str]) -> None:
        """Count one batch, from Spark's report of it; ``codes`` are those that the query counted."""
        observed = report.get("observedMetrics") or {}
        written = observed.get(_WRITTEN) or {}
        rows, values = int(written.get("rows") or 0), int(written.get("values") or 0)
        repeats = int((observed.get(_READ) or {}).get("repeats") or 0)
        dead = _by_code(written, codes)
        self.batches += 1
        self.read += report["numInputRows"]
        self.repeats += repeats
        self.echoes += report["numInputRows"] - rows - repeats
        self.tombstones += rows - values
        self.converted += values - dead.total()
        self.dead_by_code += dead
        self.written_bytes += int(written.get("bytes") or 0)

    def leave_out(self, skipped: Counter[str]) -> None:
        """Count records as repeats that reached the sink and were written before, by their kind (``kind_of``)."""
        self.repeats += skipped.total()
        self.converted -= skipped[CONVERTED]
        self.tombstones -= skipped[TOMBSTONE]
        self.dead_by_code -= skipped


def _by_code(written: Mapping[str, Json], codes: Sequence[str]) -> Counter[str]:
    """Return counts by code from the bins of ``written_metrics``; codes that are not among ``codes`` are ``other``.

    Bins of several tasks stand side by side.
    """
    names = (_OTHER, *codes)
    counts = Counter[str]()
    for each in written.get("dead") or ():
        counts[names[round(each["x"])]] += round(each["y"])
    return counts


def observe_repeats(records: DataFrame, is_repeat: Column) -> DataFrame:
    """Return the records, with a count of those for which ``is_repeat`` is true."""
    from pyspark.sql import functions as F  # noqa: N812 - the name that all of Spark's documentation uses

    return records.observe(_READ, F.count_if(is_repeat).alias("repeats"))


def observe_written(outgoing: DataFrame, *, codes: Sequence[str]) -> DataFrame:
    """Return the outgoing records, with counts by outcome; ``codes`` are the reasons that are counted separately.

    They are counted behind everything else, where a row has no more than what is sent.
    """
    return outgoing.observe(_WRITTEN, *written_metrics(codes))


def written_metrics(codes: Sequence[str]) -> list[Column]:
    """Return the aggregates of ``observe_written``: records, values that are not null, bytes, dead letters by code.

    They are updated for every row, so there are few of them, and none reads the value, which would copy it. A histogram
    passes over rows without a code, and is exact while it has a bin for each code of each task (``_BINS``).
    """
    from pyspark.sql import functions as F  # noqa: N812 - the name that all of Spark's documentation uses

    known = F.array(*map(F.lit, codes))
    number = F.call_function("array_position", known, F.col(PROBLEM_CODE))  # 0: none; PySpark 3.5 takes no column else
    return [
        F.count(F.lit(1)).alias("rows"),
        F.count(VALUE_BYTES).alias("values"),
        F.sum(VALUE_BYTES).alias("bytes"),
        F.histogram_numeric(number, F.lit(_BINS)).alias("dead"),
    ]


def positions_after(report: Mapping[str, object]) -> dict[int, int]:
    """Return the next offset to read after a batch, by partition, from Spark's report of it."""
    return _by_partition(_source(report).get("endOffset"))


def latest_offsets(report: Mapping[str, object]) -> dict[int, int]:
    """Return the offset after the last record, by partition, when a batch was planned; empty if it is not reported."""
    return _by_partition(_source(report).get("latestOffset"))


def _source(report: Mapping[str, Json]) -> Mapping[str, Json]:
    found: Mapping[str, Json] = (report.get("sources") or [{}])[0]
    return found


def _by_partition(offsets: object) -> dict[int, int]:
    """Return the offsets of a one-topic source, from ``{"topic": {"0": 42}}``; empty when a report has none."""
    if not isinstance(offsets, dict) or not offsets:
        return {}
    only = next(iter(offsets.values()))
    return {int(partition): int(offset) for partition, offset in only.items()}


def progress_line(state: RunSnapshot) -> str:
    """Return one line about a run, for people."""
    share = 100 * state.done // state.total if state.total else 100
    parts = [f"{state.done:,} of {state.total:,} ({share}%)", f"{state.rate_per_s:,.0f}/s"]
    if state.eta_s is not None:
        parts.append(f"{duration(state.eta_s)} to go")
    parts += [lag_text(state), dead_letters_text(state.dead_letters)]
    parts += _oddities(state)
    return f"batch {state.batches}: {', '.join(parts)}"


def lag_text(state: RunSnapshot | Progress) -> str:
    """Return the lag in words, with that of each partition if several have one."""
    behind = [f"{each.partition}: {each.lag:,}" for each in state.partitions if each.lag]
    shown = [*behind[:_PARTITIONS_SHOWN], *(["..."] if len(behind) > _PARTITIONS_SHOWN else [])]
    return f"lag {state.lag:,}" + (f" ({', '.join(shown)})" if len(behind) > 1 else "")


def summary_line(totals: RunTotals, *, took_s: float, ending: str) -> str:
    """Return the last line of a run. ``ending`` is the reason of the end."""
    rate = totals.read / took_s if took_s > 0 else 0.0
    read = f"{counted(totals.read, 'record', spec=',')} in {counted(totals.batches, 'batch', 'batches', spec=',')}"
    parts = [read, f"{totals.converted:,} converted", dead_letters_text(totals.dead_by_code)]
    return f"{ending}: {', '.join([*parts, *_oddities(totals)])}, {duration(took_s)}, {rate:,.0f}/s"


def dead_letters_text(count_by_code: Mapping[str, int]) -> str:
    """Return counts by code in words."""
    by_code = ", ".join(f"{code} {count:,}" for code, count in sorted(count_by_code.items(), key=lambda item: -item[1]))
    return f"dead letters {sum(count_by_code.values()):,}" + (f" ({by_code})" if by_code else "")


def _oddities(counts: RunTotals | RunSnapshot) -> list[str]:
    found = {"tombstones": counts.tombstones, "echoes left out": counts.echoes}
    found["written before the restart"] = counts.repeats
    return [f"{name} {count:,}" for name, count in found.items() if count]


def duration(seconds: float) -> str:
    """Return a duration in words, such as ``2 h 5 min``, ``3 min 20 s`` or ``12 s``."""
    whole = round(seconds)
    hours, minutes, rest = whole // 3600, whole // 60 % 60, whole % 60
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


# The reports of Spark about its batches, turned into snapshots of the run for those who listen.

_WINDOW_S: Final = 60.0

Listener: TypeAlias = "Callable[[RunSnapshot], None]"
"""What is called with the state of a run at its start, after each batch and at its end; it must not block."""


class RateWindow:
    """The rate of the records of the last minute; before the first minute is over, and at the end, of all records."""

    def __init__(self, started_s: float) -> None:
        self._started_s = self._since_s = started_s
        self._all = 0
        self._batches: deque[tuple[float, int]] = deque()

    def rate_after(self, records: int, *, now_s: float) -> float:
        """Add the records of a batch that ended now, and return the rate per second."""
        self._all += records
        self._batches.append((now_s, records))
        while len(self._batches) > 1 and self._batches[0][0] < now_s - _WINDOW_S:
            self._since_s, _ = self._batches.popleft()
        return sum(count for _, count in self._batches) / max(now_s - self._since_s, 1e-3)

    def of_run(self, *, now_s: float) -> float:
        """Return the rate of all records since the start."""
        return self._all / max(now_s - self._started_s, 1e-3)


@dataclass
class Watch:
    """Counts the batches of one run, each once.

    ``state`` is the present snapshot. ``beginning`` are the offsets at which the bridge has begun, by partition;
    ``codes`` are the reasons that the query counts separately. ``skipped_in`` returns how many records of a batch the
    sink left out because they were written before, by kind.
    """

    state: RunSnapshot
    beginning: Mapping[int, int]
    codes: Sequence[str]
    listeners: Sequence[Listener] = ()
    on_batch: Callable[[Mapping[str, Json]], None] = lambda _report: None
    skipped_in: Callable[[int], Counter[str]] = lambda _batch: Counter()
    totals: RunTotals = field(default_factory=RunTotals)
    _rate: RateWindow = field(default_factory=lambda: RateWindow(time.monotonic()))
    _seen: int = -1

    def begin(self, positions: Mapping[int, int], ends: Mapping[int, int]) -> None:
        """Pass on the state before the first batch: the offsets at which it begins, and those after the last ones."""
        self._become(partitions=self._partitions({**self.beginning, **positions}, ends))

    def take(self, reports: Iterable[Mapping[str, Json]]) -> bool:
        """Count the reports of new batches, pass them on, and return whether there were any."""
        new = [report for report in reports if report["batchId"] > self._seen and report["numInputRows"] > 0]
        for report in new:
            self._seen = report["batchId"]
            self.totals.add(report, codes=self.codes)
            self.totals.leave_out(self.skipped_in(report["batchId"]))
            self.on_batch(report)
            self._after(report)
        return bool(new)

    def end(self, state: RunState, *, error: str = "") -> None:
        """Pass on how the run ended."""
        rate = self._rate.of_run(now_s=time.monotonic())
        self._become(state=state, error=error, rate_per_s=rate, **self._counts())

    def _after(self, report: Mapping[str, Json]) -> None:
        reached = {each.partition: each.position for each in self.state.partitions} | positions_after(report)
        ends = {each.partition: each.end for each in self.state.partitions}
        latest = latest_offsets(report)
        self._become(
            batch=report["batchId"],
            batch_records=report["numInputRows"],
            batch_s=float((report.get("durationMs") or {}).get("triggerExecution") or 0) / 1000,
            **self._counts(),
            partitions=self._partitions(
                reached, {each: max(ends.get(each, 0), latest.get(each, 0)) for each in reached}
            ),
            rate_per_s=self._rate.rate_after(report["numInputRows"], now_s=time.monotonic()),
        )

    def _counts(self) -> JsonObject:
        totals = self.totals
        return {
            "batches": totals.batches,
            "read": totals.read,
            "converted": totals.converted,
            "tombstones": totals.tombstones,
            "echoes": totals.echoes,
            "repeats": totals.repeats,
            "dead_letters": dict(totals.dead_by_code.most_common()),
            "written_bytes": totals.written_bytes,
        }

    def _become(self, **changes: Any) -> None:
        self.state = replace(self.state, ts=now_ms(), **changes)
        for listener in self.listeners:
            listener(self.state)

    def _partitions(self, reached: Mapping[int, int], ends: Mapping[int, int]) -> tuple[PartitionPosition, ...]:
        return tuple(
            PartitionPosition(
                partition, self.beginning.get(partition, 0), position, max(position, ends.get(partition, 0))
            )
            for partition, position in sorted(reached.items())
        )


def now_ms() -> int:
    """Return the time, in epoch milliseconds."""
    return time.time_ns() // 1_000_000


def job_name() -> str:
    """Return the name of this process in reports: host and process id."""
    return f"{socket.gethostname()}:{os.getpid()}"
