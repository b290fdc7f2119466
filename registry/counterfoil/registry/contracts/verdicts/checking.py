"""Verdicts on what is proposed: a schema or a contract that is not registered or published yet."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from counterfoil.contracts.findings import fingerprint
from counterfoil.registry.access.resources import AccessOperation
from counterfoil.registry.contracts.events import Event, Events
from counterfoil.registry.contracts.publishing import ContractFileReader, Permit, permit_all
from counterfoil.registry.contracts.records import ContractRecords
from counterfoil.registry.contracts.verdicts.gathering import RetainedVersions
from counterfoil.registry.contracts.verdicts.proposals import PROPOSED, ProposedSchemas
from counterfoil.registry.contracts.verdicts.questions import Decisions, PairJudging
from counterfoil.registry.contracts.verdicts.sides import Counterparts, Sides, VersionPlace
from counterfoil.registry.contracts.verdicts.verdict import Policy
from counterfoil.registry.store.protocol import Storage
from counterfoil.registry.store.writes import Requester
from counterfoil.registry.subjects.compatibility import CompatibilityCheck
from counterfoil.registry.subjects.levels import Scopes, level_of
from counterfoil.registry.subjects.reading import SchemaReader
from counterfoil.registry.subjects.versions import schema_request_of
from counterfoil.schema.agreements.pairs import Offering, Pair
from counterfoil.schema.answers import FoundDifference
from counterfoil.schema.compatibility import CompatibilityLevel, Direction
from counterfoil.schema.contexts import QualifiedSubject, parse_subject
from counterfoil.schema.errors import BadRequest, StoreTimeout, StoreUnavailable
from counterfoil.schema.model import Schema
from counterfoil.schema.parsed import Validation
from counterfoil.schema.paths import print_path
from counterfoil.schema.rest.contracts import EventType, NewContract
from counterfoil.schema.rest.verdicts import VERDICT_REASON, DeploymentVerdict, ReasonCode, VerdictReason

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
