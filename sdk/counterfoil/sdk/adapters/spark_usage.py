"""Observation of the reads of Spark's queries: one call in a job, and every query of the session is observed.

``observe_spark(spark, "billing", Registry("http://localhost:8081"))``
"""

from __future__ import annotations

import json
import re
from collections import Counter
from datetime import UTC, datetime
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, Self

from counterfoil.schema.errors import needed_by
from counterfoil.schema.rest.observations import UsageOrigin
from counterfoil.sdk.adapters.pyspark import decoded_columns
from counterfoil.sdk.adapters.spark_lineage import from_avro, reads_of_plan
from counterfoil.sdk.errors import InvalidSettings
from counterfoil.sdk.usage import BatchSender, sink_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import TypeAlias

    from pyspark.sql import SparkSession

    from counterfoil.schema.datum import Json, JsonObject
    from counterfoil.sdk.client import Registry
    from counterfoil.sdk.usage import Sink


with needed_by("The observation of Spark's queries", extra="pyspark"):
    from pyspark.java_gateway import ensure_callback_server_started
    from pyspark.sql.streaming import StreamingQueryListener

if TYPE_CHECKING:
    Reads: TypeAlias = Mapping[str, list[str]]
    """The paths that a query reads, by subject."""

_SCHEMA_VERSION: Final = 1
_TOPICS: Final = re.compile(r"Subscribe\[([^\]]*)\]")


def observe_spark(
    spark: SparkSession,
    application: str,
    sink: Registry | Sink | str | Path,
    *,
    version: str | None = None,
    environment: str | None = None,
    every_s: float = 60.0,
) -> SparkUsage:
    """Observe the queries of a session, batch and streaming, and return their observer.

    ``sink`` takes the batches, as for :class:`~counterfoil.sdk.Usage`: of each subject the fields that queries read,
    never a value. Observed are columns of ``from_registry``, and of Spark's ``from_avro`` in queries of one topic. A
    job neither waits for the sink nor fails because of it. Raises ``InvalidSettings`` for a session of Spark Connect,
    which has no listeners of plans.
    """
    usage = SparkUsage(application, sink, version=version, environment=environment, every_s=every_s)
    usage.register(spark)
    return usage


class SparkUsage:
    """The observed reads of a session's queries, on their way to a sink.

    ``failures`` counts the queries whose plans could not be read. A context manager; it ends with :meth:`close`, or
    with the program.
    """

    def __init__(
        self,
        application: str,
        sink: Registry | Sink | str | Path,
        *,
        version: str | None = None,
        environment: str | None = None,
        every_s: float = 60.0,
    ) -> None:
        self.failures = 0
        self._program = {"application": application, "version": version, "environment": environment}
        self._lock = Lock()
        self._since = datetime.now(UTC)
        self._paths: dict[str, Counter[str]] = {}
        self._sender = BatchSender(self._batch, sink_of(sink), forget=self._forget, every_s=every_s)
        self._unregister: list[Any] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def dropped_batches(self) -> int:
        """How many batches were dropped because the sink did not take them in time."""
        return self._sender.dropped

    def register(self, spark: SparkSession) -> None:
        """Observe the queries of a session from now on."""
        java: Any = getattr(spark, "_jsparkSession", None)  # Spark has no other way to its listeners of plans
        if java is None:
            raise InvalidSettings(
                "Spark Connect has no listeners of plans; expected a classic session", setting="spark"
            )
        ensure_callback_server_started(spark.sparkContext._gateway)  # noqa: SLF001 - Spark has no other way to Java
        batch, stream = _BatchListener(self), _StreamListener(self, spark)
        java.listenerManager().register(batch)
        spark.streams.addListener(stream)
        self._unregister += [
            lambda: java.listenerManager().unregister(batch),
            lambda: spark.streams.removeListener(stream),
        ]

    def send(self) -> None:
        """Send the reads that were observed so far, in this thread."""
        self._sender.send()

    def close(self) -> None:
        """Observe no more, and send the observed reads; it waits two seconds at most."""
        for each in self._unregister:
            each()
        self._unregister.clear()
        self._sender.close()

    def reads_of(self, execution: Any, *, sources: str = "") -> Reads:
        """Return the reads of an executed query; a plan that cannot be read is counted, and reads nothing.

        ``sources`` are the descriptions of a streaming query's sources, which its plan does not have.
        """
        try:
            plan = execution.optimizedPlan()
            return _by_subject(json.loads(plan.toJSON()), f"{sources} {plan.toString()}")
        except Exception:  # noqa: BLE001 - the job goes on, whatever its plan is
            self.failures += 1
            return {}

    def add(self, reads: Reads) -> None:
        """Note reads that have happened now."""
        if reads:
            self._sender.start()
            with self._lock:
                for subject, paths in reads.items():
                    self._paths.setdefault(subject, Counter()).update(paths)

    def _batch(self) -> JsonObject | None:
        with self._lock:
            paths, self._paths = self._paths, {}
            since, self._since = self._since, datetime.now(UTC)
        if not paths:
            return None
        return {
            "schemaVersion": _SCHEMA_VERSION,
            "kind": "usage",
            **self._program,
            "origin": UsageOrigin.LINEAGE.value,
            "from": since.isoformat(timespec="seconds"),
            "to": self._since.isoformat(timespec="seconds"),
            "reads": [{"subject": subject, "paths": dict(found)} for subject, found in paths.items()],
        }

    def _forget(self) -> None:
        self._lock = Lock()
        self._paths = {}


class _BatchListener:
    """Called by Spark after each query that was executed."""

    def __init__(self, usage: SparkUsage) -> None:
        self._usage = usage

    def onSuccess(self, function: str, execution: object, duration_ns: int) -> None:  # noqa: N802 - Spark's name
        """Note the reads of the query."""
        del function, duration_ns
        self._usage.add(self._usage.reads_of(execution))

    def onFailure(self, function: str, execution: object, error: object) -> None:  # noqa: N802 - Spark's name
        """Note nothing: it is not known how far the query has read."""

    class Java:
        """The interface that Spark calls."""

        implements: Final = ["org.apache.spark.sql.util.QueryExecutionListener"]


class _StreamListener(StreamingQueryListener):  # type: ignore[misc] # pyspark has no types here
    """Called by Spark after each batch of a streaming query, of which the plan is read once in each run."""

    def __init__(self, usage: SparkUsage, spark: SparkSession) -> None:
        self._usage = usage
        self._spark = spark
        self._queries: dict[str, Any] = {}
        """By their runs, since Spark forgets a query before it reports its last batch."""
        self._reads: dict[str, Reads] = {}

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802 - Spark's name
        """Keep the query: there is no plan yet."""
        self._queries[str(event.runId)] = self._spark.streams.get(str(event.id))

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802 - Spark's name
        """Note the reads of a query in a batch."""
        run = str(event.progress.runId)
        query = self._queries.get(run)
        if run not in self._reads and query is not None:
            execution = query._jsq.streamingQuery().lastExecution()  # noqa: SLF001 - Spark has no other way to its plan
            if execution is not None:
                sources = " ".join(str(each.description) for each in event.progress.sources)
                self._reads[run] = self._usage.reads_of(execution, sources=sources)
        self._usage.add(self._reads.get(run, {}))

    def onQueryIdle(self, event: object) -> None:  # noqa: N802 - Spark's name
        """Do nothing."""

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802 - Spark's name
        """Forget the query."""
        self._queries.pop(str(event.runId), None)
        self._reads.pop(str(event.runId), None)


def _by_subject(plan: list[Mapping[str, Json]], text: str) -> Reads:
    """Return the paths that a plan reads, by subject; ``text`` is the plan, which names the topics of its sources."""
    topics = {name.strip() for found in _TOPICS.findall(text) for name in found.split(",")}
    of_avro = {from_avro(field): f"{topic}-{field}" for topic in topics for field in ("key", "value")}
    subjects = {name: subject for name, (subject, _) in decoded_columns.items()}
    if len(topics) == 1:
        subjects |= of_avro
    reads = reads_of_plan(plan, {name: fields for name, (_, fields) in decoded_columns.items()})
    return {subjects[column]: paths for column, paths in reads.items() if column in subjects}
