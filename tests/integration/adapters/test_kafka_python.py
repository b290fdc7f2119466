"""Programs with kafka-python: serializers with topic and headers, and batches with errors in their place."""

from __future__ import annotations

import pytest

from counterfoil.sdk import AvroDeserializer, AvroSerializer, EncodeError, NotFramed, Registry, RegistryUnavailable
from counterfoil.sdk.adapters.dead_letters import dead_letter
from strategies.kafka.records import (
    KEY,
    NOT_FRAMED,
    RIDE,
    RIDES,
    VALUE_HEADER,
    end_offset,
    framed,
    read,
    removable,
    write,
)
from strategies.machine.late_modules import late_module

kafka = late_module("kafka")
adapter = late_module("counterfoil.sdk.adapters.kafka_python")


@pytest.fixture
def registry(live_registry):
    with Registry(live_registry.url) as client:
        yield client


@pytest.fixture
def consumer(broker, topic):
    settings = {"bootstrap_servers": broker.bootstrap_servers, "group_id": topic, "auto_offset_reset": "earliest"}
    consumer = kafka.KafkaConsumer(topic, **settings, enable_auto_commit=False)
    yield consumer
    consumer.close()


def batch(consumer, count, **deserializers):
    found = []
    while len(found) < count:
        found += adapter.poll_batch(consumer, 30_000, count - len(found), **deserializers)
    return found


@pytest.mark.parametrize("id_location", ["prefix", "header"])
def test_the_serializers_have_topic_and_headers(broker, registry, topic, id_location):
    producer = kafka.KafkaProducer(
        bootstrap_servers=broker.bootstrap_servers,
        key_serializer=adapter.RegistrySerializer(AvroSerializer(registry, KEY), "key"),
        value_serializer=adapter.RegistrySerializer(AvroSerializer(registry, RIDE, id_location=id_location)),
    )
    for number, ride in enumerate([*RIDES, None]):
        producer.send(topic, key=str(number) if number else None, value=ride)
    with pytest.raises(EncodeError, match="vendor"):
        producer.send(topic, key="x", value={"vendor": "one", "fare": 1.0})
    producer.close()
    assert end_offset(broker, topic) == len(RIDES) + 1
    assert (VALUE_HEADER in dict(read(broker, topic, 1)[0].headers() or [])) == (id_location == "header")

    write(broker, topic, (None, NOT_FRAMED, None))
    consumer = kafka.KafkaConsumer(
        topic,
        bootstrap_servers=broker.bootstrap_servers,
        auto_offset_reset="earliest",
        key_deserializer=adapter.RegistryDeserializer(AvroDeserializer(registry), "key"),
        value_deserializer=adapter.RegistryDeserializer(AvroDeserializer(registry, on_error="return")),
    )
    found = [next(consumer) for _ in range(6)]
    consumer.close()
    assert [each.key for each in found] == [None, "1", "2", "3", "4", None]
    assert [each.value for each in found[:5]] == [*RIDES, None]
    assert isinstance(found[5].value, NotFramed)
    assert found[5].value.data == NOT_FRAMED


def test_the_call_of_version_2_has_no_headers(registry, topic):
    data = adapter.RegistrySerializer(AvroSerializer(registry, RIDE)).serialize(topic, RIDES[0])
    assert adapter.RegistryDeserializer(AvroDeserializer(registry)).deserialize(topic, data) == RIDES[0]


def test_a_batch_has_an_error_in_the_place_of_a_bad_record(broker, live_registry, registry, topic, consumer):
    records = framed(live_registry.url, topic)
    by_header = framed(live_registry.url, topic, id_location="header")
    write(broker, topic, *records[:2], (b"bad", NOT_FRAMED, [("a", b"\xff")]), (None, None, None), by_header[3])
    slots = batch(consumer, 5, value_deserializer=AvroDeserializer(registry))
    assert [each.value for each in slots] == [*RIDES[:2], None, None, RIDES[3]]
    assert [type(each.error) for each in slots] == [*[type(None)] * 2, NotFramed, *[type(None)] * 2]
    letter = dead_letter(slots[2].record, slots[2].error)
    assert (letter["key"], letter["value"], letter["headers"][0]) == (b"bad", NOT_FRAMED, ("a", b"\xff"))


def test_records_are_read_again_after_the_registry_was_away(broker, live_registry, topic, consumer):
    write(broker, topic, *framed(live_registry.url, topic))
    with removable(live_registry) as (settings, network), Registry(settings) as registry:
        deserialize = AvroDeserializer(registry)
        with network.gone(), pytest.raises(RegistryUnavailable):
            batch(consumer, 4, value_deserializer=deserialize)
        assert [each.value for each in batch(consumer, 4, value_deserializer=deserialize)] == RIDES
