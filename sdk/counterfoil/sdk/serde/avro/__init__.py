"""Avro for Kafka: a serializer and a deserializer that find their schemas in a registry.

The parser and the compilers of codecs are imported when the first schema is parsed or compiled.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from types import EllipsisType, UnionType
from typing import TYPE_CHECKING, ClassVar, Final, Literal, Self

from counterfoil.schema.model import ResolvedReference, Schema, SchemaType
from counterfoil.schema.parsed import Validation
from counterfoil.sdk.errors import InvalidSettings
from counterfoil.sdk.serde.codec import (
    BareBodies,
    Decode,
    Encode,
    OutOfRange,
    RowSource,
    changed,
    checked_flag,
    reads_numbers,
)
from counterfoil.sdk.serde.confluent_settings import ConfluentOption, deserializer_settings, flag, serializer_settings
from counterfoil.sdk.serde.deserializer import Decoded, Deserializer, T_co
from counterfoil.sdk.serde.reading import Latest, OnForbidden
from counterfoil.sdk.serde.rules.settings import DEFAULT_RULES, Rules
from counterfoil.sdk.serde.serializer import Register, Serializer, T_contra
from counterfoil.sdk.serde.sources import AnyRegistry
from counterfoil.sdk.subjects import TOPIC, SubjectNaming

if TYPE_CHECKING:
    from counterfoil.schema.datum import Datum
    from counterfoil.schema.languages.avro.schema import AvroSchema
    from counterfoil.schema.marks import FieldTags
    from counterfoil.sdk.serde.avro.rule_values import AvroRuleValues
    from counterfoil.sdk.serde.models.binding import AvroModel


__all__ = ["AvroCodec", "AvroDeserializer", "AvroSerializer", "Decoded", "Register"]

_WRITE_OPTIONS: Final = (
    ConfluentOption("validate.strict", flag, default=False),
    ConfluentOption("validate.strict.allow.default", flag, default=False),
)
_READ_OPTIONS: Final = (ConfluentOption("avro.fail.on.trailing.data", flag, default=False),)


def confluent_writing(
    conf: Mapping[str, object] | None, rule_conf: Mapping[str, object] | None = None, rule_registry: object = None
) -> dict[str, Datum]:
    """Return the arguments of :class:`AvroSerializer` for the settings of confluent-kafka's.

    ``validate.strict`` and ``validate.strict.allow.default`` both become ``strict``; without them a field without
    default that is left out is null, if it may be. Values are rounded where those serializers round them. Raises
    ``InvalidSettings``.
    """
    settings, own = serializer_settings(conf, _WRITE_OPTIONS, (rule_conf, rule_registry))
    is_strict = any(own.values())
    return {**settings, "strict": is_strict, "missing_is_null": not is_strict, "allow_rounding": True}


def confluent_reading(
    conf: Mapping[str, object] | None, rule_conf: Mapping[str, object] | None = None, rule_registry: object = None
) -> dict[str, Datum]:
    """Return the arguments of :class:`AvroDeserializer` for the settings of confluent-kafka's.

    Raises ``InvalidSettings``.
    """
    settings, own = deserializer_settings(conf, _READ_OPTIONS, (rule_conf, rule_registry))
    return {**settings, "allow_trailing_bytes": not own["avro.fail.on.trailing.data"]}


class AvroCodec(BareBodies):
    """Avro's binary encoding.

    ``strict`` refuses dict keys that are no fields. ``whole`` makes bytes after the value an error. A message may have
    ``max_empty_items`` array items that take no bytes; ``...`` stands for 10,000. ``model`` is the class of the values.
    With ``missing_is_null``, a field that is left out is null if it may be, although it has no default. ``exact``
    refuses values that would be written with a loss. With ``far_as_numbers``, dates and times that Python does not have
    are read as numbers. With ``names_primitives``, a type without a name has that of its kind, such as ``int``, for
    subjects.
    """

    schema_type = SchemaType.AVRO

    def __init__(
        self,
        *,
        strict: bool = False,
        whole: bool = True,
        max_empty_items: int | EllipsisType = ...,
        model: AvroModel | None = None,
        names_records: bool = False,
        missing_is_null: bool = False,
        exact: bool = True,
        far_as_numbers: bool = False,
        names_primitives: bool = False,
    ) -> None:
        self._names_primitives = names_primitives
        self._strict = strict
        self._is_exact = exact
        self._far_as_numbers = far_as_numbers
        self._missing_is_null = missing_is_null
        self._model = model
        self._max_empty_items = max_empty_items if max_empty_items is ... else _read_limit(max_empty_items)
        self._whole = whole
        self._names_records = names_records or (model is not None and model.needs_names)
        self._is_for_rules = False

    def parse(self, schema: Schema, references: Sequence[ResolvedReference], *, validation: Validation) -> AvroSchema:
        """Return the type tree of the schema."""
        from counterfoil.schema.languages.avro.schema import parse_avro

        return parse_avro(schema.text, references, validation=validation)

    def record_name(self, parsed: AvroSchema, suffix: bytes) -> str | None:
        """Return the full name of the top-level type."""
        del suffix
        from counterfoil.schema.languages.avro.types import AvroKind

        if parsed.name is None and self._names_primitives and parsed.root.kind is not AvroKind.UNION:
            return parsed.root.kind.value
        return parsed.name

    def encoder(self, parsed: AvroSchema) -> Encode:
        """Return a function that writes values of the schema."""
        from counterfoil.sdk.serde.avro.coders import compile_encoder

        if self._missing_is_null:
            from counterfoil.sdk.serde.avro.values import with_null_for_missing

            parsed = with_null_for_missing(parsed)
        encode = compile_encoder(parsed, strict=self._strict, exact=self._is_exact)
        return encode if self._model is None else self._model.encoder(encode, parsed.root)

    def decoder(self, writer: AvroSchema | None, reader: AvroSchema | None, suffix: bytes) -> Decode:
        """Return a function that reads data of ``writer`` as values of ``reader``."""
        del suffix
        if writer is None:
            raise _writer_needed()
        from counterfoil.sdk.serde.avro.coders import compile_decoder
        from counterfoil.sdk.serde.avro.values import needs_names

        names = self._names_records or (self._is_for_rules and needs_names((reader or writer).root))
        far = self._far_as_numbers
        decode = compile_decoder(writer, reader, names_records=names, far_as_numbers=far, **self._limits())
        return decode if self._model is None else self._model.decoder(decode, (reader or writer).root)

    def row_source(self, writer: AvroSchema | None, reader: AvroSchema | None, suffix: bytes) -> RowSource:
        """Return the maker of rows from data of ``writer`` as values of ``reader``."""
        del suffix
        if writer is None:
            raise _writer_needed()
        from counterfoil.sdk.serde.arrow.avro_rows import AvroRowSource

        return AvroRowSource(writer, reader, **self._limits())

    def _limits(self) -> dict[str, Datum]:
        """Return the arguments of a decoder that limit its reads."""
        most = {} if self._max_empty_items is ... else {"max_empty_items": self._max_empty_items}
        return {"whole": self._whole, **most}

    def for_rules(self) -> AvroCodec:
        """Return the codec of dicts and lists, without the model; the values of some unions name their records."""
        return changed(self, _model=None, _is_for_rules=True)

    def rule_values(self, parsed: AvroSchema, suffix: bytes, tags: FieldTags) -> AvroRuleValues:
        """Return how rules see the values of the schema."""
        del suffix
        from counterfoil.sdk.serde.avro.rule_values import AvroRuleValues

        return AvroRuleValues(parsed, tags, model=self._model, names_records=self._names_records, exact=self._is_exact)


def described_model(model: object, convert: object, *, setting: str) -> AvroModel | None:
    """Return the model of a serializer; raise ``ModelError``, or ``InvalidSettings`` for a second conversion."""
    if model is None:
        return None
    if convert is not None:
        raise InvalidSettings(f"model converts values itself; leave out {setting}", setting=setting)
    from counterfoil.sdk.serde.models.binding import AvroModel

    return AvroModel(model)


def _writer_needed() -> InvalidSettings:
    return InvalidSettings("Avro cannot be read without the writer's schema", setting="registry")


def _read_limit(limit: object) -> int:
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 0:
        problem = f"max_empty_items is {limit!r}; expected a whole number, 0 or more"
        raise InvalidSettings(problem, setting="max_empty_items")
    return limit


class AvroSerializer(Serializer[T_contra]):
    """Writes values as Avro, framed with the registry's id of their schema.

    ``model`` is the class of the values: a dataclass, a ``msgspec.Struct``, a pydantic model, an attrs class, a
    ``TypedDict``, or a union of these. Without ``schema`` the schema is derived from it (see
    :func:`~counterfoil.sdk.schema_of`). ``strict`` refuses dict keys that are no fields. With ``missing_is_null``, a
    field without default that is left out is null if it may be; otherwise it is an error. A value of which the type
    holds only a part, such as microseconds for milliseconds, is an error; with ``allow_rounding`` the rest is dropped.
    The other arguments are those of :class:`~counterfoil.sdk.serde.serializer.Serializer`.
    """

    _names_primitives: ClassVar[bool] = False

    def __init__(
        self,
        registry: AnyRegistry,
        schema: str | Schema | None = None,
        *,
        model: type[T_contra] | UnionType | None = None,
        subject: SubjectNaming | str = TOPIC,
        register: Register = "auto",
        normalize: bool = False,
        strict: bool = False,
        id_location: Literal["prefix", "header"] = "prefix",
        to_dict: Callable[[Datum, Datum], Datum] | None = None,
        latest_ttl_s: float = 60.0,
        rules: Rules = DEFAULT_RULES,
        clock: Callable[[], float] = time.monotonic,
        missing_is_null: bool = False,
        allow_rounding: bool = False,
    ) -> None:
        described = described_model(model, to_dict, setting="to_dict")
        super().__init__(
            AvroCodec(
                strict=strict,
                model=described,
                missing_is_null=missing_is_null,
                exact=not checked_flag(allow_rounding),
                names_primitives=self._names_primitives,
            ),
            registry,
            described.schema if schema is None and described is not None else schema,
            subject=subject,
            register=register,
            normalize=normalize,
            id_location=id_location,
            to_dict=to_dict,
            latest_ttl_s=latest_ttl_s,
            rules=rules,
            clock=clock,
        )

    @classmethod
    def from_confluent(
        cls,
        registry: AnyRegistry,
        schema: str | Schema | None = None,
        to_dict: Callable[[Datum, Datum], Datum] | None = None,
        conf: Mapping[str, object] | None = None,
        *,
        rule_conf: Mapping[str, object] | None = None,
        rule_registry: object = None,
    ) -> Self:
        """Return the serializer that confluent-kafka's ``AvroSerializer`` would be with the same ``conf``.

        The precedence is the same: ``use.schema.id``, then ``use.latest.with.metadata``, ``use.latest.version``,
        ``auto.register.schemas``, and else a look-up. Raises ``InvalidSettings`` for a setting that has no counterpart
        here.
        """
        return cls(registry, schema, to_dict=to_dict, **confluent_writing(conf, rule_conf, rule_registry))


class AvroDeserializer(Deserializer[T_co]):
    """Reads framed Avro with the schema that the frame or a header names.

    ``reader`` is the schema of the values: fields that only the writer has are skipped, fields that only the reader has
    get their defaults. ``model`` is the class of the values, whose schema is the reader's if there is no other: neither
    ``reader`` nor ``latest``. Bytes after the value are an error, unless ``allow_trailing_bytes``. A message may have
    ``max_empty_items`` array items that take no bytes (null, or a record of nulls), so that a few bytes cannot become a
    large value; the defaults of repeated records are limited by the message's size and by this setting. A date or time
    that Python does not have, such as one of the year 10000, is an error; with ``out_of_range="number"`` it is the
    number in the message. The other arguments are those of :class:`~counterfoil.sdk.serde.deserializer.Deserializer`.
    """

    _names_primitives: ClassVar[bool] = False

    def __init__(
        self,
        registry: AnyRegistry,
        *,
        reader: str | Schema | None = None,
        model: type[T_co] | UnionType | None = None,
        latest: Latest = False,
        subject: SubjectNaming | str = TOPIC,
        id_location: Literal["any", "prefix"] = "any",
        from_dict: Callable[[Datum, Datum], Datum] | None = None,
        on_error: Literal["raise", "return"] = "raise",
        on_forbidden: OnForbidden = "raise",
        latest_ttl_s: float = 60.0,
        allow_trailing_bytes: bool = False,
        max_empty_items: int | EllipsisType = ...,
        rules: Rules = DEFAULT_RULES,
        clock: Callable[[], float] = time.monotonic,
        out_of_range: OutOfRange = "error",
    ) -> None:
        described = described_model(model, from_dict, setting="from_dict")
        derives = described is not None and reader is None and not latest
        super().__init__(
            AvroCodec(
                whole=not allow_trailing_bytes,
                max_empty_items=max_empty_items,
                model=described,
                far_as_numbers=reads_numbers(out_of_range),
                names_primitives=self._names_primitives,
            ),
            registry,
            reader=described.schema if derives and described is not None else reader,
            latest=latest,
            subject=subject,
            id_location=id_location,
            from_dict=from_dict,
            on_error=on_error,
            on_forbidden=on_forbidden,
            latest_ttl_s=latest_ttl_s,
            rules=rules,
            clock=clock,
        )

    @classmethod
    def from_confluent(
        cls,
        registry: AnyRegistry,
        schema: str | Schema | None = None,
        from_dict: Callable[[Datum, Datum], Datum] | None = None,
        conf: Mapping[str, object] | None = None,
        *,
        rule_conf: Mapping[str, object] | None = None,
        rule_registry: object = None,
    ) -> Self:
        """Return the deserializer that confluent-kafka's ``AvroDeserializer`` would be with the same ``conf``.

        So it ignores bytes after the value, unless ``avro.fail.on.trailing.data`` is True, as in Java. Raises
        ``InvalidSettings`` for a setting that has no counterpart here.
        """
        return cls(registry, reader=schema, from_dict=from_dict, **confluent_reading(conf, rule_conf, rule_registry))
