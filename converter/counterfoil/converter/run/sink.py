"""The end of the query: one Kafka write of converted records and dead letters, each to its topic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name that all of Spark's documentation uses

from counterfoil.converter.engines.protocol import CONVERTED_KEY
from counterfoil.converter.kafka import headers
from counterfoil.converter.run import dead_letter, progress
from counterfoil.schema.bridges.model import Partitioning, Timestamps

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyspark.sql import Column, DataFrame
    from pyspark.sql.streaming import DataStreamWriter

_IDS_IN_ADVANCE = 4  # each makes the compiled loop over the rows longer, and Java compiles it only up to a size
_NO_HEADERS = "CAST(array() AS array<struct<key: string, value: binary>>)"


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
    writer_ids: tuple[int, ...] = ()


def judge(converted: DataFrame, destination: Destination) -> DataFrame:
    """Return the engine's result with the column ``problem``: null for records that are written to the target."""
    return converted.withColumn("problem", dead_letter.problem(destination.max_message_bytes, key=_key(converted)))


def outgoing(judged: DataFrame, destination: Destination, *, origin: Mapping[str, Column]) -> DataFrame:
    """Return the columns of Spark's Kafka sink: topic, partition, key, value, headers; then those of ``origin``.

    Beside them, for the counts, is ``progress.PROBLEM_CODE``, the code of a dead letter, which the sink does not read.

    A dead letter has the original's key, value and headers unchanged. A record for which an engine returned neither a
    value nor a failure ends the query instead of becoming a tombstone.
    """
    is_dead = F.col("problem").isNotNull()
    number = F.col("partition").cast("int")
    partition = number if destination.partitioning is Partitioning.SAME else F.when(is_dead, number)
    headed = judged.withColumn(
        "_headers", F.concat(F.coalesce(F.col("headers"), F.expr(_NO_HEADERS)), _about(destination))
    )
    key = _key(judged)
    reason = F.array(*dead_letter.explanation())
    return headed.select(
        F.when(is_dead, F.lit(destination.dead_letter_topic)).otherwise(F.lit(destination.target_topic)).alias("topic"),
        partition.alias("partition"),
        F.when(is_dead, F.col("key")).otherwise(F.col(key)).alias("key") if key != "key" else F.col(key),
        F.when(is_dead, F.col("value")).otherwise(_converted()).alias("value"),
        F.when(is_dead, F.concat("_headers", reason)).otherwise(F.col("_headers")).alias("headers"),
        F.col("problem.code").alias(progress.PROBLEM_CODE),
        *(column.alias(name) for name, column in origin.items()),
    )


def _key(converted: DataFrame) -> str:
    """Return the column with the keys of converted records."""
    return CONVERTED_KEY if CONVERTED_KEY in converted.columns else "key"


def _converted() -> Column:
    unexplained = F.raise_error(
        F.concat(
            F.lit("no value and no reason for the record at partition "),
            F.col("partition").cast("string"),
            F.lit(" offset "),
            F.col("offset").cast("string"),
        )
    ).cast("binary")
    return F.when(F.col("value").isNull() | F.col("converted").isNotNull(), F.col("converted")).otherwise(unexplained)


def _about(destination: Destination) -> Column:
    """Return the headers that every record gets."""
    return F.array(
        dead_letter.header(headers.SOURCE, _origin(destination)),
        dead_letter.header(headers.PLAN, F.lit(destination.plan_hash[: headers.PLAN_DIGITS])),
        dead_letter.header(headers.VIA, F.lit(destination.bridge)),
    )


def _origin(destination: Destination) -> Column:
    """Return the text of ``bridge.src``; ``concat_ws`` leaves out the id where it is null."""
    keeps = destination.timestamps is Timestamps.KEEP
    return F.concat_ws(
        "/",
        F.col("topic"),
        F.col("partition").cast("string"),
        F.col("offset").cast("string"),
        F.unix_millis("timestamp").cast("string") if keeps else F.lit("-1"),
        F.when(F.startswith("value", F.lit(b"\x00")), _writer_id(destination.writer_ids)),
    )


def _writer_id(known: Iterable[int]) -> Column:
    """Return the id in the frame, in decimal; the texts of the newest known ids are made in advance."""
    framed = F.substring("value", 2, 4)
    spelt = F.conv(F.hex(framed), 16, 10)
    for each in sorted(known)[-_IDS_IN_ADVANCE:]:
        spelt = F.when(framed == F.lit(each.to_bytes(4, "big")), F.lit(str(each))).otherwise(spelt)
    return spelt


def write_stream(
    records: DataFrame, *, bootstrap_servers: str, checkpoint: str, largest_request_bytes: int
) -> DataStreamWriter:
    """Return a writer of ``outgoing`` records: acknowledged by all replicas, idempotent, in order."""
    return records.writeStream.format("kafka").options(
        **{
            "kafka.bootstrap.servers": bootstrap_servers,
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
