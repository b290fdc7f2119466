"""Starting Spark beside the rest of a command; ``counterfoil bridge prepare``, which makes a start faster."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from counterfoil.converter.errors import JavaEnded, MissingPart, writing_to
from counterfoil.converter.spark.java import archive_file, check_java, has_java, java_watched
from counterfoil.converter.spark.options import SparkOptions
from counterfoil.converter.spark.session import (
    check_connectors,
    connector_settings,
    connectors_explained,
    log_to,
    start_explained,
    start_java,
    start_session,
)
from counterfoil.converter.spark.versions import pyspark_version
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.sdk.commands import print_json

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


# Starting Spark while the rest of a command is prepared.
#
# Java and the session take most of the time until the first record. They start in a thread as soon as it is known that
# they are installed; the topics and the plan are checked meanwhile. The log is in a temporary folder until the command
# knows that it will run, so that a refused run creates nothing.


class SessionStart:
    """A session that is starting, and how long the parts of the start take; time is counted from here."""

    def __init__(self, options: SparkOptions, *, folder: Path) -> None:
        self._log = folder / "spark.log"
        self._final_log: Path | None = None
        self._begun = time.monotonic()
        self._took_s = 0.0
        self._waited_s = 0.0
        self._failure: Exception | None = None
        self._session: SparkSession | None = None
        self._is_first = True
        self._thread = threading.Thread(target=self._start, args=(options,), name="start of Spark", daemon=True)
        self._thread.start()

    def _start(self, options: SparkOptions) -> None:
        try:
            self._session = start_session(options, log_file=self._log)
        except Exception as failure:  # noqa: BLE001 - raised again in the thread that waits
            self._failure = failure
        self._took_s = time.monotonic() - self._begun

    def check(self) -> None:
        """Wait for the session; raise ``MissingPart`` if there is none, or none that reads Kafka.

        The log of a session that did not start is kept in a file of its own, which the error names.
        """
        before = time.monotonic()
        self._thread.join()
        self._waited_s += time.monotonic() - before
        if self._session is None:
            raise self._explained()
        with java_watched(self._log):
            check_connectors(self._session)

    def _explained(self) -> Exception:
        if not isinstance(self._failure, MissingPart):
            return self._failure or MissingPart("Spark did not start")
        return MissingPart(with_kept_log(str(self._failure), self._log))

    def started(self) -> SparkSession:
        """Wait for the session and return it. Raises ``MissingPart``."""
        self.check()
        if self._session is None:  # has been refused
            raise MissingPart("Spark did not start")
        return self._session

    def session(self, log_file: Path) -> SparkSession:
        """Wait for the session and return it; its log is ``log_file`` from now on. Raises ``MissingPart``."""
        session = self.started()
        with writing_to(log_file.parent):
            log_file.parent.mkdir(parents=True, exist_ok=True)
        self._final_log = log_file
        log_to(session, log_file)
        return session

    def close(self) -> None:
        """Stop the session, and keep what Java printed."""
        if self._session is not None:
            stop_quietly(self._session)
        if self._final_log is not None and self._log.exists():
            with suppress(OSError), self._log.open("rb") as printed, self._final_log.open("ab") as kept:
                shutil.copyfileobj(printed, kept)  # its disk may be full, which is what ended the run

    def line(self) -> str:
        """Return a sentence about the start of Spark."""
        beside = self._took_s - self._waited_s
        return f"Spark {pyspark_version()} started in {self._took_s:.1f} s, {beside:.1f} s of them during the checks"

    def first_batch(self, say: Callable[[str], None]) -> Callable[[Mapping[str, Any]], None]:
        """Return what is to be called after each batch: it prints when the first one was written."""

        def after_batch(_report: Mapping[str, object]) -> None:
            if self._is_first:
                self._is_first = False
                say(f"the first batch was written {time.monotonic() - self._begun:.1f} s after the start")

        return after_batch


def with_kept_log(sentence: str, log: Path) -> str:
    """Return a sentence that names ``log``, which is removed soon, with the path of a copy that is kept."""
    if str(log) not in sentence or not log.exists():
        return sentence
    number, kept = tempfile.mkstemp(prefix="counterfoil-spark-", suffix=".log")
    os.close(number)
    shutil.copyfile(log, kept)
    return sentence.replace(str(log), kept)


def stop_quietly(session: SparkSession) -> None:
    """Stop a session; nothing if its Java has ended already."""
    if has_java():
        session.stop()


@contextmanager
def short_session(options: SparkOptions, *, prefix: str) -> Iterator[SparkSession]:
    """Start a session for the block, with its log in a temporary folder, and stop it at the end.

    Raises ``MissingPart`` if Spark does not start and ``JavaEnded`` if its Java ends in the block; both name a copy of
    the log, which is kept.
    """
    with tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True) as folder:
        log = Path(folder) / "spark.log"
        try:
            session = start_session(options, log_file=log)
        except MissingPart as missing:
            raise MissingPart(with_kept_log(str(missing), log)) from None
        try:
            with java_watched(log), connectors_explained():
                yield session
        except JavaEnded as ended:
            raise JavaEnded(with_kept_log(str(ended), log)) from None
        finally:
            stop_quietly(session)


@contextmanager
def starting(options: SparkOptions) -> Iterator[SessionStart]:
    """Start a session in a thread, and stop it at the end of the block."""
    with tempfile.TemporaryDirectory(prefix="counterfoil-spark-", ignore_cleanup_errors=True) as folder:
        start = SessionStart(options, folder=Path(folder))
        try:
            yield start
        finally:
            start.close()


# The records of a topic in ranges of offsets, read by Spark: one task for each partition, which returns texts.
#
# The same job serves sketches and the tests of contracts, which are found by entry point and bring their own work.

Ranges = Mapping[int, tuple[int, int]]

COLUMNS: Final = ("partition", "offset", "timestamp", "timestampType", "key", "value", "headers")
"""The columns of the batches that work gets."""


def read_topic(spark: SparkSession, kafka: Mapping[str, str], topic: str, ranges: Ranges) -> DataFrame:
    """Return the committed records of a topic in ranges of offsets, with ``COLUMNS``.

    ``kafka`` are the options with which Spark reaches the cluster.
    """
    frame = spark.read.format("kafka").options(
        **{
            **kafka,
            "kafka.isolation.level": "read_committed",
            "assign": json.dumps({topic: sorted(ranges)}),
            "startingOffsets": _offsets(topic, ranges, 0),
            "endingOffsets": _offsets(topic, ranges, 1),
            "includeHeaders": "true",
            "failOnDataLoss": "true",
        }
    )
    return frame.load().select(*COLUMNS)


def texts_of(frame: DataFrame, work: Callable[[Iterator[Any]], Iterable[str]]) -> list[str]:
    """Return the texts that ``work`` makes of the Arrow batches of each partition."""

    def run(batches: Iterator[object]) -> Iterator[Any]:
        import pyarrow as pa

        for text in work(batches):
            yield pa.RecordBatch.from_arrays([pa.array([text], pa.string())], names=["text"])

    return [row["text"] for row in frame.mapInArrow(run, "text string").collect()]


@contextmanager
def spark_scanner() -> Iterator[SparkScanner]:
    """Start Spark for a scan, and stop it at the end."""
    with short_session(SparkOptions(), prefix="counterfoil-scan-") as spark:
        yield SparkScanner(spark)


class SparkScanner:
    """Scans topics for another room, whose work it runs."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def _read(self, kafka: Mapping[str, str], topic: str, ranges: Ranges) -> DataFrame:
        return read_topic(self._spark, {f"kafka.{name}": value for name, value in kafka.items()}, topic, ranges)

    def scan(
        self, kafka: Mapping[str, str], topic: str, ranges: Ranges, work: Callable[[Iterator[Any]], Iterable[str]]
    ) -> list[str]:
        """Return the texts that ``work`` makes of the records of each partition.

        ``kafka`` are settings of Kafka's Java clients.
        """
        return texts_of(self._read(kafka, topic, ranges), work)

    def repeated(
        self,
        kafka: Mapping[str, str],
        topic: str,
        ranges: Ranges,
        work: Callable[[Iterator[Any]], Iterable[tuple[str, int]]],
    ) -> dict[str, int]:
        """Return how many of the pairs that ``work`` makes of records were there before, by the first of each pair."""
        from pyspark.sql import functions

        def run(batches: Iterator[object]) -> Iterator[Any]:
            import pyarrow as pa

            for pairs in _chunks(work(batches)):
                groups, keys = zip(*pairs, strict=True)
                yield pa.RecordBatch.from_arrays(
                    [pa.array(groups, pa.string()), pa.array(keys, pa.int64())], names=["name", "digest"]
                )

        frame = self._read(kafka, topic, ranges).mapInArrow(run, "name string, digest bigint")
        counted = frame.groupBy("name", "digest").count().groupBy("name")
        rows = counted.agg(functions.sum(functions.col("count") - 1).alias("repeats")).collect()
        return {row["name"]: int(row["repeats"]) for row in rows}


def _chunks(pairs: Iterable[tuple[str, int]], size: int = 5_000) -> Iterator[list[tuple[str, int]]]:
    chunk: list[tuple[str, int]] = []
    for pair in pairs:
        chunk.append(pair)
        if len(chunk) == size:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def _offsets(topic: str, ranges: Ranges, end: int) -> str:
    return json.dumps({topic: {str(partition): bounds[end] for partition, bounds in ranges.items()}})


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
