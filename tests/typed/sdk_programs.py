"""What a type checker sees of serializers, their names in Confluent's packages, and fixtures; never run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, assert_type

from counterfoil.sdk import (
    AsyncDeserializer,
    AsyncRegistry,
    AvroDeserializer,
    AvroSerializer,
    Decoded,
    JsonSerializer,
    MultiDeserializer,
    ProtobufDeserializer,
    Registry,
    SerializationContext,
    Usage,
)
from counterfoil.sdk.confluent import AvroSerializer as ConfluentAvroSerializer
from counterfoil.sdk.confluent import SchemaRegistryClient
from counterfoil.sdk.testing import InMemoryRegistry, serving_registry


def writing(registry: Registry) -> None:
    """A serializer is called with a value and a context."""
    serializer = AvroSerializer(registry, '"string"', subject="TOPIC_RECORD", register="lookup", id_location="header")
    assert_type(serializer({"id": 1}, SerializationContext("rides")), bytes | None)
    assert_type(serializer.bind("rides"), Callable[[Any | None], bytes | None])
    JsonSerializer(registry, "{}", validate="write", register={"id": 7})


def reading(registry: Registry) -> None:
    """A deserializer is called with bytes, and can be observed."""
    usage = Usage("billing", Path("usage.jsonl"), one_in=10)
    deserializer = AvroDeserializer(registry, reader='"string"').observe(usage)
    assert_type(deserializer, AvroDeserializer)
    assert_type(deserializer.decode(b"", topic="rides"), Decoded)
    assert_type(deserializer.many([b"", None]), list[Any])
    assert_type(MultiDeserializer(registry).observe(usage), MultiDeserializer)
    assert_type(ProtobufDeserializer(registry, values="dict").observe(usage), ProtobufDeserializer)


async def reading_in_a_task(registry: AsyncRegistry) -> None:
    """An asynchronous deserializer is awaited."""
    assert_type(await AsyncDeserializer(AvroDeserializer(registry))(b""), Any | None)


def names_of_confluent() -> None:
    """The names of confluent-kafka take its arguments."""
    client = SchemaRegistryClient({"url": "http://localhost:8081"})
    ConfluentAvroSerializer(client, '"string"', lambda value, _: value, {"auto.register.schemas": False})


def mistakes(registry: Registry) -> None:
    """Each of these is one; an ignore that is not needed is an error of its own."""
    AvroSerializer(registry, '"string"', register="always")  # type: ignore[arg-type] # auto, lookup or latest
    AvroSerializer(registry, '"string"', "TOPIC")  # type: ignore[arg-type, call-arg] # settings have names
    AvroDeserializer(registry, on_error="ignore")  # type: ignore[arg-type] # raise or return
    AvroDeserializer(registry).observe("usage.jsonl")  # type: ignore[arg-type] # a Usage


def in_tests(schema_registry: Registry, in_memory_registry: InMemoryRegistry, schema_registry_url: str) -> None:
    """The fixtures are clients, a registry, and a URL."""
    assert_type(in_memory_registry.client(), Registry)
    with serving_registry() as url, Registry([url, schema_registry_url]) as client:
        assert_type(client, Registry)
    assert_type(schema_registry, Registry)
