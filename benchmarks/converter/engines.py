"""The cost of the engines: the rides of the example from version 2 to version 1, against unchanged copies.

    .venv/bin/python benchmarks/converter/engines.py [records]

The CPU time of the whole process tree is compared; wall time depends on the machine's other load.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[2] / "deploy"))

import yaml
from processor import ProcessorTime
from pyspark.sql import functions as F  # noqa: N812 - Spark's own name for them

from counterfoil.converter.engines.choice import ENGINES
from counterfoil.converter.engines.protocol import RECORD_COLUMNS, Conversion
from counterfoil.converter.spark.options import SparkOptions
from counterfoil.converter.spark.session import start_session
from counterfoil.schema.languages.avro.schema import parse_avro
from counterfoil.schema.plans.derive import derive_plan
from counterfoil.schema.plans.rules import parse_rules
from counterfoil.schema.wire import frame
from counterfoil.sdk.serde.avro.coders import compile_encoder
from local_services import connector_jars

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

RIDES = Path(__file__).parents[2] / "examples" / "rides"
ROUNDS = 5
SAMPLES = 500


def main() -> None:
    records = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000_000
    conversion, samples = _conversion()
    with tempfile.TemporaryDirectory() as folder:
        session = start_session(SparkOptions("local[2]", connector_jars()), log_file=Path(folder) / "spark.log")
        path = f"{folder}/records"
        _write(session, samples, records, path)
        source = session.read.parquet(path).select(*RECORD_COLUMNS)
        cases = {"pass through": source.withColumn("converted", F.col("value"))}
        cases |= {name: make_engine(conversion).convert(source) for name, make_engine in ENGINES.items()}
        for name, frame_of_case in cases.items():
            wall_s, cpu_s = _best(frame_of_case, rounds=2 if name == "reference" else ROUNDS)
            per_record = cpu_s / records * 1e6
            print(f"{name:14} {records / wall_s / 1e3:7.0f} k records/s  {per_record:5.2f} CPU µs a record", flush=True)
        session.stop()


def _conversion() -> tuple[Conversion, list[bytes]]:
    source, target = (parse_avro(next((RIDES / "schemas" / v).glob("*value*")).read_text()) for v in ("v2", "v1"))
    bridge = yaml.safe_load((RIDES / "bridge.yaml").read_text())
    plan = derive_plan(source, target, parse_rules(bridge["fields"], bridge["drop"]))
    encode = compile_encoder(source)
    payments = [("CARD", "PAID"), ("CASH", "PAID"), ("NONE", "DISPUTE")]
    rides = [
        {
            "vendor_id": 1 + number % 2,
            "passenger_count": number % 6,
            "distance_miles": number / 10,
            "payment_method": payments[number % 3][0],
            "payment_outcome": payments[number % 3][1],
            "total_amount": f"{number}.{number % 100:02}",
            "pickup_at": 1_593_561_600_000 + number,
        }
        for number in range(SAMPLES)
    ]
    return Conversion(plan, {7: source}, 1), [frame(7, encode(ride)) for ride in rides]


def _write(session: SparkSession, samples: list[bytes], records: int, path: str) -> None:
    rides = session.createDataFrame([(number, value) for number, value in enumerate(samples)], "n int, value binary")
    numbers = session.range(records, numPartitions=4).withColumn("n", (F.col("id") % SAMPLES).cast("int"))
    header = F.array(F.struct(F.lit("trace").alias("key"), F.encode(F.lit("0123456789"), "utf-8").alias("value")))
    numbers.join(F.broadcast(rides), "n").select(
        F.encode(F.col("id").cast("string"), "utf-8").alias("key"),
        "value",
        F.lit("rides-v2").alias("topic"),
        (F.col("id") % 4).cast("int").alias("partition"),
        F.col("id").alias("offset"),
        F.current_timestamp().alias("timestamp"),
        F.lit(0).alias("timestampType"),
        header.alias("headers"),
    ).write.parquet(path)


def _best(case: DataFrame, *, rounds: int) -> tuple[float, float]:
    """Return the least wall time and the least CPU time of several runs without output."""
    walls, cpus, processor = [], [], ProcessorTime(os.getpid())
    for _ in range(rounds):
        wall, cpu = time.perf_counter(), processor.seconds()
        case.write.format("noop").mode("overwrite").save()
        walls.append(time.perf_counter() - wall)
        cpus.append(processor.seconds() - cpu)
    return min(walls), min(cpus)


if __name__ == "__main__":
    main()
