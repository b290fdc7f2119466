"""The cost of keywords of a JSON target: the rides in JSON, by the engine that ``auto`` takes and by the reference.

    .venv/bin/python benchmarks/converter/keywords.py [records]

Limits are checked while Java walks a value; conditions are judged by the schema of their field; a choice whose branches
only the schema distinguishes is left to the reference evaluator. The CPU time of the whole process tree is compared.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "deploy"))

import rides
from languages import Language, language
from processor import ProcessorTime
from pyspark.sql import functions as F  # noqa: N812 - Spark's own name for them

from counterfoil.converter.engines.choice import AUTO, choose_engine
from counterfoil.converter.engines.protocol import RECORD_COLUMNS, Conversion
from counterfoil.converter.spark.options import SparkOptions
from counterfoil.converter.spark.session import start_session
from counterfoil.schema.languages.jsonschema.schema import parse_json_schema
from counterfoil.schema.plans.derive import derive_plan
from local_services import connector_jars

SAMPLES = 500
ROUNDS = 3
KEYWORDS: dict[str, dict[str, Any]] = {
    "types alone": {},
    "a pattern": {"id": {"type": "string", "pattern": "^[A-Za-z0-9_-]*$"}},
    "if/then for a field": {"id": {"type": "string", "if": {"maxLength": 1}, "then": {"pattern": "^[a-z]"}}},
    "not for the record": {"": {"not": {"properties": {"total": {"const": -1}}}}},
}


def main() -> None:
    records = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
    made = language("json")
    values = list(made.values(SAMPLES))
    with tempfile.TemporaryDirectory() as folder:
        session = start_session(SparkOptions("local[2]", connector_jars()), log_file=Path(folder) / "spark.log")
        rows = session.createDataFrame([(number, value) for number, value in enumerate(values)], "n int, value binary")
        numbers = session.range(records, numPartitions=4).withColumn("n", (F.col("id") % SAMPLES).cast("int"))
        path = f"{folder}/records"
        columns = {"topic": F.lit("rides"), "partition": F.lit(0), "offset": F.col("id"), "timestampType": F.lit(0)}
        columns |= {"key": F.lit(None).cast("binary"), "timestamp": F.current_timestamp()}
        columns |= {"headers": F.lit(None).cast("array<struct<key:string,value:binary>>")}
        numbers.join(F.broadcast(rows), "n").withColumns(columns).select(*RECORD_COLUMNS).write.parquet(path)
        source = session.read.parquet(path)
        for name, extra in KEYWORDS.items():
            engine = choose_engine(AUTO, _conversion(made, extra)).engine
            _report(f"{engine.name}, {name}", engine, source, records)
        few, part = source.where(F.col("offset") < records // 5), records // 5
        _report("reference, types alone", choose_engine("reference", _conversion(made, {})).engine, few, part)
        session.stop()


def _conversion(made: Language, extra: dict[str, Any]) -> Conversion:
    """Return the conversion to the target with other types of some properties, or with more keywords at the top."""
    source, document = made.schemas[0], json.loads(made.schemas[1])
    for name, keywords in extra.items():
        place = document["properties"].setdefault(name, {}) if name else document
        place.update(keywords)
    parsed = parse_json_schema(source)
    plan = derive_plan(parsed, parse_json_schema(json.dumps(document)), made.rules())
    return Conversion(plan, {rides.SOURCE_ID: parsed}, 1)


def _report(name: str, engine: Any, source: Any, records: int) -> None:
    """Print the least wall time and CPU time of several runs without output."""
    walls, cpus, processor = [], [], ProcessorTime(os.getpid())
    converted = engine.convert(source)
    for _ in range(ROUNDS):
        wall, cpu = time.perf_counter(), processor.seconds()
        converted.write.format("noop").mode("overwrite").save()
        walls.append(time.perf_counter() - wall)
        cpus.append(processor.seconds() - cpu)
    rate, cpu_us = records / min(walls), min(cpus) / records * 1e6
    print(f"{name:40} {rate / 1e3:8.1f} k records/s  {cpu_us:7.2f} CPU µs a record", flush=True)


if __name__ == "__main__":
    main()
