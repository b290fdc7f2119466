"""What is stored of the time at which versions were live and published: written beside deployments and publications."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.registry.domain.contracts.history import (
    ANYWHERE,
    LIVE_HISTORIES,
    PUBLISHED_BESIDE,
    LiveHistory,
    PublishedBeside,
    ended,
    went_live,
)
from counterfoil.registry.domain.writes.plan import Plan
from counterfoil.schema.rest.contracts import ContractKind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from counterfoil.registry.service.contracts.records import ContractRecords
    from counterfoil.registry.service.contracts.verdicts.sides import Sides
    from counterfoil.schema.reads.sides import Numbered
    from counterfoil.schema.rest.contracts import Deployment

_NOTHING = Plan()


class Histories:
    """Plans the records of histories. Times are epoch ms."""

    def __init__(self, *, records: ContractRecords, sides: Sides) -> None:
        self._records = records
        self._sides = sides

    async def went_live(self, given: Deployment, now_ms: int) -> Plan:
        """Return the plan that records that a version is live; the first time with the writers that it meets."""
        key = (given.environment, given.application, given.version)
        held = await self._records.find(LIVE_HISTORIES, key)
        new = LiveHistory(*key)
        if held.value is None:
            version, _ = await self._records.version(given.application, given.version)
            contracts = {each.contract for each in (await self._sides.side(version)).readings}
            new = LiveHistory(*key, writers=tuple(await self._writers(contracts, given.environment)))
        history = went_live(held.value, new, now_ms)
        return _NOTHING if history == held.value else LIVE_HISTORIES.write(history, revision=held.revision)

    async def ended(self, gone: Deployment, now_ms: int) -> Plan:
        """Return the plan that records that a version is no longer live, if nothing else of it is."""
        live = await self._records.deployments(gone.environment, gone.application)
        if any(each.version == gone.version and each.id != gone.id for each in live):
            return _NOTHING
        held = await self._records.find(LIVE_HISTORIES, (gone.environment, gone.application, gone.version))
        history = held.value or went_live(
            None, LiveHistory(gone.environment, gone.application, gone.version), gone.create_ts
        )
        return LIVE_HISTORIES.write(ended(history, now_ms), revision=held.revision)

    async def published(self, application: str, version: str, contracts: Iterable[str]) -> Plan:
        """Return the plan that records which writers of the contracts that a version reads are there, everywhere."""
        wanted = sorted(set(contracts))
        held = await self._records.find(PUBLISHED_BESIDE, (application, version))
        known = {} if held.value is None else dict(held.value.writers)
        for name in (ANYWHERE, *await self._records.environment_names()) if wanted else ():
            known[name] = tuple(dict.fromkeys((*known.get(name, ()), *await self._writers(wanted, name))))
        beside = PublishedBeside(application, version, {name: each for name, each in known.items() if each})
        is_news = bool(wanted) and beside != held.value  # that nobody was there is known, too
        return PUBLISHED_BESIDE.write(beside, revision=held.revision) if is_news else _NOTHING

    async def _writers(self, contracts: Iterable[str], environment: str) -> list[Numbered]:
        """Return the versions that offer one of some contracts: live in an environment, or the newest ones."""
        wanted = frozenset(contracts)
        parties = await self._records.parties(ContractKind.ODCS, sorted(wanted))
        if environment == ANYWHERE:
            return sorted({(each.application, each.newest) for each in parties})
        live = await self._records.live(environment, {each.application for each in parties})
        return [
            (each.application, each.version)
            for each in await self._records.versions(live)
            if any(link.kind is ContractKind.ODCS and link.id in wanted for link in each.contracts)
        ]
