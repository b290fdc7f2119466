"""A run counts every batch that Spark has finished, however quickly they follow each other."""

from __future__ import annotations

import json
from threading import Event
from types import SimpleNamespace
from typing import Any, cast

import pytest
from pyspark.errors import StreamingQueryException

from counterfoil.converter.run.job import BridgeRun
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.schema.plans.bridge import StopAbove


class Progress:
    """Counts records and dead letters as a run's own does."""

    def __init__(self) -> None:
        self.totals = SimpleNamespace(written=0, dead_letters=0)

    def take(self, reports: list[dict[str, int]]) -> bool:
        for report in reports:
            self.totals.written += report["written"]
            self.totals.dead_letters += report["dead"]
        return bool(reports)


class Java:
    """Java's side of a query that has finished these batches, each as records and dead letters."""

    def __init__(self, batches: list[tuple[int, int]]) -> None:
        self.kept = [
            SimpleNamespace(
                timestamp=lambda number=number: str(number),
                json=lambda number=number, written=written, dead=dead: json.dumps(
                    {"timestamp": str(number), "written": written, "dead": dead}
                ),
            )
            for number, (written, dead) in enumerate(batches)
        ]

    def lastProgress(self) -> Any:  # noqa: N802 - the name in Java
        return self.kept[-1]

    def recentProgress(self) -> list[Any]:  # noqa: N802 - the name in Java
        return self.kept


class Query:
    """A query that ends before anybody has looked at it: well, or by ``failure``."""

    isActive = False  # noqa: N815 - the name in PySpark

    def __init__(self, batches: list[tuple[int, int]], failure: Exception | None = None) -> None:
        self._jsq = Java(batches)
        self._failure = failure

    def awaitTermination(self, timeout: float) -> bool:  # noqa: ARG002, N802 - the name in PySpark
        if self._failure is not None:
            raise self._failure
        return True

    def stop(self) -> None:
        pass


def watched(query: Query, limit: StopAbove) -> tuple[ExitCode | None, SimpleNamespace]:
    bridge: Any = SimpleNamespace(file=SimpleNamespace(stop_above=limit))
    settings: Any = SimpleNamespace(interval_s=None)
    run = BridgeRun(bridge, cast("Any", None), cast("Any", None), settings, say=print, stop=Event())
    progress = Progress()
    vars(run)["_progress"] = progress
    try:
        return run._watch(cast("Any", query))[0], progress.totals
    except StreamingQueryException:
        return None, progress.totals


def test_a_rate_that_was_too_high_after_one_batch_ends_the_run_though_later_batches_lowered_it():
    batches = [(40, 20), *[(40, 0)] * 10]
    code, totals = watched(Query(batches), StopAbove(rate=0.3, count=None))
    assert code is ExitCode.BROKEN
    assert (totals.written, totals.dead_letters) == (440, 20)  # what Spark has written is counted in any case
    assert watched(Query([(40, 0), *batches]), StopAbove(rate=0.3, count=None))[0] is ExitCode.OK


@pytest.mark.parametrize("batches", [[(30, 0)], [(30, 1), (30, 2)]])
def test_batches_that_were_finished_before_the_query_failed_are_counted(batches: list[tuple[int, int]]):
    query = Query(batches, StreamingQueryException("a failure of Spark"))
    _, totals = watched(query, StopAbove(rate=None, count=None))
    assert totals.written == sum(written for written, _ in batches)
