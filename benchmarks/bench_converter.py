"""The bridge, Kafka to Kafka, beside a pass-through query and beside a plain consumer-producer loop.

    python benchmarks/bench_converter.py [--records 1000000] [--assert]

A real broker and Spark in local[2] share this machine, and everything is warm. The pass-through query reads and writes
the same columns and headers and does not change the value: it is the cost of Kafka and Spark themselves. The loop is
the implementation without Spark: confluent-kafka's consumer, deserializer, serializer and producer, one record at a
time, on a tenth of the records (a tenth of those warm it up). Processor time leaves the broker out, and counts Spark's
Python workers. Only the ratios can be compared with another machine; if broker and Spark share two cores, Kafka itself
limits the records/s, and processor time is the better measure.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import fastavro

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "deploy"))

from local_services import KafkaBroker, jar_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

GOAL_LOOP = 6.0
GOAL_PASS_THROUGH = 0.75
PARTITIONS = 4
ROUNDS = 3
BATCH = 500_000  # offsets, the default of `bridge run`
SOURCE_ID, TARGET_ID = 1, 2

SOURCE = {
    "type": "record",
    "name": "Ride",
    "fields": [
        {"name": "vendor", "type": {"type": "enum", "name": "Vendor", "symbols": ["CMT", "VERIFONE", "MYLE", "HELIX"]}},
        {"name": "ride_id", "type": "string"},
        {"name": "pickup_at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "passengers", "type": ["null", "int"], "default": None},
        {"name": "distance_km", "type": "double"},
        {"name": "zone_from", "type": "int"},
        {"name": "zone_to", "type": "int"},
        {"name": "payment", "type": "string"},
        {"name": "tip", "type": "double"},
        {"name": "total", "type": "double"},
        {"name": "driver_note", "type": "string"},
    ],
}
TARGET = {
    "type": "record",
    "name": "TaxiRide",
    "fields": [
        {"name": "vendor_id", "type": "int"},
        {"name": "id", "type": "string"},
        {"name": "pickup", "type": "string"},
        {"name": "passenger_count", "type": "int"},
        {"name": "distance_miles", "type": "double"},
        {"name": "zone_from", "type": "long"},
        {"name": "zone_to", "type": "long"},
        {"name": "payment", "type": "string"},
        {"name": "tip", "type": "double"},
        {"name": "total", "type": "double"},
        {"name": "origin", "type": "string"},
    ],
}
VENDORS = {"CMT": 1, "VERIFONE": 2, "MYLE": 6, "HELIX": 7}
RULES = {
    "vendor_id": {"from": "vendor", "lookup": VENDORS, "else": "error"},
    "id": {"from": "ride_id"},
    "pickup": {"format": "pickup_at", "as": "yyyy-MM-dd HH:mm:ss", "zone": "UTC"},
    "passenger_count": {"from": "passengers", "null": 0},
    "distance_miles": {"expr": "distance_km / 1.609344"},
    "origin": {"const": "bridge"},
}


def values(count: int) -> Iterator[bytes]:
    chooser, schema = Random(7), fastavro.parse_schema(SOURCE)
    for number in range(count):
        ride = {
            "vendor": chooser.choice(list(VENDORS)),
            "ride_id": f"ride-{number:012d}",
            "pickup_at": 1_700_000_000_000 + number,
            "passengers": chooser.choice([None, 1, 2]),
            "distance_km": chooser.random() * 30,
            "zone_from": chooser.randrange(260),
            "zone_to": chooser.randrange(260),
            "payment": chooser.choice(["card", "cash"]),
            "tip": chooser.random() * 5,
            "total": chooser.random() * 80,
            "driver_note": "nothing to report",
        }
        body = io.BytesIO()
        fastavro.schemaless_writer(body, schema, ride)
        yield b"\x00" + SOURCE_ID.to_bytes(4, "big") + body.getvalue()


def fill(broker: KafkaBroker, topic: str, count: int) -> None:
    from confluent_kafka import Producer

    broker.create_topic(topic, partitions=PARTITIONS)
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "linger.ms": 50, "batch.size": 1 << 20})
    for number, value in enumerate(values(count)):
        while True:
            try:
                producer.produce(topic, value=value, key=str(number % 5000).encode(), partition=number % PARTITIONS)
                break
            except BufferError:
                producer.poll(0.1)
    producer.flush()


def batch_seconds(query: Any) -> float:
    """Return the time of the query's batches, without its start."""
    query.awaitTermination()
    return sum(json.loads(each.json)["durationMs"]["triggerExecution"] for each in query.recentProgress) / 1000


def cpu_seconds(root: int) -> float:
    """Return the processor time of a process and all its descendants; 0 where there is no /proc."""
    children: dict[int, list[int]] = {}
    ticks: dict[int, int] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:  # the process has just ended
            continue
        number = int(entry.parent.name)
        children.setdefault(int(fields[1]), []).append(number)
        ticks[number] = sum(map(int, fields[11:15]))
    found, todo = 0, [root]
    while todo:
        number = todo.pop()
        found += ticks.get(number, 0)
        todo += children.get(number, [])
    return found / os.sysconf("SC_CLK_TCK")


class Bench:
    """One broker, one session, and the three candidates."""

    def __init__(self, broker: KafkaBroker, spark: Any, folder: Path, count: int) -> None:
        self.broker, self.spark, self.folder, self.count = broker, spark, folder, count
        self.turn = 0

    def fresh_topics(self, stem: str) -> tuple[str, Path]:
        """Return an empty target topic, and a checkpoint for it."""
        self.turn += 1
        topic = f"{stem}-{self.turn}"
        for name in (topic, f"{topic}-dead"):
            self.broker.create_topic(name, partitions=PARTITIONS)
        return topic, self.folder / topic

    def pass_through(self, source: str) -> float:
        """Return the seconds for the same columns and headers, with an unchanged value."""
        from counterfoil.converter.run import sink
        from counterfoil.converter.run.source import read_stream

        target, checkpoint = self.fresh_topics("pass")
        servers = self.broker.bootstrap_servers
        records = read_stream(self.spark, bootstrap_servers=servers, topic=source, max_offsets_per_trigger=BATCH)
        from pyspark.sql import functions as F  # noqa: N812 - Spark's own name for it

        same = records.select(
            F.lit(target).alias("topic"), F.col("partition").cast("int").alias("partition"), "key", "value", "headers"
        )
        writer = sink.write_stream(
            same, bootstrap_servers=servers, checkpoint=str(checkpoint), largest_request_bytes=1 << 20
        )
        return batch_seconds(writer.trigger(availableNow=True).start())

    def bridge(self, source: str) -> float:
        """Return the seconds for the bridge as ``counterfoil bridge run`` runs it."""
        from counterfoil.converter.bridge.resolve import ResolvedBridge
        from counterfoil.converter.engines.choice import make_engine
        from counterfoil.converter.kafka.cluster import Cluster
        from counterfoil.converter.run.checkpoint import Checkpoint
        from counterfoil.converter.run.job import BridgeRun, RunSettings
        from counterfoil.schema.bridges.file import BridgeFile
        from counterfoil.schema.evolution import derive_plan, parse_rules
        from counterfoil.schema.formats.avro.parse import parse_avro

        target, checkpoint = self.fresh_topics("bridge")
        rules = parse_rules(RULES, ["driver_note"])
        file = BridgeFile("bench", source, "s", target, "t", f"{target}-dead", rules)
        writer = parse_avro(json.dumps(SOURCE))
        plan = derive_plan(writer, parse_avro(json.dumps(TARGET)), rules)
        resolved = ResolvedBridge(file, plan, {SOURCE_ID: writer}, {SOURCE_ID: 1}, SOURCE_ID, TARGET_ID, 1)
        seconds: list[float] = []
        run = BridgeRun(
            bridge=resolved,
            engine=make_engine("sql", resolved.conversion()),
            cluster=Cluster(self.broker.bootstrap_servers),
            settings=RunSettings(checkpoint=Checkpoint(checkpoint), max_offsets_per_trigger=BATCH),
            say=lambda _line: None,
            stop=threading.Event(),
            on_batch=lambda report: seconds.append(report["durationMs"]["triggerExecution"] / 1000),
        )
        outcome = run.run(self.spark)
        if outcome.totals.dead_letters or outcome.totals.converted == 0:
            raise SystemExit(f"the bridge did not convert everything: {outcome.text}")
        return sum(seconds)

    def loop(self, source: str, count: int) -> float:
        """Return the seconds for ``count`` records with confluent-kafka's own clients and (de)serializers."""
        from confluent_kafka import Consumer, Producer, TopicPartition
        from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
        from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
        from confluent_kafka.serialization import MessageField, SerializationContext

        target, _ = self.fresh_topics("loop")
        registry = SchemaRegistryClient.new_client({"url": "mock://"})
        ids = [
            registry.register_schema(f"{t}-value", Schema(json.dumps(s), "AVRO"))
            for t, s in ((source, SOURCE), (target, TARGET))
        ]
        if ids != [SOURCE_ID, TARGET_ID]:
            raise SystemExit(f"the registry in this process gave the ids {ids}")
        decode = AvroDeserializer(registry)
        encode = AvroSerializer(
            registry, json.dumps(TARGET), conf={"auto.register.schemas": False, "use.latest.version": True}
        )
        servers = {"bootstrap.servers": self.broker.bootstrap_servers}
        consumer = Consumer(
            {**servers, "group.id": target, "auto.offset.reset": "earliest", "enable.auto.commit": False}
        )
        consumer.assign([TopicPartition(source, each, 0) for each in range(PARTITIONS)])
        producer = Producer({**servers, "linger.ms": 20, "acks": "all", "enable.idempotence": True})
        here, there = (SerializationContext(each, MessageField.VALUE) for each in (source, target))
        done, started = 0, 0.0
        warm = count // 10
        while done < count + warm:
            for message in consumer.consume(1000, timeout=1):
                if done == warm:
                    started = time.perf_counter()
                ride = decode(message.value(), here)
                origin = f"{source}/{message.partition()}/{message.offset()}/{message.timestamp()[1]}"
                produce(
                    producer, target, value=encode(converted(ride), there), key=message.key(),
                    partition=message.partition(), headers=[*(message.headers() or []), ("bridge.src", origin)],
                )  # fmt: skip
                done += 1
        producer.flush()
        took = time.perf_counter() - started
        consumer.close()
        return took * count / (done - warm)


def produce(producer: Any, topic: str, **record: Any) -> None:
    while True:
        try:
            producer.produce(topic, **record)
        except BufferError:
            producer.poll(0.05)
        else:
            return


def converted(ride: dict[str, Any]) -> dict[str, Any]:
    return {
        "vendor_id": VENDORS[ride["vendor"]],
        "id": ride["ride_id"],
        "pickup": ride["pickup_at"].strftime("%Y-%m-%d %H:%M:%S"),
        "passenger_count": ride["passengers"] or 0,
        "distance_miles": ride["distance_km"] / 1.609344,
        "zone_from": ride["zone_from"],
        "zone_to": ride["zone_to"],
        "payment": ride["payment"],
        "tip": ride["tip"],
        "total": ride["total"],
        "origin": "bridge",
    }


def median_of(runs: dict[str, Callable[[], float]], driver: int) -> dict[str, tuple[float, float]]:
    """Return wall and processor seconds of each, the median of ``ROUNDS`` turns after one that only warms up."""
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in runs}
    for turn in range(ROUNDS + 1):
        for name, run in runs.items():
            before = cpu_seconds(driver)
            took = run()
            if turn:
                found[name].append((took, cpu_seconds(driver) - before))
    return {
        name: (statistics.median(wall for wall, _ in each), statistics.median(cpu for _, cpu in each))
        for name, each in found.items()
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--assert", dest="judged", action="store_true")
    options = parser.parse_args()
    from counterfoil.converter.spark.session import start_session

    with tempfile.TemporaryDirectory() as name, KafkaBroker() as broker:
        folder = Path(name)
        spark = start_session(master="local[2]", jars=jar_folder("spark"), log_file=folder / "spark.log")
        bench = Bench(broker, spark, folder, options.records)
        fill(broker, "source", options.records)
        driver = spark.sparkContext._gateway.proc.pid  # noqa: SLF001 - the JVM; Python workers are its children
        runs = {"pass-through": lambda: bench.pass_through("source"), "bridge": lambda: bench.bridge("source")}
        took = median_of(runs, driver)
        few = max(1, options.records // 10)
        before = time.process_time()
        wall = bench.loop("source", few)
        took["loop"] = (wall * options.records / few, (time.process_time() - before) / 1.1 * options.records / few)
        spark.stop()
    for each, (wall, cpu) in took.items():
        per_record = cpu / options.records * 1e6
        print(f"{each:13} {options.records / wall:12,.0f} records/s {per_record:8.1f} us of processor time a record")
    to_pass, to_loop = took["pass-through"][0] / took["bridge"][0], took["loop"][0] / took["bridge"][0]
    print(f"bridge / pass-through, records/s: {to_pass:.2f} (goal {GOAL_PASS_THROUGH:g})")
    print(f"bridge / confluent-kafka loop, records/s: {to_loop:.1f} (goal {GOAL_LOOP:g})")
    print(f"confluent-kafka loop / bridge, processor time: {took['loop'][1] / took['bridge'][1]:.1f}")
    if not options.judged:
        return 0
    return 0 if to_loop >= 0.7 * GOAL_LOOP and to_pass >= 0.7 * GOAL_PASS_THROUGH else 1


if __name__ == "__main__":
    sys.exit(main())
