"""Clients and serializers that are pickled, and that a forked process inherits while other threads use them."""

from __future__ import annotations

import multiprocessing
import pickle
import threading
from types import SimpleNamespace

import pytest
from google.protobuf.duration_pb2 import Duration

from counterfoil.sdk import (
    AsyncDeserializer,
    AsyncRegistry,
    AvroDeserializer,
    AvroSerializer,
    JsonDeserializer,
    JsonSerializer,
    MultiDeserializer,
    ProtobufDeserializer,
    ProtobufSerializer,
    Registry,
    RegistrySettings,
    SerdeError,
)
from counterfoil.sdk.confluent import AvroSerializer as ConfluentAvroSerializer
from counterfoil.sdk.confluent import SchemaRegistryClient
from counterfoil.sdk.testing import InMemoryRegistry

RIDE = '{"type": "record", "name": "Ride", "fields": [{"name": "fare", "type": "double"}]}'
JSON_RIDE = '{"title": "Ride", "type": "object", "properties": {"fare": {"type": "number"}}}'
CTX = SimpleNamespace(topic="rides", field="value")
DEADLINE_S = 120
SHARED = InMemoryRegistry()


class Network:
    """A transport that leads to the registry in memory from every copy."""

    def send(self, request):
        return SHARED.send(request)

    def close(self):
        pass


def registry():
    return Registry("http://registry.invalid", transport=Network())


def doubled(ride, _):
    return {"fare": 2 * ride["fare"]}


def copied(made):
    return pickle.loads(pickle.dumps(made))


def test_a_client_is_pickled_with_its_settings():
    settings = RegistrySettings.of(["http://one.invalid", "http://two.invalid"], auth=("user", "secret"), retries=1)
    for made in (Registry(settings), AsyncRegistry(settings)):
        again = copied(made)
        assert type(again) is type(made)
        assert again.settings == settings


def test_the_client_with_confluents_settings_is_pickled():
    again = copied(SchemaRegistryClient({"url": "http://one.invalid", "basic.auth.user.info": "user:secret"}))
    assert type(again) is SchemaRegistryClient
    assert again.settings.auth.user == "user"


@pytest.mark.parametrize(
    ("serialize", "deserialize", "value"),
    [
        (lambda: AvroSerializer(registry(), RIDE), lambda: AvroDeserializer(registry(), reader=RIDE), {"fare": 9.5}),
        (lambda: JsonSerializer(registry(), JSON_RIDE), lambda: JsonDeserializer(registry()), {"fare": 9.5}),
        (
            lambda: ProtobufSerializer(registry(), model=Duration),
            lambda: ProtobufDeserializer(registry(), model=Duration),
            Duration(seconds=5),
        ),
        (lambda: ConfluentAvroSerializer(registry(), RIDE), lambda: MultiDeserializer(registry()), {"fare": 9.5}),
    ],
    ids=["Avro", "JSON", "Protobuf", "Confluent's names, several formats"],
)
def test_serializers_are_pickled_before_and_after_use(serialize, deserialize, value):
    topic = SimpleNamespace(topic=f"rides-{type(value).__name__}-{len(SHARED.requests)}", field="value")
    write, read = serialize(), deserialize()
    data = copied(write)(value, topic)
    assert write(value, topic) == copied(write)(value, topic) == data
    assert read(data, topic) == value
    assert copied(read)(data, topic) == value


def test_a_pickled_copy_has_the_options_of_the_original():
    write = copied(AvroSerializer(registry(), RIDE, to_dict=doubled))
    read = copied(AvroDeserializer(registry(), from_dict=doubled, on_error="return"))
    assert read(write({"fare": 1.0}, CTX), CTX) == {"fare": 4.0}
    assert isinstance(read(b"{}", CTX), SerdeError)


def test_an_asynchronous_deserializer_is_pickled():
    assert copied(AsyncDeserializer(AvroDeserializer(AsyncRegistry("http://one.invalid")))).sync.is_async


def test_a_function_that_cannot_be_pickled_is_named():
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        copied(AvroSerializer(registry(), RIDE, to_dict=lambda ride, _: ride))


class Slow:
    """A transport that answers once it is let go, and in a forked process at once."""

    def __init__(self):
        self.memory = InMemoryRegistry()
        self.asked = threading.Event()
        self.go = threading.Event()

    def send(self, request):
        if threading.current_thread() is not threading.main_thread():
            self.asked.set()
            self.go.wait(DEADLINE_S)
        return self.memory.send(request)

    def close(self):
        pass


def test_a_forked_process_does_not_wait_for_requests_that_a_thread_of_its_parent_sends():
    network = Slow()
    write = AvroSerializer(Registry("http://registry.invalid", transport=network), RIDE)
    thread = threading.Thread(target=write, args=({"fare": 9.5}, CTX))
    thread.start()
    assert network.asked.wait(DEADLINE_S)
    child = multiprocessing.get_context("fork").Process(target=write, args=({"fare": 9.5}, CTX))
    child.start()
    child.join(DEADLINE_S)
    network.go.set()
    thread.join(DEADLINE_S)
    assert child.exitcode == 0


def test_a_forked_process_uses_the_plans_of_its_parent():
    memory = InMemoryRegistry()
    write = AvroSerializer(memory.client(), RIDE)
    write({"fare": 9.5}, CTX)
    requests = len(memory.requests)

    def use():
        write({"fare": 7.5}, CTX)
        raise SystemExit(len(memory.requests) - requests)

    child = multiprocessing.get_context("fork").Process(target=use)
    child.start()
    child.join(DEADLINE_S)
    assert child.exitcode == 0
