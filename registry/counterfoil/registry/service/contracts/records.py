"""What is stored about contracts in a storage. Every read is by a key or the prefix of one.

Contracts with their texts are read from the storage; all other records are cached.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from counterfoil.registry.domain.contracts.history import LIVE_HISTORIES
from counterfoil.registry.domain.contracts.stored import (
    APPLICATIONS,
    CONTRACTS,
    DEPLOYMENTS,
    ENVIRONMENTS,
    INPUT_PORTS,
    OF_SUBJECT_KIND,
    PORTS_KIND,
    VERSIONS,
    of_subject_key,
    party_kind,
)
from counterfoil.registry.service.contracts.known_records import KnownRecords
from counterfoil.schema.agreements.odps import expectation_of
from counterfoil.schema.documents.node_json import node_of_json
from counterfoil.schema.errors import ApplicationNotFound, ContractNotFound, EnvironmentNotFound
from counterfoil.schema.rest.contracts import ContractKind
from counterfoil.schema.rest.json_values import ReplyJson

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from counterfoil.registry.domain.stored_kinds import Key, StoredKind
    from counterfoil.registry.service.storage import Record, Storage
    from counterfoil.schema.agreements.model import Expectation
    from counterfoil.schema.contexts import QualifiedSubject
    from counterfoil.schema.model import Schema
    from counterfoil.schema.reads.sides import Numbered
    from counterfoil.schema.rest.contracts import (
        Application,
        ApplicationVersion,
        ContractLink,
        Deployment,
        Environment,
        PublishedContract,
    )

_T = TypeVar("_T")
_SHOWN = 80


class Party(NamedTuple):
    """An application that offers or reads a contract, with the newest version that does."""

    contract: str
    application: str
    newest: str


class Held(NamedTuple, Generic[_T]):
    """The value of a record, None if there is none, and its revision, then 0."""

    value: _T | None
    revision: int


def _party(record: Record) -> Party:
    contract, application = record.key
    return Party(contract, application, record.document["version"])


class Read(NamedTuple):
    """What a version reads of one contract by one file: the file, its expectations, and the readers' schemas."""

    link: ContractLink
    expectations: tuple[Expectation, ...]
    schemas: Mapping[str, Schema]


def _read(record: Record) -> Read:
    held = INPUT_PORTS.read(ReplyJson(record.document))
    return Read(held.link, tuple(expectation_of(node_of_json(each)) for each in held.ports), held.schemas)


def _link(record: Record) -> ContractLink:
    return CONTRACTS.read(record.document).link


def _last_part(record: Record) -> str:
    return record.key[-1]


class ContractRecords:
    """What is stored about contracts in ``storage``."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._known = KnownRecords(storage)

    async def find(self, kind: StoredKind[_T], key: Key) -> Held[_T]:
        """Return the value of a kind with this key, and its revision."""
        found = await self._known.under(kind.name, key, kind.held)
        return Held(*found[0]) if found else Held(None, 0)

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

    async def reads(self, keys: Sequence[Key]) -> Sequence[Sequence[Read]]:
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
