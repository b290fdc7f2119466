"""What a faulty registry does to serializers: typed errors, and nothing wrong is kept for later messages."""

from __future__ import annotations

import json
from typing import Any

import pytest

from counterfoil.schema import Schema
from counterfoil.schema.errors import CounterfoilError, RegistryError
from counterfoil.sdk import (
    AvroDeserializer,
    AvroSerializer,
    DecodeError,
    RegistryUnavailable,
    SerializationContext,
    UnknownSchemaId,
)
from counterfoil.sdk.testing import InMemoryRegistry
from counterfoil.sdk.transport import Clock, NoReply, Reply

RIDE = '{"type": "record", "name": "Ride", "fields": [{"name": "id", "type": "string"}]}'
CONTEXT = SerializationContext("rides")
VALUE = {"id": "a"}


def reply(document: Any, status: int = 200) -> Reply:
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    return Reply(status, {"content-type": "application/vnd.schemaregistry.v1+json"}, body)


@pytest.fixture
def memory() -> InMemoryRegistry:
    return InMemoryRegistry()


def written(memory: InMemoryRegistry) -> bytes:
    data = AvroSerializer(memory.client(), RIDE)(VALUE, CONTEXT)
    assert data is not None
    return data


FAULTS = [
    (NoReply("no connection"), RegistryUnavailable),
    (reply({"error_code": 50001, "message": "the store is away"}, 500), RegistryError),
    (reply({"error_code": 429, "message": "too many"}, 429), CounterfoilError),
    (reply(b"<html>", 200), RegistryUnavailable),
    (reply(b'{"schema": ', 200), RegistryUnavailable),
    (reply([], 200), RegistryUnavailable),
    (reply({"id": "x"}, 200), RegistryUnavailable),
]


@pytest.mark.parametrize(("fault", "kind"), FAULTS)
def test_a_fault_at_the_first_message_is_an_error_and_the_next_message_is_written(memory, fault, kind):
    serialize = AvroSerializer(memory.client(retries=0), RIDE)
    memory.answer_next(fault)
    with pytest.raises(kind):
        serialize(VALUE, CONTEXT)
    assert serialize(VALUE, CONTEXT) == written(memory)


@pytest.mark.parametrize(("fault", "kind"), FAULTS)
def test_a_fault_at_the_first_message_is_an_error_and_the_next_message_is_read(memory, fault, kind):
    data = written(memory)
    deserialize = AvroDeserializer(memory.client(retries=0))
    memory.answer_next(fault)
    with pytest.raises(kind):
        deserialize(data, CONTEXT)
    assert deserialize(data, CONTEXT) == VALUE


@pytest.mark.parametrize("schema_id", [0, -1, 2**31, True, 1.5])
def test_an_id_that_no_registry_issues_is_never_written(memory, schema_id):
    serialize = AvroSerializer(memory.client(retries=0), RIDE)
    memory.answer_next(reply({"id": schema_id}))
    with pytest.raises(RegistryUnavailable):
        serialize(VALUE, CONTEXT)
    assert serialize(VALUE, CONTEXT) == written(memory)


def test_data_with_the_id_of_another_schema_is_refused_and_others_are_read(memory):
    data = written(memory)
    other = memory.client().register("other-value", Schema('{"type": "fixed", "name": "F", "size": 900}')).id
    deserialize = AvroDeserializer(memory.client())
    for _ in range(2):
        with pytest.raises(DecodeError, match="900 bytes") as raised:
            deserialize(b"\x00" + other.to_bytes(4) + data[5:], CONTEXT)
        assert (raised.value.schema_id, raised.value.topic) == (other, "rides")
    assert deserialize(data, CONTEXT) == VALUE


def test_an_id_that_was_unknown_is_read_when_it_is_there(memory):
    now = 0.0
    data = b"\x00" + (1).to_bytes(4) + written(InMemoryRegistry())[5:]
    deserialize = AvroDeserializer(memory.client(clock=Clock(monotonic=lambda: now)))
    for _ in range(2):
        with pytest.raises(UnknownSchemaId):
            deserialize(data, CONTEXT)
    assert len(memory.requests) == 1  # the answer is kept for a while
    memory.client().register("rides-value", Schema(RIDE))
    now = 3600.0
    assert deserialize(data, CONTEXT) == VALUE


def test_a_schema_that_was_damaged_on_its_way_is_read_again_after_the_cache_is_cleared(memory):
    data = written(memory)
    client = memory.client()
    deserialize = AvroDeserializer(client)
    memory.answer_next(reply({"schema": '{"type": "recor'}))
    for _ in range(2):
        with pytest.raises(DecodeError, match="cannot be read"):
            deserialize(data, CONTEXT)
    client.clear_cache()
    assert deserialize(data, CONTEXT) == VALUE
