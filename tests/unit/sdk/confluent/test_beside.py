"""A program that changes some of its import lines alone: what is accepted beside Confluent's own classes.

The page docs/serializers-confluent.md has a table of it; this is the table with the real package.
"""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import schema_registry as theirs
from confluent_kafka.schema_registry import avro as their_avro
from confluent_kafka.schema_registry import json_schema as their_json
from confluent_kafka.schema_registry import protobuf as their_protobuf
from confluent_kafka.schema_registry.error import SchemaRegistryError as TheirError
from confluent_kafka.schema_registry.rule_registry import RuleRegistry as TheirRuleRegistry
from confluent_kafka.serialization import MessageField, SerializationContext, SerializationError

from counterfoil.sdk import confluent
from counterfoil.sdk.confluent import avro, json_schema
from counterfoil.sdk.confluent.rule_registry import RuleRegistry
from counterfoil.sdk.testing import InMemoryRegistry
from strategies.protobuf.classes import generated_classes

Ride = generated_classes({"ride.proto": 'syntax = "proto3"; package taxi; message Ride { int64 id = 1; }'})["taxi.Ride"]
TEXT = '{"type":"record","name":"R","fields":[{"name":"a","type":"int"}]}'
OBJECT = '{"title":"J","type":"object","properties":{"a":{"type":"integer"}}}'
REFERRING = '{"type":"record","name":"Y","fields":[{"name":"r","type":"R"}]}'


def at(topic: str) -> SerializationContext:
    return SerializationContext(topic, MessageField.VALUE)


@pytest.fixture
def client() -> Any:
    return confluent.SchemaRegistryClient({"url": "http://registry.invalid"}, transport=InMemoryRegistry())


def test_their_serializers_take_our_client(client: Any):
    written = their_avro.AvroSerializer(client, TEXT)({"a": 1}, at("avro"))
    assert written == avro.AvroSerializer(client, TEXT)({"a": 1}, at("avro"))
    assert their_avro.AvroDeserializer(client)(written, at("avro")) == {"a": 1}
    as_json = their_json.JSONSerializer(OBJECT, client)({"a": 1}, at("json"))
    assert their_json.JSONDeserializer(OBJECT, None, client)(as_json, at("json")) == {"a": 1}
    assert json_schema.JSONDeserializer(OBJECT, None, client)(as_json, at("json")) == {"a": 1}
    message = their_protobuf.ProtobufSerializer(Ride, client)(Ride(id=5), at("protobuf"))
    read = their_protobuf.ProtobufDeserializer(Ride, None, client)
    assert read(message, at("protobuf")) == Ride(id=5)
    latest = {"use.latest.version": True, "auto.register.schemas": False}
    assert their_avro.AvroSerializer(client, None, conf=latest)({"a": 1}, at("avro")) == written


def test_our_calls_take_their_values(client: Any):
    schema = theirs.Schema(TEXT, "AVRO")
    assert client.register_schema("R", schema) == 1
    assert client.lookup_schema("R", schema).version == 1
    assert client.test_compatibility("R", schema)
    assert avro.AvroSerializer(client, schema)({"a": 1}, at("t"))
    for reference in (theirs.SchemaReference("R", "R", 1), confluent.SchemaReference("R", "R", 1)):
        referring = theirs.Schema(REFERRING, "AVRO", [reference])
        assert their_avro.AvroSerializer(client, referring)({"r": {"a": 1}}, at("y"))
        assert avro.AvroSerializer(client, referring)({"r": {"a": 1}}, at("y"))
    client.set_config("R", theirs.ServerConfig(compatibility=theirs.ConfigCompatibilityLevel.NONE))
    assert client.get_config("R").compatibility_level == "NONE"
    assert avro.AvroSerializer(client, TEXT, rule_registry=TheirRuleRegistry())({"a": 1}, at("t"))
    assert their_avro.AvroSerializer(client, TEXT, rule_registry=RuleRegistry())({"a": 1}, at("t"))


def test_what_the_page_says_is_not_accepted(client: Any):
    client.register_schema("R", confluent.Schema(TEXT, "AVRO"))
    ours = client.get_latest_version("R").schema
    with pytest.raises(Exception, match="schema"):
        their_avro.AvroSerializer(client, ours)({"a": 1}, at("t"))
    assert their_avro.AvroSerializer(client, ours.schema_str)({"a": 1}, at("t"))
    assert not issubclass(confluent.SchemaRegistryError, TheirError)
    with pytest.raises(confluent.SchemaRegistryError) as caught:
        client.get_latest_version("missing")
    assert (caught.value.error_code, caught.value.http_status_code) == (40401, 404)
    with pytest.raises(SerializationError):
        avro.AvroSerializer(client, TEXT)({"a": "x"}, at("t"))


def test_a_config_whose_members_have_other_types_is_refused_with_the_reason(client: Any):
    with pytest.raises(ValueError, match="ServerConfig that has no JSON: 'str' object"):
        client.set_config("R", theirs.ServerConfig(compatibility="NONE"))


@pytest.mark.parametrize("name", ["_registry", "_known_subjects", "_parsed_schemas", "_schema_id", "_strict"])
def test_private_attributes_of_theirs_are_not_there(client: Any, name: str):
    assert hasattr(their_avro.AvroSerializer(client, TEXT), name)
    assert not hasattr(avro.AvroSerializer(client, TEXT), name)
