"""Observation of usage: ids and names of fields, never a value; the sink neither stops nor slows the program."""

from __future__ import annotations

import asyncio
import copy
import json
import os
import pickle
from dataclasses import dataclass
from typing import Any

import pytest

from counterfoil.schema.model import Schema
from counterfoil.sdk import (
    AvroDeserializer,
    AvroSerializer,
    InvalidSettings,
    JsonDeserializer,
    JsonSerializer,
    MultiDeserializer,
    ProtobufDeserializer,
    ProtobufSerializer,
    Registry,
    SerializationContext,
    Usage,
    operations,
)
from counterfoil.sdk.testing import InMemoryRegistry
from counterfoil.sdk.transport import Reply, Request
from counterfoil.sdk.usage import MAX_BATCHES
from strategies.registry.driver import InProcessRegistry


def record(name: str, **types: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": name, "type": kind} for name, kind in types.items()]}


ORDER = json.dumps(
    record(
        "a.Order",
        id="string",
        items={"type": "array", "items": record("Item", sku="string", n="int")},
        attrs={"type": "map", "values": "string"},
        paid=["null", record("Card", last4="string"), record("Cash", till="int")],
    )
)
VALUE = {"id": "secret", "items": [{"sku": "s", "n": 1}], "attrs": {"secret": "x"}, "paid": {"last4": "1234"}}
CONTEXT = SerializationContext("orders")


class Observed:
    """A registry with messages of one schema, and what was observed."""

    def __init__(self, **settings: Any) -> None:
        self.registry = InMemoryRegistry().client()
        self.data = AvroSerializer(self.registry, ORDER)(VALUE, CONTEXT)
        self.batches: list[Any] = []
        self.usage = Usage("billing", self.batches.append, **{"one_in": 1, "every_s": 3600, **settings})

    def reads(self) -> Any:
        self.usage.send()
        (read,) = self.batches[-1]["reads"]
        return read

    def deserializer(self, **settings: Any) -> Any:
        return AvroDeserializer(self.registry, **settings).observe(self.usage)


@pytest.fixture
def observed() -> Observed:
    return Observed()


def test_the_fields_that_are_read_are_noted_by_the_names_of_the_schema(observed):
    value = observed.deserializer()(observed.data, CONTEXT)
    assert value == VALUE
    assert value["items"][0].get("sku") == "s"
    assert [*value["attrs"].items()] == [("secret", "x")]
    assert value["paid"]["last4"] == "1234"
    assert value.get("none") is None
    read = observed.reads()
    assert read["paths"] == {"attrs": 1, "attrs{}": 1, "items": 1, "items[].sku": 1, "paid": 1, "paid<Card>.last4": 1}
    assert (read["schemaId"], read["messages"], read["sampled"], read["readerFields"]) == (1, 1, 1, None)
    assert "secret" not in json.dumps(observed.batches)
    assert {key: observed.batches[0][key] for key in ("kind", "application", "oneIn", "droppedBatches")} == {
        "kind": "usage", "application": "billing", "oneIn": 1, "droppedBatches": 0
    }  # fmt: skip


@pytest.mark.parametrize(
    "use",
    [
        dict,
        lambda value: {**value},
        json.dumps,
        copy.deepcopy,
        pickle.dumps,
        lambda value: value | {},
        lambda value: value.copy(),
    ],
)
def test_a_use_of_the_whole_value_reads_every_field(observed, use):
    use(observed.deserializer()(observed.data))
    assert {"id", "items", "attrs", "paid"} <= observed.reads()["paths"].keys()


def test_copies_are_plain(observed):
    value = observed.deserializer()(observed.data)
    assert type(pickle.loads(pickle.dumps(value))) is type(value.copy()) is dict
    assert AvroSerializer(observed.registry, ORDER)(value, CONTEXT) == observed.data


def test_one_message_in_many_is_sampled_and_all_are_counted():
    observed = Observed(one_in=10)
    deserialize = observed.deserializer()
    for _ in range(25):
        deserialize(observed.data)["id"]
    read = observed.reads()
    assert (read["messages"], read["sampled"], read["paths"]) == (25, 3, {"id": 3})
    observed.usage.send()
    assert len(observed.batches) == 1  # nothing new


def test_the_fields_of_a_readers_schema_are_all_that_can_be_read(observed):
    reader = {**json.loads(ORDER), "fields": [{"name": "key", "aliases": ["id"], "type": "string"}]}
    assert observed.deserializer(reader=json.dumps(reader))(observed.data)["key"] == "secret"
    read = observed.reads()
    assert (read["readerFields"], read["paths"]) == (["key"], {"key": 1})


def test_json_models_and_messages_of_protobuf(observed):
    @dataclass
    class Pet:
        name: str

    schema = json.dumps({"properties": {"name": {"type": "string"}}, "additionalProperties": {"type": "object"}})
    data = JsonSerializer(observed.registry, schema)({"name": "n", "secret": {"a": 1}}, SerializationContext("json"))
    value = JsonDeserializer(observed.registry).observe(observed.usage)(data)
    assert (value["name"], value["secret"]["a"]) == ("n", 1)
    assert observed.reads()["paths"] == {"name": 1, "{}": 1}
    JsonDeserializer(observed.registry, model=Pet).observe(observed.usage)(data)
    assert observed.reads()["paths"] == {"name": 1}
    proto = 'syntax = "proto3"; message A { B b = 1; map<string, int32> m = 2; message B { int32 n = 1; } }'
    data = ProtobufSerializer(observed.registry, proto)(
        {"b": {"n": 1}, "m": {"secret": 1}}, SerializationContext("proto")
    )
    value = ProtobufDeserializer(observed.registry, values="dict").observe(observed.usage)(data)
    assert (value["b"]["n"], value["m"]["secret"]) == (1, 1)
    assert observed.reads()["paths"] == {"b": 1, "b.n": 1, "m": 1, "m{}": 1}
    deserialize = ProtobufDeserializer(observed.registry).observe(observed.usage)
    assert [deserialize(data).b.n for _ in range(3)] == [1, 1, 1]
    read = observed.reads()
    assert (read["messages"], read["paths"]) == (3, {"*": 3})


def test_a_deserializer_of_several_formats_is_observed(observed):
    MultiDeserializer(observed.registry).observe(observed.usage)(observed.data, CONTEXT)["id"]
    assert observed.reads()["paths"] == {"id": 1}


def test_a_sink_that_fails_loses_the_oldest_batches_and_nothing_else():
    observed = Observed()
    taken: list[Any] = []

    def sink(batch: Any) -> None:
        if not is_there:
            raise ConnectionError
        taken.append(batch)

    is_there = False
    observed.usage = Usage("billing", sink, one_in=1, every_s=3600)
    deserialize = observed.deserializer()
    for _ in range(MAX_BATCHES + 3):
        deserialize(observed.data)["id"]
        observed.usage.send()
    assert observed.usage.dropped_batches == 3
    is_there = True
    observed.usage.close()
    assert len(taken) == MAX_BATCHES
    assert taken[-1]["droppedBatches"] == 2


def test_the_last_batch_is_sent_at_the_end_and_goes_to_a_file(tmp_path):
    observed = Observed()
    with Usage("billing", tmp_path / "usage.jsonl", one_in=1, every_s=3600) as usage:
        AvroDeserializer(observed.registry).observe(usage)(observed.data)["id"]
    (line,) = (tmp_path / "usage.jsonl").read_text().splitlines()
    assert json.loads(line)["reads"][0]["paths"] == {"id": 1}


def test_a_forked_process_sends_what_it_has_read_itself(tmp_path):
    observed = Observed()
    usage = Usage("billing", tmp_path / "usage.jsonl", one_in=1, every_s=3600)
    deserialize = AvroDeserializer(observed.registry).observe(usage)
    deserialize(observed.data)["id"]
    child = os.fork()
    if child == 0:
        deserialize(observed.data)["paid"]
        usage.close()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    usage.close()
    lines = (tmp_path / "usage.jsonl").read_text().splitlines()
    assert [json.loads(line)["reads"][0]["paths"] for line in lines] == [{"paid": 1}, {"id": 1}]


@pytest.mark.parametrize("one_in", [0, -1, True, 1.5, "x"])
def test_one_in_is_a_positive_number(one_in):
    with pytest.raises(InvalidSettings, match="one_in"):
        Usage("billing", print, one_in=one_in)


class Answering:
    """A transport that answers every request with one status, and keeps the bodies."""

    def __init__(self, status: int) -> None:
        self.status = status
        self.sent: list[Any] = []

    def send(self, request: Request) -> Reply:
        self.sent.append((request.method, request.url, json.loads(request.body or b"null")))
        body = {"stored": 1, "notices": []} if self.status == 200 else {"error_code": self.status, "message": "no"}
        return Reply(self.status, {"content-type": "application/json"}, json.dumps(body).encode())

    def close(self) -> None:
        """Do nothing: there are no connections."""


@pytest.mark.parametrize(("status", "dropped"), [(200, 0), (422, 1), (503, 0)])
def test_batches_are_posted_to_a_registry_and_those_that_it_refuses_are_dropped(status, dropped):
    observed = Observed()
    transport = Answering(status)
    target = Registry("http://one", transport=transport, retries=0)
    observed.usage = Usage("billing", target, version="4", environment="production", one_in=1, every_s=3600)
    observed.deserializer()(observed.data, CONTEXT)["id"]
    observed.usage.send()
    [(method, url, batch)] = transport.sent
    assert (method, url) == ("POST", "http://one/contracts/v1/usage")
    assert (batch["application"], batch["version"], batch["environment"]) == ("billing", "4", "production")
    assert batch["reads"][0]["paths"] == {"id": 1}
    assert observed.usage.dropped_batches == dropped
    transport.status = 200
    observed.usage.send()
    assert len(transport.sent) == (2 if status == 503 else 1)


def test_a_batch_of_the_sdk_is_one_that_the_registry_takes():
    observed = Observed()
    registry = InProcessRegistry()

    class Ours(Answering):
        def send(self, request: Request) -> Reply:
            path = request.url.removeprefix("http://one")
            reply = asyncio.run(registry.ask(request.method, path, request.body, dict(request.headers)))
            return Reply(reply.status, reply.headers, reply.body)

    target = Registry("http://one", transport=Ours(200))
    target.register("orders-value", Schema(ORDER))
    observed.usage = Usage("billing", target, one_in=1, every_s=3600)
    value = observed.deserializer()(observed.data, CONTEXT)
    assert value["items"][0]["sku"] == "s"
    observed.usage.send()
    [use] = target.call(operations.observed_uses("orders-value"))
    assert (use.application, use.messages, [*use.paths]) == ("billing", 1, ["items", "items[].sku"])
    [receipt] = [target.call(operations.post_usage({"application": "x", "reads": []}))]
    assert receipt.stored == 0
