"""Reading Spark's reports of batches, each once."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, cast

from counterfoil.converter.run.job import QueryReports


@dataclass
class JavaReport:
    """A report of Spark, which counts how often it is turned into JSON."""

    number: int
    read: int = 0

    def timestamp(self) -> str:
        return f"2026-11-01T12:00:{self.number:02}.000Z"

    def json(self) -> str:
        self.read += 1
        return json.dumps({"timestamp": self.timestamp(), "batchId": self.number})


@dataclass
class JavaQuery:
    """A query of Spark that keeps three reports."""

    kept: list[JavaReport] = field(default_factory=list)

    @property
    def _jsq(self) -> JavaQuery:
        return self

    def report(self, *numbers: int) -> None:
        self.kept = [*self.kept, *map(JavaReport, numbers)][-3:]

    def lastProgress(self) -> JavaReport | None:  # noqa: N802 - Spark's name
        return self.kept[-1] if self.kept else None

    def recentProgress(self) -> list[JavaReport]:  # noqa: N802 - Spark's name
        return self.kept


def numbers(reports: QueryReports) -> list[int]:
    return [each["batchId"] for each in reports.new()]


def test_each_report_is_returned_once_oldest_first():
    query = JavaQuery()
    reports = QueryReports(cast("Any", query))
    assert numbers(reports) == []
    query.report(1, 2)
    assert numbers(reports) == [1, 2]
    assert numbers(reports) == []
    query.report(3)
    assert numbers(reports) == [3]
    assert [each.read for each in query.kept] == [1, 1, 1]


def test_reports_that_spark_has_dropped_are_passed_over():
    query = JavaQuery()
    reports = QueryReports(cast("Any", query))
    query.report(1)
    assert numbers(reports) == [1]
    query.report(2, 3, 4, 5)
    assert numbers(reports) == [3, 4, 5]
