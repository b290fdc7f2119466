"""How converted records and dead letters reach Kafka: the sinks, one for each way of ``delivery`` in a bridge file."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Final, Protocol

from pyspark.sql import functions as F  # noqa: N812 - the name that all of Spark's documentation uses

from counterfoil.converter.errors import RunFailed
from counterfoil.converter.kafka.groups import group_of
from counterfoil.converter.kafka.offsets import OffsetSet
from counterfoil.converter.run import sink
from counterfoil.converter.run.restart import written_of
from counterfoil.converter.run.transactions import COLUMNS, RESULT_TYPE, WriteTask
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
            bootstrap_servers=self._cluster.bootstrap_servers,
            checkpoint=self._checkpoint.folder.as_uri(),
            largest_request_bytes=_largest_message_bytes(self._file, self._cluster) + _REQUEST_ROOM_BYTES,
        )


class TransactionalSink:
    """Transactional producers in the tasks of Spark, as :mod:`counterfoil.converter.run.transactions` describes."""

    def __init__(self, file: BridgeFile, cluster: Cluster, checkpoint: Checkpoint, say: Callable[[str], None]) -> None:
        self.failure: str | None = None
        self._file = file
        self._cluster = cluster
        self._checkpoint = checkpoint
        self._say = say
        self._task: WriteTask | None = None
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
        self._task = write_task(self._file, self._cluster, source_topic=self._file.source_topic)
        return records.writeStream.option("checkpointLocation", self._checkpoint.folder.as_uri()).foreachBatch(
            self._write
        )

    def _write(self, records: DataFrame, batch_id: int) -> None:
        """Write one batch; raise ``RunFailed`` if a task could not."""
        results = records.select(*COLUMNS).mapInArrow(self._task, RESULT_TYPE).collect()
        skipped = Counter[str]()
        for each in results:
            skipped.update(json.loads(each.skipped))
        if skipped:
            self._skipped_by_batch[batch_id] = skipped
            count = counted(skipped.total(), "record was", "records were", spec=",")
            self._say(f"{count} committed before, by another driver or an earlier attempt of a task, and left out")
        self.failure = next((each.failure for each in results if each.failure), None)
        if self.failure is not None:
            raise RunFailed(self.failure)


def write_task(file: BridgeFile, cluster: Cluster, *, source_topic: str) -> WriteTask:
    """Return what writes records of a topic, with its offsets, to the outputs of a bridge."""
    return WriteTask(
        client={
            "bootstrap.servers": cluster.bootstrap_servers,
            "message.max.bytes": _largest_message_bytes(file, cluster) + _REQUEST_ROOM_BYTES,
            "log_level": 0,
        },
        bridge=file.name,
        source_topic=source_topic,
    )


def _found_on_outputs(file: BridgeFile, cluster: Cluster, batch: Batch) -> dict[int, OffsetSet]:
    outputs = (file.target_topic, file.dead_letter_topic)
    return written_of(batch, cluster, bridge=file.name, source_topic=file.source_topic, outputs=outputs)


def _largest_message_bytes(file: BridgeFile, cluster: Cluster) -> int:
    topics = (file.target_topic, file.dead_letter_topic)
    return max(int(cluster.settings(topic)["max.message.bytes"]) for topic in topics)
