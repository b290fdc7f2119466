"""The records of a topic in ranges of offsets, read by Spark: one task for each partition, which returns texts.

The same job serves sketches and the tests of contracts, which are found by entry point and bring their own work.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from counterfoil.converter.spark.start import short_session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from pyspark.sql import DataFrame, SparkSession

    Ranges = Mapping[int, tuple[int, int]]

COLUMNS: Final = ("partition", "offset", "timestamp", "timestampType", "key", "value", "headers")
"""The columns of the batches that work gets."""


def read_topic(spark: SparkSession, kafka: Mapping[str, str], topic: str, ranges: Ranges) -> DataFrame:
    """Return the committed records of a topic in ranges of offsets, with ``COLUMNS``.

    ``kafka`` are the options with which Spark reaches the cluster.
    """
    frame = spark.read.format("kafka").options(
        **{
            **kafka,
            "kafka.isolation.level": "read_committed",
            "assign": json.dumps({topic: sorted(ranges)}),
            "startingOffsets": _offsets(topic, ranges, 0),
            "endingOffsets": _offsets(topic, ranges, 1),
            "includeHeaders": "true",
            "failOnDataLoss": "true",
        }
    )
    return frame.load().select(*COLUMNS)


def texts_of(frame: DataFrame, work: Callable[[Iterator[Any]], Iterable[str]]) -> list[str]:
    """Return the texts that ``work`` makes of the Arrow batches of each partition."""

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        for text in work(batches):
            yield pa.RecordBatch.from_arrays([pa.array([text], pa.string())], names=["text"])

    return [row["text"] for row in frame.mapInArrow(run, "text string").collect()]


@contextmanager
def spark_scanner() -> Iterator[SparkScanner]:
    """Start Spark for a scan, and stop it at the end."""
    with short_session(master=None, jars=None, prefix="counterfoil-scan-") as spark:
        yield SparkScanner(spark)


class SparkScanner:
    """Scans topics for another room, whose work it runs."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def _read(self, kafka: Mapping[str, str], topic: str, ranges: Ranges) -> DataFrame:
        return read_topic(self._spark, {f"kafka.{name}": value for name, value in kafka.items()}, topic, ranges)

    def scan(
        self, kafka: Mapping[str, str], topic: str, ranges: Ranges, work: Callable[[Iterator[Any]], Iterable[str]]
    ) -> list[str]:
        """Return the texts that ``work`` makes of the records of each partition.

        ``kafka`` are settings of Kafka's Java clients.
        """
        return texts_of(self._read(kafka, topic, ranges), work)

    def repeated(
        self,
        kafka: Mapping[str, str],
        topic: str,
        ranges: Ranges,
        work: Callable[[Iterator[Any]], Iterable[tuple[str, int]]],
    ) -> dict[str, int]:
        """Return how many of the pairs that ``work`` makes of records were there before, by the first of each pair."""
        from pyspark.sql import functions

        def run(batches: Iterator[Any]) -> Iterator[Any]:
            import pyarrow as pa

            for pairs in _chunks(work(batches)):
                groups, keys = zip(*pairs, strict=True)
                yield pa.RecordBatch.from_arrays(
                    [pa.array(groups, pa.string()), pa.array(keys, pa.int64())], names=["name", "digest"]
                )

        frame = self._read(kafka, topic, ranges).mapInArrow(run, "name string, digest bigint")
        counted = frame.groupBy("name", "digest").count().groupBy("name")
        rows = counted.agg(functions.sum(functions.col("count") - 1).alias("repeats")).collect()
        return {row["name"]: int(row["repeats"]) for row in rows}


def _chunks(pairs: Iterable[tuple[str, int]], size: int = 5_000) -> Iterator[list[tuple[str, int]]]:
    chunk: list[tuple[str, int]] = []
    for pair in pairs:
        chunk.append(pair)
        if len(chunk) == size:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def _offsets(topic: str, ranges: Ranges, end: int) -> str:
    return json.dumps({topic: {str(partition): bounds[end] for partition, bounds in ranges.items()}})
