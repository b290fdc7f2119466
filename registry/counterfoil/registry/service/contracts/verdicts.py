"""Verdicts: may a version be deployed or merged, may a contract be retired, which pairs are live.

They are computed when requested. A request reads the contracts of the version in question, the applications that offer
or read them, and what of these is live in the environment: never all versions, nor all applications.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from counterfoil.registry.domain.contracts.stored import VERSIONS
from counterfoil.registry.domain.contracts.verdict import Pair, since, verdict_of
from counterfoil.registry.service.contracts.counterparts import Place
from counterfoil.registry.service.contracts.ended import (
    ended_offerings,
    live_offerings,
    no_longer_offered,
    readers_of,
)
from counterfoil.registry.service.contracts.sides import consumer_groups_of
from counterfoil.schema.agreements.model import major_of
from counterfoil.schema.contexts import parse_subject
from counterfoil.schema.errors import BadRequest, ContractNotFound
from counterfoil.schema.reads.model import Activity
from counterfoil.schema.rest.contracts import ContractKind
from counterfoil.schema.rest.verdicts import DeploymentVerdict, Reason, VerdictReason

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Container, Sequence

    from counterfoil.registry.service.contracts.counterparts import Counterparts, Named
    from counterfoil.registry.service.contracts.decisions import Decisions
    from counterfoil.registry.service.contracts.migrations import Migrations
    from counterfoil.registry.service.contracts.records import ContractRecords
    from counterfoil.registry.service.contracts.retained import RetainedVersions
    from counterfoil.registry.service.contracts.sides import Offering, Reading, Side, Sides
    from counterfoil.registry.service.contracts.usage import ObservedUsage
    from counterfoil.schema.contexts import QualifiedSubject
    from counterfoil.schema.reads.model import ReadFinding
    from counterfoil.schema.rest.contracts import ApplicationVersion, Environment

Major = tuple[str, str]
"""The id of a contract, and one of its major versions."""

_SHOWN = 80
_AT_ONCE = 32


class Verdicts:
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
        retained: RetainedVersions,
    ) -> None:
        self._records = records
        self._sides = sides
        self._counterparts = counterparts
        self._decisions = decisions
        self._usage = usage
        self._migrations = migrations
        self._retained = retained

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
        here = Place(environment)
        replaced = await self._counterparts.of_application(application, here)
        pairs, reasons = await self.judge_side(side, replaced, here, ignored=ignored)
        days = _days(target, max_age_days)
        if days is not None:
            reasons += await self._decisions.verifications(side, environment, days)
        none = f"nobody who is live in {environment} reads what {application} {version} writes"
        verdict = await self._decisions.verdict(pairs, reasons, none=none)
        return verdict if days is None else replace(verdict, decided_at=verdict.decided_at or self._decisions.time())

    async def can_merge(
        self, application: str, version: str, branch: str, *, ignored: Sequence[str] = ()
    ) -> DeploymentVerdict:
        """Return whether a version may be merged: it is judged against the newest versions on a branch."""
        found = await self._published(application, version)
        if isinstance(found, VerdictReason):
            return _only(found)
        side, place = await self._sides.side(found), Place(branch=branch)
        replaced = await self._counterparts.of_application(application, place)
        absent = [each for each in await self._counterparts.absent(side, place) if each not in ignored]
        pairs, reasons = await self.judge_side(side, replaced, place, ignored=(*ignored, application, *absent))
        notices = [f"{each} has published no version from branch {branch}, and does not count" for each in absent]
        if absent and not pairs and not reasons:
            text = f"{place.nobody} offers or reads the contracts of {application} {version}, and {absent[0]} does"
            reasons.append(VerdictReason(Reason.NO_CONTRACT, text))
        none = f"{place.nobody} reads what {application} {version} writes"
        return await self._decisions.verdict(pairs, reasons, notices, none=none)

    async def _published(self, application: str, version: str) -> ApplicationVersion | VerdictReason:
        """Return a version with contracts, or the reason why it cannot be judged."""
        found = (await self._records.find(VERSIONS, (application, version))).value
        if found is None:
            text = f"{application} {version} is unknown; publish its contracts first"
            return VerdictReason(Reason.UNKNOWN_VERSION, text)
        if not found.contracts:
            return VerdictReason(Reason.NO_CONTRACT, f"{application} {version} has published no contract")
        return found

    async def judge_side(
        self,
        side: Side,
        replaced: Sequence[Side],
        place: Place,
        *,
        ignored: Sequence[str] = (),
        unread: Container[Major] = (),
    ) -> tuple[list[Pair], list[VerdictReason]]:
        """Return the pairs of a version, on either side, and what is missing; ``replaced`` is what is live now.

        Who reads a major version in ``unread`` does not read what the version offers.
        """
        as_producer, gone = await self._as_producer(side, replaced, place, ignored)
        as_producer = [each for each in as_producer if (each.contract, each.consumer_major) not in unread]
        as_consumer, missing = await self._as_consumer(side, replaced, place, ignored)
        pairs, hindrances = await self._migrations.bridged([*as_producer, *as_consumer], place.environment)
        return pairs, [*hindrances, *gone, *missing]

    async def _as_producer(
        self, side: Side, replaced: Sequence[Side], place: Place, ignored: Sequence[str]
    ) -> tuple[list[Pair], list[VerdictReason]]:
        """Return the pairs with those who read the version's records, and what it no longer offers to them."""
        offered = {each.contract for each in side.offerings}
        contracts = offered | {each.contract for one in replaced for each in one.offerings}
        if not contracts:
            return [], []
        readers = await self._counterparts.readers(contracts, place)
        others = [each for each in readers.live if not each.is_same(side) and each.application not in ignored]
        pairs: list[Pair] = []
        for number, consumer in enumerate((side, *others)):
            pairs += self._pairs(side, replaced, consumer, is_live=True)
            if number % _AT_ONCE == 0:
                await asyncio.sleep(0)  # there may be a thousand
        for consumer in readers.pending:
            if not consumer.is_same(side) and consumer.application not in ignored:
                pairs += self._pairs(side, replaced, consumer, is_live=False)
        declared = {(each.application, each.contract) for one in others for each in one.readings}
        groups = consumer_groups_of((*readers.live, *readers.pending))
        left_out = {*ignored, *groups, side.application}
        seen = partial(self._counterparts.observed, place=place, left_out=left_out, declared=declared)
        going_on, ending = live_offerings(side, replaced)
        for consumer in await seen(going_on):
            pairs += self._pairs(side, replaced, consumer, is_live=True)
        readings = [each for consumer in others for each in consumer.readings]
        return pairs, await self._no_longer_offered(side, replaced, place, readings, ending=ending, seen=seen)

    async def _no_longer_offered(
        self,
        side: Side,
        replaced: Sequence[Side],
        place: Place,
        readings: Sequence[Reading],
        *,
        ending: Sequence[Named],
        seen: Callable[[Sequence[Named]], Awaitable[list[Side]]],
    ) -> list[VerdictReason]:
        """Return a reason for each reading of what no live version would offer after the deployment.

        ``readings`` are those of live consumers, ``seen`` returns who was seen to read some offerings.
        """
        offered = {each.contract for each in side.offerings}
        given_up = {each.contract for each in readings} - offered
        writers = await self._counterparts.writers(given_up | {each.contract for _, each in ending}, place)
        writers = [each for each in writers if each.application != side.application]
        given_up -= {each.contract for one in writers for each in one.offerings}
        ended = ended_offerings(ending, writers)
        declaring = readers_of(ended, [each for each in readings if each.contract in offered], replaced)
        seeing = [(each.expectation.name, each) for consumer in await seen(ended) for each in consumer.readings]
        return [
            *(no_longer_offered(side, each) for each in readings if each.contract in given_up),
            *(no_longer_offered(side, each, subject=subject) for subject, each in (*declaring, *seeing)),
        ]

    def _pairs(self, side: Side, replaced: Sequence[Side], consumer: Side, *, is_live: bool) -> list[Pair]:
        """Return the pairs of a producer's version with what a consumer reads of it.

        What was offered before has the same subject, or the same name in the contract: a new major version may have
        another topic. It does not matter to those who read the new major version already.
        """
        pairs = []
        for reading in consumer.readings:
            for offered in reading.chosen(side.offered(reading.contract)):
                earlier = [
                    each
                    for one in replaced
                    for each in reading.chosen(one.offered(reading.contract))
                    if each.major in {offered.major, reading.major}
                    and (each.subject == offered.subject or each.promise.name == offered.promise.name)
                ]
                pairs.append(_pair(offered, reading, self._sides.judged(earlier, offered, reading), is_live=is_live))
        return pairs

    async def _as_consumer(
        self, side: Side, replaced: Sequence[Side], place: Place, ignored: Sequence[str]
    ) -> tuple[list[Pair], list[VerdictReason]]:
        """Return the pairs with those whose records the version reads, and the contracts that nobody offers."""
        contracts = {each.contract for each in side.readings}
        found = await self._counterparts.writers(contracts, place)
        writers = [each for each in found if each.application not in ignored]
        pairs: list[Pair] = []
        missing: list[VerdictReason] = []
        for reading in side.readings:
            offering = [each for each in writers if each.offered(reading.contract) and not each.is_same(side)]
            if not offering and not side.offered(reading.contract):
                missing.append(_not_offered(reading, place))
            earlier = [each for one in replaced for each in one.readings if each.contract == reading.contract]
            for writer in offering:
                for offered in reading.chosen(writer.offered(reading.contract)):
                    findings = await self._since(offered, reading, earlier, place)
                    pairs.append(_pair(offered, reading, findings, is_by_consumer=True))
        return pairs, missing

    async def _since(
        self, offered: Offering, reading: Reading, earlier: Sequence[Reading], place: Place
    ) -> tuple[ReadFinding, ...]:
        """Return the findings, marked where a live version of the same consumer has them already."""
        found, *before = await self._found([(offered, each) for each in (reading, *earlier)], place)
        return since(found, chain.from_iterable(before))

    async def _found(self, pairs: Sequence[tuple[Offering, Reading]], place: Place) -> list[tuple[ReadFinding, ...]]:
        """Return for each pair why the consumer cannot read what is written now, or what is still in the topic."""
        retained = await self._retained.findings(pairs, place.environment)
        found = []
        for (offered, reading), older in zip(pairs, retained, strict=True):
            now = self._sides.judged((), offered, reading)
            known = {each.identity for each in now}
            found.append((*now, *(each for each in older if each.identity not in known)))
        return found

    # --- can-i-retire

    async def can_retire(self, contract: str, major: str, environment: str) -> DeploymentVerdict:
        """Return whether a major version of a contract may be retired: no live consumer reads it.

        The converter of a migration does not count, and its bridge must have been cut over.

        Raises ``EnvironmentNotFound``.
        """
        await self._records.environment(environment)
        major = major_of(major)
        if not any(
            kind == ContractKind.ODCS and major_of(version) == major
            for _, kind, version in await self._records.contract_keys(contract)
        ):
            text = f"contract {contract} has no version {major} that was published"
            return _only(VerdictReason(Reason.NO_CONTRACT, text, contract=contract))
        readers = await self._counterparts.readers([contract], Place(environment))
        runners, unfinished = await self._migrations.unfinished(contract, major)
        reasons = [
            VerdictReason(
                Reason.STILL_READ,
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
        return verdict_of([], reasons, none=f"nobody who is live in {environment} reads {contract} {major}")

    async def _seen_reading(self, contract: str, major: str, environment: str) -> list[VerdictReason]:
        """Return a reason for each active reader of the subjects that only this major version is about."""
        offered = [
            each
            for one in await self._counterparts.writers([contract], Place(environment))
            for each in one.offered(contract)
        ]
        others = {each.subject for each in offered if each.major != major}
        return [
            VerdictReason(
                Reason.STILL_READ,
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
            own = await self._counterparts.of_application(application, Place(environment))
            contracts = sorted({each for side in own for each in _contracts_of(side)})
        found = [
            each
            for each in await self._live_pairs(contracts, Place(environment))
            if application in {None, each.producer, each.consumer} and (subject is None or each.subject == str(subject))
        ]
        pairs, hindrances = await self._migrations.bridged(found, environment)
        none = f"no producer and consumer of it are live in {environment}"
        return await self._decisions.verdict(pairs, hindrances, none=none)

    async def of_contract(self, contract: str, environment: str | None = None) -> DeploymentVerdict:
        """Return the verdict on all pairs of a contract: those live in an environment, or the newest versions.

        Raises ``EnvironmentNotFound`` and ``ContractNotFound``.
        """
        if environment is not None:
            await self._records.environment(environment)
        if not await self._records.contract_keys(contract):
            raise ContractNotFound(f"There is no contract {contract[:_SHOWN]!r}")
        found = await self._live_pairs([contract], Place(environment))
        if found:
            pairs, hindrances = await self._migrations.bridged(found, environment)
            return await self._decisions.verdict(pairs, hindrances, none="")
        return _only(VerdictReason(Reason.NO_CONTRACT, f"no producer and consumer of {contract} are known there"))

    async def _live_pairs(self, contracts: Sequence[str], place: Place) -> list[Pair]:
        """Return all pairs of a producer and a consumer of some contracts that count."""
        writers = await self._counterparts.writers(contracts, place)
        readers = await self._counterparts.readers(contracts, place)
        met = [
            (offered, reading)
            for writer in writers
            for side in readers.live
            for reading in side.readings
            for offered in reading.chosen(writer.offered(reading.contract))
        ]
        findings = await self._found(met, place)
        return [_pair(*each, found) for each, found in zip(met, findings, strict=True)]


def _only(reason: VerdictReason) -> DeploymentVerdict:
    return verdict_of([], [reason], none="")


def _days(environment: Environment, given: int | None) -> int | None:
    """Return the greatest age of verifications: the smaller of what the environment and the request demand."""
    return min((each for each in (environment.verified_within_days, given) if each is not None), default=None)


def _contracts_of(side: Side) -> set[str]:
    return {each.contract for each in side.offerings} | {each.contract for each in side.readings}


def _not_offered(reading: Reading, place: Place) -> VerdictReason:
    return VerdictReason(
        Reason.NO_CONTRACT,
        f"{place.nobody} offers {reading.contract}, which {reading.application} {reading.version} reads",
        contract=reading.contract,
        consumer=reading.application,
        consumer_version=reading.version,
    )


def _pair(
    offered: Offering,
    reading: Reading,
    findings: tuple[ReadFinding, ...],
    *,
    is_live: bool = True,
    is_by_consumer: bool = False,
) -> Pair:
    return Pair(
        reading.contract,
        offered.subject,
        offered.application,
        offered.version,
        reading.application,
        reading.version,
        findings,
        is_live,
        reading.product,
        is_by_consumer,
        offered.major,
        reading.major,
    )
