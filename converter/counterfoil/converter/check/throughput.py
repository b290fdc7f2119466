"""How fast an engine converts the records of a sample on this machine, and what follows for the whole source."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as F  # noqa: N812 - the name that all of Spark's documentation uses

from counterfoil.converter.engines.protocol import RECORD_COLUMNS
from counterfoil.converter.run.progress import duration

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from counterfoil.converter.engines.protocol import Engine


_WARM_UP_RECORDS: Final = 20_000
_WANTED_S: Final = 2.0
_MOST_RECORDS: Final = 2_000_000


@dataclass(frozen=True, slots=True)
class Throughput:
    """The rate of an engine alone, without Kafka, measured with copies of the sample, and the size of the source.

    ``source_records`` is the number of offsets, of which some may have no record (compaction, transactions).
    """

    records_per_s: float
    measured_records: int
    measured_s: float
    tasks: int
    source_records: int

    @property
    def eta_s(self) -> float:
        """The time that the engine needs for the whole source, in seconds; a run takes at least as long."""
        return self.source_records / self.records_per_s

    def as_json(self) -> dict[str, Any]:
        """Return the estimate as a JSON object."""
        return {
            "records_per_s": round(self.records_per_s, 1),
            "measured_records": self.measured_records,
            "measured_s": round(self.measured_s, 3),
            "tasks": self.tasks,
            "source_records": self.source_records,
            "eta_s": round(self.eta_s, 1),
        }

    def __str__(self) -> str:
        return (
            f"about {self.records_per_s:,.0f} records/s in {self.tasks} tasks, without reading and writing Kafka; "
            f"{self.source_records:,} in the source: at least {duration(self.eta_s)}"
        )


def measure(engine: Engine, sample: DataFrame, *, size: int, source_records: int) -> Throughput:
    """Return the throughput of ``engine`` for copies of ``sample``, which has ``size`` records.

    A first round compiles the conversion; its rate gives the number of copies of the round that is measured.
    """
    copies = max(1, _WARM_UP_RECORDS // size)
    wanted = round(copies * _WANTED_S / _seconds(engine, sample, copies))
    copies = max(copies, min(wanted, _MOST_RECORDS // size))
    took_s = _seconds(engine, sample, copies)
    records = copies * size
    tasks = sample.sparkSession.sparkContext.defaultParallelism
    return Throughput(records / took_s, records, took_s, min(tasks, copies), source_records)


def _seconds(engine: Engine, sample: DataFrame, copies: int) -> float:
    spark = sample.sparkSession
    numbers = spark.range(0, copies, 1, min(copies, spark.sparkContext.defaultParallelism))
    many = numbers.crossJoin(F.broadcast(sample)).select(*RECORD_COLUMNS)
    started = time.perf_counter()
    engine.convert(many).write.format("noop").mode("overwrite").save()
    return max(time.perf_counter() - started, 1e-3)
