"""JSON Schema for Kafka: a serializer and a deserializer that find their schemas in a registry."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final, Literal, Self

from counterfoil.schema.model import Schema, SchemaType
from counterfoil.sdk.errors import InvalidSettings
from counterfoil.sdk.serde.confluent_settings import Option, deserializer_settings, flag, serializer_settings
from counterfoil.sdk.serde.deserializer import Deserializer, T_co
from counterfoil.sdk.serde.json_codec import JsonCodec
from counterfoil.sdk.serde.rules.settings import DEFAULT_RULES
from counterfoil.sdk.serde.serializer import Serializer, T_contra
from counterfoil.sdk.subjects import TOPIC

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import UnionType

    from counterfoil.sdk.serde.json_codec import Validate
    from counterfoil.sdk.serde.reading import Latest, OnForbidden
    from counterfoil.sdk.serde.rules.settings import Rules
    from counterfoil.sdk.serde.sources import AnyRegistry
    from counterfoil.sdk.serde.writing import Register
    from counterfoil.sdk.subjects import SubjectNaming

__all__ = ["JsonCodec", "JsonDeserializer", "JsonSerializer"]

_OPTIONS: Final = (Option("validate", flag, default=True),)


def confluent_writing(
    conf: Mapping[str, Any] | None, rule_conf: Mapping[str, Any] | None = None, rule_registry: Any = None
) -> dict[str, Any]:
    """Return the arguments of :class:`JsonSerializer` for the settings of confluent-kafka's ``JSONSerializer``.

    Raises ``InvalidSettings``.
    """
    settings, own = serializer_settings(conf, _OPTIONS, (rule_conf, rule_registry))
    return {**settings, **own}


def confluent_reading(
    conf: Mapping[str, Any] | None, rule_conf: Mapping[str, Any] | None = None, rule_registry: Any = None
) -> dict[str, Any]:
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
        to_dict: Callable[[Any, Any], Any] | None = None,
        json_encode: Callable[[Any], str | bytes] | None = None,
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
        to_dict: Callable[[Any, Any], Any] | None = None,
        conf: Mapping[str, Any] | None = None,
        *,
        rule_conf: Mapping[str, Any] | None = None,
        rule_registry: Any = None,
        json_encode: Callable[[Any], str | bytes] | None = None,
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
        from_dict: Callable[[Any, Any], Any] | None = None,
        json_decode: Callable[[bytes], Any] | None = None,
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
        from_dict: Callable[[Any, Any], Any] | None = None,
        registry: AnyRegistry | None = None,
        conf: Mapping[str, Any] | None = None,
        *,
        rule_conf: Mapping[str, Any] | None = None,
        rule_registry: Any = None,
        json_decode: Callable[[bytes], Any] | None = None,
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
