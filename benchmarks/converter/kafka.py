"""A bridge, Kafka to Kafka, beside what one would otherwise use.

    python benchmarks/converter/kafka.py [--records 2000000] [--rounds 3]

A real broker and Spark in local[2] share this machine; everything is warm, and the queries take turns. All of them keep
key, partition and headers, and write as many header bytes as a bridge:

- pass-through: reads and writes, and does not change the value: the cost of Kafka and Spark themselves;
- by hand: ``from_avro``, SQL and ``to_avro``, without dead letters and counts;
- java, sql: the bridge with each engine, with coordinates, dead letters and counts; and java with 1 % dead letters;
- loop: confluent-kafka's consumer, deserializer, serializer and producer, one record at a time, on a tenth of the
  records (a tenth of those warms it up).

Processor time leaves the broker out, and counts Spark's Python workers. Only the ratios can be compared with another
machine; if broker and Spark share two cores, Kafka itself limits the records/s, and processor time is the better
measure.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "deploy"))

from processor import cpu_seconds
from rides import BY_HAND, CONSTANT_HEADERS, SOURCE, SOURCE_ID, TARGET, TARGET_ID, converted, plan, rules, values

from local_services import KafkaBroker, jar_folder

if TYPE_CHECKING:
    from collections.abc import Callable

PARTITIONS = 4
BATCH = 500_000  # offsets, the default of `bridge run`
DEAD_SHARE = 0.01
GOALS = [
    ("records/s: java / pass-through", lambda took: took["pass-through"][0] / took["java"][0], 0.85),
    ("processor time: 1.25 pass-through / java", lambda took: 1.25 * took["pass-through"][1] / took["java"][1], 1.0),
    ("records/s: java / by hand", lambda took: took["by hand"][0] / took["java"][0], 1.3),
    ("records/s: java / loop", lambda took: took["loop"][0] / took["java"][0], 10.0),
    ("records/s: java with 1 % dead letters / java", lambda took: took["java"][0] / took["1 % dead"][0], 0.95),
]


def fill(broker: KafkaBroker, topic: str, count: int, *, broken_share: float = 0.0) -> None:
    from confluent_kafka import Producer

    broker.create_topic(topic, partitions=PARTITIONS)
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "linger.ms": 50, "batch.size": 1 << 20})
    for number, value in enumerate(values(count, broken_share=broken_share)):
        headers = [("trace", b"%016d" % number)]
        key = str(number % 5000).encode()
        produce(producer, topic, value=value, key=key, partition=number % PARTITIONS, headers=headers)
    producer.flush()


def batch_seconds(query: Any) -> float:
    """Return the time of the query's batches, without its start."""
    query.awaitTermination()
    return sum(json.loads(each.json)["durationMs"]["triggerExecution"] for each in query.recentProgress) / 1000


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
        """Return the seconds for an unchanged value."""
        return self.query("pass", source, "value")

    def by_hand(self, source: str) -> float:
        """Return the seconds for ``from_avro``, SQL and ``to_avro``."""
        from pyspark.sql import functions as F  # noqa: N812 - Spark's own name for it
        from pyspark.sql.avro.functions import from_avro, to_avro

        def convert(records: Any) -> Any:
            ride = from_avro(F.expr("substring(value, 6)"), json.dumps(SOURCE), {"mode": "PERMISSIVE"})
            made = records.withColumn("ride", ride).withColumn("made", F.expr(BY_HAND))
            framed = F.concat(F.lit(b"\x00" + TARGET_ID.to_bytes(4, "big")), to_avro("made", json.dumps(TARGET)))
            return made.withColumn("value", framed)

        return self.query("hand", source, "value", convert)

    def query(self, stem: str, source: str, value: str, convert: Callable[[Any], Any] = lambda same: same) -> float:
        """Return the seconds of a query that has the bridge's columns and as large headers."""
        from pyspark.sql import functions as F  # noqa: N812 - Spark's own name for it

        from counterfoil.converter.run import sink
        from counterfoil.converter.run.source import read_stream

        target, checkpoint = self.fresh_topics(stem)
        servers = self.broker.bootstrap_servers
        records = read_stream(self.spark, bootstrap_servers=servers, topic=source, max_offsets_per_trigger=BATCH)
        added = [F.struct(F.lit(name).alias("key"), F.lit(text).alias("value")) for name, text in CONSTANT_HEADERS]
        same = convert(records).select(
            F.lit(target).alias("topic"),
            F.col("partition").cast("int").alias("partition"),
            "key",
            value,
            F.concat("headers", F.array(*added)).alias("headers"),
        )
        writer = sink.write_stream(
            same, bootstrap_servers=servers, checkpoint=str(checkpoint), largest_request_bytes=1 << 20
        )
        return batch_seconds(writer.trigger(availableNow=True).start())

    def bridge(self, source: str, engine: str) -> float:
        """Return the seconds for the bridge as ``counterfoil bridge run`` runs it."""
        from counterfoil.converter.bridge.resolve import ResolvedBridge
        from counterfoil.converter.engines.choice import choose_engine
        from counterfoil.converter.kafka.cluster import Cluster
        from counterfoil.converter.run.checkpoint import Checkpoint
        from counterfoil.converter.run.job import BridgeRun, RunSettings
        from counterfoil.schema.bridges.model import BridgeFile, StopAbove

        target, checkpoint = self.fresh_topics("bridge")
        file = BridgeFile("b", source, "s", target, "t", f"{target}-dead", rules(), stop_above=StopAbove())
        made = plan()
        resolved = ResolvedBridge(file, made, {SOURCE_ID: made.source}, {SOURCE_ID: 1}, SOURCE_ID, TARGET_ID, 1)
        seconds: list[float] = []
        run = BridgeRun(
            bridge=resolved,
            engine=choose_engine(engine, resolved.conversion()).engine,
            cluster=Cluster(self.broker.bootstrap_servers),
            settings=RunSettings(checkpoint=Checkpoint(checkpoint), max_offsets_per_trigger=BATCH),
            say=lambda _line: None,
            stop=threading.Event(),
            on_batch=lambda report: seconds.append(report["durationMs"]["triggerExecution"] / 1000),
        )
        outcome = run.run(self.spark)
        if outcome.totals.written != self.count or bool(outcome.totals.dead_letters) != (source == "broken"):
            raise SystemExit(f"the bridge did not convert what it should: {outcome.text}")
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
                headers = [*(message.headers() or []), ("bridge.src", origin), *CONSTANT_HEADERS[1:]]
                value, partition = encode(converted(ride), there), message.partition()
                produce(producer, target, value=value, key=message.key(), partition=partition, headers=headers)
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


def median_of(runs: dict[str, Callable[[], float]], driver: int, rounds: int) -> dict[str, tuple[float, float]]:
    """Return wall and processor seconds of each, the median of some turns after one that only warms up."""
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in runs}
    for turn in range(rounds + 1):
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
    parser.add_argument("--records", type=int, default=2_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    from counterfoil.converter.spark.session import start_session

    with tempfile.TemporaryDirectory() as name, KafkaBroker() as broker:
        folder = Path(name)
        spark = start_session(master="local[2]", jars=jar_folder("spark"), log_file=folder / "spark.log")
        bench = Bench(broker, spark, folder, options.records)
        fill(broker, "source", options.records)
        fill(broker, "broken", options.records, broken_share=DEAD_SHARE)
        driver = spark.sparkContext._gateway.proc.pid  # noqa: SLF001 - the JVM; Python workers are its children
        runs = {
            "pass-through": lambda: bench.pass_through("source"),
            "java": lambda: bench.bridge("source", "java"),
            "1 % dead": lambda: bench.bridge("broken", "java"),
            "sql": lambda: bench.bridge("source", "sql"),
            "by hand": lambda: bench.by_hand("source"),
        }
        took = median_of(runs, driver, options.rounds)
        few = max(1, options.records // 10)
        before = time.process_time()
        wall = bench.loop("source", few)
        took["loop"] = (wall * options.records / few, (time.process_time() - before) / 1.1 * options.records / few)
        spark.stop()
    for each, (wall, cpu) in took.items():
        per_record = cpu / options.records * 1e6
        print(f"{each:13} {options.records / wall:12,.0f} records/s {per_record:8.1f} us of processor time a record")
    print(f"processor time: sql / java {took['sql'][1] / took['java'][1]:.2f}")
    for what, ratio, goal in GOALS:
        found = ratio(took)
        print(f"{what}: {found:.2f} (goal {goal:g}){'' if found >= goal else '  SHORT OF IT'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
