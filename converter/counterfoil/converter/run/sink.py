"""The end of the query: one Kafka write of converted records and dead letters, each to its topic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name that all of Spark's documentation uses

from counterfoil.converter.engines.protocol import CONVERTED_KEY
from counterfoil.converter.kafka import headers
from counterfoil.converter.run import envelope, progress
from counterfoil.schema.bridges.model import Partitioning, Timestamps

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.streaming import DataStreamWriter


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
    return envelope.call(
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
