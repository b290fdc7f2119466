"""A proposed schema, judged against those who read the subject, and whether it may be registered where they decide."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from counterfoil.registry.contracts.events import Event, Events
from counterfoil.registry.contracts.records import ContractRecords
from counterfoil.registry.contracts.usage import ObservedUsage
from counterfoil.registry.contracts.verdicts.gathering import Major
from counterfoil.registry.contracts.verdicts.questions import Decisions, PairJudging
from counterfoil.registry.contracts.verdicts.sides import ANYWHERE, Counterparts, Sides, VersionPlace
from counterfoil.registry.contracts.verdicts.verdict import BLOCKING
from counterfoil.registry.store.protocol import Storage
from counterfoil.registry.store.writes import Requester
from counterfoil.registry.subjects.reading import SchemaReader
from counterfoil.registry.subjects.versions import Candidate
from counterfoil.schema.agreements import Promise
from counterfoil.schema.agreements.findings import Activity, Offer
from counterfoil.schema.agreements.pairs import Offering, Pair, Side, consumer_groups_of
from counterfoil.schema.compatibility import CompatibilityLevel
from counterfoil.schema.contexts import QualifiedSubject
from counterfoil.schema.errors import StoreTimeout, StoreUnavailable
from counterfoil.schema.parsed import ParsedSchema, Validation
from counterfoil.schema.rest.contracts import EventType
from counterfoil.schema.rest.verdicts import VERDICT_REASON, ReasonCode, VerdictReason
from counterfoil.schema.texts import Position, counted

# A proposed schema of a subject, judged against those who read the subject.

PROPOSED: Final = "proposed"
"""What stands for the version of something that is not published yet."""


@dataclass(frozen=True, slots=True)
class JudgedSchema:
    """The pairs of a proposed schema with those who read the subject, and what is missing.

    ``level`` is the compatibility level that a contract of the subject wants, ``topic`` the topic of its records;
    ``is_live``: a version whose contract is about the subject is live in the environment, so that the findings are
    those of the change.
    """

    pairs: list[Pair]
    reasons: list[VerdictReason]
    level: CompatibilityLevel | None
    topic: str
    has_contract: bool
    is_live: bool


@dataclass(frozen=True, slots=True)
class _Proposed:
    """A proposed schema of a subject, with what is the same in every place.

    ``contracts`` are those about the subject; ``newest`` are the newest versions that offer them or, without any, the
    latest version of the subject; ``numbers`` are the versions of contracts that have the schema; who reads a major
    version in ``unread`` does not read the subject.
    """

    subject: QualifiedSubject
    schema: ParsedSchema
    identity: str
    contracts: list[str]
    newest: list[Side]
    numbers: Mapping[tuple[str, str], str]
    unread: set[Major]


class ProposedSchemas:
    """Judges proposed schemas."""

    def __init__(
        self,
        storage: Storage,
        *,
        records: ContractRecords,
        reader: SchemaReader,
        sides: Sides,
        counterparts: Counterparts,
        judging: PairJudging,
    ) -> None:
        self._storage = storage
        self._records = records
        self._reader = reader
        self._sides = sides
        self._counterparts = counterparts
        self._judging = judging

    async def judged(
        self, subject: QualifiedSubject, schema: ParsedSchema, identity: str, places: Sequence[VersionPlace]
    ) -> list[JudgedSchema]:
        """Return the judgement for each place where some versions count: an environment, or anywhere the newest ones.

        ``identity`` is equal for equal schemas. A schema that the newest published version of a contract has is one of
        that version. Without a contract about the subject, the latest version of the subject is what consumers read
        now.
        """
        contracts = await self._records.contracts_of(subject)
        newest = await self._counterparts.writers(contracts, ANYWHERE) if contracts else await self._registered(subject)
        proposed = _Proposed(
            subject,
            schema,
            identity,
            contracts,
            newest=newest,
            numbers=_numbers(newest, str(subject), schema) if contracts else {},
            unread={(each, one) for each in contracts for one in await self._sides.majors_without(each, str(subject))},
        )
        return [await self._judged(proposed, each) for each in places]

    async def _judged(self, proposed: _Proposed, place: VersionPlace) -> JudgedSchema:
        subject, contracts, newest = proposed.subject, proposed.contracts, proposed.newest
        is_anywhere = place == ANYWHERE or not contracts
        live = newest if is_anywhere else await self._counterparts.writers(contracts, place)
        pairs: list[Pair] = []
        reasons: list[VerdictReason] = []
        levels: list[CompatibilityLevel] = []
        topics: list[str] = []
        for writer in live or newest:
            of_subject = tuple(each for each in writer.offerings if each.subject == str(subject))
            offerings = tuple(
                replace(
                    each,
                    offer=Offer(proposed.schema, each.promise, key=each.offer.key_schema),
                    identity=(*each.identity, proposed.identity),
                    version=PROPOSED,
                    contract_version=proposed.numbers.get((each.application, each.contract), each.contract_version),
                )
                for each in of_subject
            )
            levels += [each.promise.level for each in offerings if each.promise.level is not None]
            topics += [each.promise.topic for each in offerings]
            side = Side(writer.application, PROPOSED, offerings)
            before = [Side(writer.application, writer.version, of_subject)]
            found, missing = await self._judging.judge_side(side, before, place, unread=proposed.unread)
            pairs += found
            reasons += missing
        level = next(iter(levels), None)
        topic = topics[0] if topics and contracts else subject.name.removesuffix("-value")
        return JudgedSchema(pairs, reasons, level, topic, bool(contracts), bool(live))

    async def _registered(self, subject: QualifiedSubject) -> list[Side]:
        """Return the latest version of a subject as what an unknown producer offers; nothing without a version."""
        latest = (await self._storage.history(subject)).latest
        if latest is None:
            return []
        content = await self._reader.content(latest.guid)
        parsed = await self._reader.parsed(subject.context, content, validation=Validation.LENIENT)
        name, version = str(subject), str(latest.version)
        promise = Promise(name, name, name, Position(1, 1))
        offering = Offering(name, version, "", "", name, promise, Offer(parsed), (str(latest.guid),))
        return [Side(name, version, (offering,))]


def _numbers(sides: Iterable[Side], subject: str, schema: ParsedSchema) -> dict[tuple[str, str], str]:
    """Return the versions of contracts that have a schema for a subject, by application and contract."""
    text = schema.canonical()
    return {
        (each.application, each.contract): each.contract_version
        for side in sides
        for each in side.offerings
        if each.subject == subject and each.offer.schema.canonical() == text
    }


# Whether a version may be registered where the consumers decide: the policy CONSUMERS of a config.

_SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class ConsumerDecision:
    """What the consumers say of a schema: ``broken`` are the reasons against it.

    ``missing`` is what is missing of a migration that would permit what is broken. ``unknown`` are the applications of
    which nothing but their reading is known, ``untold`` those of which a comparison did not end within its limits.
    ``hidden`` and ``others`` count the reasons and the unknown applications that were left out.
    """

    has_consumers: bool = True
    broken: tuple[VerdictReason, ...] = ()
    missing: tuple[VerdictReason, ...] = ()
    unknown: tuple[str, ...] = ()
    untold: tuple[str, ...] = ()
    hidden: int = 0
    others: int = 0

    @property
    def is_undecided(self) -> bool:
        """Whether they cannot decide, so that the compatibility level does."""
        return not self.has_consumers or bool(self.unknown) or bool(self.untold) or bool(self.others)

    @property
    def undecided(self) -> str:
        """Why they cannot decide."""
        if not self.has_consumers:
            return "no consumer is known"
        if self.untold:
            readers = ", ".join(self.untold[:_SHOWN])
            return f"whether {readers} can read it cannot be decided within the limits of a comparison"
        shown = self.unknown[:_SHOWN]
        others = len(self.unknown) + self.others - len(shown)
        if not shown:
            return f"nothing is known of what {counted(others, 'consumer')} {'reads' if others == 1 else 'read'}"
        more = f" and {others} more" if others else ""
        return f"nothing is known of what {', '.join(shown)}{more} reads; declare it, or observe it"

    @property
    def messages(self) -> tuple[str, ...]:
        """The reasons as texts, each with the application, the field and the rule, and then what is missing."""
        found = (f"{each.text} (field {each.place or each.path or '*'}, rule {each.rule})" for each in self.broken)
        more = (f"{self.hidden} more are about applications that the caller may not know",) if self.hidden else ()
        return (*found, *dict.fromkeys(each.text for each in self.missing), *more)

    def shown_to(self, knows: Callable[[str], bool]) -> ConsumerDecision:
        """Return it without what is about other applications than those that ``knows`` says a caller may know."""

        def is_known(reason: VerdictReason) -> bool:
            return all(knows(name) for name in (reason.producer, reason.consumer) if name)

        broken, missing = (tuple(filter(is_known, each)) for each in (self.broken, self.missing))
        unknown, untold = tuple(filter(knows, self.unknown)), tuple(filter(knows, self.untold))
        hidden = self.hidden + len(self.broken) - len(broken)
        others = self.others + len(self.unknown) - len(unknown) + len(self.untold) - len(untold)
        return ConsumerDecision(self.has_consumers, broken, missing, unknown, untold, hidden, others)


class ConsumerGate:
    """Asks the consumers of a subject: those that declare themselves, and those that were seen to read."""

    def __init__(
        self,
        *,
        records: ContractRecords,
        schemas: ProposedSchemas,
        counterparts: Counterparts,
        decisions: Decisions,
        usage: ObservedUsage,
        events: Events,
    ) -> None:
        self._records = records
        self._schemas = schemas
        self._counterparts = counterparts
        self._decisions = decisions
        self._usage = usage
        self._events = events

    async def decision(self, subject: QualifiedSubject, candidate: Candidate) -> ConsumerDecision:
        """Return what the consumers say, in every environment and of the newest version of each application.

        Breaks that are approved, or that a migration permits, do not count.
        """
        pairs: list[Pair] = []
        missing: list[VerdictReason] = []
        places = [ANYWHERE, *map(VersionPlace, await self._records.environment_names())]
        guid = str(candidate.content.guid)
        for judged in await self._schemas.judged(subject, candidate.parsed, guid, places):
            pairs += judged.pairs
            missing += judged.reasons
        if not pairs:
            return ConsumerDecision(has_consumers=False)
        if unknown := await self._unknown(subject):
            return ConsumerDecision(unknown=unknown)
        verdict = await self._decisions.verdict(pairs, none="")
        found = [each for each in verdict.reasons if each.reason in BLOCKING]
        broken = {
            (each.consumer, each.consumer_version, each.rule, each.path, each.place, each.written): each
            for each in found
        }
        untold = {each.consumer: None for each in verdict.reasons if each.reason is ReasonCode.UNDECIDED}
        if untold and not broken:
            return ConsumerDecision(untold=tuple(untold))
        not_ready = tuple(each for each in missing if each.reason is ReasonCode.MIGRATION_NOT_READY)
        return ConsumerDecision(broken=tuple(broken.values()), missing=not_ready)

    async def report(self, subject: QualifiedSubject, decision: ConsumerDecision, *, by: Requester) -> None:
        """Store an event about a registration that was refused for its consumers."""
        facts = {"reasons": [VERDICT_REASON.write(each) for each in decision.broken]}
        event = Event(EventType.CHECK_FAILED, str(subject), facts)
        with suppress(StoreUnavailable, StoreTimeout):  # the refusal is returned in any case
            await self._events.publish(event, by=by)

    async def _unknown(self, subject: QualifiedSubject) -> tuple[str, ...]:
        """Return the consumers because of which the others cannot decide: nothing is known of what they read."""
        declared = await self._declared(subject)
        return tuple(
            each.application
            for each in await self._usage.readers(subject)
            if each.is_unknown and each.activity is Activity.ACTIVE and each.application not in declared
        )

    async def _declared(self, subject: QualifiedSubject) -> set[str]:
        """Return the names of applications, and of their consumer groups, that declare what they read."""
        contracts = await self._records.contracts_of(subject)
        environments = (None, *await self._records.environment_names())
        sides = [
            side
            for each in environments
            for side in (await self._counterparts.readers(contracts, VersionPlace(each))).live
        ]
        return consumer_groups_of(sides) | {each.application for each in sides}
