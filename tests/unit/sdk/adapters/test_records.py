"""Records with errors in their place, and dead letters, of clients whose records are plain objects."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from counterfoil.schema.errors import Forbidden
from counterfoil.sdk import (
    AsyncDeserializer,
    AvroDeserializer,
    AvroSerializer,
    MultiDeserializer,
    NotFramed,
    RegistryUnavailable,
    SchemaForbidden,
    SerializationContext,
)
from counterfoil.sdk.adapters.dead_letters import KeyValueReader, dead_letter, header_pairs, new_context
from counterfoil.sdk.testing import InMemoryRegistry
from counterfoil.sdk.transport import NoReply, Reply


def record(key, value, *, partition=0, offset=0, headers=()):
    return SimpleNamespace(topic="rides", key=key, value=value, headers=headers, partition=partition, offset=offset)


@pytest.fixture
def held():
    return InMemoryRegistry()


@pytest.fixture
def data(held):
    with held.client() as registry:
        return AvroSerializer(registry, '"string"')("a ride", SerializationContext("rides"))


@pytest.mark.parametrize("on_error", ["raise", "return"])
def test_the_error_of_a_key_or_a_value_is_in_the_place_of_the_record(held, data, on_error):
    with held.client() as registry:
        deserialize = AvroDeserializer(registry, on_error=on_error)
        reading = KeyValueReader(deserialize, deserialize)
        slots = [reading.read(record(*pair)) for pair in ((data, data), (b"bad", data), (data, b"bad"), (None, None))]
    assert [(each.key, each.value) for each in slots] == [("a ride", "a ride"), *[(None, None)] * 3]
    errors: list[Any] = [each.error for each in slots]
    assert [each and each.field for each in errors] == [None, "key", "value", None]


def test_without_deserializers_records_stay_bytes(data):
    assert KeyValueReader(None, None).read(record(b"k", data)).value == data


def test_the_first_record_of_each_partition_is_read_again_when_the_registry_is_away(held, data):
    places = [(0, 5), (1, 8), (0, 6), (1, 9)]
    records = [record(None, data, partition=partition, offset=offset) for partition, offset in places]
    again = []
    with held.client(retries=0) as registry:
        held.answer_next(NoReply("refused"))
        with pytest.raises(RegistryUnavailable):
            KeyValueReader(None, AvroDeserializer(registry)).read_all(records, again.append)
    assert [(each.partition, each.offset) for each in again] == [(0, 5), (1, 8)]


DENIED = Reply(403, {}, b'{"error_code": 40301, "message": "User is denied operation Read on Subject: rides-value"}')
PLACE = "topic='rides', partition=3, offset=7, field='value', subject='rides-value', schema_id=1"


@pytest.mark.parametrize("kind", [AvroDeserializer, MultiDeserializer])
def test_a_denied_schema_names_the_record_that_needs_it(held, data, kind):
    records, again = [record(None, data, partition=3, offset=7)], []
    with held.client() as registry:
        deserialize = kind(registry)
        for read in (
            deserialize.many,
            lambda found: deserialize.read(found[0]),
            deserialize.arrow,
            lambda found: deserialize.arrow(found, errors={}),
            lambda found: KeyValueReader(None, deserialize).read_all(found, again.append),
        ):
            held.answer_next(DENIED)
            with pytest.raises(Forbidden) as caught:
                read(records)
            wanted = PLACE if kind is AvroDeserializer else PLACE.replace("subject='rides-value', ", "")
            assert str(caught.value) == f"User is denied operation Read on Subject: rides-value (HTTP 403) [{wanted}]"
            assert caught.value.resource == "Subject: rides-value"
    assert again == records


def test_a_denied_schema_names_the_record_of_an_event_loop(held, data):
    async def main():
        async with held.async_client() as registry:
            deserialize = AsyncDeserializer(AvroDeserializer(registry))
            held.answer_next(DENIED)
            with pytest.raises(Forbidden, match="partition=3, offset=7"):
                await deserialize.read(record(None, data, partition=3, offset=7))
            held.answer_next(DENIED)
            with pytest.raises(Forbidden, match="partition=3, offset=7"):
                await deserialize.many([record(None, data, partition=3, offset=7)])

    asyncio.run(main())


@pytest.mark.parametrize("kind", [AvroDeserializer, MultiDeserializer])
def test_a_denied_schema_can_be_an_error_of_the_record(held, data, kind):
    with held.client() as registry:
        deserialize = kind(registry, on_forbidden="record")
        held.answer_next(DENIED)
        first, second = KeyValueReader(None, deserialize).read_all(
            [record(None, data, offset=7), record(None, data)], print
        )
    assert isinstance(first.error, SchemaForbidden)
    assert (first.error.schema_id, first.error.topic) == (1, "rides")
    assert "denied operation Read" in str(first.error)
    assert second.value == "a ride"
    assert dict(dead_letter(first.record, first.error)["headers"])["counterfoil.error"] == b"SchemaForbidden"


def test_a_dead_letter_is_the_record_with_the_reason_after_its_headers():
    error = NotFramed("The first byte is wrong", topic="rides", field="value")
    letter = dead_letter(record(b"k", b"bad", offset=7, headers=[("a", None), ("a", b"1")]), error)
    assert (letter["key"], letter["value"]) == (b"k", b"bad")
    assert letter["headers"] == [
        ("a", None),
        ("a", b"1"),
        ("counterfoil.error", b"NotFramed"),
        ("counterfoil.error.field", b"value"),
        ("counterfoil.error.text", str(error).encode()),
        ("counterfoil.src", b"rides/0/7"),
    ]


@pytest.mark.parametrize("headers", [{"a": b"1"}, [("a", b"1")], (("a", b"1"),)])
def test_headers_of_any_form_are_pairs(headers):
    assert list(header_pairs(headers)) == [("a", b"1")]
    assert list(header_pairs(None)) == []


def test_a_new_value_loses_the_schema_id_of_the_old_one_and_the_key_keeps_its_own():
    headers = [("__value_schema_id", b"old"), ("a", b"1"), ("__key_schema_id", b"key")]
    context = new_context("rides", "value", headers)
    assert context.headers is headers
    assert headers == [("a", b"1"), ("__key_schema_id", b"key")]
