"""Columns of Spark from and to messages: every language, headers, tombstones, bad records, other time zones."""

from __future__ import annotations

import json
import re
from datetime import UTC, date, datetime
from datetime import time as time_of_day
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from confluent_kafka import Producer
from pyspark.errors import StreamingQueryException
from pyspark.sql import functions
from pyspark.sql.avro.functions import from_avro

from counterfoil.schema import Schema, SchemaType
from counterfoil.sdk import (
    AvroSerializer,
    JsonSerializer,
    ProtobufDeserializer,
    ProtobufSerializer,
    Registry,
    SerializationContext,
    operations,
)
from counterfoil.sdk.adapters.pyspark import from_registry, to_registry
from counterfoil.sdk.adapters.spark_usage import observe_spark
from local_services import wait_until

RIDE = '{"type": "record", "name": "Ride", "fields": [{"name": "fare", "type": "double"}]}'
LATER = RIDE.replace("]}", ', {"name": "tip", "type": "double", "default": 0.5}]}')
JSON_FARE = '{"title": "Fare", "type": "object", "properties": {"fare": {"type": "number", "minimum": 0}}}'
DEADLINE_S = 120
AT = datetime(2024, 7, 1, 12, 30, 15, 123456, tzinfo=UTC)

ALL_TYPES = """{"type": "record", "name": "All", "fields": [
  {"name": "id", "type": "long"},
  {"name": "maybe", "type": ["null", "long"]},
  {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
  {"name": "local", "type": {"type": "long", "logicalType": "local-timestamp-millis"}},
  {"name": "day", "type": {"type": "int", "logicalType": "date"}},
  {"name": "clock", "type": {"type": "int", "logicalType": "time-millis"}},
  {"name": "amount", "type": {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 2}},
  {"name": "uid", "type": {"type": "string", "logicalType": "uuid"}},
  {"name": "raw", "type": "bytes"},
  {"name": "colour", "type": {"type": "enum", "name": "Colour", "symbols": ["RED", "BLUE"]}},
  {"name": "stops", "type": {"type": "array", "items": {"type": "record", "name": "Stop", "fields": [
    {"name": "at", "type": ["null", {"type": "long", "logicalType": "timestamp-millis"}]},
    {"name": "code", "type": ["null", "long"]}]}}},
  {"name": "counts", "type": {"type": "map", "values": ["null", "long"]}}
]}"""
FULL = {
    "id": 2**60 + 1,
    "maybe": 2**60 + 3,
    "at": AT,
    "local": datetime(2024, 7, 1, 2, 30),  # noqa: DTZ001 - a local time
    "day": date(2024, 7, 1),
    "clock": time_of_day(1, 2, 3),
    "amount": Decimal("12.50"),
    "uid": UUID(int=7),
    "raw": b"\0\xff",
    "colour": "BLUE",
    "stops": [{"at": datetime(2024, 7, 1, 12, tzinfo=UTC), "code": 2**60 + 5}, {"at": None, "code": None}],
    "counts": {"a": 2**60 + 7, "b": None},
}
BARE = {**FULL, "id": 1, "maybe": None, "stops": [], "counts": {}}


@pytest.fixture
def registry(live_registry):
    with Registry(live_registry.url) as client:
        yield client


def produce(broker, topic, records):
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for value, headers in records:
        producer.produce(topic, value=value, headers=headers)
    assert producer.flush(DEADLINE_S) == 0


def test_records_of_kafka_with_ids_in_prefix_or_header_tombstones_and_bad_bytes(broker, registry, spark, unique_name):
    topic = unique_name("rides")
    broker.create_topic(topic)
    records = []
    for number, place in enumerate(["prefix", "header", "prefix"]):
        headers = [("trace", b"7")]
        write = AvroSerializer(registry, RIDE, id_location=place)
        records.append((write({"fare": float(number)}, SerializationContext(topic, "value", headers)), headers))
    produce(broker, topic, [*records, (None, []), (b"{}", []), (b"\0\x7f\xff\xff\xff\0", [])])
    kafka = spark.read.format("kafka").option("kafka.bootstrap.servers", broker.bootstrap_servers)
    found = kafka.option("subscribe", topic).option("includeHeaders", "true").load()
    ride = from_registry("value", registry, topic=topic, headers="headers", mode="PERMISSIVE")
    rows = found.select(ride.alias("ride")).collect()
    assert [row.ride.value and row.ride.value.fare for row in rows] == [0.0, 1.0, 2.0, None, None, None]
    assert [row.ride.reason is None for row in rows] == [True, True, True, True, False, False]
    assert f"subject='{topic}-value'" in rows[4].ride.reason
    assert "2147483647" in rows[5].ride.reason


JSON_TRIP = """{"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"},
    "at": {"type": "string", "format": "date-time"}, "tags": {"type": "array", "items": {"type": "string"}}}}"""
PROTOBUF_TRIP = """syntax = "proto3"; import "google/protobuf/wrappers.proto"; import "google/protobuf/timestamp.proto";
    message Trip { int64 id = 1; optional string note = 2; google.protobuf.Int64Value rating = 3;
    google.protobuf.Timestamp at = 4; map<string, uint64> counts = 5; }"""
JSON_TRIPS = [{"id": 1, "at": "2024-07-01T00:00:00Z", "tags": ["a"]}, {"id": 2**60 + 1}]
PROTOBUF_TRIPS = [
    {"id": 7, "note": "", "rating": 2**60 + 1, "at": AT, "counts": {"a": 2**64 - 1}},
    {"id": 8, "counts": {}},
]


def test_values_of_every_language_go_through_in_any_time_zone(registry, spark, unique_name):
    base = unique_name("all")
    topics = {name: f"{base}-{name}" for name in ("avro", "json", "proto")}
    serializers = {
        "avro": AvroSerializer(registry, ALL_TYPES),
        "json": JsonSerializer(registry, JSON_TRIP),
        "proto": ProtobufSerializer(registry, PROTOBUF_TRIP),
    }
    write = {name: serializer.bind(topics[name]) for name, serializer in serializers.items()}
    keys = AvroSerializer(registry, '"long"').bind(topics["avro"], "key")
    earlier = AvroSerializer(registry, RIDE).bind(f"{base}-ride")({"fare": 9.5})
    AvroSerializer(registry, LATER).warm(topic=f"{base}-ride")
    data = [
        (write["avro"](full), write["json"](trip), write["proto"](message), keys(key), earlier)
        for full, trip, message, key in zip([FULL, BARE], JSON_TRIPS, PROTOBUF_TRIPS, [2**60 + 1, 2], strict=True)
    ]
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", "America/New_York")
    columns = "avro binary, json binary, proto binary, key binary, ride binary"
    given = session.createDataFrame([*data, (None,) * 5], columns).coalesce(1)
    values = given.select(
        *(from_registry(name, registry, topic=topic).alias(name) for name, topic in topics.items()),
        from_registry("key", registry, topic=topics["avro"], field="key").alias("key"),
        from_registry("ride", registry, topic=f"{base}-ride").alias("latest"),
        from_registry("ride", registry, topic=f"{base}-ride", reader=RIDE).alias("first"),
    )
    shown = """unix_micros(avro.at) AS at, cast(avro.local AS string) AS local, avro.clock, avro.uid,
        unix_millis(get(avro.stops, 0).at) AS stop, avro.counts['a'] AS a, avro.maybe, latest, first, key"""
    written = [to_registry(name, registry, topic=topic).alias(name) for name, topic in topics.items()]
    written.append(to_registry("key", registry, topic=topics["avro"], field="key").alias("key_message"))
    rows = values.select(*written, *map(functions.expr, re.split(r",\s+(?![^(]*\))", shown))).collect()
    assert [rows[0][name] for name in ("at", "local", "clock", "uid", "stop", "a", "maybe", "key")] == [
        1_719_837_015_123_456,
        "2024-07-01 02:30:00",
        3_723_000,
        str(UUID(int=7)),
        1_719_835_200_000,
        2**60 + 7,
        2**60 + 3,
        2**60 + 1,
    ]
    assert rows[0].latest.asDict() == {"fare": 9.5, "tip": 0.5}
    assert rows[0].first.asDict() == {"fare": 9.5}
    assert set(rows[2].asDict().values()) == {None}
    again = [(bytes(row.avro), bytes(row.json), bytes(row.key_message)) for row in rows[:2]]
    assert again == [(each[0], each[1], each[3]) for each in data]
    read = ProtobufDeserializer(registry, values="dict").bind(topics["proto"])
    assert [read(bytes(row.proto)) for row in rows[:2]] == PROTOBUF_TRIPS


NOT_FRAMED, UNKNOWN_ID = b"plain", b"\0\x7f\xff\xff\xff\0"


def test_tombstones_and_poison_in_every_language_there_and_back(registry, spark, unique_name):
    """A tombstone is null on both sides, never an empty message, and a bad message does not spoil its batch."""
    base = unique_name("poison")
    proto = 'syntax = "proto3"; message Fare { double fare = 1; }'
    made = {
        "avro": AvroSerializer(registry, RIDE).bind(f"{base}-avro")({"fare": 1.5}),
        "json": JsonSerializer(registry, JSON_FARE).bind(f"{base}-json")({"fare": 1.5}),
        "proto": ProtobufSerializer(registry, proto).bind(f"{base}-proto")({"fare": 1.5}),
    }
    cut = {name: value[:-1] for name, value in made.items()}
    rows = [
        tuple(made.values()),
        (None,) * 3,
        (b"",) * 3,
        (NOT_FRAMED,) * 3,
        (UNKNOWN_ID,) * 3,
        tuple(cut.values()),
        tuple(made.values()),
    ]
    given = spark.createDataFrame(rows, ", ".join(f"{name} binary" for name in made)).coalesce(1)
    read = {name: from_registry(name, registry, topic=f"{base}-{name}", mode="PERMISSIVE") for name in made}
    for name, whole in made.items():
        back = to_registry(read[name]["value"], registry, topic=f"{base}-{name}", mode="PERMISSIVE")
        found = given.select(read[name].alias("read"), back.alias("back")).collect()
        fares = [row.read.value and row.read.value.fare for row in found]
        assert fares == [1.5, None, None, None, None, None, 1.5], name
        assert [row.read.reason is None for row in found] == [True, True, False, False, False, False, True], name
        written = [None if row.back.value is None else bytes(row.back.value) for row in found]
        assert written == [whole, None, None, None, None, None, whole], name
        assert [row.back.reason for row in found] == [None] * 7, name


def test_a_stream_with_poison_and_tombstones_goes_on_over_a_restart(broker, registry, spark, unique_name, tmp_path):
    """Readable records and tombstones go to one topic, bad ones to another, each once; FAILFAST ends the query."""
    topics = [unique_name(name) for name in ("rides", "fares", "dead")]
    for topic in topics:
        broker.create_topic(topic)
    rides, fares, dead = topics
    write = AvroSerializer(registry, RIDE).bind(rides)
    registry.register(f"{fares}-value", Schema(RIDE))
    kafka = {"kafka.bootstrap.servers": broker.bootstrap_servers}

    def stream(mode="PERMISSIVE"):
        found = spark.readStream.format("kafka").options(**kafka, subscribe=rides, startingOffsets="earliest").load()
        return found.select("key", "value", from_registry("value", registry, topic=rides, mode=mode).alias("ride"))

    def run():
        records = stream()
        is_read = functions.col("ride.reason").isNull()
        value = functions.when(is_read, to_registry("ride.value", registry, topic=fares)).otherwise(
            functions.col("value")
        )
        topic = functions.when(is_read, functions.lit(fares)).otherwise(functions.lit(dead))
        query = records.select("key", value.alias("value"), topic.alias("topic")).writeStream.format("kafka")
        place = str(tmp_path / "checkpoint")
        query.options(**kafka, checkpointLocation=place).trigger(availableNow=True).start().awaitTermination()

    def produce_keyed(records):
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
        for key, value in records:
            producer.produce(rides, key=key, value=value)
        assert producer.flush(DEADLINE_S) == 0

    def on(topic):
        rows = spark.read.format("kafka").options(**kafka, subscribe=topic).load().orderBy("offset").collect()
        return [(row.key and bytes(row.key), row.value and bytes(row.value)) for row in rows]

    produce_keyed([(b"a", write({"fare": 1.0})), (b"a", None), (b"b", NOT_FRAMED), (None, write({"fare": 2.0}))])
    run()
    produce_keyed([(b"c", None), (b"d", UNKNOWN_ID), (b"e", write({"fare": 3.0}))])
    run()
    copied = AvroSerializer(registry, RIDE).bind(fares)
    assert on(fares) == [
        (b"a", copied({"fare": 1.0})), (b"a", None), (None, copied({"fare": 2.0})), (b"c", None),
        (b"e", copied({"fare": 3.0})),
    ]  # fmt: skip
    assert on(dead) == [(b"b", NOT_FRAMED), (b"d", UNKNOWN_ID)]

    failing = stream("FAILFAST").select("ride.fare").writeStream.format("noop")
    failing = failing.option("checkpointLocation", str(tmp_path / "failing")).trigger(availableNow=True).start()
    with pytest.raises(StreamingQueryException, match=f"{rides}"):
        failing.awaitTermination()


def test_values_that_cannot_be_written_have_their_reason(registry, spark, unique_name):
    rows = spark.createDataFrame([(0, (1.5,)), (1, (-1.5,)), (2, None)], "n int, ride struct<fare double>").coalesce(1)
    schema = Schema(JSON_FARE, SchemaType.JSON)
    written = to_registry("ride", registry, topic=unique_name("fares"), schema=schema, mode="PERMISSIVE")
    found = [row.w for row in rows.select(written.alias("w")).collect()]
    assert [(each.value is None, each.reason is None) for each in found] == [(False, True), (True, False), (True, True)]
    assert "fare" in found[1].reason


def test_what_queries_read_is_observed_in_batches_and_streams(broker, registry, spark, unique_name, tmp_path):
    topic = unique_name("orders")
    broker.create_topic(topic)
    stop = {
        "type": "record",
        "name": "Stop",
        "fields": [{"name": "at", "type": "string"}, {"name": "n", "type": "int"}],
    }
    order = {
        "type": "record",
        "name": "Order",
        "fields": [
            {"name": "id", "type": "string"},
            {"name": "total", "type": "long"},
            {"name": "note", "type": "string"},
            {"name": "stops", "type": {"type": "array", "items": stop}},
        ],
    }
    value = {"id": "a", "total": 3, "note": "n", "stops": [{"at": "x", "n": 1}]}
    data = AvroSerializer(registry, json.dumps(order))(value, SerializationContext(topic))
    produce(broker, topic, [(data, [])])
    batches: list[dict[str, object]] = []

    def kafka(reader):
        options = {"kafka.bootstrap.servers": broker.bootstrap_servers, "subscribe": topic}
        return reader.format("kafka").options(**options).option("startingOffsets", "earliest").load()

    with observe_spark(spark, "billing", batches.append, environment="test", every_s=3600) as usage:
        ride = kafka(spark.read).select(from_registry("value", registry, topic=topic).alias("o"))
        exploded = ride.where("o.total > 1").select("o.id", functions.explode("o.stops").alias("stop"))
        assert [tuple(row) for row in exploded.select("id", "stop.at").collect()] == [("a", "x")]
        wait_until(lambda: usage.send() or bool(batches), what="the reads of the batch query")
        [read] = batches.pop()["reads"]
        assert (read["subject"], sorted(read["paths"])) == (f"{topic}-value", ["id", "stops[].at", "total"])

        avro = from_avro(functions.expr("substring(value, 6)"), json.dumps(order)).alias("o")
        query = (
            kafka(spark.readStream)
            .select(avro)
            .select("o.note")
            .writeStream.format("noop")
            .option("checkpointLocation", str(tmp_path))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination(DEADLINE_S)
        wait_until(lambda: usage.send() or bool(batches), what="the reads of the streaming query")
        batch: Any = batches.pop()
        assert (batch["origin"], batch["environment"]) == ("lineage", "test")
        assert [(each["subject"], list(each["paths"])) for each in batch["reads"]] == [(f"{topic}-value", ["note"])]
        registry.call(operations.post_usage(batch))
        assert usage.failures == 0
    [use] = registry.call(operations.observed_uses(f"{topic}-value"))
    assert (use.application, use.origin, list(use.paths)) == ("billing", "lineage", ["note"])
