"""A program that converts records with the engine ``java`` on the cluster that its argument names."""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark.sql import SparkSession

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "strategies"))

from counterfoil.converter.engines.java.engine import JavaEngine
from counterfoil.converter.engines.reference import ReferenceEngine
from engine_cases import CASES, conversion_of, values_of


def main(master: str) -> None:
    """Print how many executors converted records, and how many results differ from the reference evaluator's."""
    case = next(case for case in CASES if case.name == "versions")
    conversion = conversion_of(case)
    values = list(values_of(case, conversion))
    reference = ReferenceEngine(conversion)
    settings = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", "spark.ui.enabled": "false"}
    builder = SparkSession.builder.master(master)
    for name, value in {**settings, "spark.executor.memory": "512m", "spark.executor.cores": "1"}.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    records = session.createDataFrame(list(enumerate(values)), "number int, value binary").repartition(4)
    found = JavaEngine(conversion).convert(records).collect()
    wrong = 0
    for row in found:
        value = values[row.number]
        expected = None if value is None else reference.convert_value(value)
        made = None if row.converted is None else bytes(row.converted)
        code = None if row.failure is None else row.failure.code
        failure = expected.failure if expected else None
        wrong += (made, code) != (expected and expected.value, failure and str(failure.code))
    executors = session.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1  # the driver is one of them
    sys.stdout.write(f"executors {executors}, records {len(found)} of {len(values)}, wrong {wrong}\n")
    session.stop()


if __name__ == "__main__":
    main(sys.argv[1])
