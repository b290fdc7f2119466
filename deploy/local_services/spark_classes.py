"""Write the archive from which Java processes with Spark load their classes: each starts in half the CPU time.

``python -m local_services.spark_classes`` writes it into the folder of this Python's environment, beside the PySpark
that it belongs to. A Java process for which the archive does not fit does not use it.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, Final

from counterfoil.converter.errors import MissingPart
from counterfoil.converter.spark.java import check_java

ARCHIVE: Final = Path(sys.prefix) / "spark.jsa"
SHORT_LIVED: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Options of a Java process of seconds: its second compiler and parallel collector would take 40 % of the CPU time."""


def java_options() -> str:
    """Return the options for Spark in tests, with the archive if it was written."""
    return f"{SHORT_LIVED} -XX:SharedArchiveFile={ARCHIVE} -Xlog:cds*=off" if ARCHIVE.exists() else SHORT_LIVED


def write_archive() -> None:
    """Write the archive of the classes that a query and a stream need."""
    check_java()
    unfinished = ARCHIVE.with_suffix(f".{os.getpid()}")
    os.environ["SPARK_SUBMIT_OPTS"] = f"{SHORT_LIVED} -XX:ArchiveClassesAtExit={unfinished} -Xlog:cds*=off"
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    from pyspark.sql import SparkSession

    session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    gateway: Any = session.sparkContext._gateway  # noqa: SLF001 - PySpark has no other way to wait for Java's end
    session.range(9).selectExpr("id % 2 AS half", "cast(id AS string) AS text").groupBy("half").count().collect()
    stream = session.readStream.format("rate-micro-batch").option("rowsPerBatch", 1).load()
    stream.writeStream.format("noop").trigger(availableNow=True).start().awaitTermination()
    session.stop()
    gateway.proc.stdin.close()  # ends it; it writes the archive then
    gateway.proc.wait()
    unfinished.replace(ARCHIVE)


if __name__ == "__main__":
    try:
        write_archive()
    except MissingPart as missing:
        print(missing, file=sys.stderr)
