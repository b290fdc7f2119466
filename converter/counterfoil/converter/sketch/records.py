"""The records of a topic, counted by the schemas they were written with."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.errors import InvalidSchema
from counterfoil.schema.model import SchemaType
from counterfoil.schema.parsed import Validation
from counterfoil.schema.parsing import parse_schema
from counterfoil.schema.sketch import Collection, TopicSketch, WriterSchema, make_sketcher
from counterfoil.schema.sketch.hidden import DEFAULT_TAGS
from counterfoil.sdk.errors import FrameError, NotFramed, SerdeError, UnknownSchemaId
from counterfoil.sdk.serde.languages import LANGUAGES
from counterfoil.sdk.serde.reading import fetch_writer, frame_of, read_header_of
from counterfoil.sdk.serde.references import resolve_references

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from counterfoil.schema.model import Schema
    from counterfoil.schema.sketch import PartSketch, Sketcher
    from counterfoil.sdk import Registry
    from counterfoil.sdk.serde.codec import Codec

_OPTIONS: Final[Mapping[SchemaType, Mapping[str, Any]]] = {SchemaType.JSON: {"validate": "read"}}
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
    parsed: Any
    sketcher: Sketcher

    def counting(self, suffix: bytes) -> Callable[[bytes, int], None]:
        """Return the function that reads and counts data whose frame has this suffix."""
        if self.codec.schema_type is SchemaType.AVRO:
            from counterfoil.sdk.serde.avro_codec.decode import compile_base_decoder

            decode: Any = compile_base_decoder(self.parsed)
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
