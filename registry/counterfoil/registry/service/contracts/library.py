"""Reading published contracts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from counterfoil.schema.documents.nodes import plain_value
from counterfoil.schema.documents.yaml_reader import read_yaml
from counterfoil.schema.errors import ContractNotFound
from counterfoil.schema.rest.contracts import ContractKind, ContractVersions

if TYPE_CHECKING:
    from counterfoil.registry.service.contracts.records import ContractRecords
    from counterfoil.registry.service.contracts.verdicts.sides import Sides
    from counterfoil.schema.contexts import QualifiedSubject
    from counterfoil.schema.rest.contracts import PublishedContract

_SHOWN = 80


class Library:
    """The use cases of reading contracts."""

    def __init__(self, records: ContractRecords, *, sides: Sides) -> None:
        self._records = records
        self._sides = sides

    async def all(self) -> list[ContractVersions]:
        """Return all contracts with the numbers of their versions."""
        return _grouped(await self._records.contract_keys())

    async def get(self, contract: str) -> list[ContractVersions]:
        """Return a contract with the numbers of its versions; raise ``ContractNotFound`` if there is none."""
        found = _grouped(await self._records.contract_keys(contract))
        if not found:
            raise self.no_contract(contract)
        return found

    @staticmethod
    def no_contract(contract: str) -> ContractNotFound:
        """Return the error for a contract that does not exist."""
        return ContractNotFound(f"There is no contract {contract[:_SHOWN]!r}")

    @staticmethod
    def no_version(contract: str, version: str) -> ContractNotFound:
        """Return the error for a version of a contract that does not exist."""
        return ContractNotFound(f"Contract {contract[:_SHOWN]!r} has no version {version[:_SHOWN]!r}")

    async def applications(self, contract: str, kind: ContractKind) -> set[str]:
        """Return the applications that offer (ODCS) or read (ODPS) a contract."""
        return {party.application for party in await self._records.parties(kind, [contract])}

    async def subjects(self, contract: str) -> list[QualifiedSubject]:
        """Return the subjects that the published versions of a contract are about, sorted."""
        return await self._sides.subjects(contract)

    async def version(self, contract: str, version: str, kind: ContractKind | None = None) -> PublishedContract:
        """Return a version of a contract, of a kind: by default a producer's, or else a consumer's.

        Raises ``ContractNotFound``.
        """
        for each in ContractKind if kind is None else (kind,):
            found = await self._records.published(contract, each, version)
            if found is not None:
                return found
        raise self.no_version(contract, version)


def plain_contract(contract: PublishedContract) -> Any:
    """Return the content of the file as JSON, which is valid under the same standard."""
    root = read_yaml(contract.text)
    return None if root is None else plain_value(root)


def _grouped(keys: list[tuple[str, ...]]) -> list[ContractVersions]:
    versions: dict[tuple[str, str], list[str]] = {}
    for contract, kind, version in keys:
        versions.setdefault((contract, kind), []).append(version)
    return [ContractVersions(name, ContractKind(kind), tuple(found)) for (name, kind), found in versions.items()]
