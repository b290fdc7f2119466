"""A candidate against 1,000 versions of a 50-field Avro schema, and the memory of a parsed schema.

Cold, every version is parsed first; warm, all are parsed already, as in a registry after an earlier request. Printed
are the medians in milliseconds of processor time, cold and warm in turns, with the goals. ``--assert``: exit code 1 if
a goal is missed. Run it with ``python benchmarks/bench_schema_history.py``.
"""

from __future__ import annotations

import statistics
import sys
import time
import tracemalloc
from typing import TYPE_CHECKING

from bench_compatibility import record

from counterfoil.schema.compatibility import CompatibilityLevel
from counterfoil.schema.compatibility.findings import Earlier
from counterfoil.schema.judgement import check_compatibility
from counterfoil.schema.languages.avro.schema import parse_avro

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.schema.languages.avro.schema import AvroSchema

VERSIONS = 1000
FIELDS = 50
ROUNDS = 9
MEASURED_SCHEMAS = 50
MILLI = 1e3
KILO = 1024
GOAL_COLD_MS = 200
GOAL_WARM_MS = 30
GOAL_MEMORY_KB = 100


def main() -> int:
    texts = [record(FIELDS, doc=f"version {number}") for number in range(VERSIONS)]
    candidate = parse_avro(record(FIELDS, added=1))
    parsed = [parse_avro(text) for text in texts]
    rounds = [
        (
            processor_seconds(lambda: check(candidate, [parse_avro(text) for text in texts])),
            processor_seconds(lambda: check(candidate, parsed)),
        )
        for _ in range(ROUNDS)
    ]
    cold_ms, warm_ms = (statistics.median(side) * MILLI for side in zip(*rounds, strict=True))
    memory_kb = memory_of_one(texts[:MEASURED_SCHEMAS]) / KILO
    print(f"{VERSIONS} versions, cold  {cold_ms:7.1f} ms (goal {GOAL_COLD_MS})")
    print(f"{VERSIONS} versions, warm  {warm_ms:7.1f} ms (goal {GOAL_WARM_MS})")
    print(f"a parsed schema      {memory_kb:7.1f} KB (goal {GOAL_MEMORY_KB})")
    missed = cold_ms > GOAL_COLD_MS or warm_ms > GOAL_WARM_MS or memory_kb > GOAL_MEMORY_KB
    return 1 if "--assert" in sys.argv and missed else 0


def check(candidate: AvroSchema, history: list[AvroSchema]) -> None:
    report = check_compatibility(candidate, [Earlier(each) for each in history], CompatibilityLevel.BACKWARD_TRANSITIVE)
    assert report.is_compatible
    assert report.checked == VERSIONS


def processor_seconds(work: Callable[[], None]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def memory_of_one(texts: list[str]) -> float:
    """Return the bytes of memory of a parsed schema, without its text."""
    parse_avro(texts[0])
    tracemalloc.start()
    kept = [parse_avro(text) for text in texts]
    size = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return size / len(kept)


if __name__ == "__main__":
    sys.exit(main())
