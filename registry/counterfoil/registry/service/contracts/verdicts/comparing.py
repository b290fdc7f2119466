"""What differs between two versions of a contract, and what of it breaks someone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.schema.agreements.stored import are_the_same
from counterfoil.schema.errors import ContractNotFound
from counterfoil.schema.reads.side_differences import compare_sides
from counterfoil.schema.rest.contract_diffs import ContractDiff
from counterfoil.schema.rest.contracts import ContractKind

if TYPE_CHECKING:
    from counterfoil.registry.service.contracts.records import ContractRecords
    from counterfoil.registry.service.contracts.verdicts.sides import Sides
    from counterfoil.registry.service.judging import LongJudgements
    from counterfoil.schema.rest.contracts import PublishedContract

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
