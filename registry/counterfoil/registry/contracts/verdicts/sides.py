"""What versions of applications offer and read, which of them count, and who reads a subject."""

from __future__ import annotations

import asyncio
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import is_
from typing import Final

from counterfoil.registry.contracts.records import ContractRead, ContractRecords, Party
from counterfoil.registry.contracts.usage import ObservedReader, ObservedUsage
from counterfoil.registry.judges.judging import LongJudgements
from counterfoil.registry.subjects.reading import SchemaReader
from counterfoil.registry.subjects.versions import schema_request_of
from counterfoil.schema.agreements import Agreement, Contract, Expectation, Promise, SchemaLink, major_of
from counterfoil.schema.agreements import DataProduct as Product
from counterfoil.schema.agreements import ExpectedRead as FieldRead
from counterfoil.schema.agreements.changes import compare_sides
from counterfoil.schema.agreements.documents import are_the_same, stored_agreement
from counterfoil.schema.agreements.findings import Activity, Offer, Reader, ReadFinding
from counterfoil.schema.agreements.pairs import ConsumerReading, Numbered, Offering, PairKey, Side
from counterfoil.schema.caches import RecentValues
from counterfoil.schema.contexts import DEFAULT_CONTEXT, QualifiedSubject, parse_subject
from counterfoil.schema.errors import ContractNotFound, InvalidContract
from counterfoil.schema.model import Schema
from counterfoil.schema.parsed import ParsedSchema, Validation
from counterfoil.schema.paths import parse_path, print_path
from counterfoil.schema.rest.contracts import ApplicationVersion, ContractKind, ContractLink, PublishedContract
from counterfoil.schema.rest.observations import WHOLE_RECORD
from counterfoil.schema.rest.verdicts import Consumer, ContractDiff, FieldUse
from counterfoil.schema.texts import Position

# What versions of applications offer and read, as values that can be judged; files are read once, by content.

_MEMORY_CHARS: Final = 32 * 1024 * 1024
_ENTRY_CHARS: Final = 1000
_FINDING_CHARS: Final = 500
_MAX_FINDING_CHARS: Final = 64 * 1024 * 1024


_Content = tuple[tuple[tuple["Promise", Offer], ...], tuple[tuple["Expectation", "ParsedSchema | None"], ...]]


class Sides:
    """Reads the contracts of versions; parsed files and judged pairs are cached by content."""

    def __init__(self, records: ContractRecords, *, reader: SchemaReader) -> None:
        self._records = records
        self._reader = reader
        self._contents: RecentValues[ContractLink, _Content] = RecentValues(_MEMORY_CHARS)
        self._subjects: RecentValues[ContractLink, frozenset[str]] = RecentValues(_MEMORY_CHARS)
        self._read: RecentValues[tuple[str, ...], tuple[tuple[Sequence[ContractRead], ...], Side]] = RecentValues(
            _MEMORY_CHARS
        )
        self._judged: RecentValues[PairKey, tuple[ReadFinding, ...]] = RecentValues(_MAX_FINDING_CHARS)

    async def side(self, version: ApplicationVersion) -> Side:
        """Return what a version offers and reads."""
        [found] = await self._sides([version], None)
        return found

    async def sides(self, versions: Sequence[ApplicationVersion], *, contracts: Iterable[str]) -> list[Side]:
        """Return what versions offer and read of some contracts."""
        return await self._sides(versions, frozenset(contracts))

    async def readings(self, versions: Sequence[Numbered], contracts: Mapping[str, Sequence[str]]) -> list[Side]:
        """Return what versions read of ``contracts``, which are by application; what they offer is left out."""
        keys = [[(contract, *each) for contract in contracts[each[0]]] for each in versions]
        found = iter(await self._records.reads([key for part in keys for key in part]))
        return [
            await self._readings(version, {contract: next(found) for contract, _, _ in part})
            for version, part in zip(versions, keys, strict=True)
        ]

    async def _readings(self, version: Numbered, found: Mapping[str, Sequence[ContractRead]]) -> Side:
        """Return what a version reads; it is cached until the records about it are read again."""
        key, held = (*version, *found), tuple(found.values())
        known = self._read.get(key)
        if known is not None and all(map(is_, known[0], held)):
            return known[1]
        side = await self._read_by(version, found)
        if all(held):  # otherwise it depends on what the version has published
            texts = (len(schema.text) for reads in held for each in reads for schema in each.schemas.values())
            self._read.put(key, (held, side), weight=_ENTRY_CHARS * (1 + len(side.readings)) + sum(texts))
        return side

    async def _read_by(self, version: Numbered, found: Mapping[str, Sequence[ContractRead]]) -> Side:
        readings = [
            _reading(version, held.link, each, await self._reader_schema(held, each), place=str(number))
            for reads in found.values()
            for held in reads
            for number, each in enumerate(held.expectations)
        ]
        missing = frozenset(contract for contract, reads in found.items() if not reads)
        if missing:  # it was published before reads were stored apart, or does not read the contract
            for side in await self._sides(await self._records.versions([version]), missing):
                readings += side.readings
        return Side(*version, readings=tuple(readings))

    async def _reader_schema(self, held: ContractRead, expectation: Expectation) -> ParsedSchema | None:
        link = expectation.reader_schema
        found = None if link is None else held.schemas.get(link.url)
        return None if found is None else await self.parsed(DEFAULT_CONTEXT, found)

    async def _sides(self, versions: Sequence[ApplicationVersion], wanted: frozenset[str] | None) -> list[Side]:
        links = [
            [link for link in each.contracts if wanted is None or link.kind is ContractKind.ODPS or link.id in wanted]
            for each in versions
        ]
        contents = await self._contents_of({link for part in links for link in part})
        return [
            _side(version, [(link, contents[link]) for link in part], wanted)
            for version, part in zip(versions, links, strict=True)
        ]

    async def _contents_of(self, links: Iterable[ContractLink]) -> dict[ContractLink, _Content]:
        """Return the contents of contracts; those that are not cached are read at once."""
        found = {link: self._contents.get(link) for link in links}
        missing = [link for link, content in found.items() if content is None]
        for link, contract in zip(missing, await self._records.contracts(missing) if missing else (), strict=True):
            content = found[link] = await self._parsed(contract)
            weight = len(contract.text) + sum(len(each.text) for each in contract.schemas.values()) + _ENTRY_CHARS
            self._contents.put(link, content, weight=weight)
            await asyncio.sleep(0)  # there may be a thousand
        return {link: content for link, content in found.items() if content is not None}

    def known_findings(self, asked: PairKey) -> tuple[ReadFinding, ...] | None:
        """Return the findings about a pair whose contents were judged before; None if they were not."""
        return self._judged.get(asked)

    def keep_findings(self, asked: PairKey, found: tuple[ReadFinding, ...]) -> None:
        """Keep the findings about a pair."""
        self._judged.put(asked, found, weight=_FINDING_CHARS * (1 + len(found)))

    async def proposed(
        self, contract: PublishedContract, application: str, version: str, *, agreement: Agreement | None = None
    ) -> Side:
        """Return what a contract that is not published offers or reads; ``agreement`` is its text's, if it was read."""
        proposal = ApplicationVersion(application, version, contracts=(contract.link,))
        return _side(proposal, [(contract.link, await self._parsed(contract, agreement))])

    async def majors_without(self, contract: str, subject: str) -> set[str]:
        """Return the published major versions of a contract, none of which is about a subject."""
        majors = {True: set[str](), False: set[str]()}
        for link, subjects in (await self._subjects_of(await self._records.promised(contract))).items():
            majors[subject in subjects].add(major_of(link.version))
        return majors[False] - majors[True]

    async def subjects(self, contract: str) -> list[QualifiedSubject]:
        """Return the subjects that the published versions of a producer's contract are about, sorted."""
        found = await self._subjects_of(await self._records.promised(contract))
        return [parse_subject(each) for each in sorted(frozenset().union(*found.values()))]

    async def _subjects_of(self, links: Iterable[ContractLink]) -> dict[ContractLink, frozenset[str]]:
        """Return the subjects that contracts are about; those that are not cached are read at once, without schemas."""
        found = {link: self._subjects.get(link) for link in links}
        missing = [link for link, subjects in found.items() if subjects is None]
        for link, contract in zip(missing, await self._records.contracts(missing) if missing else (), strict=True):
            agreement = await self._reader.of_text(contract.text, stored_agreement)
            promises = agreement.promises if isinstance(agreement, Contract) else ()
            subjects = found[link] = frozenset(str(parse_subject(each.subject)) for each in promises)
            self._subjects.put(link, subjects, weight=_ENTRY_CHARS + sum(map(len, subjects)))
            await asyncio.sleep(0)  # there may be a thousand
        return {link: subjects for link, subjects in found.items() if subjects is not None}

    async def _parsed(self, contract: PublishedContract, agreement: Agreement | None = None) -> _Content:
        if agreement is None:
            agreement = await self._reader.of_text(contract.text, stored_agreement)
        if isinstance(agreement, Contract):
            offered = [(promise, await self._offer(contract, promise)) for promise in agreement.promises]
            return tuple(offered), ()
        if isinstance(agreement, Product):
            read = [(each, await self._schema(contract, each.reader_schema)) for each in agreement.expectations]
            return (), tuple(read)
        return (), ()

    async def _offer(self, contract: PublishedContract, promise: Promise) -> Offer:
        context = parse_subject(promise.subject).context
        schema = await self._schema(contract, promise.schema, context=context, subject=promise.subject)
        if schema is None:
            raise InvalidContract(f"Contract {contract.id} {contract.version} is stored without its schema")
        key = None
        if promise.key is not None:
            key = await self._schema(contract, promise.key.schema, context=context, subject=promise.key.subject or "")
        return Offer(schema, promise, key=key)

    async def _schema(
        self,
        contract: PublishedContract,
        link: SchemaLink | None,
        *,
        context: str = DEFAULT_CONTEXT,
        subject: str = "",
    ) -> ParsedSchema | None:
        found = contract.schemas.get(link.url) if link is not None else None
        found = found or contract.schemas.get(subject)
        return None if found is None else await self.parsed(context, found)

    async def parsed(self, context: str, schema: Schema) -> ParsedSchema:
        """Return a schema of a request or a stored contract, parsed."""
        reading = await self._reader.read(
            context, schema_request_of(schema), validation=Validation.LENIENT, normalize=False, deleted=True
        )
        return reading.candidate.parsed


def _side(
    version: ApplicationVersion, contents: Sequence[tuple[ContractLink, _Content]], wanted: frozenset[str] | None = None
) -> Side:
    """Return what a version offers and reads; of what it reads, only ``wanted`` contracts, or all for None."""
    offerings = [
        _offering(version, link, promise, offer) for link, (offered, _) in contents for promise, offer in offered
    ]
    readings = [
        _reading((version.application, version.version), link, expectation, schema, place=str(expectation.position))
        for link, (_, read) in contents
        for expectation, schema in read
        if wanted is None or expectation.contract_id in wanted
    ]
    return Side(version.application, version.version, tuple(offerings), tuple(readings))


def _offering(version: ApplicationVersion, link: ContractLink, promise: Promise, offer: Offer) -> Offering:
    identity = (link.id, link.version, link.hash, promise.name, promise.subject)
    return Offering(
        version.application, version.version, link.id, link.version, promise.subject, promise, offer, identity
    )


def _reading(
    version: Numbered,
    link: ContractLink,
    expectation: Expectation,
    schema: ParsedSchema | None,
    *,
    place: str,
) -> ConsumerReading:
    application, number = version
    reader = Reader(application, expectation, version=number, schema=schema)
    identity = (application, link.id, link.version, link.hash, expectation.name, place)
    return ConsumerReading(application, number, expectation.contract_id, reader, link.id, identity)


def observed_side(offered: Offering, seen: ObservedReader, *, name: str) -> Side:
    """Return the side of an application that was seen to read what is offered: it expects that what it read is there.

    What is known to read no field at all expects nothing. ``name`` is that by which it chooses among several topics.
    """
    place = Position(1, 1)
    reads = None if seen.is_whole else tuple(FieldRead(parse_path(path), place) for path in seen.paths)
    expectation = Expectation(name, offered.contract, offered.major, place, reads)
    version = seen.version or "(observed)"
    reader = Reader(seen.application, expectation, seen.origin, version=version)
    identity = ("observed", seen.application, *(() if reads is None else ("", *seen.paths)))
    reading = ConsumerReading(seen.application, version, offered.contract, reader, seen.application, identity)
    return Side(seen.application, version, readings=(reading,))


# Which versions of other applications count for a verdict: those of an environment, or of a branch.


@dataclass(frozen=True, slots=True)
class VersionPlace:
    """Where versions are looked for: live in an environment, or the newest of each application on a branch.

    Without both, the newest version of each application counts.
    """

    environment: str | None = None
    branch: str | None = None

    @property
    def nobody(self) -> str:
        """The subject of a sentence about a place without a version."""
        if self.environment is not None:
            return f"nobody who is live in {self.environment}"
        return "nobody" if self.branch is None else f"nobody on branch {self.branch}"


ANYWHERE = VersionPlace()

Named = tuple[str, "Offering"]
"""What is offered, with a name by which a reader chooses it among several topics of its contract."""

Declared = tuple[str, str]
"""The name of an application, and the id of a contract that it declares to read."""


@dataclass(frozen=True, slots=True)
class ContractReaders:
    """Those who read some contracts: the versions that count, and the newest ones of those that do not."""

    live: tuple[Side, ...]
    pending: tuple[Side, ...]


class Counterparts:
    """Finds the versions that offer or read contracts, and those who were seen to read."""

    def __init__(self, *, records: ContractRecords, sides: Sides, usage: ObservedUsage) -> None:
        self._records = records
        self._sides = sides
        self._usage = usage

    async def writers(self, contracts: Iterable[str], place: VersionPlace) -> list[Side]:
        """Return the versions that count and offer one of some contracts."""
        wanted = sorted(set(contracts))
        live, _ = await self._versions(await self._records.parties(ContractKind.ODCS, wanted), place)
        found = await self._sides.sides(await self._records.versions(live), contracts=wanted)
        return [each for each in found if each.offerings]

    async def readers(self, contracts: Iterable[str], place: VersionPlace) -> ContractReaders:
        """Return the versions that read one of some contracts, with what they read of them."""
        parties = await self._records.parties(ContractKind.ODPS, sorted(set(contracts)))
        by_application: dict[str, list[str]] = {}
        for each in parties:
            by_application.setdefault(each.application, []).append(each.contract)
        live, others = await self._versions(parties, place)
        reading = await self._sides.readings([*live, *others], by_application)
        return ContractReaders(
            tuple(each for each in reading[: len(live)] if each.readings),
            tuple(each for each in reading[len(live) :] if each.readings),
        )

    async def observed(
        self,
        offerings: Iterable[Named],
        *,
        place: VersionPlace,
        left_out: Container[str],
        declared: Container[Declared],
    ) -> list[Side]:
        """Return the applications that were seen to read what is offered, and declare nothing about its contract."""
        return [
            observed_side(offered, reader, name=name)
            for name, offered in offerings
            for reader in await self._usage.readers(parse_subject(offered.subject), place.environment)
            if reader.activity is not Activity.GONE
            and reader.application not in left_out
            and (reader.application, offered.contract) not in declared
        ]

    async def _versions(self, parties: Sequence[Party], place: VersionPlace) -> tuple[list[Numbered], list[Numbered]]:
        """Return the versions that count of those who offer or read contracts, and the newest of the others."""
        newest = {(each.application, each.newest) for each in parties}
        applications = (application for application, _ in newest)
        if place.branch is not None:
            found = await self._records.newest_on(place.branch, applications)
            return [(each.application, each.version) for each in found], []
        if place.environment is None:
            return sorted(newest), []
        live = await self._records.live(place.environment, applications)
        return live, sorted(newest.difference(live))

    async def of_application(self, application: str, place: VersionPlace) -> list[Side]:
        """Return what the versions of an application that count offer and read; anywhere there are none."""
        if place.branch is not None:
            found = await self._records.newest_on(place.branch, [application])
        elif place.environment is not None:
            found = await self._records.versions(await self._records.live(place.environment, [application]))
        else:
            return []
        return [await self._sides.side(each) for each in found]

    async def absent(self, side: Side, place: VersionPlace) -> list[str]:
        """Return the other applications that offer or read the contracts of a version, and are not on the branch."""
        if place.branch is None:
            return []
        read = await self._records.parties(ContractKind.ODPS, sorted({each.contract for each in side.offerings}))
        written = await self._records.parties(ContractKind.ODCS, sorted({each.contract for each in side.readings}))
        names = {each.application for each in (*read, *written)} - {side.application}
        found = {each.application for each in await self._records.newest_on(place.branch, names)}
        return sorted(names - found)


# Who reads a subject, and which of its fields: what consumers declare, and what was observed of them.


class Consumers:
    """The use cases of who reads."""

    def __init__(
        self, *, records: ContractRecords, sides: Sides, counterparts: Counterparts, usage: ObservedUsage
    ) -> None:
        self._records = records
        self._sides = sides
        self._counterparts = counterparts
        self._usage = usage

    async def of_subject(self, subject: QualifiedSubject, environment: str | None = None) -> list[Consumer]:
        """Return who reads a subject: live versions with their environments, and the newest ones that are not live.

        With them are the applications that were seen to read it, and declare nothing about it. Who reads a major
        version of its contract that is about other subjects alone does not read it.
        """
        seen = {each.application: each for each in await self._usage.readers(subject, environment)}
        declared = await self._declared(subject, environment)
        others = [_observed(each) for name, each in seen.items() if name not in {one.application for one in declared}]
        known = [_with_times(each, seen.get(each.application)) for each in declared]
        return sorted([*known, *others], key=lambda each: (each.application, each.version, each.contract))

    async def _declared(self, subject: QualifiedSubject, environment: str | None) -> list[Consumer]:
        contracts = await self._records.contracts_of(subject)
        elsewhere = {each: await self._sides.majors_without(each, str(subject)) for each in contracts}
        names = [environment] if environment is not None else await self._records.environment_names()
        live = {name: (await self._counterparts.readers(contracts, VersionPlace(name))).live for name in names}
        newest = () if environment is not None else (await self._counterparts.readers(contracts, ANYWHERE)).live
        places: dict[tuple[str, str, str], tuple[ConsumerReading, list[str]]] = {}
        for name, sides in [*live.items(), ("", newest)]:
            for reading in (each for side in sides for each in side.readings):
                if reading.major in elsewhere[reading.contract]:
                    continue
                key = (reading.application, reading.version, reading.contract)
                _, live_in = places.setdefault(key, (reading, []))
                live_in += [name] if name else []
        return [consumer_of(*places[key]) for key in sorted(places)]

    async def fields(self, subject: QualifiedSubject, environment: str | None = None) -> list[FieldUse]:
        """Return the paths of a subject that are read, each with those who read it, and when.

        Where an application was seen to read a path that it does not declare, the path's origin is the observation.
        """
        seen = {each.application: each for each in await self._usage.readers(subject, environment)}
        by_path: dict[str, list[Consumer]] = {}
        declared: dict[str, set[str]] = {}
        for consumer in await self._declared(subject, environment):
            declared.setdefault(consumer.application, set()).update(consumer.reads)
            for path in consumer.reads:
                by_path.setdefault(path, []).append(self._of_path(consumer, path, seen.get(consumer.application)))
        for name, reader in seen.items():
            found = _observed(reader)
            for path in found.reads:
                if not (declared.get(name) and (path == WHOLE_RECORD or is_covered(path, declared[name]))):
                    by_path.setdefault(path, []).append(self._of_path(found, path, reader))
        return [FieldUse(path, tuple(by_path[path])) for path in sorted(by_path)]

    def _of_path(self, consumer: Consumer, path: str, reader: ObservedReader | None) -> Consumer:
        """Return a consumer with the times at which it was seen to read one path, if it was."""
        if reader is None or path == WHOLE_RECORD or reader.is_whole:
            return _with_times(consumer, reader)
        use = reader.paths.get(path)
        if use is None:
            return consumer
        activity = self._usage.activity(use.last_seen).name.lower()
        return replace(consumer, first_seen=use.first_seen, last_seen=use.last_seen, activity=activity)


def consumer_of(reading: ConsumerReading, environments: Sequence[str]) -> Consumer:
    """Return a consumer that is live in some environments."""
    reads = reading.expectation.reads
    paths = (WHOLE_RECORD,) if reads is None else tuple(print_path(each.path) for each in reads)
    origin = reading.reader.origin.name.lower()
    return Consumer(reading.application, reading.version, reading.contract, paths, origin, tuple(environments))


def _observed(reader: ObservedReader) -> Consumer:
    paths = (WHOLE_RECORD,) if reader.is_whole else tuple(reader.paths)
    found = Consumer(reader.application, reader.version, "", paths, reader.origin.name.lower(), reader.environments)
    return _with_times(found, reader)


def _with_times(consumer: Consumer, reader: ObservedReader | None) -> Consumer:
    if reader is None:
        return consumer
    activity = reader.activity.name.lower()
    return replace(consumer, first_seen=reader.first_seen, last_seen=reader.last_seen, activity=activity)


def is_covered(path: str, declared: Iterable[str]) -> bool:
    """Return whether a declared path is the same, contains this one, or is inside of it."""
    steps = parse_path(path)
    others = (() if each == WHOLE_RECORD else parse_path(each) for each in declared)
    return any(steps[: len(each)] == each or each[: len(steps)] == steps for each in others)


# What differs between two versions of a contract, and what of it breaks someone.

_SHOWN = 80


class Comparing:
    """The use cases of comparing versions of a contract."""

    def __init__(self, *, records: ContractRecords, sides: Sides, long: LongJudgements) -> None:
        self._records = records
        self._sides = sides
        self._long = long

    async def versions(self, contract: str, earlier: str, later: str, kind: ContractKind | None = None) -> ContractDiff:
        """Return what differs between two versions of a contract: by default of a producer's, or else a consumer's.

        Raises ``ContractNotFound``.
        """
        for each in ContractKind if kind is None else (kind,):
            was = await self._records.published(contract, each, earlier)
            now = await self._records.published(contract, each, later)
            if was is not None and now is not None:
                return await self.contents(was, now)
        raise ContractNotFound(
            f"Contract {contract[:_SHOWN]!r} has not both of the versions {earlier[:_SHOWN]!r} and {later[:_SHOWN]!r}"
        )

    async def contents(self, was: PublishedContract, now: PublishedContract) -> ContractDiff:
        """Return what differs between two contents, which may be of one version."""
        before = await self._sides.proposed(was, "", was.version)
        after = await self._sides.proposed(now, "", now.version)
        changes, findings = await self._long.run(compare_sides, before, after)
        is_same = await self.are_the_same(was, now)
        return ContractDiff(now.id, now.kind, was.version, now.version, is_same, changes, findings)

    async def are_the_same(self, one: PublishedContract, other: PublishedContract) -> bool:
        """Return whether two contracts have the same content, whatever release computed their hashes."""
        if one.text == other.text and one.schemas == other.schemas:
            return True
        return await self._long.run(are_the_same, one, other)
