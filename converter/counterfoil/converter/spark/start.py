"""Starting Spark while the rest of a command is prepared.

Java and the session take most of the time until the first record. They start in a thread as soon as it is known that
they are installed; the topics and the plan are checked meanwhile. The log is in a temporary folder until the command
knows that it will run, so that a refused run creates nothing.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from counterfoil.converter.errors import JavaEnded, MissingPart
from counterfoil.converter.spark.archive import pyspark_version
from counterfoil.converter.spark.process import has_java, java_watched
from counterfoil.converter.spark.session import check_connectors, connectors_explained, log_to, start_session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from pyspark.sql import SparkSession


class SessionStart:
    """A session that is starting, and how long the parts of the start take; time is counted from here."""

    def __init__(self, *, master: str | None, jars: Path | None, folder: Path) -> None:
        self._log = folder / "spark.log"
        self._final_log: Path | None = None
        self._begun = time.monotonic()
        self._took_s = 0.0
        self._waited_s = 0.0
        self._failure: Exception | None = None
        self._session: SparkSession | None = None
        self._is_first = True
        self._thread = threading.Thread(target=self._start, args=(master, jars), name="start of Spark", daemon=True)
        self._thread.start()

    def _start(self, master: str | None, jars: Path | None) -> None:
        try:
            self._session = start_session(master=master, jars=jars, log_file=self._log)
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

    def session(self, log_file: Path) -> SparkSession:
        """Wait for the session and return it; its log is ``log_file`` from now on. Raises ``MissingPart``."""
        self.check()
        if self._session is None:  # has been refused
            raise MissingPart("Spark did not start")
        log_file.parent.mkdir(parents=True, exist_ok=True)
        self._final_log = log_file
        log_to(self._session, log_file)
        return self._session

    def close(self) -> None:
        """Stop the session, and keep what Java printed."""
        if self._session is not None:
            stop_quietly(self._session)
        if self._final_log is not None and self._log.exists():
            with self._log.open("rb") as printed, self._final_log.open("ab") as kept:
                shutil.copyfileobj(printed, kept)

    def line(self) -> str:
        """Return a sentence about the start of Spark."""
        beside = self._took_s - self._waited_s
        return f"Spark {pyspark_version()} started in {self._took_s:.1f} s, {beside:.1f} s of them during the checks"

    def first_batch(self, say: Callable[[str], None]) -> Callable[[Mapping[str, Any]], None]:
        """Return what is to be called after each batch: it prints when the first one was written."""

        def after_batch(_report: Mapping[str, Any]) -> None:
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
def short_session(*, master: str | None, jars: Path | None, prefix: str) -> Iterator[SparkSession]:
    """Start a session for the block, with its log in a temporary folder, and stop it at the end.

    Raises ``MissingPart`` if Spark does not start and ``JavaEnded`` if its Java ends in the block; both name a copy of
    the log, which is kept.
    """
    with tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True) as folder:
        log = Path(folder) / "spark.log"
        try:
            session = start_session(master=master, jars=jars, log_file=log)
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
def starting(*, master: str | None, jars: Path | None) -> Iterator[SessionStart]:
    """Start a session in a thread, and stop it at the end of the block."""
    with tempfile.TemporaryDirectory(prefix="counterfoil-spark-", ignore_cleanup_errors=True) as folder:
        start = SessionStart(master=master, jars=jars, folder=Path(folder))
        try:
            yield start
        finally:
            start.close()
