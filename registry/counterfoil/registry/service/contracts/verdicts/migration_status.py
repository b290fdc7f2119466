"""How a migration stands: its bridge, where its converter is live, and who still reads the old version."""

from __future__ import annotations

import asyncio
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from counterfoil.registry.service.contracts.verdicts.consumers import consumer_of
from counterfoil.registry.service.contracts.verdicts.counterparts import Place
from counterfoil.schema.rest.migrations import MigrationStatus

if TYPE_CHECKING:
    from counterfoil.registry.domain.contracts.migrations import Standing
    from counterfoil.registry.service.contracts.migrations import Migrations
    from counterfoil.registry.service.contracts.records import ContractRecords
    from counterfoil.registry.service.contracts.verdicts.counterparts import Counterparts
    from counterfoil.schema.reads.sides import Reading
    from counterfoil.schema.rest.migrations import ContractMigration
    from counterfoil.schema.rest.verdicts import Consumer

_VERIFICATION = "verification"


class MigrationStatuses:
    """The use case of a migration's status."""

    def __init__(self, *, migrations: Migrations, records: ContractRecords, counterparts: Counterparts) -> None:
        self._migrations = migrations
        self._records = records
        self._counterparts = counterparts

    async def status(self, migration_id: str) -> MigrationStatus:
        """Return how a migration stands; raise ``MigrationNotFound`` if there is none with this id."""
        mine = await self._migrations.get(migration_id)
        standing = await self._migrations.standing(mine)
        status = MigrationStatus(
            **asdict(mine),
            environments=tuple(await self._live_in(mine.application)),
            is_expired=standing.is_expired,
            hindrances=tuple(standing.hindrances()),
            consumers=await self._remaining(mine),
        )
        return _with_bridge(status, standing)

    async def _remaining(self, mine: ContractMigration) -> tuple[Consumer, ...]:
        """Return who reads the old version and is live somewhere; the converter does not count."""
        found: dict[tuple[str, str], tuple[Reading, list[str]]] = {}
        for name in await self._records.environment_names():
            live = (await self._counterparts.readers([mine.contract], Place(name))).live
            for reading in (each for side in live for each in side.readings):
                if reading.major == mine.source and reading.application != mine.application:
                    _, live_in = found.setdefault((reading.application, reading.version), (reading, []))
                    live_in.append(name)
        return tuple(consumer_of(*found[key]) for key in sorted(found))

    async def _live_in(self, application: str) -> list[str]:
        names = await self._records.environment_names()
        found = await asyncio.gather(*(self._records.deployments(name, application) for name in names))
        return [name for name, deployments in zip(names, found, strict=True) if deployments]


def _with_bridge(status: MigrationStatus, standing: Standing) -> MigrationStatus:
    """Return a status with what is known of the bridge; unchanged while it is not registered."""
    now, gates = standing.situation, standing.gates
    if now is None:
        return status
    progress = now.reports.progress
    return replace(
        status,
        state=now.bridge.state,
        direction=now.bridge.direction,
        source_subject=str(now.bridge.source.subject),
        target_subject=str(now.bridge.target.subject),
        lag=None if progress is None else progress.lag,
        is_verified=any(each.name == _VERIFICATION and each.is_met for each in gates),
        gates=gates,
    )
