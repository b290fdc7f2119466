"""Webhooks and the deliveries to them: use cases, the courier, one signed request; events that nobody writes."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hmac
import json
import logging
import socket
import ssl
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property, partial
from typing import TYPE_CHECKING, Final, TypeAlias
from urllib.parse import urlsplit
from uuid import uuid4

from counterfoil.registry.contracts.approvals import Migrations
from counterfoil.registry.contracts.events import (
    ANNOUNCED,
    ENDED,
    WAITING,
    WEBHOOKS,
    Address,
    Announced,
    Event,
    Events,
    Network,
    is_listed,
    is_permitted,
    parse_address,
)
from counterfoil.registry.contracts.records import APPROVALS, ContractRecords
from counterfoil.registry.contracts.verdicts.questions import ContractVerdicts
from counterfoil.registry.contracts.verdicts.sides import Counterparts, VersionPlace
from counterfoil.registry.contracts.verdicts.verdict import day_at
from counterfoil.registry.logs import tried
from counterfoil.registry.store.changes import JournalChangeKind, WrittenChanges
from counterfoil.registry.store.committing import WriteTurns
from counterfoil.registry.store.protocol import Storage
from counterfoil.registry.store.writes import NO_REQUEST, Requester, StaleWrite, StoragePlan, record_write, together
from counterfoil.registry.subjects.levels import Scopes, check_writable
from counterfoil.schema.contexts import TOP_LEVEL
from counterfoil.schema.errors import DeliveryNotFound, InvalidWebhook, RegistryError, WebhookNotFound
from counterfoil.schema.rest.contracts import Delivery, DeliveryState, EventType, Webhook
from counterfoil.schema.rest.object_forms import Document
from counterfoil.schema.rest.verdicts import STORED_APPROVAL, ContractMigration

if TYPE_CHECKING:
    import httpx


Resolve: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]


# Webhooks, and the deliveries to them.

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
        self._turns = WriteTurns(storage.catch_up)

    # --- webhooks

    async def all(self) -> list[Webhook]:
        """Return all webhooks, the oldest first."""
        return sorted(await self._records.all(WEBHOOKS), key=lambda each: (each.create_ts, each.id))

    async def get(self, webhook_id: str) -> Webhook:
        """Return a webhook; raise ``WebhookNotFound`` if there is none with this id."""
        return (await self._held(webhook_id))[0]

    async def create(self, given: Webhook, *, by: Requester) -> Webhook:
        """Store a new webhook; raise ``InvalidWebhook`` if its address or secret cannot be used."""
        self._check_url(given.url)
        secret_bytes(given.secret)
        check_writable(await self._scopes.mode(TOP_LEVEL), TOP_LEVEL)
        webhook = replace(given, id=str(uuid4()), create_ts=self._now_ms())
        await self._storage.commit(WEBHOOKS.write(webhook, revision=0), by=by)
        return webhook

    async def delete(self, webhook_id: str, *, by: Requester) -> None:
        """Delete a webhook with its deliveries; raise ``WebhookNotFound`` if there is none with this id."""
        await self._turns.take(partial(self._delete, webhook_id, by=by), written=webhook_id)

    async def _delete(self, webhook_id: str, *, by: Requester) -> None:
        check_writable(await self._scopes.mode(TOP_LEVEL), TOP_LEVEL)
        _, revision = await self._held(webhook_id)
        found = [each for kind in (WAITING, ENDED) for each in await self._storage.records(kind.name, (webhook_id,))]
        removed = (record_write(each.kind, each.key, None, revision=each.revision) for each in found)
        of_webhook = record_write(WEBHOOKS.name, (webhook_id,), None, revision=revision)
        await self._storage.commit(together((of_webhook, *removed)), by=by)

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

    async def redeliver(self, webhook_id: str, delivery_id: str, *, by: Requester) -> Delivery:
        """Send an ended delivery again, with the same event and id; raise ``DeliveryNotFound`` if there is none."""
        return await self._turns.take(partial(self._redeliver, webhook_id, delivery_id, by=by), written=delivery_id)

    async def _redeliver(self, webhook_id: str, delivery_id: str, *, by: Requester) -> Delivery:
        check_writable(await self._scopes.mode(TOP_LEVEL), TOP_LEVEL)
        await self._held(webhook_id)
        held = await self._records.find(ENDED, (webhook_id, delivery_id))
        if held.value is None:
            raise DeliveryNotFound(f"Webhook {webhook_id} has no ended delivery {delivery_id[:_SHOWN]!r}")
        again = replace(
            held.value, state=DeliveryState.PENDING, attempts=0, next_ts=self._now_ms(), status=0, error="", end_ts=0
        )
        ended = record_write(ENDED.name, ENDED.key(again), None, revision=held.revision)
        await self._storage.commit(together((ended, WAITING.write(again, revision=0))), by=by)
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
        await self._storage.commit(WAITING.write(claimed, revision=held.revision), by=NO_REQUEST)
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
            await self._storage.commit(WAITING.write(delivery, revision=held.revision), by=NO_REQUEST)
            return
        removed = record_write(WAITING.name, WAITING.key(delivery), None, revision=held.revision)
        if (await self._records.find(WEBHOOKS, (delivery.webhook,))).value is None:
            await self._storage.commit(removed, by=NO_REQUEST)
            return
        known = await self._records.find(ENDED, ENDED.key(delivery))
        stored = ENDED.write(delivery, revision=known.revision)
        await self._storage.commit(together((removed, stored, *await self._pruned(delivery.webhook))), by=NO_REQUEST)

    async def _pruned(self, webhook_id: str) -> list[StoragePlan]:
        """Return the plans that delete the oldest ended deliveries, so that there is room for one more."""
        found = await self._storage.records(ENDED.name, (webhook_id,))
        return [
            record_write(each.kind, each.key, None, revision=each.revision)
            for each in found[: max(0, len(found) + 1 - MAX_ENDED)]
        ]


TIMEOUT_S: Final = 5.0
_CONTENT_TYPE: Final = "application/cloudevents+json; charset=utf-8"


@dataclass(frozen=True, slots=True)
class DeliveryAnswer:
    """What came of a request: the HTTP status, 0 without an answer, and why it counts as failed."""

    status: int = 0
    error: str = ""

    @property
    def is_success(self) -> bool:
        """Whether the receiver has accepted it."""
        return not self.error


class Refused(Exception):
    """The address may not be used; the text says why."""


def signature(key: bytes, *, message_id: str, ts: int, body: bytes) -> str:
    """Return the value of ``webhook-signature``; ``ts`` is in seconds.

    >>> key = base64.b64decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    >>> body = b'{"test": 2432232314}'
    >>> signature(key, message_id="msg_p5jXN8AQM9LWM0D4loKWxJek", ts=1614265330, body=body)
    'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE='
    """
    digest = hmac.digest(key, f"{message_id}.{ts}.".encode() + body, "sha256")
    return f"v1,{base64.b64encode(digest).decode()}"


async def resolve_name(host: str, port: int) -> list[str]:
    """Return the addresses of a host."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(each[4][0]) for each in found))


class Sender:
    """Sends events. ``networks`` are those, beside the public one, that it may connect to.

    A name is resolved once, and the connection is made to one of the addresses that were checked.
    """

    def __init__(
        self, networks: Sequence[Network], *, resolve: Resolve = resolve_name, timeout_s: float = TIMEOUT_S
    ) -> None:
        self._networks = networks
        self._resolve = resolve
        self._timeout_s = timeout_s

    @cached_property
    def _client(self) -> httpx.AsyncClient:
        import httpx

        return httpx.AsyncClient(verify=ssl.create_default_context(), trust_env=False, timeout=self._timeout_s)

    async def close(self) -> None:
        """Close the connections."""
        if "_client" in self.__dict__:
            await self._client.aclose()

    async def send(self, url: str, event: Document, *, key: bytes, ts: int) -> DeliveryAnswer:
        """Send an event, signed at ``ts`` (epoch s); the body of the answer is not read."""
        import httpx

        try:
            async with asyncio.timeout(self._timeout_s):
                return await self._send(httpx.URL(url), event, key, ts)
        except TimeoutError:
            return DeliveryAnswer(error=f"there was no answer within {self._timeout_s:g} s")
        except Refused as refused:
            return DeliveryAnswer(error=str(refused))
        except (httpx.HTTPError, httpx.InvalidURL, OSError, UnicodeError) as error:
            return DeliveryAnswer(error=str(error) or type(error).__name__)

    async def _send(self, url: httpx.URL, event: Document, key: bytes, ts: int) -> DeliveryAnswer:
        address = await self._address(url)
        body = json.dumps(event, ensure_ascii=False).encode()
        headers = {
            "Host": url.netloc.decode("ascii"),
            "Content-Type": _CONTENT_TYPE,
            "User-Agent": "counterfoil",
            "webhook-id": event["id"],
            "webhook-timestamp": str(ts),
            "webhook-signature": signature(key, message_id=event["id"], ts=ts, body=body),
        }
        request = self._client.build_request(
            "POST", url.copy_with(host=str(address)), content=body, headers=headers,
            extensions={"sni_hostname": url.host},
        )  # fmt: skip
        answer = await self._client.send(request, stream=True, follow_redirects=False)
        await answer.aclose()
        return DeliveryAnswer(answer.status_code, "" if answer.is_success else f"the answer was {answer.status_code}")

    async def _address(self, url: httpx.URL) -> Address:
        """Return the address to connect to; raise ``Refused`` if one of the name's addresses is not permitted."""
        port = url.port or (443 if url.scheme == "https" else 80)
        literal = parse_address(url.host)
        texts = [url.host] if literal is not None else await self._resolve(url.host, port)
        found = [address for text in texts if (address := parse_address(text)) is not None]
        if not found:
            raise Refused(f"{url.host} has no address")
        for each in found:
            if not is_permitted(each, self._networks):
                raise Refused(f"{url.host} has the address {each}, which is not in the public network, nor permitted")
            if url.scheme != "https" and not is_listed(each, self._networks):
                raise Refused(f"{url.host} has the address {each}, to which only https is permitted")
        return found[0]


# Delivers events: an attempt for each that is due, and later ones until the receiver accepts it.
#
# Each server has a courier. A delivery is claimed in the store before an attempt, so that one server makes it; if that
# server ends in between, another one makes the next attempt when the claim has ended. So a receiver gets each event at
# least once.

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

    def wake(self, written: WrittenChanges | None) -> None:
        """Look for deliveries at once after a write of this server that has stored one."""
        for change in () if written is None else written.changes:
            if (
                change.kind is JournalChangeKind.RECORD
                and change.document
                and change.document.get("kind") == WAITING.name
            ):
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

    async def _answer(self, webhook: Webhook, claimed: Delivery) -> DeliveryAnswer:
        """Return what came of a request; an error that nobody has foreseen is a failed attempt, and is logged."""
        ts = self._now_ms() // 1000
        try:
            return await self._sender.send(webhook.url, claimed.event, key=secret_bytes(webhook.secret), ts=ts)
        except Exception as error:  # noqa: BLE001 - whatever it is, the delivery is noted as failed
            _log.exception("delivery %s to webhook %s has failed", claimed.id, claimed.webhook)
            return DeliveryAnswer(error=f"the attempt failed: {type(error).__name__}")

    async def _note(self, delivery: Delivery, answer: DeliveryAnswer) -> None:
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


# Events about what nobody writes: an approval that ends soon, a migration whose old side nobody reads any more.
#
# Both are looked for from time to time, and each is reported once, also if several servers look.

EXPIRING_DAYS: Final = 7
"""How many days before its last one an approval is reported."""


class Announcing:
    """Looks for what is to be reported. ``now_ms`` is the clock (epoch ms)."""

    def __init__(
        self,
        storage: Storage,
        *,
        records: ContractRecords,
        counterparts: Counterparts,
        migrations: Migrations,
        verdicts: ContractVerdicts,
        events: Events,
        now_ms: Callable[[], int],
    ) -> None:
        self._storage = storage
        self._records = records
        self._counterparts = counterparts
        self._migrations = migrations
        self._verdicts = verdicts
        self._events = events
        self._now_ms = now_ms

    async def expiring_approvals(self) -> None:
        """Store an event for each approval whose last day is today or in a few days, once."""
        if not await self._events.is_wanted(EventType.APPROVAL_EXPIRING):
            return
        today = day_at(self._now_ms())
        for each in await self._records.all(APPROVALS):
            if 0 <= (date.fromisoformat(each.until) - today).days <= EXPIRING_DAYS:
                facts = STORED_APPROVAL.write(each)
                await self._announce(Event(EventType.APPROVAL_EXPIRING, each.id, facts), each.id)

    async def retirable_migrations(self) -> None:
        """Store an event for each migration whose old side may be retired in an environment that has the contract."""
        if not await self._events.is_wanted(EventType.MIGRATION_RETIRABLE):
            return
        environments = await self._records.environment_names()
        for migration in await self._migrations.all():
            for environment in environments:
                what = f"{migration.id} {environment}"
                if not await self._is_known(what) and await self._is_retirable(migration, environment):
                    facts = {
                        "migration": migration.id,
                        "contract": migration.contract,
                        "major": migration.source,
                        "environment": environment,
                    }
                    await self._announce(Event(EventType.MIGRATION_RETIRABLE, migration.id, facts), what)

    async def _is_retirable(self, migration: ContractMigration, environment: str) -> bool:
        if not await self._counterparts.writers([migration.contract], VersionPlace(environment)):
            return False
        verdict = await self._verdicts.can_retire(migration.contract, migration.source, environment)
        return verdict.deployable is True

    async def _is_known(self, what: str) -> bool:
        held = await self._records.find(ANNOUNCED, (EventType.MIGRATION_RETIRABLE, what))
        return held.value is not None

    async def _announce(self, event: Event, what: str) -> None:
        """Store an event about ``what``, unless one was stored before, by this server or another one."""
        announced = Announced(event.type, what, self._now_ms())
        if (await self._records.find(ANNOUNCED, ANNOUNCED.key(announced))).value is None:
            with suppress(StaleWrite):
                await self._storage.commit(
                    together((ANNOUNCED.write(announced, revision=0), await self._events.plan(event))), by=NO_REQUEST
                )
