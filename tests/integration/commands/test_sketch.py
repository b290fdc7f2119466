"""``counterfoil sketch`` on a real broker, with Spark and without, and the check that uses what it wrote."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Producer

from counterfoil.converter.kafka.cluster import Cluster
from counterfoil.converter.sketch.scan import SketchOptions, scan_alone, scan_with_spark
from counterfoil.schema.sketch import read_sketch
from counterfoil.sdk import AvroSerializer, JsonSerializer, ProtobufSerializer, Registry, SerializationContext

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from local_services import KafkaClient, RegistryProcess

COUNTERFOIL = str(Path(sys.executable).with_name("counterfoil"))
RECORDS = 300
AVRO: dict[str, Any] = {
    "type": "record",
    "name": "Ride",
    "fields": [
        {"name": "vendor", "type": {"type": "enum", "name": "Vendor", "symbols": ["CMT", "HELIX", "MYLE"]}},
        {"name": "pickup_at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "payment", "type": ["null", "int", "string"], "default": None},
        {"name": "mail", "type": "string", "confluent:tags": ["PII"]},
    ],
}
JSON = {"title": "Ride", "type": "object", "properties": {"fare": {"type": "number"}, "note": {"type": "string"}}}
PROTOBUF = 'syntax = "proto3"; package rides; message Ride { string vendor = 1; repeated int64 stops = 2; }'


def value_of(language: str, number: int) -> dict[str, Any]:
    if language == "json":
        return {"fare": number / 4} | ({"note": "paid"} if number % 3 else {})
    if language == "protobuf":
        return {"vendor": "CMT" if number % 2 else "", "stops": list(range(number % 4))}
    payment = (None, ("int", number), ("string", "cash"))[number % 3]
    pickup = 1_700_000_000_000 + number
    return {"vendor": "HELIX" if number % 5 else "CMT", "pickup_at": pickup, "payment": payment, "mail": f"m{number}@x"}


SERIALIZERS: dict[str, Callable[[Registry], Any]] = {
    "avro": lambda registry: AvroSerializer(registry, json.dumps(AVRO)),
    "json": lambda registry: JsonSerializer(registry, json.dumps(JSON)),
    "protobuf": lambda registry: ProtobufSerializer(registry, PROTOBUF),
}


@dataclass
class Filled:
    """A topic of two partitions with values of one language, text keys, tombstones and a record without a frame."""

    broker: KafkaClient
    registry: Registry
    topic: str

    def fill(self, language: str) -> Filled:
        serialize = SERIALIZERS[language](self.registry)
        producer = Producer({"bootstrap.servers": self.broker.bootstrap_servers, "log_level": 0})
        for number in range(RECORDS):
            value = serialize(value_of(language, number), SerializationContext(self.topic, "value"))
            producer.produce(self.topic, value=value, key=b"k", partition=number % 2)
        for value in (None, None, b"no frame", b"\x00\x7f\xff\xff\xffx"):
            producer.produce(self.topic, value=value, partition=0)
        assert producer.flush(30) == 0
        return self

    @property
    def cluster(self) -> Cluster:
        return Cluster(self.broker.bootstrap_servers)


@pytest.fixture
def filled(broker: KafkaClient, live_registry: RegistryProcess, unique_name: Callable[[str], str]) -> Iterator[Filled]:
    topic = unique_name("rides")
    broker.create_topic(topic, partitions=2)
    with Registry(live_registry.url) as registry:
        yield Filled(broker, registry, topic)


@pytest.mark.parametrize("language", SERIALIZERS)
def test_spark_and_one_process_make_the_same_sketch(filled: Filled, spark: Any, language: str):
    filled.fill(language)
    ranges, options = filled.cluster.watermarks(filled.topic), SketchOptions()
    said: list[str] = []
    alone = scan_alone(filled.cluster, filled.topic, ranges, registry=filled.registry, options=options, say=said.append)
    spread = scan_with_spark(
        spark, filled.cluster.spark_options(), filled.topic, ranges, registry=filled.registry, options=options
    )
    assert spread == alone
    assert (alone.value.records, alone.value.nulls) == (RECORDS, 2)
    assert alone.value.problems == {"not-framed": 1, "unknown-schema": 1}
    assert alone.key.problems == {"not-framed": RECORDS}
    (schema,) = alone.value.by_writer.values()
    assert (schema.records, schema.uncertain) == (RECORDS, 0)


def test_a_sample_is_the_same_in_both_engines(filled: Filled, spark: Any):
    filled.fill("json")
    ranges, options = filled.cluster.watermarks(filled.topic), SketchOptions(share=0.3, seed=7)
    more = {"registry": filled.registry, "options": options}
    alone = scan_alone(filled.cluster, filled.topic, ranges, say=print, **more)
    spread = scan_with_spark(spark, filled.cluster.spark_options(), filled.topic, ranges, **more)
    assert spread == alone
    assert 0 < alone.value.records < RECORDS


def test_the_check_says_how_many_records_trigger_each_finding(
    filled: Filled, live_registry: RegistryProcess, tmp_path: Path
):
    filled.fill("avro")

    def run(*arguments: str) -> tuple[int, str]:
        done = subprocess.run(
            [COUNTERFOIL, *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
        )
        return done.returncode, done.stdout + done.stderr

    where = ["--bootstrap-servers", filled.broker.bootstrap_servers, "--registry", live_registry.url]
    code, said = run("sketch", filled.topic, *where, "--engine", "python", "--out", "sketch.json", "--publish")
    assert code == 0, said
    assert "HELIX" in said
    assert f"sketch of {filled.topic}-value stored in the registry" in said
    assert "2023-11-14T22:13:20.000 to 2023-11-14T22:13:20.299" in said
    written = (tmp_path / "sketch.json").read_text()
    assert read_sketch(written).value.records == RECORDS
    assert "@x" not in written

    code, said = run("sketch", filled.topic, *where, "--engine", "python", "--json")
    assert (code, read_sketch(said).value.records) == (0, RECORDS)

    changed = json.loads(json.dumps(AVRO))
    changed["fields"][0]["type"]["symbols"] = ["CMT", "HELIX"]
    changed["fields"][2]["type"] = ["null", "int"]
    (tmp_path / f"{filled.topic}-value.avsc").write_text(json.dumps(changed))
    check = ["check", ".", "--against", "registry", "--registry", live_registry.url, "--sketch", "sketch.json"]
    code, said = run(*check)
    assert code == 1
    assert f"0 of {RECORDS} records trigger this finding; 2 more could not be read" in said
    assert f"{RECORDS // 3} of {RECORDS} records trigger this finding" in said
    code, said = run(*check[:-1], "registry", "--format", "json")
    by_rule = {each["rule"]: each["records"] for each in json.loads(said)["findings"]}
    assert by_rule["missing-enum-symbols"]["triggering"] == 0
    assert by_rule["missing-union-branch"] == {
        "triggering": RECORDS // 3,
        "total": RECORDS,
        "exact": True,
        "unread": 2,
        "sampled": False,
        "text": f"{RECORDS // 3} of {RECORDS} records trigger this finding; 2 more could not be read",
    }


def test_a_topic_that_does_not_exist_is_named(broker: KafkaClient, live_registry: RegistryProcess):
    where = ["--bootstrap-servers", broker.bootstrap_servers, "--registry", live_registry.url]
    command = [COUNTERFOIL, "sketch", "no-such-topic", *where, "--engine", "python"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 14
    assert "has no topic no-such-topic" in done.stderr
