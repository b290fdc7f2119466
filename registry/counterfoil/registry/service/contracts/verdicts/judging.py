"""The pairs of producers and consumers that a verdict is about: all sides are read first, and then judged."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from counterfoil.registry.service.contracts.verdicts.deciding import PairJudge
from counterfoil.registry.service.contracts.verdicts.ended import (
    ended_offerings,
    live_offerings,
    no_longer_offered,
    readers_of,
)
from counterfoil.schema.reads.pairing import (
    Gathered,
    consumer_pairs,
    live_pairs,
    own_pairs,
    producer_pairs,
)
from counterfoil.schema.reads.sides import consumer_groups_of
from counterfoil.schema.rest.verdicts import Reason, VerdictReason

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Container, Iterable, Iterator, Sequence

    from counterfoil.registry.service.contracts.migrations import Migrations
    from counterfoil.registry.service.contracts.verdicts.counterparts import Counterparts, Named, Place
    from counterfoil.registry.service.contracts.verdicts.known_writers import Major, MetWriters
    from counterfoil.registry.service.contracts.verdicts.retained import RetainedVersions
    from counterfoil.registry.service.contracts.verdicts.sides import Sides
    from counterfoil.registry.service.judging import LongJudgements
    from counterfoil.schema.reads.pairing import Pair
    from counterfoil.schema.reads.retained import RetainedRecords
    from counterfoil.schema.reads.sides import Judge, Reading, Side


class Judging:
    """Finds the pairs of a version, or of all live versions, and judges them."""

    def __init__(
        self,
        *,
        sides: Sides,
        counterparts: Counterparts,
        migrations: Migrations,
        retained: RetainedVersions,
        met: MetWriters,
        long: LongJudgements,
    ) -> None:
        self._long = long
        self._sides = sides
        self._counterparts = counterparts
        self._migrations = migrations
        self._retained = retained
        self._met = met

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
        question, missing = await self._gathered(side, replaced, place, ignored)

        def as_producer(judge: Judge) -> Iterator[Pair]:
            yield from own_pairs(question, judge)
            for consumer in question.readers:
                yield from producer_pairs(question, consumer, judge, is_live=True)
            for consumer in question.pending:
                yield from producer_pairs(question, consumer, judge, is_live=False)

        judge = PairJudge(self._sides, self._long)
        offered = [each for each in await judge.find(as_producer) if (each.contract, each.consumer_major) not in unread]
        found = [*offered, *await judge.find(partial(consumer_pairs, question))]
        pairs, hindrances = await self._migrations.bridged(found, place.environment)
        return pairs, [*hindrances, *missing]

    # --- all sides of a question

    async def _gathered(
        self, side: Side, replaced: Sequence[Side], place: Place, ignored: Sequence[str]
    ) -> tuple[Gathered, list[VerdictReason]]:
        """Return all sides, and what nobody offers any more: to the version's consumers, or to itself."""
        contracts = {each.contract for one in (side, *replaced) for each in one.offerings}
        readers = await self._counterparts.readers(contracts, place)
        others = [each for each in readers.live if not each.is_same(side) and each.application not in ignored]
        pending = [each for each in readers.pending if not each.is_same(side) and each.application not in ignored]
        before = [*replaced, *await self._others_writing(side, replaced, place, ignored)] if contracts else []
        declared = {(each.application, each.contract) for one in others for each in one.readings}
        left_out = {*ignored, *consumer_groups_of((*readers.live, *readers.pending)), side.application}
        seen = partial(self._counterparts.observed, place=place, left_out=left_out, declared=declared)
        going_on, ending = live_offerings(side, replaced)
        observed = await seen(going_on)
        readings = [each for consumer in others for each in consumer.readings]
        gone = await self._no_longer_offered(side, replaced, place, readings, ending=ending, seen=seen)
        writers = [
            each
            for each in await self._counterparts.writers({each.contract for each in side.readings}, place)
            if each.application not in ignored
        ]
        known = await self._met.known(place, [*others, *pending, *observed, side, *replaced], [side])
        retained = await self._records_of(side, replaced, writers, place)
        beside = [each for each in replaced if not each.is_same(side) and each.application not in ignored]
        question = Gathered(side, replaced, beside, before, [*others, *observed], pending, writers, known, retained)
        return question, [*gone, *_not_offered(question, place)]

    async def _records_of(
        self, side: Side, replaced: Sequence[Side], writers: Sequence[Side], place: Place
    ) -> RetainedRecords:
        """Return the records that the topics still have which the version reads again."""
        again = {each.contract for one in (side, *replaced) for each in one.readings if each.reads_again}
        offered = [each for one in (side, *writers) for each in one.offerings if each.contract in again]
        return await self._retained.records(offered, place.environment)

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
            each.only(subjects)
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

    # --- all live versions

    async def live_pairs(self, contracts: Sequence[str], place: Place) -> list[Pair]:
        """Return all pairs of a producer and a consumer of some contracts that count."""
        writers = await self._counterparts.writers(contracts, place)
        readers = (await self._counterparts.readers(contracts, place)).live
        again = {each.contract for one in readers for each in one.readings if each.reads_again}
        offered = [each for one in writers for each in one.offerings if each.contract in again]
        retained = await self._retained.records(offered, place.environment)
        known = await self._met.known(place, readers)
        return await PairJudge(self._sides, self._long).find(partial(live_pairs, writers, readers, known, retained))


def _not_offered(question: Gathered, place: Place) -> Iterable[VerdictReason]:
    """Yield the contracts that the version reads, and nobody offers."""
    side = question.side
    for reading in side.readings:
        offering = (each for each in question.writers if each.offered(reading.contract) and not each.is_same(side))
        if not any(offering) and not side.offered(reading.contract):
            yield VerdictReason(
                Reason.NO_CONTRACT,
                f"{place.nobody} offers {reading.contract}, which {reading.application} {reading.version} reads",
                contract=reading.contract,
                consumer=reading.application,
                consumer_version=reading.version,
            )
