"""Confluent's own Python client and serializers, unchanged, against a running registry, in both directions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from confluent_kafka.schema_registry import Schema, SchemaReference, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer as TheirDeserializer
from confluent_kafka.schema_registry.avro import AvroSerializer as TheirSerializer
from confluent_kafka.schema_registry.error import SchemaRegistryError
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.schema_registry_client import ConfigCompatibilityLevel, ServerConfig
from confluent_kafka.serialization import MessageField, SerializationContext

from counterfoil.sdk import AvroDeserializer, AvroSerializer, Registry

if TYPE_CHECKING:
    from collections.abc import Callable

    from local_services import RegistryProcess


def record(*fields: dict[str, object], name: str = "Ride") -> str:
    return json.dumps({"type": "record", "name": name, "namespace": "taxi", "fields": list(fields)})


ID = {"name": "id", "type": "long"}
NOTE = {"name": "note", "type": "string", "default": ""}
FARE = {"name": "fare", "type": "double"}


@pytest.fixture
def client(live_registry: RegistryProcess) -> SchemaRegistryClient:
    return SchemaRegistryClient({"url": live_registry.url})


@pytest.fixture
def subject(unique_name: Callable[[str], str]) -> str:
    return unique_name("rides") + "-value"


def test_register_look_up_and_read_back(client: SchemaRegistryClient, subject: str):
    first = client.register_schema(subject, Schema(record(ID), "AVRO"))
    second = client.register_schema(subject, Schema(record(ID, NOTE), "AVRO"))
    assert second != first
    assert client.register_schema(subject, Schema(record(ID), "AVRO")) == first
    assert client.get_versions(subject) == [1, 2]
    assert client.get_latest_version(subject).schema_id == second
    assert json.loads(client.get_schema(first).schema_str)["fields"] == [ID]
    found = client.lookup_schema(subject, Schema(record(ID, NOTE), "AVRO"))
    assert (found.version, found.schema_id) == (2, second)
    assert subject in client.get_subjects()
    assert client.get_schema_by_guid(found.guid).schema_type == "AVRO"


def test_an_incompatible_schema_is_refused_with_reasons(client: SchemaRegistryClient, subject: str):
    client.register_schema(subject, Schema(record(ID), "AVRO"))
    broken = Schema(record(ID, FARE), "AVRO")
    assert not client.test_compatibility(subject, broken)
    with pytest.raises(SchemaRegistryError, match="READER_FIELD_MISSING_DEFAULT_VALUE") as refused:
        client.register_schema(subject, broken)
    assert refused.value.http_status_code == 409
    assert client.get_versions(subject) == [1]


def test_config_is_set_read_and_obeyed(client: SchemaRegistryClient, subject: str):
    client.set_config(subject, ServerConfig(compatibility=ConfigCompatibilityLevel.NONE))
    assert client.get_config(subject).compatibility_level == "NONE"
    client.register_schema(subject, Schema(record(ID), "AVRO"))
    client.register_schema(subject, Schema(record(FARE), "AVRO"))
    assert client.get_versions(subject) == [1, 2]


def test_soft_then_hard_delete(client: SchemaRegistryClient, subject: str):
    client.register_schema(subject, Schema(record(ID), "AVRO"))
    assert client.delete_subject(subject) == [1]
    assert subject not in client.get_subjects()
    assert client.delete_subject(subject, permanent=True) == [1]
    with pytest.raises(SchemaRegistryError) as gone:
        client.get_latest_version(subject)
    assert gone.value.error_code == 40401


def test_references_keep_what_they_name_from_being_deleted(
    client: SchemaRegistryClient, subject: str, unique_name: Callable[[str], str]
):
    place = unique_name("place")
    client.register_schema(place, Schema(record({"name": "zone", "type": "int"}, name="Place"), "AVRO"))
    ride = Schema(
        record(ID, {"name": "pickup", "type": "taxi.Place"}), "AVRO", [SchemaReference("taxi.Place", place, 1)]
    )
    client.register_schema(subject, ride)
    with pytest.raises(SchemaRegistryError) as refused:
        client.delete_subject(place)
    assert refused.value.error_code == 42206


def test_what_they_write_we_read_and_what_we_write_they_read(
    client: SchemaRegistryClient, live_registry: RegistryProcess, unique_name: Callable[[str], str]
):
    topic = unique_name("rides")
    context = SerializationContext(topic, MessageField.VALUE)
    schema = record(ID, FARE, NOTE)
    ride = {"id": 7, "fare": 9.3, "note": "to the airport"}
    with Registry(live_registry.url) as ours:
        theirs_in_bytes = TheirSerializer(client, schema)(ride, context)
        assert AvroDeserializer(ours)(theirs_in_bytes, context) == ride
        ours_in_bytes = AvroSerializer(ours, schema)(ride, context)
        assert TheirDeserializer(client)(ours_in_bytes, context) == ride
    assert ours_in_bytes == theirs_in_bytes


@pytest.mark.parametrize("another_version", [False, True], ids=["the latest", "not the latest"])
def test_a_serializer_that_is_given_an_id_writes_with_that_schema(
    client: SchemaRegistryClient, live_registry: RegistryProcess, subject: str, *, another_version: bool
):
    schema_id = client.register_schema(subject, Schema(record(ID), "AVRO"))
    if another_version:
        client.register_schema(subject, Schema(record(ID, NOTE), "AVRO"))
    context = SerializationContext(subject.removesuffix("-value"), MessageField.VALUE)
    settings = {"auto.register.schemas": False, "use.schema.id": schema_id}
    for _ in range(2):  # the second client is answered what the first one was
        fresh = SchemaRegistryClient({"url": live_registry.url})
        written = TheirSerializer(fresh, None, conf=settings)({"id": 7}, context)
        assert written is not None
        assert int.from_bytes(written[1:5]) == schema_id
        assert TheirDeserializer(fresh)(written, context) == {"id": 7}


def test_a_serializer_of_json_that_is_given_an_id_writes_with_that_schema(
    client: SchemaRegistryClient, live_registry: RegistryProcess, subject: str
):
    text = json.dumps({"type": "object", "properties": {"id": {"type": "integer"}}})
    schema_id = client.register_schema(subject, Schema(text, "JSON"))
    context = SerializationContext(subject.removesuffix("-value"), MessageField.VALUE)
    settings = {"auto.register.schemas": False, "use.schema.id": schema_id}
    fresh = SchemaRegistryClient({"url": live_registry.url})
    written = JSONSerializer(None, fresh, conf=settings)({"id": 7}, context)
    assert written is not None
    assert int.from_bytes(written[1:5]) == schema_id
    assert JSONDeserializer(None, schema_registry_client=fresh)(written, context) == {"id": 7}
