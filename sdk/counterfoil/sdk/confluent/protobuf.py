"""The Protobuf serializers with the arguments of confluent-kafka's ``schema_registry.protobuf``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from counterfoil.schema.datum import Datum
from counterfoil.sdk.confluent.rule_registry import registry_in_use
from counterfoil.sdk.serde import protobuf
from counterfoil.sdk.serde.asynchronous import AsyncDeserializer, AsyncSerializer
from counterfoil.sdk.serde.sources import AnyRegistry

if TYPE_CHECKING:
    from google.protobuf.message import Message


__all__ = ["AsyncProtobufDeserializer", "AsyncProtobufSerializer", "ProtobufDeserializer", "ProtobufSerializer"]


class ProtobufSerializer(protobuf.ProtobufSerializer):
    """:class:`counterfoil.sdk.ProtobufSerializer` with the arguments of confluent-kafka's class of this name."""

    def __init__(
        self,
        msg_type: type[Message],
        schema_registry_client: AnyRegistry,
        conf: Mapping[str, object] | None = None,
        rule_conf: Mapping[str, object] | None = None,
        rule_registry: object = None,
    ) -> None:
        super().__init__(
            schema_registry_client,
            model=msg_type,
            **protobuf.confluent_writing(conf, rule_conf, registry_in_use(rule_registry)),
        )


class ProtobufDeserializer(protobuf.ProtobufDeserializer):
    """:class:`counterfoil.sdk.ProtobufDeserializer` with the arguments of confluent-kafka's class of this name."""

    def __init__(
        self,
        message_type: type[Message],
        conf: Mapping[str, object] | None = None,
        schema_registry_client: AnyRegistry | None = None,
        rule_conf: Mapping[str, object] | None = None,
        rule_registry: object = None,
    ) -> None:
        super().__init__(
            schema_registry_client,
            model=message_type,
            **protobuf.confluent_reading(conf, rule_conf, registry_in_use(rule_registry)),
        )


class AsyncProtobufSerializer(AsyncSerializer[Datum]):
    """The asynchronous :class:`ProtobufSerializer`, with the same arguments and an ``AsyncSchemaRegistryClient``."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(ProtobufSerializer(*args, **kwargs))


class AsyncProtobufDeserializer(AsyncDeserializer[Datum]):
    """The asynchronous :class:`ProtobufDeserializer`, with the same arguments and an ``AsyncSchemaRegistryClient``."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(ProtobufDeserializer(*args, **kwargs))
