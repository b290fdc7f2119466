"""The pairs of producers and consumers that a verdict is about, each with the findings against it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from counterfoil.registry.domain.contracts.verdict import Pair, since
from counterfoil.registry.service.contracts.verdicts.ended import (
    ended_offerings,
    live_offerings,
    no_longer_offered,
    readers_of,
)
from counterfoil.registry.service.contracts.verdicts.sides import consumer_groups_of
from counterfoil.schema.rest.verdicts import Reason, VerdictReason

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Container, Iterable, Mapping, Sequence

    from counterfoil.registry.service.contracts.migrations import Migrations
    from counterfoil.registry.service.contracts.records import Numbered
    from counterfoil.registry.service.contracts.verdicts.counterparts import Counterparts, Named, Place
    from counterfoil.registry.service.contracts.verdicts.retained import RetainedVersions
    from counterfoil.registry.service.contracts.verdicts.sides import Offering, Reading, Side, Sides
    from counterfoil.schema.reads.model import ReadFinding

Major = tuple[str, str]
"""The id of a contract, and one of its major versions."""

_AT_ONCE = 32


class Judging:
    """Finds the pairs of a version, or of all live versions, and judges them."""

    def __init__(
        self, *, sides: Sides, counterparts: Counterparts, migrations: Migrations, retained: RetainedVersions
    ) -> None:
        self._sides = sides
        self._counterparts = counterparts
        self._migrations = migrations
        self._retained = retained

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
        pairs = await self._own_pairs(side, replaced, place, ignored)
        before = [*replaced, *await self._others_writing(side, replaced, place, ignored)]
        for number, consumer in enumerate(others):
            pairs += self._pairs(side, before, consumer, is_live=True)
            if number % _AT_ONCE == 0:
                await asyncio.sleep(0)  # there may be a thousand
        for consumer in readers.pending:
            if not consumer.is_same(side) and consumer.application not in ignored:
                pairs += self._pairs(side, before, consumer, is_live=False)
        declared = {(each.application, each.contract) for one in others for each in one.readings}
        groups = consumer_groups_of((*readers.live, *readers.pending))
        left_out = {*ignored, *groups, side.application}
        seen = partial(self._counterparts.observed, place=place, left_out=left_out, declared=declared)
        going_on, ending = live_offerings(side, replaced)
        for consumer in await seen(going_on):
            pairs += self._pairs(side, before, consumer, is_live=True)
        readings = [each for consumer in others for each in consumer.readings]
        return pairs, await self._no_longer_offered(side, replaced, place, readings, ending=ending, seen=seen)

    async def _others_writing(
        self, side: Side, replaced: Sequence[Side], place: Place, ignored: Sequence[str]
    ) -> list[Side]:
        """Return what other applications write of those subjects that the version writes as the first of its own.

        Consumers read these records now, so that those of the version must not be worse.
        """
        known = {(each.contract, each.subject) for one in replaced for each in one.offerings}
        known |= {(each.contract, each.promise.name) for one in replaced for each in one.offerings}
        new = [
            each
            for each in side.offerings
            if not {(each.contract, each.subject), (each.contract, each.promise.name)} & known
        ]
        if not new:
            return []
        subjects = {(each.contract, each.subject) for each in new}
        return [
            replace(each, offerings=tuple(one for one in each.offerings if (one.contract, one.subject) in subjects))
            for each in await self._counterparts.writers({each.contract for each in new}, place)
            if each.application not in {side.application, *ignored}
        ]

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
                earlier = _before(offered, reading, replaced)
                pairs.append(_pair(offered, reading, self._sides.judged(earlier, offered, reading), is_live=is_live))
        return pairs

    async def _own_pairs(
        self, side: Side, replaced: Sequence[Side], place: Place, ignored: Sequence[str]
    ) -> list[Pair]:
        """Return the pairs of a version with itself, if it reads what it writes.

        If it reads old records again, those of earlier versions of the schema that the topic still has are among them.
        Where another version of the application is live, they are judged in the pair with that one.
        """
        versions = [] if side.application in ignored else [each for each in replaced if not each.is_same(side)]
        judged_there = {(each.contract, each.subject) for one in versions for each in one.offerings}
        pairs = []
        for reading in side.readings:
            before = [(one, each) for one in replaced for each in one.readings if each.contract == reading.contract]
            for offered in reading.chosen(side.offered(reading.contract)):
                findings = self._own_findings(offered, reading, replaced, before)
                if (offered.contract, offered.subject) not in judged_there:
                    met = [(offered, one.own(each, offered.subject)) for one, each in ((side, reading), *before)]
                    older, *known = await self._retained.findings(met, place.environment)
                    findings = _united(findings, since(older, chain.from_iterable(known)))
                pairs.append(_pair(offered, reading, findings))
        return pairs

    def _own_findings(
        self, offered: Offering, reading: Reading, replaced: Sequence[Side], before: Iterable[tuple[Side, Reading]]
    ) -> tuple[ReadFinding, ...]:
        """Return why a version does not read what it writes; what it had before is what it had of its own records."""
        known = {
            each.identity
            for one, earlier in before
            for written in earlier.chosen(one.offered(reading.contract))
            for each in self._sides.judged((), written, earlier)
        }
        found = self._sides.judged(_before(offered, reading, replaced), offered, reading)
        return tuple(replace(each, is_preexisting=each.is_preexisting and each.identity in known) for each in found)

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
            earlier = [(one, each) for one in replaced for each in one.readings if each.contract == reading.contract]
            for writer in offering:
                is_own = writer.application == side.application
                for offered in reading.chosen(writer.offered(reading.contract)):
                    now, *before = (
                        one.own(each, offered.subject) if is_own else each for one, each in ((side, reading), *earlier)
                    )
                    findings = await self._since(offered, now, before, place)
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
            found.append(_united(self._sides.judged((), offered, reading), older))
        return found

    async def live_pairs(self, contracts: Sequence[str], place: Place) -> list[Pair]:
        """Return all pairs of a producer and a consumer of some contracts that count."""
        writers = await self._counterparts.writers(contracts, place)
        readers = await self._counterparts.readers(contracts, place)
        own = {(each.application, each.version): each for each in writers}
        met = [
            (offered, _as_own(reading, offered, own))
            for writer in writers
            for side in readers.live
            for reading in side.readings
            for offered in reading.chosen(writer.offered(reading.contract))
        ]
        findings = await self._found(met, place)
        return [_pair(*each, found) for each, found in zip(met, findings, strict=True)]


def _before(offered: Offering, reading: Reading, replaced: Sequence[Side]) -> list[Offering]:
    """Return what versions that are live now offer in the place of ``offered`` to who reads it."""
    return [
        each
        for one in replaced
        for each in reading.chosen(one.offered(reading.contract))
        if each.major in {offered.major, reading.major}
        and (each.subject == offered.subject or each.promise.name == offered.promise.name)
    ]


def _united(findings: tuple[ReadFinding, ...], older: Iterable[ReadFinding]) -> tuple[ReadFinding, ...]:
    """Return findings about what is written now, with those about older records that say something else."""
    known = {each.identity for each in findings}
    return (*findings, *(each for each in older if each.identity not in known))


def _as_own(reading: Reading, offered: Offering, writers: Mapping[Numbered, Side]) -> Reading:
    """Return a reading with the schema of what its version writes, if it reads records of its own application."""
    writer = writers.get((reading.application, reading.version))
    is_own = writer is not None and reading.application == offered.application
    return writer.own(reading, offered.subject) if writer is not None and is_own else reading


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
