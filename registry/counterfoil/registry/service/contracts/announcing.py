"""Events about what nobody writes: an approval that ends soon, a migration whose old side nobody reads any more.

Both are looked for from time to time, and each is reported once, also if several servers look.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import date
from typing import TYPE_CHECKING, Final

from counterfoil.registry.domain.contracts.breaks import day_at
from counterfoil.registry.domain.contracts.hooks import ANNOUNCED, Announced, Event
from counterfoil.registry.domain.contracts.stored import APPROVALS
from counterfoil.registry.domain.errors import StaleWrite
from counterfoil.registry.domain.writes.plan import together
from counterfoil.registry.service.contracts.verdicts.counterparts import Place
from counterfoil.schema.rest.approvals import STORED_APPROVAL
from counterfoil.schema.rest.webhooks import EventType

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.registry.service.contracts.events import Events
    from counterfoil.registry.service.contracts.migrations import Migrations
    from counterfoil.registry.service.contracts.records import ContractRecords
    from counterfoil.registry.service.contracts.verdicts.counterparts import Counterparts
    from counterfoil.registry.service.contracts.verdicts.questions import Verdicts
    from counterfoil.registry.service.storage import Storage
    from counterfoil.schema.rest.migrations import ContractMigration

EXPIRING_DAYS: Final = 7
"""How many days before its last one an approval is reported."""


class Announcing:
    """Looks for what is to be reported. ``now_ms`` is the clock (epoch ms)."""

    def __init__(
        self,
        storage: Storage,
        *,
        records: ContractRecords,
        counterparts: Counterparts,
        migrations: Migrations,
        verdicts: Verdicts,
        events: Events,
        now_ms: Callable[[], int],
    ) -> None:
        self._storage = storage
        self._records = records
        self._counterparts = counterparts
        self._migrations = migrations
        self._verdicts = verdicts
        self._events = events
        self._now_ms = now_ms

    async def expiring_approvals(self) -> None:
        """Store an event for each approval whose last day is today or in a few days, once."""
        if not await self._events.is_wanted(EventType.APPROVAL_EXPIRING):
            return
        today = day_at(self._now_ms())
        for each in await self._records.all(APPROVALS):
            if 0 <= (date.fromisoformat(each.until) - today).days <= EXPIRING_DAYS:
                facts = STORED_APPROVAL.write(each)
                await self._announce(Event(EventType.APPROVAL_EXPIRING, each.id, facts), each.id)

    async def retirable_migrations(self) -> None:
        """Store an event for each migration whose old side may be retired in an environment that has the contract."""
        if not await self._events.is_wanted(EventType.MIGRATION_RETIRABLE):
            return
        environments = await self._records.environment_names()
        for migration in await self._migrations.all():
            for environment in environments:
                what = f"{migration.id} {environment}"
                if not await self._is_known(what) and await self._is_retirable(migration, environment):
                    facts = {
                        "migration": migration.id,
                        "contract": migration.contract,
                        "major": migration.source,
                        "environment": environment,
                    }
                    await self._announce(Event(EventType.MIGRATION_RETIRABLE, migration.id, facts), what)

    async def _is_retirable(self, migration: ContractMigration, environment: str) -> bool:
        if not await self._counterparts.writers([migration.contract], Place(environment)):
            return False
        verdict = await self._verdicts.can_retire(migration.contract, migration.source, environment)
        return verdict.deployable is True

    async def _is_known(self, what: str) -> bool:
        held = await self._records.find(ANNOUNCED, (EventType.MIGRATION_RETIRABLE, what))
        return held.value is not None

    async def _announce(self, event: Event, what: str) -> None:
        """Store an event about ``what``, unless one was stored before, by this server or another one."""
        announced = Announced(event.type, what, self._now_ms())
        if (await self._records.find(ANNOUNCED, ANNOUNCED.key(announced))).value is None:
            with suppress(StaleWrite):
                await self._storage.commit(
                    together((ANNOUNCED.write(announced, revision=0), await self._events.plan(event)))
                )
