"""All sides of a question, read before anything is judged: writers, readers, and what readers have met."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Final

from counterfoil.registry.contracts.records import (
    ANYWHERE,
    DEPLOYMENTS,
    HISTORY_KINDS,
    LIVE_HISTORIES,
    PUBLISHED_BESIDE,
    VERSIONS,
    ContractRecords,
    LiveHistory,
    Period,
    PublishedBeside,
    party_kind,
)
from counterfoil.registry.contracts.verdicts.sides import Counterparts, Named, Sides, VersionPlace
from counterfoil.registry.store.changes import JournalChange, JournalChangeKind, WrittenChanges
from counterfoil.registry.store.protocol import Storage
from counterfoil.registry.subjects.reading import SchemaReader
from counterfoil.registry.subjects.versions import VersionEntry
from counterfoil.registry.topics.use_cases import TOPIC_STATISTICS
from counterfoil.schema.agreements import major_of
from counterfoil.schema.agreements.findings import Offer, ReaderOrigin
from counterfoil.schema.agreements.pairs import (
    ConsumerReading,
    EarlierOffering,
    Gathered,
    KnownWriters,
    Numbered,
    Offering,
    RetainedRecords,
    Side,
    consumer_groups_of,
)
from counterfoil.schema.caches import RecentValues
from counterfoil.schema.contexts import DEFAULT_CONTEXT, QualifiedSubject, parse_subject
from counterfoil.schema.rest.contracts import ApplicationVersion, ContractKind
from counterfoil.schema.rest.verdicts import ReasonCode, VerdictReason

# Which writers the readers of a question have met: the versions with whose schemas they may read.
#
# Of a consumer that declares no schema of its own it is taken that it reads with the schemas that were live in the
# environment when its version was first deployed there, or when it was published, where it was never deployed.

_MAX_READERS: Final = 50_000
_READ_KINDS: Final = HISTORY_KINDS | {DEPLOYMENTS.name, VERSIONS.name, party_kind(ContractKind.ODCS)}
"""The kinds of the records that are read here."""

Major = tuple[str, str]
"""The id of a contract, and one of its major versions."""


@dataclass(slots=True)
class _Search:
    """The readers of which writers are looked for, with what they read and is not found yet."""

    wanted: dict[Numbered, set[Major]]
    histories: dict[Numbered, LiveHistory]
    unstored: set[Numbered]
    """The versions that are live, and whose history is not stored: they were deployed by an earlier release."""
    published: dict[Numbered, ApplicationVersion] = field(default_factory=dict)
    beside: dict[Numbered, PublishedBeside] = field(default_factory=dict)
    writers: dict[str, list[ApplicationVersion]] = field(default_factory=dict)
    """All versions of the applications that offer a contract, by contract."""


_Found = dict["Numbered", "list[Numbered]"]


class MetWriters:
    """Finds the writers that readers have met. Records are read at once for all readers.

    What was found for a question is cached until a record is written that it may depend on.
    """

    def __init__(self, storage: Storage, *, records: ContractRecords, sides: Sides) -> None:
        self._records = records
        self._sides = sides
        self._found: RecentValues[Hashable, KnownWriters] = RecentValues(_MAX_READERS)
        self._writes = 0
        storage.observe(self._note, of_records=True)

    def _note(self, written: WrittenChanges | None, /) -> None:
        """Forget what was found if a write may change it."""
        changes = () if written is None else written.changes
        if written is None or any(_is_read_from(each) for each in changes):
            self._writes += 1
            self._found = RecentValues(_MAX_READERS)

    async def known(self, place: VersionPlace, readers: Iterable[Side], others: Iterable[Side] = ()) -> KnownWriters:
        """Return the writers that ``readers`` have met, and also when ``others`` were live."""
        readings = [each for side in readers for each in side.readings]
        reading = ((each.application, each.version) for each in readings)
        numbers = tuple(dict.fromkeys(chain(reading, ((each.application, each.version) for each in others))))
        key = (place, numbers, frozenset((each.contract, each.major) for each in readings))
        found, writes = self._found.get(key), self._writes
        if found is None:
            wanted: dict[Numbered, set[Major]] = {}
            for each in readings:
                wanted.setdefault((each.application, each.version), set()).add((each.contract, each.major))
            found = await self._known(place, wanted, numbers)
            if writes == self._writes:
                self._found.put(key, found, weight=1 + len(numbers))
        return found

    async def _known(
        self, place: VersionPlace, wanted: Mapping[Numbered, set[Major]], numbers: Sequence[Numbered]
    ) -> KnownWriters:
        histories, unstored = await self._histories(numbers, place.environment)
        contracts = {contract for each in wanted.values() for contract, _ in each}
        search = _Search({reader: set(each) for reader, each in wanted.items()}, histories, unstored)
        steps = (
            self._at_deployment,
            self._first_together,
            self._at_publication,
            self._published_by_then,
            self._newest_before,
        )
        found: dict[Numbered, list[list[Numbered]]] = {}
        for step in steps:
            if not search.wanted:
                break
            await self._add(search, await step(search, place), found)
        writers = {each for groups in found.values() for group in groups for each in group}
        versions = await self._records.versions(sorted(writers))
        sides = {
            (each.application, each.version): each for each in await self._sides.sides(versions, contracts=contracts)
        }
        together = {
            group: [sides[each] for each in group if each in sides]
            for group in {tuple(group) for groups in found.values() for group in groups}
        }
        groups = {reader: [together[tuple(each)] for each in groups] for reader, groups in found.items()}
        return KnownWriters(groups, partial(_were_together, histories))

    async def _add(self, search: _Search, step: _Found, found: dict[Numbered, list[list[Numbered]]]) -> None:
        """Add the writers of a step; what they offer of a reader's major versions is no longer looked for."""
        numbers = sorted({each for group in step.values() for each in group})
        versions = {(each.application, each.version): each for each in await self._records.versions(numbers)}
        for reader, group in step.items():
            if group:
                found.setdefault(reader, []).append(group)
                offered = {major for each in group if each in versions for major in _offered(versions[each])}
                search.wanted[reader] -= offered
                if not search.wanted[reader]:
                    del search.wanted[reader]

    async def _histories(
        self, numbers: Sequence[Numbered], environment: str | None
    ) -> tuple[dict[Numbered, LiveHistory], set[Numbered]]:
        """Return when versions were live in an environment, and of which of them this is not stored."""
        if environment is None:
            return {}, set()
        stored = await self._records.each(LIVE_HISTORIES, [(environment, *each) for each in numbers])
        histories = {(each.application, each.version): each for each in stored}
        missing = {each for each in numbers if each not in histories}
        live = await self._records.each(DEPLOYMENTS, sorted({(environment, name) for name, _ in missing}))
        unstored: dict[Numbered, int] = {}
        for each in live:
            number = (each.application, each.version)
            if number in missing:
                unstored[number] = min(unstored.get(number, each.create_ts), each.create_ts)
        histories |= {
            number: LiveHistory(environment, *number, periods=(Period(since),)) for number, since in unstored.items()
        }
        return histories, set(unstored)

    # --- steps, each with what counts less than the one before

    async def _at_deployment(self, search: _Search, _: VersionPlace) -> _Found:
        """Return the writers that were live when a reader was first live."""
        return {
            reader: list(search.histories[reader].writers) for reader in search.wanted if reader in search.histories
        }

    async def _first_together(self, search: _Search, place: VersionPlace) -> _Found:
        """Return the first writers with which a reader was live, where none was when it was deployed."""
        environment = place.environment
        readers = [each for each in search.wanted if each in search.histories]
        if environment is None or not readers:
            return {}
        await self._read_writers(search, readers)
        names = sorted({each.application for versions in search.writers.values() for each in versions})
        stored = await self._records.each(LIVE_HISTORIES, [(environment, name) for name in names])
        by_number = {(each.application, each.version): each for each in stored}
        live = {number for number in await self._records.live(environment, names) if number not in by_number}
        by_number |= (await self._histories(sorted(live), environment))[0]
        return {each: _first_met(search, each, by_number) for each in readers}

    async def _at_publication(self, search: _Search, place: VersionPlace) -> _Found:
        """Return the writers that were live in the environment when a reader was published, or the newest anywhere."""
        readers = list(search.wanted)
        if place.branch is not None:
            return await self._newest_before(search, place)
        held = await self._records.each(PUBLISHED_BESIDE, readers)
        search.beside = {(each.application, each.version): each for each in held}
        return {
            reader: list(beside.writers.get(place.environment or ANYWHERE, ()))
            for reader, beside in search.beside.items()
        }

    async def _published_by_then(self, search: _Search, _: VersionPlace) -> _Found:
        """Return the newest writers anywhere when a reader was published, where none was live in the environment."""
        return {
            reader: list(search.beside[reader].writers.get(ANYWHERE, ()))
            for reader in search.wanted
            if reader in search.beside
        }

    async def _newest_before(self, search: _Search, place: VersionPlace) -> _Found:
        """Return the newest versions that were published before a reader, on the branch if there is one.

        Elsewhere it is only of readers that an earlier release stored that nothing better is known.
        """
        readers = [each for each in search.wanted if each not in search.beside]
        published = await self._records.each(VERSIONS, readers)
        times = {(each.application, each.version): each.create_ts for each in published}
        times |= {each: search.histories[each].since for each in search.unstored if each in times}
        await self._read_writers(search, readers)
        return {
            reader: [
                (newest.application, newest.version)
                for major in sorted(search.wanted[reader])
                for newest in _newest(search.writers.get(major[0], ()), major, times[reader], place.branch)
            ]
            for reader in readers
            if reader in times
        }

    async def _read_writers(self, search: _Search, readers: Iterable[Numbered]) -> None:
        """Read all versions of the applications that offer what is still looked for."""
        contracts = {contract for each in readers for contract, _ in search.wanted[each]} - search.writers.keys()
        parties = await self._records.parties(ContractKind.ODCS, sorted(contracts))
        names = sorted({each.application for each in parties})
        versions = await self._records.each(VERSIONS, [(name,) for name in names])
        for contract in contracts:
            search.writers[contract] = [each for each in versions if contract in {one for one, _ in _offered(each)}]


def _were_together(histories: Mapping[Numbered, LiveHistory], offered: Offering, reading: ConsumerReading) -> bool:
    """Return whether the versions of a writer and of a reader were live in the environment at the same time."""
    writer = histories.get((offered.application, offered.version))
    reader = histories.get((reading.application, reading.version))
    return writer is not None and reader is not None and writer.was_with(reader)


def _is_read_from(change: JournalChange) -> bool:
    """Return whether what readers have met may depend on what was changed."""
    return change.kind is JournalChangeKind.RECORD and (change.document or {}).get("kind") in _READ_KINDS


def _offered(version: ApplicationVersion) -> set[Major]:
    return {(link.id, major_of(link.version)) for link in version.contracts if link.kind is ContractKind.ODCS}


def _first_met(search: _Search, reader: Numbered, histories: Mapping[Numbered, LiveHistory]) -> list[Numbered]:
    """Return the first versions with which a reader was live, of those that offer what it reads.

    Of a reader that was deployed by an earlier release it is not known with whom it was live, except those that still
    are, and were deployed before it.
    """
    mine = search.histories[reader]
    found: list[Numbered] = []
    for major in sorted(search.wanted[reader]):
        together: dict[Numbered, int] = {}
        for version in search.writers.get(major[0], ()):
            number = (version.application, version.version)
            other = histories.get(number)
            since = None if other is None or major not in _offered(version) else other.together_since(mine)
            if since is not None and (reader not in search.unstored or since <= mine.since):
                together[number] = since
        first = min(together.values(), default=0)
        found += [number for number, since in together.items() if since == first]
    return found


def _newest(
    versions: Iterable[ApplicationVersion], major: Major, until: int, branch: str | None
) -> list[ApplicationVersion]:
    """Return the newest version of each application that offers a major version of a contract at a time (epoch ms)."""
    found: dict[str, ApplicationVersion] = {}
    for each in versions:
        is_there = each.create_ts <= until and (branch is None or each.branch == branch)
        known = found.get(each.application)
        if is_there and major in _offered(each) and (known is None or known.create_ts <= each.create_ts):
            found[each.application] = each
    return list(found.values())


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


# The sides of a question about one version, and of one about all that are live.


@dataclass(frozen=True, slots=True)
class LiveSides:
    """The versions that offer some contracts and those that read them, with what is known of both."""

    writers: Sequence[Side]
    readers: Sequence[Side]
    known: KnownWriters
    retained: RetainedRecords


class Gathering:
    """Reads all sides of a question."""

    def __init__(
        self, *, sides: Sides, counterparts: Counterparts, retained: RetainedVersions, met: MetWriters
    ) -> None:
        self._sides = sides
        self._counterparts = counterparts
        self._retained = retained
        self._met = met

    async def of_version(
        self, side: Side, replaced: Sequence[Side], place: VersionPlace, ignored: Sequence[str]
    ) -> tuple[Gathered, list[VerdictReason]]:
        """Return all sides of a version, and what nobody offers any more: to its consumers, or to itself.

        ``replaced`` is what is live now.
        """
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

    async def live(self, contracts: Sequence[str], place: VersionPlace) -> LiveSides:
        """Return the versions that count and offer or read some contracts."""
        writers = await self._counterparts.writers(contracts, place)
        readers = (await self._counterparts.readers(contracts, place)).live
        again = {each.contract for one in readers for each in one.readings if each.reads_again}
        offered = [each for one in writers for each in one.offerings if each.contract in again]
        retained = await self._retained.records(offered, place.environment)
        return LiveSides(writers, readers, await self._met.known(place, readers), retained)


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
