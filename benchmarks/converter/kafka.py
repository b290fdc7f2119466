"""A bridge, Kafka to Kafka, beside what one would otherwise use.

    python benchmarks/converter/kafka.py [--format FORMAT] [--records N] [--rounds 5] [--warm-up 3] [--delivery]

A real broker and Spark in local[2] share this machine, and the queries take turns. The first rounds are left out: Java
translates the code that a query runs again and again for some millions of records, in threads that count as processor
time; after three rounds that is 5 to 10 % of it, as in a job that runs for long. All of them keep
key, partition and headers, and write as many header bytes as a bridge:

- pass-through: reads and writes, and does not change the value: the cost of Kafka and Spark themselves;
- by hand (Avro): ``from_avro``, SQL and ``to_avro``, without dead letters and counts;
- bridge: the fastest engine that can carry out the plan, with coordinates, dead letters and counts; with 1 % dead
  letters;
- with ``--delivery`` instead: the bridge at least once (level 1), with the restart filter (2), and in transactions (3);
- loop: confluent-kafka's consumer, deserializer, serializer and producer, one record at a time, on a tenth of the
  records (a tenth of those warms it up).

The first batch of each query is left out, with the start in it: there are 500,000 records in a batch. Processor time
leaves the broker out, and counts Spark's Python workers. Only the ratios can be compared with another
machine; if broker and Spark share two cores, Kafka itself limits the records/s, and processor time is the better
measure.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING

from batches import Cost
from bench import bench_of, median_of, shown
from languages import language

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench import Bench

DEAD_SHARE = 0.01
LEVELS = {"level 1": "at-least-once", "level 2": "restart-filter", "level 3": "exactly-once"}
RECORDS, PROCESSOR = 0, 1  # which of the two figures of a candidate

AVRO_GOALS = [
    ("records/s: bridge / pass-through", RECORDS, "pass-through", "bridge", 0.85),
    ("records/s: bridge / by hand", RECORDS, "by hand", "bridge", 1.3),
    ("processor time: by hand / bridge", PROCESSOR, "by hand", "bridge", 1.3),
    ("records/s: bridge / loop", RECORDS, "loop", "bridge", 10.0),
    ("records/s: bridge with 1 % dead letters / bridge", RECORDS, "bridge", "1 % dead", 0.95),
]
OTHER_GOALS = [
    ("records/s: bridge / loop", RECORDS, "loop", "bridge", 5.0),
    ("records/s: bridge with 1 % dead letters / bridge", RECORDS, "bridge", "1 % dead", 0.95),
]
DELIVERY_GOALS = [
    ("records/s: level 2 / level 1", RECORDS, "level 1", "level 2", 0.95),
    ("records/s: level 3 / level 1", RECORDS, "level 1", "level 3", 0.65),
]


def candidates(bench: Bench, *, delivery: bool) -> dict[str, Callable[[], Cost]]:
    """Return what takes turns, by name."""
    if delivery:
        return {name: lambda way=way: bench.bridge("source", "auto", way) for name, way in LEVELS.items()}  # type: ignore[misc]
    runs = {
        "pass-through": lambda: bench.pass_through("source"),
        "bridge": lambda: bench.bridge("source", "auto"),
        "1 % dead": lambda: bench.bridge("broken", "auto"),
    }
    if bench.language.name == "avro":
        runs["by hand"] = lambda: bench.by_hand("source")
    return runs


def loop(bench: Bench) -> Cost:
    """Return wall and processor seconds of the loop for all records, measured on a tenth of them."""
    few = max(1, bench.count // 10)
    before = time.process_time()
    wall = bench.loop("source", few)
    scale = bench.count / few
    return Cost(wall * scale, (time.process_time() - before) / 1.1 * scale)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("--format", choices=["avro", "json", "protobuf"], default="avro")
    parser.add_argument("--records", type=int, default=2_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--warm-up", type=int, default=3, help="rounds before these that are not counted")
    parser.add_argument("--delivery", action="store_true", help="compare the ways of delivery instead")
    options = parser.parse_args()
    with bench_of(language(options.format), options.records) as bench:
        bench.fill("source")
        if not options.delivery:
            bench.fill("broken", broken_share=DEAD_SHARE)
        took = median_of(candidates(bench, delivery=options.delivery), options.rounds, warm_up=options.warm_up)
        if not options.delivery:
            took["loop"] = loop(bench)
    for each, (wall, cpu) in took.items():
        per_record = cpu / options.records * 1e6
        print(f"{each:13} {options.records / wall:12,.0f} records/s {per_record:8.1f} us of processor time a record")
    goals = DELIVERY_GOALS if options.delivery else AVRO_GOALS if options.format == "avro" else OTHER_GOALS
    for what, figure, above, below, goal in goals:
        print(shown(what, took[above][figure] / took[below][figure], goal))
    if not options.delivery:
        ratio = took["bridge"][PROCESSOR] / took["pass-through"][PROCESSOR]
        if options.format == "avro":
            print(shown("processor time: bridge / pass-through", ratio, 1.25, at_most=True))
        else:
            print(f"processor time: bridge / pass-through: {ratio:.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
