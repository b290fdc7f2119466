"""The two engines that read a topic for a sketch: Spark, in all partitions at once, and this process alone."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from counterfoil.converter.sketch.records import TopicCounter
from counterfoil.converter.spark.scanning import read_topic, texts_of
from counterfoil.schema.sketch import TopicSketch, read_sketch, write_sketch
from counterfoil.schema.wire import KEY_HEADER, VALUE_HEADER
from counterfoil.sdk.serde.headers import read_header

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pyspark.sql import SparkSession

    from counterfoil.converter.kafka.cluster import Cluster
    from counterfoil.converter.sketch.records import SketchOptions
    from counterfoil.sdk import Registry

    Ranges = Mapping[int, tuple[int, int]]

_SAID_EVERY_S: Final = 2.0
_COLUMNS: Final = ("partition", "offset", "key", "value", "headers")


def scan_alone(
    cluster: Cluster,
    topic: str,
    ranges: Ranges,
    *,
    registry: Registry,
    options: SketchOptions,
    say: Callable[[str], None],
) -> TopicSketch:
    """Return the sketch of a topic's records in ranges of offsets, read by this process."""
    counter = TopicCounter(registry, options)
    total = sum(end - first for first, end in ranges.values())
    started = said = time.monotonic()
    for done, message in enumerate(cluster.read(topic, ranges), 1):
        if options.takes(message.partition(), message.offset()):
            headers = message.headers() or []
            counter.add(
                message.key(),
                message.value(),
                read_header(headers, KEY_HEADER) if headers else None,
                read_header(headers, VALUE_HEADER) if headers else None,
            )
        now = time.monotonic()
        if now - said >= _SAID_EVERY_S:
            said = now
            rate = done / (now - started)
            say(f"{done:,} of {total:,} records read, {rate:,.0f} a second, {(total - done) / rate:,.0f} s left")
    return counter.finish()


def scan_with_spark(
    spark: SparkSession,
    kafka: Mapping[str, str],
    topic: str,
    ranges: Ranges,
    *,
    registry: Registry,
    options: SketchOptions,
) -> TopicSketch:
    """Return the sketch of a topic's records in ranges of offsets, read by Spark: one task for each partition.

    ``kafka`` are the options with which Spark reaches the cluster. Only committed records are read. Each task returns
    one sketch, which are merged here.
    """
    frame = read_topic(spark, kafka, topic, ranges).select(*_COLUMNS)
    sketch = TopicSketch()
    for text in texts_of(frame, _counting(registry, options)):
        part = read_sketch(text)
        sketch = TopicSketch(key=sketch.key.merge(part.key), value=sketch.value.merge(part.value))
    return sketch


def _counting(registry: Registry, options: SketchOptions) -> Callable[[Iterator[Any]], Iterator[str]]:
    """Return what a task does with the batches of its partition: it counts them, and yields one sketch."""

    def count(batches: Iterator[Any]) -> Iterator[str]:
        counter = TopicCounter(registry, options)
        for batch in batches:
            _count_batch(batch, counter, options)
        yield write_sketch(counter.finish())

    return count


def _count_batch(batch: Any, counter: TopicCounter, options: SketchOptions) -> None:
    partitions, offsets, keys, values, headers = (batch.column(name) for name in _COLUMNS)
    named = headers.to_pylist() if headers.null_count < len(headers) else [None] * len(headers)
    for partition, offset, key, value, more in zip(
        partitions.to_pylist(), offsets.to_pylist(), keys.to_pylist(), values.to_pylist(), named, strict=True
    ):
        if options.takes(partition, offset):
            by_name = {each["key"]: each["value"] for each in more} if more else {}
            counter.add(key, value, by_name.get(KEY_HEADER), by_name.get(VALUE_HEADER))
