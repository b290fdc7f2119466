"""A bridge that runs for a long time at a fixed rate: the latency of its records, and the memory of its driver.

    python benchmarks/converter/steady.py [--rate 1000] [--seconds 60] [--interval 0.1] [--engine auto]

The latency of a record is the time from its production to its arrival at a consumer of the target; of more than 1,000
records a second, about 1,000 are measured. Memory is the resident set of Java, sampled each second, which grows as long
as the heap is smaller than it may become; so what is still in use after a collection of garbage is measured, too, after
the first third of the time and at the end. The seconds begin when the first record arrives; the first third of them
warms up. For memory over 50 million records: ``--rate 60000 --seconds 840``.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bench import PARTITIONS, bench_of, produce, shown
from languages import language

from counterfoil.converter.kafka.origins import SOURCE, last_value, parse_origin

if TYPE_CHECKING:
    from bench import Bench

SOURCE_TOPIC = "source"
LONGEST_START_S = 300.0
HIGHEST_P99_S = 1.0
MEASURED_A_SECOND = 1000
FEWEST_RECORDS, FEWEST_SAMPLES = 100, 3
MOST_GROWTH = 0.05  # of the memory, from the second to the last third of the run


class Measured(NamedTuple):
    """Latencies in seconds, resident memory each second and memory in use at the start and at the end, in MiB."""

    latencies_s: list[float]
    resident: list[float]
    in_use: list[float]


def produce_steadily(bench: Bench, rate: int, stop: threading.Event) -> None:
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": bench.broker.bootstrap_servers, "linger.ms": 5})
    samples = list(bench.language.values(1000))
    started, number = time.perf_counter(), 0
    while not stop.is_set():
        due = int((time.perf_counter() - started) * rate)
        for each in range(number, due):
            value, key = samples[each % len(samples)], str(each % 5000).encode()
            produce(producer, SOURCE_TOPIC, value=value, key=key, partition=each % PARTITIONS)
        number = max(number, due)
        producer.poll(0.005)
    producer.flush()


def consume(bench: Bench, topic: str, stop: threading.Event, every: int, latencies: list[tuple[float, float]]) -> None:
    """Append the time and the latency of one of ``every`` so many records that arrive, in seconds."""
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer(
        {"bootstrap.servers": bench.broker.bootstrap_servers, "group.id": "latency", "fetch.wait.max.ms": 10}
    )
    consumer.assign([TopicPartition(topic, each, 0) for each in range(PARTITIONS)])
    while not stop.is_set():
        messages = consumer.consume(1000, timeout=0.02)
        now = time.time()
        for message in messages:
            if message.offset() % every:
                continue
            origin = parse_origin(last_value(message.headers(), SOURCE))
            if origin is not None:
                latencies.append((now, now - origin.timestamp_ms / 1000))
    consumer.close()


def resident_mib(process: int) -> float:
    lines = Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:")) / 1024


def in_use_mib(bench: Bench) -> float:
    """Return what Java has in use for objects and classes, after a collection of garbage."""
    java = bench.spark._jvm  # noqa: SLF001 - the way to Java that PySpark itself takes
    java.System.gc()
    management = java.java.lang.management.ManagementFactory
    classes = [pool for pool in management.getMemoryPoolMXBeans() if pool.getName() == "Metaspace"]
    heap_bytes = management.getMemoryMXBean().getHeapMemoryUsage().getUsed()
    return float(heap_bytes + sum(pool.getUsage().getUsed() for pool in classes)) / 2**20


def run(bench: Bench, rate: int, seconds: float, interval_s: float, engine: str) -> Measured:
    """Run a bridge for so many seconds, and return what was measured."""
    bench.broker.create_topic(SOURCE_TOPIC, partitions=PARTITIONS)
    bench.spark.streams.removeListener(bench.batches)  # a bridge has none; it takes a third of a core
    bridge = bench.make_run(SOURCE_TOPIC, engine, "restart-filter", interval_s=interval_s)
    stop, latencies = threading.Event(), list[tuple[float, float]]()
    threads = [
        threading.Thread(target=bridge.run, args=(bench.spark,)),
        threading.Thread(target=produce_steadily, args=(bench, rate, stop)),
        threading.Thread(
            target=consume,
            args=(bench, bridge.bridge.file.target_topic, stop, max(1, rate // MEASURED_A_SECOND), latencies),
        ),
    ]
    for each in threads:
        each.start()
    started = time.time()
    while not latencies and threads[0].is_alive() and time.time() - started < LONGEST_START_S:
        time.sleep(0.1)
    begun, memory, in_use = time.time(), list[float](), list[float]()
    begun_measuring = begun + seconds
    while time.time() - begun < seconds and threads[0].is_alive():
        memory.append(resident_mib(bench.driver))
        if not in_use and time.time() - begun > seconds / 3:
            in_use.append(in_use_mib(bench))
            begun_measuring = time.time()
        time.sleep(1)
    in_use.append(in_use_mib(bench))
    bridge.stop.set()
    stop.set()
    for each in threads:
        each.join()
    return Measured([latency for when, latency in latencies if when > begun_measuring], memory, in_use)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("--format", choices=["avro", "json", "protobuf"], default="avro")
    parser.add_argument("--rate", type=int, default=1000, help="records a second")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--interval", type=float, default=0.1, help="seconds between two batches")
    parser.add_argument("--engine", default="auto")
    options = parser.parse_args()
    with bench_of(language(options.format), 0) as bench:
        latencies, memory, in_use = run(bench, options.rate, options.seconds, options.interval, options.engine)
    if len(latencies) < FEWEST_RECORDS or len(memory) < FEWEST_SAMPLES:
        raise SystemExit(f"only {len(latencies)} records arrived in time; the run was too short or the bridge ended")
    cuts = statistics.quantiles(latencies, n=100)
    print(f"{len(latencies):,} latencies; p50 {cuts[49]:.3f} s, p95 {cuts[94]:.3f} s, most {max(latencies):.3f} s")
    print(shown(f"p99 of the latency at {options.rate:,} records/s, in seconds", cuts[98], HIGHEST_P99_S, at_most=True))
    third = len(memory) // 3
    middle, last = (statistics.median(part) for part in (memory[third : 2 * third], memory[2 * third :]))
    millions = options.rate * len(memory) / 1e6
    print(f"resident memory {middle:,.0f} MiB, later {last:,.0f} MiB; in all {millions:,.1f} million records")
    print(f"in use after collections {in_use[0]:,.0f} MiB, at the end {in_use[-1]:,.0f} MiB")
    print(
        shown(
            "growth of the memory in use, from the first third to the end",
            in_use[-1] / in_use[0],
            1 + MOST_GROWTH,
            at_most=True,
        )
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
