"""What operators see: metrics in Prometheus' format, and one JSON object a log line."""

from __future__ import annotations

import logging
from bisect import bisect_left
from itertools import accumulate
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector
from pythonjsonlogger.json import JsonFormatter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prometheus_client.core import Metric

LOGGER = logging.getLogger("counterfoil.registry")

_BUCKETS_S = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)


class Telemetry(Collector):
    """The measures of one server. They are counted in the event loop alone, and put into form when somebody asks."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._count_by_request: dict[tuple[str, str, int], int] = {}
        self._durations_by_route: dict[str, _Durations] = {}
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
        requests = CounterMetricFamily(
            "counterfoil_requests", "Requests answered, by route and status.", labels=["method", "route", "status"]
        )
        for (method, route, status), count in self._count_by_request.items():
            requests.add_metric([method, route, str(status)], count)
        yield requests
        durations = HistogramMetricFamily(
            "counterfoil_request_seconds", "Time from a request's arrival to the end of its answer.", labels=["route"]
        )
        for route, measured in self._durations_by_route.items():
            durations.add_metric([route], buckets=measured.cumulated(), sum_value=measured.sum_s)
        yield durations

    def exposition(self) -> bytes:
        """All measures as Prometheus scrapes them."""
        return generate_latest(self._registry)


class _Durations:
    """The durations of one route: how many fell into each bucket, the last one being for all that is longer."""

    __slots__ = ("counts", "sum_s")

    def __init__(self) -> None:
        self.counts = [0] * (len(_BUCKETS_S) + 1)
        self.sum_s = 0.0

    def cumulated(self) -> list[tuple[str, float]]:
        """Each bucket's upper end with how many fell into it or one before it."""
        ends = [*map(str, _BUCKETS_S), "+Inf"]
        return list(zip(ends, accumulate(map(float, self.counts)), strict=True))


def configure_logging() -> None:
    """Write the registry's log to stderr, one JSON object a line; warnings of the HTTP server join it."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter("{asctime}{levelname}{name}{message}", style="{"))
    for name, level in (("counterfoil.registry", logging.INFO), ("uvicorn", logging.WARNING)):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.setLevel(level)
        logger.propagate = False
