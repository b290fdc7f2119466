"""What operators see: metrics in Prometheus' format, and one JSON object a log line."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from pythonjsonlogger.json import JsonFormatter

if TYPE_CHECKING:
    from collections.abc import Callable

LOGGER = logging.getLogger("counterfoil.registry")

_BUCKETS_S = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)


class Telemetry:
    """The measures of one server."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "counterfoil_requests_total",
            "Requests answered, by route and status.",
            ["method", "route", "status"],
            registry=self._registry,
        )
        self._durations = Histogram(
            "counterfoil_request_seconds",
            "Time from a request's arrival to the end of its answer.",
            ["route"],
            buckets=_BUCKETS_S,
            registry=self._registry,
        )
        self._count_by_request: dict[tuple[str, str, int], Callable[[], None]] = {}
        self._observe_by_route: dict[str, Callable[[float], None]] = {}

    def record(self, method: str, route: str, status: int, duration_s: float) -> None:
        """Count one answered request."""
        key = (method, route, status)
        count = self._count_by_request.get(key)
        if count is None:
            count = self._count_by_request[key] = self._requests.labels(method, route, str(status)).inc
            self._observe_by_route[route] = self._durations.labels(route).observe
        count()
        self._observe_by_route[route](duration_s)

    def exposition(self) -> bytes:
        """All measures as Prometheus scrapes them."""
        return generate_latest(self._registry)


def configure_logging() -> None:
    """Write the registry's log to stderr, one JSON object a line; warnings of the HTTP server join it."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter("{asctime}{levelname}{name}{message}", style="{"))
    for name, level in (("counterfoil.registry", logging.INFO), ("uvicorn", logging.WARNING)):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.setLevel(level)
        logger.propagate = False
