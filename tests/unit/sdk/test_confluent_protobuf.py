"""Protobuf programs written for confluent-kafka: the settings of its classes, and its names with their arguments."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer as TheirDeserializer
from confluent_kafka.schema_registry.protobuf import ProtobufSerializer as TheirSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from counterfoil.sdk import ProtobufDeserializer, ProtobufSerializer, confluent
from counterfoil.sdk.errors import DecodeError, InvalidSettings
from counterfoil.sdk.testing import InMemoryRegistry
from protobuf_classes import generated_classes

FILES = {
    "taxi/place.proto": 'syntax = "proto3"; package taxi; message Place { string zone = 1; }',
    "taxi/ride.proto": """syntax = "proto3"; package taxi; import "taxi/place.proto";
        message Ride { int64 id = 1; Place pickup = 2; } message Other { int64 id = 1; }""",
}
CLASSES = generated_classes(FILES)
Ride, Other = CLASSES["taxi.Ride"], CLASSES["taxi.Other"]
VALUE = SerializationContext("rides", MessageField.VALUE)
CONF = {"url": "http://registry.invalid"}


@pytest.fixture
def client() -> Any:
    return confluent.SchemaRegistryClient(CONF, transport=InMemoryRegistry())


def test_every_setting_of_theirs_is_known_here(client: Any):
    for name, default in TheirSerializer._default_conf.items():
        ProtobufSerializer.from_confluent(Ride, client, {name: default})
    for name, default in TheirDeserializer._default_conf.items():
        ProtobufDeserializer.from_confluent(Ride, {name: default}, client)
    ProtobufSerializer.from_confluent(Ride, client, TheirSerializer._default_conf)
    ProtobufDeserializer.from_confluent(Ride, TheirDeserializer._default_conf, client)


def test_the_deprecated_format_is_refused_with_the_reason(client: Any):
    with pytest.raises(InvalidSettings, match="cannot be distinguished from others, so it can only be False"):
        ProtobufDeserializer.from_confluent(Ride, {"use.deprecated.format": True}, client)


@pytest.mark.parametrize(
    ("conf", "subjects"),
    [
        ({}, ["rides-value", "taxi/place.proto"]),
        (
            {"reference.subject.name.strategy": confluent.reference_subject_name_strategy},
            ["rides-value", "taxi/place.proto"],
        ),
        ({"reference.subject.name.strategy": lambda _ctx, file: file.name[5:]}, ["place.proto", "rides-value"]),
        ({"subject.name.strategy.type": "RECORD"}, ["taxi.Ride", "taxi/place.proto"]),
        (
            {"subject.name.strategy": confluent.topic_record_subject_name_strategy},
            ["rides-taxi.Ride", "taxi/place.proto"],
        ),
    ],
)
def test_their_arguments_and_settings_make_our_serializer(client: Any, conf: dict[str, Any], subjects: list[str]):
    data = confluent.ProtobufSerializer(Ride, client, conf)(Ride(id=1, pickup={"zone": "a"}), VALUE)
    assert client.get_subjects() == subjects
    assert confluent.ProtobufDeserializer(Ride, {"use.deprecated.format": False})(data, VALUE).pickup.zone == "a"
    assert confluent.ProtobufDeserializer(Ride, None, client)(data, VALUE).id == 1
    with pytest.raises(DecodeError, match=r"is a taxi\.Ride; expected taxi\.Other"):
        confluent.ProtobufDeserializer(Other, {}, client)(data, VALUE)


def test_rule_arguments_of_another_kind_are_refused(client: Any):
    assert confluent.ProtobufSerializer(Ride, client, {}, {"secret": "x"})(Ride(id=1), VALUE)
    with pytest.raises(InvalidSettings):
        confluent.ProtobufSerializer(Ride, client, {}, "secret")
    with pytest.raises(InvalidSettings):
        confluent.ProtobufDeserializer(Ride, {}, client, None, object())


def test_the_asynchronous_names():
    async def written_and_read() -> Any:
        client = confluent.AsyncSchemaRegistryClient(CONF, transport=InMemoryRegistry())
        serialize = confluent.AsyncProtobufSerializer(Ride, client)
        data = await serialize(Ride(id=5), VALUE)
        return await confluent.AsyncProtobufDeserializer(Ride, {}, client)(data, VALUE)

    assert asyncio.run(written_and_read()) == Ride(id=5)
