"""The run of a bridge: one query on one checkpoint, from start or restart to its end, with Spark's reports."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Final

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that all of Spark's documentation uses

from counterfoil.converter.engines.protocol import Engine
from counterfoil.converter.errors import JavaEnded, RunFailed
from counterfoil.converter.kafka.origins import TOO_LARGE, OffsetSet
from counterfoil.converter.run import delivery, progress
from counterfoil.converter.run.checkpoint import Checkpoint, CheckpointBatch, CheckpointIdentity
from counterfoil.converter.run.checkpoint_files import written_as_needed
from counterfoil.converter.run.delivery import Sink, make_sink, repeat_condition
from counterfoil.converter.run.progress import Listener, RunSnapshot, RunState, Watch, job_name, now_ms
from counterfoil.converter.spark.java import java_watched
from counterfoil.converter.spark.session import connectors_explained
from counterfoil.schema.datum import Json, JsonObject
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.schema.plans import FailureCode
from counterfoil.schema.plans.bridge import DeliveryGuarantee

if TYPE_CHECKING:
    from pyspark.sql.streaming import StreamingQuery

    from counterfoil.converter.bridge import ResolvedBridge
    from counterfoil.converter.kafka.cluster import Cluster
    from counterfoil.converter.run.writers import WriterService


# Which disk is full, where an error says only that one is.

_SIGNS: Final = ("No space left on device", "Disk quota exceeded", "not enough space on the disk")
_FEWEST_BYTES: Final = 1 << 20
"""With less than this the disk is called full."""


def with_full_disk(cause: str, checkpoint: Path, others: Iterable[Path] | None = None) -> str:
    """Return the cause of a failed query; of a disk that is full also the path, and what is written there.

    ``others`` are the folders in which Spark keeps data while it works; None: those of this program.
    """
    if not any(sign in cause for sign in _SIGNS):
        return cause
    places = {
        checkpoint: "the checkpoint",
        **dict.fromkeys(_working_folders() if others is None else others, "Spark's work"),
    }
    full = [f"{folder} ({what})" for folder, what in places.items() if _is_full(folder)]
    if full:
        return f"{cause}: the disk of {' and of '.join(full)} is full"
    shown = " and ".join(f"{folder} ({what})" for folder, what in places.items())
    return f"{cause}: a disk was full; this program writes to {shown}"


def _working_folders() -> list[Path]:
    named = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")
    return [Path(each) for each in named if each] or [Path(tempfile.gettempdir())]


def _is_full(folder: Path) -> bool:
    try:
        return shutil.disk_usage(folder).free < _FEWEST_BYTES
    except OSError:
        return False


# Spark's reports about the batches of a query, each read once.


class QueryReports:
    """The reports of ``query`` that have not been read yet.

    Spark keeps the last hundred. PySpark's ``recentProgress`` makes Python objects of all of them at each call, which
    takes about sixty calls of Java for each; this class asks Java for the new ones alone, as JSON.
    """

    def __init__(self, query: StreamingQuery) -> None:
        self._java: Json = query._jsq  # noqa: SLF001 - the way to Java that PySpark itself takes
        self._newest = ""

    def new(self) -> list[JsonObject]:
        """Return what Spark has reported since the last call, oldest first."""
        last = self._java.lastProgress()
        if last is None or last.timestamp() == self._newest:
            return []
        kept, found = self._java.recentProgress(), list[JsonObject]()
        for place in reversed(range(len(kept))):
            if kept[place].timestamp() == self._newest:
                break
            found.append(json.loads(kept[place].json()))
        if found:
            self._newest = found[0]["timestamp"]
        return found[::-1]


def report_of_last_batch(query: StreamingQuery, batch: CheckpointBatch) -> JsonObject:
    """Return the report of ``batch``, the last one of ``query``, made from its execution, if Spark made none.

    It has what a bridge reads of a report: the batch's number, its records, the observed metrics and the offsets after
    it. The duration is not known.
    """
    java: Json = query._jsq  # noqa: SLF001 - only Java keeps the execution
    execution = java.streamingQuery().lastExecution()
    leaves, metrics = execution.executedPlan().collectLeaves(), execution.observedMetrics()
    names = metrics.keys().toSeq()
    return {
        "batchId": batch.batch_id,
        "numInputRows": sum(_rows(leaves.apply(place)) for place in range(leaves.size())),
        "observedMetrics": {
            name: json.loads(metrics.apply(name).json()) for name in map(names.apply, range(names.size()))
        },
        "sources": [{"endOffset": {"source": {str(each): end for each, (_, end) in batch.range_by_partition.items()}}}],
    }


def _rows(leaf: Json) -> int:
    """Return how many rows a leaf of an executed plan has read."""
    return int(leaf.metrics().apply("numOutputRows").value())


# The run of a bridge: one query on one checkpoint, from start or restart to its end.
#
# After any end of a run - a signal, a kill, too many dead letters, the loss of a broker - the next start on the same
# checkpoint continues where it stopped: finished batches are committed, and of an unfinished one the restart filter
# leaves out the records that are already on the output topics (``run/delivery.py``).

_POLL_S: Final = 0.2
_FEWEST_FOR_A_RATE: Final = 100
_REPLAY_FAULT: Final = 'the return value of "scala.Option.get()" is null'
"""SPARK-55271: Spark 4.1 commits a replayed batch and then, instead of a report of it, ends with this message.

A second start continues after that batch.
"""


_NOTHING_LOST: Final = "nothing is lost, the next start continues from the last finished batch"
_INTERRUPTED: Final = (
    "Python worker exited unexpectedly",
    "InterruptedException",
    "Python worker failed to connect back",
)
"""What Spark says of a query whose processes a signal has ended."""

_MISSING_MODULE: Final = re.compile(r"ModuleNotFoundError: No module named '(\w+)")
"""What Spark says of executors whose Python lacks a package."""

_CODES: Final = sorted([*FailureCode, TOO_LARGE])
"""Every reason for a dead letter."""


@dataclass(frozen=True)
class RunSettings:
    """How a bridge runs. ``interval_s`` is the trigger's interval; None: convert the existing records, then end."""

    checkpoint: Checkpoint
    max_offsets_per_trigger: int = 500_000
    interval_s: float | None = None
    force: bool = False


@dataclass(frozen=True)
class RunOutcome:
    """The end of a run: the exit code, and a sentence."""

    exit_code: ExitCode
    text: str
    totals: progress.RunTotals


@dataclass
class BridgeRun:
    """One run of ``bridge`` through ``engine``.

    ``say`` is called with each line of output;
    setting ``stop`` ends the run after the current batch; ``on_batch`` is called with Spark's report of each batch, and
    ``listeners`` with the state of the run; ``is_replaced`` returns whether another driver has started later;
    ``writers`` decides about schema ids that ``bridge`` does not have.
    """

    bridge: ResolvedBridge
    engine: Engine
    cluster: Cluster
    settings: RunSettings
    say: Callable[[str], None]
    stop: Event
    on_batch: Callable[[Mapping[str, Json]], None] = lambda _report: None
    listeners: Sequence[Listener] = ()
    is_replaced: Callable[[], bool] = lambda: False
    writers: WriterService | None = None

    def run(self, spark: SparkSession) -> RunOutcome:
        """Run until the end, a signal, or too many dead letters; raise ``RunFailed`` if the query fails."""
        checkpoint = self.settings.checkpoint
        started = time.monotonic()
        with checkpoint.locked(), self.writers.serving(spark) if self.writers else nullcontext():
            checkpoint.claim(CheckpointIdentity.of(self.bridge), force=self.settings.force)
            self._progress.begin(checkpoint.position(self.bridge.file.source_topic) or {}, self._ends())
            try:
                code, ending = self._until_stopped(spark)
            except BaseException as failure:
                self._progress.end(RunState.FAILED, error=str(failure) or type(failure).__name__)
                raise
            state = RunState.FINISHED if ending == RunState.FINISHED else RunState.STOPPED
            self._progress.end(state, error="" if code is ExitCode.OK else ending)
        took_s = time.monotonic() - started
        totals = self._progress.totals
        return RunOutcome(code, progress.summary_line(totals, took_s=took_s, ending=ending), totals)

    def _until_stopped(self, spark: SparkSession) -> tuple[ExitCode, str]:
        """Run until the end; a stop was clean also if its signal has ended Java or a Python worker in a batch."""
        log_file = self.settings.checkpoint.log_file
        try:
            with java_watched(log_file), connectors_explained():
                return self._until_done(spark)
        except JavaEnded as ended:
            if not self.stop.is_set():
                raise RunFailed(
                    f"The query of bridge {self.bridge.file.name} ended: {ended}; {_NOTHING_LOST}"
                ) from None
        except RunFailed as failure:
            if not self.stop.is_set() or not any(sign in str(failure) for sign in _INTERRUPTED):
                raise
        return ExitCode.OK, "stopped on request within a batch, which the next start completes"

    @cached_property
    def _progress(self) -> Watch:
        state = RunSnapshot(
            bridge=self.bridge.file.name,
            plan_hash=self.bridge.plan.hash,
            engine=self.engine.name,
            job=job_name(),
            started_ts=now_ms(),
            ts=now_ms(),
        )
        return Watch(state, self._beginning(), _CODES, self.listeners, self.on_batch, self._sink.skipped_in)

    def _until_done(self, spark: SparkSession) -> tuple[ExitCode, str]:
        """Run the query; run it once more after the one failure of Spark that leaves a valid checkpoint."""
        replayed, query = self._unfinished_batch(), self._start(spark)
        try:
            return self._watch(query)
        except StreamingQueryException as failure:
            if replayed is None or self._unfinished_batch() is not None or _REPLAY_FAULT not in str(failure):
                raise RunFailed(self._why(failure)) from None
        _, is_broken = self._count([report_of_last_batch(query, replayed)])
        if is_broken:
            return self._broken()
        self.say("Spark stopped after the replayed batch, as version 4.1 does (SPARK-55271); starting it once more")
        try:
            return self._watch(self._start(spark))
        except StreamingQueryException as failure:
            raise RunFailed(self._why(failure)) from None

    def _start(self, spark: SparkSession) -> StreamingQuery:
        written = self._written_before()
        writer = self._sink.writer(self._outgoing(spark, written))
        writer = writer.queryName(f"bridge {self.bridge.file.name}")
        interval_s = self.settings.interval_s
        with written_as_needed(spark, self.settings.checkpoint.files):
            if interval_s is None:
                return writer.trigger(availableNow=True).start()
            return writer.trigger(processingTime=f"{round(interval_s * 1000)} milliseconds").start()

    @cached_property
    def _sink(self) -> Sink:
        return make_sink(self.bridge.file, self.cluster, self.settings.checkpoint, say=self.say)

    def _unfinished_batch(self) -> CheckpointBatch | None:
        return self.settings.checkpoint.unfinished_batch(self.bridge.file.source_topic)

    def _written_before(self) -> Mapping[int, OffsetSet]:
        """Return the offsets that are to be read and whose records are on the outputs already."""
        batch = self._unfinished_batch()
        written = self._sink.written_before(batch)
        already = sum(len(offsets) for offsets in written.values())
        if batch is not None:
            planned = sum(end - first for first, end in batch.range_by_partition.values())
            found = (
                f"its {planned:,} offsets are converted and written again (delivery: at-least-once)"
                if self.bridge.file.delivery is DeliveryGuarantee.AT_LEAST_ONCE
                else f"{already:,} of its {planned:,} offsets are written already and are left out"
            )
            self.say(f"batch {batch.batch_id} was left unfinished: {found}")
        elif already:
            self.say(f"{already:,} offsets after the checkpoint's position are written already and are left out")
        return written

    def _outgoing(self, spark: SparkSession, written: Mapping[int, OffsetSet]) -> DataFrame:
        """Return the query up to the sink: source, echo and restart filter, engine, verdict, columns of the sink."""
        file = self.bridge.file
        records = delivery.read_stream(
            spark,
            self.cluster.spark_options(),
            topic=file.source_topic,
            max_offsets_per_trigger=self.settings.max_offsets_per_trigger,
        )
        is_echo, is_repeat = delivery.echoes(spark, file.target_topic), F.expr(repeat_condition(written))
        if written:
            records = progress.observe_repeats(records, is_repeat).where(~is_repeat)
        converted = self.engine.convert(records.where(~is_echo))
        destination = self._destination()
        outgoing = delivery.outgoing(converted, destination, origin=self._sink.origin(destination))
        return progress.observe_written(outgoing, codes=_CODES)

    def _destination(self) -> delivery.Destination:
        file = self.bridge.file
        return delivery.Destination(
            bridge=file.name,
            plan_hash=self.bridge.plan.hash,
            target_topic=file.target_topic,
            dead_letter_topic=file.dead_letter_topic,
            partitioning=file.partitioning,
            timestamps=file.timestamps,
            max_message_bytes=int(self.cluster.settings(file.target_topic)["max.message.bytes"]),
        )

    def _watch(self, query: StreamingQuery) -> tuple[ExitCode, str]:
        """Wait for the end of the query, and return the reason of the end."""
        reports = QueryReports(query)
        try:
            while True:
                is_over = self._is_over(query, reports)
                news, is_broken = self._count(reports.new())
                if is_broken:
                    query.stop()
                    return self._broken()
                if is_over:
                    return ExitCode.OK, RunState.FINISHED
                if self.settings.checkpoint.is_lost:
                    query.stop()
                    return ExitCode.CONFLICT, "stopped: another driver uses the checkpoint, or it could not be written"
                if self.is_replaced():
                    query.stop()
                    return ExitCode.CONFLICT, "stopped: another driver runs this bridge since a later time"
                if self.stop.is_set() and (news or not query.status["isTriggerActive"]):
                    query.stop()
                    return ExitCode.OK, "stopped on request"
        finally:
            if query.isActive:
                query.stop()

    def _is_over(self, query: StreamingQuery, reports: QueryReports) -> bool:
        """Wait a moment for the end of the query, and return whether it came.

        If it failed, the batches that were finished before are counted, since the next query does not report them.
        """
        try:
            return bool(query.awaitTermination(_POLL_S))
        except StreamingQueryException:
            self._count(reports.new())
            raise

    def _count(self, reports: Iterable[Mapping[str, object]]) -> tuple[bool, bool]:
        """Count batches; return whether there were any, and whether dead letters were above the limit after any."""
        found = [(self._progress.take([report]), self._too_many()) for report in reports]
        return any(news for news, _ in found), any(is_broken for _, is_broken in found)

    def _broken(self) -> tuple[ExitCode, str]:
        return ExitCode.BROKEN, f"stopped: more dead letters than {self.bridge.file.stop_above}"

    def _too_many(self) -> bool:
        """Return whether dead letters are above the limit.

        A rate is compared after a minimum of records, or at the end.
        """
        limit, totals = self.bridge.file.stop_above, self._progress.totals
        if limit.count is None and totals.written < _FEWEST_FOR_A_RATE and self.settings.interval_s is not None:
            return False
        return limit.is_exceeded(dead_letters=totals.dead_letters, records=totals.written)

    def _ends(self) -> dict[int, int]:
        marks = self.cluster.watermarks(self.bridge.file.source_topic)
        return {partition: end for partition, (_, end) in marks.items()}

    def _beginning(self) -> dict[int, int]:
        topic = self.bridge.file.source_topic
        known = self.settings.checkpoint.beginning(topic)
        return known or {partition: first for partition, (first, _) in self.cluster.watermarks(topic).items()}

    def _why(self, failure: Exception) -> str:
        """Return the innermost cause of a failed query, in one line."""
        lines = [line.strip() for line in str(failure).splitlines()]
        causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
        first = next((line for line in lines if line), type(failure).__name__)
        lacking = _MISSING_MODULE.search(str(failure))
        if lacking is not None:
            return (
                f"The query of bridge {self.bridge.file.name} ended: the Python of the executors has no module "
                f"{lacking[1]}, which the engine {self.engine.name} needs there; ship an environment with --conf "
                "spark.archives=FILE#NAME --conf spark.pyspark.python=./NAME/bin/python, or use --engine java; "
                f"{_NOTHING_LOST}"
            )
        known = self._sink.failure or (self.writers.failure if self.writers else None)
        cause = known or (causes[-1] if causes else first).partition(" SQLSTATE:")[0]
        log_file = self.settings.checkpoint.log_file
        return (
            f"The query of bridge {self.bridge.file.name} ended: {with_full_disk(cause, log_file.parent)}; "
            f"{_NOTHING_LOST} (details: {log_file})"
        )
