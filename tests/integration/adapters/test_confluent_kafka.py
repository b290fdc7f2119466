"""Programs with confluent-kafka's clients: serializers of either form in every place, batches, transactions."""

from __future__ import annotations

import asyncio

import pytest
from confluent_kafka import Consumer, DeserializingConsumer, KafkaError, Producer, SerializingProducer
from confluent_kafka.aio import AsyncDeserializingConsumer, AsyncSerializingProducer
from confluent_kafka.error import ConsumeError, KeyDeserializationError, KeySerializationError, ValueSerializationError
from confluent_kafka.serialization import SerializationError, StringSerializer

from counterfoil.sdk import (
    RECORD,
    AvroDeserializer,
    AvroSerializer,
    NotFramed,
    Registry,
    RegistryUnavailable,
    confluent,
)
from counterfoil.sdk.adapters.confluent_kafka import consume_batch
from counterfoil.sdk.adapters.dead_letters import dead_letter
from counterfoil.sdk.operations import create_association
from local_services.process import wait_until
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
from strategies.registry.topic_associations import association_of


@pytest.fixture
def registry(live_registry):
    with Registry(live_registry.url) as client:
        yield client


@pytest.fixture
def consumer(broker, topic):
    settings = {"bootstrap.servers": broker.bootstrap_servers, "group.id": topic, "auto.offset.reset": "earliest"}
    made = Consumer({**settings, "enable.partition.eof": True, "enable.auto.commit": False})
    made.subscribe([topic])
    yield made
    made.close()


def batch(consumer, count, **deserializers):
    """Consume ``count`` messages, without those that report the end of the partition."""
    found = []

    def is_complete():
        slots = consume_batch(consumer, count - len(found), 0.2, **deserializers)
        found.extend(each for each in slots if not isinstance(each.error, ConsumeError))
        return len(found) >= count

    wait_until(is_complete, what=f"{count} messages")
    return found


def serdes(url, *, are_confluents, id_location="prefix"):
    """Key and value serializers and deserializers, as programs of either form make them."""
    if are_confluents:
        client = confluent.SchemaRegistryClient({"url": url})
        conf = {"schema.id.serializer": getattr(confluent, f"{id_location}_schema_id_serializer")}
        writers = (confluent.AvroSerializer(client, KEY), confluent.AvroSerializer(client, RIDE, conf=conf))
        return *writers, confluent.AvroDeserializer(client), confluent.AvroDeserializer(client, RIDE)
    client = Registry(url)
    writers = (AvroSerializer(client, KEY), AvroSerializer(client, RIDE, id_location=id_location))
    return *writers, AvroDeserializer(client), AvroDeserializer(client, reader=RIDE)


@pytest.mark.parametrize("are_confluents", [True, False], ids=["confluent's names", "own names"])
@pytest.mark.parametrize("id_location", ["prefix", "header"])
def test_the_serializing_clients_take_our_serializers(broker, live_registry, topic, are_confluents, id_location):
    write_key, write_value, read_key, read_value = serdes(
        live_registry.url, are_confluents=are_confluents, id_location=id_location
    )
    servers = {"bootstrap.servers": broker.bootstrap_servers}
    producer = SerializingProducer({**servers, "key.serializer.builder": write_key, "value.serializer": write_value})
    for number, ride in enumerate([*RIDES, None]):
        producer.produce(topic, key=str(number) if number else None, value=ride, headers=[])
    with pytest.raises(ValueSerializationError) as bad_value:
        producer.produce(topic, key="x", value={"vendor": "one", "fare": 1.0}, headers=[])
    assert "vendor" in str(bad_value.value)
    with pytest.raises(KeySerializationError):
        producer.produce(topic, key=7, value=RIDES[0], headers=[])
    producer.flush()
    producer.close()

    write(broker, topic, (b"bad", NOT_FRAMED, None))
    settings = {**servers, "group.id": topic, "auto.offset.reset": "earliest"}
    consumer = DeserializingConsumer(
        {**settings, "key.deserializer": read_key, "value.deserializer.builder": read_value}
    )
    consumer.subscribe([topic])
    found = []

    def is_complete():
        message = consumer.poll(0.2)
        if message is not None:
            found.append((message.key(), message.value()))
        return len(found) == len(RIDES) + 1

    wait_until(is_complete, what="the rides")
    assert found == [(None, RIDES[0]), *((str(n), RIDES[n]) for n in range(1, 4)), ("4", None)]
    with pytest.raises(KeyDeserializationError) as unreadable:
        wait_until(lambda: consumer.poll(0.2) is not None, what="the message without a frame")
    assert "magic byte" in str(unreadable.value)
    consumer.close()


@pytest.mark.parametrize("suffix", ["", ".builder"], ids=["ready-made", "builder"])
def test_the_asynchronous_serializing_clients_take_our_serializers(broker, live_registry, topic, suffix):
    servers = {"bootstrap.servers": broker.bootstrap_servers}

    async def main():
        async with confluent.AsyncSchemaRegistryClient({"url": live_registry.url}) as client:
            write_ride = await confluent.AsyncAvroSerializer(client, RIDE)
            read_ride = await confluent.AsyncAvroDeserializer(client)
            producer = await AsyncSerializingProducer({**servers, f"value.serializer{suffix}": write_ride})
            sent = [await producer.produce(topic, value=ride) for ride in RIDES]
            with pytest.raises(ValueSerializationError, match="vendor"):
                await producer.produce(topic, value={"vendor": "one", "fare": 1.0})
            await producer.flush()
            await asyncio.gather(*sent)
            await producer.close()
            settings = {**servers, "group.id": topic, "auto.offset.reset": "earliest"}
            consumer = await AsyncDeserializingConsumer({**settings, f"value.deserializer{suffix}": read_ride})
            await consumer.subscribe([topic])
            found = []
            while len(found) < len(RIDES):
                message = await consumer.poll(0.2)
                found += [] if message is None else [message.value()]
            await consumer.close()
            return found

    assert asyncio.run(main()) == RIDES


def test_the_cluster_id_of_the_client_is_used_for_associations(broker, live_registry, topic):
    client = confluent.SchemaRegistryClient({"url": live_registry.url})
    client.register_schema(f"shared-{topic}", confluent.Schema(RIDE))
    cluster_id = broker.admin.describe_cluster().result(30).cluster_id
    association = association_of(topic, f"shared-{topic}", cluster=cluster_id)
    client.call(create_association(association))
    producer = SerializingProducer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "key.serializer": StringSerializer(),
            "value.serializer": confluent.AvroSerializer(client, RIDE),
        }
    )
    producer.produce(topic, key="1", value=RIDES[0])
    producer.flush()
    assert client.get_subjects(f"{topic}-value") == []
    assert client.get_versions(f"shared-{topic}") == [1]


def test_a_batch_has_keys_values_and_headers_and_an_error_in_the_place_of_a_bad_message(
    broker, live_registry, registry, topic, consumer
):
    records = framed(live_registry.url, topic)
    by_header = framed(live_registry.url, topic, id_location="header")
    write(broker, topic, *records[:2], (b"bad", NOT_FRAMED, [("a", b"\xff")]), (None, None, None), by_header[3])
    slots = batch(consumer, 5, value_deserializer=AvroDeserializer(registry))
    assert [each.value for each in slots] == [*RIDES[:2], None, None, RIDES[3]]
    assert [each.key for each in slots] == [b"0", b"1", None, None, b"3"]
    assert [type(each.error) for each in slots] == [*[type(None)] * 2, NotFramed, *[type(None)] * 2]
    assert VALUE_HEADER in dict(slots[4].record.headers())

    letter = dead_letter(slots[2].record, slots[2].error)
    dead = f"{topic}.dead-letters"
    broker.create_topic(dead)
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    producer.produce(dead, **letter)
    producer.flush()
    [message] = read(broker, dead, 1)
    headers = dict(message.headers())
    assert (message.key(), message.value(), headers["a"]) == (b"bad", NOT_FRAMED, b"\xff")
    assert headers["counterfoil.error"] == b"NotFramed"
    assert headers["counterfoil.error.field"] == b"value"
    assert topic.encode() in headers["counterfoil.error.text"]
    assert headers["counterfoil.src"] == f"{topic}/0/2".encode()


def test_an_error_of_the_consumer_is_in_the_place_of_its_message(broker, topic, consumer):
    write(broker, topic, (b"1", b"raw", None))
    found = []

    def is_complete():
        found.extend(consume_batch(consumer, 10, 0.2))
        return len(found) >= 2

    wait_until(is_complete, what="the message and the end of the partition")
    assert (found[0].key, found[0].value) == (b"1", b"raw")
    assert found[1].error.args[0].code() == KafkaError._PARTITION_EOF


def test_messages_are_read_again_after_the_registry_was_away(broker, live_registry, topic, consumer):
    write(broker, topic, *framed(live_registry.url, topic))
    with removable(live_registry) as (settings, network), Registry(settings) as registry:
        deserialize = AvroDeserializer(registry)
        with network.gone(), pytest.raises(RegistryUnavailable):
            batch(consumer, 4, value_deserializer=deserialize)
        assert [each.value for each in batch(consumer, 4, value_deserializer=deserialize)] == RIDES


def test_a_transaction_has_the_offsets_inside_and_leaves_nothing_when_a_value_does_not_fit(
    broker, live_registry, registry, topic, consumer
):
    target = f"{topic}-fares"
    broker.create_topic(target)
    write(broker, topic, *framed(live_registry.url, topic))
    producer = SerializingProducer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "transactional.id": target,
            "key.serializer": AvroSerializer(registry, KEY),
            "value.serializer": AvroSerializer(registry, '"double"', subject=lambda topic, *_: topic),
        }
    )
    producer.init_transactions()
    slots = batch(consumer, 4, value_deserializer=AvroDeserializer(registry))

    def send(fares):
        producer.begin_transaction()
        for slot, fare in zip(slots, fares, strict=True):
            producer.produce(target, key=slot.key.decode(), value=fare)
        producer.send_offsets_to_transaction(
            consumer.position(consumer.assignment()), consumer.consumer_group_metadata()
        )
        producer.commit_transaction()

    with pytest.raises(SerializationError):
        send([0.5, 1.5, "a fare", 3.5])
    producer.abort_transaction()
    assert consumer.committed(consumer.assignment(), timeout=30)[0].offset < 0
    send([slot.value["fare"] for slot in slots])
    assert consumer.committed(consumer.assignment(), timeout=30)[0].offset == len(RIDES)
    fares = AvroDeserializer(registry, subject=RECORD)
    assert [fares.read(message) for message in read(broker, target, 4)] == [0.5, 1.5, 2.5, 3.5]


def test_a_serializer_without_its_registry_produces_nothing(broker, live_registry, topic):
    with removable(live_registry) as (settings, network), Registry(settings) as registry:
        producer = SerializingProducer(
            {"bootstrap.servers": broker.bootstrap_servers, "value.serializer": AvroSerializer(registry, RIDE)}
        )
        with network.gone():
            with pytest.raises(ValueSerializationError):
                producer.produce(topic, value=RIDES[0])
            with pytest.raises(RegistryUnavailable):
                AvroSerializer(registry, RIDE).warm(topic=topic)
        producer.produce(topic, value=RIDES[1])
        producer.flush()
        assert end_offset(broker, topic) == 1
        assert AvroDeserializer(registry).read(read(broker, topic, 1)[0]) == RIDES[1]
