"""Verdicts: may a version be deployed, may a contract be retired, which pairs are live. Computed when requested.

A request reads the contracts of the version in question, the applications that offer or read them, and what of these is
live in the environment: never all versions, nor all applications.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from counterfoil.registry.domain.contracts.stored import VERSIONS
from counterfoil.registry.domain.contracts.verdict import Pair, since, verdict_of
from counterfoil.schema.errors import BadRequest
from counterfoil.schema.paths import print_path
from counterfoil.schema.rest.contracts import ContractKind
from counterfoil.schema.rest.verdicts import Consumer, DeploymentVerdict, FieldUse, Reason, VerdictReason

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from counterfoil.registry.service.contracts.records import ContractRecords
    from counterfoil.registry.service.contracts.sides import Offering, Reading, Side, Sides
    from counterfoil.schema.contexts import QualifiedSubject
    from counterfoil.schema.reads.model import ReadFinding
    from counterfoil.schema.rest.contracts import ApplicationVersion

_WHOLE_RECORD = "*"


@dataclass(frozen=True, slots=True)
class Readers:
    """Those who read some contracts: the versions that are live, and the newest ones that are not."""

    live: tuple[Side, ...]
    pending: tuple[Side, ...]


class Verdicts:
    """The use cases of verdicts."""

    def __init__(self, *, records: ContractRecords, sides: Sides) -> None:
        self._records = records
        self._sides = sides

    # --- who is there

    async def writers(self, contracts: Iterable[str], environment: str | None) -> list[Side]:
        """Return the versions that are live in an environment and offer one of some contracts.

        Without an environment it is the newest version of each application.
        """
        wanted = sorted(set(contracts))
        live, _ = await self._versions(ContractKind.ODCS, wanted, environment)
        return [each for each in await self._sides.sides(live, contracts=wanted) if each.offerings]

    async def readers(self, contracts: Iterable[str], environment: str | None) -> Readers:
        """Return the versions that read one of some contracts.

        Without an environment, the newest version of each application counts as live.
        """
        wanted = sorted(set(contracts))
        live, others = await self._versions(ContractKind.ODPS, wanted, environment)
        reading = await self._sides.sides([*live, *others], contracts=wanted)
        return Readers(
            tuple(each for each in reading[: len(live)] if each.readings),
            tuple(each for each in reading[len(live) :] if each.readings),
        )

    async def _versions(
        self, kind: ContractKind, contracts: Sequence[str], environment: str | None
    ) -> tuple[list[ApplicationVersion], list[ApplicationVersion]]:
        """Return the live versions of the applications that offer or read contracts, and the newest of the others."""
        found = await asyncio.gather(*(self._records.parties(kind, each) for each in contracts))
        newest = {(each.application, each.newest) for part in found for each in part}
        if environment is None:
            return await self._records.versions(sorted(newest)), []
        live = await self._records.live(environment, (application for application, _ in newest))
        return live, await self._records.versions(sorted(newest - {(each.application, each.version) for each in live}))

    async def live_sides(self, application: str, environment: str | None) -> list[Side]:
        """Return what the live versions of an application offer and read; without an environment there are none."""
        live = [] if environment is None else await self._records.live(environment, [application])
        return [await self._sides.side(each) for each in live]

    # --- can-i-deploy

    async def can_deploy(
        self, application: str, version: str, environment: str, *, ignored: Sequence[str] = ()
    ) -> DeploymentVerdict:
        """Return whether a version may be deployed; other applications in ``ignored`` do not count.

        Raises ``EnvironmentNotFound``.
        """
        await self._records.environment(environment)
        found = (await self._records.find(VERSIONS, (application, version))).value
        if found is None:
            text = f"{application} {version} is unknown; publish its contracts first"
            return _only(VerdictReason(Reason.UNKNOWN_VERSION, text))
        if not found.contracts:
            text = f"{application} {version} has published no contract"
            return _only(VerdictReason(Reason.NO_CONTRACT, text))
        side = await self._sides.side(found)
        replaced = await self.live_sides(application, environment)
        pairs, reasons = await self.judge_side(side, replaced, environment, ignored=ignored)
        none = f"nobody who is live in {environment} reads what {application} {version} writes"
        return verdict_of(pairs, reasons, none=none)

    async def judge_side(
        self, side: Side, replaced: Sequence[Side], environment: str | None, *, ignored: Sequence[str] = ()
    ) -> tuple[list[Pair], list[VerdictReason]]:
        """Return the pairs of a version, on either side, and what is missing; ``replaced`` is what is live now."""
        as_producer, gone = await self._as_producer(side, replaced, environment, ignored)
        as_consumer, missing = await self._as_consumer(side, replaced, environment, ignored)
        return [*as_producer, *as_consumer], [*gone, *missing]

    async def _as_producer(
        self, side: Side, replaced: Sequence[Side], environment: str | None, ignored: Sequence[str]
    ) -> tuple[list[Pair], list[VerdictReason]]:
        """Return the pairs with those who read the version's records, and what it no longer offers to them."""
        offered = {each.contract for each in side.offerings}
        contracts = offered | {each.contract for one in replaced for each in one.offerings}
        if not contracts:
            return [], []
        readers = await self.readers(contracts, environment)
        others = [each for each in readers.live if not each.is_same(side) and each.application not in ignored]
        pairs: list[Pair] = []
        for consumer in (side, *others):
            pairs += self._pairs(side, replaced, consumer, is_live=True)
            await asyncio.sleep(0)  # there may be a thousand
        for consumer in readers.pending:
            if not consumer.is_same(side) and consumer.application not in ignored:
                pairs += self._pairs(side, replaced, consumer, is_live=False)
        left = [each for consumer in others for each in consumer.readings if each.contract not in offered]
        return pairs, await self._no_longer_offered(side, left, environment)

    def _pairs(self, side: Side, replaced: Sequence[Side], consumer: Side, *, is_live: bool) -> list[Pair]:
        """Return the pairs of a producer's version with what a consumer reads of it."""
        pairs = []
        for reading in consumer.readings:
            for offered in reading.chosen(side.offered(reading.contract)):
                earlier = [
                    each
                    for one in replaced
                    for each in reading.chosen(one.offered(reading.contract))
                    if each.subject == offered.subject
                ]
                pairs.append(_pair(offered, reading, self._sides.judged(earlier, offered, reading), is_live=is_live))
        return pairs

    async def _no_longer_offered(
        self, side: Side, readings: Sequence[Reading], environment: str | None
    ) -> list[VerdictReason]:
        """Return a reason for each reading of a contract that no live version would offer after the deployment."""
        writers = await self.writers({each.contract for each in readings}, environment) if readings else []
        offered = {each.contract for one in writers if one.application != side.application for each in one.offerings}
        return [
            VerdictReason(
                Reason.NO_CONTRACT,
                f"{side.application} {side.version} no longer offers {reading.contract}, "
                f"which {reading.application} {reading.version} reads",
                contract=reading.contract,
                producer=side.application,
                producer_version=side.version,
                consumer=reading.application,
                consumer_version=reading.version,
            )
            for reading in readings
            if reading.contract not in offered
        ]

    async def _as_consumer(
        self, side: Side, replaced: Sequence[Side], environment: str | None, ignored: Sequence[str]
    ) -> tuple[list[Pair], list[VerdictReason]]:
        """Return the pairs with those whose records the version reads, and the contracts that nobody offers."""
        contracts = {each.contract for each in side.readings}
        writers = [each for each in await self.writers(contracts, environment) if each.application not in ignored]
        pairs: list[Pair] = []
        missing: list[VerdictReason] = []
        for reading in side.readings:
            offering = [each for each in writers if each.offered(reading.contract) and not each.is_same(side)]
            if not offering and not side.offered(reading.contract):
                missing.append(_not_offered(reading, environment))
            earlier = [each for one in replaced for each in one.readings if each.contract == reading.contract]
            for writer in offering:
                pairs += [
                    _pair(offered, reading, self._since(offered, reading, earlier))
                    for offered in reading.chosen(writer.offered(reading.contract))
                ]
        return pairs, missing

    def _since(self, offered: Offering, reading: Reading, earlier: Sequence[Reading]) -> tuple[ReadFinding, ...]:
        """Return the findings, marked where a live version of the same consumer has them already."""
        found = self._sides.judged((), offered, reading)
        before = [finding for each in earlier for finding in self._sides.judged((), offered, each)]
        return since(found, before)

    # --- can-i-retire

    async def can_retire(self, contract: str, major: str, environment: str) -> DeploymentVerdict:
        """Return whether a major version of a contract may be retired: no live consumer reads it.

        Raises ``EnvironmentNotFound``.
        """
        await self._records.environment(environment)
        if not any(
            kind == ContractKind.ODCS and version.partition(".")[0] == major
            for _, kind, version in await self._records.contract_keys(contract)
        ):
            text = f"contract {contract} has no version {major} that was published"
            return _only(VerdictReason(Reason.NO_CONTRACT, text, contract=contract))
        readers = await self.readers([contract], environment)
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
            if reading.major == major
        ]
        return verdict_of([], reasons, none=f"nobody who is live in {environment} reads {contract} {major}")

    # --- matrix, consumers, fields

    async def matrix(
        self, environment: str, *, subject: QualifiedSubject | None = None, application: str | None = None
    ) -> DeploymentVerdict:
        """Return all pairs that are live in an environment: of a subject, or with an application on one side."""
        await self._records.environment(environment)
        if (subject is None) == (application is None):
            raise BadRequest("The matrix needs either subject or application")
        contracts = await self._records.contracts_of(subject) if subject is not None else []
        if application is not None:
            own = await self.live_sides(application, environment)
            contracts = sorted({each for side in own for each in _contracts_of(side)})
        writers = await self.writers(contracts, environment)
        readers = await self.readers(contracts, environment)
        pairs = [
            _pair(offered, reading, self._sides.judged((), offered, reading))
            for writer in writers
            for side in readers.live
            for reading in side.readings
            for offered in reading.chosen(writer.offered(reading.contract))
            if application in {None, writer.application, side.application}
            and (subject is None or offered.subject == str(subject))
        ]
        return verdict_of(pairs, none=f"no producer and consumer of it are live in {environment}")

    async def consumers(self, subject: QualifiedSubject, environment: str | None = None) -> list[Consumer]:
        """Return who reads a subject: live versions with their environments, and the newest ones that are not live."""
        contracts = await self._records.contracts_of(subject)
        names = [environment] if environment is not None else await self._records.environment_names()
        live = {name: (await self.readers(contracts, name)).live for name in names}
        newest = () if environment is not None else (await self.readers(contracts, None)).live
        places: dict[tuple[str, str, str], tuple[Reading, list[str]]] = {}
        for name, sides in [*live.items(), ("", newest)]:
            for reading in (each for side in sides for each in side.readings):
                key = (reading.application, reading.version, reading.contract)
                _, live_in = places.setdefault(key, (reading, []))
                live_in += [name] if name else []
        return [_consumer(*places[key]) for key in sorted(places)]

    async def fields(self, subject: QualifiedSubject, environment: str | None = None) -> list[FieldUse]:
        """Return the paths of a subject that are read, each with those who read it."""
        by_path: dict[str, list[Consumer]] = {}
        for consumer in await self.consumers(subject, environment):
            for path in consumer.reads:
                by_path.setdefault(path, []).append(consumer)
        return [FieldUse(path, tuple(by_path[path])) for path in sorted(by_path)]


def _only(reason: VerdictReason) -> DeploymentVerdict:
    return verdict_of([], [reason], none="")


def _contracts_of(side: Side) -> set[str]:
    return {each.contract for each in side.offerings} | {each.contract for each in side.readings}


def _not_offered(reading: Reading, environment: str | None) -> VerdictReason:
    nobody = "nobody" if environment is None else f"nobody who is live in {environment}"
    return VerdictReason(
        Reason.NO_CONTRACT,
        f"{nobody} offers {reading.contract}, which {reading.application} {reading.version} reads",
        contract=reading.contract,
        consumer=reading.application,
        consumer_version=reading.version,
    )


def _pair(offered: Offering, reading: Reading, findings: tuple[ReadFinding, ...], *, is_live: bool = True) -> Pair:
    return Pair(
        reading.contract,
        offered.subject,
        offered.application,
        offered.version,
        reading.application,
        reading.version,
        findings,
        is_live,
    )


def _consumer(reading: Reading, environments: Sequence[str]) -> Consumer:
    reads = reading.expectation.reads
    paths = (_WHOLE_RECORD,) if reads is None else tuple(print_path(each.path) for each in reads)
    origin = reading.reader.origin.name.lower()
    return Consumer(reading.application, reading.version, reading.contract, paths, origin, tuple(environments))
