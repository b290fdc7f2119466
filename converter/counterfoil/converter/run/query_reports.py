"""Spark's reports about the batches of a query, each read once."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql.streaming import StreamingQuery


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
