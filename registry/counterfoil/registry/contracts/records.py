"""The records of contracts in a storage; every read is by a key or the prefix of one, and cached."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar

from counterfoil.registry.contracts.stored import (
    APPLICATIONS,
    CONTRACTS,
    DEPLOYMENTS,
    ENVIRONMENTS,
    INPUT_PORTS,
    LIVE_HISTORIES,
    OF_SUBJECT_KIND,
    PORTS_KIND,
    VERSIONS,
    of_subject_key,
    party_kind,
)
from counterfoil.registry.store.changes import JournalChangeKind
from counterfoil.schema.agreements.documents import expectation_of
from counterfoil.schema.caches import RecentValues
from counterfoil.schema.documents import node_of_json
from counterfoil.schema.errors import ApplicationNotFound, ContractNotFound, EnvironmentNotFound
from counterfoil.schema.rest.contracts import ContractKind
from counterfoil.schema.rest.object_forms import ReplyJson

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from counterfoil.registry.store.changes import WrittenChanges
    from counterfoil.registry.store.protocol import Storage, StorageRecord
    from counterfoil.registry.store.records import Key, StoredKind
    from counterfoil.schema.agreements import Expectation
    from counterfoil.schema.agreements.pairs import Numbered
    from counterfoil.schema.contexts import QualifiedSubject
    from counterfoil.schema.model import Schema
    from counterfoil.schema.rest.contracts import (
        Application,
        ApplicationVersion,
        ContractLink,
        Deployment,
        Environment,
        PublishedContract,
    )


# A cache of records, each valid until any server writes one with a key that begins as the request for it.

_KnownValue = TypeVar("_KnownValue")
_Place = tuple[str, "Key"]
_MAX_RECORDS: Final = 200_000


class KnownRecords:
    """Reads records of ``storage`` by kind and the beginning of their keys, and caches the values in them.

    The cache is as current as the storage's last call of its observers, as every request has waited for it.
    """

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._known: RecentValues[_Place, Sequence[Any]] = RecentValues(_MAX_RECORDS)
        self._being_read: dict[_Place, object] = {}
        storage.observe(self._note)

    async def under(
        self, kind: str, prefix: Key, read: Callable[[StorageRecord], _KnownValue]
    ) -> Sequence[_KnownValue]:
        """Return the values of the records of a kind whose keys begin with ``prefix``, sorted by key.

        ``read`` is the same function for all requests of a kind.
        """
        known: Sequence[_KnownValue] | None = self._known.get((kind, prefix))
        return (await self.each_under(kind, [prefix], read))[0] if known is None else known

    async def each_under(
        self, kind: str, prefixes: Sequence[Key], read: Callable[[StorageRecord], _KnownValue]
    ) -> Sequence[Sequence[_KnownValue]]:
        """Return what :meth:`under` returns for each prefix; what is not cached is read at once."""
        found: dict[Key, Sequence[_KnownValue] | None] = {each: self._known.get((kind, each)) for each in prefixes}
        if missing := [each for each, values in found.items() if values is None]:
            found |= await self._read(kind, missing, read)
        return [found[each] or () for each in prefixes]

    async def _read(
        self, kind: str, prefixes: list[Key], read: Callable[[StorageRecord], _KnownValue]
    ) -> dict[Key, Sequence[_KnownValue]]:
        reading = object()
        self._being_read |= {(kind, each): reading for each in prefixes}
        found: dict[Key, Sequence[_KnownValue]] = {}
        try:
            for prefix, records in zip(prefixes, await self._storage.records_under(kind, prefixes), strict=True):
                values = found[prefix] = tuple(map(read, records))
                if self._being_read.get((kind, prefix)) is reading:  # otherwise it was written to in the meantime
                    self._known.put((kind, prefix), values, weight=1 + len(values))
        finally:
            for prefix in prefixes:
                if self._being_read.get((kind, prefix)) is reading:
                    del self._being_read[kind, prefix]
        return found

    def _note(self, written: WrittenChanges | None, /) -> None:
        """Remove what a write may have changed."""
        if written is None:
            self._known = RecentValues(_MAX_RECORDS)
            self._being_read.clear()
            return
        for change in written.changes:
            if change.kind is JournalChangeKind.RECORD and change.document is not None:
                kind, key = change.document["kind"], tuple(change.document["key"])
                for length in range(len(key) + 1):
                    self._known.drop((kind, key[:length]))
                    self._being_read.pop((kind, key[:length]), None)


# What is stored about contracts in a storage. Every read is by a key or the prefix of one.
#
# Contracts with their texts are read from the storage; all other records are cached.

_T = TypeVar("_T")
_SHOWN = 80


class Party(NamedTuple):
    """An application that offers or reads a contract, with the newest version that does."""

    contract: str
    application: str
    newest: str


class HeldRecord(NamedTuple, Generic[_T]):
    """The value of a record, None if there is none, and its revision, then 0."""

    value: _T | None
    revision: int


def _party(record: StorageRecord) -> Party:
    contract, application = record.key
    return Party(contract, application, record.document["version"])


class ContractRead(NamedTuple):
    """What a version reads of one contract by one file: the file, its expectations, and the readers' schemas."""

    link: ContractLink
    expectations: tuple[Expectation, ...]
    schemas: Mapping[str, Schema]


def _read(record: StorageRecord) -> ContractRead:
    held = INPUT_PORTS.read(ReplyJson(record.document))
    return ContractRead(held.link, tuple(expectation_of(node_of_json(each)) for each in held.ports), held.schemas)


def _link(record: StorageRecord) -> ContractLink:
    return CONTRACTS.read(record.document).link


def _last_part(record: StorageRecord) -> str:
    return record.key[-1]


class ContractRecords:
    """What is stored about contracts in ``storage``."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._known = KnownRecords(storage)

    async def find(self, kind: StoredKind[_T], key: Key) -> HeldRecord[_T]:
        """Return the value of a kind with this key, and its revision."""
        found = await self._known.under(kind.name, key, kind.held)
        return HeldRecord(*found[0]) if found else HeldRecord(None, 0)

    async def all(self, kind: StoredKind[_T], prefix: Key = ()) -> list[_T]:
        """Return the values of a kind whose keys begin with ``prefix``, sorted by key."""
        return [value for value, _ in await self._known.under(kind.name, prefix, kind.held)]

    async def each(self, kind: StoredKind[_T], prefixes: Sequence[Key]) -> list[_T]:
        """Return the values of a kind whose keys begin with one of ``prefixes``, prefix by prefix."""
        found = await self._known.each_under(kind.name, prefixes, kind.held)
        return [value for part in found for value, _ in part]

    # --- one of a kind, which must exist

    async def application(self, name: str) -> Application:
        """Return an application; raise ``ApplicationNotFound`` if there is none of this name."""
        found = (await self.find(APPLICATIONS, (name,))).value
        if found is None:
            raise ApplicationNotFound(f"There is no application {name[:_SHOWN]!r}; publish its contracts first")
        return found

    async def version(self, application: str, version: str) -> tuple[ApplicationVersion, int]:
        """Return a version of an application and its revision; raise ``ApplicationNotFound`` if there is none."""
        held = await self.find(VERSIONS, (application, version))
        if held.value is None:
            raise ApplicationNotFound(
                f"Application {application[:_SHOWN]!r} has no version {version[:_SHOWN]!r}; publish its contracts first"
            )
        return held.value, held.revision

    async def environment(self, name: str) -> tuple[Environment, int]:
        """Return an environment and its revision; raise ``EnvironmentNotFound`` if there is none of this name."""
        held = await self.find(ENVIRONMENTS, (name,))
        if held.value is None:
            raise EnvironmentNotFound(
                f"There is no environment {name[:_SHOWN]!r}; create it with counterfoil record environment"
            )
        return held.value, held.revision

    async def environment_names(self) -> list[str]:
        """Return the names of all environments."""
        return [each.name for each in await self.all(ENVIRONMENTS)]

    # --- contracts with their texts

    async def published(self, contract: str, kind: ContractKind, version: str) -> PublishedContract | None:
        """Return a version of a contract; None if there is none."""
        found = await self._storage.records(CONTRACTS.name, (contract, kind, version))
        return CONTRACTS.read(found[0].document) if found else None

    async def contracts(self, links: Sequence[ContractLink]) -> list[PublishedContract]:
        """Return published contracts in the order of ``links``; raise ``ContractNotFound`` if one does not exist."""
        keys = [(link.id, str(link.kind), link.version) for link in links]
        found = await self._storage.records_under(CONTRACTS.name, keys)
        for (contract, _, version), records in zip(keys, found, strict=True):
            if not records:
                raise ContractNotFound(f"Contract {contract[:_SHOWN]!r} has no version {version[:_SHOWN]!r}")
        return [CONTRACTS.read(records[0].document) for records in found]

    async def promised(self, contract: str) -> list[ContractLink]:
        """Return the published versions of a producer's contract."""
        return list(await self._known.under(CONTRACTS.name, (contract, ContractKind.ODCS), _link))

    async def contract_keys(self, contract: str | None = None) -> list[Key]:
        """Return the keys of the versions of a contract, or of all: id, kind, version."""
        prefix = () if contract is None else (contract,)
        return [record.key for record in await self._storage.records(CONTRACTS.name, prefix)]

    # --- what leads from one to others

    async def contracts_of(self, subject: QualifiedSubject) -> list[str]:
        """Return the ids of the contracts that are about a subject."""
        return list(await self._known.under(OF_SUBJECT_KIND, of_subject_key(subject), _last_part))

    async def parties(self, kind: ContractKind, contracts: Sequence[str]) -> list[Party]:
        """Return the applications that offer (ODCS) or read (ODPS) one of some contracts."""
        found = await self._known.each_under(party_kind(kind), [(each,) for each in contracts], _party)
        return [each for part in found for each in part]

    async def reads(self, keys: Sequence[Key]) -> Sequence[Sequence[ContractRead]]:
        """Return what versions read, by contract, application and version; empty where it is not stored apart."""
        return await self._known.each_under(PORTS_KIND, keys, _read)

    async def live(self, environment: str, applications: Iterable[str]) -> list[Numbered]:
        """Return the versions of some applications that are live in an environment, each once."""
        names = sorted(set(applications))
        found = await self.each(DEPLOYMENTS, [(environment, name) for name in names])
        return list(dict.fromkeys((each.application, each.version) for each in found))

    async def newest_on(self, branch: str, applications: Iterable[str]) -> list[ApplicationVersion]:
        """Return the newest version of each of some applications that comes from a branch."""
        found: dict[str, ApplicationVersion] = {}
        for each in await self.each(VERSIONS, [(name,) for name in sorted(set(applications))]):
            known = found.get(each.application)
            if each.branch == branch and (known is None or known.create_ts <= each.create_ts):
                found[each.application] = each
        return list(found.values())

    async def versions(self, keys: Iterable[Numbered]) -> list[ApplicationVersion]:
        """Return versions of applications by name and version; those that do not exist are left out."""
        return await self.each(VERSIONS, list(keys))

    async def was_used(self, environment: str) -> bool:
        """Return whether anything is or was recorded as live in an environment."""
        prefix = (environment,)
        return bool(await self.all(DEPLOYMENTS, prefix) or await self.all(LIVE_HISTORIES, prefix))

    async def deployments(self, environment: str, application: str | None = None) -> Sequence[Deployment]:
        """Return what is live in an environment, of one application or of all."""
        prefix = (environment,) if application is None else (environment, application)
        return await self.all(DEPLOYMENTS, prefix)
