"""Questions that verdicts answer: on versions, on proposed schemas and contracts; events about answers that change."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from typing import Final

from counterfoil.contracts.findings import fingerprint
from counterfoil.registry.access.resources import AccessOperation
from counterfoil.registry.contracts.approvals import Migrations
from counterfoil.registry.contracts.events import ANNOUNCED, Announced, Event, Events
from counterfoil.registry.contracts.publishing import ContractFileReader, Permit, permit_all
from counterfoil.registry.contracts.records import APPROVALS, VERSIONS, ContractRecords
from counterfoil.registry.contracts.usage import ObservedUsage
from counterfoil.registry.contracts.verdicts.counterparts import Counterparts, RetainedVersions, VersionPlace
from counterfoil.registry.contracts.verdicts.judging import Decisions, PairJudging
from counterfoil.registry.contracts.verdicts.proposals import PROPOSED, ProposedSchemas
from counterfoil.registry.contracts.verdicts.sides import Sides
from counterfoil.registry.contracts.verdicts.verdict import Policy, day_at, verdict_of
from counterfoil.registry.store.protocol import Storage
from counterfoil.registry.store.writes import NO_REQUEST, Requester, StaleWrite, together
from counterfoil.registry.subjects.compatibility import CompatibilityCheck
from counterfoil.registry.subjects.levels import Scopes, level_of
from counterfoil.registry.subjects.reading import SchemaReader
from counterfoil.registry.subjects.versions import schema_request_of
from counterfoil.schema.agreements import major_of
from counterfoil.schema.agreements.findings import Activity
from counterfoil.schema.agreements.pairs import Offering, Pair, Side, consumer_groups_of
from counterfoil.schema.answers import FoundDifference
from counterfoil.schema.compatibility import CompatibilityLevel, Direction
from counterfoil.schema.contexts import QualifiedSubject, parse_subject
from counterfoil.schema.errors import BadRequest, ContractNotFound, StoreTimeout, StoreUnavailable
from counterfoil.schema.model import Schema
from counterfoil.schema.parsed import Validation
from counterfoil.schema.paths import print_path
from counterfoil.schema.rest.contracts import ApplicationVersion, ContractKind, Environment, EventType, NewContract
from counterfoil.schema.rest.verdicts import (
    STORED_APPROVAL,
    VERDICT_REASON,
    ContractMigration,
    DeploymentVerdict,
    ReasonCode,
    VerdictReason,
)

# Verdicts on what is proposed: a schema or a contract that is not registered or published yet. Nothing is written.


@dataclass(frozen=True, slots=True)
class Proposal:
    """What is proposed: a schema of a subject, or a contract of an application.

    Without an environment, the newest version of each application counts as live. ``is_application_known``: whoever
    requests the check may know the application; the contract of one that may not is judged as that of a new one.
    """

    environment: str | None = None
    policy: Policy = Policy.STRICT
    subject: QualifiedSubject | None = None
    schema: Schema | None = None
    contract: NewContract | None = None
    application: str = ""
    is_application_known: bool = True

    @property
    def place(self) -> VersionPlace:
        """Where versions count."""
        return VersionPlace(self.environment)


class Checking:
    """The use case of a check."""

    def __init__(
        self,
        storage: Storage,
        *,
        records: ContractRecords,
        scopes: Scopes,
        reader: SchemaReader,
        check: CompatibilityCheck,
        files: ContractFileReader,
        sides: Sides,
        counterparts: Counterparts,
        decisions: Decisions,
        judging: PairJudging,
        schemas: ProposedSchemas,
        retained: RetainedVersions,
        events: Events,
    ) -> None:
        self._storage = storage
        self._records = records
        self._scopes = scopes
        self._reader = reader
        self._check = check
        self._files = files
        self._sides = sides
        self._counterparts = counterparts
        self._decisions = decisions
        self._judging = judging
        self._schemas = schemas
        self._retained = retained
        self._events = events

    async def verdict(self, proposal: Proposal, *, by: Requester, permit: Permit = permit_all) -> DeploymentVerdict:
        """Return the verdict on a proposal; ``permit`` raises unless the caller may read the subjects that it names.

        Raises ``EnvironmentNotFound``, ``InvalidContract``, ``InvalidSchema``.
        """
        verdict = await self._verdict(proposal, permit)
        if verdict.deployable is False:
            await self._report(proposal, verdict, by=by)
        return verdict

    async def _report(self, proposal: Proposal, verdict: DeploymentVerdict, *, by: Requester) -> None:
        """Store an event for webhooks; a verdict is returned even if the store takes no writes."""
        about = str(proposal.subject) if proposal.subject is not None else proposal.application
        facts = {
            "environment": proposal.environment,
            "reasons": [VERDICT_REASON.write(each) for each in verdict.reasons],
        }
        with suppress(StoreUnavailable, StoreTimeout):
            await self._events.publish(Event(EventType.CHECK_FAILED, about, facts), by=by)

    async def _verdict(self, proposal: Proposal, permit: Permit) -> DeploymentVerdict:
        if proposal.environment is not None:
            await self._records.environment(proposal.environment)
        if proposal.subject is not None and proposal.schema is not None and proposal.contract is None:
            context = proposal.subject.context
            references = [parse_subject(each.subject, context=context) for each in proposal.schema.references]
            for subject in (proposal.subject, *references):
                permit(AccessOperation.READ, subject)
            return await self._of_schema(proposal, proposal.subject, proposal.schema)
        if proposal.contract is not None and proposal.subject is None and proposal.schema is None:
            return await self._of_contract(proposal, proposal.contract, permit)
        raise BadRequest("A check needs either subject and schema, or contract")

    async def _of_schema(self, proposal: Proposal, subject: QualifiedSubject, schema: Schema) -> DeploymentVerdict:
        parsed = await self._sides.parsed(subject.context, schema)
        digest = hashlib.sha256(f"{schema.schema_type}{schema.references}{schema.text}".encode()).hexdigest()
        [judged] = await self._schemas.judged(subject, parsed, digest, [proposal.place])
        modes = await self._modes(subject, schema, judged.level, topic=judged.topic, environment=proposal.environment)
        notices = []
        if not judged.has_contract and not judged.pairs:
            notices = [f"no contract has {subject} as the subject of its values, so that nobody is known to read it"]
        return await self._combined(proposal, judged.pairs, judged.reasons, modes, notices)

    async def _of_contract(self, proposal: Proposal, given: NewContract, permit: Permit) -> DeploymentVerdict:
        read = await self._files.read(given, version=PROPOSED, needs=AccessOperation.READ, permit=permit)
        prints = f"{given.text}{sorted(read.contract.schemas.items())}"
        contract = replace(read.contract, hash=hashlib.sha256(prints.encode()).hexdigest())
        side = await self._sides.proposed(contract, proposal.application, PROPOSED, agreement=read.agreement)
        contracts = {each.contract for each in side.offerings}
        before = await self._counterparts.writers(contracts, proposal.place)
        if not side.offerings and proposal.application and proposal.is_application_known:
            before = await self._counterparts.of_application(proposal.application, proposal.place)
        pairs, reasons = await self._judging.judge_side(side, before, proposal.place)
        modes = [
            mode
            for offered in side.offerings
            for mode in await self._modes(
                parse_subject(offered.subject),
                _schema_of(offered, contract.schemas),
                offered.promise.level,
                topic=offered.promise.topic,
                environment=proposal.environment,
            )
        ]
        return await self._combined(proposal, pairs, reasons, modes, [])

    async def _modes(
        self,
        subject: QualifiedSubject,
        schema: Schema,
        level: CompatibilityLevel | None,
        *,
        topic: str,
        environment: str | None,
    ) -> list[VerdictReason]:
        """Return what breaks the subject's compatibility level, or ``level`` if the contract names one.

        Where the level wants that new schemas read the records of the latest version, they must read those of all
        versions that are still in the topic. What is found of several versions is reported of the newest one.
        """
        config = await self._scopes.config(subject)
        if level is not None:
            config = replace(config, compatibility_level=level)
        reading = await self._reader.read(
            subject.context, schema_request_of(schema), validation=Validation.LENIENT, normalize=False, deleted=True
        )
        history = await self._storage.history(subject)
        verdict = await self._check.verdict(subject, reading.candidate, history.active, config, lists_differences=True)
        found = [_incompatible(subject, each) for each in verdict.differences()]
        wanted = level_of(config)
        if Direction.BACKWARD not in wanted.directions or wanted.is_transitive:
            return found
        judged = {each.version for each in verdict.differences()}
        judged.add(history.latest.version if history.latest is not None else None)
        older = [each for each in await self._retained.of(subject, topic, environment) if each.version not in judged]
        backward = replace(config, compatibility_level=CompatibilityLevel.BACKWARD_TRANSITIVE)
        retained = await self._check.verdict(subject, reading.candidate, older, backward, lists_differences=True)
        where = f", whose records are still in topic {topic}"
        found += (_incompatible(subject, each, where) for each in retained.differences())
        newest: dict[str, VerdictReason] = {}
        for each in found:
            newest.setdefault(each.fingerprint, each)
        return list(newest.values())

    async def _combined(
        self,
        proposal: Proposal,
        pairs: Sequence[Pair],
        reasons: Sequence[VerdictReason],
        modes: Sequence[VerdictReason],
        notices: Sequence[str],
    ) -> DeploymentVerdict:
        """Return the verdict under the proposal's policy."""
        if proposal.policy is not Policy.STRICT:
            notices = [*notices, *(f"{each.subject}: {each.text} (rule {each.rule})" for each in modes)]
            modes = []
        where = "any environment" if proposal.environment is None else proposal.environment
        none = f"it breaks nobody who is known in {where}"
        verdict = await self._decisions.verdict(pairs, [*modes, *reasons], notices, none=none)
        return replace(verdict, deployable=True) if proposal.policy is Policy.OBSERVE else verdict


def _incompatible(subject: QualifiedSubject, found: FoundDifference, where: str = "") -> VerdictReason:
    """Return the reason about a difference from an earlier version; ``where`` says more about the version."""
    path = print_path(found.path)
    return VerdictReason(
        ReasonCode.INCOMPATIBLE,
        f"version {found.version}{where}: {f'{path}: ' if path else ''}{found.text}",
        subject=str(subject),
        rule=found.rule,
        path=path,
        fingerprint=fingerprint(found.rule, str(subject), found.direction.name, found.identity),
    )


def _schema_of(offered: Offering, schemas: Mapping[str, Schema]) -> Schema:
    link = offered.promise.schema
    found = schemas.get(link.url) if link is not None else None
    return found or schemas[offered.subject]


# Verdicts: may a version be deployed or merged, may a contract be retired, which pairs are live.
#
# They are computed when requested. A request reads the contracts of the version in question, the applications that
# offer or read them, and what of these is live in the environment: never all versions, nor all applications.

_SHOWN = 80


class ContractVerdicts:
    """The use cases of verdicts."""

    def __init__(
        self,
        *,
        records: ContractRecords,
        sides: Sides,
        counterparts: Counterparts,
        decisions: Decisions,
        usage: ObservedUsage,
        migrations: Migrations,
        judging: PairJudging,
    ) -> None:
        self._records = records
        self._sides = sides
        self._counterparts = counterparts
        self._decisions = decisions
        self._usage = usage
        self._migrations = migrations
        self._judging = judging

    # --- can-i-deploy, can-i-merge

    async def can_deploy(
        self,
        application: str,
        version: str,
        environment: str,
        *,
        ignored: Sequence[str] = (),
        max_age_days: int | None = None,
    ) -> DeploymentVerdict:
        """Return whether a version may be deployed; other applications in ``ignored`` do not count.

        ``max_age_days`` demands verifications that are not older, as the environment may do as well. Raises
        ``EnvironmentNotFound``.
        """
        target, _ = await self._records.environment(environment)
        found = await self._published(application, version)
        if isinstance(found, VerdictReason):
            return _only(found)
        side = await self._sides.side(found)
        here = VersionPlace(environment)
        replaced = await self._counterparts.of_application(application, here)
        pairs, reasons = await self._judging.judge_side(side, replaced, here, ignored=ignored)
        days = _days(target, max_age_days)
        if days is not None:
            reasons += await self._decisions.verifications(side, environment, days)
        none = f"nobody who is live in {environment} reads what {application} {version} writes"
        everybody = await self._unless_ignored(pairs, side, replaced, here) if ignored else ()
        verdict = await self._decisions.verdict(pairs, reasons, none=none, unless_ignored=everybody)
        return verdict if days is None else replace(verdict, decided_at=verdict.decided_at or self._decisions.time())

    async def can_merge(
        self, application: str, version: str, branch: str, *, ignored: Sequence[str] = ()
    ) -> DeploymentVerdict:
        """Return whether a version may be merged: it is judged against the newest versions on a branch."""
        found = await self._published(application, version)
        if isinstance(found, VerdictReason):
            return _only(found)
        side, place = await self._sides.side(found), VersionPlace(branch=branch)
        replaced = await self._counterparts.of_application(application, place)
        absent = [each for each in await self._counterparts.absent(side, place) if each not in ignored]
        pairs, reasons = await self._judging.judge_side(side, replaced, place, ignored=(*ignored, application, *absent))
        notices = [f"{each} has published no version from branch {branch}, and does not count" for each in absent]
        if absent and not pairs and not reasons:
            text = f"{place.nobody} offers or reads the contracts of {application} {version}, and {absent[0]} does"
            reasons.append(VerdictReason(ReasonCode.NO_CONTRACT, text))
        none = f"{place.nobody} reads what {application} {version} writes"
        left_out = (application, *absent)
        everybody = await self._unless_ignored(pairs, side, replaced, place, left_out=left_out) if ignored else ()
        return await self._decisions.verdict(pairs, reasons, notices, none=none, unless_ignored=everybody)

    async def _unless_ignored(
        self,
        pairs: Sequence[Pair],
        side: Side,
        replaced: Sequence[Side],
        place: VersionPlace,
        *,
        left_out: Sequence[str] = (),
    ) -> Sequence[Pair]:
        """Return the pairs of a question in which nobody is ignored; none where nothing breaks."""
        if not any(each.is_broken for each in pairs):
            return ()
        everybody, _ = await self._judging.judge_side(side, replaced, place, ignored=left_out)
        return everybody

    async def _published(self, application: str, version: str) -> ApplicationVersion | VerdictReason:
        """Return a version with contracts, or the reason why it cannot be judged."""
        found = (await self._records.find(VERSIONS, (application, version))).value
        if found is None:
            text = f"{application} {version} is unknown; publish its contracts first"
            return VerdictReason(ReasonCode.UNKNOWN_VERSION, text)
        if not found.contracts:
            return VerdictReason(ReasonCode.NO_CONTRACT, f"{application} {version} has published no contract")
        return found

    # --- can-i-retire

    async def can_retire(
        self, contract: str, major: str, environment: str, *, is_known: bool = True
    ) -> DeploymentVerdict:
        """Return whether a major version of a contract may be retired: no live consumer reads it.

        The converter of a migration does not count, and its bridge must have been cut over. ``is_known``: whoever
        requests it may know the contract; otherwise the verdict is that on one that was never published.

        Raises ``EnvironmentNotFound``.
        """
        await self._records.environment(environment)
        major = major_of(major)
        if not is_known or not any(
            kind == ContractKind.ODCS and major_of(version) == major
            for _, kind, version in await self._records.contract_keys(contract)
        ):
            text = f"contract {contract} has no version {major} that was published"
            return _only(VerdictReason(ReasonCode.NO_CONTRACT, text, contract=contract))
        readers = await self._counterparts.readers([contract], VersionPlace(environment))
        runners, unfinished = await self._migrations.unfinished(contract, major)
        reasons = [
            VerdictReason(
                ReasonCode.STILL_READ,
                f"{reading.application} {reading.version} reads it and is live in {environment}",
                contract=contract,
                consumer=reading.application,
                consumer_version=reading.version,
            )
            for side in readers.live
            for reading in side.readings
            if reading.major == major and reading.application not in runners
        ]
        groups = consumer_groups_of(each for each in (*readers.live, *readers.pending) if each.application in runners)
        seen = await self._seen_reading(contract, major, environment)
        reasons += [*(each for each in seen if each.consumer not in runners | groups), *unfinished]
        if not reasons and not await self._records.was_used(environment):
            text = f"nothing was ever recorded as live in {environment}, so that it is not known who reads {contract}"
            return _only(VerdictReason(ReasonCode.NO_CONTRACT, text, contract=contract))
        return verdict_of([], reasons, none=f"nobody who is live in {environment} reads {contract} {major}")

    async def _seen_reading(self, contract: str, major: str, environment: str) -> list[VerdictReason]:
        """Return a reason for each active reader of the subjects that only this major version is about."""
        offered = [
            each
            for one in await self._counterparts.writers([contract], VersionPlace(environment))
            for each in one.offered(contract)
        ]
        others = {each.subject for each in offered if each.major != major}
        return [
            VerdictReason(
                ReasonCode.STILL_READ,
                f"{reader.application} was seen to read {subject} in the last days",
                contract=contract,
                subject=subject,
                consumer=reader.application,
                consumer_version=reader.version,
            )
            for subject in sorted({each.subject for each in offered} - others)
            for reader in await self._usage.readers(parse_subject(subject), environment)
            if reader.activity is Activity.ACTIVE
        ]

    # --- matrix

    async def matrix(
        self, environment: str, *, subject: QualifiedSubject | None = None, application: str | None = None
    ) -> DeploymentVerdict:
        """Return all pairs that are live in an environment: of a subject, or with an application on one side."""
        await self._records.environment(environment)
        if (subject is None) == (application is None):
            raise BadRequest("The matrix needs either subject or application")
        contracts = await self._records.contracts_of(subject) if subject is not None else []
        if application is not None:
            own = await self._counterparts.of_application(application, VersionPlace(environment))
            contracts = sorted({each for side in own for each in _contracts_of(side)})

        def is_asked(each: Pair) -> bool:
            return application in {None, each.producer, each.consumer} and subject in {
                None,
                parse_subject(each.subject),
            }

        live = await self._judging.live_pairs(contracts, VersionPlace(environment))
        found = [each for each in live if is_asked(each)]
        if not found:
            about = f"application {application}" if application is not None else f"subject {subject}"
            text = f"no producer and consumer of {about} are live in {environment}; record what is deployed there"
            return _only(VerdictReason(ReasonCode.NO_CONTRACT, text, subject="" if subject is None else str(subject)))
        pairs, hindrances = await self._migrations.bridged(found, environment)
        among, _ = await self._migrations.bridged(live, environment)
        return await self._decisions.verdict(pairs, hindrances, none="", among=among)

    async def of_contract(self, contract: str, environment: str | None = None) -> DeploymentVerdict:
        """Return the verdict on all pairs of a contract: those live in an environment, or the newest versions.

        Raises ``EnvironmentNotFound`` and ``ContractNotFound``.
        """
        if environment is not None:
            await self._records.environment(environment)
        if not await self._records.contract_keys(contract):
            raise ContractNotFound(f"There is no contract {contract[:_SHOWN]!r}")
        found = await self._judging.live_pairs([contract], VersionPlace(environment))
        if found:
            pairs, hindrances = await self._migrations.bridged(found, environment)
            return await self._decisions.verdict(pairs, hindrances, none="")
        return _only(VerdictReason(ReasonCode.NO_CONTRACT, f"no producer and consumer of {contract} are known there"))


def _only(reason: VerdictReason) -> DeploymentVerdict:
    return verdict_of([], [reason], none="")


def _days(environment: Environment, given: int | None) -> int | None:
    """Return the greatest age of verifications: the smaller of what the environment and the request demand."""
    return min((each for each in (environment.verified_within_days, given) if each is not None), default=None)


def _contracts_of(side: Side) -> set[str]:
    return {each.contract for each in side.offerings} | {each.contract for each in side.readings}


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
