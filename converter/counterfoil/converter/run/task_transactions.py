"""The transactions of a run: Spark's tasks write their records in Java, as ``Transactions.java`` describes.

Each task has the records of one source partition, in order; if it has those of several, they are written one partition
after the other.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from counterfoil.converter.engines.java.generator import packaged
from counterfoil.converter.engines.java.loading import add_classes, load_first
from counterfoil.converter.engines.java.source import block, quoted
from counterfoil.converter.kafka.groups import group_of
from counterfoil.converter.run import transactions
from counterfoil.converter.run.transactions import Failure, Outgoing, Written

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

    from counterfoil.converter.engines.java.generator import JavaSource
    from counterfoil.converter.run.transactions import Transactions

COLUMNS: Final = Outgoing._fields
"""The columns of the data frame that is written."""


def write_records(records: DataFrame, task: Transactions, kafka: Mapping[str, str]) -> list[Written]:
    """Write the records of a data frame that has ``COLUMNS``, and return what became of those of each source partition.

    ``kafka`` are settings of Kafka's producer in Java. The tasks end at the first failure.
    """
    session, source = records.sparkSession, _source()
    add_classes(session, source)
    settings = session._jvm.java.util.HashMap()  # noqa: SLF001 - the way to Java that PySpark itself takes
    settings.putAll(dict(kafka))
    limits = (task.timeout_ms, round(task.deadline_s * 1000))
    writer = load_first(session, source, settings, task.bridge, group_of(task.bridge), task.source_topic, *limits)
    rows: Any = records.select(*COLUMNS)._jdf.queryExecution().toRdd().toJavaRDD()  # noqa: SLF001 - the way to Java that PySpark itself takes
    return [_written(task, each) for each in rows.mapPartitions(writer).collect()]


def _written(task: Transactions, result: Any) -> Written:
    partition, count = int(result["partition"]), int(result["written"])
    skipped = {str(kind): int(result["skipped"][kind]) for kind in result["skipped"]}
    if "failure" not in result:
        return Written(partition, count, skipped, None)
    failure = Failure(bool(result["fenced"]), float(result["open_s"]), str(result["failure"]))
    return Written(partition, count, skipped, task.explained(failure, partition=partition, written=count))


@cache
def _source() -> JavaSource:
    written = (files("counterfoil.converter.run") / "Transactions.java").read_text(encoding="utf-8")
    names = [
        f"static final String {name} = {quoted(getattr(transactions, name))};"
        for name in ("TRANSACTIONAL_ID", "CONVERTED", "TOMBSTONE")
    ]
    limits = [
        f"static final int RECORDS = {transactions.RECORDS};",
        f"static final long LONGEST_NS = {round(transactions.LONGEST_S * 1e9)}L;",
    ]
    columns = [f"static final int {name.upper()} = {place};" for place, name in enumerate(COLUMNS)]
    parts = [written, *block("final class Names", [*names, *limits]), *block("final class Column", columns)]
    return packaged("transactions", "\n".join(parts), "TransactionalWriter")
