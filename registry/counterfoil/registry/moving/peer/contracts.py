"""Contracts, deployments, observed use and statistics of another registry, read and written over the REST API."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, TypeVar

from counterfoil.registry.contracts.events import DELIVERY_KINDS, WEBHOOKS
from counterfoil.registry.contracts.records import (
    APPLICATIONS,
    APPROVALS,
    CONTRACTS,
    DEPLOYMENTS,
    ENVIRONMENTS,
    INDEX_KINDS,
    MIGRATIONS,
    VERIFICATIONS,
    VERSIONS,
)
from counterfoil.registry.contracts.usage import OBSERVED_USES
from counterfoil.registry.moving.facts import RecordFact
from counterfoil.registry.moving.importing import ABSENT, SAME, FactStanding, clash
from counterfoil.registry.topics.use_cases import TOPIC_STATISTICS
from counterfoil.schema.rest.contracts import Application, Liveness, NewContract, NewPublication
from counterfoil.schema.rest.observations import NewVerification
from counterfoil.schema.rest.verdicts import NewApproval
from counterfoil.sdk import operations

if TYPE_CHECKING:
    from collections.abc import Iterable

    from counterfoil.registry.moving.peer.connection import Peer
    from counterfoil.registry.store.records import StoredKind
    from counterfoil.schema.rest.contracts import ApplicationVersion, ContractLink, Deployment, PublishedContract
    from counterfoil.schema.rest.object_forms import Document
    from counterfoil.schema.rest.observations import ObservedUse, TopicStats, Verification
    from counterfoil.schema.rest.verdicts import Approval


# Contracts, deployments, approvals and verifications of a registry, read and written over the REST API.
#
# Other registries have none. A contract is published with the version of the application that published it, so that
# contracts come before versions.

_T = TypeVar("_T")
_OWN_TO_A_REGISTRY: Final = {
    CONTRACTS.name: frozenset({"createTs", "application", "applicationVersion"}),
    DEPLOYMENTS.name: frozenset({"createTs", "id"}),
}
"""What is not compared, by kind: who published a contract first, the ids of deployments; of all kinds, times."""


class PeerContracts:
    """The contracts of the registry that ``peer`` connects to."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self._contracts: dict[tuple[str, ...], PublishedContract] = {}

    # --- as a source

    async def records(self) -> list[RecordFact]:
        """Return the records of all values in the order of writing; an empty list if the registry has none."""
        applications = await self._peer.listed(operations.applications()) or ()
        versions = [
            version
            for each in applications
            for version in await self._peer.listed(operations.application_versions(each.name)) or ()
        ]
        versions.sort(key=lambda each: each.create_ts)
        environments = await self._peer.listed(operations.environments()) or ()
        deployments = [deployment for each in environments for deployment in await self._live(each.name)]
        approvals = await self._peer.found(operations.approvals())
        verifications = await self._peer.listed(operations.verifications()) or ()
        return [
            *(_fact(ENVIRONMENTS, each) for each in environments),
            *(_fact(CONTRACTS, each) for each in await self._published()),
            *(_fact(APPLICATIONS, each) for each in applications),
            *(_fact(VERSIONS, each) for each in versions),
            *(_fact(DEPLOYMENTS, each) for each in deployments),
            *(_fact(APPROVALS, each) for each in (approvals.approvals if approvals is not None else ())),
            *(_fact(VERIFICATIONS, each) for each in verifications),
            *(_fact(MIGRATIONS, each) for each in await self._peer.listed(operations.migrations()) or ()),
        ]

    async def _published(self) -> list[PublishedContract]:
        listed = await self._peer.listed(operations.published_contracts()) or ()
        found: list[PublishedContract] = []
        for each in listed:
            for version in each.versions:
                contract = await self._peer.found(operations.published_contract(each.id, version, kind=each.kind))
                if contract is not None:
                    found.append(contract)
        return found

    async def _live(self, environment: str) -> list[Deployment]:
        found = [await self._peer.listed(operations.deployments(environment, liveness=each)) or () for each in Liveness]
        return [each for part in found for each in part]

    # --- as a target

    async def standing(self, fact: RecordFact) -> FactStanding:
        """Return whether the registry has the value; times, ids and who published a contract first are ignored.

        An approval whose last day is over has no effect, and is not carried over.
        """
        if fact.kind in INDEX_KINDS or (fact.kind == APPROVALS.name and _is_over(APPROVALS.read(fact.document))):
            return SAME
        held = await self._held(fact)
        if held is None or (fact.kind == APPLICATIONS.name and _is_bare(held)):
            return ABSENT if held is None or _content(fact.kind, held) != _content(fact.kind, fact.document) else SAME
        return (
            SAME
            if _content(fact.kind, held) == _content(fact.kind, fact.document)
            else clash(f"{fact} is there with other content")
        )

    async def _held(self, fact: RecordFact) -> Document | None:
        if fact.kind == CONTRACTS.name:
            given = CONTRACTS.read(fact.document)
            contract = await self._peer.found(operations.published_contract(given.id, given.version, kind=given.kind))
            return None if contract is None else CONTRACTS.form.write(contract)
        return (await self._documents(fact)).get(fact.key)

    async def _documents(self, fact: RecordFact) -> dict[tuple[str, ...], Document]:
        """Return the values of the fact's kind that the registry has, by key."""
        if fact.kind == APPLICATIONS.name:
            return _by_key(APPLICATIONS, await self._peer.listed(operations.applications()))
        if fact.kind == VERSIONS.name:
            return _by_key(VERSIONS, await self._peer.listed(operations.application_versions(fact.key[0])))
        if fact.kind == ENVIRONMENTS.name:
            return _by_key(ENVIRONMENTS, await self._peer.listed(operations.environments()))
        if fact.kind == APPROVALS.name:
            approvals = await self._peer.found(operations.approvals())
            return {} if approvals is None else _by_key(APPROVALS, approvals.approvals)
        if fact.kind == VERIFICATIONS.name:
            return _by_key(VERIFICATIONS, await self._peer.listed(operations.verifications()))
        if fact.kind == MIGRATIONS.name:
            return _by_key(MIGRATIONS, await self._peer.listed(operations.migrations()))
        return _by_key(DEPLOYMENTS, tuple(await self._live(fact.key[0])))

    async def put(self, fact: RecordFact) -> None:
        """Store the value; a contract is sent with the versions that have published it."""
        if fact.kind == CONTRACTS.name:
            self._contracts[fact.key] = CONTRACTS.read(fact.document)
            return
        what = f"{fact} was refused"
        if fact.kind == ENVIRONMENTS.name:
            await self._peer.carry_out(operations.put_environment(ENVIRONMENTS.read(fact.document)), what)
        elif fact.kind == APPLICATIONS.name:
            await self._peer.carry_out(operations.put_application(APPLICATIONS.read(fact.document)), what)
        elif fact.kind == VERSIONS.name:
            await self._put_version(VERSIONS.read(fact.document), what)
        elif fact.kind == APPROVALS.name:
            await self._peer.carry_out(operations.approve(_new_approval(APPROVALS.read(fact.document))), what)
        elif fact.kind == VERIFICATIONS.name:
            new = _new_verification(VERIFICATIONS.read(fact.document))
            await self._peer.carry_out(operations.publish_verification(new), what)
        elif fact.kind == MIGRATIONS.name:
            await self._peer.carry_out(operations.put_migration(MIGRATIONS.read(fact.document)), what)
        else:
            given = DEPLOYMENTS.read(fact.document)
            operation = operations.record_deployment(
                given.environment, given.application, given.version, instance=given.instance, liveness=given.liveness
            )
            await self._peer.carry_out(operation, what)

    async def _put_version(self, version: ApplicationVersion, what: str) -> None:
        if version.contracts:
            contracts = [await self._contract(link) for link in version.contracts]
            new = NewPublication(
                version.application,
                version.version,
                tuple(NewContract(each.text, each.schemas) for each in contracts if each is not None),
            )
            await self._peer.carry_out(operations.publish(new), what)
        else:
            await self._peer.carry_out(operations.put_application(Application(version.application)), what)
        await self._peer.carry_out(operations.put_application_version(version), what)

    async def _contract(self, link: ContractLink) -> PublishedContract | None:
        seen = self._contracts.get((link.id, link.kind, link.version))
        if seen is not None:
            return seen
        held = await self._peer.found(operations.published_contract(link.id, link.version, kind=link.kind))
        return held  # noqa: RET504 - mypy infers another type where it is returned at once


def _is_over(approval: Approval) -> bool:
    return approval.until < datetime.now(UTC).date().isoformat()


def _new_approval(held: Approval) -> NewApproval:
    return NewApproval(held.fingerprints, held.owner, held.reason, held.until, held.migration, held.by)


def _new_verification(held: Verification) -> NewVerification:
    return NewVerification(
        held.contract,
        held.contract_version,
        held.environment,
        held.sample,
        held.results,
        held.schema_ids,
        build_url=held.build_url,
        read_ts=held.read_ts,
    )


def _fact(kind: StoredKind[_T], value: _T) -> RecordFact:
    return RecordFact(kind.name, kind.key(value), kind.form.write(value))


def _by_key(kind: StoredKind[_T], values: Iterable[_T] | None) -> dict[tuple[str, ...], Document]:
    return {kind.key(each): kind.form.write(each) for each in values or ()}


def _is_bare(application: Document) -> bool:
    """Return whether nothing is known of an application but its name: it was created by a publication."""
    return application.keys() <= {"name", "createTs"}


def _content(kind: str, document: Document) -> Document:
    left_out = _OWN_TO_A_REGISTRY.get(kind, {"createTs"})
    return {key: value for key, value in document.items() if key not in left_out}


# Observed use, statistics of topics and webhooks of a registry, over the REST API. Other registries have none.
#
# Webhooks are not read, since the API does not return their secrets; a backup of a store has them. Deliveries stay
# where they are.

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

    async def standing(self, fact: RecordFact) -> FactStanding:
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
    read: Document = {
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
