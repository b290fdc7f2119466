"""What operators see: metrics in Prometheus' format, and one JSON object a log line."""

from __future__ import annotations

import json
import logging
from bisect import bisect_left
from itertools import accumulate
from typing import TYPE_CHECKING, Protocol

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector
from pythonjsonlogger.json import JsonFormatter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prometheus_client.core import Metric

LOGGER = logging.getLogger("counterfoil.registry")

_BUCKETS_S = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)


class Board(Protocol):
    """Where processes that serve one port together show each other what they have measured."""

    def show(self, measures: bytes) -> None:
        """Show what this process has measured so far."""

    def others(self) -> list[bytes]:
        """What the other processes show."""


class Telemetry(Collector):
    """The measures of one server. They are counted in the event loop alone, and put into form when somebody asks.

    With a ``board``, the measures of all processes that share it are added up, so that it does not matter which one
    is asked. ``begun_with`` is what a process before this one has measured, when this one takes its place.
    """

    def __init__(self, *, board: Board | None = None, begun_with: bytes = b"") -> None:
        self._board = board
        self._registry = CollectorRegistry()
        self._measures = Measures()
        if begun_with:
            self._measures.add(begun_with)
        self._count_by_request = self._measures.count_by_request
        self._durations_by_route = self._measures.durations_by_route
        self._registry.register(self)

    def record(self, method: str, route: str, status: int, duration_s: float) -> None:
        """Count one answered request."""
        key = (method, route, status)
        self._count_by_request[key] = self._count_by_request.get(key, 0) + 1
        durations = self._durations_by_route.get(route)
        if durations is None:
            durations = self._durations_by_route[route] = _Durations()
        durations.counts[bisect_left(_BUCKETS_S, duration_s)] += 1
        durations.sum_s += duration_s

    def collect(self) -> Iterator[Metric]:
        """The measures as they are now, for the library that prints them."""
        whole = self._with_others()
        requests = CounterMetricFamily(
            "counterfoil_requests", "Requests answered, by route and status.", labels=["method", "route", "status"]
        )
        for (method, route, status), count in whole.count_by_request.items():
            requests.add_metric([method, route, str(status)], count)
        yield requests
        durations = HistogramMetricFamily(
            "counterfoil_request_seconds", "Time from a request's arrival to the end of its answer.", labels=["route"]
        )
        for route, measured in whole.durations_by_route.items():
            durations.add_metric([route], buckets=measured.cumulated(), sum_value=measured.sum_s)
        yield durations

    def _with_others(self) -> Measures:
        if self._board is None:
            return self._measures
        self.show()  # what is told now must not be missing when another process is asked next
        whole = Measures()
        for measures in (self._measures.packed(), *self._board.others()):
            whole.add(measures)
        return whole

    def show(self) -> None:
        """Show the other processes what this one has measured."""
        if self._board is not None:
            self._board.show(self._measures.packed())

    def exposition(self) -> bytes:
        """All measures as Prometheus scrapes them."""
        return generate_latest(self._registry)


class Measures:
    """Counts by method, route and status; durations by route. Of one process, or of several added up."""

    def __init__(self) -> None:
        self.count_by_request: dict[tuple[str, str, int], int] = {}
        self.durations_by_route: dict[str, _Durations] = {}

    def packed(self) -> bytes:
        """The measures as bytes, for another process to add."""
        requests = [[*key, count] for key, count in self.count_by_request.items()]
        durations = {route: [each.counts, each.sum_s] for route, each in self.durations_by_route.items()}
        return json.dumps({"requests": requests, "durations": durations}).encode()

    def add(self, packed: bytes) -> None:
        """Add the measures of another process."""
        given = json.loads(packed)
        for method, route, status, count in given["requests"]:
            key = (method, route, status)
            self.count_by_request[key] = self.count_by_request.get(key, 0) + count
        for route, (counts, sum_s) in given["durations"].items():
            self.durations_by_route.setdefault(route, _Durations()).add(counts, sum_s)


class _Durations:
    """The durations of one route: how many fell into each bucket, the last one being for all that is longer."""

    __slots__ = ("counts", "sum_s")

    def __init__(self) -> None:
        self.counts = [0] * (len(_BUCKETS_S) + 1)
        self.sum_s = 0.0

    def add(self, counts: list[int], sum_s: float) -> None:
        """Count what another process has counted."""
        self.counts = [one + other for one, other in zip(self.counts, counts, strict=True)]
        self.sum_s += sum_s

    def cumulated(self) -> list[tuple[str, float]]:
        """Each bucket's upper end with how many fell into it or one before it."""
        ends = [*map(str, _BUCKETS_S), "+Inf"]
        return list(zip(ends, accumulate(map(float, self.counts)), strict=True))


def configure_logging() -> None:
    """Write the registry's log to stderr, one JSON object a line.

    Warnings of the HTTP server and defects of searches for witnesses join it.
    """
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter("{asctime}{levelname}{name}{message}", style="{"))
    levels = {"counterfoil.registry": logging.INFO, "counterfoil.schema": logging.WARNING, "uvicorn": logging.WARNING}
    for name, level in levels.items():
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.setLevel(level)
        logger.propagate = False
