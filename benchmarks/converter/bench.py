"""A broker, a session of Spark and the candidates that the benchmarks of the converter compare."""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "deploy"))

from batches import Batches, Cost
from rides import BY_HAND, CONSTANT_HEADERS, SOURCE, SOURCE_ID, TARGET, TARGET_ID

from local_services import KafkaBroker, connector_jars

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from languages import Language

    from counterfoil.converter.run.job import BridgeRun

PARTITIONS = 4
BATCH = 500_000  # offsets, the default of `bridge run`


@contextmanager
def bench_of(rides_in: Language, count: int) -> Iterator[Bench]:
    """Start a broker and Spark in local[2]; stop both at the end."""
    from counterfoil.converter.spark.options import SparkOptions
    from counterfoil.converter.spark.session import start_session

    with tempfile.TemporaryDirectory() as name, KafkaBroker() as broker:
        folder = Path(name)
        spark = start_session(SparkOptions("local[2]", connector_jars()), log_file=folder / "spark.log")
        try:
            yield Bench(broker, spark, folder, rides_in, count)
        finally:
            spark.stop()


class Bench:
    """One broker, one session, the rides in one language, and the candidates."""

    def __init__(self, broker: KafkaBroker, spark: Any, folder: Path, rides_in: Language, count: int) -> None:
        self.broker, self.spark, self.folder, self.count = broker, spark, folder, count
        self.language = rides_in
        self.partitions = PARTITIONS
        self.turn = 0
        self.targets: tuple[str, ...] = ()
        self.batches = Batches(self.driver)
        spark.streams.addListener(self.batches)

    @property
    def driver(self) -> int:
        """The process id of Java; Python workers are its children."""
        pid: int = self.spark.sparkContext._gateway.proc.pid  # noqa: SLF001 - PySpark has no other way to it
        return pid

    def fill(self, topic: str, *, broken_share: float = 0.0) -> None:
        """Make a source topic; a share of its records is cut off."""
        from confluent_kafka import Producer

        self.broker.create_topic(topic, partitions=self.partitions)
        producer = Producer(
            {"bootstrap.servers": self.broker.bootstrap_servers, "linger.ms": 50, "batch.size": 1 << 20}
        )
        for number, value in enumerate(self.language.values(self.count, broken_share=broken_share)):
            headers = [("trace", b"%016d" % number)]
            key, partition = str(number % 5000).encode(), number % self.partitions
            produce(producer, topic, value=value, key=key, partition=partition, headers=headers)
        producer.flush()

    def fresh_topics(self, stem: str) -> tuple[str, Path]:
        """Return an empty target topic, and a checkpoint for it; the topics of the candidate before are deleted."""
        self.delete_topics(*self.targets)
        self.turn += 1
        topic = f"{stem}-{self.turn}"
        self.targets = (topic, f"{topic}-dead")
        for name in self.targets:
            self.broker.create_topic(name, partitions=self.partitions)
        return topic, self.folder / topic

    def delete_topics(self, *names: str) -> None:
        """Delete topics; the broker removes their files after a minute."""
        for deleted in self.broker.admin.delete_topics(list(names)).values() if names else ():
            deleted.result(60)

    def pass_through(self, source: str) -> Cost:
        """Return the cost of an unchanged value."""
        return self.query("pass", source, "value")

    def by_hand(self, source: str) -> Cost:
        """Return the cost of ``from_avro``, SQL and ``to_avro``."""
        from pyspark.sql import functions as F  # noqa: N812 - Spark's own name for it
        from pyspark.sql.avro.functions import from_avro, to_avro

        def convert(records: Any) -> Any:
            ride = from_avro(F.expr("substring(value, 6)"), json.dumps(SOURCE), {"mode": "PERMISSIVE"})
            made = records.withColumn("ride", ride).withColumn("made", F.expr(BY_HAND))
            framed = F.concat(F.lit(b"\x00" + TARGET_ID.to_bytes(4, "big")), to_avro("made", json.dumps(TARGET)))
            return made.withColumn("value", framed)

        return self.query("hand", source, "value", convert)

    def query(self, stem: str, source: str, value: str, convert: Callable[[Any], Any] = lambda same: same) -> Cost:
        """Return the cost of a query that has the bridge's columns and as large headers."""
        from pyspark.sql import functions as F  # noqa: N812 - Spark's own name for it

        from counterfoil.converter.run import delivery as sink
        from counterfoil.converter.run.delivery import read_stream

        target, checkpoint = self.fresh_topics(stem)
        kafka = {"kafka.bootstrap.servers": self.broker.bootstrap_servers}
        records = read_stream(self.spark, kafka, topic=source, max_offsets_per_trigger=BATCH)
        added = [F.struct(F.lit(name).alias("key"), F.lit(text).alias("value")) for name, text in CONSTANT_HEADERS]
        same = convert(records).select(
            F.lit(target).alias("topic"),
            F.col("partition").cast("int").alias("partition"),
            "key",
            value,
            F.concat("headers", F.array(*added)).alias("headers"),
        )
        writer = sink.write_stream(same, kafka, checkpoint=str(checkpoint), largest_request_bytes=1 << 20)
        return self.batches.cost(lambda: writer.trigger(availableNow=True).start().awaitTermination(), self.count)

    def bridge(self, source: str, engine: str, delivery: str = "restart-filter") -> Cost:
        """Return the cost of the bridge as ``counterfoil bridge run`` runs it."""
        run = self.make_run(source, engine, delivery)

        def convert() -> None:
            outcome = run.run(self.spark)
            if outcome.totals.written != self.count or bool(outcome.totals.dead_letters) != (source == "broken"):
                raise SystemExit(f"the bridge did not convert what it should: {outcome.text}")

        return self.batches.cost(convert, self.count)

    def make_run(
        self,
        source: str,
        engine: str,
        delivery: str,
        *,
        interval_s: float | None = None,
    ) -> BridgeRun:
        """Return a run of a bridge from ``source`` to a new topic."""
        from counterfoil.converter.bridge import ResolvedBridge
        from counterfoil.converter.engines.choice import choose_engine
        from counterfoil.converter.kafka.cluster import Cluster
        from counterfoil.converter.run.checkpoint import Checkpoint
        from counterfoil.converter.run.job import BridgeRun, RunSettings
        from counterfoil.schema.plans.bridge import BridgeFile, DeliveryGuarantee, StopAbove

        target, checkpoint = self.fresh_topics("bridge")
        file = BridgeFile(
            f"bridge-{target}",
            source,
            "s",
            target,
            "t",
            f"{target}-dead",
            self.language.rules(),
            delivery=DeliveryGuarantee(delivery),
            stop_above=StopAbove(),
        )
        made = self.language.plan()
        resolved = ResolvedBridge(file, made, {SOURCE_ID: made.source}, {SOURCE_ID: 1}, SOURCE_ID, TARGET_ID, 1)
        settings = RunSettings(Checkpoint(checkpoint), max_offsets_per_trigger=BATCH, interval_s=interval_s)
        return BridgeRun(
            bridge=resolved,
            engine=choose_engine(engine, resolved.conversion()).engine,
            cluster=Cluster(self.broker.bootstrap_servers),
            settings=settings,
            say=lambda _line: None,
            stop=threading.Event(),
            on_batch=lambda _report: None,
        )

    def loop(self, source: str, count: int) -> float:
        """Return the seconds for ``count`` records with confluent-kafka's own clients and (de)serializers."""
        from confluent_kafka import Consumer, Producer, TopicPartition
        from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
        from confluent_kafka.serialization import MessageField, SerializationContext

        target, _ = self.fresh_topics("loop")
        registry = SchemaRegistryClient.new_client({"url": "mock://"})
        word = self.language.name.upper()
        ids = [
            registry.register_schema(f"{topic}-value", Schema(text, word))
            for topic, text in zip((source, target), self.language.schemas, strict=True)
        ]
        if ids != [SOURCE_ID, TARGET_ID]:
            raise SystemExit(f"the registry in this process gave the ids {ids}")
        decode, convert, encode = self.language.loop_codec(registry)
        servers = {"bootstrap.servers": self.broker.bootstrap_servers}
        consumer = Consumer(
            {**servers, "group.id": target, "auto.offset.reset": "earliest", "enable.auto.commit": False}
        )
        consumer.assign([TopicPartition(source, each, 0) for each in range(self.partitions)])
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
                value, partition = encode(convert(ride), there), message.partition()
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


def median_of(runs: dict[str, Callable[[], Cost]], rounds: int, *, warm_up: int = 1) -> dict[str, Cost]:
    """Return the median cost of each, of some turns after some that only warm up.

    Each round begins with another candidate, so that none always follows the same one. The cost of each turn is printed
    to standard error.
    """
    found: dict[str, list[Cost]] = {name: [] for name in runs}
    names = list(runs)
    for turn in range(warm_up + rounds):
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            cost = runs[name]()
            print(
                f"round {turn}: {name:12} {cost.wall_s:7.2f} s, {cost.processor_s:7.2f} s of processor time",
                file=sys.stderr,
            )
            if turn >= warm_up:
                found[name].append(cost)
    return {name: Cost(*map(statistics.median, zip(*each, strict=True))) for name, each in found.items()}


def shown(what: str, found: float, goal: float, *, at_most: bool = False) -> str:
    """Return a figure beside its goal, and whether it is short of it."""
    is_good = found <= goal if at_most else found >= goal
    return f"{what}: {found:.2f} (goal {'at most ' if at_most else ''}{goal:g}){'' if is_good else '  SHORT OF IT'}"
