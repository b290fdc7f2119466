"""Events for webhooks. A use case stores them in the same write as what they report, so that none is lost.

Every use case that has an event calls :meth:`Events.plan` and stores the result with its own plan::

    plan = await events.plan(Event(EventType.VERIFICATION_FAILED, contract, {"environment": environment}))
    await storage.commit(together((own_plan, plan)))

Without a webhook that wants the event, the plan is empty.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from counterfoil.registry.domain.contracts.hooks import ENDED, WAITING, WEBHOOKS, cloud_event, is_wanted
from counterfoil.registry.domain.writes.plan import Plan, together
from counterfoil.schema.rest.webhooks import Delivery, DeliveryState

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.registry.domain.contracts.hooks import Event
    from counterfoil.registry.service.contracts.records import ContractRecords
    from counterfoil.registry.service.storage import Storage
    from counterfoil.schema.rest.webhooks import EventType

MAX_WAITING: Final = 1000
"""How many deliveries of one webhook wait at most; further ones have failed at once."""


class Events:
    """Stores events for the webhooks that want them. ``now_ms`` is the clock (epoch ms)."""

    def __init__(self, storage: Storage, *, records: ContractRecords, now_ms: Callable[[], int]) -> None:
        self._storage = storage
        self._records = records
        self._now_ms = now_ms
        self._serial = 0

    async def plan(self, *events: Event) -> Plan:
        """Return the plan that stores a delivery of each event for each webhook that wants it."""
        webhooks = await self._records.all(WEBHOOKS) if events else []
        plans: list[Plan] = []
        for webhook in webhooks:
            wanted = [each for each in events if is_wanted(webhook, each.type)]
            waiting = len(await self._storage.records(WAITING.name, (webhook.id,))) if wanted else 0
            for number, event in enumerate(wanted, waiting):
                delivery = self._delivery(webhook.id, event)
                if number < MAX_WAITING:
                    plans.append(WAITING.write(delivery, revision=0))
                else:
                    plans.append(ENDED.write(_refused(delivery), revision=0))
        return together(plans)

    async def is_wanted(self, kind: EventType) -> bool:
        """Return whether a webhook wants events of a type."""
        return any(is_wanted(each, kind) for each in await self._records.all(WEBHOOKS))

    async def publish(self, *events: Event) -> None:
        """Store events that report no write."""
        plan = await self.plan(*events)
        if plan.effects:
            await self._storage.commit(plan)

    def _delivery(self, webhook: str, event: Event) -> Delivery:
        """Return a new delivery; ids sort by time, and those of this server in their order."""
        ts = self._now_ms()
        self._serial = max(self._serial + 1, ts * 1000)
        body = cloud_event(event, event_id=str(uuid4()), ts=ts)
        return Delivery(f"{self._serial:016d}-{uuid4().hex[:8]}", webhook, body, next_ts=ts, create_ts=ts)


def _refused(delivery: Delivery) -> Delivery:
    error = f"{MAX_WAITING} deliveries of this webhook were waiting"
    return replace(delivery, state=DeliveryState.FAILED, error=error, end_ts=delivery.create_ts, next_ts=0)
