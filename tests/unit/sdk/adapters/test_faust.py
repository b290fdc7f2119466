"""Faust's topics with a schema of ours, without a worker: what is written, and what is made of messages."""

from __future__ import annotations

import asyncio
import json

import faust
import pytest
from faust.exceptions import KeyDecodeError, ValueDecodeError
from faust.types import Message

from counterfoil.schema.errors import Forbidden
from counterfoil.sdk import (
    AvroDeserializer,
    AvroSerializer,
    EncodeError,
    RegistryUnavailable,
    SchemaNotCached,
    SubjectUnresolved,
)
from counterfoil.sdk.adapters.faust import RegistrySchema
from counterfoil.sdk.testing import InMemoryRegistry
from counterfoil.sdk.transport import NoReply, Reply

PLACE = {"type": "record", "name": "Place", "fields": [{"name": "zone", "type": "int"}]}
RIDE = json.dumps(
    {
        "type": "record",
        "name": "Ride",
        "fields": [
            {"name": "vendor", "type": "string"},
            {"name": "stops", "type": {"type": "array", "items": PLACE}, "default": []},
        ],
    }
)
NOT_FRAMED = b"no frame"


class Place(faust.Record):
    zone: int


class Ride(faust.Record):
    vendor: str
    stops: list[Place]


VALUE = Ride("1", [Place(5), Place(6)])


def schema_of(registry, *, id_location="prefix", key='"string"', **more):
    return RegistrySchema(
        serialize_key=AvroSerializer(registry, key),
        serialize_value=AvroSerializer(registry, RIDE, id_location=id_location),
        deserialize_key=AvroDeserializer(registry),
        deserialize_value=AvroDeserializer(registry),
        **more,
    )


def message(topic, key, value, headers=()):
    facts = {"partition": 0, "offset": 3, "timestamp": 0.0, "timestamp_type": 0, "checksum": None}
    return Message(topic, key=key, value=value, headers=headers, **facts)


def sent(topic, **record):
    """Return the key, the value and the headers that a topic would send."""
    made = topic.as_future_message(**record).message
    return made.key, made.value, dict(made.headers or {})


def scenario(check, held=None):
    """Run a coroutine function of an application and an asynchronous registry."""
    held = held or InMemoryRegistry()

    async def main():
        async with held.async_client() as registry:
            await check(faust.App("rides", broker="kafka://nowhere.invalid"), registry)

    asyncio.run(main())


@pytest.mark.slow
@pytest.mark.parametrize("id_location", ["prefix", "header"])
def test_records_go_out_and_come_back(id_location):
    held = InMemoryRegistry()

    async def check(app, registry):
        topic = app.topic("rides", value_type=Ride, schema=schema_of(registry, id_location=id_location))
        with pytest.raises(SchemaNotCached):
            sent(topic, key="1", value=VALUE)
        await topic.schema.warm()
        key, value, headers = sent(topic, key="1", value=VALUE, headers={"origin": b"x"})
        assert headers["origin"] == b"x"
        assert ("__value_schema_id" in headers) == (id_location == "header")
        async with held.async_client() as other:
            reader = app.topic("rides", value_type=Ride, schema=schema_of(other))
            event = await reader.decode(message("rides", key, value, tuple(headers.items())), propagate=True)
        assert (event.key, event.value) == ("1", VALUE)
        assert isinstance(event.value.stops[0], Place)
        assert sent(topic, key=None, value=None)[:2] == (None, None)

    scenario(check, held)


@pytest.mark.slow
@pytest.mark.parametrize("is_async", [True, False])
def test_a_denied_schema_names_the_message(is_async):
    held = InMemoryRegistry()
    with held.client() as registry:
        value = AvroSerializer(registry, RIDE).bind("rides")({"vendor": "1"})

    async def check(app, registry):
        reader = app.topic("rides", schema=schema_of(registry if is_async else held.client(retries=0)))
        held.answer_next(Reply(403, {}, b'{"error_code": 40301, "message": "denied"}'))
        with pytest.raises(Forbidden, match=r"topic='rides', partition=0, offset=3, field='value'.*schema_id=1"):
            await reader.decode(message("rides", None, value), propagate=True)

    scenario(check, held)


def test_every_topic_has_subjects_of_its_own_although_it_shares_the_schema():
    async def check(app, registry):
        shared = schema_of(registry)
        for topic in (app.topic("low", schema=shared), app.topic("high", schema=shared)):
            await topic.schema.warm()
        assert list(await registry.subjects()) == ["high-key", "high-value", "low-key", "low-value"]
        assert shared.topic is None

    scenario(check)


def test_a_derived_topic_passes_framed_values_on_and_replaces_the_schema_id_of_a_new_key():
    async def check(app, registry):
        topic = app.topic("rides", schema=schema_of(registry))
        derived = topic.derive(suffix="-vendor-repartition")
        await topic.schema.warm()
        await derived.schema.warm()
        _, value, _ = sent(topic, value=VALUE)
        key, again, headers = sent(derived, key="7", value=value, headers=[("__key_schema_id", b"old"), ("a", b"b")])
        assert again == value
        assert headers == {"a": b"b"}
        event = await derived.decode(message("rides-vendor-repartition", key, again), propagate=True)
        assert (event.key, event.value["vendor"]) == ("7", "1")

    scenario(check)


def test_a_value_that_does_not_fit_and_a_topic_without_a_name_are_errors_of_the_sender():
    async def check(app, registry):
        topic = app.topic("rides", schema=schema_of(registry))
        await topic.schema.warm()
        with pytest.raises(EncodeError, match="vendor"):
            sent(topic, key="1", value={"vendor": 1})
        with pytest.raises(SubjectUnresolved, match="topic"):
            await app.topic("a", "b", schema=schema_of(registry)).schema.warm()

    scenario(check)


def test_a_message_that_cannot_be_read_is_an_error_of_fausts_kind():
    async def check(app, registry):
        topic = app.topic("rides", value_type=Ride, schema=schema_of(registry))
        await topic.schema.warm()
        key, value, _ = sent(topic, key="1", value=VALUE)
        for bad in (NOT_FRAMED, value[:-1], b"\x00\x00\x00\x00\x63" + value[5:]):
            with pytest.raises(ValueDecodeError) as error:
                await topic.decode(message("rides", key, bad), propagate=True)
            assert "topic='rides'" in str(error.value)
        with pytest.raises(KeyDecodeError, match="magic byte"):
            await topic.decode(message("rides", NOT_FRAMED, value), propagate=True)
        with pytest.raises(ValueDecodeError, match="Expected"):  # a tombstone, and the topic does not allow it
            await topic.decode(message("rides", key, None), propagate=True)
        with pytest.raises(ValueDecodeError):  # a value of another schema: a string in place of a ride
            await topic.decode(message("rides", key, key), propagate=True)
        allowing = app.topic("rides", value_type=Ride, schema=schema_of(registry), allow_empty=True)
        assert (await allowing.decode(message("rides", None, None), propagate=True)).value is None

    scenario(check)


def test_a_message_that_cannot_be_read_is_sent_to_the_dead_letters():
    async def check(app, registry):
        letters = []

        class Letters:
            topics = ("rides-dead",)

            async def send(self, **letter):
                letters.append(letter)

        topic = app.topic("rides", value_type=Ride, schema=schema_of(registry, dead_letters=Letters()))
        bad = message("rides", b"k", NOT_FRAMED, (("a", b"\xff"),))
        assert await topic.decode(bad) is None
        assert letters[0]["key"] == b"k"
        assert letters[0]["headers"][0] == ("a", b"\xff")
        assert dict(letters[0]["headers"])["counterfoil.error.field"] == b"key"
        other = message("rides", b"k", NOT_FRAMED)
        await topic.on_value_decode_error(ValueDecodeError("from Faust's conductor"), other)
        assert dict(letters[1]["headers"])["counterfoil.error"] == b"ValueDecodeError"

    scenario(check)


@pytest.mark.parametrize("field", ["key", "value"])
def test_a_message_that_several_agents_cannot_read_is_one_dead_letter(field):
    """Faust calls the handler of each agent that reads the topic, with one message and one error."""

    async def check(app, registry):
        letters, fails = [], []

        class Letters:
            topics = ("rides-dead",)

            async def send(self, **letter):
                if fails:
                    raise ConnectionError(fails.pop())
                letters.append(letter)

        class Others(Letters):
            topics = ("others-dead",)

        shared = schema_of(registry, dead_letters=Letters())
        topics = [
            *(app.topic("rides", value_type=Ride, schema=shared) for _ in range(3)),
            app.topic("rides", value_type=dict, schema=schema_of(registry, dead_letters=Letters())),
            app.topic("rides", value_type=Ride, schema=schema_of(registry, dead_letters=Others())),
        ]
        bad = message("rides", NOT_FRAMED, NOT_FRAMED)
        fails.append("the broker is away")
        handlers = [getattr(_decoding(topic), f"on_{field}_decode_error") for topic in topics]
        error = (KeyDecodeError if field == "key" else ValueDecodeError)("from Faust's conductor")
        with pytest.raises(ConnectionError):
            await handlers[0](error, bad)
        for handle in (*handlers, *handlers):
            await handle(error, bad)
        assert len(letters) == 2
        again = message("rides", NOT_FRAMED, NOT_FRAMED)
        for handle in handlers[:4]:
            await handle(error, again)
        assert len(letters) == 3

    scenario(check)


def _decoding(topic):
    """Return a topic as Faust has it after it has compiled the function that decodes its messages."""
    assert topic.decode
    return topic


def test_a_registry_that_is_away_is_no_error_of_the_message():
    held = InMemoryRegistry()

    async def check(app, registry):
        topic = app.topic("rides", schema=schema_of(registry))
        await topic.schema.warm()
        key, value, _ = sent(topic, key="1", value=VALUE)
        async with held.async_client(retries=0) as other:
            held.answer_next(NoReply("refused"))
            reader = app.topic("rides", schema=schema_of(other))
            with pytest.raises(RegistryUnavailable):
                await reader.decode(message("rides", key, value), propagate=True)
            assert (await reader.decode(message("rides", key, value), propagate=True)).key == "1"

    scenario(check, held)


@pytest.mark.slow
def test_faust_serializes_where_there_is_no_serializer():
    async def check(app, registry):
        topic = app.topic("rides", key_type=str, schema=RegistrySchema(serialize_value=AvroSerializer(registry, RIDE)))
        await topic.schema.warm()
        assert sent(topic, key="1", value=VALUE)[0] == b"1"
        assert list(await registry.subjects()) == ["rides-value"]
        event = await topic.decode(message("rides", b"1", b'{"plain": "json"}'), propagate=True)
        assert (event.key, event.value) == ("1", {"plain": "json"})

    scenario(check)
