"""Applications, contracts, environments and deployments in a storage. Every read is by a key or the prefix of one."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from counterfoil.registry.domain.contracts.stored import (
    APPLICATIONS,
    CONTRACTS,
    DEPLOYMENTS,
    ENVIRONMENTS,
    OF_SUBJECT_KIND,
    VERSIONS,
    of_subject_key,
    party_kind,
)
from counterfoil.schema.errors import ApplicationNotFound, ContractNotFound, EnvironmentNotFound

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from counterfoil.registry.domain.contracts.stored import Key, StoredKind
    from counterfoil.registry.service.storage import Storage
    from counterfoil.schema.contexts import QualifiedSubject
    from counterfoil.schema.rest.contracts import (
        Application,
        ApplicationVersion,
        ContractKind,
        ContractLink,
        Deployment,
        Environment,
        PublishedContract,
    )

_T = TypeVar("_T")
_SHOWN = 80


class Party(NamedTuple):
    """An application that offers or reads a contract, with the newest version that does."""

    application: str
    newest: str


class Held(NamedTuple, Generic[_T]):
    """The value of a record, None if there is none, and its revision, then 0."""

    value: _T | None
    revision: int


class ContractRecords:
    """What is stored about contracts in ``storage``."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    async def find(self, kind: StoredKind[_T], key: Key) -> Held[_T]:
        """Return the value of a kind with this key, and its revision."""
        found = await self._storage.records(kind.name, key)
        return Held(kind.read(found[0].document), found[0].revision) if found else Held(None, 0)

    async def all(self, kind: StoredKind[_T], prefix: Key = ()) -> list[_T]:
        """Return the values of a kind whose keys begin with ``prefix``, sorted by key."""
        return [kind.read(record.document) for record in await self._storage.records(kind.name, prefix)]

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
            raise EnvironmentNotFound(f"There is no environment {name[:_SHOWN]!r}; create it first")
        return held.value, held.revision

    async def environment_names(self) -> list[str]:
        """Return the names of all environments."""
        return [each.name for each in await self.all(ENVIRONMENTS)]

    async def contract(self, link: ContractLink) -> PublishedContract:
        """Return a published contract; raise ``ContractNotFound`` if there is none."""
        found = (await self.find(CONTRACTS, (link.id, link.kind, link.version))).value
        if found is None:
            raise ContractNotFound(f"Contract {link.id[:_SHOWN]!r} has no version {link.version[:_SHOWN]!r}")
        return found

    # --- what leads from one to others

    async def contracts_of(self, subject: QualifiedSubject) -> list[str]:
        """Return the ids of the contracts that are about a subject."""
        return [record.key[-1] for record in await self._storage.records(OF_SUBJECT_KIND, of_subject_key(subject))]

    async def parties(self, kind: ContractKind, contract: str) -> list[Party]:
        """Return the applications that offer a contract (ODCS), or that read it (ODPS)."""
        found = await self._storage.records(party_kind(kind), (contract,))
        return [Party(record.key[1], record.document["version"]) for record in found]

    async def live(self, environment: str, applications: Iterable[str]) -> list[ApplicationVersion]:
        """Return the versions of some applications that are live in an environment, each once."""
        names = sorted(set(applications))
        found = await asyncio.gather(*(self.all(DEPLOYMENTS, (environment, name)) for name in names))
        keys = dict.fromkeys((each.application, each.version) for part in found for each in part)
        return await self.versions(keys)

    async def versions(self, keys: Iterable[tuple[str, str]]) -> list[ApplicationVersion]:
        """Return versions of applications by name and version; those that do not exist are left out."""
        found: list[Held[ApplicationVersion]] = await asyncio.gather(*(self.find(VERSIONS, key) for key in keys))
        return [each.value for each in found if each.value is not None]

    async def deployments(self, environment: str, application: str | None = None) -> Sequence[Deployment]:
        """Return what is live in an environment, of one application or of all."""
        prefix = (environment,) if application is None else (environment, application)
        return await self.all(DEPLOYMENTS, prefix)

    async def contract_keys(self, contract: str | None = None) -> list[Key]:
        """Return the keys of the versions of a contract, or of all: id, kind, version."""
        prefix = () if contract is None else (contract,)
        return [record.key for record in await self._storage.records(CONTRACTS.name, prefix)]
