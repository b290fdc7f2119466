"""The Avro serializers with the arguments of confluent-kafka's ``schema_registry.avro``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from counterfoil.schema.datum import Datum
from counterfoil.sdk.confluent.rule_registry import registry_in_use
from counterfoil.sdk.confluent.values import own_schema
from counterfoil.sdk.errors import InvalidSettings
from counterfoil.sdk.serde import avro
from counterfoil.sdk.serde.asynchronous import AsyncDeserializer, AsyncSerializer
from counterfoil.sdk.serde.sources import AnyRegistry

__all__ = ["AsyncAvroDeserializer", "AsyncAvroSerializer", "AvroDeserializer", "AvroSerializer"]


class AvroSerializer(avro.AvroSerializer):
    """:class:`counterfoil.sdk.AvroSerializer` with the arguments of confluent-kafka's class of this name."""

    _names_primitives = True

    def __init__(
        self,
        schema_registry_client: AnyRegistry,
        schema_str: object = None,
        to_dict: Callable[[Datum, Datum], Datum] | None = None,
        conf: Mapping[str, object] | None = None,
        rule_conf: Mapping[str, object] | None = None,
        rule_registry: object = None,
    ) -> None:
        super().__init__(
            schema_registry_client,
            own_schema(schema_str),
            to_dict=to_dict,
            **avro.confluent_writing(conf, rule_conf, registry_in_use(rule_registry)),
        )


class AvroDeserializer(avro.AvroDeserializer):
    """:class:`counterfoil.sdk.AvroDeserializer` with the arguments of confluent-kafka's class of this name."""

    _names_primitives = True

    def __init__(
        self,
        schema_registry_client: AnyRegistry,
        schema_str: object = None,
        from_dict: Callable[[Datum, Datum], Datum] | None = None,
        return_record_name: bool = False,
        conf: Mapping[str, object] | None = None,
        rule_conf: Mapping[str, object] | None = None,
        rule_registry: object = None,
    ) -> None:
        if return_record_name:
            problem = "return_record_name has no counterpart here: a value of a union is its plain value"
            raise InvalidSettings(problem, setting="return_record_name")
        super().__init__(
            schema_registry_client,
            reader=own_schema(schema_str),
            from_dict=from_dict,
            **avro.confluent_reading(conf, rule_conf, registry_in_use(rule_registry)),
        )


class AsyncAvroSerializer(AsyncSerializer[Datum]):
    """The asynchronous :class:`AvroSerializer`, with the same arguments and an ``AsyncSchemaRegistryClient``."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(AvroSerializer(*args, **kwargs))


class AsyncAvroDeserializer(AsyncDeserializer[Datum]):
    """The asynchronous :class:`AvroDeserializer`, with the same arguments and an ``AsyncSchemaRegistryClient``."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(AvroDeserializer(*args, **kwargs))
