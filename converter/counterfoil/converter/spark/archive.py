"""The archive from which a Java process loads Spark's classes: Spark starts in about half the CPU time with it.

``counterfoil bridge prepare`` writes it to the cache folder, and later sessions use it. Java itself ignores an archive
that was written by another Java or with other jars.
"""

from __future__ import annotations

import hashlib
import os
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from counterfoil.converter.spark.java import check_java
from counterfoil.schema.errors import MissingExtra

if TYPE_CHECKING:
    from collections.abc import Mapping


def pyspark_version() -> str:
    """Return the version of the PySpark that would run; ``MissingExtra`` when there is none."""
    if find_spec("pyspark") is None:
        raise MissingExtra("A bridge", module="PySpark", extra="converter")
    from pyspark.version import __version__

    return str(__version__)


def archive_file() -> Path:
    """Return the path of the archive of this Java and this PySpark, which need not exist.

    It is in ``$COUNTERFOIL_CACHE``, else ``$XDG_CACHE_HOME/counterfoil``, else ``~/.cache/counterfoil``.
    """
    own, shared = os.environ.get("COUNTERFOIL_CACHE"), os.environ.get("XDG_CACHE_HOME")
    folder = Path(own) if own else Path(shared or Path.home() / ".cache") / "counterfoil"
    java = hashlib.sha256(os.path.realpath(check_java()).encode()).hexdigest()[:8]
    return folder / f"spark-{pyspark_version()}-java-{java}.jsa"


def archive_options(archive: Path) -> str:
    """Return the options of Java with which classes are loaded from an archive; none if it does not exist."""
    return f"-XX:SharedArchiveFile={archive} -Xlog:cds*=off" if archive.exists() else ""


def write_archive(archive: Path, settings: Mapping[str, str], *, java_options: str = "") -> None:
    """Write the archive of the classes that queries and streams need: start Spark, use it, and end it.

    ``settings`` are those of the session, such as its jars. This process must not have started Spark before.
    """
    from pyspark.sql import SparkSession

    check_java()
    archive.parent.mkdir(parents=True, exist_ok=True)
    unfinished = archive.with_suffix(f".{os.getpid()}")
    os.environ["SPARK_SUBMIT_OPTS"] = f"{java_options} -XX:ArchiveClassesAtExit={unfinished} -Xlog:cds*=off"
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    gateway: Any = session.sparkContext._gateway  # noqa: SLF001 - PySpark has no other way to wait for Java's end
    session.range(9).selectExpr("id % 2 AS half", "cast(id AS string) AS text").groupBy("half").count().collect()
    stream = session.readStream.format("rate-micro-batch").option("rowsPerBatch", 1).load()
    stream.writeStream.format("noop").trigger(availableNow=True).start().awaitTermination()
    session.stop()
    gateway.proc.stdin.close()  # ends it; it writes the archive then
    gateway.proc.wait()
    unfinished.replace(archive)
