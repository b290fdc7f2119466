"""Protobuf programs written for confluent-kafka: the settings of its classes, and its names with their arguments."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer as TheirDeserializer
from confluent_kafka.schema_registry.protobuf import ProtobufSerializer as TheirSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from counterfoil.schema.model import Metadata, Rule, RuleSet, Schema, SchemaType
from counterfoil.sdk import ProtobufDeserializer, ProtobufSerializer, confluent
from counterfoil.sdk.errors import DecodeError, InvalidSettings
from counterfoil.sdk.testing import InMemoryRegistry
from strategies.protobuf.classes import generated_classes

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


# --- migrations to a message of another name -------------------------------------------------------------------------


def text_of(name: str, fields: str) -> str:
    return f'syntax = "proto3"; package taxi; message First {{ int32 a = 1; }} message {name} {{ {fields} }}'


RENAMED = {
    "old": text_of("Trip", "int64 id = 1; string driver = 2; message Stop { int32 n = 1; }"),
    "new": text_of("Journey", "int64 id = 1; string name = 2; message Stop { int32 number = 1; }"),
}
OLD = generated_classes({"taxi/trip.proto": RENAMED["old"]})
NEW = generated_classes({"taxi/trip.proto": RENAMED["new"]})
UP = Rule("up", "JSONATA", mode="UPGRADE", expr='{"id": id, "name": driver}')
DOWN = Rule("down", "JSONATA", mode="DOWNGRADE", expr='{"id": id, "driver": name}')


@pytest.fixture
def native() -> Any:
    return InMemoryRegistry().client(retries=0)


def renamed(native: Any, *rules: Rule) -> list[bytes]:
    """Messages of both versions of a subject whose second renames a message, with these migrations."""
    native.set_config("trips-value", "NONE")
    values = {"old": OLD["taxi.Trip"](id=7, driver="Ada"), "new": NEW["taxi.Journey"](id=7, name="Ada")}
    for which, text in RENAMED.items():
        rule_set = RuleSet(migration_rules=rules) if which == "new" else None
        metadata = Metadata(properties={"which": which})
        native.register("trips-value", Schema(text, SchemaType.PROTOBUF, metadata=metadata, rule_set=rule_set))
    return [
        ProtobufSerializer(native, model=type(value), register={"metadata": {"which": which}})(value, TRIPS) or b""
        for which, value in values.items()
    ]


TRIPS = SerializationContext("trips", MessageField.VALUE)


def test_a_message_that_was_renamed_is_migrated(native: Any):
    old, new = renamed(native, UP, DOWN)
    journey, trip = NEW["taxi.Journey"](id=7, name="Ada"), OLD["taxi.Trip"](id=7, driver="Ada")
    latest, first = {"use.latest.version": True}, {"use.latest.with.metadata": {"which": "old"}}
    for data in (old, new):
        assert confluent.ProtobufDeserializer(NEW["taxi.Journey"], latest, native)(data, TRIPS) == journey
        assert confluent.ProtobufDeserializer(OLD["taxi.Trip"], first, native)(data, TRIPS) == trip
        as_dict = ProtobufDeserializer(native, latest=True, values="dict", message="taxi.Journey")
        assert as_dict(data, TRIPS) == {"id": 7, "name": "Ada"}
        # without a class, the message at the same place of the file
        assert ProtobufDeserializer(native, latest=True, values="dict")(data, TRIPS) == {"id": 7, "name": "Ada"}
    several = ProtobufDeserializer(native, latest=True, model=[NEW["taxi.First"], NEW["taxi.Journey"]])
    with pytest.raises(DecodeError, match="Trip"):
        ProtobufDeserializer(native, model=NEW["taxi.Journey"])(old, TRIPS)
    assert several(new, TRIPS) == journey


def test_without_a_migration_a_message_of_another_name_is_refused(native: Any):
    old, new = renamed(native)
    read = confluent.ProtobufDeserializer(NEW["taxi.Journey"], {"use.latest.version": True}, native)
    assert read(new, TRIPS).name == "Ada"
    with pytest.raises(DecodeError, match="Trip"):
        read(old, TRIPS)
    with pytest.raises(DecodeError, match="Trip"):
        ProtobufDeserializer(native, latest=True)(old, TRIPS)
