"""Time of one compatibility check, ours against Apache Avro's for Python and for Java, on records of 20 and 50 fields.

Parsed schemas are compared, and for Python also texts. Java is warm: it makes 40,000 checks before the first measured
one. All take turns, so that a slow moment of the machine affects each of them; printed are medians and their ratios,
which are our time divided by theirs. Run it with ``python benchmarks/bench_compatibility.py [--assert]``; with
``--assert`` the exit code is 1 if a ratio is above its goal.
"""

from __future__ import annotations

import gc
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).parents[1] / "deploy"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "differential"))

import avro.compatibility
import avro.schema
from java_oracle import java_command

from counterfoil.schema.languages.avro.policies import find_differences
from counterfoil.schema.languages.avro.schema import parse_avro

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS = 40
CHECKS_IN_A_ROUND = 20
JAVA_CHECKS_IN_A_ROUND = 500
MICRO = 1e6
GOAL_PYTHON = 0.25
GOAL_JAVA = 3.0

TYPES = (
    lambda _: "string",
    lambda _: "long",
    lambda _: ["null", "string"],
    lambda _: {"type": "array", "items": "double"},
    lambda number: {"type": "enum", "name": f"Enum{number}", "symbols": ["A", "B", "C"]},
)


def record(size: int, *, added: int = 0, doc: str = "") -> str:
    """Return a record of ``size`` fields of five kinds, and ``added`` ones with a default."""
    fields: list[dict[str, Any]] = [
        {"name": f"field_{number}", "type": TYPES[number % len(TYPES)](number)} for number in range(size)
    ]
    fields += [{"name": f"added_{number}", "type": "long", "default": 0} for number in range(added)]
    documented = {"doc": doc} if doc else {}
    return json.dumps({"type": "record", "name": "Order", "namespace": "shop", **documented, "fields": fields})


def seconds(check: Callable[[], object]) -> float:
    """Return the time of one check, measured over a round; garbage of earlier rounds is collected before it."""
    gc.collect()
    start = time.perf_counter()
    for _ in range(CHECKS_IN_A_ROUND):
        check()
    return (time.perf_counter() - start) / CHECKS_IN_A_ROUND


class Java:
    """The checker for Java, which runs one round on request."""

    def __init__(self, reader: str, writer: str) -> None:
        self._process = subprocess.Popen(
            java_command("time", str(ROUNDS), str(JAVA_CHECKS_IN_A_ROUND)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._say(json.dumps({"reader": reader, "writer": writer}))

    def seconds(self) -> float:
        """Return the time of one check, measured over a round."""
        assert self._process.stdout is not None
        self._process.stdout.readline()  # the line "ready"
        self._say("go")
        return int(self._process.stdout.readline()) / 1e9

    def _say(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()


def check_as_python(reader: Any, writer: Any) -> object:
    return avro.compatibility.ReaderWriterCompatibilityChecker().get_compatibility(reader, writer)


def compare(size: int) -> dict[str, float]:
    """Return the medians of all checkers, in seconds."""
    texts = record(size, added=1), record(size)
    ours = tuple(map(parse_avro, texts))
    theirs = tuple(map(avro.schema.parse, texts))
    java = Java(*texts)
    rounds = [
        {
            "check": seconds(lambda: find_differences(*ours)),
            "check in Java": java.seconds(),
            "check in Python": seconds(lambda: check_as_python(*theirs)),
            "parse and check": seconds(lambda: find_differences(*map(parse_avro, texts))),
            "parse and check in Python": seconds(lambda: check_as_python(*map(avro.schema.parse, texts))),
        }
        for _ in range(ROUNDS)
    ]
    return {name: statistics.median(each[name] for each in rounds) for name in rounds[0]}


def main() -> int:
    missed = []
    for size in (20, 50):
        median = compare(size)
        print(f"record of {size} fields")
        for ours, theirs, goal in (
            ("check", "check in Java", GOAL_JAVA),
            ("check", "check in Python", GOAL_PYTHON),
            ("parse and check", "parse and check in Python", GOAL_PYTHON),
        ):
            ratio = median[ours] / median[theirs]
            print(
                f"  {ours:15} {median[ours] * MICRO:8.1f} us   {theirs:26} {median[theirs] * MICRO:8.1f} us   "
                f"{ratio:6.3f} (goal {goal})"
            )
            if ratio > goal:
                missed.append(f"{theirs}, {size} fields")
    return 1 if "--assert" in sys.argv and missed else 0


if __name__ == "__main__":
    sys.exit(main())
