"""The check of a proposed schema or contract in an environment. It only reads."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from counterfoil.registry.domain.contracts.verdict import Pair, Policy, verdict_of
from counterfoil.registry.service.bridges.requests import schema_request_of
from counterfoil.registry.service.contracts.sides import Side
from counterfoil.schema.contexts import parse_subject
from counterfoil.schema.errors import BadRequest
from counterfoil.schema.parsed import Validation
from counterfoil.schema.reads.model import Offer
from counterfoil.schema.rest.verdicts import DeploymentVerdict, Reason, VerdictReason

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from counterfoil.registry.service.compatibility import CompatibilityCheck
    from counterfoil.registry.service.contracts.files import ContractFiles
    from counterfoil.registry.service.contracts.records import ContractRecords
    from counterfoil.registry.service.contracts.sides import Offering, Sides
    from counterfoil.registry.service.contracts.verdicts import Verdicts
    from counterfoil.registry.service.reading import SchemaReader
    from counterfoil.registry.service.scopes import Scopes
    from counterfoil.registry.service.storage import Storage
    from counterfoil.schema.compatibility.levels import CompatibilityLevel
    from counterfoil.schema.contexts import QualifiedSubject
    from counterfoil.schema.model import Schema
    from counterfoil.schema.rest.contracts import NewContract

_PROPOSED = "proposed"


@dataclass(frozen=True, slots=True)
class Proposal:
    """What is proposed: a schema of a subject, or a contract of an application.

    Without an environment, the newest version of each application counts as live.
    """

    environment: str | None = None
    policy: Policy = Policy.STRICT
    subject: QualifiedSubject | None = None
    schema: Schema | None = None
    contract: NewContract | None = None
    application: str = ""


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
        files: ContractFiles,
        sides: Sides,
        verdicts: Verdicts,
    ) -> None:
        self._storage = storage
        self._records = records
        self._scopes = scopes
        self._reader = reader
        self._check = check
        self._files = files
        self._sides = sides
        self._verdicts = verdicts

    async def verdict(self, proposal: Proposal) -> DeploymentVerdict:
        """Return the verdict on a proposal.

        Raises ``EnvironmentNotFound``, ``InvalidContract``, ``InvalidSchema``.
        """
        if proposal.environment is not None:
            await self._records.environment(proposal.environment)
        if proposal.subject is not None and proposal.schema is not None and proposal.contract is None:
            return await self._of_schema(proposal, proposal.subject, proposal.schema)
        if proposal.contract is not None and proposal.subject is None and proposal.schema is None:
            return await self._of_contract(proposal, proposal.contract)
        raise BadRequest("A check needs either subject and schema, or contract")

    async def _of_schema(self, proposal: Proposal, subject: QualifiedSubject, schema: Schema) -> DeploymentVerdict:
        contracts = await self._records.contracts_of(subject)
        live = await self._verdicts.writers(contracts, proposal.environment)
        writers = live or await self._verdicts.writers(contracts, None)
        parsed = await self._sides.parsed(subject.context, schema)
        digest = hashlib.sha256(f"{schema.schema_type}{schema.references}{schema.text}".encode()).hexdigest()
        pairs: list[Pair] = []
        reasons: list[VerdictReason] = []
        levels: list[CompatibilityLevel] = []
        for writer in writers:
            offerings = tuple(
                replace(
                    each,
                    offer=Offer(parsed, each.promise, key=each.offer.key_schema),
                    identity=(*each.identity, digest),
                    version=_PROPOSED,
                )
                for each in writer.offerings
                if each.subject == str(subject)
            )
            levels += [each.promise.level for each in offerings if each.promise.level is not None]
            side = Side(writer.application, _PROPOSED, offerings)
            before = Side(
                writer.application,
                writer.version,
                tuple(each for each in writer.offerings if each.subject == str(subject)),
            )
            found, missing = await self._verdicts.judge_side(side, [before] if live else [], proposal.environment)
            pairs += found
            reasons += missing
        modes = await self._modes(subject, schema, levels[0] if levels else None)
        notices = [] if contracts else [f"no contract is about {subject}, so that nobody is known to read it"]
        return _combined(proposal, pairs, reasons, modes, notices)

    async def _of_contract(self, proposal: Proposal, given: NewContract) -> DeploymentVerdict:
        read = await self._files.read(given, version=_PROPOSED)
        prints = f"{given.text}{sorted(read.contract.schemas.items())}"
        contract = replace(read.contract, hash=hashlib.sha256(prints.encode()).hexdigest())
        side = await self._sides.proposed(contract, proposal.application, _PROPOSED)
        contracts = {each.contract for each in side.offerings}
        before = await self._verdicts.writers(contracts, proposal.environment)
        if not side.offerings and proposal.application:
            before = await self._verdicts.live_sides(proposal.application, proposal.environment)
        pairs, reasons = await self._verdicts.judge_side(side, before, proposal.environment)
        modes = [
            mode
            for offered in side.offerings
            for mode in await self._modes(
                parse_subject(offered.subject), _schema_of(offered, contract.schemas), offered.promise.level
            )
        ]
        return _combined(proposal, pairs, reasons, modes, [])

    async def _modes(
        self, subject: QualifiedSubject, schema: Schema, level: CompatibilityLevel | None
    ) -> list[VerdictReason]:
        """Return what breaks the subject's compatibility level, or ``level`` if the contract names one."""
        config = await self._scopes.config(subject)
        if level is not None:
            config = replace(config, compatibility_level=level)
        reading = await self._reader.read(
            subject.context, schema_request_of(schema), validation=Validation.LENIENT, normalize=False, deleted=True
        )
        history = await self._storage.history(subject)
        verdict = await self._check.verdict(subject, reading.candidate, history.active, config)
        return [
            VerdictReason(
                Reason.INCOMPATIBLE,
                f"version {each.failure.earlier.version}: {each.difference.text}",
                subject=str(subject),
                rule=each.difference.rule,
            )
            for each in verdict.judgement.incompatibilities
        ]


def _schema_of(offered: Offering, schemas: Mapping[str, Schema]) -> Schema:
    link = offered.promise.schema
    found = schemas.get(link.url) if link is not None else None
    return found or schemas[offered.subject]


def _combined(
    proposal: Proposal,
    pairs: Sequence[Pair],
    reasons: list[VerdictReason],
    modes: list[VerdictReason],
    notices: list[str],
) -> DeploymentVerdict:
    """Return the verdict under the proposal's policy."""
    if proposal.policy is not Policy.STRICT:
        notices = [*notices, *(f"{each.subject}: {each.text} (rule {each.rule})" for each in modes)]
        modes = []
    where = "any environment" if proposal.environment is None else proposal.environment
    verdict = verdict_of(pairs, [*modes, *reasons], notices, none=f"it breaks nobody who is known in {where}")
    return replace(verdict, deployable=True) if proposal.policy is Policy.OBSERVE else verdict
