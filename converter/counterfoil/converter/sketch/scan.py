"""The records of a topic, read by Spark or by this process, and counted by the schemas they were written with."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from counterfoil.converter.spark.start import read_topic, texts_of
from counterfoil.schema.datum import Datum
from counterfoil.schema.errors import InvalidSchema
from counterfoil.schema.languages.table import parse_schema
from counterfoil.schema.model import Schema, SchemaType
from counterfoil.schema.parsed import Validation
from counterfoil.schema.sketch import (
    Collection,
    PartSketch,
    Sketcher,
    TopicSketch,
    WriterSchema,
    make_sketcher,
    read_sketch,
    write_sketch,
)
from counterfoil.schema.sketch.model import DEFAULT_TAGS
from counterfoil.schema.wire import KEY_HEADER, VALUE_HEADER
from counterfoil.sdk import Registry
from counterfoil.sdk.errors import FrameError, NotFramed, SerdeError, UnknownSchemaId
from counterfoil.sdk.serde import read_header
from counterfoil.sdk.serde.codec import Codec, resolve_references
from counterfoil.sdk.serde.multi import LANGUAGES
from counterfoil.sdk.serde.reading import fetch_writer, frame_of, read_header_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from counterfoil.converter.kafka.cluster import Cluster


# The records of a topic, counted by the schemas they were written with.

_OPTIONS: Final[Mapping[SchemaType, Mapping[str, Datum]]] = {SchemaType.JSON: {"validate": "read"}}
"""The options of a codec with which values are read as sketches need them: JSON is valid, Protobuf are messages."""


@dataclass(frozen=True, slots=True)
class SketchOptions:
    """What a sketch looks at, and what it keeps.

    ``share`` is the share of the records; ``seed`` decides which ones. ``texts`` is whether texts are kept, ``hide``
    are the tags of fields whose values are not.
    """

    share: float = 1.0
    seed: int = 0
    texts: bool = True
    hide: frozenset[str] = DEFAULT_TAGS

    def takes(self, partition: int, offset: int) -> bool:
        """Return whether a record is one of those that are looked at: the same ones on every machine."""
        if self.share >= 1:
            return True
        return zlib.crc32(b"%d/%d/%d" % (self.seed, partition, offset)) < self.share * 2**32


class PartCounter:
    """Counts keys, or values: each by its own schema, which is fetched once."""

    def __init__(self, registry: Registry, options: SketchOptions) -> None:
        self._registry = registry
        self._options = options
        self._collection = Collection()
        self._count_by_prefix: dict[bytes, Callable[[bytes, int], None]] = {}
        self._opened_by_frame: dict[bytes, _Opened | SerdeError] = {}

    def add(self, data: bytes | None, named: bytes | None = None) -> None:
        """Count a key or value; ``named`` is the header of the record that names its schema.

        Raises the errors of the registry's client, but for a schema that does not exist.
        """
        if data is None:
            self._collection.null()
            return
        try:
            self._count(data, named)
        except NotFramed:
            self._collection.problem("not-framed")
        except FrameError:
            self._collection.problem("damaged-frame")
        except UnknownSchemaId:
            self._collection.problem("unknown-schema")
        except SerdeError:
            self._collection.problem("unreadable")

    def finish(self) -> PartSketch:
        """Return the sketch."""
        return self._collection.finish()

    def _count(self, data: bytes, named: bytes | None) -> None:
        framed = data if named is None else named
        key = framed[: frame_of(framed).offset]
        opened = self._opened_by_frame.get(key)
        if opened is None:
            opened = self._opened_by_frame[key] = self._opened(framed)
        if isinstance(opened, SerdeError):
            raise opened
        header = read_header_of(opened.codec, data, named=named)
        count = self._count_by_prefix.get(header.prefix)
        if count is None:
            count = self._count_by_prefix[header.prefix] = opened.counting(header.suffix)
        count(data, header.offset)

    def _opened(self, framed: bytes) -> _Opened | SerdeError:
        """Return what counts data with a frame, or the error that all such data have."""
        frame = frame_of(framed)
        try:
            schema = self._registry.run(fetch_writer(self._registry.calls, frame))
            codec = LANGUAGES[schema.schema_type].make_codec(**_OPTIONS.get(schema.schema_type, {}))
            references = self._registry.run(resolve_references(self._registry.calls, schema))
            parsed = codec.parse(schema, references, validation=Validation.LENIENT)
            sketcher = self._sketcher(schema, WriterSchema(schema.schema_type, schema.text, references))
        except SerdeError as error:
            return error
        except InvalidSchema as error:
            return SerdeError(f"The schema cannot be read: {error}")
        known = self._collection.by_writer.setdefault(str(frame.guid or frame.schema_id), sketcher)
        return _Opened(codec, parsed, known)

    def _sketcher(self, schema: Schema, writer: WriterSchema) -> Sketcher:
        parsed = parse_schema(
            writer.text, writer.schema_type, references=writer.references, validation=Validation.LENIENT
        )
        tags = schema.metadata.tags if schema.metadata is not None else {}
        return make_sketcher(parsed, writer, texts=self._options.texts, hide=self._options.hide, tags_by_path=tags)


@dataclass(frozen=True, slots=True)
class _Opened:
    """What data with one frame are read and counted with."""

    codec: Codec[Any]
    parsed: Datum
    sketcher: Sketcher

    def counting(self, suffix: bytes) -> Callable[[bytes, int], None]:
        """Return the function that reads and counts data whose frame has this suffix."""
        if self.codec.schema_type is SchemaType.AVRO:
            from counterfoil.sdk.serde.avro.coders import compile_base_decoder

            decode: Datum = compile_base_decoder(self.parsed)
        else:
            decode = self.codec.decoder(self.parsed, None, suffix)
        add = self.sketcher.add

        def count(data: bytes, offset: int) -> None:
            add(decode(data, offset), len(data) - offset)

        return count


class TopicCounter:
    """Counts the records of a topic, or of some of its partitions."""

    def __init__(self, registry: Registry, options: SketchOptions) -> None:
        self._key = PartCounter(registry, options)
        self._value = PartCounter(registry, options)

    def add(
        self,
        key: bytes | None,
        value: bytes | None,
        key_named: bytes | None = None,
        value_named: bytes | None = None,
    ) -> None:
        """Count a record; the last two are the headers that name the schemas of key and value."""
        self._key.add(key, key_named)
        self._value.add(value, value_named)

    def finish(self) -> TopicSketch:
        """Return the sketch, which does not know its topic."""
        return TopicSketch(key=self._key.finish(), value=self._value.finish())


# The two engines that read a topic for a sketch: Spark, in all partitions at once, and this process alone.

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


def _counting(registry: Registry, options: SketchOptions) -> Callable[[Iterator[Datum]], Iterator[str]]:
    """Return what a task does with the batches of its partition: it counts them, and yields one sketch."""

    def count(batches: Iterator[object]) -> Iterator[str]:
        counter = TopicCounter(registry, options)
        for batch in batches:
            _count_batch(batch, counter, options)
        yield write_sketch(counter.finish())

    return count


def _count_batch(batch: Datum, counter: TopicCounter, options: SketchOptions) -> None:
    partitions, offsets, keys, values, headers = (batch.column(name) for name in _COLUMNS)
    named = headers.to_pylist() if headers.null_count < len(headers) else [None] * len(headers)
    for partition, offset, key, value, more in zip(
        partitions.to_pylist(), offsets.to_pylist(), keys.to_pylist(), values.to_pylist(), named, strict=True
    ):
        if options.takes(partition, offset):
            by_name = {each["key"]: each["value"] for each in more} if more else {}
            counter.add(key, value, by_name.get(KEY_HEADER), by_name.get(VALUE_HEADER))
