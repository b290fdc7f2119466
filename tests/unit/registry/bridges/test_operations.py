"""Bridges through the operations of the SDK, against the registry itself."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from counterfoil.schema.errors import BridgeNotFound, InvalidBridge, ReporterReplaced, TransitionRefused
from counterfoil.schema.model import Schema
from counterfoil.schema.rest.bridges import (
    BridgeDirection,
    BridgeLimits,
    BridgeState,
    BridgeVerification,
    NewBridge,
    PartitionProgress,
    Progress,
    Readers,
)
from counterfoil.sdk import AsyncRegistry, operations
from strategies.bridges.stories import NAME, NEW, PLAN, SUBJECT, permit
from strategies.registry.driver import InProcessRegistry
from strategies.registry.peers import ours


def test_a_bridge_through_the_client() -> None:
    async def story() -> None:
        registry = InProcessRegistry()
        await permit(registry)
        new = NewBridge(plan=PLAN, owner="rides", source_schema=Schema(NEW), registers_source=True)
        async with AsyncRegistry("http://one", transport=ours(registry)) as client:
            checked = await client.call(operations.register_bridge(new, dry_run=True))
            with pytest.raises(BridgeNotFound):
                await client.call(operations.bridge(NAME))
            made = await client.call(operations.register_bridge(new))
            assert (made.plan_hash, made.state) == (checked.plan_hash, BridgeState.PLANNED)
            assert (str(made.source.subject), made.source.version, made.reverse.is_complete) == (SUBJECT, 2, False)
            with pytest.raises(InvalidBridge) as invalid:
                await client.call(operations.register_bridge(NewBridge(plan=PLAN.partition("fields")[0], owner="o")))
            problems: Any = invalid.value.details["problems"]
            assert [each["field"] for each in problems] == ["total"]

            changes = NewBridge(limits=BridgeLimits(max_lag=5), direction=BridgeDirection.OLD_TO_NEW)
            changed = await client.call(operations.change_bridge(NAME, changes))
            assert (changed.limits.max_lag, changed.direction, changed.owner) == (
                5,
                BridgeDirection.OLD_TO_NEW,
                "rides",
            )

            move = operations.change_bridge_state
            await client.call(move(NAME, BridgeState.SHADOW, by="ann", expected=BridgeState.PLANNED))
            with pytest.raises(TransitionRefused) as refused:
                await client.call(move(NAME, BridgeState.RUNNING, by="ann"))
            assert len(refused.value.details["gates"]) == 2  # type: ignore[arg-type]

            progress = Progress("j", 2, made.plan_hash, (PartitionProgress(0, 90, 2**40),), converted=90)
            await client.call(operations.report_progress(NAME, progress))
            with pytest.raises(ReporterReplaced):
                await client.call(operations.report_progress(NAME, Progress("j", 1, made.plan_hash, ())))
            await client.call(operations.report_verification(NAME, BridgeVerification(made.plan_hash, 90)))
            await client.call(operations.report_readers(NAME, Readers(("billing",))))
            [status] = await client.call_all(operations.bridges(state=BridgeState.SHADOW))
            assert status.reports.progress is not None
            assert (status.reports.progress.lag, status.is_stale) == (2**40 - 90, False)
            assert status.reports.verification is not None
            assert status.reports.verification.has_passed
            gates = {each.state: each for each in await client.call(operations.bridge_gates(NAME))}
            assert gates[BridgeState.RUNNING].is_permitted

            await client.call(move(NAME, BridgeState.PLANNED, by="ann"))
            await client.call(operations.delete_bridge(NAME))
            assert await client.call(operations.bridges(subject=SUBJECT)) == ()

    asyncio.run(story())
