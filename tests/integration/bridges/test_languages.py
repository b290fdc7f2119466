"""Bridges between topics of JSON, Protobuf and Avro: tried, run and verified on a real broker."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.converter.bridge import parse_bridge_file, resolve
from counterfoil.converter.check.preflight import prepare_topics
from counterfoil.converter.check.sampling import frame_of, sample, try_out
from counterfoil.converter.engines.choice import AUTO, choose_engine
from counterfoil.converter.engines.reference import ReferenceEngine, key_converter
from counterfoil.converter.kafka.cluster import Cluster
from counterfoil.converter.verify.verification import RecomputedSample, TopicVerification
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.schema.model import Schema, SchemaType
from counterfoil.sdk import (
    AvroDeserializer,
    AvroSerializer,
    JsonDeserializer,
    JsonSerializer,
    MessageField,
    ProtobufDeserializer,
    ProtobufSerializer,
    Registry,
    SerializationContext,
)
from strategies.bridges.driver import run_bridge
from strategies.kafka.records import produce

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from local_services import KafkaClient, RegistryProcess

JSON_V2 = {
    "type": "object",
    "title": "Ride",
    "properties": {
        "ride_id": {"type": "integer"},
        "fare": {"type": "number"},
        "vendor": {"enum": ["CMT", "HELIX"]},
        "note": {"type": "string"},
    },
    "required": ["ride_id", "fare", "vendor"],
}
JSON_V1 = {
    "type": "object",
    "properties": {
        "id": {"type": "integer"},
        "fare": {"type": "string", "maxLength": 6},
        "vendor": {"type": "string"},
        "note": {"type": "string"},
    },
    "required": ["id", "fare"],
}
PROTO_V2 = """syntax = "proto3";
import "google/protobuf/timestamp.proto";
message Ride {
  int64 ride_id = 1; double fare = 2; enum Vendor { CMT = 0; HELIX = 1; } Vendor vendor = 3; optional string note = 4;
  google.protobuf.Timestamp at = 5;
}
"""
PROTO_V1 = """syntax = "proto3";
message OldRide { int64 id = 1; string fare = 2; string vendor = 3; string note = 4; }
"""
AVRO_V1 = {
    "type": "record",
    "name": "Ride",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "fare", "type": "string"},
        {"name": "vendor", "type": {"type": "enum", "name": "Vendor", "symbols": ["HELIX", "CMT", "OTHER"]}},
        {"name": "note", "type": ["null", "string"]},
        {"name": "at", "type": ["null", {"type": "long", "logicalType": "timestamp-millis"}]},
    ],
}
FARE = "  fare: {from: fare, cast: string, decimals: 2}\n"
RECORDS = 200
TOO_LONG = 17
TOMBSTONE = 23


@dataclass(frozen=True)
class Pair:
    """Two schemas, the rules between them, and what reads and writes them."""

    source: Schema
    target: Schema
    rules: str
    serializer: Callable[..., Any]
    deserializer: Callable[[Registry], Any]
    expected: Callable[[int], dict[str, Any]]


def row(number: int) -> dict[str, Any]:
    return {"id": number, "fare": f"{number / 4:.2f}", "vendor": ["CMT", "HELIX"][number % 2], "note": "x"}


def avro_row(number: int) -> dict[str, Any]:
    return {**row(number), "at": None}


JSON_SCHEMA, PROTO_SCHEMA = Schema(json.dumps(JSON_V2), SchemaType.JSON), Schema(PROTO_V2, SchemaType.PROTOBUF)
PAIRS = {
    "json to json": Pair(
        JSON_SCHEMA,
        Schema(json.dumps(JSON_V1), SchemaType.JSON),
        "fields:\n  id: {from: ride_id}\n" + FARE,
        JsonSerializer,
        JsonDeserializer,
        row,
    ),
    "protobuf to protobuf": Pair(
        PROTO_SCHEMA,
        Schema(PROTO_V1, SchemaType.PROTOBUF),
        "fields:\n" + FARE + "drop: [at]\nnumbers: same\n",
        ProtobufSerializer,
        lambda registry: ProtobufDeserializer(registry, values="dict"),
        row,
    ),
    "protobuf to avro": Pair(
        PROTO_SCHEMA,
        Schema(json.dumps(AVRO_V1)),
        "fields:\n  id: {from: ride_id}\n  at: {from: at, cast: timestamp-millis}\n" + FARE,
        ProtobufSerializer,
        AvroDeserializer,
        avro_row,
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_bridge_between_languages(
    name: str,
    broker: KafkaClient,
    live_registry: RegistryProcess,
    bridge_topics: tuple[str, str],
    spark_and_folder: tuple[Any, Path],
):
    pair = PAIRS[name]
    (source, target), (spark, folder) = bridge_topics, spark_and_folder
    cluster = Cluster(broker.bootstrap_servers)
    file = parse_bridge_file(
        f"bridge: {source}\nsource: {{topic: {source}}}\ntarget: {{topic: {target}}}\n"
        f"errors: {{stop_above: never}}\n{pair.rules}"
    )
    with Registry(live_registry.url) as registry:
        registry.register(f"{target}-value", pair.target)
        _produce(broker, registry, pair, source)
        bridge = resolve(file, registry)
        assert bridge.problems == ()
        reference = ReferenceEngine(bridge.conversion())
        engine = choose_engine(AUTO, bridge.conversion()).engine
        assert engine.name == "java"

        taken = list(sample(cluster, source, size=100, seed=1))
        trial = try_out(
            taken,
            frame_of(taken, spark),
            engine=engine,
            reference=reference.convert_value,
            max_message_bytes=None,
        )
        assert (trial.disagreements, trial.records > 0) == ([], True)

        prepare_topics(file, cluster, create_target=False)
        outcome, _ = run_bridge(spark, broker.bootstrap_servers, bridge, folder / "checkpoint", engine=engine)
        dead = 1 if name == "json to json" else 0
        assert (outcome.exit_code, outcome.totals.dead_letters) == (ExitCode.OK, dead), outcome.text

        report = TopicVerification(
            file,
            cluster,
            recompute=lambda value: reference.convert_value(value).value,
            sample=RecomputedSample(size=None),
        ).run()
        assert report.exit_code is ExitCode.OK, report.lines()

        read = pair.deserializer(registry)
        rows = {int(each.key()): each.value() for each in cluster.read(target, cluster.watermarks(target))}
        numbers = [number for number in range(RECORDS) if not (dead and number == TOO_LONG)]
        assert sorted(rows) == numbers
        for number in numbers:
            value = None if rows[number] is None else read(rows[number])
            assert value == (None if number == TOMBSTONE else pair.expected(number))


KEY_V2 = {"type": "record", "name": "Key", "fields": [{"name": "ride", "type": "string"}]}
KEY_V1 = {"type": "record", "name": "Key", "fields": [{"name": "id", "type": "int"}]}
FARE_V1 = {"type": "record", "name": "Ride", "fields": [{"name": "fare", "type": "int"}]}


def test_keys_are_converted_by_a_plan_of_their_own(
    broker: KafkaClient,
    live_registry: RegistryProcess,
    bridge_topics: tuple[str, str],
    spark_and_folder: tuple[Any, Path],
):
    (source, target), (spark, folder) = bridge_topics, spark_and_folder
    cluster = Cluster(broker.bootstrap_servers)
    file = parse_bridge_file(
        f"bridge: {source}\nsource: {{topic: {source}}}\ntarget: {{topic: {target}}}\npartition: by-key\n"
        "errors: {stop_above: never}\nkey: {fields: {id: {from: ride, cast: int}}}\n"
    )
    with Registry(live_registry.url) as registry:
        key_schemas = [Schema(json.dumps(each)) for each in (KEY_V2, KEY_V1)]
        for topic, key in zip(bridge_topics, key_schemas, strict=True):
            registry.register(f"{topic}-key", key)
            registry.register(f"{topic}-value", Schema(json.dumps(FARE_V1)))
        write_key = AvroSerializer(registry, key_schemas[0]).bind(source, MessageField.KEY)
        write_value = AvroSerializer(registry, Schema(json.dumps(FARE_V1))).bind(source)
        good, bad = [{"ride": str(number)} for number in range(4)], {"ride": "x"}
        value = write_value({"fare": 7})
        records = [*((write_key(key), value) for key in good), (write_key(bad), value), (write_key(bad), None)]
        records += [(write_key(good[0]), None), (None, value), (b"x", value)]
        made = ({"value": each, "key": key, "partition": 0} for key, each in records)
        produce(broker.bootstrap_servers, source, made)

        bridge = resolve(file, registry)
        assert (bridge.problems, bridge.keys is None) == ((), False)
        assert bridge.keys is not None
        choice = choose_engine("auto", bridge.conversion(), bridge.keys.conversion())
        assert choice.engine.name == "java"
        values, keys = ReferenceEngine(bridge.conversion()), key_converter(ReferenceEngine(bridge.keys.conversion()))
        taken = list(sample(cluster, source, size=100, seed=1))
        trial = try_out(
            taken,
            frame_of(taken, spark),
            engine=choice.engine,
            reference=values.convert_value,
            max_message_bytes=None,
            keys=keys,
        )
        assert (trial.disagreements, trial.records, trial.failures.total()) == ([], len(records), 3)

        prepare_topics(file, cluster, create_target=False)
        checkpoint = folder / "checkpoint"
        outcome, _ = run_bridge(spark, broker.bootstrap_servers, bridge, checkpoint, engine=choice.engine)
        assert outcome.totals.dead_letters == 3

        report = TopicVerification(
            file,
            cluster,
            recompute=lambda each: values.convert_value(each).value,
            sample=RecomputedSample(size=None),
            convert_key=keys,
        ).run()
        assert report.exit_code is ExitCode.OK, report.lines()

        read = AvroDeserializer(registry)
        context = SerializationContext(target, MessageField.KEY)
        written = list(cluster.read(target, cluster.watermarks(target)))
        found = sorted((-1 if each.key() is None else read(each.key(), context)["id"]) for each in written)
        assert found == [-1, 0, 0, 1, 2, 3]
        letters = list(cluster.read(file.dead_letter_topic, cluster.watermarks(file.dead_letter_topic)))
        assert [letter.key() for letter in letters] == [records[place][0] for place in (4, 5, 8)]
        reasons = [dict(letter.headers())["bridge.error.field"].decode() for letter in letters]
        assert reasons == ["$key.id", "$key.id", "$key"]


def _produce(broker: KafkaClient, registry: Registry, pair: Pair, topic: str) -> None:
    serialize = pair.serializer(registry, pair.source)
    records = []
    for number in range(RECORDS):
        fare = 1e9 if number == TOO_LONG and pair.source is JSON_SCHEMA else number / 4
        ride = {"ride_id": number, "fare": fare, "vendor": ["CMT", "HELIX"][number % 2], "note": "x"}
        value = None if number == TOMBSTONE else serialize(ride, SerializationContext(topic))
        records.append({"value": value, "key": str(number).encode(), "partition": number % 2})
    produce(broker.bootstrap_servers, topic, records)
