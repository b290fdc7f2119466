"""What the batches of a streaming query cost, without the query's start."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, NamedTuple

from processor import ProcessorTime
from pyspark.sql.streaming.listener import StreamingQueryListener

if TYPE_CHECKING:
    from collections.abc import Callable

LONGEST_REPORT_S = 60.0


class Cost(NamedTuple):
    """Seconds for a number of records."""

    wall_s: float
    processor_s: float


class _Batch(NamedTuple):
    records: int
    wall_s: float
    processor_s: float  # of the processes, since they began


class Batches(StreamingQueryListener):
    """The batches of the latest query; ``driver`` is the process id of Java."""

    def __init__(self, driver: int) -> None:
        self._processor = ProcessorTime(driver)
        self._batches: list[_Batch] = []
        self._ended = threading.Event()

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802, ARG002 - Spark's names
        """Forget the query before."""
        self._batches = [_Batch(0, 0.0, self._processor.seconds())]

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802 - Spark's name
        """Note a batch."""
        progress = event.progress
        if progress.numInputRows:
            wall = progress.durationMs["triggerExecution"] / 1000
            self._batches.append(_Batch(progress.numInputRows, wall, self._processor.seconds()))

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802 - Spark's name
        """Ignore a query that waits."""

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802, ARG002 - Spark's names
        """Note the end."""
        self._ended.set()

    def cost(self, run: Callable[[], None], records: int) -> Cost:
        """Run a query over ``records``; return its cost, as that of its batches after the first.

        The first batch has the start of the query in it, and the translation of its code; a query of one batch is
        taken as it is.
        """
        self._ended.clear()
        run()
        if not self._ended.wait(LONGEST_REPORT_S):
            raise SystemExit("Spark did not report the end of a query")
        first, *rest = self._batches[1:] if len(self._batches) > 2 else self._batches
        scale = records / sum(each.records for each in rest)
        return Cost(sum(each.wall_s for each in rest) * scale, (rest[-1].processor_s - first.processor_s) * scale)
