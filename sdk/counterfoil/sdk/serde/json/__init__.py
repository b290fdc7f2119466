"""JSON Schema for Kafka: a serializer and a deserializer that find their schemas in a registry, and their codec."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from types import UnionType
from typing import TYPE_CHECKING, Final, Literal, Self, TypeAlias

from counterfoil.schema.languages.jsonschema.schema import JsonSchema, parse_json_schema
from counterfoil.schema.model import ResolvedReference, Schema, SchemaType
from counterfoil.schema.parsed import Validation
from counterfoil.sdk.errors import InvalidSettings
from counterfoil.sdk.serde.codec import BareBodies, Decode, Encode, RowSource, changed
from counterfoil.sdk.serde.confluent_settings import ConfluentOption, deserializer_settings, flag, serializer_settings
from counterfoil.sdk.serde.deserializer import Deserializer, T_co
from counterfoil.sdk.serde.json.coders import (
    check_model,
    compile_decoder,
    compile_encoder,
    model_decoder,
    model_encoder,
    model_load,
)
from counterfoil.sdk.serde.json.schemas import compile_defaults, compile_validator
from counterfoil.sdk.serde.json.text import read_exactly
from counterfoil.sdk.serde.reading import Latest, OnForbidden
from counterfoil.sdk.serde.rules.settings import DEFAULT_RULES, Rules
from counterfoil.sdk.serde.serializer import Register, Serializer, T_contra
from counterfoil.sdk.serde.sources import AnyRegistry
from counterfoil.sdk.subjects import TOPIC, SubjectNaming

if TYPE_CHECKING:
    from counterfoil.schema.datum import Json, JsonObject
    from counterfoil.schema.marks import FieldTags
    from counterfoil.sdk.serde.json.rule_values import JsonRuleValues


# JSON as a message format: JSON text, described by a JSON schema.

Validate: TypeAlias = Literal["write", "read", "both"] | bool
"""When values are validated: ``write``, ``read``, ``both`` (also True), or never (False)."""

_ON_WRITE: Final = ("write", "both", True)
_ON_READ: Final = ("read", "both", True)


class JsonCodec(BareBodies):
    """The :class:`~counterfoil.sdk.serde.codec.Codec` of JSON.

    ``validate`` is when values are validated; None is the default: always, but reading into a ``model`` checks the
    model's types instead. ``dump`` and ``load`` turn values of the program into values of JSON and back. ``model`` is a
    class that msgspec or pydantic reads and writes itself, instead of both. ``adds_defaults`` adds the defaults of a
    reader's schema. ``json_encode`` and ``json_decode`` are used to write and read JSON texts in place of the SDK's own
    code.
    """

    schema_type: Final = SchemaType.JSON

    def __init__(
        self,
        *,
        validate: Validate | None = None,
        model: object = None,
        dump: Callable[[Json], Json] | None = None,
        load: Callable[[Json], Json] | None = None,
        adds_defaults: bool = True,
        json_encode: Callable[[Json], str | bytes] | None = None,
        json_decode: Callable[[bytes], Json] | None = None,
    ) -> None:
        if not (validate is None or isinstance(validate, bool) or validate in ("write", "read", "both")):
            problem = f"validate is {validate!r}; expected 'write', 'read', 'both', True or False"
            raise InvalidSettings(problem, setting="validate")
        if model is not None:
            check_model(model)
            if dump or load or json_encode or json_decode:
                problem = "model reads and writes JSON itself; leave out dump, load, json_encode and json_decode"
                raise InvalidSettings(problem, setting="model")
        self._validates_writing = validate is None or validate in _ON_WRITE
        self._validates_reading = validate in _ON_READ or (validate is None and model is None)
        self._model = model
        self._dump = dump
        self._load = load
        self._adds_defaults = adds_defaults
        self._json_encode = json_encode
        self._json_decode = json_decode

    def parse(self, schema: Schema, references: Sequence[ResolvedReference], *, validation: Validation) -> JsonSchema:
        """Return the parsed schema. Raises ``SchemaParseError``."""
        return parse_json_schema(schema.text, references, validation=validation)

    def record_name(self, parsed: JsonSchema, suffix: bytes) -> str | None:
        """Return the schema's title, else the model's name; None without both."""
        del suffix
        return parsed.name or getattr(self._model, "__name__", None)

    def encoder(self, parsed: JsonSchema) -> Encode:
        """Return a function that writes values. Raises ``SchemaUnusable``."""
        validator = compile_validator(parsed) if self._validates_writing else None
        if self._model is not None:
            return model_encoder(self._model, validator)
        return compile_encoder(validator, dump=self._dump, json_encode=self._json_encode)

    def decoder(self, writer: JsonSchema | None, reader: JsonSchema | None, suffix: bytes) -> Decode:
        """Return a function that reads values; those of ``reader``, if there is one, get its defaults.

        The value is validated against the reader's schema, or the writer's without one. Raises ``SchemaUnusable``.
        """
        del suffix
        if self._model is not None and not self._validates_reading and not (reader and self._adds_defaults):
            return model_decoder(self._model)
        return self._plain_decoder(writer, reader, load=self._load if self._model is None else model_load(self._model))

    def _plain_decoder(
        self, writer: JsonSchema | None, reader: JsonSchema | None, *, load: Callable[[Json], Json] | None
    ) -> Decode:
        target = reader or writer
        validator = compile_validator(target) if target and self._validates_reading else None
        fill = compile_defaults(reader) if reader and self._adds_defaults else None
        return compile_decoder(validator, fill=fill, load=load, json_decode=self._json_decode)

    def row_source(self, writer: JsonSchema | None, reader: JsonSchema | None, suffix: bytes) -> RowSource:
        """Return the maker of rows from values of JSON."""
        del suffix
        from counterfoil.sdk.serde.arrow import DictRowSource

        return DictRowSource(lambda: self._plain_decoder(writer, reader, load=None))

    def for_rules(self) -> JsonCodec:
        """Return the codec of plain JSON values, which validates written values alone."""
        return changed(self, _model=None, _dump=None, _load=None, _validates_reading=False)

    def rule_values(self, parsed: JsonSchema, suffix: bytes, tags: FieldTags) -> JsonRuleValues:
        """Return how rules see the values of the schema."""
        del suffix
        from counterfoil.sdk.serde.json.rule_values import JsonRuleValues

        fill = compile_defaults(parsed) if self._adds_defaults else None
        return JsonRuleValues(
            parsed,
            tags,
            dump=self._plain,
            load=self._loader(parsed),
            fill=fill,
            validates_writing=self._validates_writing,
        )

    def _loader(self, parsed: JsonSchema) -> Callable[[Json], Json]:
        """Return the function from plain JSON values, which were not validated yet, to values of the program."""
        if not self._validates_reading and self._model is None and self._load is None:
            return lambda value: value
        encode = compile_encoder(None, dump=None, json_encode=None)
        decode = self.decoder(parsed, None, b"")
        return lambda value: decode(encode(value, b""), 0)

    def _plain(self, value: object) -> Json:
        """Return a value of the program as a value of JSON."""
        model = self._model
        encode = model_encoder(model, None) if model else compile_encoder(None, dump=self._dump, json_encode=None)
        return read_exactly(encode(value, b""), 0)


# The serializer and the deserializer.

__all__ = ["JsonCodec", "JsonDeserializer", "JsonSerializer", "Validate"]

_OPTIONS: Final = (ConfluentOption("validate", flag, default=True),)


def confluent_writing(
    conf: Mapping[str, object] | None, rule_conf: Mapping[str, object] | None = None, rule_registry: object = None
) -> JsonObject:
    """Return the arguments of :class:`JsonSerializer` for the settings of confluent-kafka's ``JSONSerializer``.

    Raises ``InvalidSettings``.
    """
    settings, own = serializer_settings(conf, _OPTIONS, (rule_conf, rule_registry))
    return {**settings, **own}


def confluent_reading(
    conf: Mapping[str, object] | None, rule_conf: Mapping[str, object] | None = None, rule_registry: object = None
) -> JsonObject:
    """Return the arguments of :class:`JsonDeserializer` for the settings of confluent-kafka's ``JSONDeserializer``.

    Theirs adds no defaults. Raises ``InvalidSettings``.
    """
    settings, own = deserializer_settings(conf, _OPTIONS, (rule_conf, rule_registry))
    return {**settings, **own, "defaults": False}


class JsonSerializer(Serializer[T_contra]):
    """Writes values as JSON, framed with the registry's id of their JSON schema.

    Values are those of JSON, and Decimal (a number), datetime, date, time, UUID (strings), Enum and dataclasses.
    ``validate`` is when values are validated against the schema: on writing, unless it is ``"read"`` or False.
    ``model`` is the class of the values, which msgspec or pydantic writes: a ``msgspec.Struct``, a dataclass, an attrs
    class, a ``TypedDict``, a pydantic model, or a union of these. Without ``schema`` the schema is derived from it (see
    :func:`~counterfoil.sdk.schema_of`). ``json_encode(value)`` returns the JSON text in place of the SDK's own code.
    The name of the record is the schema's title, else the model's. The other arguments are those of
    :class:`~counterfoil.sdk.serde.serializer.Serializer`.
    """

    def __init__(
        self,
        registry: AnyRegistry,
        schema: str | Schema | None = None,
        *,
        model: type[T_contra] | UnionType | None = None,
        subject: SubjectNaming | str = TOPIC,
        register: Register = "auto",
        normalize: bool = False,
        validate: Validate = "both",
        id_location: Literal["prefix", "header"] = "prefix",
        to_dict: Callable[[Json, Json], Json] | None = None,
        json_encode: Callable[[Json], str | bytes] | None = None,
        latest_ttl_s: float = 60.0,
        rules: Rules = DEFAULT_RULES,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        codec = JsonCodec(validate=validate, model=model, json_encode=json_encode)
        if model is not None and to_dict is not None:
            raise InvalidSettings("model converts values itself; leave out to_dict", setting="to_dict")
        if model is not None and schema is None:
            from counterfoil.sdk.serde.models.schemas import schema_of

            schema = Schema(schema_of(model, language="json"), SchemaType.JSON)
        super().__init__(
            codec,
            registry,
            schema,
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
        schema: str | Schema | None,
        registry: AnyRegistry,
        to_dict: Callable[[Json, Json], Json] | None = None,
        conf: Mapping[str, object] | None = None,
        *,
        rule_conf: Mapping[str, object] | None = None,
        rule_registry: object = None,
        json_encode: Callable[[Json], str | bytes] | None = None,
    ) -> Self:
        """Return the serializer that confluent-kafka's ``JSONSerializer`` would be with the same arguments.

        Their order is Confluent's, schema first, and so is the precedence of the settings: ``use.schema.id``, then
        ``use.latest.with.metadata``, ``use.latest.version``, ``auto.register.schemas``, and else a look-up. Raises
        ``InvalidSettings`` for a setting that has no counterpart here.
        """
        return cls(
            registry,
            schema,
            to_dict=to_dict,
            json_encode=json_encode,
            **confluent_writing(conf, rule_conf, rule_registry),
        )


class JsonDeserializer(Deserializer[T_co]):
    """Reads framed JSON, and validates it against the schema that the frame or a header names.

    ``reader`` is the schema of the values, and the one that they are validated against: properties that are missing get
    its defaults, unless ``defaults`` is False. Without a registry it is the only schema. ``validate`` is when values
    are validated: on reading, unless it is ``"write"`` or False. ``model`` is a class that msgspec or pydantic reads
    JSON into, with the checks of its types in place of validation, unless ``validate`` is set.
    ``json_decode(text)`` reads the JSON text in place of the SDK's own code. The other arguments are those of
    :class:`~counterfoil.sdk.serde.deserializer.Deserializer`.
    """

    def __init__(
        self,
        registry: AnyRegistry | None,
        *,
        reader: str | Schema | None = None,
        model: type[T_co] | UnionType | None = None,
        latest: Latest = False,
        subject: SubjectNaming | str = TOPIC,
        validate: Validate | None = None,
        defaults: bool = True,
        id_location: Literal["any", "prefix"] = "any",
        from_dict: Callable[[Json, Json], Json] | None = None,
        json_decode: Callable[[bytes], Json] | None = None,
        on_error: Literal["raise", "return"] = "raise",
        on_forbidden: OnForbidden = "raise",
        latest_ttl_s: float = 60.0,
        rules: Rules = DEFAULT_RULES,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(
            JsonCodec(validate=validate, model=model, adds_defaults=defaults, json_decode=json_decode),
            registry,
            reader=reader,
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
        schema: str | Schema | None = None,
        from_dict: Callable[[Json, Json], Json] | None = None,
        registry: AnyRegistry | None = None,
        conf: Mapping[str, object] | None = None,
        *,
        rule_conf: Mapping[str, object] | None = None,
        rule_registry: object = None,
        json_decode: Callable[[bytes], Json] | None = None,
    ) -> Self:
        """Return the deserializer that confluent-kafka's ``JSONDeserializer`` would be with the same arguments.

        So it adds no defaults. Raises ``InvalidSettings`` for a setting that has no counterpart here.
        """
        return cls(
            registry,
            reader=schema,
            from_dict=from_dict,
            json_decode=json_decode,
            **confluent_reading(conf, rule_conf, rule_registry),
        )
