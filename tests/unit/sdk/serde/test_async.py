"""Serializers with an asynchronous registry: a schema is awaited once; a call without await says what is missing."""

from __future__ import annotations

import asyncio
import json
from urllib.parse import urlsplit

import pytest

from counterfoil.schema.errors import SubjectNotFound
from counterfoil.schema.model import Reference, Schema
from counterfoil.sdk import (
    AsyncDeserializer,
    AsyncSerializer,
    AvroDeserializer,
    AvroSerializer,
    InvalidSettings,
    MultiDeserializer,
    NotFramed,
    RegistryUnavailable,
    SchemaNotCached,
    SerializationContext,
    UnknownSchemaId,
)
from counterfoil.sdk.testing import InMemoryRegistry
from counterfoil.sdk.transport import NoReply

RIDES = SerializationContext("rides")


def record(*names, name="Ride"):
    fields = [{"name": each, "type": "long", "default": 0} for each in names]
    return json.dumps({"type": "record", "name": name, "fields": fields})


RIDE, RIDE_2 = record("id"), record("id", "tip")


@pytest.fixture
def memory():
    return InMemoryRegistry()


@pytest.fixture
def registry(memory):
    return memory.async_client(retries=0)


def requested(memory):
    return [f"{request.method} {urlsplit(request.url).path}" for request in memory.requests]


def test_a_schema_is_awaited_once_and_not_for_every_message(memory, registry):
    async def whole():
        serialize = AsyncSerializer(AvroSerializer(registry, RIDE))
        deserialize = AsyncDeserializer(AvroDeserializer(registry))
        messages = [await serialize({"id": number}, RIDES) for number in range(3)]
        return [await deserialize(message, RIDES) for message in messages]

    assert asyncio.run(whole()) == [{"id": 0}, {"id": 1}, {"id": 2}]
    assert requested(memory) == ["POST /subjects/rides-value/versions", "GET /schemas/ids/1"]


def test_a_call_without_await_names_what_is_missing(memory, registry):
    memory.client().register("rides-value", Schema(RIDE))
    with pytest.raises(SchemaNotCached, match="await warm") as written:
        AvroSerializer(registry, RIDE)({"id": 1}, RIDES)
    assert (written.value.topic, written.value.field) == ("rides", "value")
    message = b"\0\0\0\0\1\2"
    for deserialize in (AvroDeserializer(registry), AvroDeserializer(registry, on_error="return")):
        with pytest.raises(SchemaNotCached) as read:
            deserialize(message, RIDES)
        assert (read.value.schema_id, read.value.topic, read.value.data) == (1, "rides", message)
        with pytest.raises(SchemaNotCached):
            deserialize.many([message])


def test_after_warm_the_same_objects_are_called_without_await(memory, registry):
    serialize, deserialize = AvroSerializer(registry, RIDE), AvroDeserializer(registry)
    write = serialize.bind("rides")

    async def warm():
        await serialize.warm(topic="rides")
        await deserialize.warm(ids=[1])

    asyncio.run(warm())
    count = len(memory.requests)
    assert deserialize.bind("rides")(write({"id": 7})) == {"id": 7}
    assert len(memory.requests) == count


def test_a_message_warms_its_own_schema_and_its_references(memory, registry):
    client = memory.client()
    client.register("place", Schema(record("zone", name="Place")))
    text = json.dumps({"type": "record", "name": "Trip", "fields": [{"name": "to", "type": "Place"}]})
    trip = Schema(text, references=(Reference("Place", "place", 1),))
    message = AvroSerializer(client, trip)({"to": {"zone": 4}}, RIDES)
    deserialize = AvroDeserializer(registry, reader=trip)
    asyncio.run(AsyncDeserializer(deserialize).read(message))
    assert deserialize(message) == {"to": {"zone": 4}}


def test_tasks_that_need_one_schema_request_it_once(memory, registry):
    message = AvroSerializer(memory.client(), RIDE)({"id": 1}, RIDES)
    memory.requests.clear()

    async def whole():
        deserialize = AsyncDeserializer(AvroDeserializer(registry))
        return await asyncio.gather(*(deserialize(message, RIDES) for _ in range(20)))

    assert asyncio.run(whole()) == [{"id": 1}] * 20
    assert requested(memory) == ["GET /schemas/ids/1"]


def test_many_and_decode_await_what_they_need(memory, registry):
    client = memory.client()
    old, new = (AvroSerializer(client, text)({"id": 1}, RIDES) for text in (RIDE, RIDE_2))

    async def whole():
        deserialize = AsyncDeserializer(AvroDeserializer(registry))
        values = await deserialize.many([old, None, new, b"{}", b"\0\0\0\0\x63\2", old], topic="rides")
        return values, await deserialize.decode(new, topic="rides")

    values, decoded = asyncio.run(whole())
    assert [values[0], values[1], values[2], values[5]] == [{"id": 1}, None, {"id": 1, "tip": 0}, {"id": 1}]
    assert [type(values[3]), type(values[4])] == [NotFramed, UnknownSchemaId]
    assert (decoded.schema_id, decoded.subject, decoded.version) == (2, "rides-value", 2)


def test_a_deserializer_of_several_formats_is_awaited_as_well(memory, registry):
    message = AvroSerializer(memory.client(), RIDE)({"id": 3}, RIDES)
    multi = MultiDeserializer(registry)
    with pytest.raises(SchemaNotCached):
        multi(message, RIDES)
    assert asyncio.run(AsyncDeserializer(multi)(message, RIDES)) == {"id": 3}
    assert multi(message, RIDES) == {"id": 3}


def test_errors_of_the_registry_are_those_of_the_call_that_awaits(memory, registry):
    async def missing():
        await AsyncSerializer(AvroSerializer(registry, RIDE, register="lookup"))({"id": 1}, RIDES)

    with pytest.raises(SubjectNotFound):
        asyncio.run(missing())
    memory.answer_next(NoReply("gone"))
    with pytest.raises(RegistryUnavailable):
        asyncio.run(missing())


def test_latest_is_renewed_by_a_task_while_the_known_version_is_written(memory, registry):
    now = [0.0]
    client = memory.client()
    client.register("rides-value", Schema(RIDE))
    serialize = AvroSerializer(registry, register="latest", latest_ttl_s=60, clock=lambda: now[0])

    async def whole():
        await serialize.warm(topic="rides")
        client.register("rides-value", Schema(RIDE_2))
        now[0] = 61
        first = serialize({"id": 1}, RIDES)
        async with asyncio.timeout(120):
            while (later := serialize({"id": 1}, RIDES)) == first:
                await registry.ping()
        return first, later

    first, later = asyncio.run(whole())
    assert (first[4], later[4]) == (1, 2)


def test_latest_without_a_loop_stays_what_it_was(memory, registry):
    now = [0.0]
    memory.client().register("rides-value", Schema(RIDE))
    serialize = AvroSerializer(registry, register="latest", latest_ttl_s=60, clock=lambda: now[0])
    asyncio.run(serialize.warm(topic="rides"))
    now[0] = 61
    assert serialize({"id": 1}, RIDES)[4] == 1


def test_a_registry_that_blocks_is_refused(memory):
    client = memory.client()
    for make in (
        lambda: AsyncSerializer(AvroSerializer(client, RIDE)),
        lambda: AsyncDeserializer(AvroDeserializer(client)),
        lambda: AsyncDeserializer(MultiDeserializer(client)),
    ):
        with pytest.raises(InvalidSettings, match="expected an AsyncRegistry"):
            make()


def test_warm_with_a_blocking_registry_is_done_when_it_returns(memory):
    client = memory.client()
    serialize, deserialize = AvroSerializer(client, RIDE), AvroDeserializer(client)
    serialize.warm(topic="rides")
    deserialize.warm(ids=[1])
    count = len(memory.requests)
    assert deserialize(serialize({"id": 1}, RIDES)) == {"id": 1}
    assert len(memory.requests) == count

    async def whole():
        await serialize.warm(topic="other", field="key")

    asyncio.run(whole())
    assert client.subjects() == ("other-key", "rides-value")
