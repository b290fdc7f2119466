"""What a type checker sees of serializers with and without a model; checked by mypy, never run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypedDict, assert_type

from counterfoil.sdk import (
    AvroDeserializer,
    AvroSerializer,
    Deserializer,
    JsonDeserializer,
    JsonSerializer,
    Registry,
    Serializer,
    schema_of,
)


@dataclass
class Ride:
    """A model."""

    fare: float


class Trip(TypedDict):
    """A model that is a dict."""

    fare: float


def with_a_model(registry: Registry, data: bytes) -> None:
    """The class of the values is the model's."""
    serialize = AvroSerializer(registry, model=Ride)
    assert_type(serialize, AvroSerializer[Ride])
    assert_type(serialize(Ride(1.0)), bytes | None)
    deserialize = AvroDeserializer(registry, model=Ride)
    assert_type(deserialize(data), Ride | None)
    assert_type(JsonDeserializer(registry, model=Ride)(data), Ride | None)
    assert_type(JsonSerializer(registry, model=Trip), JsonSerializer[Trip])
    assert_type(AvroDeserializer(registry, model=Trip)(data), Trip | None)
    general: Serializer[Ride] = serialize
    reading: Deserializer[Ride] = deserialize
    assert_type((general(None), reading(data)), tuple[bytes | None, Ride | None])
    assert_type(schema_of(Ride, language="json"), str)


def without_a_model(registry: Registry, data: bytes) -> None:
    """Values are any, and so are those of a union of models."""
    serialize = AvroSerializer(registry, "{}")
    assert_type(serialize, AvroSerializer[Any])
    serialize({"fare": 1.0})
    assert_type(AvroDeserializer(registry)(data), Any | None)
    either = AvroSerializer(registry, model=Ride | Trip)
    either(Ride(1.0))


def mistakes(registry: Registry) -> None:
    """Each of these is one; an ignore that is not needed is an error of its own."""
    AvroSerializer(registry, model=Ride)({"fare": 1.0})  # type: ignore[arg-type] # a dict is no Ride
    AvroSerializer(registry, model=Ride(1.0))  # type: ignore[arg-type] # an object is no class
    schema_of(Ride, language="xml")  # type: ignore[arg-type] # the languages are two
