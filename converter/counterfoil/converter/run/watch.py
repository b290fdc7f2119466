"""The reports of Spark about its batches, turned into snapshots of the run for those who listen."""

from __future__ import annotations

import os
import socket
import time
from collections import Counter, deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from counterfoil.converter.run import progress
from counterfoil.converter.run.snapshot import PartitionPosition

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from counterfoil.converter.run.snapshot import RunState, Snapshot

_WINDOW_S: Final = 60.0

Listener: TypeAlias = "Callable[[Snapshot], None]"
"""What is called with the state of a run at its start, after each batch and at its end; it must not block."""


class RateWindow:
    """The rate of the records of the last minute; before the first minute is over, and at the end, of all records."""

    def __init__(self, started_s: float) -> None:
        self._started_s = self._since_s = started_s
        self._all = 0
        self._batches: deque[tuple[float, int]] = deque()

    def rate_after(self, records: int, *, now_s: float) -> float:
        """Add the records of a batch that ended now, and return the rate per second."""
        self._all += records
        self._batches.append((now_s, records))
        while len(self._batches) > 1 and self._batches[0][0] < now_s - _WINDOW_S:
            self._since_s, _ = self._batches.popleft()
        return sum(count for _, count in self._batches) / max(now_s - self._since_s, 1e-3)

    def of_run(self, *, now_s: float) -> float:
        """Return the rate of all records since the start."""
        return self._all / max(now_s - self._started_s, 1e-3)


@dataclass
class Watch:
    """Counts the batches of one run, each once.

    ``state`` is the present snapshot. ``beginning`` are the offsets at which the bridge has begun, by partition;
    ``codes`` are the reasons that the query counts separately. ``skipped_in`` returns how many records of a batch the
    sink left out because they were written before, by kind.
    """

    state: Snapshot
    beginning: Mapping[int, int]
    codes: Sequence[str]
    listeners: Sequence[Listener] = ()
    on_batch: Callable[[Mapping[str, Any]], None] = lambda _report: None
    skipped_in: Callable[[int], Counter[str]] = lambda _batch: Counter()
    totals: progress.Totals = field(default_factory=progress.Totals)
    _rate: RateWindow = field(default_factory=lambda: RateWindow(time.monotonic()))
    _seen: int = -1

    def begin(self, positions: Mapping[int, int], ends: Mapping[int, int]) -> None:
        """Pass on the state before the first batch: the offsets at which it begins, and those after the last ones."""
        self._become(partitions=self._partitions({**self.beginning, **positions}, ends))

    def take(self, reports: Iterable[Mapping[str, Any]]) -> bool:
        """Count the reports of new batches, pass them on, and return whether there were any."""
        new = [report for report in reports if report["batchId"] > self._seen and report["numInputRows"] > 0]
        for report in new:
            self._seen = report["batchId"]
            self.totals.add(report, codes=self.codes)
            self.totals.leave_out(self.skipped_in(report["batchId"]))
            self.on_batch(report)
            self._after(report)
        return bool(new)

    def end(self, state: RunState, *, error: str = "") -> None:
        """Pass on how the run ended."""
        rate = self._rate.of_run(now_s=time.monotonic())
        self._become(state=state, error=error, rate_per_s=rate, **self._counts())

    def _after(self, report: Mapping[str, Any]) -> None:
        reached = {each.partition: each.position for each in self.state.partitions} | progress.positions_after(report)
        ends = {each.partition: each.end for each in self.state.partitions}
        latest = progress.latest_offsets(report)
        self._become(
            batch=report["batchId"],
            batch_records=report["numInputRows"],
            batch_s=float((report.get("durationMs") or {}).get("triggerExecution") or 0) / 1000,
            **self._counts(),
            partitions=self._partitions(
                reached, {each: max(ends.get(each, 0), latest.get(each, 0)) for each in reached}
            ),
            rate_per_s=self._rate.rate_after(report["numInputRows"], now_s=time.monotonic()),
        )

    def _counts(self) -> dict[str, Any]:
        totals = self.totals
        return {
            "batches": totals.batches,
            "read": totals.read,
            "converted": totals.converted,
            "tombstones": totals.tombstones,
            "echoes": totals.echoes,
            "repeats": totals.repeats,
            "dead_letters": dict(totals.dead_by_code.most_common()),
            "written_bytes": totals.written_bytes,
        }

    def _become(self, **changes: Any) -> None:
        self.state = replace(self.state, ts=now_ms(), **changes)
        for listener in self.listeners:
            listener(self.state)

    def _partitions(self, reached: Mapping[int, int], ends: Mapping[int, int]) -> tuple[PartitionPosition, ...]:
        return tuple(
            PartitionPosition(
                partition, self.beginning.get(partition, 0), position, max(position, ends.get(partition, 0))
            )
            for partition, position in sorted(reached.items())
        )


def now_ms() -> int:
    """Return the time, in epoch milliseconds."""
    return time.time_ns() // 1_000_000


def job_name() -> str:
    """Return the name of this process in reports: host and process id."""
    return f"{socket.gethostname()}:{os.getpid()}"
