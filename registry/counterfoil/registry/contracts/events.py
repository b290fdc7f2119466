"""Events about contracts and webhooks as stored documents, CloudEvents, and the addresses that webhooks may have.

A use case stores its events in the same write as what they report, so that none is lost: it calls :meth:`Events.plan`
and stores the result with its own plan::

    plan = await events.plan(Event(EventType.VERIFICATION_FAILED, contract, {"environment": environment}))
    await storage.commit(together((own_plan, plan)))

Without a webhook that wants the event, the plan is empty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final, TypeAlias
from uuid import uuid4

from counterfoil.registry.contracts.records import ContractRecords
from counterfoil.registry.store.protocol import Storage
from counterfoil.registry.store.records import StoredKind
from counterfoil.registry.store.writes import Requester, StoragePlan, together
from counterfoil.schema.rest.contracts import DELIVERY, STORED_WEBHOOK, Delivery, DeliveryState, EventType, Webhook
from counterfoil.schema.rest.object_forms import INTEGER, REQUIRED, TEXT, Document, Member, ObjectForm, word_of

# Webhooks and deliveries as stored documents; CloudEvents. Pure functions.
#
# A delivery is in one of two kinds of records: those that wait, which are few and are read again and again, and those
# that have ended.

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


# Events for webhooks. A use case stores them in the same write as what they report, so that none is lost.

MAX_WAITING: Final = 1000
"""How many deliveries of one webhook wait at most; further ones have failed at once."""


class Events:
    """Stores events for the webhooks that want them. ``now_ms`` is the clock (epoch ms)."""

    def __init__(self, storage: Storage, *, records: ContractRecords, now_ms: Callable[[], int]) -> None:
        self._storage = storage
        self._records = records
        self._now_ms = now_ms
        self._serial = 0

    async def plan(self, *events: Event) -> StoragePlan:
        """Return the plan that stores a delivery of each event for each webhook that wants it."""
        webhooks = await self._records.all(WEBHOOKS) if events else []
        plans: list[StoragePlan] = []
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

    async def publish(self, *events: Event, by: Requester) -> None:
        """Store events that report no write."""
        plan = await self.plan(*events)
        if plan.effects:
            await self._storage.commit(plan, by=by)

    def _delivery(self, webhook: str, event: Event) -> Delivery:
        """Return a new delivery; ids sort by time, and those of this server in their order."""
        ts = self._now_ms()
        self._serial = max(self._serial + 1, ts * 1000)
        body = cloud_event(event, event_id=str(uuid4()), ts=ts)
        return Delivery(f"{self._serial:016d}-{uuid4().hex[:8]}", webhook, body, next_ts=ts, create_ts=ts)


def _refused(delivery: Delivery) -> Delivery:
    error = f"{MAX_WAITING} deliveries of this webhook were waiting"
    return replace(delivery, state=DeliveryState.FAILED, error=error, end_ts=delivery.create_ts, next_ts=0)


# Which addresses the server may send webhooks to. Pure functions.
#
# Without this rule, whoever may create a webhook could have the server send requests to services that only it can
# reach.

_SPECIAL = tuple(
    ip_network(text)
    for text in (
        "100.64.0.0/10",
        "192.0.0.0/24",
        "192.88.99.0/24",
        "198.18.0.0/15",
        "::/96",
        "64:ff9b:1::/48",
        "100::/64",
        "100:0:0:1::/64",
        "2001::/23",
        "3fff::/20",
        "5f00::/16",
        "fec0::/10",
    )
)
"""Networks for special purposes (IANA's registries, and what these had before) that `ipaddress` calls public.

Which ones it calls so depends on the version of Python.
"""
_TRANSLATED = ip_network("64:ff9b::/96")
"""Addresses that a gateway translates to the IPv4 address in their last 32 bits (RFC 6052)."""

Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network


def parse_networks(texts: Iterable[str]) -> tuple[Network, ...]:
    """Return networks in their usual text form; raise ``ValueError`` for a text that is none.

    >>> parse_networks(["127.0.0.0/8", "fd00::/8"])
    (IPv4Network('127.0.0.0/8'), IPv6Network('fd00::/8'))
    """
    return tuple(ip_network(text) for text in texts)


def parse_address(text: str) -> Address | None:
    """Return an IP address, that of an IPv4 address inside IPv6 for such a one; None for a text that is none.

    >>> parse_address("::ffff:127.0.0.1"), parse_address("hooks.example")
    (IPv4Address('127.0.0.1'), None)
    """
    try:
        found = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return (_inner(found) or found) if isinstance(found, IPv6Address) else found


def _inner(address: IPv6Address) -> IPv4Address | None:
    if address in _TRANSLATED:
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped or address.sixtofour


def is_listed(address: Address, networks: Sequence[Network]) -> bool:
    """Return whether an address is in one of the networks."""
    return any(address in each for each in networks)


def is_permitted(address: Address, networks: Sequence[Network]) -> bool:
    """Return whether webhooks may be sent to an address: one of the public network, or one of ``networks``.

    >>> from ipaddress import ip_address
    >>> [is_permitted(ip_address(each), ()) for each in ("93.184.215.14", "10.0.0.1", "169.254.169.254", "fec0::1")]
    [True, False, False, False]
    """
    if is_listed(address, networks):
        return True
    is_special = address.is_multicast or address.is_reserved or is_listed(address, _SPECIAL)
    return address.is_global and not is_special
