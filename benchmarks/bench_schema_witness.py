"""Time of a search for a witness: the median over the incompatible Avro pairs among the recorded verdicts.

A first search loads fastavro and is not counted. Run it with ``python benchmarks/bench_schema_witness.py``; with
``--assert`` the exit code is 1 if the goal is missed.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from pathlib import Path

from counterfoil.schema.judgement import search_for_witness
from counterfoil.schema.languages.avro.policies import find_differences
from counterfoil.schema.languages.avro.schema import parse_avro
from counterfoil.schema.parsed import Validation

RECORDINGS = Path(__file__).parents[1] / "tests" / "data" / "recordings" / "verdicts.avro.jsonl"
GOAL_MS = 20
MILLI = 1e3


def main() -> int:
    times, found = [], 0
    for line in RECORDINGS.read_text(encoding="utf-8").splitlines():
        pair = json.loads(line)
        if pair["compatible"] or pair.get("references"):
            continue
        reader, writer = (
            parse_avro(pair[side], validation=Validation.LENIENT) for side in ("reader_or_new", "writer_or_old")
        )
        start = time.perf_counter()
        witnesses = [search_for_witness(reader, writer, each) for each in find_differences(reader, writer)]
        times.append(time.perf_counter() - start)
        found += any(witnesses)
    times = sorted(times[1:])
    median_ms, slowest_ms = statistics.median(times) * MILLI, times[-1] * MILLI
    print(
        f"{len(times)} incompatible pairs, {found} with a witness: median {median_ms:.2f} ms a pair (goal {GOAL_MS}), "
        f"slowest {slowest_ms:.1f} ms"
    )
    return 1 if "--assert" in sys.argv and median_ms > GOAL_MS else 0


if __name__ == "__main__":
    sys.exit(main())
