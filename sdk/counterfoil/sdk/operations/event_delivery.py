"""Webhooks, of this project's registry: where events are sent, and what became of each delivery."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.schema.rest.json_values import read_each
from counterfoil.schema.rest.webhooks import DELIVERY, WEBHOOK
from counterfoil.sdk.operations.contracts import CONTRACTS
from counterfoil.sdk.operations.operation import Operation
from counterfoil.sdk.operations.requests import action, json_body, url_path

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Final

    from counterfoil.schema.rest.webhooks import Delivery, EventType, Webhook

_WEBHOOKS: Final = (*CONTRACTS, "webhooks")


def webhooks() -> Operation[tuple[Webhook, ...]]:
    """``GET /contracts/v1/webhooks``; the secrets are not returned."""
    return Operation("webhooks", "GET", url_path(*_WEBHOOKS), read_each(WEBHOOK.read))


def create_webhook(
    url: str, *, secret: str, events: Iterable[EventType] = (), description: str = ""
) -> Operation[Webhook]:
    """``POST /contracts/v1/webhooks``; without ``events`` all are sent. A repeated request would create another one."""
    body = {"url": url, "secret": secret, "events": [str(each) for each in events], "description": description}
    path = url_path(*_WEBHOOKS)
    return Operation("create_webhook", "POST", path, WEBHOOK.read, body=json_body(body), is_repeatable=False)


def delete_webhook(webhook_id: str) -> Operation[None]:
    """``DELETE /contracts/v1/webhooks/{webhook}``."""
    return action("delete_webhook", "DELETE", url_path(*_WEBHOOKS, webhook_id))


def deliveries(webhook_id: str) -> Operation[tuple[Delivery, ...]]:
    """``GET /contracts/v1/webhooks/{webhook}/deliveries``, the newest first."""
    return Operation("deliveries", "GET", url_path(*_WEBHOOKS, webhook_id, "deliveries"), read_each(DELIVERY.read))


def redeliver(webhook_id: str, delivery_id: str) -> Operation[Delivery]:
    """``POST /contracts/v1/webhooks/{webhook}/deliveries/{delivery}/redeliver``."""
    path = url_path(*_WEBHOOKS, webhook_id, "deliveries", delivery_id, "redeliver")
    return Operation("redeliver", "POST", path, DELIVERY.read, is_repeatable=False)
