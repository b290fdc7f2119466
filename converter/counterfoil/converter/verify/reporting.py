"""The report of a verification to the registry that stores the bridge."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from counterfoil.converter.bridge.stored import stored_bridge
from counterfoil.converter.run.watch import job_name, now_ms
from counterfoil.schema.rest.bridges import Verification
from counterfoil.sdk import operations

if TYPE_CHECKING:
    from counterfoil.converter.bridge.resolve import ResolvedBridge
    from counterfoil.converter.verify.verdict import VerifyReport
    from counterfoil.sdk import Registry


def report_verification(registry: Registry, bridge: ResolvedBridge, report: VerifyReport) -> None:
    """Send the result of a verification, if the registry stores the bridge; raise the errors of its client."""
    if stored_bridge(registry, bridge.file.name) is None:
        return
    faults: Counter[str] = Counter()
    for partition in report.partitions:
        faults.update(partition.faults)
    found = Verification(
        plan_hash=bridge.plan.hash,
        records=report.records,
        faults=dict(faults),
        dead_letters=sum(each.dead_letters for each in report.partitions),
        job=job_name(),
        ts=now_ms(),
    )
    registry.call(operations.report_verification(bridge.file.name, found))
