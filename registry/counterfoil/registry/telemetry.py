"""Metrics in Prometheus' format: counters, durations, gauges, totals of the store, counts about callers."""

from __future__ import annotations

import asyncio
import json
import platform
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from importlib import metadata
from typing import TYPE_CHECKING, Final, Protocol

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from counterfoil.registry.access.identity import BUCKETS_S, MEMBER, AccessCounts, AccessState, Durations, IssuerState
from counterfoil.registry.access.resources import AccessOperation
from counterfoil.registry.store.protocol import Storage, StoreTotals
from counterfoil.schema.errors import RegistryError
from counterfoil.schema.rest.object_forms import Document

# The measures of a server that demands credentials, in the classes of Prometheus' library.


def access_families(counts: AccessCounts, states: Sequence[AccessState]) -> Iterator[Metric]:
    """Yield the measures of a server that demands credentials; no label is the name of a caller or a subject."""
    attempts = CounterMetricFamily(
        "counterfoil_auth",
        "Requests whose sender was to be found out, by method and outcome.",
        labels=["method", "outcome"],
    )
    for (method, outcome), count in sorted(counts.by_outcome.items()):
        attempts.add_metric([method, outcome], count)
    yield attempts
    cache = CounterMetricFamily(
        "counterfoil_auth_cache", "Requests with credentials, by whether these were remembered.", labels=["hit"]
    )
    cache.add_metric(["true"], sum(counts.recalled.values()))
    cache.add_metric(["false"], counts.examined_headers)
    yield cache
    denied = CounterMetricFamily(
        "counterfoil_denied", "Requests, or items of requests, that were denied, by operation.", labels=["operation"]
    )
    for operation in [*(each.value for each in AccessOperation), MEMBER]:
        denied.add_metric([operation], counts.denials[operation])
    yield denied
    passwords = HistogramMetricFamily("counterfoil_password_seconds", "Time that the examination of a password took.")
    passwords.add_metric([], buckets=counts.passwords.cumulated(), sum_value=counts.passwords.sum_s)
    yield passwords
    yield from _issuer_families(states)
    files = [each.is_file_valid for each in states if each.is_file_valid is not None]
    if files:
        yield GaugeMetricFamily(
            "counterfoil_auth_file_valid",
            "1 if the access file is the one in force, 0 while it has a mistake, and an earlier content is.",
            int(all(files)),
        )
    rules = GaugeMetricFamily("counterfoil_rules_info", "Always 1; a digest of the rules in force.", labels=["hash"])
    for digest in sorted({each.rules for each in states}):
        rules.add_metric([digest], 1)
    yield rules


def _issuer_families(states: Sequence[AccessState]) -> Iterator[Metric]:
    """Yield the oldest keys of each issuer in any process, and how often fetching them has failed in all."""
    age = GaugeMetricFamily(
        "counterfoil_jwks_age_seconds", "Time since an issuer's keys were fetched.", labels=["issuer"]
    )
    failures = CounterMetricFamily(
        "counterfoil_jwks_failures", "Failed fetches of an issuer's keys.", labels=["issuer"]
    )
    by_name: dict[str, list[IssuerState]] = {}
    for each in [issuer for state in states for issuer in state.issuers]:
        by_name.setdefault(each.name, []).append(each)
    for name, found in by_name.items():
        ages = [each.age_s for each in found if each.age_s is not None]
        if ages:
            age.add_metric([name], max(ages))
        failures.add_metric([name], sum(each.failures for each in found))
    yield age
    yield failures


def access_state(given: Document) -> AccessState:
    """Return the state of another process from its JSON."""
    issuers = tuple(IssuerState(**each) for each in given.pop("issuers"))
    return AccessState(**given, issuers=issuers)


# Metrics for operators: counters, durations and gauges, in Prometheus' format.

if TYPE_CHECKING:
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
    ``search_behind`` are the changes that the search index lacks; None without an index.
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
    search_behind: int | None = None
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
    behind = [each.search_behind for each in gauges if each.search_behind is not None]
    if behind:
        yield GaugeMetricFamily(
            "counterfoil_search_changes_behind", "Changes that the search index has not taken in yet.", min(behind)
        )
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
        given: Document = {"requests": requests, "durations": durations, "stale": self.stale_answers}
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


# The totals of the store for metrics: counted on request, and less often if counting takes long.

_SHARE: Final = 0.01
"""The largest share of the time that is spent on counting."""

_PATIENCE_S: Final = 1.0


class Counting:
    """The last counted totals of ``storage``; None before the first count. ``clock_s`` is monotonic."""

    def __init__(self, storage: Storage, *, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._storage = storage
        self._clock_s = clock_s
        self._due_s = 0.0
        self._count: asyncio.Task[None] | None = None
        self.totals: StoreTotals | None = None

    async def refresh(self) -> None:
        """Count again, unless the last count took so long that it is too early, or the store cannot be reached.

        The caller waits for a short time only; a count that takes longer is returned the next time.
        """
        if self._count is None or self._count.done():
            if self._storage.contact.error is not None or self._clock_s() < self._due_s:
                return
            self._count = asyncio.create_task(self._count_again())
        await asyncio.wait([self._count], timeout=_PATIENCE_S)

    async def _count_again(self) -> None:
        begun_s = self._clock_s()
        with suppress(RegistryError):
            self.totals = await self._storage.totals()
        ended_s = self._clock_s()
        self._due_s = ended_s + (ended_s - begun_s) / _SHARE
