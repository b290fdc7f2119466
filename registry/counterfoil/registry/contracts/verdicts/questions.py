"""Questions about versions that verdicts answer; the judgement of their pairs, and what decides besides."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Final, TypeVar

from counterfoil.registry.changes.as_of import iso_time
from counterfoil.registry.contracts.approvals import Migrations
from counterfoil.registry.contracts.records import APPROVALS, VERIFICATIONS, VERSIONS, ContractRecords, verification_key
from counterfoil.registry.contracts.usage import DAY_MS, ObservedUsage
from counterfoil.registry.contracts.verdicts.gathering import Gathering, Major
from counterfoil.registry.contracts.verdicts.sides import Counterparts, Sides, VersionPlace
from counterfoil.registry.contracts.verdicts.verdict import (
    BLOCKING,
    break_in,
    breaks_of,
    verdict_of,
    with_approvals,
    with_ignored,
)
from counterfoil.registry.judges.judging import LongJudgements
from counterfoil.schema.agreements import major_of
from counterfoil.schema.agreements.findings import Activity, ReadFinding
from counterfoil.schema.agreements.pairs import (
    ConsumerReading,
    Judge,
    Offering,
    Pair,
    PairKey,
    Side,
    consumer_groups_of,
    consumer_pairs,
    live_pairs,
    pair_key,
    pairs_of_producer,
)
from counterfoil.schema.agreements.readers import judge_pair, judge_pairs
from counterfoil.schema.contexts import QualifiedSubject, parse_subject
from counterfoil.schema.errors import BadRequest, ContractNotFound
from counterfoil.schema.model import SchemaType
from counterfoil.schema.rest.contracts import ApplicationVersion, ContractKind, Environment
from counterfoil.schema.rest.observations import Verification
from counterfoil.schema.rest.verdicts import DeploymentVerdict, ReasonCode, VerdictReason

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
    """Judges the pairs of a version, or of all live versions."""

    def __init__(self, *, sides: Sides, gathering: Gathering, migrations: Migrations, long: LongJudgements) -> None:
        self._sides = sides
        self._gathering = gathering
        self._migrations = migrations
        self._long = long

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
        question, missing = await self._gathering.of_version(side, replaced, place, ignored)
        judge = PairJudge(self._sides, self._long)
        offered = await judge.find(partial(pairs_of_producer, question))
        found = [each for each in offered if (each.contract, each.consumer_major) not in unread]
        found += await judge.find(partial(consumer_pairs, question))
        pairs, hindrances = await self.bridged(found, place.environment)
        return pairs, [*hindrances, *missing]

    async def live_pairs(self, contracts: Sequence[str], place: VersionPlace) -> list[Pair]:
        """Return all pairs of a producer and a consumer of some contracts that count."""
        live = await self._gathering.live(contracts, place)
        pairs = partial(live_pairs, live.writers, live.readers, live.known, live.retained)
        return await PairJudge(self._sides, self._long).find(pairs)

    async def bridged(self, pairs: Sequence[Pair], environment: str | None) -> tuple[list[Pair], list[VerdictReason]]:
        """Return the pairs with what migrations permit, and what is missing of these; see :class:`Migrations`."""
        if not any(each.may_be_bridged for each in pairs):
            return list(pairs), []
        return await self._migrations.bridged(pairs, environment)


# What decides a verdict besides the pairs: approvals of breaks, and verifications that an environment demands.

_SHOWN_FAILURES: Final = 3


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
            failed = "; ".join(f"{one.check}: {one.text or 'failed'}" for one in each.failures[:_SHOWN_FAILURES])
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
        pairs, hindrances = await self._judging.bridged(found, environment)
        among, _ = await self._judging.bridged(live, environment)
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
            pairs, hindrances = await self._judging.bridged(found, environment)
            return await self._decisions.verdict(pairs, hindrances, none="")
        return _only(VerdictReason(ReasonCode.NO_CONTRACT, f"no producer and consumer of {contract} are known there"))


def _only(reason: VerdictReason) -> DeploymentVerdict:
    return verdict_of([], [reason], none="")


def _days(environment: Environment, given: int | None) -> int | None:
    """Return the greatest age of verifications: the smaller of what the environment and the request demand."""
    return min((each for each in (environment.verified_within_days, given) if each is not None), default=None)


def _contracts_of(side: Side) -> set[str]:
    return {each.contract for each in side.offerings} | {each.contract for each in side.readings}
