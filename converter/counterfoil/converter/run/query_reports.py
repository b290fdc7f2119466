"""Spark's reports about the batches of a query, each read once."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql.streaming import StreamingQuery

    from counterfoil.converter.run.checkpoint import Batch


class QueryReports:
    """The reports of ``query`` that have not been read yet.

    Spark keeps the last hundred. PySpark's ``recentProgress`` makes Python objects of all of them at each call, which
    takes about sixty calls of Java for each; this class asks Java for the new ones alone, as JSON.
    """

    def __init__(self, query: StreamingQuery) -> None:
        self._java: Any = query._jsq  # noqa: SLF001 - the way to Java that PySpark itself takes
        self._newest = ""

    def new(self) -> list[dict[str, Any]]:
        """Return what Spark has reported since the last call, oldest first."""
        last = self._java.lastProgress()
        if last is None or last.timestamp() == self._newest:
            return []
        kept, found = self._java.recentProgress(), list[dict[str, Any]]()
        for place in reversed(range(len(kept))):
            if kept[place].timestamp() == self._newest:
                break
            found.append(json.loads(kept[place].json()))
        if found:
            self._newest = found[0]["timestamp"]
        return found[::-1]


def report_of_last_batch(query: StreamingQuery, batch: Batch) -> dict[str, Any]:
    """Return the report of ``batch``, the last one of ``query``, made from its execution, if Spark made none.

    It has what a bridge reads of a report: the batch's number, its records, the observed metrics and the offsets after
    it. The duration is not known.
    """
    java: Any = query._jsq  # noqa: SLF001 - only Java keeps the execution
    execution = java.streamingQuery().lastExecution()
    leaves, metrics = execution.executedPlan().collectLeaves(), execution.observedMetrics()
    names = metrics.keys().toSeq()
    return {
        "batchId": batch.batch_id,
        "numInputRows": sum(_rows(leaves.apply(place)) for place in range(leaves.size())),
        "observedMetrics": {
            name: json.loads(metrics.apply(name).json()) for name in map(names.apply, range(names.size()))
        },
        "sources": [{"endOffset": {"source": {str(each): end for each, (_, end) in batch.range_by_partition.items()}}}],
    }


def _rows(leaf: Any) -> int:
    """Return how many rows a leaf of an executed plan has read."""
    return int(leaf.metrics().apply("numOutputRows").value())
