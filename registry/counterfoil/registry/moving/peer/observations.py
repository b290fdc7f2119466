"""Observed use, statistics of topics and webhooks of a registry, over the REST API. Other registries have none.

Webhooks are not read, since the API does not return their secrets; a backup of a store has them. Deliveries stay where
they are.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from counterfoil.registry.domain.contracts.hooks import DELIVERY_KINDS, WEBHOOKS
from counterfoil.registry.domain.contracts.observed import OBSERVED_USES
from counterfoil.registry.domain.contracts.topics import TOPIC_STATISTICS
from counterfoil.registry.moving.facts import RecordFact
from counterfoil.registry.moving.target import ABSENT, SAME, Standing, clash
from counterfoil.sdk import operations

if TYPE_CHECKING:
    from counterfoil.registry.moving.peer.connection import Peer
    from counterfoil.schema.rest.object_forms import Document
    from counterfoil.schema.rest.topic_stats import TopicStats
    from counterfoil.schema.rest.usage import ObservedUse

KINDS: Final = DELIVERY_KINDS | {WEBHOOKS.name, OBSERVED_USES.name, TOPIC_STATISTICS.name}
"""The kinds of records that are carried over here."""


class PeerObservations:
    """What was observed by the registry that ``peer`` connects to, and its webhooks."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    # --- as a source

    async def records(self) -> list[RecordFact]:
        """Return the records of observed use and of topics; an empty list if the registry has none."""
        uses = await self._peer.listed(operations.observed_uses()) or ()
        topics = await self._peer.listed(operations.topics()) or ()
        return [
            *(RecordFact(OBSERVED_USES.name, OBSERVED_USES.key(each), OBSERVED_USES.form.write(each)) for each in uses),
            *(_topic_fact(each) for each in topics),
        ]

    # --- as a target

    async def standing(self, fact: RecordFact) -> Standing:
        """Return whether the registry has it; times of reads and ids of webhooks are not compared."""
        if fact.kind in DELIVERY_KINDS:
            return SAME
        if fact.kind == WEBHOOKS.name:
            given = WEBHOOKS.read(fact.document)
            known = await self._peer.listed(operations.webhooks()) or ()
            return SAME if any((each.url, each.events) == (given.url, given.events) for each in known) else ABSENT
        if fact.kind == TOPIC_STATISTICS.name:
            listed = await self._peer.listed(operations.topics()) or ()
            held = next((one for one in map(_topic_fact, listed) if one.key == fact.key), None)
            return ABSENT if held is None or held.document != fact.document else SAME
        use = OBSERVED_USES.read(fact.document)
        uses = await self._peer.listed(operations.observed_uses(use.subject)) or ()
        known_use = next((each for each in uses if OBSERVED_USES.key(each) == fact.key), None)
        if known_use is None:
            return ABSENT
        return SAME if _counts(known_use) == _counts(use) else clash(f"{fact} is there with other content")

    async def put(self, fact: RecordFact) -> None:
        """Store it."""
        what = f"{fact} was refused"
        if fact.kind == WEBHOOKS.name:
            hook = WEBHOOKS.read(fact.document)
            operation = operations.create_webhook(
                hook.url, secret=hook.secret, events=hook.events, description=hook.description
            )
            await self._peer.carry_out(operation, what)
        elif fact.kind == TOPIC_STATISTICS.name:
            await self._peer.carry_out(operations.post_topic_stats(TOPIC_STATISTICS.read(fact.document)), what)
        else:
            await self._peer.carry_out(operations.post_usage(_batch(OBSERVED_USES.read(fact.document))), what)


def _topic_fact(stats: TopicStats) -> RecordFact:
    """Return the record of statistics as it is stored: without what the registry adds when it returns them."""
    document = TOPIC_STATISTICS.form.write(stats)
    document.pop("oldestVersion", None)
    document["schemas"] = [{key: each[key] for key in ("schemaId", "count")} for each in document["schemas"]]
    return RecordFact(TOPIC_STATISTICS.name, TOPIC_STATISTICS.key(stats), document)


def _batch(use: ObservedUse) -> Document:
    read: dict[str, Any] = {
        "subject": use.subject,
        "messages": use.messages,
        "sampled": use.sampled,
        "paths": {path: each.count for path, each in use.paths.items()},
    }
    return {
        "application": use.application,
        "version": use.version,
        "environment": use.environment,
        "origin": str(use.origin),
        "from": _time(use.first_seen),
        "to": _time(use.last_seen),
        "reads": [read | ({"schemaId": use.schema_id} if use.schema_id else {})],
    }


def _time(ts: int) -> str:
    return datetime.fromtimestamp(ts / 1000, UTC).isoformat(timespec="milliseconds")


def _counts(use: ObservedUse) -> Document:
    """Return what is compared."""
    document = OBSERVED_USES.form.write(use)
    left_out = {"firstSeen", "lastSeen", "staleSince", "paths"}
    paths = {path: each.count for path, each in use.paths.items()}
    return {key: value for key, value in document.items() if key not in left_out} | {"paths": paths}
