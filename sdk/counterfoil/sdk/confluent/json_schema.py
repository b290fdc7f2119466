"""The JSON serializers with the arguments of confluent-kafka's ``schema_registry.json_schema``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from counterfoil.schema.datum import Datum
from counterfoil.schema.model import Schema, SchemaType
from counterfoil.sdk.confluent.rule_registry import registry_in_use
from counterfoil.sdk.confluent.values import own_schema
from counterfoil.sdk.errors import InvalidSettings
from counterfoil.sdk.serde import json
from counterfoil.sdk.serde.asynchronous import AsyncDeserializer, AsyncSerializer
from counterfoil.sdk.serde.sources import AnyRegistry

__all__ = ["AsyncJSONDeserializer", "AsyncJSONSerializer", "JSONDeserializer", "JSONSerializer"]


class JSONSerializer(json.JsonSerializer):
    """:class:`counterfoil.sdk.JsonSerializer` with the arguments of confluent-kafka's ``JSONSerializer``."""

    def __init__(
        self,
        schema_str: object,
        schema_registry_client: AnyRegistry,
        to_dict: Callable[[Datum, Datum], Datum] | None = None,
        conf: Mapping[str, object] | None = None,
        rule_conf: Mapping[str, object] | None = None,
        rule_registry: object = None,
        json_encode: Callable[[Datum], str | bytes] | None = None,
    ) -> None:
        super().__init__(
            schema_registry_client,
            _json_schema(schema_str),
            to_dict=to_dict,
            json_encode=json_encode,
            **json.confluent_writing(conf, rule_conf, registry_in_use(rule_registry)),
        )


class JSONDeserializer(json.JsonDeserializer):
    """:class:`counterfoil.sdk.JsonDeserializer` with the arguments of confluent-kafka's ``JSONDeserializer``."""

    def __init__(
        self,
        schema_str: object = None,
        from_dict: Callable[[Datum, Datum], Datum] | None = None,
        schema_registry_client: AnyRegistry | None = None,
        conf: Mapping[str, object] | None = None,
        rule_conf: Mapping[str, object] | None = None,
        rule_registry: object = None,
        json_decode: Callable[[bytes], Datum] | None = None,
    ) -> None:
        if schema_str is None and schema_registry_client is None:
            problem = "schema_str and schema_registry_client are both None; expected one of them"
            raise InvalidSettings(problem, setting="schema_str")
        super().__init__(
            schema_registry_client,
            reader=_json_schema(schema_str),
            from_dict=from_dict,
            json_decode=json_decode,
            **json.confluent_reading(conf, rule_conf, registry_in_use(rule_registry)),
        )


class AsyncJSONSerializer(AsyncSerializer[Datum]):
    """The asynchronous :class:`JSONSerializer`, with the same arguments and an ``AsyncSchemaRegistryClient``."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(JSONSerializer(*args, **kwargs))


class AsyncJSONDeserializer(AsyncDeserializer[Datum]):
    """The asynchronous :class:`JSONDeserializer`, with the same arguments and an ``AsyncSchemaRegistryClient``."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(JSONDeserializer(*args, **kwargs))


def _json_schema(given: object) -> Schema | None:
    """Return a schema of this SDK; a text alone is a JSON schema."""
    schema = own_schema(given)
    return replace(schema, schema_type=SchemaType.JSON) if schema and isinstance(given, str) else schema
