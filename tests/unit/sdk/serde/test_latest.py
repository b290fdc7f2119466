"""The latest version of a subject: renewed in the background before its time is over, and kept while it must be."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass

import pytest

from counterfoil.schema.errors import SubjectNotFound
from counterfoil.schema.model import Metadata, Schema
from counterfoil.sdk import AvroDeserializer, AvroSerializer, Deletion, SerializationContext
from counterfoil.sdk.testing import InMemoryRegistry
from counterfoil.sdk.transport import NoReply

DEADLINE_S = 120
RIDES = SerializationContext("rides")


def record(*names):
    fields = [{"name": each, "type": "long", "default": 0} for each in names]
    return json.dumps({"type": "record", "name": "Ride", "fields": fields})


RIDE, RIDE_2 = Schema(record("id")), Schema(record("id", "tip"))


@dataclass
class Clock:
    now_s: float = 0.0

    def __call__(self):
        return self.now_s


class Gated(InMemoryRegistry):
    """A registry whose replies can be held back."""

    def __init__(self):
        super().__init__()
        self.gate = threading.Event()
        self.gate.set()

    def send(self, request):
        reply = super().send(request)
        assert self.gate.wait(DEADLINE_S)
        return reply


@pytest.fixture
def memory():
    return Gated()


def eventually(call, wanted):
    """Call until the result is the wanted one."""
    deadline = time.monotonic() + DEADLINE_S
    while (found := call()) != wanted:
        assert time.monotonic() < deadline, f"still {found}"
    return found


def written_version(serialize):
    return lambda: serialize({"id": 1}, RIDES)[4]


def test_before_its_time_is_over_it_is_renewed_while_the_known_version_is_written(memory):
    clock = Clock()
    memory.client().register("rides-value", RIDE)
    serialize = AvroSerializer(memory.client(retries=0), register="latest", latest_ttl_s=60, clock=clock)
    write = written_version(serialize)
    assert write() == 1
    memory.client().register("rides-value", RIDE_2)
    clock.now_s = 47
    count = len(memory.requests)
    assert write() == 1
    assert len(memory.requests) == count
    clock.now_s = 49
    memory.gate.clear()
    assert write() == 1
    clock.now_s = 1000
    assert write() == 1  # the registry has not answered yet
    memory.gate.set()
    eventually(write, 2)


def test_a_version_that_is_found_expired_is_requested_before_the_message_is_written(memory):
    clock = Clock()
    memory.client().register("rides-value", RIDE)
    serialize = AvroSerializer(memory.client(retries=0), register="latest", latest_ttl_s=60, clock=clock)
    write = written_version(serialize)
    assert write() == 1
    memory.client().register("rides-value", RIDE_2)
    clock.now_s = 3600
    assert write() == 2


def test_an_error_of_the_background_is_raised_when_the_time_is_over(memory):
    clock = Clock()
    client = memory.client()
    client.register("rides-value", RIDE)
    serialize = AvroSerializer(memory.client(retries=0), register="latest", latest_ttl_s=60, clock=clock)
    write = written_version(serialize)
    assert write() == 1
    client.delete_subject("rides-value", deletion=Deletion.SOFT)
    clock.now_s = 50
    count = len(memory.requests)
    assert write() == 1
    eventually(lambda: len(memory.requests), count + 1)
    clock.now_s = 61
    with pytest.raises(SubjectNotFound):
        eventually(write, None)


def test_while_the_registry_is_away_the_known_version_is_read_with(memory):
    clock = Clock()
    client = memory.client()
    client.register("rides-value", RIDE)
    deserialize = AvroDeserializer(memory.client(retries=0), latest=True, latest_ttl_s=60, clock=clock)
    message = b"\0\0\0\0\1\2"
    assert deserialize(message, RIDES) == {"id": 1}
    client.register("rides-value", RIDE_2)
    clock.now_s = 61
    memory.answer_next(NoReply("gone"))
    assert deserialize(message, RIDES) == {"id": 1}
    clock.now_s = 200
    assert deserialize(message, RIDES) == {"id": 1, "tip": 0}


def test_the_latest_version_with_metadata_is_a_reader_too(memory):
    client = memory.client()
    client.register("rides-value", Schema(RIDE.text, metadata=Metadata(properties={"stage": "live"})))
    client.register("rides-value", Schema(RIDE_2.text, metadata=Metadata(properties={"stage": "draft"})))
    message = b"\0\0\0\0\2\2\4"
    assert AvroDeserializer(client, latest={"metadata": {"stage": "live"}})(message, RIDES) == {"id": 1}
    assert AvroDeserializer(client, latest=True)(message, RIDES) == {"id": 1, "tip": 2}
    assert AvroSerializer(client, register={"metadata": {"stage": "live"}})({"id": 1}, RIDES)[4] == 1


def test_latest_is_read_by_the_plans_of_its_topic(memory):
    client = memory.client()
    client.register("a-value", RIDE)
    client.register("b-value", RIDE)
    client.register("b-value", RIDE_2)
    deserialize = AvroDeserializer(client, latest=True)
    message = b"\0\0\0\0\1\2"
    for _ in range(2):
        assert deserialize(message, SerializationContext("a")) == {"id": 1}
        assert deserialize(message, SerializationContext("b")) == {"id": 1, "tip": 0}
