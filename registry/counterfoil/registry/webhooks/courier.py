"""Delivers events: an attempt for each that is due, and later ones until the receiver accepts it.

Each server has a courier. A delivery is claimed in the store before an attempt, so that one server makes it; if that
server ends in between, another one makes the next attempt when the claim has ended. So a receiver gets each event at
least once.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from counterfoil.registry.domain.changes import ChangeKind
from counterfoil.registry.domain.contracts.hooks import WAITING
from counterfoil.registry.domain.errors import StaleWrite
from counterfoil.registry.logs import tried
from counterfoil.registry.service.contracts.webhooks import secret_bytes
from counterfoil.registry.webhooks.sending import Answer
from counterfoil.schema.errors import RegistryError, WebhookNotFound
from counterfoil.schema.rest.webhooks import DeliveryState

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from counterfoil.registry.domain.changes import Written
    from counterfoil.registry.service.contracts.webhooks import Webhooks
    from counterfoil.registry.webhooks.sending import Sender
    from counterfoil.schema.rest.webhooks import Delivery, Webhook

_log = logging.getLogger(__name__)

RETRY_AFTER_S: Final = (5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400)
"""The pauses between attempts, as Standard Webhooks recommends them: three days in all."""

POLL_S: Final = 5.0
_LOOK_EVERY_S: Final = 3600.0
_CLAIM_MS: Final = 60_000
_AT_ONCE: Final = 10
_GONE: Final = 410
"""The status with which a receiver says that it wants no more of them."""


class Courier:
    """Delivers what waits in a store. ``now_ms`` is the clock (epoch ms); ``retry_after_s`` are the pauses.

    ``looks`` are called once an hour: each stores the events about what no request reports.
    """

    def __init__(
        self,
        webhooks: Webhooks,
        sender: Sender,
        *,
        looks: Sequence[Callable[[], Awaitable[None]]] = (),
        now_ms: Callable[[], int],
        poll_s: float = POLL_S,
        retry_after_s: Sequence[float] = RETRY_AFTER_S,
    ) -> None:
        self._webhooks = webhooks
        self._looks = looks
        self._sender = sender
        self._now_ms = now_ms
        self._poll_s = poll_s
        self._retry_after_s = retry_after_s
        self._woken = asyncio.Event()
        self._look_at = 0

    def wake(self, written: Written | None) -> None:
        """Look for deliveries at once after a write of this server that has stored one."""
        for change in () if written is None else written.changes:
            if change.kind is ChangeKind.RECORD and change.document and change.document.get("kind") == WAITING.name:
                self._woken.set()

    async def run(self) -> None:
        """Deliver until the task is cancelled."""
        try:
            while True:
                await _tried(self._look)
                await _tried(self.deliver)
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._woken.wait(), self._poll_s)
                self._woken.clear()
        finally:
            await self._sender.close()

    async def deliver(self) -> None:
        """Make an attempt for each delivery that is due."""
        limit = asyncio.Semaphore(_AT_ONCE)

        async def attempt(delivery: Delivery) -> None:
            async with limit:
                await _tried(partial(self._attempt, delivery))

        due = await self._webhooks.due()
        if due:
            await asyncio.gather(*map(attempt, due))

    async def _attempt(self, delivery: Delivery) -> None:
        claimed = await self._webhooks.claim(delivery, for_ms=_CLAIM_MS)
        if claimed is None:
            return
        try:
            webhook = await self._webhooks.get(claimed.webhook)
        except WebhookNotFound:
            await self._webhooks.end(replace(claimed, error="the webhook was deleted"), DeliveryState.FAILED)
            return
        answer = await self._answer(webhook, claimed)
        await self._note(replace(claimed, status=answer.status, error=answer.error), answer)

    async def _answer(self, webhook: Webhook, claimed: Delivery) -> Answer:
        """Return what came of a request; an error that nobody has foreseen is a failed attempt, and is logged."""
        ts = self._now_ms() // 1000
        try:
            return await self._sender.send(webhook.url, claimed.event, key=secret_bytes(webhook.secret), ts=ts)
        except Exception as error:  # noqa: BLE001 - whatever it is, the delivery is noted as failed
            _log.exception("delivery %s to webhook %s has failed", claimed.id, claimed.webhook)
            return Answer(error=f"the attempt failed: {type(error).__name__}")

    async def _note(self, delivery: Delivery, answer: Answer) -> None:
        if answer.is_success:
            await self._webhooks.end(delivery, DeliveryState.DELIVERED)
        elif answer.status == _GONE or delivery.attempts > len(self._retry_after_s):
            _log.warning("delivery %s to webhook %s was given up: %s", delivery.id, delivery.webhook, answer.error)
            await self._webhooks.end(delivery, DeliveryState.FAILED)
        else:
            pause = self._retry_after_s[delivery.attempts - 1]
            await self._webhooks.put_off(delivery, by_ms=int(pause * 1000))

    async def _look(self) -> None:
        now = self._now_ms()
        if now >= self._look_at:
            self._look_at = now + int(_LOOK_EVERY_S * 1000)
            for look in self._looks:
                await _tried(look)


async def _tried(step: Callable[[], Awaitable[None]]) -> None:
    """Take a step; the store may be away, or another server faster."""
    await tried(step, "a step in the delivery of events", expected=(RegistryError, StaleWrite))
