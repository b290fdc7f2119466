"""Programs with FastStream's Kafka broker: binary headers, tombstones, dead letters, what is published."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import pytest

from counterfoil.sdk import AsyncRegistry, AvroDeserializer, AvroSerializer, EncodeError, Registry, RegistryUnavailable
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

kafka = late_module("faststream.kafka")
adapter = late_module("counterfoil.sdk.adapters.faststream")


@asynccontextmanager
async def running(broker, **settings):
    app = kafka.KafkaBroker(broker.bootstrap_servers, **settings)
    async with app:
        yield app


async def handled(app, topic, count, *, decoder, batch=False):
    """Handle ``count`` messages and return what the handler got."""
    found, done = [], asyncio.Event()

    @app.subscriber(
        topic, group_id=topic, auto_offset_reset="earliest", parser=adapter.parse, decoder=decoder, batch=batch
    )
    async def handle(ride: object):
        found.extend(ride if batch else [ride])
        if len(found) >= count:
            done.set()

    await app.start()
    await asyncio.wait_for(done.wait(), 300)
    return found


@pytest.mark.parametrize("batch", [False, True], ids=["one by one", "batch"])
def test_messages_are_read_with_binary_headers_and_bad_ones_are_sent_away(broker, live_registry, topic, batch):
    dead = f"{topic}.dead-letters"
    broker.create_topic(dead)
    records = framed(live_registry.url, topic)
    by_header = framed(live_registry.url, topic, id_location="header")
    write(broker, topic, *records[:2], (b"bad", NOT_FRAMED, [("a", b"\xff")]), (b"1", None, None), by_header[3])

    async def main():
        async with AsyncRegistry(live_registry.url) as registry, running(broker) as app:
            decoder = adapter.RegistryDecoder(AvroDeserializer(registry), dead_letters=app.publisher(dead))
            return await handled(app, topic, 4, decoder=decoder, batch=batch)

    assert asyncio.run(main()) == [*RIDES[:2], None, RIDES[3]]
    [message] = read(broker, dead, 1)
    headers = dict(message.headers())
    assert (message.key(), message.value(), headers["a"]) == (b"bad", NOT_FRAMED, b"\xff")
    assert headers["counterfoil.error"] == b"NotFramed"
    assert headers["counterfoil.src"] == f"{topic}/0/2".encode()


@pytest.mark.parametrize("id_location", ["prefix", "header"])
def test_what_is_published_is_serialized_for_its_topic(broker, live_registry, topic, id_location):
    async def main():
        async with AsyncRegistry(live_registry.url) as registry:
            write_value = AvroSerializer(registry, RIDE, id_location=id_location)
            middleware = adapter.serializing(write_value, key_serializer=AvroSerializer(registry, KEY), topics={topic})
            async with running(broker, middlewares=[middleware]) as app:
                for number, ride in enumerate([*RIDES[:2], None]):
                    await app.publish(ride, topic, key=str(number), headers={"origin": "test"})
                with pytest.raises(EncodeError, match="vendor"):
                    await app.publish({"vendor": "one", "fare": 1.0}, topic, key="x")
                await app.publish_batch(*RIDES[2:], topic=topic)

    asyncio.run(main())
    messages = read(broker, topic, 5)
    assert end_offset(broker, topic) == 5
    headers = dict(messages[0].headers())
    assert headers["origin"] == b"test"
    assert (VALUE_HEADER in headers) == (id_location == "header")
    with Registry(live_registry.url) as registry:
        deserialize = AvroDeserializer(registry)
        assert [deserialize.read(each) for each in messages] == [*RIDES[:2], None, *RIDES[2:]]
        assert [deserialize.read(each, field="key") for each in messages] == ["0", "1", "2", None, None]


def test_a_message_is_handled_and_answered_with_the_registry_away_at_first(broker, live_registry, topic):
    target = f"{topic}-doubled"
    broker.create_topic(target)
    write(broker, topic, *framed(live_registry.url, topic, id_location="header"))

    async def main():
        with removable(live_registry) as (settings, network):
            async with AsyncRegistry(settings) as registry:
                write_value = AvroSerializer(registry, RIDE)
                with network.gone(), pytest.raises(RegistryUnavailable):
                    await write_value.warm(topic=target)
                await write_value.warm(topic=target)
                async with running(broker, middlewares=[adapter.serializing(write_value, topics={target})]) as app:
                    group = {"group_id": topic, "auto_offset_reset": "earliest"}
                    decoder = adapter.RegistryDecoder(AvroDeserializer(registry))

                    @app.subscriber(topic, parser=adapter.parse, decoder=decoder, **group)
                    @app.publisher(target)
                    async def double(ride: dict):
                        return {**ride, "fare": 2 * ride["fare"]}

                    await app.start()
                    await asyncio.to_thread(read, broker, target, len(RIDES))

    asyncio.run(main())
    with Registry(live_registry.url) as registry:
        fares = [AvroDeserializer(registry).read(each)["fare"] for each in read(broker, target, len(RIDES))]
    assert fares == [1.0, 3.0, 5.0, 7.0]


def test_none_is_published_as_null_wherever_it_stands(broker, live_registry, topic):
    async def main():
        async with AsyncRegistry(live_registry.url) as registry:
            middleware = adapter.serializing(AvroSerializer(registry, RIDE), topics={topic})
            async with running(broker, middlewares=[middleware]) as app:
                await app.publish(None, topic, key=b"single")
                await app.publish(None, topic)
                await app.publish_batch(RIDES[0], None, topic=topic)
                await app.publish_batch(None, RIDES[1], topic=topic)
                await app.publish_batch(None, topic=topic)
                answers = [kafka.KafkaResponse(None, key=b"first"), kafka.KafkaResponse(RIDES[2], key=b"second")]
                await app.publish_batch(*answers, topic=topic)

    asyncio.run(main())
    messages = read(broker, topic, 9)
    assert end_offset(broker, topic) == 9
    keys = [b"single", None, None, None, None, None, None, b"first", b"second"]
    assert [each.key() for each in messages] == keys
    assert [each.value() is None for each in messages] == [True, True, False, True, True, False, True, True, False]
    with Registry(live_registry.url) as registry:
        values = [AvroDeserializer(registry).read(each) for each in messages]
    assert values == [None, None, RIDES[0], None, None, RIDES[1], None, None, RIDES[2]]


def test_a_handler_that_returns_none_publishes_null(broker, live_registry, topic):
    target = f"{topic}-kept"
    broker.create_topic(target)
    write(broker, topic, *framed(live_registry.url, topic))

    async def main():
        async with AsyncRegistry(live_registry.url) as registry:
            middleware = adapter.serializing(AvroSerializer(registry, RIDE), topics={target})
            async with running(broker, middlewares=[middleware]) as app:
                decoder = adapter.RegistryDecoder(AvroDeserializer(registry))

                @app.subscriber(
                    topic, group_id=topic, auto_offset_reset="earliest", parser=adapter.parse, decoder=decoder
                )
                @app.publisher(target)
                async def forget(ride: dict):
                    if ride == RIDES[0]:
                        return None
                    return kafka.KafkaResponse(None, key=b"1") if ride == RIDES[1] else ride

                await app.start()
                await asyncio.to_thread(read, broker, target, len(RIDES))

    asyncio.run(main())
    found = [(each.key(), each.value() is None) for each in read(broker, target, len(RIDES))]
    assert found == [(None, True), (b"1", True), (None, False), (None, False)]


def test_the_test_client_of_faststream_passes_none(live_registry, topic):
    found = []

    async def main():
        async with AsyncRegistry(live_registry.url) as registry:
            decoder = adapter.RegistryDecoder(AvroDeserializer(registry))
            middlewares = [adapter.serializing(AvroSerializer(registry, RIDE))]
            app = kafka.KafkaBroker(middlewares=middlewares, parser=adapter.parse, decoder=decoder)

            @app.subscriber(topic)
            async def handle(ride: object):
                found.append(ride)

            @app.subscriber(topic, batch=True)
            async def handle_all(rides: list):
                found.append(rides)

            async with kafka.TestKafkaBroker(app):
                await app.publish(None, topic, key=b"1")
                await app.publish_batch(RIDES[0], None, topic=topic)

    asyncio.run(main())
    assert sorted(map(str, found)) == sorted(map(str, [None, [None], RIDES[0], None, [RIDES[0], None]]))
