"""``/contracts/v1/webhooks``: where events are sent, and what became of each delivery."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, Final

from fastapi import Depends, Path
from pydantic import BaseModel, ConfigDict, Field

from counterfoil.registry.api.contracts.parameters import segment
from counterfoil.registry.api.routes.access import on, the_registry
from counterfoil.registry.api.routes.route import ValidatedRoute
from counterfoil.registry.api.routes.services import CasesOfRequest
from counterfoil.registry.domain.access.operations import Operation
from counterfoil.schema import errors
from counterfoil.schema.rest.object_forms import ListOf
from counterfoil.schema.rest.webhooks import DELIVERY, WEBHOOK, EventType, Webhook


class WebhookBody(BaseModel):
    """A webhook to create."""

    model_config = ConfigDict(extra="forbid")

    url: Annotated[str, Field(max_length=2000)] = Field(description="Where events are sent: an address of https.")
    secret: Annotated[str, Field(max_length=200)] = Field(
        description="The key of signatures, of Standard Webhooks: whsec_ and base64. It is never returned."
    )
    events: Annotated[tuple[EventType, ...], Field(max_length=len(EventType))] = Field(
        (), description="Which events are sent. Default: all."
    )
    description: Annotated[str, Field(max_length=2000)] = ""

    def webhook(self) -> Webhook:
        """Return the webhook."""
        return Webhook("", self.url, tuple(dict.fromkeys(self.events)), self.description, secret=self.secret)


def _webhook(webhook: Annotated[str, Path()]) -> str:
    return segment(webhook)


def _delivery(delivery: Annotated[str, Path()]) -> str:
    return segment(delivery)


WebhookId = Annotated[str, Depends(_webhook)]
DeliveryId = Annotated[str, Depends(_delivery)]


async def list_webhooks(cases: CasesOfRequest) -> Any:
    """List webhooks, without their secrets."""
    return [WEBHOOK.write(each) for each in await cases.contracts.webhooks.all()]


async def create_webhook(cases: CasesOfRequest, body: WebhookBody) -> Any:
    """Create a webhook."""
    return WEBHOOK.write(await cases.contracts.webhooks.create(body.webhook()))


async def get_webhook(cases: CasesOfRequest, webhook: WebhookId) -> Any:
    """Return a webhook, without its secret."""
    return WEBHOOK.write(await cases.contracts.webhooks.get(webhook))


async def delete_webhook(cases: CasesOfRequest, webhook: WebhookId) -> None:
    """Delete a webhook with its deliveries."""
    await cases.contracts.webhooks.delete(webhook)


async def list_deliveries(cases: CasesOfRequest, webhook: WebhookId) -> Any:
    """List the deliveries to a webhook, the newest first: those that wait, and the latest that have ended."""
    return [DELIVERY.write(each) for each in await cases.contracts.webhooks.deliveries(webhook)]


async def redeliver(cases: CasesOfRequest, webhook: WebhookId, delivery: DeliveryId) -> Any:
    """Send an ended delivery again, with the same event."""
    return DELIVERY.write(await cases.contracts.webhooks.redeliver(webhook, delivery))


_route = partial(ValidatedRoute, access=on(Operation.WEBHOOKS, the_registry), tag="contracts")
_ALL: Final = "/contracts/v1/webhooks"
_ONE: Final = f"{_ALL}/{{webhook}}"
_DELIVERIES: Final = f"{_ONE}/deliveries"
_NONE: Final = (errors.WebhookNotFound,)
_MODE: Final = (errors.OperationNotPermitted,)

WEBHOOK_ROUTES: Final[tuple[ValidatedRoute, ...]] = (
    _route("GET", _ALL, list_webhooks, result=ListOf(WEBHOOK), errors=()),
    _route("POST", _ALL, create_webhook, result=WEBHOOK, errors=(errors.InvalidWebhook, *_MODE)),
    _route("GET", _ONE, get_webhook, result=WEBHOOK, errors=_NONE),
    _route("DELETE", _ONE, delete_webhook, errors=(*_NONE, *_MODE)),
    _route("GET", _DELIVERIES, list_deliveries, result=ListOf(DELIVERY), errors=_NONE),
    _route(
        "POST",
        f"{_DELIVERIES}/{{delivery}}/redeliver",
        redeliver,
        result=DELIVERY,
        errors=(*_NONE, errors.DeliveryNotFound, *_MODE),
    ),
)
