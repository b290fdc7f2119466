"""Metrics for operators: counters, durations and gauges, in Prometheus' format."""

from __future__ import annotations

import json
import platform
import time
from bisect import bisect_left
from dataclasses import asdict, dataclass, replace
from importlib import metadata
from typing import TYPE_CHECKING, Any, Final, Protocol

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

from counterfoil.registry.access_telemetry import access_families, access_state
from counterfoil.registry.domain.access.measures import BUCKETS_S, AccessCounts, Durations

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from prometheus_client.core import Metric

    from counterfoil.registry.domain.access.measures import AccessState

    GaugeSource = Callable[[], "Gauges"]


class Board(Protocol):
    """The memory in which processes that serve one port show each other what they have measured."""

    def show(self, measures: bytes) -> None:
        """Write what this process has measured so far."""

    def others(self) -> list[bytes]:
        """Return what the other processes have written."""


@dataclass(frozen=True, slots=True)
class Gauges:
    """The present state of a process. ``subjects`` and ``versions`` are those not deleted; None: not counted yet.

    ``pool_in_use`` and ``pool_size`` are the busy connections to the database, and the largest number of connections.
    """

    store_up: bool
    pool_in_use: int = 0
    pool_size: int = 0
    waiting_writes: int = 0
    cache_entries: int = 0
    cache_bytes: int = 0
    waiting_judgements: int = 0
    judges: int = 0
    ended_judgements: int = 0
    subjects: int | None = None
    versions: int | None = None
    is_open_to_everyone: bool = False
    audit_failures: int = 0
    tls: TlsState | None = None
    access: AccessState | None = None


@dataclass(frozen=True, slots=True)
class TlsState:
    """The certificate of a server: when it expires, in seconds since 1970, and whether its files could be used."""

    expires_s: float
    are_files_valid: bool


_SUMS: Final = {
    "pool_in_use": ("counterfoil_pool_connections_in_use", "Connections to the database that carry out a statement."),
    "pool_size": ("counterfoil_pool_connections_max", "Connections to the database that there may be."),
    "waiting_writes": ("counterfoil_waiting_writes", "Writes that wait for the store, and those that it carries out."),
    "waiting_judgements": (
        "counterfoil_waiting_judgements",
        "Long comparisons of schemas that run in processes of their own, or wait for one.",
    ),
    "cache_entries": ("counterfoil_cache_entries", "Answers that are kept in memory."),
    "cache_bytes": ("counterfoil_cache_bytes", "Memory that the kept answers take."),
}
"""The gauges that are summed over all processes: field, name, and description."""

_TOTALS: Final = {
    "subjects": ("counterfoil_subjects", "Subjects with a version that is not deleted."),
    "versions": ("counterfoil_versions", "Versions that are not deleted."),
}
"""The gauges of the store, which any process can read for all."""


class Telemetry(Collector):
    """The metrics of one server, counted in the event loop alone and formatted when they are requested.

    With a ``board``, the metrics of all processes that share it are added up, so that each of them can be scraped.
    ``begun_with`` is what an earlier process has measured, if this one replaces it.
    """

    def __init__(self, *, board: Board | None = None, begun_with: bytes = b"") -> None:
        self._board = board
        self._registry = CollectorRegistry()
        self._measures = Measures()
        if begun_with:
            self._measures.add(begun_with)
        self._count_by_request = self._measures.count_by_request
        self._durations_by_route = self._measures.durations_by_route
        self.access = self._measures.access
        """What is counted about callers."""
        self._gauges: GaugeSource | None = None
        self._tls: Callable[[], TlsState] | None = None
        self._registry.register(self)

    def read_gauges(self, gauges: GaugeSource) -> None:
        """Set the function ``gauges``, which returns the state of this process whenever it is shown or scraped."""
        self._gauges = gauges

    def read_tls(self, state: Callable[[], TlsState]) -> None:
        """Set the function that returns the state of this process' certificate."""
        self._tls = state

    def record(self, method: str, route: str, status: int, duration_s: float) -> None:
        """Count one answered request."""
        key = (method, route, status)
        self._count_by_request[key] = self._count_by_request.get(key, 0) + 1
        durations = self._durations_by_route.get(route)
        if durations is None:
            durations = self._durations_by_route[route] = Durations()
        durations.counts[bisect_left(BUCKETS_S, duration_s)] += 1
        durations.sum_s += duration_s

    def count_stale_answer(self) -> None:
        """Count one response from memory while the store cannot be reached."""
        self._measures.stale_answers += 1

    def collect(self) -> Iterator[Metric]:
        """Yield the present metrics, for the library that prints them."""
        whole, gauges = self._with_others()
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
        yield CounterMetricFamily(
            "counterfoil_stale_answers", "Reads answered from memory while the store was away.", whole.stale_answers
        )
        yield from _families(gauges)
        if any(each.access is not None for each in gauges):
            yield from access_families(whole.access, [each.access for each in gauges if each.access is not None])
        build = GaugeMetricFamily("counterfoil_build_info", "Always 1; the version.", labels=["version", "python"])
        build.add_metric([metadata.version("counterfoil"), platform.python_version()], 1)
        yield build

    def _with_others(self) -> tuple[Measures, Sequence[Gauges]]:
        """Return the sum of what all processes have counted, and the gauges of each of them, this one first."""
        present = self._present()
        own = [] if present is None else [present]
        if self._board is None:
            return self._measures, own
        self.show()  # what this response counts must not be missing when another process is scraped next
        whole, others = Measures(), self._board.others()
        for measures in (self._measures.packed(), *others):
            whole.add(measures)
        return whole, [*own, *(gauges for measures in others if (gauges := gauges_in(measures)) is not None)]

    def show(self) -> None:
        """Write what this process has measured, for the other processes."""
        if self._board is not None:
            self._board.show(self._measures.packed(self._present()))

    def _present(self) -> Gauges | None:
        """Return the state of this process."""
        if self._gauges is None or self._tls is None:
            return None if self._gauges is None else self._gauges()
        return replace(self._gauges(), tls=self._tls())

    def exposition(self) -> bytes:
        """Return all metrics in Prometheus' text format."""
        return generate_latest(self._registry)


def _families(gauges: Sequence[Gauges]) -> Iterator[Metric]:
    """Yield the gauges of all processes; the store is up if each of them reaches it."""
    if not gauges:
        return
    yield GaugeMetricFamily(
        "counterfoil_store_up", "1 while the store answers, else 0.", int(all(each.store_up for each in gauges))
    )
    yield GaugeMetricFamily(
        "counterfoil_open_to_everyone",
        "1 if other machines reach the server and it demands no credentials, else 0.",
        int(any(each.is_open_to_everyone for each in gauges)),
    )
    yield CounterMetricFamily(
        "counterfoil_audit_failed",
        "Attempts to write events of the audit that failed.",
        sum(each.audit_failures for each in gauges),
    )
    yield GaugeMetricFamily(
        "counterfoil_judgement_processes",
        "Processes that carry out long comparisons of schemas.",
        max(each.judges for each in gauges),
    )
    yield CounterMetricFamily(
        "counterfoil_ended_judgements",
        "Long comparisons that were ended by their deadline, their memory or a signal.",
        sum(each.ended_judgements for each in gauges),
    )
    for field, (name, about) in _SUMS.items():
        yield GaugeMetricFamily(name, about, sum(getattr(each, field) for each in gauges))
    for field, (name, about) in _TOTALS.items():
        found = next((value for each in gauges if (value := getattr(each, field)) is not None), None)
        if found is not None:
            yield GaugeMetricFamily(name, about, found)
    yield from _tls_families([each.tls for each in gauges if each.tls is not None])


def _tls_families(states: Sequence[TlsState]) -> Iterator[Metric]:
    """Yield the gauges of the certificate: the earliest end of any process, and whether all could use their files."""
    if states:
        left_s = min(each.expires_s for each in states) - time.time()
        yield GaugeMetricFamily("counterfoil_tls_expires_seconds", "Seconds until the certificate expires.", left_s)
        yield GaugeMetricFamily(
            "counterfoil_tls_files_valid",
            "1 if the files of TLS are those in force, 0 while files that cannot be used have replaced them.",
            int(all(each.are_files_valid for each in states)),
        )


def gauges_in(packed: bytes) -> Gauges | None:
    """Return the gauges in what a process has written; None if there are none."""
    given = json.loads(packed)["gauges"]
    if given is None:
        return None
    tls, access = given.pop("tls"), given.pop("access")
    return Gauges(
        **given,
        tls=None if tls is None else TlsState(**tls),
        access=None if access is None else access_state(access),
    )


class Measures:
    """Counts by method, route and status; durations by route; stale responses; counts about callers.

    Of one process, or of several added up.
    """

    def __init__(self) -> None:
        self.count_by_request: dict[tuple[str, str, int], int] = {}
        self.durations_by_route: dict[str, Durations] = {}
        self.stale_answers = 0
        self.access = AccessCounts()

    def packed(self, gauges: Gauges | None = None) -> bytes:
        """Return the metrics as bytes, for another process to add, with the gauges of this process."""
        requests = [[*key, count] for key, count in self.count_by_request.items()]
        durations = {route: [each.counts, each.sum_s] for route, each in self.durations_by_route.items()}
        given: dict[str, Any] = {"requests": requests, "durations": durations, "stale": self.stale_answers}
        given["access"] = self.access.packed()
        return json.dumps({**given, "gauges": None if gauges is None else asdict(gauges)}).encode()

    def add(self, packed: bytes) -> None:
        """Add the metrics of another process."""
        given = json.loads(packed)
        for method, route, status, count in given["requests"]:
            key = (method, route, status)
            self.count_by_request[key] = self.count_by_request.get(key, 0) + count
        self.stale_answers += given["stale"]
        for route, (counts, sum_s) in given["durations"].items():
            self.durations_by_route.setdefault(route, Durations()).add(counts, sum_s)
        self.access.add(given["access"])
