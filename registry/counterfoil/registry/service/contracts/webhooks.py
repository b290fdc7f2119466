"""Webhooks, and the deliveries to them."""

from __future__ import annotations

import base64
import binascii
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit
from uuid import uuid4

from counterfoil.registry.domain.contracts.hooks import ENDED, WAITING, WEBHOOKS
from counterfoil.registry.domain.contracts.networks import is_permitted, parse_address
from counterfoil.registry.domain.modes import check_writable
from counterfoil.registry.domain.writes.plan import Plan, record_write, together
from counterfoil.registry.service.retrying import Turns
from counterfoil.schema.contexts import TOP_LEVEL
from counterfoil.schema.errors import DeliveryNotFound, InvalidWebhook, WebhookNotFound
from counterfoil.schema.rest.webhooks import DeliveryState

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from counterfoil.registry.domain.contracts.networks import Network
    from counterfoil.registry.service.contracts.records import ContractRecords
    from counterfoil.registry.service.scopes import Scopes
    from counterfoil.registry.service.storage import Storage
    from counterfoil.schema.rest.webhooks import Delivery, Webhook

SECRET_PREFIX: Final = "whsec_"  # noqa: S105 - the prefix alone
_SECRET_BYTES: Final = range(24, 65)
MAX_ENDED: Final = 200
"""How many deliveries of one webhook are kept after their end."""

_SHOWN: Final = 80


def secret_bytes(secret: str) -> bytes:
    """Return the key in a secret (Standard Webhooks: ``whsec_`` and base64 of 24 to 64 bytes).

    Raises ``InvalidWebhook``.
    """
    try:
        key = base64.b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not secret.startswith(SECRET_PREFIX) or len(key) not in _SECRET_BYTES:
        raise InvalidWebhook(
            "The secret is not one of Standard Webhooks; expected whsec_ and the base64 of 24 to 64 random bytes, "
            'as of `echo "whsec_$(openssl rand -base64 32)"`'
        )
    return key


class Webhooks:
    """The use cases of webhooks. ``networks`` are those, beside the public one, that they may be sent to.

    ``now_ms`` is the clock (epoch ms).
    """

    def __init__(
        self,
        storage: Storage,
        *,
        records: ContractRecords,
        scopes: Scopes,
        networks: Sequence[Network],
        now_ms: Callable[[], int],
    ) -> None:
        self._storage = storage
        self._records = records
        self._scopes = scopes
        self._networks = networks
        self._now_ms = now_ms
        self._turns = Turns(storage.catch_up)

    # --- webhooks

    async def all(self) -> list[Webhook]:
        """Return all webhooks, the oldest first."""
        return sorted(await self._records.all(WEBHOOKS), key=lambda each: (each.create_ts, each.id))

    async def get(self, webhook_id: str) -> Webhook:
        """Return a webhook; raise ``WebhookNotFound`` if there is none with this id."""
        return (await self._held(webhook_id))[0]

    async def create(self, given: Webhook) -> Webhook:
        """Store a new webhook; raise ``InvalidWebhook`` if its address or secret cannot be used."""
        self._check_url(given.url)
        secret_bytes(given.secret)
        check_writable(await self._scopes.mode(TOP_LEVEL), TOP_LEVEL)
        webhook = replace(given, id=str(uuid4()), create_ts=self._now_ms())
        await self._storage.commit(WEBHOOKS.write(webhook, revision=0))
        return webhook

    async def delete(self, webhook_id: str) -> None:
        """Delete a webhook with its deliveries; raise ``WebhookNotFound`` if there is none with this id."""
        await self._turns.take(partial(self._delete, webhook_id), written=webhook_id)

    async def _delete(self, webhook_id: str) -> None:
        check_writable(await self._scopes.mode(TOP_LEVEL), TOP_LEVEL)
        _, revision = await self._held(webhook_id)
        found = [each for kind in (WAITING, ENDED) for each in await self._storage.records(kind.name, (webhook_id,))]
        removed = (record_write(each.kind, each.key, None, revision=each.revision) for each in found)
        of_webhook = record_write(WEBHOOKS.name, (webhook_id,), None, revision=revision)
        await self._storage.commit(together((of_webhook, *removed)))

    async def _held(self, webhook_id: str) -> tuple[Webhook, int]:
        held = await self._records.find(WEBHOOKS, (webhook_id,))
        if held.value is None:
            raise WebhookNotFound(f"There is no webhook {webhook_id[:_SHOWN]!r}")
        return held.value, held.revision

    def _check_url(self, url: str) -> None:
        """Refuse an address to which nothing will ever be sent; names are looked up at each delivery."""
        try:
            parts = urlsplit(url)
            host, _ = parts.hostname, parts.port
        except ValueError:
            host, parts = None, urlsplit("")
        if parts.scheme not in {"https", "http"} or not host or "@" in parts.netloc or parts.fragment:
            raise InvalidWebhook(f"{url[:_SHOWN]!r} is no address of a webhook; expected https://host/path")
        if parts.scheme == "http" and not self._networks:
            raise InvalidWebhook(
                f"{url[:_SHOWN]!r} is not encrypted; expected https://, or http:// within the setting webhook_networks"
            )
        address = parse_address(host)
        if address is not None and not is_permitted(address, self._networks):
            raise InvalidWebhook(
                f"{host} is not an address of the public network, and not within the setting webhook_networks"
            )

    # --- deliveries

    async def deliveries(self, webhook_id: str) -> list[Delivery]:
        """Return the deliveries of a webhook, the newest first; raise ``WebhookNotFound``."""
        await self._held(webhook_id)
        found = [each for kind in (WAITING, ENDED) for each in await self._records.all(kind, (webhook_id,))]
        return sorted(found, key=lambda each: each.id, reverse=True)

    async def redeliver(self, webhook_id: str, delivery_id: str) -> Delivery:
        """Send an ended delivery again, with the same event and id; raise ``DeliveryNotFound`` if there is none."""
        return await self._turns.take(partial(self._redeliver, webhook_id, delivery_id), written=delivery_id)

    async def _redeliver(self, webhook_id: str, delivery_id: str) -> Delivery:
        check_writable(await self._scopes.mode(TOP_LEVEL), TOP_LEVEL)
        await self._held(webhook_id)
        held = await self._records.find(ENDED, (webhook_id, delivery_id))
        if held.value is None:
            raise DeliveryNotFound(f"Webhook {webhook_id} has no ended delivery {delivery_id[:_SHOWN]!r}")
        again = replace(
            held.value, state=DeliveryState.PENDING, attempts=0, next_ts=self._now_ms(), status=0, error="", end_ts=0
        )
        ended = record_write(ENDED.name, ENDED.key(again), None, revision=held.revision)
        await self._storage.commit(together((ended, WAITING.write(again, revision=0))))
        return again

    # --- for the courier

    async def due(self) -> list[Delivery]:
        """Return the deliveries that an attempt is to be made for now, and that no server makes one for."""
        now = self._now_ms()
        waiting = await self._records.all(WAITING)
        return [each for each in waiting if each.next_ts <= now and each.claimed_until <= now]

    async def claim(self, delivery: Delivery, *, for_ms: int) -> Delivery | None:
        """Claim a delivery for one attempt; None if it has changed since, as when another server has claimed it.

        Raises ``StaleWrite`` where another server was faster by a moment.
        """
        held = await self._records.find(WAITING, WAITING.key(delivery))
        if held.value != delivery:
            return None
        claimed = replace(delivery, attempts=delivery.attempts + 1, claimed_until=self._now_ms() + for_ms)
        await self._storage.commit(WAITING.write(claimed, revision=held.revision))
        return claimed

    async def put_off(self, delivery: Delivery, *, by_ms: int) -> None:
        """Store a claimed delivery, of which the attempt has failed, to be tried again later."""
        later = replace(delivery, next_ts=self._now_ms() + by_ms, claimed_until=0)
        await self._turns.take(partial(self._replace, delivery, later), written=delivery.id)

    async def end(self, delivery: Delivery, state: DeliveryState) -> None:
        """Store a claimed delivery as ended, and delete the oldest if there are too many."""
        ended = replace(delivery, state=state, next_ts=0, claimed_until=0, end_ts=self._now_ms())
        await self._turns.take(partial(self._replace, delivery, ended), written=delivery.id)

    async def _replace(self, claimed: Delivery, delivery: Delivery) -> None:
        """Store ``delivery`` in place of the claimed one, unless another server has it, or the webhook was deleted."""
        held = await self._records.find(WAITING, WAITING.key(delivery))
        if held.value is None or held.value.claimed_until != claimed.claimed_until:
            return
        if delivery.state is DeliveryState.PENDING:
            await self._storage.commit(WAITING.write(delivery, revision=held.revision))
            return
        removed = record_write(WAITING.name, WAITING.key(delivery), None, revision=held.revision)
        if (await self._records.find(WEBHOOKS, (delivery.webhook,))).value is None:
            await self._storage.commit(removed)
            return
        known = await self._records.find(ENDED, ENDED.key(delivery))
        stored = ENDED.write(delivery, revision=known.revision)
        await self._storage.commit(together((removed, stored, *await self._pruned(delivery.webhook))))

    async def _pruned(self, webhook_id: str) -> list[Plan]:
        """Return the plans that delete the oldest ended deliveries, so that there is room for one more."""
        found = await self._storage.records(ENDED.name, (webhook_id,))
        return [
            record_write(each.kind, each.key, None, revision=each.revision)
            for each in found[: max(0, len(found) + 1 - MAX_ENDED)]
        ]
