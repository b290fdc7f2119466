"""Programs with aiokafka: consume, process, produce, without blocking the event loop."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from counterfoil.sdk import (
    AsyncRegistry,
    AvroDeserializer,
    AvroSerializer,
    EncodeError,
    InvalidSettings,
    NotFramed,
    Registry,
    RegistryUnavailable,
)
from counterfoil.sdk.adapters.aiokafka import RegistryConsumer, RegistryProducer
from counterfoil.sdk.adapters.dead_letters import dead_letter
from local_services.process import wait_until
from strategies.kafka.records import (
    KEY,
    NOT_FRAMED,
    RIDE,
    RIDES,
    VALUE_HEADER,
    committed,
    end_offset,
    framed,
    read,
    removable,
    write,
)


@asynccontextmanager
async def consumer_of(broker, topic, registry):
    servers = {"bootstrap_servers": broker.bootstrap_servers, "group_id": topic, "auto_offset_reset": "earliest"}
    async with AIOKafkaConsumer(topic, **servers, enable_auto_commit=False) as consumer:
        yield consumer, RegistryConsumer(consumer, value_deserializer=AvroDeserializer(registry))


@asynccontextmanager
async def producer_of(broker, registry, **settings):
    async with AIOKafkaProducer(bootstrap_servers=broker.bootstrap_servers, **settings) as producer:
        serializers = {
            "key_serializer": AvroSerializer(registry, KEY),
            "value_serializer": AvroSerializer(registry, RIDE, id_location="header"),
        }
        yield producer, RegistryProducer(producer, **serializers)


def test_records_are_read_with_their_headers_and_bad_ones_have_their_error(broker, live_registry, topic):
    records = framed(live_registry.url, topic)
    by_header = framed(live_registry.url, topic, id_location="header")
    write(broker, topic, *records[:2], (b"bad", NOT_FRAMED, [("a", b"\xff")]), (None, None, None), by_header[3])

    async def main():
        async with AsyncRegistry(live_registry.url) as registry, consumer_of(broker, topic, registry) as (_, rides):
            slots = [await rides.getone(), *[slot async for slot in take(rides, 4)]]
            assert [each.value for each in slots] == [*RIDES[:2], None, None, RIDES[3]]
            assert [each.key for each in slots] == [b"0", b"1", None, None, b"3"]
            assert [type(each.error) for each in slots] == [*[type(None)] * 2, NotFramed, *[type(None)] * 2]
            letter = dead_letter(slots[2].record, slots[2].error)
            assert (letter["key"], letter["value"], letter["headers"][0]) == (b"bad", NOT_FRAMED, ("a", b"\xff"))

    asyncio.run(main())


async def take(rides, count):
    async for slot in rides:
        yield slot
        count -= 1
        if not count:
            return


def test_consume_process_produce_in_one_transaction_with_the_offsets(broker, live_registry, topic):
    target = f"{topic}-doubled"
    broker.create_topic(target)
    write(broker, topic, *framed(live_registry.url, topic))

    async def main():
        async with (
            AsyncRegistry(live_registry.url) as registry,
            consumer_of(broker, topic, registry) as (consumer, rides),
            producer_of(broker, registry, transactional_id=target) as (producer, doubled),
        ):
            await doubled.warm(target)
            slots = [slot for each in (await rides.getmany(timeout_ms=30_000)).values() for slot in each]
            assert [slot.value for slot in slots] == RIDES
            after = {partition: await consumer.position(partition) for partition in consumer.assignment()}

            async def send(fares):
                async with producer.transaction():
                    for slot, fare in zip(slots, fares, strict=True):
                        ride = {**slot.value, "fare": fare}
                        await doubled.send(target, ride, slot.key.decode(), headers=slot.record.headers)
                    await producer.send_offsets_to_transaction(after, topic)

            with pytest.raises(EncodeError):
                await send([1.0, 2.0, 3.0, "four"])
            assert committed(broker, topic, topic) is None
            await send([1.0, 2.0, 3.0, 4.0])
            wait_until(lambda: committed(broker, topic, topic) == len(RIDES), what="the end of the transaction")
            async with producer.transaction():
                await doubled.send_and_wait(target, None, "0")

    asyncio.run(main())
    messages = read(broker, target, 5)
    assert [name for name, _ in messages[0].headers()] == ["origin", VALUE_HEADER]
    with Registry(live_registry.url) as registry:
        deserialize = AvroDeserializer(registry)
        assert [deserialize.read(each, field="key") for each in messages] == ["0", "1", "2", "3", "0"]
        doubled = [deserialize.read(each) for each in messages]
    assert doubled == [*({**ride, "fare": number + 1.0} for number, ride in enumerate(RIDES)), None]


def test_aiokafkas_own_seats_take_functions_that_are_warmed_up(broker, live_registry, topic):
    async def main():
        async with AsyncRegistry(live_registry.url) as registry:
            serialize, deserialize = AvroSerializer(registry, RIDE), AvroDeserializer(registry, on_error="return")
            await serialize.warm(topic=topic)
            servers = {"bootstrap_servers": broker.bootstrap_servers}
            async with AIOKafkaProducer(value_serializer=serialize.bind(topic), **servers) as producer:
                for ride in [*RIDES, None]:
                    await producer.send_and_wait(topic, ride, key=b"1")
            await deserialize.warm(data=serialize.bind(topic)(RIDES[0]))
            write(broker, topic, (None, NOT_FRAMED, None))
            seats = {"value_deserializer": deserialize.bind(topic), "auto_offset_reset": "earliest"}
            async with AIOKafkaConsumer(topic, **seats, **servers) as consumer:
                values = [(await consumer.getone()).value for _ in range(6)]
            assert values[:5] == [*RIDES, None]
            assert isinstance(values[5], NotFramed)

    asyncio.run(main())


def test_records_are_read_again_after_the_registry_was_away(broker, live_registry, topic):
    write(broker, topic, *framed(live_registry.url, topic))

    async def main():
        with removable(live_registry) as (settings, network):
            async with (
                AsyncRegistry(settings) as registry,
                consumer_of(broker, topic, registry) as (_, rides),
                producer_of(broker, registry) as (_, producer),
            ):
                with network.gone():
                    with pytest.raises(RegistryUnavailable):
                        await rides.getone()
                    with pytest.raises(RegistryUnavailable):
                        await rides.getmany(timeout_ms=30_000)
                    with pytest.raises(RegistryUnavailable):
                        await producer.warm(topic)
                    with pytest.raises(RegistryUnavailable):
                        await producer.send(topic, RIDES[0], "1")
                assert [slot.value async for slot in take(rides, 4)] == RIDES

    asyncio.run(main())
    assert end_offset(broker, topic) == len(RIDES)


def test_a_registry_that_blocks_the_event_loop_is_refused(live_registry):
    with Registry(live_registry.url) as registry, pytest.raises(InvalidSettings, match="AsyncRegistry"):
        RegistryProducer(None, value_serializer=AvroSerializer(registry, RIDE))
