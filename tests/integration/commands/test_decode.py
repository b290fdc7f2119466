"""``counterfoil decode``: messages of every format, what a reader makes of them, and where reading fails."""

from __future__ import annotations

import base64
import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from counterfoil.contracts.cli.root import root_command
from counterfoil.contracts.cli.run import run
from counterfoil.schema import Schema, SchemaType
from counterfoil.sdk import AvroSerializer, JsonSerializer, ProtobufSerializer, Registry, SerializationContext

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from local_services import KafkaClient, RegistryProcess

RIDE = {
    "type": "record",
    "name": "taxi.Ride",
    "fields": [
        {"name": "id", "type": "string"},
        {"name": "fare", "type": {"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2}},
        {"name": "raw", "type": "bytes"},
    ],
}
VALUE = {"id": "a", "fare": Decimal("9.30"), "raw": b"\x01"}
SHOWN = {"id": "a", "fare": "9.30", "raw": "AQ=="}
PROTO = 'syntax = "proto3"; package x; message A {} message B { int64 n = 1; }'


@pytest.fixture
def registry(live_registry: RegistryProcess, monkeypatch: pytest.MonkeyPatch) -> Registry:
    """A client of the registry that the commands find in their environment."""
    monkeypatch.setenv("COUNTERFOIL_REGISTRY_URL", live_registry.url)
    return Registry(live_registry.url)


@pytest.fixture
def decode(registry: Registry, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """A function that runs the command in this process and returns its exit code and what it printed."""
    assert registry.ping() is None  # the registry of the command's environment answers

    def call(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = run(root_command(), ["decode", *arguments])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return call


def avro_message(registry: Registry, topic: str) -> bytes:
    message = AvroSerializer(registry, json.dumps(RIDE))(VALUE, SerializationContext(topic))
    assert message is not None
    return message


def facts(outcome: tuple[int, str, str]) -> Any:
    code, out, err = outcome
    assert (code, err) == (0, "")
    return json.loads(out)


def test_messages_of_every_format(registry, decode):
    found = facts(decode(avro_message(registry, "decode-avro").hex(), "--json"))
    assert (found["schema"]["schemaType"], found["schema"]["name"], found["value"]) == ("AVRO", "taxi.Ride", SHOWN)
    assert {"subject": "decode-avro-value", "version": 1} in found["schema"]["versions"]
    assert found["frame"]["bodyOffset"] == 5
    message = JsonSerializer(registry, '{"title": "J", "type": "object"}')(
        {"a": 1}, SerializationContext("decode-json")
    )
    found = facts(decode(base64.b64encode(message).decode(), "--base64", "--json"))
    assert (found["schema"]["schemaType"], found["schema"]["name"], found["value"]) == ("JSON", "J", {"a": 1})
    message = ProtobufSerializer(registry, PROTO, message="x.B")({"n": 5}, SerializationContext("decode-proto"))
    found = facts(decode(message.hex(" "), "--json"))
    assert (found["schema"]["name"], found["value"], found["frame"]["bytes"][-4:]) == ("x.B", {"n": 5}, "0202")


def test_a_schema_in_a_header(registry, decode):
    context = SerializationContext("decode-header", headers=[])
    body = AvroSerializer(registry, '"string"', id_location="header")("hello", context)
    ((_, header),) = context.headers
    code, out, _ = decode(body.hex(), "--header", header.hex())
    assert code == 0
    assert out.startswith(f"frame   header {header[:16].hex(' ')}…: guid ")
    assert out.endswith('value   "hello"\n')


def test_what_a_reader_makes_of_it(registry, decode, tmp_path: Path):
    message = avro_message(registry, "decode-reader").hex()
    reader = tmp_path / "ride.avsc"
    added = {"name": "tip", "type": "long", "default": 0}
    reader.write_text(json.dumps({**RIDE, "fields": [RIDE["fields"][0], added]}))
    found = facts(decode(message, "--reader", str(reader), "--json"))
    assert found["reader"]["value"] == {"id": "a", "tip": 0}
    changes = {(change["kind"], change["element"]) for change in found["reader"]["changes"]}
    assert changes == {("field-removed", "fare"), ("field-removed", "raw"), ("field-added", "tip")}
    reader.write_text(json.dumps({**RIDE, "fields": [{"name": "id", "type": "long"}]}))
    code, out, _ = decode(message, "--reader", str(reader))
    assert code == 1
    assert "~ id: type changed: string → long" in out
    assert "cannot be read: The writer's string cannot be read as the reader's long" in out
    assert facts(decode(message, "--reader", "decode-reader-value@latest", "--json"))["reader"]["changes"] == []
    registry.register("decode-other-value", Schema("true", SchemaType.JSON))
    code, _, err = decode(message, "--reader", "decode-other-value@1")
    assert code == 14
    assert "are not schemas of one language" in err


def test_a_message_that_ends_early_shows_where(registry, decode):
    code, out, err = decode(avro_message(registry, "decode-early")[:8].hex(), "--json")
    assert (code, err) == (1, "")
    assert json.loads(out)["error"]["path"] == "fare"
    assert json.loads(out)["error"]["offset"] == 8


@pytest.mark.parametrize(
    ("arguments", "code", "problem"),
    [
        ((), 2, "give MESSAGE, --file or --topic"),
        (("00", "--topic", "t"), 2, "only one of them"),
        (("zz",), 2, "MESSAGE is 'zz', which is not hexadecimal"),
        (("~~", "--base64"), 2, "MESSAGE is '~~', which is not base64"),
        (("00", "--header", "zz"), 2, "--header is 'zz', which is not hexadecimal"),
        (("--topic", "t"), 2, "--topic needs --bootstrap-servers"),
        (("--file", "/nowhere/at/all"), 14, "No such file"),
        (("7b7d",), 1, "expected the magic byte"),
        (("0000",), 1, "expected a schema id of 4 bytes"),
        (("007fffffffaa",), 1, "no schema with id 2147483647"),
        (("--topic", "t", "--bootstrap-servers", "127.0.0.1:1"), 11, "cannot be read"),
    ],
)
def test_what_cannot_be_decoded_is_reported(decode, arguments, code, problem):
    found, _, err = decode(*arguments)
    assert found == code
    assert problem in err


def test_a_record_of_a_topic(registry, decode, broker: KafkaClient):
    from confluent_kafka import Producer

    topic = f"decode-{uuid4().hex}"
    broker.create_topic(topic)
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    message = avro_message(registry, topic)
    context = SerializationContext(f"{topic}-other", headers=[])
    body = AvroSerializer(registry, '"string"', id_location="header")("last", context)
    producer.produce(topic, key=b"k", value=message)
    producer.produce(topic, value=body, headers=context.headers)
    producer.produce(topic, key=b"k", value=None)
    producer.flush()
    place = ("--topic", topic, "--bootstrap-servers", broker.bootstrap_servers)
    assert facts(decode(*place, "--offset", "0", "--json"))["value"] == SHOWN
    assert facts(decode(*place, "--offset", "1", "--json"))["value"] == "last"
    for options, problem in (((), "is null"), (("--offset", "9"), "the offsets from 0 to 2")):
        code, _, err = decode(*place, *options)
        assert code == 14
        assert problem in err
    code, _, err = decode(*place, "--key", "--offset", "0")
    assert code == 1
    assert "expected the magic byte" in err
