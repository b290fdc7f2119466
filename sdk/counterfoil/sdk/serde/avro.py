"""Avro for Kafka: a serializer and a deserializer that find their schemas in a registry.

The parser and the compilers of codecs are imported when the first schema is parsed or compiled.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final, Literal, Self

from counterfoil.schema.model import SchemaType
from counterfoil.sdk.errors import InvalidSettings
from counterfoil.sdk.serde.confluent_settings import Option, deserializer_settings, flag, serializer_settings
from counterfoil.sdk.serde.deserializer import Decoded, Deserializer
from counterfoil.sdk.serde.serializer import Serializer
from counterfoil.sdk.serde.writing import Register
from counterfoil.sdk.subjects import TOPIC

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import EllipsisType

    from counterfoil.schema.formats.avro.schema import AvroSchema
    from counterfoil.schema.model import ResolvedReference, Schema
    from counterfoil.schema.parsed import Validation
    from counterfoil.sdk.serde.codec import Decode, Encode, RowSource
    from counterfoil.sdk.serde.reading import Latest
    from counterfoil.sdk.serde.sources import AnyRegistry
    from counterfoil.sdk.subjects import SubjectNaming

__all__ = ["AvroCodec", "AvroDeserializer", "AvroSerializer", "Decoded", "Register"]

_WRITE_OPTIONS: Final = (
    Option("validate.strict", flag, default=False),
    Option("validate.strict.allow.default", flag, default=False),
)
_READ_OPTIONS: Final = (Option("avro.fail.on.trailing.data", flag, default=False),)


def confluent_writing(conf: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the arguments of :class:`AvroSerializer` for the settings of confluent-kafka's.

    ``validate.strict`` and ``validate.strict.allow.default`` both become ``strict``. Raises ``InvalidSettings``.
    """
    settings, own = serializer_settings(conf or {}, _WRITE_OPTIONS)
    return {**settings, "strict": any(own.values())}


def confluent_reading(conf: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the arguments of :class:`AvroDeserializer` for the settings of confluent-kafka's.

    Raises ``InvalidSettings``.
    """
    settings, own = deserializer_settings(conf or {}, _READ_OPTIONS)
    return {**settings, "allow_trailing_bytes": not own["avro.fail.on.trailing.data"]}


class AvroCodec:
    """Avro's binary encoding.

    ``strict`` refuses dict keys that are no fields. ``whole`` makes bytes after the value an error. A message may have
    ``max_empty_items`` array items that take no bytes; ``...`` stands for 10,000.
    """

    schema_type = SchemaType.AVRO
    suffix_size = 0

    def __init__(self, *, strict: bool = False, whole: bool = True, max_empty_items: int | EllipsisType = ...) -> None:
        self._strict = strict
        self._limits = {} if max_empty_items is ... else {"max_empty_items": _read_limit(max_empty_items)}
        self._whole = whole

    def parse(self, schema: Schema, references: Sequence[ResolvedReference], *, validation: Validation) -> AvroSchema:
        """Return the type tree of the schema."""
        from counterfoil.schema.formats.avro.parse import parse_avro

        return parse_avro(schema.text, references, validation=validation)

    def record_name(self, parsed: AvroSchema, suffix: bytes) -> str | None:
        """Return the full name of the top-level type."""
        del suffix
        return parsed.name

    def encoder(self, parsed: AvroSchema) -> Encode:
        """Return a function that writes values of the schema."""
        from counterfoil.sdk.serde.avro_codec import compile_encoder

        return compile_encoder(parsed, strict=self._strict)

    def decoder(self, writer: AvroSchema | None, reader: AvroSchema | None, suffix: bytes) -> Decode:
        """Return a function that reads data of ``writer`` as values of ``reader``."""
        del suffix
        if writer is None:
            raise _writer_needed()
        from counterfoil.sdk.serde.avro_codec import compile_decoder

        return compile_decoder(writer, reader, whole=self._whole, **self._limits)

    def row_source(self, writer: AvroSchema | None, reader: AvroSchema | None, suffix: bytes) -> RowSource:
        """Return what makes rows of data of ``writer`` as values of ``reader``."""
        del suffix
        if writer is None:
            raise _writer_needed()
        from counterfoil.sdk.serde.arrow.avro_rows import AvroRowSource

        return AvroRowSource(writer, reader, whole=self._whole, **self._limits)

    def frame_suffix(self, parsed: AvroSchema) -> bytes:
        """Return nothing: the body follows the schema's id."""
        del parsed
        return b""

    def suffix_end(self, data: bytes, offset: int) -> int:
        """Return ``offset``: the body follows the schema's id."""
        del data
        return offset


def _writer_needed() -> InvalidSettings:
    return InvalidSettings("Avro cannot be read without the writer's schema", setting="registry")


def _read_limit(limit: object) -> int:
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 0:
        problem = f"max_empty_items is {limit!r}; expected a whole number, 0 or more"
        raise InvalidSettings(problem, setting="max_empty_items")
    return limit


class AvroSerializer(Serializer[Any]):
    """Writes values as Avro, framed with the registry's id of their schema.

    ``strict`` refuses dict keys that are no fields. The other arguments are those of
    :class:`~counterfoil.sdk.serde.serializer.Serializer`.
    """

    def __init__(
        self,
        registry: AnyRegistry,
        schema: str | Schema | None = None,
        *,
        subject: SubjectNaming | str = TOPIC,
        register: Register = "auto",
        normalize: bool = False,
        strict: bool = False,
        id_location: Literal["prefix", "header"] = "prefix",
        to_dict: Callable[[Any, Any], Any] | None = None,
        latest_ttl_s: float = 60.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(
            AvroCodec(strict=strict),
            registry,
            schema,
            subject=subject,
            register=register,
            normalize=normalize,
            id_location=id_location,
            to_dict=to_dict,
            latest_ttl_s=latest_ttl_s,
            clock=clock,
        )

    @classmethod
    def from_confluent(
        cls,
        registry: AnyRegistry,
        schema: str | Schema | None = None,
        to_dict: Callable[[Any, Any], Any] | None = None,
        conf: Mapping[str, Any] | None = None,
    ) -> Self:
        """Return the serializer that confluent-kafka's ``AvroSerializer`` would be with the same ``conf``.

        The precedence is the same: ``use.schema.id``, then ``use.latest.with.metadata``, ``use.latest.version``,
        ``auto.register.schemas``, and else a look-up. Raises ``InvalidSettings`` for a setting that has no counterpart
        here.
        """
        return cls(registry, schema, to_dict=to_dict, **confluent_writing(conf))


class AvroDeserializer(Deserializer[Any]):
    """Reads framed Avro with the schema that the frame or a header names.

    ``reader`` is the schema of the values: fields that only the writer has are skipped, fields that only the reader has
    get their defaults. Bytes after the value are an error, unless ``allow_trailing_bytes``. A message may have
    ``max_empty_items`` array items that take no bytes (null, or a record of nulls), so that a few bytes cannot become a
    large value; the defaults of repeated records are limited by the message's size and by this setting. The other
    arguments are those of :class:`~counterfoil.sdk.serde.deserializer.Deserializer`.
    """

    def __init__(
        self,
        registry: AnyRegistry,
        *,
        reader: str | Schema | None = None,
        latest: Latest = False,
        subject: SubjectNaming | str = TOPIC,
        id_location: Literal["any", "prefix"] = "any",
        from_dict: Callable[[Any, Any], Any] | None = None,
        on_error: Literal["raise", "return"] = "raise",
        latest_ttl_s: float = 60.0,
        allow_trailing_bytes: bool = False,
        max_empty_items: int | EllipsisType = ...,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(
            AvroCodec(whole=not allow_trailing_bytes, max_empty_items=max_empty_items),
            registry,
            reader=reader,
            latest=latest,
            subject=subject,
            id_location=id_location,
            from_dict=from_dict,
            on_error=on_error,
            latest_ttl_s=latest_ttl_s,
            clock=clock,
        )

    @classmethod
    def from_confluent(
        cls,
        registry: AnyRegistry,
        schema: str | Schema | None = None,
        from_dict: Callable[[Any, Any], Any] | None = None,
        conf: Mapping[str, Any] | None = None,
    ) -> Self:
        """Return the deserializer that confluent-kafka's ``AvroDeserializer`` would be with the same ``conf``.

        So it ignores bytes after the value, unless ``avro.fail.on.trailing.data`` is True, as in Java. Raises
        ``InvalidSettings`` for a setting that has no counterpart here.
        """
        return cls(registry, reader=schema, from_dict=from_dict, **confluent_reading(conf))
