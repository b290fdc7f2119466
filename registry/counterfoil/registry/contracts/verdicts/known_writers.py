"""Which writers the readers of a question have met: the versions with whose schemas they may read.

Of a consumer that declares no schema of its own it is taken that it reads with the schemas that were live in the
environment when its version was first deployed there, or when it was published, where it was never deployed.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
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
from counterfoil.registry.contracts.verdicts.counterparts import VersionPlace
from counterfoil.registry.contracts.verdicts.sides import Sides
from counterfoil.registry.store.changes import JournalChange, JournalChangeKind, WrittenChanges
from counterfoil.registry.store.protocol import Storage
from counterfoil.schema.agreements.model import major_of
from counterfoil.schema.agreements.sides import ConsumerReading, KnownWriters, Numbered, Offering, Side
from counterfoil.schema.caches import RecentValues
from counterfoil.schema.rest.contracts import ApplicationVersion, ContractKind

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
