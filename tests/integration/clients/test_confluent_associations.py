"""The association methods of Confluent's own Python client, unchanged, against a running registry."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from confluent_kafka.schema_registry import (
    AssociationCreateOrUpdateInfo,
    AssociationCreateOrUpdateRequest,
    Schema,
    SchemaRegistryClient,
)
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.common.serde import SubjectNameStrategyType
from confluent_kafka.schema_registry.error import SchemaRegistryError
from confluent_kafka.serialization import MessageField, SerializationContext

if TYPE_CHECKING:
    from collections.abc import Callable

    from local_services import RegistryProcess

RIDE = json.dumps({"type": "record", "name": "Ride", "fields": [{"name": "id", "type": "long"}]})


@pytest.fixture
def client(live_registry: RegistryProcess) -> SchemaRegistryClient:
    return SchemaRegistryClient({"url": live_registry.url})


def request(topic: str, *associations: AssociationCreateOrUpdateInfo) -> AssociationCreateOrUpdateRequest:
    return AssociationCreateOrUpdateRequest(
        resource_name=topic,
        resource_namespace="lkc-1",
        resource_id=f"id-of-{topic}",
        resource_type="topic",
        associations=list(associations),
    )


def owned(text: str = RIDE) -> AssociationCreateOrUpdateInfo:
    return AssociationCreateOrUpdateInfo(association_type="value", lifecycle="STRONG", schema=Schema(text, "AVRO"))


def test_create_find_and_delete(client: SchemaRegistryClient, unique_name: Callable[[str], str]):
    topic = unique_name("rides")
    made = client.create_association(request(topic, owned()))
    assert (made.resource_name, made.resource_id) == (topic, f"id-of-{topic}")
    (info,) = made.associations
    assert (info.subject, info.lifecycle) == (f":.lkc-1:{topic}-value", "STRONG")
    assert json.loads(info.schema.schema_str)["name"] == "Ride"
    assert client.get_latest_version(info.subject).version == 1

    assert not client.create_association(request(topic, owned())).associations
    with pytest.raises(SchemaRegistryError) as refused:
        client.create_association(request(topic, owned('"string"')))
    assert (refused.value.http_status_code, refused.value.error_code) == (409, 40903)

    for namespace in ("lkc-1", "-"):
        (found,) = client.get_associations_by_resource_name(topic, namespace, "topic", ["value"])
        assert (found.subject, found.resource_id, found.association_type) == (info.subject, f"id-of-{topic}", "value")
    assert client.get_associations_by_resource_name(topic, "-", "topic", ["key"], 0, -1) == []
    assert client.get_associations_by_resource_name(topic, "-", offset=1) == []

    with pytest.raises(SchemaRegistryError) as frozen:
        client.delete_associations(f"id-of-{topic}")
    assert frozen.value.error_code == 40908
    client.delete_associations(f"id-of-{topic}", "topic", ["value"], cascade_lifecycle=True)
    assert client.get_associations_by_resource_name(topic, "-") == []
    assert info.subject not in client.get_subjects(deleted=True)


def test_serializers_find_the_subject(client: SchemaRegistryClient, unique_name: Callable[[str], str]):
    topic, subject = unique_name("rides"), unique_name("shared")
    schema_id = client.register_schema(subject, Schema(RIDE, "AVRO"))
    client.create_association(request(topic, AssociationCreateOrUpdateInfo(subject=subject, association_type="value")))
    settings = {"subject.name.strategy.type": SubjectNameStrategyType.ASSOCIATED, "auto.register.schemas": False}
    context = SerializationContext(topic, MessageField.VALUE)
    sent = AvroSerializer(client, RIDE, conf=settings)({"id": 7}, context)
    assert int.from_bytes(sent[1:5], "big") == schema_id
    assert AvroDeserializer(client, RIDE)(sent, context) == {"id": 7}
    assert client.get_subjects(subject_prefix=topic) == []


def test_serializers_fall_back_on_the_topics_name(client: SchemaRegistryClient, unique_name: Callable[[str], str]):
    topic = unique_name("rides")
    settings = {"subject.name.strategy.type": SubjectNameStrategyType.ASSOCIATED}
    AvroSerializer(client, RIDE, conf=settings)({"id": 7}, SerializationContext(topic, MessageField.VALUE))
    assert client.get_subjects(subject_prefix=topic) == [f"{topic}-value"]
