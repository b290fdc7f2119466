"""Webhooks as objects of the registry: where events are sent, and what became of each delivery.

The JSON of these values is that of this project's own API under ``/contracts/v1``.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from counterfoil.schema.rest.object_forms import (
    INTEGER,
    REQUIRED,
    TEXT,
    JsonType,
    ListOf,
    Member,
    ObjectForm,
    word_of,
)

if TYPE_CHECKING:
    from counterfoil.schema.rest.object_forms import Document


class EventType(StrEnum):
    """What an event reports."""

    CONTRACT_PUBLISHED = "contract.published"
    """The first version of a contract was published."""
    CONTRACT_CHANGED = "contract.changed"
    """Another version of a contract was published."""
    CHECK_FAILED = "check.failed"
    """The verdict on a proposed schema or contract was no, or a registration was refused for its consumers."""
    CONSUMER_ADDED = "consumer.added"
    """An application reads a contract, or a subject, that it did not read before."""
    CONSUMER_STALE = "consumer.stale"
    """An observed consumer was not seen for long."""
    VERIFICATION_FAILED = "verification.failed"
    """Records did not pass a verification."""
    DEPLOYMENT_RECORDED = "deployment.recorded"
    """A version became live in an environment."""
    APPROVAL_EXPIRING = "approval.expiring"
    """An approval ends soon."""
    MIGRATION_RETIRABLE = "migration.retirable"
    """Nobody reads the old side of a migration any more."""


class DeliveryState(StrEnum):
    """What became of a delivery."""

    PENDING = "pending"
    """It was not accepted yet, and is tried again."""
    DELIVERED = "delivered"
    """The receiver has answered with a status of success."""
    FAILED = "failed"
    """It was given up."""


@dataclass(frozen=True, slots=True)
class Webhook:
    """An address to which events are sent: those of ``events``, or all if it is empty.

    ``secret`` is the key of signatures, which the registry never returns.
    """

    id: str
    url: str
    events: tuple[EventType, ...] = ()
    description: str = ""
    create_ts: int = 0
    secret: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Delivery:
    """One event on its way to one webhook. ``event`` is the CloudEvent that is sent; times are epoch ms.

    ``status`` is that of the last answer, 0 if there was none; ``error`` says why the last attempt failed.
    ``claimed_until`` is the time until which one server makes an attempt.
    """

    id: str
    webhook: str
    event: Document
    state: DeliveryState = DeliveryState.PENDING
    attempts: int = 0
    next_ts: int = 0
    status: int = 0
    error: str = ""
    create_ts: int = 0
    end_ts: int = 0
    claimed_until: int = 0


_EVENTS: Final = JsonType(
    lambda value: tuple(each.one_of(EventType) for each in value.items()),
    lambda events: [str(each) for each in events],
    ListOf({"type": "string"}),
)
_EVENT: Final = JsonType(lambda value: dict(value.members()), schema={"type": "object"})

WEBHOOK: Final = ObjectForm(
    Webhook,
    (
        Member("id", "id", TEXT, otherwise=REQUIRED),
        Member("url", "url", TEXT, otherwise=REQUIRED),
        Member("events", "events", _EVENTS, about="The events that are sent; absent for all."),
        Member("description", "description", TEXT),
        Member("createTs", "create_ts", INTEGER, about="The time of its creation, in epoch milliseconds."),
    ),
)
"""A webhook as it is returned: without its secret."""

STORED_WEBHOOK: Final = replace(WEBHOOK, members=(*WEBHOOK.members, Member("secret", "secret", TEXT)))
"""A webhook as it is stored."""

DELIVERY: Final = ObjectForm(
    Delivery,
    (
        Member("id", "id", TEXT, otherwise=REQUIRED),
        Member("webhook", "webhook", TEXT, otherwise=REQUIRED),
        Member("event", "event", _EVENT, otherwise=REQUIRED, about="The CloudEvent that is sent."),
        Member("state", "state", word_of(DeliveryState), otherwise=REQUIRED, about="pending, delivered or failed."),
        Member("attempts", "attempts", INTEGER, otherwise=REQUIRED),
        Member("nextTs", "next_ts", INTEGER, about="When it is tried again, in epoch milliseconds."),
        Member("status", "status", INTEGER, about="The HTTP status of the last answer; absent without an answer."),
        Member("error", "error", TEXT, about="Why the last attempt failed."),
        Member("createTs", "create_ts", INTEGER),
        Member("endTs", "end_ts", INTEGER, about="When it was delivered or given up."),
        Member("claimedUntil", "claimed_until", INTEGER, about="Until when a server makes an attempt."),
    ),
)
