"""The start of the query: a topic, committed records only, every partition in one task."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name that all of Spark's documentation uses

from counterfoil.converter.run import envelope

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import Column, DataFrame, SparkSession


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
    return envelope.call(session, "is_echo", F.col("headers"), F.lit(f"{target}/".encode()))
