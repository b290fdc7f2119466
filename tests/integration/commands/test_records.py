"""``counterfoil encode``, ``produce`` and ``consume`` against a real registry and a real broker."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import uuid4

import pytest

from counterfoil.contracts.cli.root import root_command
from counterfoil.contracts.cli.run import run
from counterfoil.schema import Schema, SchemaType
from counterfoil.sdk import AvroDeserializer, AvroSerializer, Registry, SerializationContext
from local_services.process import PATIENCE_S

if TYPE_CHECKING:
    from local_services import KafkaClient, RegistryProcess

RIDE = {
    "type": "record",
    "name": "taxi.Ride",
    "fields": [
        {"name": "id", "type": "string"},
        {"name": "fare", "type": {"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2}},
        {"name": "what", "type": ["null", "string", "bytes"], "default": None},
    ],
}
RIDE_TEXT = json.dumps(RIDE)
VALUE = {"id": "a", "fare": "9.30", "what": {"bytes": "AQ=="}}
PROTO = 'syntax = "proto3"; package x; message A {} message B { int64 n = 1; bytes raw = 2; }'
Call: TypeAlias = Callable[..., tuple[int, str, str]]


@pytest.fixture
def registry(live_registry: RegistryProcess, monkeypatch: pytest.MonkeyPatch) -> Registry:
    """A client of the registry that the commands find in their environment."""
    monkeypatch.setenv("COUNTERFOIL_REGISTRY_URL", live_registry.url)
    return Registry(live_registry.url)


@pytest.fixture
def call(registry: Registry, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Call:
    """A function that runs a command, if it reads lines with these; it returns the exit code and what was printed."""
    assert registry.ping() is None
    file = tmp_path / "lines.jsonl"

    def run_command(*arguments: str, lines: tuple[Any, ...] = ()) -> tuple[int, str, str]:
        if arguments[0] in {"encode", "produce"}:
            file.write_text("\n".join(one if isinstance(one, str) else json.dumps(one) for one in lines))
            arguments = (*arguments, str(file))
        capsys.readouterr()
        code = run(root_command(), arguments)
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run_command


@pytest.fixture
def topic(broker: KafkaClient, registry: Registry, monkeypatch: pytest.MonkeyPatch) -> str:
    """A topic of two partitions, with a registered schema of its values."""
    monkeypatch.setenv("COUNTERFOIL_BOOTSTRAP_SERVERS", broker.bootstrap_servers)
    name = f"records-{uuid4().hex}"
    broker.create_topic(name, partitions=2)
    registry.register(f"{name}-value", Schema(RIDE_TEXT))
    return name


def documents(outcome: tuple[int, str, str]) -> list[Any]:
    code, out, err = outcome
    assert (code, err) == (0, "")
    return [json.loads(line) for line in out.splitlines()]


def test_encoded_values_are_what_the_sdk_reads_and_decode_prints(registry, call, tmp_path):
    held = registry.register("encode-avro-value", Schema(RIDE_TEXT))
    (found,) = documents(call("encode", "--schema", "encode-avro-value@latest", "--json", lines=(VALUE,)))
    assert found["id"] == held.id
    value = AvroDeserializer(registry)(bytes.fromhex(found["hex"]))
    assert (value["id"], str(value["fare"]), value["what"]) == ("a", "9.30", b"\x01")
    code, out, _ = call("decode", found["base64"], "--base64", "--json")
    assert (code, json.loads(out)["value"]) == (0, VALUE)
    file = tmp_path / "ride.avsc"
    file.write_text(RIDE_TEXT)
    assert (
        call("encode", "--schema", str(file), "--subject", "encode-avro-value", lines=(VALUE,))[1].strip()
        == found["hex"]
    )
    assert call("encode", "--schema", str(file), "--bare", lines=(VALUE,))[1].strip() == found["hex"][10:]
    assert call("encode", "--id", str(held.id), "--output", str(tmp_path / "m"), lines=(VALUE,))[0] == 0
    assert (tmp_path / "m").read_bytes().hex() == found["hex"]


def test_values_are_read_from_standard_input(registry):
    registry.register("encode-input-value", Schema('"long"'))
    command = [Path(sys.executable).with_name("counterfoil"), "encode", "--schema", "encode-input-value@1", "--bare"]
    done = subprocess.run(command, input="1\n-1\n", capture_output=True, text=True, timeout=PATIENCE_S, check=True)
    assert done.stdout.split() == ["02", "01"]
    printed = subprocess.run(
        [*command, "--output", "-"], input=b"1\n", capture_output=True, timeout=PATIENCE_S, check=True
    )
    assert printed.stdout == b"\2"


WITH_REFERENCES = [
    (
        {
            "place.avsc": '{"type": "record", "name": "Place", "namespace": "enc", "fields": []}',
            "trip.avsc": '{"type": "record", "name": "Trip", "fields": [{"name": "to", "type": "enc.Place"}]}',
        },
        {"to": {}},
    ),
    (
        {
            "enc_place.proto": 'syntax = "proto3"; package enc; message Place { string name = 1; }',
            "trip.proto": 'syntax = "proto3"; import "enc_place.proto"; message Trip { enc.Place to = 1; }',
        },
        {"to": {"name": "Gare"}},
    ),
    (
        {
            "enc_place.schema.json": '{"type": "object", "required": ["name"]}',
            "trip.schema.json": '{"type": "object", "properties": {"to": {"$ref": "enc_place.schema.json"}}}',
        },
        {"to": {"name": "Gare"}},
    ),
]


@pytest.mark.parametrize("case", WITH_REFERENCES, ids=["avro", "protobuf", "json"])
def test_a_file_with_references_has_the_id_under_which_it_was_registered(registry, call, monkeypatch, tmp_path, case):
    monkeypatch.chdir(tmp_path)
    files, value = case
    for name, text in files.items():
        Path(name).write_text(text)
    trip = [*files][-1]
    subject = f"encode-{trip}-value"
    encode = ("encode", "--schema", trip, "--subject", subject)
    code, _, err = call(*encode, lines=(value,))
    assert (code, "not found" in err) == (14, True), err
    assert call("schema", "register", trip, "--subject", f"{trip}={subject}")[0] == 0
    (found,) = documents(call(*encode, "--json", lines=(value,)))
    assert found["id"] == registry.version(subject).id
    assert documents(call("encode", "--schema", f"{subject}@latest", "--json", lines=(value,))) == [found]


def test_other_languages_are_encoded_too(registry, call):
    registry.register("encode-proto-value", Schema(PROTO, SchemaType.PROTOBUF))
    proto = ("encode", "--schema", "encode-proto-value@1", "--message", "x.B", "--base64")
    code, out, _ = call(*proto, lines=({"n": 5, "raw": "AQ=="},))
    assert code == 0
    printed = json.loads(call("decode", out.strip(), "--base64", "--json")[1])
    assert (printed["schema"]["name"], printed["value"]) == ("x.B", {"n": 5, "raw": "AQ=="})
    registry.register("encode-json-value", Schema('{"required": ["a"]}', SchemaType.JSON))
    code, out, err = call("encode", "--schema", "encode-json-value@1", lines=({}, {"a": 1}))
    assert (code, bytes.fromhex(out.strip())[5:]) == (1, b'{"a":1}')
    assert "line 1: " in err


@pytest.mark.parametrize(
    ("arguments", "lines", "outcome"),
    [
        ((), (), (2, "give --schema or --id")),
        (("--schema", "encode-bad-value@1"), ("{",), (1, "line 1: the line is no JSON")),
        (
            ("--schema", "encode-bad-value@1"),
            ({**VALUE, "fare": "x"},),
            (1, "line 1: fare: expected the text of a decimal"),
        ),
        (("--schema", "encode-bad-value@1"), (None,), (1, "null is a record without a value")),
        (("--schema", "encode-bad-value@1"), (), (4, "")),
        (("--schema", "encode-bad-value@1", "--output", "x"), (VALUE, VALUE), (2, "--output takes one message")),
        (("--schema", "encode-bad-value@9"), (VALUE,), (14, "Version 9 of subject")),
        (("--id", "2147483647"), (VALUE,), (14, "2147483647")),
    ],
)
def test_what_cannot_be_encoded_is_reported(registry, call, arguments, lines, outcome):
    registry.register("encode-bad-value", Schema(RIDE_TEXT))
    code, out, err = call("encode", *arguments, lines=lines)
    assert (code, out) == (outcome[0], "")
    assert outcome[1] in err


def test_what_is_produced_is_consumed_and_produced_again(broker: KafkaClient, topic, call):
    lines = (
        {"key": "k", "value": VALUE, "partition": 1, "headers": [{"name": "h", "text": "x"}, {"name": "n"}]},
        {"key": None, "value": {**VALUE, "what": None}, "partition": 1, "timestamp": "2026-01-31T12:00:00Z"},
        {"key": "k", "value": None, "partition": 1},
    )
    assert documents_of(call("produce", topic, "--dry-run", "--json", lines=lines)) == [None, None, None]
    assert call("consume", topic)[:2] == (0, "")
    assert documents_of(call("produce", topic, "--json", lines=lines)) == [0, 1, 2]
    found = documents(call("consume", topic, "--json"))
    assert [one["value"] for one in found] == [VALUE, {**VALUE, "what": None}, None]
    assert [one["key"] for one in found] == ["k", None, "k"]
    assert found[0]["headers"] == lines[0]["headers"]
    assert found[1]["timestamp"] == "2026-01-31T12:00:00+00:00"
    copy = f"{topic}-copy"
    broker.create_topic(copy, partitions=2)
    code, _, err = call("produce", copy, lines=tuple(found))
    assert (code, err) == (0, "")
    again = documents(call("consume", copy, "--json"))
    assert again == [{**one, "topic": copy} for one in found]


def documents_of(outcome: tuple[int, str, str]) -> list[int | None]:
    code, out, err = outcome
    assert (code, err) == (0, "")
    return [one.get("offset") for one in json.loads(out)["records"]]


def test_ids_in_headers_and_schemas_of_keys(registry, topic, call):
    registry.register(f"{topic}-key", Schema('"long"'))
    line = {"key": 7, "value": VALUE, "partition": 0}
    assert (
        call("produce", topic, "--key-schema", f"{topic}-key@latest", "--id-location", "header", lines=(line,))[0] == 0
    )
    (found,) = documents(call("consume", topic, "--json"))
    assert (found["key"], found["value"]) == (7, VALUE)
    assert {one["name"] for one in found["headers"]} == {"__key_schema_id", "__value_schema_id"}
    assert call("produce", topic, lines=(found,))[0] == 0
    first, second = documents(call("consume", topic, "--json"))
    assert {**second, "offset": 0, "headers": sorted(second["headers"], key=str)} == {
        **first, "headers": sorted(first["headers"], key=str)
    }  # fmt: skip
    other = dict(found, valueId=registry.version(f"{topic}-value").id, valueGuid=str(uuid4()))
    code, _, err = call("produce", topic, lines=(other,))
    assert code == 1
    assert "valueGuid: expected the guid of the schema with id" in err


def test_records_that_cannot_be_read_do_not_stop_the_others(broker: KafkaClient, registry, topic, call):
    from confluent_kafka import Producer

    good = AvroSerializer(registry, RIDE_TEXT)({**VALUE, "fare": b"\x03", "what": None}, SerializationContext(topic))
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for value in (b"no frame", b"\x00\x7f\xff\xff\xffabc", good[:7], good):
        producer.produce(topic, key=b"\xff", value=value, partition=0)
    producer.flush()
    code, out, err = call("consume", topic, "--json")
    found = [json.loads(line) for line in out.splitlines()]
    assert (code, err) == (1, "")
    assert [one.get("errors", {}).get("value", {}).get("path") for one in found] == [None, None, "fare", None]
    assert "magic byte" in found[0]["errors"]["value"]["problem"]
    assert "no schema with id" in found[1]["errors"]["value"]["problem"]
    assert (found[0]["key"], found[0]["keyForm"], found[0]["valueForm"]) == ("/w==", "base64", "base64")
    assert call("produce", topic, "--any-partition", lines=tuple(found[:1]))[0] == 0  # the same bytes
    code, out, _ = call("consume", topic, "--key-as", "text", "--max", "1", "--partition", "0")
    assert (code, out.count("key cannot be read: The data is no text")) == (1, 1)
    reader = f"{topic}-reader"
    registry.register(reader, Schema(json.dumps({**RIDE, "fields": [{"name": "id", "type": "string"}]})))
    code, out, _ = call("consume", topic, "--partition", "0", "--from", "3", "--max", "1", "--reader", f"{reader}@1")
    assert (code, out) == (0, '0:3  "/w=="  {"id": "a"}\n')


def test_where_to_start_and_when_to_end(topic, call):
    lines = tuple(
        {"key": None, "value": VALUE, "partition": 0, "timestamp": f"2026-01-0{day}T00:00:00Z"} for day in (1, 2, 3)
    )
    assert call("produce", topic, lines=lines)[0] == 0

    def offsets(*options: str) -> list[int]:
        return [one["offset"] for one in documents(call("consume", topic, "--json", "--partition", "0", *options))]

    assert offsets("--from", "1") == [1, 2]
    assert offsets("--from", "-1") == [2]
    assert offsets("--from", "2026-01-02T00:00:00Z") == [1, 2]
    assert offsets("--from", "2027-01-02T00:00:00Z") == []
    assert offsets("--max", "2") == [0, 1]
    assert offsets("--follow", "--max", "3") == [0, 1, 2]


@pytest.mark.parametrize(
    ("arguments", "lines", "outcome"),
    [
        (("consume", "nowhere-at-all"), (), (14, "there is no topic")),
        (("consume", "TOPIC", "--partition", "9"), (), (14, "has no partition 9; it has 2, from 0")),
        (("consume", "TOPIC", "--from", "yesterday"), (), (2, "--from is 'yesterday'")),
        (("consume", "TOPIC", "--client-setting", "x"), (), (2, "is not KEY=VALUE")),
        (("consume", "TOPIC", "--client-setting", "no.such=1"), (), (11, "no.such")),
        (("produce", "TOPIC"), ({"value": VALUE, "partition": 9},), (14, "has no partition 9")),
        (("produce", "TOPIC"), (), (4, "The input has no lines")),
        (("produce", "TOPIC"), ({"vlaue": 1},), (1, 'line 1: expected an object with the member "value"')),
        (("produce", "TOPIC"), ({"value": VALUE, "heders": 1},), (1, "only the members")),
        (("produce", "TOPIC"), ({"value": VALUE}, {"value": {}}), (1, "line 2: id: expected a str, since")),
        (("produce", "TOPIC"), ({"value": VALUE, "headers": [{}]},), (1, "headers[0]: expected")),
        (
            ("produce", "TOPIC"),
            ({"value": VALUE, "timestamp": "2026-01-01"},),
            (1, "timestamp: expected a time with its zone"),
        ),
        (("produce", "TOPIC"), ({"value": VALUE, "key": 5},), (1, "key: expected a text; got 5")),
        (("produce", "TOPIC", "--values"), ("[1]",), (1, "expected an object (taxi.Ride)")),
    ],
)
def test_mistakes_are_reported_and_nothing_is_written(topic, call, arguments, lines, outcome):
    code, _, err = call(*(topic if one == "TOPIC" else one for one in arguments), lines=lines)
    assert code == outcome[0], err
    assert outcome[1] in err
    assert call("consume", topic)[:2] == (0, "")
