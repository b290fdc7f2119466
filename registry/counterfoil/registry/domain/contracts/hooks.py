"""Webhooks and deliveries as stored documents; CloudEvents. Pure functions.

A delivery is in one of two kinds of records: those that wait, which are few and are read again and again, and those
that have ended.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from counterfoil.registry.domain.stored_kinds import StoredKind
from counterfoil.schema.rest.object_forms import INTEGER, REQUIRED, TEXT, Member, ObjectForm, word_of
from counterfoil.schema.rest.webhooks import DELIVERY, STORED_WEBHOOK, Delivery, EventType, Webhook

if TYPE_CHECKING:
    from counterfoil.schema.rest.object_forms import Document

WEBHOOKS: Final[StoredKind[Webhook]] = StoredKind("webhook", STORED_WEBHOOK, lambda each: (each.id,))
WAITING: Final[StoredKind[Delivery]] = StoredKind("webhook-outbox", DELIVERY, lambda each: (each.webhook, each.id))
ENDED: Final[StoredKind[Delivery]] = StoredKind("webhook-delivery", DELIVERY, lambda each: (each.webhook, each.id))


@dataclass(frozen=True, slots=True)
class Announced:
    """An event that is stored once: its type, what it is about, and when it was stored (epoch ms)."""

    type: EventType
    what: str
    create_ts: int = 0


ANNOUNCED: Final[StoredKind[Announced]] = StoredKind(
    "webhook-announced",
    ObjectForm(
        Announced,
        (
            Member("type", "type", word_of(EventType), otherwise=REQUIRED),
            Member("what", "what", TEXT, otherwise=REQUIRED),
            Member("createTs", "create_ts", INTEGER),
        ),
    ),
    lambda each: (each.type, each.what),
)
DELIVERY_KINDS: Final = frozenset({WAITING.name, ENDED.name, ANNOUNCED.name})
"""The kinds of records about deliveries, which belong to one store: the API has none of them to copy."""

SOURCE: Final = "/contracts/v1"
"""The ``source`` of events."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened: its type, what it is about, and the facts, as JSON.

    >>> Event(EventType.APPROVAL_EXPIRING, "3f9a1c07be12", {"until": "2027-03-31"}).type.value
    'approval.expiring'
    """

    type: EventType
    subject: str
    data: Document


def cloud_event(event: Event, *, event_id: str, ts: int) -> Document:
    """Return the event as a CloudEvent in JSON (CloudEvents 1.0, JSON format, 3.1)."""
    return {
        "specversion": "1.0",
        "id": event_id,
        "source": SOURCE,
        "type": event.type.value,
        "subject": event.subject,
        "time": datetime.fromtimestamp(ts / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "datacontenttype": "application/json",
        "data": event.data,
    }


def is_wanted(webhook: Webhook, event: EventType) -> bool:
    """Return whether a webhook gets events of a type."""
    return not webhook.events or event in webhook.events
