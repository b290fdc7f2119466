"""The judged pairs of producers and consumers of a question, and what decides besides: approvals, verifications."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from counterfoil.registry.changes.as_of import iso_time
from counterfoil.registry.contracts.records import APPROVALS, VERIFICATIONS, verification_key
from counterfoil.registry.contracts.usage import DAY_MS
from counterfoil.registry.contracts.verdicts.counterparts import (
    ended_offerings,
    live_offerings,
    no_longer_offered,
    readers_of,
)
from counterfoil.registry.contracts.verdicts.verdict import (
    BLOCKING,
    break_in,
    breaks_of,
    verdict_of,
    with_approvals,
    with_ignored,
)
from counterfoil.schema.agreements.pairs import Gathered, consumer_pairs, live_pairs, own_pairs, producer_pairs
from counterfoil.schema.agreements.readers import judge_pair, judge_pairs
from counterfoil.schema.agreements.sides import consumer_groups_of, pair_key
from counterfoil.schema.model import SchemaType
from counterfoil.schema.rest.verdicts import ReasonCode, VerdictReason

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Container, Iterable, Iterator, Sequence

    from counterfoil.registry.contracts.approvals import Migrations
    from counterfoil.registry.contracts.records import ContractRecords
    from counterfoil.registry.contracts.verdicts.counterparts import Counterparts, Named, RetainedVersions, VersionPlace
    from counterfoil.registry.contracts.verdicts.known_writers import Major, MetWriters
    from counterfoil.registry.contracts.verdicts.sides import Sides
    from counterfoil.registry.judges.judging import LongJudgements
    from counterfoil.schema.agreements.findings import ReadFinding
    from counterfoil.schema.agreements.pairs import Pair
    from counterfoil.schema.agreements.sides import ConsumerReading, Judge, Offering, PairKey, RetainedRecords, Side
    from counterfoil.schema.rest.observations import Verification
    from counterfoil.schema.rest.verdicts import DeploymentVerdict


# The judgements of the pairs of one question: quick ones at once, and the others beside the event loop.

_T = TypeVar("_T")

_FOUND_AT_ONCE: Final = 32
_JUDGED_AT_ONCE: Final = 16
_QUICK_CHARS: Final = 4_000
"""The characters of the schemas of a pair that is judged in a few milliseconds; JSON Schema has a solver instead."""


class PairJudge:
    """Judges the pairs of one question.

    The pairs are made anew once those that take long have been judged beside the event loop.
    """

    def __init__(self, sides: Sides, long: LongJudgements) -> None:
        self._sides = sides
        self._long = long
        self._found: dict[PairKey, tuple[ReadFinding, ...]] = {}
        self._missing: dict[PairKey, tuple[Sequence[Offering], Offering, ConsumerReading]] = {}

    async def find(self, pairs: Callable[[Judge], Iterable[_T]]) -> list[_T]:
        """Return the results of ``pairs``, made with the findings about each pair that it needs."""
        while True:
            found: list[_T] = []
            for number, each in enumerate(pairs(self._judged)):
                found.append(each)
                if number % _FOUND_AT_ONCE == 0:
                    await asyncio.sleep(0)  # there may be a thousand
            if not self._missing:
                return found
            await self._judge_missing()

    def _judged(
        self, known: Sequence[Offering], offered: Offering, reading: ConsumerReading
    ) -> tuple[ReadFinding, ...]:
        """Return the findings about a pair; none for now if it is judged later.

        ``known`` are the offerings that the reader was built for.
        """
        key = pair_key(known, offered, reading)
        found = self._found.get(key)
        if found is None:
            found = self._sides.known_findings(key)
        if found is not None:
            return found
        if not _is_quick(known, offered, reading):
            self._missing[key] = known, offered, reading
            return ()
        found = judge_pair([each.offer for each in known], offered.offer, reading.reader)
        self._keep(key, found)
        return found

    async def _judge_missing(self) -> None:
        missing, self._missing = self._missing, {}
        waiting = list(missing.items())
        for begin in range(0, len(waiting), _JUDGED_AT_ONCE):
            some = waiting[begin : begin + _JUDGED_AT_ONCE]
            asked = [
                ([each.offer for each in known], offered.offer, reading.reader) for _, (known, offered, reading) in some
            ]
            for (key, _), found in zip(some, await self._long.run(judge_pairs, asked), strict=True):
                self._keep(key, found)

    def _keep(self, key: PairKey, found: tuple[ReadFinding, ...]) -> None:
        """Keep findings for this question, and for others as long as there is room."""
        self._found[key] = found
        self._sides.keep_findings(key, found)


def _is_quick(known: Sequence[Offering], offered: Offering, reading: ConsumerReading) -> bool:
    """Return whether a pair is judged in a few milliseconds."""
    offers = [each.offer for each in (*known, offered)]
    schemas = [one for each in offers for one in (each.schema, each.key_schema) if one is not None]
    if reading.reader.schema is not None:
        schemas.append(reading.reader.schema)
    if any(each.schema_type is SchemaType.JSON for each in schemas):
        return False
    return sum(len(each.text) + each.referenced_chars for each in schemas) <= _QUICK_CHARS


# The pairs of producers and consumers that a verdict is about: all sides are read first, and then judged.


class PairJudging:
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
        place: VersionPlace,
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
        self, side: Side, replaced: Sequence[Side], place: VersionPlace, ignored: Sequence[str]
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
        self, side: Side, replaced: Sequence[Side], writers: Sequence[Side], place: VersionPlace
    ) -> RetainedRecords:
        """Return the records that the topics still have which the version reads again."""
        again = {each.contract for one in (side, *replaced) for each in one.readings if each.reads_again}
        offered = [each for one in (side, *writers) for each in one.offerings if each.contract in again]
        return await self._retained.records(offered, place.environment)

    async def _others_writing(
        self, side: Side, replaced: Sequence[Side], place: VersionPlace, ignored: Sequence[str]
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
        place: VersionPlace,
        readings: Sequence[ConsumerReading],
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

    async def live_pairs(self, contracts: Sequence[str], place: VersionPlace) -> list[Pair]:
        """Return all pairs of a producer and a consumer of some contracts that count."""
        writers = await self._counterparts.writers(contracts, place)
        readers = (await self._counterparts.readers(contracts, place)).live
        again = {each.contract for one in readers for each in one.readings if each.reads_again}
        offered = [each for one in writers for each in one.offerings if each.contract in again]
        retained = await self._retained.records(offered, place.environment)
        known = await self._met.known(place, readers)
        return await PairJudge(self._sides, self._long).find(partial(live_pairs, writers, readers, known, retained))


def _not_offered(question: Gathered, place: VersionPlace) -> Iterable[VerdictReason]:
    """Yield the contracts that the version reads, and nobody offers."""
    side = question.side
    for reading in side.readings:
        offering = (each for each in question.writers if each.offered(reading.contract) and not each.is_same(side))
        if not any(offering) and not side.offered(reading.contract):
            yield VerdictReason(
                ReasonCode.NO_CONTRACT,
                f"{place.nobody} offers {reading.contract}, which {reading.application} {reading.version} reads",
                contract=reading.contract,
                consumer=reading.application,
                consumer_version=reading.version,
            )


# What decides a verdict besides the pairs: approvals of breaks, and verifications that an environment demands.

_SHOWN: Final = 3


class Decisions:
    """Makes verdicts. ``now_ms`` is the clock (epoch ms) by which approvals and verifications count."""

    def __init__(self, *, records: ContractRecords, now_ms: Callable[[], int]) -> None:
        self._records = records
        self._now_ms = now_ms

    async def verdict(
        self,
        pairs: Sequence[Pair],
        reasons: Sequence[VerdictReason] = (),
        notices: Sequence[str] = (),
        *,
        none: str,
        among: Sequence[Pair] = (),
        unless_ignored: Sequence[Pair] = (),
    ) -> DeploymentVerdict:
        """Return the verdict on pairs and on what else was found; ``none`` is the sentence if there are no pairs.

        ``among`` has the pairs of all consumers where ``pairs`` are some of them: an approval is for all that break.
        ``unless_ignored`` has the pairs without anybody ignored, where the question ignores applications.
        """
        breaks = breaks_of(among or pairs)
        breaks = with_ignored(breaks, unless_ignored) if unless_ignored else breaks
        verdict = verdict_of(pairs, reasons, notices, none=none, identify=partial(break_in, breaks))
        if not any(each.reason in BLOCKING for each in verdict.reasons):
            return verdict
        approvals = await self._records.all(APPROVALS)
        if not approvals:
            return verdict
        now_ms = self._now_ms()
        return with_approvals(verdict, breaks.values(), approvals, now_ms=now_ms, decided_at=iso_time(now_ms))

    def time(self) -> str:
        """Return the time by which approvals and verifications count now."""
        return iso_time(self._now_ms())

    async def verifications(self, side: Side, environment: str, days: int) -> list[VerdictReason]:
        """Return what is missing of the verifications of what a version offers, none older than ``days``."""
        hashes = sorted({each.contract_hash for each in side.offerings})
        prefixes = [verification_key(each, environment) for each in hashes]
        found = await self._records.each(VERIFICATIONS, prefixes)
        oldest = self._now_ms() - days * DAY_MS
        return [
            reason
            for offered in side.offerings
            for reason in _unverified(offered, _of(offered, found), environment, days=days, oldest=oldest)
        ]


def _of(offered: Offering, found: Sequence[Verification]) -> list[Verification]:
    """Return the verifications of what is offered on its topic; those without a topic are of all topics."""
    return [
        each
        for each in found
        if each.hash == offered.contract_hash and each.sample.topic in {"", offered.promise.topic}
    ]


def _unverified(
    offered: Offering, found: Sequence[Verification], environment: str, *, days: int, oldest: int
) -> Iterator[VerdictReason]:
    what = f"{offered.contract} {offered.contract_version}"
    for each in found:
        if not each.is_passed:
            failed = "; ".join(f"{one.check}: {one.text or 'failed'}" for one in each.failures[:_SHOWN])
            when = iso_time(each.read_ts)
            text = f"the verification of {what} in {environment} at {when} failed: {failed or 'see its results'}"
            yield _reason(offered, ReasonCode.VERIFICATION_FAILED, text)
            return
    newest = max((each.read_ts for each in found), default=None)
    if newest is None or newest < oldest:
        known = "none" if newest is None else f"the latest is of {iso_time(newest)}"
        text = (
            f"{what} needs a verification of its topic {offered.promise.topic} in {environment} that is at most {days} "
            f"days old ({known}); run counterfoil test --publish"
        )
        yield _reason(offered, ReasonCode.NOT_VERIFIED, text)


def _reason(offered: Offering, reason: ReasonCode, text: str) -> VerdictReason:
    return VerdictReason(
        reason,
        text,
        contract=offered.contract,
        subject=offered.subject,
        producer=offered.application,
        producer_version=offered.version,
    )
