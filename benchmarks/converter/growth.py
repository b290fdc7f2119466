"""How the cost of a bridge grows with partitions and with fields, beside a pass-through of the same records.

    python benchmarks/converter/growth.py [--records 1000000] [--rounds 2] [--partitions 1 2 4] [--fields 1 20 50 200]

The table of partitions has the rides; that of fields has records of numbers and texts, each of which the bridge renames
and writes in another order, so that nothing is copied as a span.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from bench import PARTITIONS, bench_of, median_of
from languages import Language, language

from counterfoil.schema.languages.avro.schema import parse_avro
from counterfoil.schema.plans.derive import derive_plan
from counterfoil.schema.plans.rules import parse_rules
from counterfoil.sdk.serde.avro.coders import compile_encoder

if TYPE_CHECKING:
    from bench import Bench

VALUE_BY_TYPE: dict[str, Any] = {"long": 123_456, "string": "about sixteen by", "double": 0.25, "boolean": True}


def wide(count: int) -> Language:
    """Return records of ``count`` fields, all of which are renamed and written the other way round."""
    types = [list(VALUE_BY_TYPE)[number % len(VALUE_BY_TYPE)] for number in range(count)]

    def schema(prefix: str, numbers: list[int]) -> str:
        fields = [{"name": f"{prefix}{number}", "type": types[number]} for number in numbers]
        return json.dumps({"type": "record", "name": "Wide", "fields": fields})

    schemas = (schema("f", list(range(count))), schema("t", list(reversed(range(count)))))
    source, target = map(parse_avro, schemas)
    rules = parse_rules({f"t{number}": {"from": f"f{number}"} for number in range(count)})
    body = compile_encoder(source)({f"f{number}": VALUE_BY_TYPE[each] for number, each in enumerate(types)})

    def no_loop(_registry: Any) -> Any:
        raise TypeError("this benchmark compares a bridge with a pass-through, and has no loop of deserializers")

    return Language(
        "avro", schemas, lambda: derive_plan(source, target, rules), lambda: rules, lambda _ride: body, no_loop
    )


def row(bench: Bench, name: str, rounds: int) -> str:
    """Measure bridge and pass-through once more, and return a line of the table."""
    source = f"source-{name}"
    bench.fill(source)
    runs = {"pass": lambda: bench.pass_through(source), "bridge": lambda: bench.bridge(source, "auto")}
    took = median_of(runs, rounds)
    bench.delete_topics(source)
    rates = [f"{bench.count / took[each][0]:12,.0f}" for each in ("pass", "bridge")]
    costs = [f"{took[each][1] / bench.count * 1e6:8.1f}" for each in ("pass", "bridge")]
    ratio = took["bridge"][1] / took["pass"][1]
    return f"{name:>14} {rates[0]} {rates[1]} {costs[0]} {costs[1]} {ratio:8.2f}"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--partitions", type=int, nargs="*", default=[1, 2, 4])
    parser.add_argument("--fields", type=int, nargs="*", default=[1, 10, 20, 50, 100, 200])
    options = parser.parse_args()
    rides = language("avro")
    with bench_of(rides, options.records) as bench:
        print(f"{'':14}    records/s: pass, bridge    us a record: pass, bridge, ratio")
        for count in options.partitions:
            bench.partitions = count
            print(row(bench, f"{count}-partitions", options.rounds), flush=True)
        bench.partitions = PARTITIONS
        for count in options.fields:
            bench.language = wide(count)
            print(row(bench, f"{count}-fields", options.rounds), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
