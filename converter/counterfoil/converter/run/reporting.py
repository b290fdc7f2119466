"""Reports of the progress of a run to the registry that stores the bridge.

A run must not end because the registry cannot be reached: reports are sent by a thread of their own, only the latest
one waits, and one that cannot be sent is printed once. One answer does end the run: the registry has a report of a
later start of the same bridge, so another driver has taken over.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from typing import TYPE_CHECKING, Final

from counterfoil.converter.errors import BrokerUnreachable
from counterfoil.schema.errors import CounterfoilError, ReporterReplaced
from counterfoil.schema.rest import bridges
from counterfoil.sdk import operations

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from counterfoil.converter.bridge.resolve import ResolvedBridge
    from counterfoil.converter.kafka.cluster import Cluster
    from counterfoil.converter.run.progress import Totals
    from counterfoil.sdk import Registry
    from counterfoil.sdk.operations import Operation

_PERIOD_S: Final = 30.0
"""A run without new records reports this often, so that its reports do not become stale."""
_LAST_S: Final = 10.0
"""How long the end of a run waits for the last report."""


def job_name() -> str:
    """Return the name of this process in reports: host and process id."""
    return f"{socket.gethostname()}:{os.getpid()}"


def stored_bridge(registry: Registry, name: str) -> bridges.BridgeStatus | None:
    """Return what the registry has stored about a bridge.

    None if it has none of this name, is another registry without bridges, or does not answer.
    """
    try:
        return registry.call(operations.bridge(name))
    except CounterfoilError:
        return None


class RunReports:
    """Sends the progress of a run to the registry that stores its bridge.

    ``send`` is called with each request, in a thread. ``epoch`` is the number of this start of the bridge.
    """

    def __init__(
        self,
        bridge: ResolvedBridge,
        cluster: Cluster,
        send: Callable[[Operation[None]], None],
        *,
        epoch: int,
        say: Callable[[str], None],
    ) -> None:
        self._bridge = bridge
        self._cluster = cluster
        self._send = send
        self._epoch = epoch
        self._say = say
        self._is_replaced = False
        self._has_failed = False
        self._positions: dict[int, int] = {}
        self._totals: Totals | None = None
        self._rate_per_s: float | None = None
        self._waiting: bridges.Progress | None = None
        self._is_closed = False
        self._changed = threading.Condition()
        self._last = time.monotonic()
        self._thread = threading.Thread(target=self._work, name="bridge reports", daemon=True)
        self._thread.start()

    @property
    def is_replaced(self) -> bool:
        """Whether another driver has started to run the bridge after this one."""
        return self._is_replaced

    def start(self, positions: Mapping[int, int]) -> None:
        """Report the offsets at which the run begins, by partition."""
        self._positions.update(positions)
        self._report()

    def batch(self, positions: Mapping[int, int], totals: Totals, *, rate_per_s: float) -> None:
        """Report a finished batch: the offsets after it, by partition, and the counts of the run."""
        self._positions.update(positions)
        self._totals, self._rate_per_s = totals, rate_per_s
        self._report()

    def idle(self) -> None:
        """Report the last position again if the last report was some time ago."""
        if time.monotonic() - self._last >= _PERIOD_S:
            self._report()

    def close(self) -> None:
        """Wait a short time until the last report is sent."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()
        self._thread.join(_LAST_S)

    def _report(self) -> None:
        self._last = time.monotonic()
        try:
            ends = self._cluster.watermarks(self._bridge.file.source_topic)
        except BrokerUnreachable:  # the query waits for the broker, or ends with the reason
            return
        totals = self._totals
        report = bridges.Progress(
            job=job_name(),
            epoch=self._epoch,
            plan_hash=self._bridge.plan.hash,
            partitions=tuple(
                bridges.PartitionProgress(partition, self._positions.get(partition, first), end)
                for partition, (first, end) in sorted(ends.items())
            ),
            ts=now_ms(),
            converted=totals.converted if totals else 0,
            tombstones=totals.tombstones if totals else 0,
            dead_letters=dict(totals.dead_by_code) if totals else {},
            rate_per_s=self._rate_per_s,
        )
        with self._changed:
            self._waiting = report
            self._changed.notify()

    def _work(self) -> None:
        while True:
            with self._changed:
                while self._waiting is None and not self._is_closed:
                    self._changed.wait()
                report, self._waiting = self._waiting, None
            if report is None:
                return
            self._try(report)

    def _try(self, report: bridges.Progress) -> None:
        try:
            self._send(operations.report_progress(self._bridge.file.name, report))
        except ReporterReplaced:
            self._is_replaced = True
        except CounterfoilError as failure:
            if not self._has_failed:
                self._say(f"the registry does not take reports of progress, and the run goes on: {failure}")
            self._has_failed = True
        else:
            self._has_failed = False


def now_ms() -> int:
    """Return the time, in epoch milliseconds."""
    return time.time_ns() // 1_000_000
