"""Which versions of other applications count for a verdict: those of an environment, or of a branch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from counterfoil.registry.service.contracts.verdicts.sides import observed_side
from counterfoil.schema.contexts import parse_subject
from counterfoil.schema.reads.model import Activity
from counterfoil.schema.rest.contracts import ContractKind

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence

    from counterfoil.registry.service.contracts.records import ContractRecords, Party
    from counterfoil.registry.service.contracts.usage import ObservedUsage
    from counterfoil.registry.service.contracts.verdicts.sides import Sides
    from counterfoil.schema.reads.sides import Numbered, Offering, Side


@dataclass(frozen=True, slots=True)
class Place:
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


ANYWHERE = Place()

Named = tuple[str, "Offering"]
"""What is offered, with a name by which a reader chooses it among several topics of its contract."""

Declared = tuple[str, str]
"""The name of an application, and the id of a contract that it declares to read."""


@dataclass(frozen=True, slots=True)
class Readers:
    """Those who read some contracts: the versions that count, and the newest ones of those that do not."""

    live: tuple[Side, ...]
    pending: tuple[Side, ...]


class Counterparts:
    """Finds the versions that offer or read contracts, and those who were seen to read."""

    def __init__(self, *, records: ContractRecords, sides: Sides, usage: ObservedUsage) -> None:
        self._records = records
        self._sides = sides
        self._usage = usage

    async def writers(self, contracts: Iterable[str], place: Place) -> list[Side]:
        """Return the versions that count and offer one of some contracts."""
        wanted = sorted(set(contracts))
        live, _ = await self._versions(await self._records.parties(ContractKind.ODCS, wanted), place)
        found = await self._sides.sides(await self._records.versions(live), contracts=wanted)
        return [each for each in found if each.offerings]

    async def readers(self, contracts: Iterable[str], place: Place) -> Readers:
        """Return the versions that read one of some contracts, with what they read of them."""
        parties = await self._records.parties(ContractKind.ODPS, sorted(set(contracts)))
        by_application: dict[str, list[str]] = {}
        for each in parties:
            by_application.setdefault(each.application, []).append(each.contract)
        live, others = await self._versions(parties, place)
        reading = await self._sides.readings([*live, *others], by_application)
        return Readers(
            tuple(each for each in reading[: len(live)] if each.readings),
            tuple(each for each in reading[len(live) :] if each.readings),
        )

    async def observed(
        self, offerings: Iterable[Named], *, place: Place, left_out: Container[str], declared: Container[Declared]
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

    async def _versions(self, parties: Sequence[Party], place: Place) -> tuple[list[Numbered], list[Numbered]]:
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

    async def of_application(self, application: str, place: Place) -> list[Side]:
        """Return what the versions of an application that count offer and read; anywhere there are none."""
        if place.branch is not None:
            found = await self._records.newest_on(place.branch, [application])
        elif place.environment is not None:
            found = await self._records.versions(await self._records.live(place.environment, [application]))
        else:
            return []
        return [await self._sides.side(each) for each in found]

    async def absent(self, side: Side, place: Place) -> list[str]:
        """Return the other applications that offer or read the contracts of a version, and are not on the branch."""
        if place.branch is None:
            return []
        read = await self._records.parties(ContractKind.ODPS, sorted({each.contract for each in side.offerings}))
        written = await self._records.parties(ContractKind.ODCS, sorted({each.contract for each in side.readings}))
        names = {each.application for each in (*read, *written)} - {side.application}
        found = {each.application for each in await self._records.newest_on(place.branch, names)}
        return sorted(names - found)
