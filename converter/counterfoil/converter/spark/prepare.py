"""``counterfoil bridge prepare``: writing the archive of Spark's classes, from which Spark starts faster."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from counterfoil.converter.errors import MissingPart
from counterfoil.converter.spark.java import archive_file, check_java
from counterfoil.converter.spark.session import connector_settings, start_explained, start_java
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.sdk.commands import print_json

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


# Writing the archive of Spark's classes (:mod:`counterfoil.converter.spark.java`).


def write_archive(archive: Path, settings: Mapping[str, str], *, java_options: str = "") -> None:
    """Write the archive of the classes that queries and streams need: start Spark, use it, and end it.

    ``settings`` are those of the session, such as its jars. This process must not have started Spark before. Raises
    ``MissingPart`` if Spark does not start; its log then stays beside the archive.
    """
    from pyspark.sql import SparkSession

    check_java()
    archive.parent.mkdir(parents=True, exist_ok=True)
    unfinished = archive.with_suffix(f".{os.getpid()}")
    os.environ["SPARK_SUBMIT_OPTS"] = f"{java_options} -XX:ArchiveClassesAtExit={unfinished} -Xlog:cds*=off"
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    wanted = {**settings, "spark.master": "local[2]", "spark.ui.enabled": "false"}
    log = archive.with_suffix(".log")
    with start_explained(log):
        start_java(wanted, log)
        session = SparkSession.builder.getOrCreate()
    gateway: Any = session.sparkContext._gateway  # noqa: SLF001 - PySpark has no other way to wait for Java's end
    session.range(9).selectExpr("id % 2 AS half", "cast(id AS string) AS text").groupBy("half").count().collect()
    stream = session.readStream.format("rate-micro-batch").option("rowsPerBatch", 1).load()
    stream.writeStream.format("noop").trigger(availableNow=True).start().awaitTermination()
    session.stop()
    gateway.proc.stdin.close()  # ends it; it writes the archive then
    gateway.proc.wait()
    if not unfinished.exists():
        raise MissingPart(f"Java did not write {archive} (details: {log})")
    unfinished.replace(archive)
    log.unlink()


# ``counterfoil bridge prepare``: the archive from which Spark starts faster.


def prepare_spark(*, jars: Path | None, as_json: bool) -> ExitCode:
    """Run ``bridge prepare``: write the archive of Spark's classes."""
    settings = connector_settings(jars)
    archive = archive_file()
    write_archive(archive, settings)
    if as_json:
        print_json({"archive": str(archive), "bytes": archive.stat().st_size})
        return ExitCode.OK
    click.echo(f"wrote {archive} ({archive.stat().st_size / 1e6:.0f} MB), from which Spark starts from now on")
    return ExitCode.OK
