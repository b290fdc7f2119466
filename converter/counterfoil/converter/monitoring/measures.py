"""The measures of a run for Prometheus, on a port of the driver."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from importlib import metadata
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final

from counterfoil.converter.errors import BridgeError
from counterfoil.converter.run.progress import RunSnapshot, RunState
from counterfoil.schema.datum import Json
from counterfoil.schema.errors import needed_by

if TYPE_CHECKING:
    from prometheus_client.core import Metric


with needed_by("--metrics-port", extra="converter"):
    from prometheus_client import CollectorRegistry, start_http_server
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
    from prometheus_client.registry import Collector


_BUCKETS_S: Final = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)

_COUNTERS: Final = {
    "read": ("counterfoil_bridge_records_read", "Records that were read from the source."),
    "converted": ("counterfoil_bridge_records_converted", "Records that were converted and written to the target."),
    "tombstones": ("counterfoil_bridge_tombstones", "Tombstones that were copied to the target."),
    "echoes": ("counterfoil_bridge_echoes", "Records that were left out because they came from the target."),
    "repeats": ("counterfoil_bridge_repeats", "Records that were left out because an earlier run had written them."),
    "written_bytes": ("counterfoil_bridge_written_bytes", "Bytes of the values that were written, to both outputs."),
    "batches": ("counterfoil_bridge_batches", "Batches that were finished."),
}
"""The counters of a run: attribute of a snapshot, name, and description."""


class RunMeasures(Collector):
    """The measures of one run; it is called with each state, and read when it is scraped."""

    def __init__(self) -> None:
        self._state: RunSnapshot | None = None
        self._seen = -1
        self._last_batch_ts = 0
        self._counts = [0] * (len(_BUCKETS_S) + 1)
        self._sum_s = 0.0

    def __call__(self, state: RunSnapshot) -> None:
        """Take the state of the run."""
        self._state = state
        if state.batch > self._seen:
            self._seen = state.batch
            self._last_batch_ts = state.ts
            self._counts[bisect_left(_BUCKETS_S, state.batch_s)] += 1
            self._sum_s += state.batch_s

    def collect(self) -> Iterator[Metric]:
        """Yield the present measures, for the library that prints them."""
        state = self._state
        if state is None:
            return
        for name, (metric, about) in _COUNTERS.items():
            yield _one(CounterMetricFamily(metric, about, labels=["bridge"]), [state.bridge], getattr(state, name))
        dead = CounterMetricFamily(
            "counterfoil_bridge_dead_letters",
            "Records that could not be converted, by reason.",
            labels=["bridge", "code"],
        )
        for code, count in state.dead_letters.items():
            dead.add_metric([state.bridge, code], count)
        yield dead
        yield from self._partitions(state)
        yield self._durations(state)
        if self._last_batch_ts:
            last = GaugeMetricFamily(
                "counterfoil_bridge_last_batch_timestamp_seconds", "End of the latest batch.", labels=["bridge"]
            )
            yield _one(last, [state.bridge], self._last_batch_ts / 1000)
        running = GaugeMetricFamily("counterfoil_bridge_running", "1 while the run goes on, else 0.", labels=["bridge"])
        yield _one(running, [state.bridge], int(state.state is RunState.RUNNING))
        labels = ["bridge", "engine", "plan", "version"]
        info = GaugeMetricFamily("counterfoil_bridge_info", "Always 1; what runs.", labels=labels)
        yield _one(info, [state.bridge, state.engine, state.plan_hash[:16], metadata.version("counterfoil")], 1)

    def _partitions(self, state: RunSnapshot) -> Iterator[Metric]:
        labels = ["bridge", "partition"]
        lag = GaugeMetricFamily(
            "counterfoil_bridge_lag_offsets", "Offsets of the source that are still to be read.", labels=labels
        )
        position = GaugeMetricFamily(
            "counterfoil_bridge_position_offset", "The next offset of the source to read.", labels=labels
        )
        for each in state.partitions:
            lag.add_metric([state.bridge, str(each.partition)], each.lag)
            position.add_metric([state.bridge, str(each.partition)], each.position)
        yield lag
        yield position

    def _durations(self, state: RunSnapshot) -> Metric:
        durations = HistogramMetricFamily("counterfoil_bridge_batch_seconds", "Time of a batch.", labels=["bridge"])
        ends = [*map(str, _BUCKETS_S), "+Inf"]
        buckets = list(zip(ends, accumulate(map(float, self._counts)), strict=True))
        durations.add_metric([state.bridge], buckets=buckets, sum_value=self._sum_s)
        return durations


def _one(family: Any, labels: list[str], value: float) -> Metric:
    """Return the family with one sample."""
    family.add_metric(labels, value)
    found: Metric = family
    return found


def serve_measures(measures: RunMeasures, *, host: str, port: int) -> tuple[int, Json]:
    """Serve the measures over HTTP, in a thread; return the port (a free one for 0) and what stops the server."""
    registry = CollectorRegistry()
    registry.register(measures)
    try:
        server, _thread = start_http_server(port, addr=host, registry=registry)
    except OSError as refusal:
        raise BridgeError(f"The measures cannot be served on {host}:{port}: {refusal.strerror}") from None
    return server.server_port, server
