"""The reading end of the query: a topic, committed records only, every partition in one task."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name that all of Spark's documentation uses

from counterfoil.converter.headers import SOURCE

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


def read_stream(spark: SparkSession, *, bootstrap_servers: str, topic: str, max_offsets_per_trigger: int) -> DataFrame:
    """Return the records of ``topic`` from the beginning, or from where the checkpoint stands, with ``RECORD_COLUMNS``.

    Neither ``minPartitions`` nor ``maxRecordsPerPartition`` is ever set: both give a partition to several tasks, and
    with that up its order. Offsets that retention has overtaken end the query.
    """
    reader = spark.readStream.format("kafka").options(
        **{
            "kafka.bootstrap.servers": bootstrap_servers,
            "kafka.isolation.level": "read_committed",
            "subscribe": topic,
            "startingOffsets": "earliest",
            "includeHeaders": "true",
            "failOnDataLoss": "true",
            "maxOffsetsPerTrigger": str(max_offsets_per_trigger),
        }
    )
    return reader.load()


def echoes(target: str) -> Column:
    """Return whether a record has been on the topic ``target`` before: a condition on ``headers``.

    Two bridges in opposite directions would carry a record to and fro for ever; ``bridge.src`` tells where it was.
    """
    prefix = F.lit(f"{target}/".encode())
    came_from_target = F.exists(
        "headers", lambda header: (header["key"] == SOURCE) & F.startswith(header["value"], prefix)
    )
    is_marked = F.array_contains(F.col("headers")["key"], SOURCE)
    return F.coalesce(is_marked & came_from_target, F.lit(False))  # noqa: FBT003 - a literal of the query
