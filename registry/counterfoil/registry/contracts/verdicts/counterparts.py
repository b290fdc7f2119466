"""Which versions of other applications count for a verdict: live ones, readers, ended and retained ones."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from counterfoil.registry.access.resources import REGISTRY, AccessOperation, AccessResource, ResourceKind
from counterfoil.registry.access.rights import Viewer
from counterfoil.registry.contracts.publishing import Library
from counterfoil.registry.contracts.records import ContractRecords, Party
from counterfoil.registry.contracts.usage import ObservedReader, ObservedUsage
from counterfoil.registry.contracts.verdicts.sides import Sides, observed_side
from counterfoil.registry.store.protocol import Storage
from counterfoil.registry.subjects.reading import SchemaReader
from counterfoil.registry.subjects.versions import VersionEntry
from counterfoil.registry.topics.use_cases import TOPIC_STATISTICS
from counterfoil.schema.agreements.findings import Activity, Offer, ReaderOrigin
from counterfoil.schema.agreements.pairs import (
    ConsumerReading,
    EarlierOffering,
    Numbered,
    Offering,
    RetainedRecords,
    Side,
)
from counterfoil.schema.contexts import DEFAULT_CONTEXT, QualifiedSubject, parse_subject
from counterfoil.schema.paths import parse_path, print_path
from counterfoil.schema.rest.contracts import ContractKind
from counterfoil.schema.rest.observations import WHOLE_RECORD
from counterfoil.schema.rest.verdicts import Consumer, FieldUse, ReasonCode, VerdictReason

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


# What a version no longer offers to those who read it: contracts, and subjects of contracts. Pure functions.


def live_offerings(side: Side, replaced: Sequence[Side]) -> tuple[list[Named], list[Named]]:
    """Return the live offerings that go on with a version, by the name that its own has, and those that end with it.

    A subject goes on as itself or, in a new major version, as another one with the same name in the contract.
    """
    live = {each.subject: each for one in replaced for each in one.offerings}
    offered = {each.subject: each for each in side.offerings}
    names = {(each.contract, each.promise.name): each.major for each in side.offerings}
    going_on: list[Named] = []
    ending: list[Named] = []
    for subject, each in sorted(live.items()):
        if subject in offered:
            is_same = each.contract == offered[subject].contract
            going_on.append((subject, each if is_same else offered[subject]))
        elif names.get((each.contract, each.promise.name), each.major) != each.major:
            going_on.append((each.promise.name, each))
        else:
            ending.append((subject, each))
    return going_on, ending


def ended_offerings(ending: Sequence[Named], writers: Iterable[Side]) -> list[Named]:
    """Return those offerings whose subject none of the other live ``writers`` of these contracts writes."""
    contracts = {each.contract for _, each in ending}
    written = {each.subject for one in writers for each in one.offerings if each.contract in contracts}
    return [(subject, each) for subject, each in ending if subject not in written]


def readers_of(
    ended: Sequence[Named], readings: Sequence[ConsumerReading], replaced: Sequence[Side]
) -> Iterator[tuple[str, ConsumerReading]]:
    """Yield who declares to read one of some live offerings, in its major version, with the subject."""
    for subject, offering in ended:
        for reading in readings:
            chosen = [each for one in replaced for each in reading.chosen(one.offered(reading.contract))]
            if offering in chosen and offering.major == reading.major:
                yield subject, reading


def no_longer_offered(side: Side, reading: ConsumerReading, *, subject: str = "") -> VerdictReason:
    """Return the reason about a consumer of a contract, or of a subject of it, that a version no longer offers."""
    how = "reads" if reading.reader.origin is ReaderOrigin.DECLARED else "was seen to read"
    where = f" on {subject}" if subject else ""
    return VerdictReason(
        ReasonCode.NO_CONTRACT,
        f"{side.application} {side.version} no longer offers {reading.contract}{where}, which "
        f"{reading.application} {reading.version} {how}",
        contract=reading.contract,
        subject=subject,
        producer=side.application,
        producer_version=side.version,
        consumer=reading.application,
        consumer_version=reading.version,
    )


# Earlier versions of a subject whose records a topic still has, by the statistics that were posted about it.


class RetainedVersions:
    """Finds the versions that a topic still has."""

    def __init__(self, storage: Storage, *, records: ContractRecords, reader: SchemaReader) -> None:
        self._storage = storage
        self._records = records
        self._reader = reader

    async def of(self, subject: QualifiedSubject, topic: str, environment: str | None) -> list[VersionEntry]:
        """Return the versions of a subject that the records of a topic may have, ascending, deleted ones included.

        Statistics of all records name them; those of a sample only say which is the oldest at least. Statistics without
        an environment count in each; for None, those of all environments do.
        """
        counted = [
            each
            for each in await self._records.all(TOPIC_STATISTICS, (topic,))
            if environment is None or each.environment in {"", environment}
        ]
        ids = {one.schema_id for each in counted for one in each.schemas}
        if not ids or subject.context != DEFAULT_CONTEXT:
            return []
        entries = (await self._storage.history(subject)).entries
        present = {each.version for each in entries if each.schema_id in ids}
        if not all(each.is_complete for each in counted):
            present.update(each.version for each in entries if present and each.version >= min(present))
        return [each for each in entries if each.version in present]

    async def records(self, offerings: Iterable[Offering], environment: str | None) -> RetainedRecords:
        """Return the records that the topics of offerings still have; each is read once for all its readers."""
        earlier: dict[tuple[str, ...], list[EarlierOffering]] = {}
        for each in offerings:
            if each.identity not in earlier:
                earlier[each.identity] = await self._earlier(each, environment)
        return RetainedRecords(earlier)

    async def _earlier(self, offered: Offering, environment: str | None) -> list[EarlierOffering]:
        """Return what is offered with the schema of each version whose records the topic still has."""
        subject = parse_subject(offered.subject)
        found = []
        for entry in await self.of(subject, offered.promise.topic, environment):
            content = await self._reader.content(entry.guid)
            parsed = await self._reader.parsed(subject.context, content)
            offer = Offer(parsed, offered.promise, key=offered.offer.key_schema)
            before = replace(offered, offer=offer, identity=(*offered.identity, str(entry.guid)))
            where = f"records of version {entry.version} of {subject} are still in topic {offered.promise.topic}"
            found.append((before, where))
        return found


# What a caller may know of those who offer and read contracts.


def application(name: str) -> AccessResource:
    """Return an application as a resource."""
    return AccessResource(ResourceKind.APPLICATION, name)


def bridge(name: str) -> AccessResource:
    """Return a bridge as a resource."""
    return AccessResource(ResourceKind.BRIDGE, name)


def environment(name: str) -> AccessResource:
    """Return an environment as a resource."""
    return AccessResource(ResourceKind.ENVIRONMENT, name)


def may_know_environment(viewer: Viewer, name: str) -> bool:
    """Return whether the caller may know that an environment exists; what counts in every one has no name."""
    return not name or viewer.may(AccessOperation.DESCRIBE, environment(name))


def shown_consumers(viewer: Viewer, found: Sequence[Consumer]) -> tuple[Consumer, ...]:
    """Return the consumers that the caller may know, with the environments that it may know."""
    return tuple(
        replace(each, environments=tuple(name for name in each.environments if may_know_environment(viewer, name)))
        for each in found
        if viewer.may_know_application(each.application)
    )


async def may_see(library: Library, viewer: Viewer, operation: AccessOperation, contract: str) -> bool:
    """Return whether the caller may do ``operation`` to an application that offers or reads a contract.

    One that reads it counts if the caller may read what the contract is about: anybody could publish that it reads it.
    """
    viewer.filters()
    if viewer.may(operation, REGISTRY):
        return True
    if any(
        viewer.may(operation, application(each)) for each in await library.applications(contract, ContractKind.ODCS)
    ):
        return True
    if any(
        viewer.may(operation, application(each)) for each in await library.applications(contract, ContractKind.ODPS)
    ):
        return all(map(viewer.may_read, await library.subjects(contract)))
    return False
