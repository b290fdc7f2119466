"""Reports of the progress of a run to the registry that stores the bridge.

A registry that does not take them ends no run, and is printed once. One answer does end the run: the registry has a
report of a later start of the same bridge, so another driver has taken over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.schema.errors import CounterfoilError, ReporterReplaced
from counterfoil.schema.rest import bridges
from counterfoil.sdk import operations

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.converter.run.snapshot import Snapshot
    from counterfoil.sdk.operations import Operation


class RegistryReports:
    """Sends snapshots of a run to the registry that stores its bridge.

    ``send`` is called with each request. ``epoch`` is the number of this start of the bridge.
    """

    def __init__(self, send: Callable[[Operation[None]], None], *, epoch: int, say: Callable[[str], None]) -> None:
        self.is_replaced = False
        self._send = send
        self._epoch = epoch
        self._say = say
        self._has_failed = False

    def __call__(self, state: Snapshot) -> None:
        """Send the state of the run."""
        report = bridges.Progress(
            job=state.job,
            epoch=self._epoch,
            plan_hash=state.plan_hash,
            partitions=tuple(
                bridges.PartitionProgress(each.partition, each.position, each.end) for each in state.partitions
            ),
            ts=state.ts,
            converted=state.converted,
            tombstones=state.tombstones,
            dead_letters=state.dead_letters,
            rate_per_s=state.rate_per_s if state.batches else None,
        )
        try:
            self._send(operations.report_progress(state.bridge, report))
        except ReporterReplaced:
            self.is_replaced = True
        except CounterfoilError as failure:
            if not self._has_failed:
                self._say(f"the registry does not take reports of progress, and the run goes on: {failure}")
            self._has_failed = True
        else:
            self._has_failed = False
