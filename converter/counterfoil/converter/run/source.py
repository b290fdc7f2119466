"""The start of the query: a topic, committed records only, every partition in one task."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name that all of Spark's documentation uses

from counterfoil.converter.kafka.headers import SOURCE

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


def read_stream(spark: SparkSession, *, bootstrap_servers: str, topic: str, max_offsets_per_trigger: int) -> DataFrame:
    """Return the records of ``topic`` from the beginning, or from the checkpoint's position, with ``RECORD_COLUMNS``.

    Neither ``minPartitions`` nor ``maxRecordsPerPartition`` is ever set: both split a partition among several tasks,
    which loses its order. Offsets that retention has already deleted end the query.
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
    """Return a condition on ``headers``: the record was on the topic ``target`` before.

    Two bridges in opposite directions would otherwise copy a record back and forth for ever; ``bridge.src`` has its
    origins.
    """
    prefix = F.lit(f"{target}/".encode())
    came_from_target = F.exists(
        "headers", lambda header: (header["key"] == SOURCE) & F.startswith(header["value"], prefix)
    )
    is_marked = F.array_contains(F.col("headers")["key"], SOURCE)
    return F.coalesce(is_marked & came_from_target, F.lit(False))  # noqa: FBT003 - a literal of the query
