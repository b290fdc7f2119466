"""What unions cost in the engine ``java``: rides as a branch of a union, against the same rides as a record.

    .venv/bin/python benchmarks/converter/unions.py [records]

Both sides rename a field and make one larger, once in a record and once in each branch of a union; the values have the
same fields. The compiled classes are called without a query, in turn, and the CPU time of their thread is compared:
Spark's own cost comes on top of both.
"""

from __future__ import annotations

import json
import statistics
import struct
import sys
from typing import TYPE_CHECKING, Any

from pyspark.sql import SparkSession

from counterfoil.converter.engines.java.engine import JavaEngine
from counterfoil.converter.engines.java.generator import load_plan
from counterfoil.converter.engines.protocol import Conversion
from counterfoil.schema.languages.avro.schema import parse_avro
from counterfoil.schema.plans.derive import derive_plan
from counterfoil.schema.plans.rules import parse_rules
from counterfoil.schema.wire import frame
from counterfoil.sdk.serde.avro.coders import compile_encoder

if TYPE_CHECKING:
    from counterfoil.converter.engines.java.generator import JavaSource

ROUNDS = 9
SAMPLES = 500
KINDS: dict[str, str] = {
    "id": "string",
    "at": "long",
    "km": "double",
    "zone_from": "int",
    "zone_to": "int",
    "note": "string",
    **{f"amount_{number}": "double" for number in range(8)},
}


def main() -> None:
    records = int(sys.argv[1]) if len(sys.argv) > 1 else 400_000
    session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    jvm: Any = session._jvm  # noqa: SLF001 - the way to Java that the engine takes, too
    plans, costs = {}, {}
    for name, in_union in {"record": False, "union": True}.items():
        conversion, samples = _conversion(in_union=in_union)
        batch = b"".join(struct.pack(">i", len(each)) + each for each in samples)
        plans[name], costs[name] = (_timed(jvm, JavaEngine(conversion).source), batch), []
    for _ in range(ROUNDS):
        for name, (plan, batch) in plans.items():
            costs[name].append(plan.nanos(batch, records // SAMPLES) / records / 1e3)
    for name, each in costs.items():
        print(f"{name:8} {min(each):5.2f} CPU µs a record, median {statistics.median(each):5.2f}", flush=True)
    print(f"union / record {min(costs['union']) / min(costs['record']):.2f}", flush=True)
    session.stop()


_TIMED = """
public final class Timed_%s {
  private final counterfoil.%s.Conversion plan;
  public Timed_%s(Object plan) { this.plan = (counterfoil.%s.Conversion) plan; }
  /** Convert a batch several times, and return the time of the thread on a processor. */
  public long nanos(byte[] batch, int times) throws Exception {
    java.lang.management.ThreadMXBean clock = java.lang.management.ManagementFactory.getThreadMXBean();
    long before = clock.getCurrentThreadCpuTime();
    for (int i = 0; i < times; i++) plan.convertAll(batch);
    return clock.getCurrentThreadCpuTime() - before;
  }
}"""


def _timed(jvm: Any, source: JavaSource) -> Any:
    """Return an object that converts batches by the class of a plan, and measures it."""
    above = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    for each in (*source.uses, source):
        above = _compiled(jvm, each.text, above)
    runtime, own = (each.package.rpartition(".")[2] for each in (source.uses[0], source))
    plan = load_plan(jvm, above, source)
    made = _compiled(jvm, _TIMED % (own, runtime, own, runtime), above).loadClass(f"Timed_{own}")
    return made.getConstructors()[0].newInstance(_array(jvm, plan))


def _compiled(jvm: Any, text: str, above: Any) -> Any:
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(above)
    compiler.cook(text)
    return compiler.getClassLoader()


def _array(jvm: Any, value: Any) -> Any:
    made = jvm.java.lang.reflect.Array.newInstance(jvm.java.lang.Class.forName("java.lang.Object"), 1)
    made[0] = value
    return made


def _record(name: str, kinds: dict[str, Any]) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": each, "type": kind} for each, kind in kinds.items()]}


def _conversion(*, in_union: bool) -> tuple[Conversion, list[bytes]]:
    names = ("Ride", "Parcel") if in_union else ("Ride",)
    kept = {each: "long" if each == "zone_to" else kind for each, kind in KINDS.items() if each != "id"}
    source, target = (_event(names, kinds, in_union=in_union) for kinds in (KINDS, {"ride": "string", **kept}))
    rules = (
        {f"event<{name}>.ride": {"from": "id"} for name in names} if in_union else {"event.ride": {"from": "event.id"}}
    )
    plan = derive_plan(source, target, parse_rules(rules))
    encode = compile_encoder(source)
    return Conversion(plan, {7: source}, 1), [frame(7, encode(_value(number, names))) for number in range(SAMPLES)]


def _event(names: tuple[str, ...], kinds: dict[str, str], *, in_union: bool) -> Any:
    branches = [_record(name, kinds) for name in names]
    event = ["null", *branches] if in_union else ["null", branches[0]]
    return parse_avro(json.dumps(_record("Event", {"key": "string", "event": event, "seq": "long"})))


def _value(number: int, names: tuple[str, ...]) -> dict[str, Any]:
    made = {
        each: {"string": f"{each}-{number}", "double": number / 7}.get(kind, number) for each, kind in KINDS.items()
    }
    event = (names[number % len(names)], made) if len(names) > 1 else made
    return {"key": f"k{number}", "event": event, "seq": number}


if __name__ == "__main__":
    main()
