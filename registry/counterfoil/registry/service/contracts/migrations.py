"""Migrations of contracts: what is stored, how each stands, and which breaks they permit.

:meth:`Migrations.bridged` is the only place where a verdict takes migrations into account.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from functools import partial
from typing import TYPE_CHECKING

from counterfoil.registry.domain.bridges.gates import Situation
from counterfoil.registry.domain.contracts.migrations import Standing
from counterfoil.registry.domain.contracts.stored import MIGRATIONS
from counterfoil.registry.domain.modes import check_writable
from counterfoil.registry.service.retrying import Turns
from counterfoil.schema.agreements.model import major_of
from counterfoil.schema.contexts import TOP_LEVEL
from counterfoil.schema.errors import ContractNotFound, InvalidContract, MigrationNotFound
from counterfoil.schema.rest.contracts import ContractKind
from counterfoil.schema.rest.verdicts import Reason, VerdictReason

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Container, Iterator, Sequence

    from counterfoil.registry.service.bridges.records import BridgeRecords
    from counterfoil.registry.service.contracts.records import ContractRecords
    from counterfoil.registry.service.scopes import Scopes
    from counterfoil.registry.service.storage import Storage
    from counterfoil.schema.reads.pairing import Pair
    from counterfoil.schema.rest.migrations import ContractMigration

_SHOWN = 80


class Migrations:
    """The use cases of migrations. ``now_ms`` is the clock (epoch ms)."""

    def __init__(
        self,
        storage: Storage,
        *,
        records: ContractRecords,
        bridges: BridgeRecords,
        scopes: Scopes,
        now_ms: Callable[[], int],
    ) -> None:
        self._storage = storage
        self._records = records
        self._bridges = bridges
        self._scopes = scopes
        self._now_ms = now_ms
        self._turns = Turns(storage.catch_up)

    # --- what is stored

    async def all(self) -> list[ContractMigration]:
        """Return all migrations, sorted by id."""
        return sorted(await self._records.all(MIGRATIONS), key=lambda each: each.id)

    async def get(self, migration_id: str) -> ContractMigration:
        """Return a migration; raise ``MigrationNotFound`` if there is none with this id."""
        found = (await self._records.find(MIGRATIONS, (migration_id,))).value
        if found is None:
            raise MigrationNotFound(f"There is no migration {migration_id[:_SHOWN]!r}")
        return found

    async def put(self, given: ContractMigration) -> ContractMigration:
        """Store a migration, instead of what was stored under its id; the time of its creation stays.

        Its versions may be given in full, such as ``v2.1.0``; their major versions are stored. Raises
        ``ContractNotFound`` if no version of the contract has the new major version, ``InvalidContract``.
        """
        given = replace(given, source=major_of(given.source), target=major_of(given.target))
        _check(given)
        return await self._turns.take(partial(self._put, given), written=(MIGRATIONS.name, given.id))

    async def _put(self, given: ContractMigration) -> ContractMigration:
        check_writable(await self._scopes.mode(TOP_LEVEL), TOP_LEVEL)
        versions = [
            version
            for _, kind, version in await self._records.contract_keys(given.contract)
            if kind == ContractKind.ODCS
        ]
        if given.target not in map(major_of, versions):
            published = f"it has {', '.join(versions)}" if versions else "it was never published"
            raise ContractNotFound(
                f"Contract {given.contract[:_SHOWN]!r} has no version {given.target[:_SHOWN]}, to which the migration "
                f"leads; {published}"
            )
        held = await self._records.find(MIGRATIONS, MIGRATIONS.key(given))
        if held.value is not None and held.value.contract != given.contract:
            raise InvalidContract(f"The migration {given.id!r} is one of another contract; take another id")
        value = replace(given, create_ts=self._now_ms() if held.value is None else held.value.create_ts)
        if value != held.value:
            await self._storage.commit(MIGRATIONS.write(value, revision=held.revision))
        return value

    # --- how it stands

    async def standing(self, migration: ContractMigration) -> Standing:
        """Return a migration with the latest reports about its bridge."""
        now_ms, held = self._now_ms(), await self._bridges.find(migration.bridge)
        if held is None:
            return Standing(migration, None, now_ms)
        reports = await self._bridges.reports(migration.bridge)
        return Standing(migration, Situation(held.bridge, reports, now_ms), now_ms)

    async def _standings(self, contracts: Collection[str]) -> list[Standing]:
        return [await self.standing(each) for each in await self.all() if each.contract in contracts]

    # --- what it permits

    async def bridged(self, pairs: Sequence[Pair], environment: str | None) -> tuple[list[Pair], list[VerdictReason]]:
        """Return the pairs, with the permission of a migration where one permits their breaks, and what is missing.

        A break is permitted while the bridge converts what the producer writes to what the consumer reads, meets its
        conditions, and the application that runs it is live in the environment; without one, in any environment.
        """
        contracts = {each.contract for each in pairs if _may_be_bridged(each)}
        if not contracts:
            return list(pairs), []
        standings = await self._standings(contracts)
        live = await self._live({each.migration.application for each in standings}, environment)
        found: list[Pair] = []
        missing: dict[VerdictReason, None] = {}
        for pair in pairs:
            concerning = [each for each in standings if _may_be_bridged(pair) and each.concerns(pair)]
            judged = [(each, list(_hindrances(each, pair, environment, live=live))) for each in concerning]
            permission = next((each.permission(pair) for each, hindrances in judged if not hindrances), "")
            if not permission:
                texts = [text for _, hindrances in judged for text in hindrances]
                missing.update(dict.fromkeys(_not_ready(pair, each) for each in texts))
            found.append(replace(pair, bridged=permission))
        return found, list(missing)

    async def _live(self, applications: set[str], environment: str | None) -> set[str]:
        """Return those applications of which a version is live in an environment, or in any for None."""
        names = await self._records.environment_names() if environment is None else [environment]
        return {application for name in names for application, _ in await self._records.live(name, applications)}

    async def unfinished(self, contract: str, major: str) -> tuple[set[str], list[VerdictReason]]:
        """Return the applications that run bridges from or to an old major version, and why they still need it."""
        standings = [each for each in await self._standings([contract]) if each.migration.source == major]
        runners = {each.migration.application for each in standings}
        texts = [text for each in standings if (text := each.unfinished())]
        return runners, [VerdictReason(Reason.MIGRATION_NOT_READY, each, contract=contract) for each in texts]


def _check(given: ContractMigration) -> None:
    """Raise ``InvalidContract`` for a migration that cannot be one."""
    if given.source == given.target:
        raise InvalidContract(f"The migration {given.id!r} leads from version {given.source} to itself")
    try:
        date.fromisoformat(given.sunset or "2000-01-01")
    except ValueError:
        raise InvalidContract(f"The sunset {given.sunset[:_SHOWN]!r} is no day such as 2027-03-31") from None


def _may_be_bridged(pair: Pair) -> bool:
    return pair.producer_major != pair.consumer_major and pair.is_broken


def _hindrances(standing: Standing, pair: Pair, environment: str | None, *, live: Container[str]) -> Iterator[str]:
    """Yield what is missing for a pair, in the order in which it can be done; ``live`` are the live applications."""
    mine = standing.migration
    if standing.is_of_converter(pair):
        return
    if mine.application not in live:
        order = f"{mine.application} with the bridge {mine.bridge}, then {pair.producer} {pair.producer_version}"
        where = environment or "any environment"
        yield f"no version of {mine.application} is live in {where}; deploy in this order: {order}"
    yield from standing.hindrances()
    yield from standing.misdirection(pair)


def _not_ready(pair: Pair, text: str) -> VerdictReason:
    return VerdictReason(
        Reason.MIGRATION_NOT_READY,
        text,
        contract=pair.contract,
        subject=pair.subject,
        producer=pair.producer,
        producer_version=pair.producer_version,
    )
