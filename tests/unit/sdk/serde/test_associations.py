"""The strategy ASSOCIATED: the subject that the registry associates with the topic, or that of another strategy."""

from __future__ import annotations

import json
from urllib.parse import urlsplit

import pytest

from counterfoil.schema.errors import StoreUnavailable
from counterfoil.schema.model import Schema
from counterfoil.sdk import (
    RECORD,
    Associated,
    AvroDeserializer,
    AvroSerializer,
    SerializationContext,
    SubjectUnresolved,
)
from counterfoil.sdk.operations import create_association
from counterfoil.sdk.testing import InMemoryRegistry
from counterfoil.sdk.transport import Reply
from strategies.registry.topic_associations import association_of

EMPTY = json.dumps({"type": "record", "name": "taxi.Ride", "fields": []})
RIDE = json.dumps({"type": "record", "name": "taxi.Ride", "fields": [{"name": "id", "type": "long", "default": 0}]})
RIDES = SerializationContext("rides")


@pytest.fixture
def memory():
    return InMemoryRegistry()


@pytest.fixture
def client(memory):
    return memory.client(retries=0)


def associate(client, subject, *, topic="rides", cluster="lkc-1", field="value"):
    client.register(subject, Schema(EMPTY))
    client.call(create_association(association_of(topic, subject, cluster=cluster, field=field)))


def asked(memory):
    return [urlsplit(each.url) for each in memory.requests if "/associations/" in each.url]


def test_an_association_names_the_subject_and_is_requested_once(memory, client):
    associate(client, "shared")
    serialize = AvroSerializer(client, RIDE, subject="ASSOCIATED")
    for _ in range(3):
        serialize({"id": 1}, RIDES)
    assert client.subjects() == ("shared",)
    assert client.versions("shared") == (1, 2)
    assert [(each.path, each.query) for each in asked(memory)] == [
        ("/associations/resources/-/rides", "resourceType=topic&associationType=value")
    ]


def test_without_an_association_the_other_strategy_names_it(client):
    associate(client, "shared", field="key")
    AvroSerializer(client, RIDE, subject=Associated())({"id": 1}, RIDES)
    AvroSerializer(client, RIDE, subject=Associated(RECORD))({"id": 1}, RIDES)
    assert client.subjects() == ("rides-value", "shared", "taxi.Ride")
    with pytest.raises(SubjectUnresolved, match="associates no subject") as caught:
        AvroSerializer(client, RIDE, subject=Associated(None))({"id": 1}, RIDES)
    assert (caught.value.topic, caught.value.field) == ("rides", "value")


def test_several_associations_are_an_error_and_the_cluster_decides(client):
    associate(client, "one", cluster="lkc-1")
    associate(client, "two", cluster="lkc-2")
    with pytest.raises(SubjectUnresolved, match="several subjects with the topic: one, two"):
        AvroSerializer(client, RIDE, subject=Associated())({"id": 1}, RIDES)
    chosen = AvroSerializer(client, RIDE, subject=Associated(cluster_id="lkc-2"))
    chosen.set_cluster_id_resolver(lambda: "lkc-1")  # the id that is given goes before one that is found out
    chosen({"id": 1}, RIDES)
    found = AvroSerializer(client, RIDE, subject=Associated(None))
    found.set_cluster_id_resolver(lambda: "lkc-2")
    found({"id": 1}, RIDES)
    assert (client.versions("one"), client.versions("two")) == ((1,), (1, 2))
    assert "rides-value" not in client.subjects()


@pytest.mark.parametrize("answer", [lambda: "", lambda: None, lambda: {}["no broker"]])
def test_a_cluster_that_is_not_known_is_a_typed_error(client, answer):
    serialize = AvroSerializer(client, RIDE, subject=Associated())
    serialize.set_cluster_id_resolver(answer)
    with pytest.raises(SubjectUnresolved, match="id of the Kafka cluster"):
        serialize({"id": 1}, RIDES)


@pytest.mark.parametrize(
    "reply",
    [
        Reply(404, {"content-type": "text/html"}, b"<html>not here</html>"),
        Reply(404, {}, b'{"error_code": 404, "message": "HTTP 404 Not Found"}'),
    ],
)
def test_a_registry_that_knows_no_associations_leaves_it_to_the_other_strategy(memory, client, reply):
    memory.answer_next(reply)
    AvroSerializer(client, RIDE, subject=Associated())({"id": 1}, RIDES)
    assert client.subjects() == ("rides-value",)


def test_another_error_of_the_registry_is_raised(memory, client):
    memory.answer_next(Reply(500, {}, b'{"error_code": 50001, "message": "no store"}'))
    with pytest.raises(StoreUnavailable):
        AvroSerializer(client, RIDE, subject=Associated())({"id": 1}, RIDES)


def test_a_reader_of_the_latest_version_asks_for_the_association_of_its_topic(client):
    associate(client, "shared")
    message = AvroSerializer(client, RIDE, subject=Associated())({"id": 1}, RIDES)
    deserialize = AvroDeserializer(client, latest=True, subject=Associated(None))
    assert deserialize(message, RIDES) == {"id": 1}
    assert deserialize.decode(message, topic="rides").subject == "shared"
    with pytest.raises(SubjectUnresolved):
        deserialize(message, SerializationContext("elsewhere"))


def test_without_a_topic_nothing_is_requested(memory, client):
    AvroSerializer(client, RIDE, subject=Associated(RECORD))({"id": 1})
    assert client.subjects() == ("taxi.Ride",)
    assert asked(memory) == []
