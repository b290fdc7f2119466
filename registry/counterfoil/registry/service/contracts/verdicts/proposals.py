"""A proposed schema of a subject, judged against those who read the subject."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from counterfoil.registry.service.contracts.verdicts.counterparts import ANYWHERE
from counterfoil.schema.agreements.model import Promise
from counterfoil.schema.parsed import Validation
from counterfoil.schema.position import Position
from counterfoil.schema.reads.model import Offer
from counterfoil.schema.reads.sides import Offering, Side

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from counterfoil.registry.service.contracts.records import ContractRecords
    from counterfoil.registry.service.contracts.verdicts.counterparts import Counterparts, Place
    from counterfoil.registry.service.contracts.verdicts.judging import Judging
    from counterfoil.registry.service.contracts.verdicts.known_writers import Major
    from counterfoil.registry.service.contracts.verdicts.sides import Sides
    from counterfoil.registry.service.reading import SchemaReader
    from counterfoil.registry.service.storage import Storage
    from counterfoil.schema.compatibility.levels import CompatibilityLevel
    from counterfoil.schema.contexts import QualifiedSubject
    from counterfoil.schema.parsed import ParsedSchema
    from counterfoil.schema.reads.pairing import Pair
    from counterfoil.schema.rest.verdicts import VerdictReason

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
        judging: Judging,
    ) -> None:
        self._storage = storage
        self._records = records
        self._reader = reader
        self._sides = sides
        self._counterparts = counterparts
        self._judging = judging

    async def judged(
        self, subject: QualifiedSubject, schema: ParsedSchema, identity: str, places: Sequence[Place]
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

    async def _judged(self, proposed: _Proposed, place: Place) -> JudgedSchema:
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
