"""How converted records and dead letters reach Kafka: the sinks, one for each way of ``delivery`` in a bridge file."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final, Protocol

from pyspark.sql import functions as F  # noqa: N812 - the name that all of Spark's documentation uses

from counterfoil.converter.errors import RunFailed
from counterfoil.converter.kafka.groups import group_of
from counterfoil.converter.kafka.offsets import OffsetSet
from counterfoil.converter.run import sink
from counterfoil.converter.run.restart import written_of
from counterfoil.converter.run.task_transactions import write_records
from counterfoil.converter.run.transactions import Transactions
from counterfoil.schema.bridges.model import Delivery, Timestamps
from counterfoil.schema.counting import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import Column, DataFrame
    from pyspark.sql.streaming import DataStreamWriter

    from counterfoil.converter.kafka.cluster import Cluster
    from counterfoil.converter.run.checkpoint import Batch, Checkpoint
    from counterfoil.schema.bridges.model import BridgeFile

_REQUEST_ROOM_BYTES: Final = 1 << 16


class Sink(Protocol):
    """One way to write the records of a run."""

    @property
    def failure(self) -> str | None:
        """Why writing failed, if it did and the sink knows more about it than Spark."""

    def skipped_in(self, batch_id: int) -> Counter[str]:
        """Return how many records of a batch reached the sink and were on the outputs already, by kind."""

    def written_before(self, batch: Batch | None) -> Mapping[int, OffsetSet]:
        """Return the source offsets from the run's position on whose records are on the outputs, by partition.

        ``batch`` is the unfinished batch of an earlier run, if there is one.
        """

    def origin(self, destination: sink.Destination) -> Mapping[str, Column]:
        """Return the columns about a record's original that the sink needs besides those of ``sink.outgoing``."""

    def writer(self, records: DataFrame) -> DataStreamWriter:
        """Return a writer of ``sink.outgoing`` records; its trigger and name are still to be set."""


def make_sink(file: BridgeFile, cluster: Cluster, checkpoint: Checkpoint, *, say: Callable[[str], None]) -> Sink:
    """Return the sink for ``delivery`` in a bridge file."""
    if file.delivery is Delivery.EXACTLY_ONCE:
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

    def written_before(self, batch: Batch | None) -> Mapping[int, OffsetSet]:
        """Return the offsets of the unfinished batch that are found on the outputs."""
        if batch is None or self._file.delivery is Delivery.AT_LEAST_ONCE:
            return {}
        return _found_on_outputs(self._file, self._cluster, batch)

    def origin(self, _destination: sink.Destination) -> Mapping[str, Column]:
        """Return no columns."""
        return {}

    def writer(self, records: DataFrame) -> DataStreamWriter:
        """Return a writer to Spark's Kafka sink."""
        return sink.write_stream(
            records,
            self._cluster.spark_options(),
            checkpoint=self._checkpoint.folder.as_uri(),
            largest_request_bytes=_largest_message_bytes(self._file, self._cluster) + _REQUEST_ROOM_BYTES,
        )


class TransactionalSink:
    """Transactional producers in the tasks of Spark (:mod:`counterfoil.converter.run.task_transactions`)."""

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

    def written_before(self, batch: Batch | None) -> Mapping[int, OffsetSet]:
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

    def origin(self, destination: sink.Destination) -> Mapping[str, Column]:
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
        return records.writeStream.option("checkpointLocation", self._checkpoint.folder.as_uri()).foreachBatch(
            self._write
        )

    def _write(self, records: DataFrame, batch_id: int) -> None:
        """Write one batch; raise ``RunFailed`` if a task could not."""
        task = Transactions(self._file.name, self._file.source_topic)
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


def _found_on_outputs(file: BridgeFile, cluster: Cluster, batch: Batch) -> dict[int, OffsetSet]:
    outputs = (file.target_topic, file.dead_letter_topic)
    return written_of(batch, cluster, bridge=file.name, source_topic=file.source_topic, outputs=outputs)


def _largest_message_bytes(file: BridgeFile, cluster: Cluster) -> int:
    topics = (file.target_topic, file.dead_letter_topic)
    return max(int(cluster.settings(topic)["max.message.bytes"]) for topic in topics)
