"""Bad records, topics, checkpoints and services: named, counted, and dead letters or a stop with an exit code."""

from __future__ import annotations

import io
import json
import sys
import zipfile
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fastavro
import pytest
from confluent_kafka import TopicPartition

from counterfoil.converter.kafka.cluster import Cluster
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.schema.model import Schema, SchemaType
from counterfoil.schema.rest.bridges import NewBridge
from counterfoil.sdk import Registry, operations
from local_services import RegistryProcess, connector_jars, free_port, wait_until
from strategies.bridges.program import BridgeProgram, end
from strategies.kafka.records import produce

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from local_services import KafkaClient

LEVELS = 1_000_000
ROOM = {"max.message.bytes": "8000000"}
TARGET_TAKES = 6000


def record(*fields: tuple[str, Any]) -> dict[str, Any]:
    return {"type": "record", "name": "Ride", "fields": [{"name": name, "type": kind} for name, kind in fields]}


def avro(schema: Any, value: Any) -> bytes:
    written = io.BytesIO()
    fastavro.schemaless_writer(written, fastavro.parse_schema(schema), value)
    return written.getvalue()


def nested_groups(levels: int) -> bytes:
    """A message whose unknown field 15 is a group that holds a group, and so on."""
    return bytes([15 << 3 | 3]) * levels + bytes([15 << 3 | 4]) * levels


AVRO = record(("id", "long"), ("note", "string"))
AVRO_TARGET = record(("id", "int"), ("note", "string"))
TREE = {"type": "record", "name": "Tree", "fields": [{"name": "down", "type": ["null", "Tree"]}]}
JSON = {"type": "object", "properties": {"id": {"type": "integer"}, "note": {"type": "string"}}, "required": ["id"]}
JSON_TARGET = {
    "type": "object",
    "properties": {"id": {"type": "integer", "maximum": 100}, "note": {"type": "string"}},
    "required": ["id"],
}
PROTOBUF = 'syntax = "proto3"; message Ride { int64 id = 1; string note = 2; }'
PROTOBUF_TARGET = 'syntax = "proto3"; message Ride { int32 id = 1; string note = 2; }'
CAST = "fields: {id: {from: id, cast: int}}\n"


@dataclass(frozen=True)
class Language:
    """Two schemas, the rules between them, a good body, and bad bodies by the code of their dead letters."""

    source: Schema
    target: Schema
    rules: str
    good: bytes
    bad: tuple[tuple[str, bytes], ...]


LONG_NOTE = "x" * TARGET_TAKES
LANGUAGES = {
    "avro": Language(
        Schema(json.dumps(AVRO)),
        Schema(json.dumps(AVRO_TARGET)),
        CAST,
        avro(AVRO, {"id": 7, "note": "good"}),
        (
            ("undecodable", b""),
            ("undecodable", avro(AVRO, {"id": 7, "note": "cut off"})[:-2]),
            ("undecodable", b"\x0e\x04\xff\xfe"),
            ("undecodable", b"\xff" * 12),
            ("trailing-bytes", avro(AVRO, {"id": 7, "note": "good"}) + b"more"),
            ("out-of-range", avro(AVRO, {"id": 2**31, "note": "too far"})),
            ("too-large", avro(AVRO, {"id": 7, "note": LONG_NOTE})),
        ),
    ),
    "json": Language(
        Schema(json.dumps(JSON), SchemaType.JSON),
        Schema(json.dumps(JSON_TARGET), SchemaType.JSON),
        "fields: {id: {from: id, cast: long}}\n",
        b'{"id": 7, "note": "good"}',
        (
            ("undecodable", b""),
            ("undecodable", b'{"id": 7, "no'),
            ("undecodable", b'{"id": 7, "note": "\xff\xfe"}'),
            ("undecodable", b'{"id": 7} more'),
            ("undecodable", b'{"id": "seven"}'),
            ("undecodable", b'{"id": 7, "deep": ' + b"[" * LEVELS + b"]" * LEVELS + b"}"),
            ("unencodable", b'{"id": 101}'),
            ("too-large", json.dumps({"id": 7, "note": LONG_NOTE}).encode()),
        ),
    ),
    "protobuf": Language(
        Schema(PROTOBUF, SchemaType.PROTOBUF),
        Schema(PROTOBUF_TARGET, SchemaType.PROTOBUF),
        CAST,
        b"\x00\x08\x07\x12\x04good",
        (
            ("not-framed", b""),
            ("undecodable", b"\x00\x08\x07\x12\x08cut"),
            ("undecodable", b"\x00\x08\x07\x12\x02\xff\xfe"),
            ("undecodable", b"\x02\x02\x08\x07"),
            ("undecodable", b"\x00" + nested_groups(LEVELS)),
            ("out-of-range", b"\x00\x08\x80\x80\x80\x80\x08"),
            ("too-large", b"\x00\x08\x07\x12\xf0\x2e" + LONG_NOTE.encode()),
        ),
    ),
}


@dataclass
class Case(BridgeProgram):
    """A bridge between topics of its own."""

    source: str
    target: str
    schema_id: int = 0

    @property
    def dead(self) -> str:
        return f"{self.source}.bridge-dlq"

    @property
    def cluster(self) -> Cluster:
        return Cluster(self.broker.bootstrap_servers)

    def register(self, language: Language) -> None:
        with Registry(self.registry.url) as registry:
            registry.register(f"{self.target}-value", language.target)
            self.schema_id = registry.register(f"{self.source}-value", language.source).id

    def write_file(self, rules: str, *, target: str | None = None, more: str = "errors: {stop_above: never}\n") -> str:
        text = f"bridge: {self.source}\nsource: {{topic: {self.source}}}\ntarget: {{topic: {target or self.target}}}\n"
        (self.folder / "bridge.yaml").write_text(text + more + rules)
        return text + more + rules

    def produce(self, *values: bytes) -> None:
        records = ({"value": value, "key": str(number).encode(), "partition": 0} for number, value in enumerate(values))
        produce(self.broker.bootstrap_servers, self.source, records, **{"message.max.bytes": 8_000_000})

    def framed(self, body: bytes) -> bytes:
        return b"\x00" + self.schema_id.to_bytes(4, "big") + body

    def read(self, topic: str) -> list[Any]:
        return list(self.cluster.read(topic, self.cluster.watermarks(topic)))

    def convert(self, *options: str) -> tuple[int, str, str]:
        return self.run("run", "bridge.yaml", "--master", "local[2]", *options)


@pytest.fixture
def case(
    warm_counterfoil: Path,
    broker: KafkaClient,
    live_registry: RegistryProcess,
    unique_name: Callable[[str], str],
    tmp_path: Path,
) -> Case:
    made = Case(warm_counterfoil, broker, live_registry, tmp_path, unique_name("bad-in"), unique_name("bad-out"))
    broker.create_topic(made.source, settings=ROOM)
    broker.create_topic(made.target, settings={"max.message.bytes": str(TARGET_TAKES)})
    return made


@pytest.fixture
def avro_case(case: Case) -> Case:
    case.register(LANGUAGES["avro"])
    case.write_file(CAST)
    return case


@pytest.mark.parametrize("name", LANGUAGES)
def test_every_kind_of_bad_record_is_a_dead_letter_with_its_reason(case: Case, name: str) -> None:
    language = LANGUAGES[name]
    case.register(language)
    case.write_file(language.rules)
    foreign = [b"", b"\x00", b"\x00\x00\x00", b"\x01" + case.framed(language.good)[1:], b'{"id": 7}', b"\xff" * 40]
    unknown = [b"\x00" + number.to_bytes(4, "big") + language.good for number in (2**31 - 1, 2**32 - 1)]
    bad = [
        *(("not-framed", value) for value in foreign),
        *(("unknown-schema-id", value) for value in unknown),
        *((code, case.framed(body)) for code, body in language.bad),
    ]
    good = case.framed(language.good)
    case.produce(good, *(value for _, value in bad), good)

    code, said, complained = case.convert()
    assert (code, complained) == (ExitCode.OK, ""), complained
    assert f"dead letters {len(bad)} (" in said.splitlines()[-1]
    assert len(case.read(case.target)) == 2
    letters = case.read(case.dead)
    found = [(dict(letter.headers())["bridge.error"].decode(), letter.value()) for letter in letters]
    assert [code for code, _ in found] == [code for code, _ in bad]
    assert [value for _, value in found] == [value for _, value in bad]
    assert all(dict(letter.headers())["bridge.error.text"] for letter in letters)

    code, said, complained = case.run("verify", "bridge.yaml", "--sample", "all", "--format", "json")
    assert code == ExitCode.OK, said + complained
    assert json.loads(said)["dead_by_code"] == Counter(code for code, _ in bad)


def test_a_million_levels_of_a_type_that_contains_itself_are_a_dead_letter(case: Case) -> None:
    schema = Schema(json.dumps(TREE))
    case.register(Language(schema, schema, "", b"", ()))
    case.write_file("")
    case.produce(case.framed(b"\x02" * LEVELS + b"\x00"), case.framed(b"\x02\x00"))
    code, _, complained = case.convert("--engine", "reference")
    assert (code, complained) == (ExitCode.OK, ""), complained
    (letter,) = case.read(case.dead)
    assert dict(letter.headers())["bridge.error"] == b"undecodable"
    assert [message.value() for message in case.read(case.target)] == [case.framed(b"\x02\x00")]


def assert_nothing_was_created(case: Case) -> None:
    assert case.cluster.partition_count(case.dead) is None
    assert not (case.folder / "checkpoints").exists()


def test_a_missing_target_is_named_and_nothing_is_created(avro_case: Case) -> None:
    with Registry(avro_case.registry.url) as registry:
        registry.register("nowhere-value", LANGUAGES["avro"].target)
    avro_case.write_file(CAST, target="nowhere")
    code, _, complained = avro_case.convert()
    assert code == ExitCode.BROKEN
    assert "there is no topic nowhere to write; create it with" in complained
    assert_nothing_was_created(avro_case)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("fields: {id: {from: id, cast: int}\n", "not YAML"),
        ("fields: {id: {frm: id}}\n", "bridge.yaml:5"),
        ("delivery: twice\n", "at-least-once or restart-filter or exactly-once"),
        ("fields: {id: {from: nothing}}\n", "nothing"),
        ("fields: {nothing: {from: id}, id: {from: id, cast: int}}\n", "nothing"),
        ("", "id"),
    ],
)
def test_a_mistake_in_the_plan_ends_the_run_before_anything_is_created(
    avro_case: Case, text: str, expected: str
) -> None:
    avro_case.write_file(text)
    code, said, complained = avro_case.convert()
    assert code in {ExitCode.BROKEN, ExitCode.PRECONDITION}
    assert expected in complained
    assert (said, complained.count("\n")) == ("", 1)
    assert_nothing_was_created(avro_case)


def test_what_retention_deleted_before_it_was_read_is_named(avro_case: Case) -> None:
    good = avro_case.framed(LANGUAGES["avro"].good)
    avro_case.produce(*[good] * 10)
    assert avro_case.convert()[0] == ExitCode.OK
    avro_case.produce(*[good] * 10)
    deleted = avro_case.broker.admin.delete_records([TopicPartition(avro_case.source, 0, 15)])
    for each in deleted.values():
        each.result(30)
    code, _, complained = avro_case.convert()
    assert code == ExitCode.BROKEN
    assert f"offsets 10 to 14 of {avro_case.source} partition 0 were deleted before the bridge read them" in complained
    assert len(avro_case.read(avro_case.target)) == 10
    code, _, _ = avro_case.convert("--checkpoint", str(avro_case.folder / "new checkpoint"))
    assert code == ExitCode.OK
    assert len(avro_case.read(avro_case.target)) == 15


def test_a_checkpoint_of_another_plan_ends_the_run_before_anything_is_created(avro_case: Case) -> None:
    avro_case.produce(avro_case.framed(LANGUAGES["avro"].good))
    assert avro_case.convert()[0] == ExitCode.OK
    avro_case.write_file("fields: {id: {const: 1}}\ndrop: [id]\n", more=f"errors: {{topic: {avro_case.target}.dead}}\n")
    code, _, complained = avro_case.convert()
    assert code == ExitCode.CONFLICT
    assert "was made with plan" in complained
    assert "--force" in complained
    assert avro_case.cluster.partition_count(f"{avro_case.target}.dead") is None


def test_a_session_without_connectors_ends_the_run_before_anything_is_created(avro_case: Case) -> None:
    empty = avro_case.folder / "jars"
    empty.mkdir()
    for lacking in connector_jars().glob("*.jar"):
        with zipfile.ZipFile(empty / lacking.name, "w"):
            pass
    cold = replace(avro_case, counterfoil=Path(sys.executable).with_name("counterfoil"))
    code, _, complained = cold.run("run", "bridge.yaml", "--create-topics", COUNTERFOIL_JARS=str(empty))
    assert code == ExitCode.PRECONDITION
    assert "has no connector for Kafka" in complained
    assert_nothing_was_created(avro_case)


def test_a_registry_that_is_away_at_the_start_ends_the_run_before_anything_is_created(avro_case: Case) -> None:
    nobody = f"http://127.0.0.1:{free_port()}"
    code, _, complained = avro_case.run("run", "bridge.yaml", COUNTERFOIL_REGISTRY_URL=nobody)
    assert code == ExitCode.UNREACHABLE
    assert (nobody in complained, complained.count("\n")) == (True, 1)
    assert_nothing_was_created(avro_case)


@pytest.fixture
def own_registry(case: Case) -> Iterator[RegistryProcess]:
    with RegistryProcess() as registry:
        case.registry = registry
        yield registry


def test_a_registry_that_goes_away_ends_no_run(case: Case, own_registry: RegistryProcess) -> None:
    case.register(LANGUAGES["avro"])
    text = case.write_file(CAST)
    with Registry(own_registry.url) as registry:
        registry.call(operations.register_bridge(NewBridge(plan=text, owner="rides")))
    good = case.framed(LANGUAGES["avro"].good)
    case.produce(*[good] * 10)
    running = case.start("run", "bridge.yaml", "--continuous", "--trigger", "0.2", "--master", "local[2]")
    try:
        for expected in (10, 20):
            wait_until(
                lambda: running.poll() is not None or len(case.read(case.target)) == expected,  # noqa: B023 - called at once
                what=f"{expected} records",
            )
            if expected == 10:
                own_registry.kill()
                case.produce(*[good] * 10)
        running.terminate()
        said, complained = running.communicate(timeout=600)
    finally:
        end(running)
    assert (running.returncode, complained) == (ExitCode.OK, ""), said
    assert said.count("and the run goes on") == 1, said
