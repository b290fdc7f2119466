"""Time of one compatibility check, ours against Apache Avro's for Python, on records of 20 and 50 fields.

Both sides get schemas that are parsed already. The two are timed in turns, so that a slow moment of the machine hits
both; printed are medians and their ratio. Run it with ``python benchmarks/bench_compatibility.py``.
"""

from __future__ import annotations

import json
import statistics
import time
from typing import TYPE_CHECKING, Any

import avro.compatibility
import avro.schema

from counterfoil.schema.formats.avro.differences import find_differences
from counterfoil.schema.formats.avro.parse import parse_avro

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS = 60
CHECKS_IN_A_ROUND = 10
MICRO = 1e6

TYPES = (
    lambda _: "string",
    lambda _: "long",
    lambda _: ["null", "string"],
    lambda _: {"type": "array", "items": "double"},
    lambda number: {"type": "enum", "name": f"Enum{number}", "symbols": ["A", "B", "C"]},
)


def record(size: int, *, added: int = 0) -> str:
    """A record of ``size`` fields of five kinds, and ``added`` ones with a default."""
    fields: list[dict[str, Any]] = [
        {"name": f"field_{number}", "type": TYPES[number % len(TYPES)](number)} for number in range(size)
    ]
    fields += [{"name": f"added_{number}", "type": "long", "default": 0} for number in range(added)]
    return json.dumps({"type": "record", "name": "Order", "namespace": "shop", "fields": fields})


def seconds(check: Callable[[], object]) -> float:
    """The time of one check, measured over a round."""
    start = time.perf_counter()
    for _ in range(CHECKS_IN_A_ROUND):
        check()
    return (time.perf_counter() - start) / CHECKS_IN_A_ROUND


def main() -> None:
    print(f"{'record':>12}  {'counterfoil':>14}  {'Apache Avro':>14}  {'ratio':>8}")
    for size in (20, 50):
        reader, writer = record(size, added=1), record(size)
        ours = parse_avro(reader), parse_avro(writer)
        theirs = avro.schema.parse(reader), avro.schema.parse(writer)

        def check_ours(pair: tuple[Any, Any] = ours) -> object:
            return find_differences(*pair)

        def check_theirs(pair: tuple[Any, Any] = theirs) -> object:
            return avro.compatibility.ReaderWriterCompatibilityChecker().get_compatibility(*pair)

        rounds = [(seconds(check_ours), seconds(check_theirs)) for _ in range(ROUNDS)]
        mine, other = (statistics.median(side) for side in zip(*rounds, strict=True))
        print(f"{size:>5} fields  {mine * MICRO:>11.1f} us  {other * MICRO:>11.1f} us  {other / mine:>7.1f}x")


if __name__ == "__main__":
    main()
