"""Avro messages between this SDK and confluent-kafka's serializers, over a running registry, in both directions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import schema_registry as theirs
from confluent_kafka.schema_registry import avro as their_avro
from confluent_kafka.serialization import MessageField, SerializationContext

from counterfoil.sdk import confluent as ours
from counterfoil.sdk.operations import create_association
from strategies.registry.topic_associations import association_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from local_services import RegistryProcess

PLACE = json.dumps({"type": "record", "name": "taxi.Place", "fields": [{"name": "zone", "type": "int"}]})
RIDE = {
    "type": "record",
    "name": "taxi.Ride",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "to", "type": ["null", "taxi.Place"], "default": None},
        {"name": "tags", "type": {"type": "map", "values": "string"}},
    ],
}
RIDE_2 = {**RIDE, "fields": [*RIDE["fields"], {"name": "tip", "type": "double", "default": 0.5}]}
VALUE = {"id": 7, "to": {"zone": 3}, "tags": {"a": "b"}}
PAIRS = pytest.mark.parametrize(
    "direction", [("ours", "theirs"), ("theirs", "ours"), ("ours", "ours")], ids=lambda pair: f"{pair[0]} to {pair[1]}"
)
STRATEGIES = [None, "TOPIC", "RECORD", "TOPIC_RECORD", "ASSOCIATED"]


class Side:
    """One of the two packages, with a client: the names and arguments are the same."""

    def __init__(self, url, *, is_ours):
        self.names = ours if is_ours else theirs
        self.avro = ours if is_ours else their_avro
        self.client = self.names.SchemaRegistryClient({"url": url})

    def schema(self, document, place_subject):
        return self.names.Schema(
            json.dumps(document), "AVRO", [self.names.SchemaReference("taxi.Place", place_subject, 1)]
        )


@pytest.fixture
def sides(live_registry: RegistryProcess) -> dict[str, Side]:
    return {name: Side(live_registry.url, is_ours=name == "ours") for name in ("ours", "theirs")}


@pytest.fixture
def place_subject(sides: dict[str, Side], unique_name: Callable[[str], str]) -> str:
    subject = unique_name("place")
    sides["ours"].client.register_schema(subject, ours.Schema(PLACE))
    return subject


def context(topic, headers=None):
    return SerializationContext(topic, MessageField.VALUE, headers)


@PAIRS
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_messages_with_references_are_read_by_the_other(sides, place_subject, unique_name, direction, strategy):
    writer, reader = (sides[name] for name in direction)
    conf = {} if strategy is None else {"subject.name.strategy.type": strategy}
    topic = unique_name("rides")
    document = {**RIDE, "name": f"taxi.{unique_name('Ride').replace('-', '_')}"}
    serialize = writer.avro.AvroSerializer(writer.client, writer.schema(document, place_subject), conf=conf)
    deserialize = reader.avro.AvroDeserializer(reader.client, conf=conf)
    data = serialize(VALUE, context(topic))
    assert deserialize(data, context(topic)) == VALUE
    both = {
        name: side.avro.AvroSerializer(side.client, side.schema(document, place_subject), conf=conf)
        for name, side in sides.items()
    }
    assert both["ours"](VALUE, context(topic)) == both["theirs"](VALUE, context(topic)) == data


@PAIRS
def test_a_guid_in_a_header_is_read_by_the_other(sides, place_subject, unique_name, direction):
    writer, reader = (sides[name] for name in direction)
    found = context(unique_name("rides"), headers=[])
    conf = {"schema.id.serializer": writer.names.header_schema_id_serializer}
    serialize = writer.avro.AvroSerializer(writer.client, writer.schema(RIDE, place_subject), conf=conf)
    data = serialize(VALUE, found)
    assert reader.avro.AvroDeserializer(reader.client)(data, found) == VALUE
    assert [name for name, _ in found.headers] == ["__value_schema_id"]


@PAIRS
def test_an_association_names_the_subject_for_both(sides, unique_name, direction):
    writer, reader = (sides[name] for name in direction)
    topic, subject = unique_name("rides"), unique_name("shared")
    text = json.dumps({"type": "record", "name": "Plain", "fields": [{"name": "id", "type": "long"}]})
    sides["ours"].client.register_schema(subject, ours.Schema(text))
    sides["ours"].client.call(create_association(association_of(topic, subject)))
    conf = {"auto.register.schemas": False, "use.latest.version": True}
    data = writer.avro.AvroSerializer(writer.client, text, conf=conf)({"id": 1}, context(topic))
    deserialize = reader.avro.AvroDeserializer(reader.client, conf={"use.latest.version": True})
    assert deserialize(data, context(topic)) == {"id": 1}


@PAIRS
def test_latest_and_a_readers_schema_mean_the_same(sides, place_subject, unique_name, direction):
    writer, reader = (sides[name] for name in direction)
    topic = unique_name("rides")
    old, new = (writer.schema(document, place_subject) for document in (RIDE, RIDE_2))
    data = writer.avro.AvroSerializer(writer.client, old)(VALUE, context(topic))
    writer.client.register_schema(f"{topic}-value", new)
    wanted = {**VALUE, "tip": 0.5}
    latest = reader.avro.AvroDeserializer(reader.client, conf={"use.latest.version": True})
    assert latest(data, context(topic)) == wanted
    own = reader.avro.AvroDeserializer(reader.client, reader.schema(RIDE_2, place_subject))
    assert own(data, context(topic)) == wanted
    conf = {"auto.register.schemas": False, "use.latest.version": True}
    writing_latest = writer.avro.AvroSerializer(writer.client, conf=conf)
    assert own(writing_latest({**VALUE, "tip": 2.0}, context(topic)), context(topic)) == {**VALUE, "tip": 2.0}
