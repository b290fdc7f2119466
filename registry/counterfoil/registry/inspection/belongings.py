"""What belongs to a subject beside its versions, as far as a caller may know it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from counterfoil.registry.access.resources import AccessOperation, AccessResource, ResourceKind
from counterfoil.registry.access.rights import Viewer
from counterfoil.registry.associations.records import AssociationIndex
from counterfoil.registry.bridges.records import BridgeRecords
from counterfoil.registry.bridges.use_cases import BridgeFilter
from counterfoil.registry.contracts import visibility
from counterfoil.registry.contracts.publishing import Library
from counterfoil.registry.contracts.records import ContractRecords
from counterfoil.registry.contracts.verdicts.sides import Consumers, is_covered
from counterfoil.registry.judges.judging import Pauses
from counterfoil.registry.keys.records import KeyRecords
from counterfoil.registry.store.protocol import Storage
from counterfoil.registry.subjects.levels import alias_target
from counterfoil.schema.contexts import QualifiedSubject
from counterfoil.schema.paths import InvalidPath
from counterfoil.schema.rest.contracts import ContractKind
from counterfoil.schema.rest.inspection import NamedThing, ReaderRow
from counterfoil.schema.rest.observations import WHOLE_RECORD
from counterfoil.schema.rest.verdicts import Consumer

_MOST: Final = 200
"""The largest number of things of one kind that are listed with a subject."""


class SubjectAliases:
    """The aliases of subjects: all settings are read once, until any of them changes."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._revision = -1
        self._known: dict[QualifiedSubject, list[QualifiedSubject]] = {}
        self._reading = asyncio.Lock()

    async def of(self, subject: QualifiedSubject) -> Sequence[QualifiedSubject]:
        """Return the names that are aliases of ``subject``, sorted."""
        async with self._reading:
            revision = await self._storage.settings_revision()
            if revision != self._revision:
                self._known = await self._read()
                self._revision = revision
        return self._known.get(subject, ())

    async def _read(self) -> dict[QualifiedSubject, list[QualifiedSubject]]:
        found: dict[QualifiedSubject, list[QualifiedSubject]] = {}
        pauses = Pauses()
        for scope, settings in await self._storage.scopes():
            await pauses.pause_if_due()
            if settings.config is not None and settings.config.alias and not scope.is_context:
                found.setdefault(alias_target(settings.config.alias, scope), []).append(scope)
        return found


@dataclass(frozen=True, slots=True)
class Belongings:
    """Everything that belongs to a subject; ``owner`` is empty if none is known."""

    aliases: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    things: tuple[NamedThing, ...] = ()
    readers: tuple[ReaderRow, ...] = ()
    owner: str = ""


class SubjectBelongings:
    """Finds what belongs to a subject. ``index`` is None if associations are turned off."""

    def __init__(
        self,
        *,
        aliases: SubjectAliases,
        index: AssociationIndex | None,
        bridges: BridgeRecords,
        keys: KeyRecords,
        contracts: ContractRecords,
        library: Library,
        consumers: Consumers,
    ) -> None:
        self._aliases = aliases
        self._index = index
        self._bridges = bridges
        self._keys = keys
        self._contracts = contracts
        self._library = library
        self._consumers = consumers

    async def of(self, subject: QualifiedSubject, *, viewer: Viewer) -> Belongings:
        """Return everything that belongs to a subject which the caller may read, and which it may know itself."""
        aliases = [str(each) for each in await self._aliases.of(subject) if viewer.may_describe(each)]
        topics = () if self._index is None else await self._topics(self._index, subject)
        contracts = [each async for each in self._contracts_of(subject, viewer=viewer)]
        things = [
            *(NamedThing("contract", contract, about) for contract, about in contracts),
            *[each async for each in self._bridges_of(subject, viewer=viewer)],
            *[each async for each in self._keys_of(subject, viewer=viewer)],
        ]
        owner = await self._owner((contract for contract, _ in contracts), viewer=viewer)
        readers = await self.readers(subject, viewer=viewer)
        return Belongings(tuple(aliases[:_MOST]), tuple(topics), tuple(things), readers, owner)

    async def readers(self, subject: QualifiedSubject, *, viewer: Viewer) -> tuple[ReaderRow, ...]:
        """Return who reads a subject, as its contracts declare and as was observed."""
        found = await self._consumers.of_subject(subject)
        return tuple(map(reader_row, visibility.shown_consumers(viewer, found)[:_MOST]))

    async def readers_of_path(self, subject: QualifiedSubject, path: str, *, viewer: Viewer) -> tuple[ReaderRow, ...]:
        """Return who reads a path of a subject, what contains it, or something inside of it."""
        found: dict[tuple[str, str, str], Consumer] = {}
        for use in await self._consumers.fields(subject):
            if _is_covered_by(path, (use.path,)):
                for each in visibility.shown_consumers(viewer, use.consumers):
                    found.setdefault((each.application, each.version, each.contract), each)
        return tuple(map(reader_row, list(found.values())[:_MOST]))

    async def owner(self, subject: QualifiedSubject, *, viewer: Viewer) -> str:
        """Return the owner of a subject; an empty text if none is known."""
        return await self._owner(
            [contract async for contract, _ in self._contracts_of(subject, viewer=viewer)], viewer=viewer
        )

    @staticmethod
    async def _topics(index: AssociationIndex, subject: QualifiedSubject) -> list[str]:
        return list(dict.fromkeys(each.resource.name for each in await index.of_subject(subject)))[:_MOST]

    async def _contracts_of(self, subject: QualifiedSubject, *, viewer: Viewer) -> AsyncIterator[tuple[str, str]]:
        """Yield the contracts about a subject that the caller may see, each with the applications that offer it."""
        for contract in (await self._contracts.contracts_of(subject))[:_MOST]:
            if await visibility.may_see(self._library, viewer, AccessOperation.READ, contract):
                found = await self._library.applications(contract, ContractKind.ODCS)
                yield contract, ", ".join(sorted(filter(viewer.may_know_application, found)))

    async def _bridges_of(self, subject: QualifiedSubject, *, viewer: Viewer) -> AsyncIterator[NamedThing]:
        wanted = BridgeFilter(subject=subject)
        for held in await self._bridges.all():
            bridge = held.bridge
            if wanted.wants(bridge) and viewer.may(AccessOperation.READ, visibility.bridge_resource(bridge.name)):
                yield NamedThing("bridge", bridge.name, bridge.state.value)

    async def _keys_of(self, subject: QualifiedSubject, *, viewer: Viewer) -> AsyncIterator[NamedThing]:
        keks = [
            kek
            for kek in await self._keys.keks()
            if viewer.may(AccessOperation.READ, AccessResource(ResourceKind.KEK, kek.name))
        ]
        used = await self._keys.names_used([each.name for each in keks], subject)
        for kek in keks:
            if kek.name in used:
                yield NamedThing("key", kek.name, kek.kms_type)

    async def _owner(self, contracts: Iterable[str], *, viewer: Viewer) -> str:
        """Return the owner of the application that offers one of some contracts, if there is only one."""
        found: set[str] = set()
        for contract in contracts:
            for name in await self._library.applications(contract, ContractKind.ODCS):
                if viewer.may(AccessOperation.READ, visibility.application_resource(name)):
                    found.add((await self._contracts.application(name)).owner or name)
        return found.pop() if len(found) == 1 else ""


def reader_row(consumer: Consumer) -> ReaderRow:
    """Return a consumer as a row of a table."""
    return ReaderRow(
        consumer.application,
        consumer.version,
        consumer.contract,
        consumer.reads,
        consumer.environments,
        consumer.last_seen,
        consumer.activity,
    )


def is_read_at(reader: ReaderRow, path: str) -> bool:
    """Return whether a reader reads a path, what contains it, or something inside of it."""
    return _is_covered_by(path, reader.reads)


def _is_covered_by(path: str, reads: Iterable[str]) -> bool:
    """Return whether reads cover a path; names that are no field paths, such as those of types, are read as a whole."""
    try:
        return is_covered(path, reads)
    except InvalidPath:
        return WHOLE_RECORD in reads
