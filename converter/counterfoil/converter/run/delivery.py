"""The query's start and its sinks: how records are read, and how converted ones and dead letters reach Kafka."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final, Protocol

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that all of Spark's documentation uses

from counterfoil.converter.engines.java.generator import JavaSource, add_classes, load_first, packaged
from counterfoil.converter.engines.java.source import block, quoted
from counterfoil.converter.engines.protocol import CONVERTED_KEY
from counterfoil.converter.errors import RunFailed
from counterfoil.converter.kafka import origins as headers
from counterfoil.converter.kafka.origins import OffsetSet, group_of, written_by
from counterfoil.converter.run import progress, transactions
from counterfoil.converter.run.transactions import KafkaTransactions, Outgoing, TransactionFailure, WrittenRecords
from counterfoil.schema.plans.bridge import BridgeFile, DeliveryGuarantee, Partitioning, Timestamps
from counterfoil.schema.texts import counted

if TYPE_CHECKING:
    from pyspark.sql.streaming import DataStreamWriter

    from counterfoil.converter.kafka.cluster import Cluster
    from counterfoil.converter.run.checkpoint import Checkpoint, CheckpointBatch


# The functions of ``Envelope.java`` in a Spark session: whether a record is an echo, and what is sent of it.
#
# They are functions of a catalog, as Spark's data sources may have them: compiled code calls them with Spark's own
# values, without making objects of Scala or boxed numbers of them.

_NAMES: Final = ("SOURCE", "PLAN", "VIA", "ERROR", "ERROR_FIELD", "ERROR_TEXT", "TOO_LARGE")
_SIZES: Final = ("RECORD_OVERHEAD_BYTES", "HEADER_OVERHEAD_BYTES", "OWN_HEADERS_BYTES")


def call_envelope(session: SparkSession, function: str, *arguments: Column) -> Column:
    """Return the result of a function of ``Envelope.java``; the session gets the functions at the first call."""
    from pyspark.sql.functions import call_function

    source = _envelope_source()
    catalog = source.package.replace(".", "_")
    add_classes(session, source)
    session.conf.set(f"spark.sql.catalog.{catalog}", f"{source.package}.Functions")
    return call_function(f"{catalog}.{function}", *arguments)


@cache
def _envelope_source() -> JavaSource:
    written = (files("counterfoil.converter.run") / "Envelope.java").read_text(encoding="utf-8")
    names = [f"static final String {name} = {quoted(getattr(headers, name))};" for name in _NAMES]
    sizes = [f"static final int {name} = {getattr(headers, name)};" for name in _SIZES]
    parts = [written, *block("final class Names", names), *block("final class Sizes", sizes)]
    return packaged("envelope", "\n".join(parts), "Functions")


def run_sources(file: BridgeFile) -> tuple[JavaSource, ...]:
    """Return the classes that the query of a bridge has besides those of its engine."""
    envelope = _envelope_source()
    return (envelope, _transactions_source()) if file.delivery is DeliveryGuarantee.EXACTLY_ONCE else (envelope,)


# The start of the query: a topic, committed records only, every partition in one task.


def read_stream(
    spark: SparkSession, kafka: Mapping[str, str], *, topic: str, max_offsets_per_trigger: int
) -> DataFrame:
    """Return the records of ``topic`` from the beginning, or from the checkpoint's position, with ``RECORD_COLUMNS``.

    ``kafka`` are the options with which Spark reaches the cluster.

    Neither ``minPartitions`` nor ``maxRecordsPerPartition`` is ever set: both split a partition among several tasks,
    which loses its order. Offsets that retention has already deleted end the query.
    """
    reader = spark.readStream.format("kafka").options(
        **{
            **kafka,
            "kafka.isolation.level": "read_committed",
            "subscribe": topic,
            "startingOffsets": "earliest",
            "includeHeaders": "true",
            "failOnDataLoss": "true",
            "maxOffsetsPerTrigger": str(max_offsets_per_trigger),
        }
    )
    return reader.load()


def echoes(session: SparkSession, target: str) -> Column:
    """Return a condition on ``headers``: the record was on the topic ``target`` before.

    Two bridges in opposite directions would otherwise copy a record back and forth for ever; ``bridge.src`` has its
    origins.
    """
    return call_envelope(session, "is_echo", F.col("headers"), F.lit(f"{target}/".encode()))


# The end of the query: one Kafka write of converted records and dead letters, each to its topic.


@dataclass(frozen=True, slots=True)
class Destination:
    """The topics that are written, and the headers to add. ``max_message_bytes`` is the target topic's."""

    bridge: str
    plan_hash: str
    target_topic: str
    dead_letter_topic: str
    partitioning: Partitioning
    timestamps: Timestamps
    max_message_bytes: int


def outgoing(converted: DataFrame, destination: Destination, *, origin: Mapping[str, Column]) -> DataFrame:
    """Return the columns of Spark's Kafka sink: topic, partition, key, value, headers; then those of ``origin``.

    Beside them are two columns for the counts, which the sink does not read: ``progress.PROBLEM_CODE``, the code of a
    dead letter, and ``progress.VALUE_BYTES``, the size of the value, null for a tombstone.

    A dead letter has the original's key, value and headers unchanged. A record for which an engine returned neither a
    value nor a failure ends the query instead of becoming a tombstone.
    """
    key, is_dead = _key(converted), F.col("_sent.code").isNotNull()
    sent = converted.withColumn("_sent", _sent(converted.sparkSession, destination, key=key))
    number = F.col("partition").cast("int")
    return sent.select(
        F.col("_sent.topic").alias("topic"),
        (number if destination.partitioning is Partitioning.SAME else F.when(is_dead, number)).alias("partition"),
        F.when(is_dead, F.col("key")).otherwise(F.col(key)).alias("key") if key != "key" else F.col(key),
        F.col("_sent.value").alias("value"),
        F.col("_sent.headers").alias("headers"),
        F.col("_sent.code").alias(progress.PROBLEM_CODE),
        F.col("_sent.bytes").alias(progress.VALUE_BYTES),
        *(column.alias(name) for name, column in origin.items()),
    )


def _key(converted: DataFrame) -> str:
    """Return the column with the keys of converted records."""
    return CONVERTED_KEY if CONVERTED_KEY in converted.columns else "key"


def _sent(session: SparkSession, destination: Destination, *, key: str) -> Column:
    """Return topic, value, headers, code and size of a record, as ``Outgoing`` in ``Envelope.java`` makes them."""
    columns = ("converted", "failure", key, "value", "headers", "topic", "partition", "offset", "timestamp")
    return call_envelope(
        session,
        "outgoing",
        *map(F.col, columns),
        F.lit(destination.target_topic),
        F.lit(destination.dead_letter_topic),
        F.lit(destination.plan_hash[: headers.PLAN_DIGITS].encode()),
        F.lit(destination.bridge.encode()),
        F.lit(destination.timestamps is Timestamps.KEEP),
        F.lit(destination.max_message_bytes).cast("long"),
    )


def write_stream(
    records: DataFrame, kafka: Mapping[str, str], *, checkpoint: str, largest_request_bytes: int
) -> DataStreamWriter:
    """Return a writer of ``outgoing`` records: acknowledged by all replicas, idempotent, in order.

    ``kafka`` are the options with which Spark reaches the cluster.
    """
    return records.writeStream.format("kafka").options(
        **{
            **kafka,
            "kafka.acks": "all",
            "kafka.enable.idempotence": "true",
            "kafka.max.request.size": str(largest_request_bytes),
            "kafka.compression.type": "lz4",  # headers repeat in every record
            "kafka.linger.ms": "20",
            "kafka.batch.size": "131072",
            "includeHeaders": "true",
            "checkpointLocation": checkpoint,
        }
    )


# The restart filter: it finds the records of an unfinished batch that are already on the output topics.
#
# Spark replays a batch that it did not commit with the same offsets. Every record that a bridge writes names its
# origin, so the outputs are read from the time when the batch was planned, and the records found there are left out of
# the replay. Each offset is looked up separately: a record counts as written only when it was found, so that no record
# is lost when a producer's later request succeeded and an earlier one did not.

CLOCK_SKEW_MS: Final = 60_000
"""How far the clocks of driver, executors and brokers may differ; the outputs are read from that much earlier."""

_RANGES: Final = 64
"""The number of the longest runs that are compared as ranges; other offsets are in a hash set."""


def written_of(
    batch: CheckpointBatch, cluster: Cluster, *, bridge: str, source_topic: str, outputs: Iterable[str]
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


# The transactions of a run: Spark's tasks write their records in Java, as ``Transactions.java`` describes.
#
# Each task has the records of one source partition, in order; if it has those of several, they are written one
# partition after the other.

COLUMNS: Final = Outgoing._fields
"""The columns of the data frame that is written."""


def write_records(records: DataFrame, task: KafkaTransactions, kafka: Mapping[str, str]) -> list[WrittenRecords]:
    """Write the records of a data frame that has ``COLUMNS``, and return what became of those of each source partition.

    ``kafka`` are settings of Kafka's producer in Java. The tasks end at the first failure.
    """
    session, source = records.sparkSession, _transactions_source()
    add_classes(session, source)
    settings = session._jvm.java.util.HashMap()  # noqa: SLF001 - the way to Java that PySpark itself takes
    settings.putAll(dict(kafka))
    limits = (task.timeout_ms, round(task.deadline_s * 1000))
    writer = load_first(session, source, settings, task.bridge, group_of(task.bridge), task.source_topic, *limits)
    rows: Any = records.select(*COLUMNS)._jdf.queryExecution().toRdd().toJavaRDD()  # noqa: SLF001 - the way to Java that PySpark itself takes
    return [_written(task, each) for each in rows.mapPartitions(writer).collect()]


def _written(task: KafkaTransactions, result: Any) -> WrittenRecords:
    partition, count = int(result["partition"]), int(result["written"])
    skipped = {str(kind): int(result["skipped"][kind]) for kind in result["skipped"]}
    if "failure" not in result:
        return WrittenRecords(partition, count, skipped, None)
    failure = TransactionFailure(bool(result["fenced"]), float(result["open_s"]), str(result["failure"]))
    return WrittenRecords(partition, count, skipped, task.explained(failure, partition=partition, written=count))


@cache
def _transactions_source() -> JavaSource:
    written = (files("counterfoil.converter.run") / "Transactions.java").read_text(encoding="utf-8")
    names = [
        f"static final String {name} = {quoted(getattr(transactions, name))};"
        for name in ("TRANSACTIONAL_ID", "CONVERTED", "TOMBSTONE")
    ]
    limits = [
        f"static final int RECORDS = {transactions.RECORDS};",
        f"static final long LONGEST_NS = {round(transactions.LONGEST_S * 1e9)}L;",
    ]
    columns = [f"static final int {name.upper()} = {place};" for place, name in enumerate(COLUMNS)]
    parts = [written, *block("final class Names", [*names, *limits]), *block("final class Column", columns)]
    return packaged("transactions", "\n".join(parts), "TransactionalWriter")


# How converted records and dead letters reach Kafka: the sinks, one for each way of ``delivery`` in a bridge file.

_REQUEST_ROOM_BYTES: Final = 1 << 16


class Sink(Protocol):
    """One way to write the records of a run."""

    @property
    def failure(self) -> str | None:
        """Why writing failed, if it did and the sink knows more about it than Spark."""

    def skipped_in(self, batch_id: int) -> Counter[str]:
        """Return how many records of a batch reached the sink and were on the outputs already, by kind."""

    def written_before(self, batch: CheckpointBatch | None) -> Mapping[int, OffsetSet]:
        """Return the source offsets from the run's position on whose records are on the outputs, by partition.

        ``batch`` is the unfinished batch of an earlier run, if there is one.
        """

    def origin(self, destination: Destination) -> Mapping[str, Column]:
        """Return the columns about a record's original that the sink needs besides those of ``sink.outgoing``."""

    def writer(self, records: DataFrame) -> DataStreamWriter:
        """Return a writer of ``sink.outgoing`` records; its trigger and name are still to be set."""


def make_sink(file: BridgeFile, cluster: Cluster, checkpoint: Checkpoint, *, say: Callable[[str], None]) -> Sink:
    """Return the sink for ``delivery`` in a bridge file."""
    if file.delivery is DeliveryGuarantee.EXACTLY_ONCE:
        return TransactionalSink(file, cluster, checkpoint, say)
    return SparkSink(file, cluster, checkpoint)


class SparkSink:
    """Spark's own Kafka sink; with ``delivery: restart-filter`` an interrupted batch is completed, not repeated."""

    failure = None

    def __init__(self, file: BridgeFile, cluster: Cluster, checkpoint: Checkpoint) -> None:
        self._file = file
        self._cluster = cluster
        self._checkpoint = checkpoint

    def skipped_in(self, _batch_id: int) -> Counter[str]:
        """Return nothing: what is on the outputs is left out before the sink."""
        return Counter()

    def written_before(self, batch: CheckpointBatch | None) -> Mapping[int, OffsetSet]:
        """Return the offsets of the unfinished batch that are found on the outputs."""
        if batch is None or self._file.delivery is DeliveryGuarantee.AT_LEAST_ONCE:
            return {}
        return _found_on_outputs(self._file, self._cluster, batch)

    def origin(self, _destination: Destination) -> Mapping[str, Column]:
        """Return no columns."""
        return {}

    def writer(self, records: DataFrame) -> DataStreamWriter:
        """Return a writer to Spark's Kafka sink."""
        return write_stream(
            records,
            self._cluster.spark_options(),
            checkpoint=self._checkpoint.location,
            largest_request_bytes=_largest_message_bytes(self._file, self._cluster) + _REQUEST_ROOM_BYTES,
        )


class TransactionalSink:
    """Transactional producers in the tasks of Spark (:mod:`counterfoil.converter.run.transactions`)."""

    def __init__(self, file: BridgeFile, cluster: Cluster, checkpoint: Checkpoint, say: Callable[[str], None]) -> None:
        self.failure: str | None = None
        self._file = file
        self._cluster = cluster
        self._checkpoint = checkpoint
        self._say = say
        self._kafka: Mapping[str, str] = {}
        self._skipped_by_batch: dict[int, Counter[str]] = {}

    def skipped_in(self, batch_id: int) -> Counter[str]:
        """Return how many records another driver had committed meanwhile; the counts of a batch are returned once."""
        return self._skipped_by_batch.pop(batch_id, Counter())

    def written_before(self, batch: CheckpointBatch | None) -> Mapping[int, OffsetSet]:
        """Return the offsets from the checkpoint's position to the committed ones.

        Of a partition without a committed offset (Kafka removes those of a group that is not used for a week), the
        offsets of the unfinished batch are those that are found on the outputs.
        """
        topic = self._file.source_topic
        committed = self._cluster.committed(group_of(self._file.name), topic)
        written = {}
        if batch is not None and batch.range_by_partition.keys() - committed.keys():
            written = _found_on_outputs(self._file, self._cluster, batch)
        begins = {partition: first for partition, (first, _) in self._cluster.watermarks(topic).items()}
        begins |= self._checkpoint.position(topic) or {}
        for partition, end in committed.items():
            written[partition] = OffsetSet.interval(begins.get(partition, 0), end - 1)
        return {partition: offsets for partition, offsets in written.items() if len(offsets)}

    def origin(self, destination: Destination) -> Mapping[str, Column]:
        """Return the position of a record's original, and the timestamp that the new record gets; 0: the present."""
        kept = F.unix_millis("timestamp") if destination.timestamps is Timestamps.KEEP else F.lit(0)
        return {
            "source_partition": F.col("partition").cast("int"),
            "source_offset": F.col("offset"),
            "timestamp_ms": kept.cast("long"),
        }

    def writer(self, records: DataFrame) -> DataStreamWriter:
        """Return a writer that calls ``_write`` for each batch."""
        self._kafka = {
            **self._cluster.java_settings,
            "max.request.size": str(_largest_message_bytes(self._file, self._cluster) + _REQUEST_ROOM_BYTES),
        }
        return records.writeStream.option("checkpointLocation", self._checkpoint.location).foreachBatch(self._write)

    def _write(self, records: DataFrame, batch_id: int) -> None:
        """Write one batch; raise ``RunFailed`` if a task could not."""
        task = KafkaTransactions(self._file.name, self._file.source_topic)
        results = write_records(records, task, self._kafka)
        skipped = Counter[str]()
        for each in results:
            skipped.update(each.skipped)
        if skipped:
            self._skipped_by_batch[batch_id] = skipped
            count = counted(skipped.total(), "record was", "records were", spec=",")
            self._say(f"{count} committed before, by another driver or an earlier attempt of a task, and left out")
        self.failure = next((each.failure for each in results if each.failure), None)
        if self.failure is not None:
            raise RunFailed(self.failure)


def client_settings(file: BridgeFile, cluster: Cluster) -> dict[str, Any]:
    """Return the settings of a producer of confluent-kafka that writes to the outputs of a bridge."""
    largest = _largest_message_bytes(file, cluster) + _REQUEST_ROOM_BYTES
    return {**cluster.client_settings, "message.max.bytes": largest}


def _found_on_outputs(file: BridgeFile, cluster: Cluster, batch: CheckpointBatch) -> dict[int, OffsetSet]:
    outputs = (file.target_topic, file.dead_letter_topic)
    return written_of(batch, cluster, bridge=file.name, source_topic=file.source_topic, outputs=outputs)


def _largest_message_bytes(file: BridgeFile, cluster: Cluster) -> int:
    topics = (file.target_topic, file.dead_letter_topic)
    return max(int(cluster.settings(topic)["max.message.bytes"]) for topic in topics)
