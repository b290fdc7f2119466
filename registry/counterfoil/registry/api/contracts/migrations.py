"""The migrations of contracts under ``/contracts/v1/migrations``: the body, the endpoints and their routes."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final

from fastapi import Depends, Path
from pydantic import Field

from counterfoil.registry.api.contracts import visible
from counterfoil.registry.api.contracts.models import ContractsBody, Name
from counterfoil.registry.api.contracts.parameters import segment
from counterfoil.registry.api.routes.access import FOUND, FROM_BODY
from counterfoil.registry.api.routes.route import ValidatedRoute
from counterfoil.registry.api.routes.services import CallOfRequest, CasesOfRequest
from counterfoil.registry.domain.access.operations import Operation
from counterfoil.schema import errors
from counterfoil.schema.rest.migrations import MIGRATION, MIGRATION_STATUS, ContractMigration
from counterfoil.schema.rest.object_forms import ListOf

if TYPE_CHECKING:
    from counterfoil.registry.api.call import Call
    from counterfoil.schema.rest.migrations import MigrationStatus

_MIGRATIONS: Final = "/contracts/v1/migrations"
_MIGRATION: Final = f"{_MIGRATIONS}/{{migration}}"
_NO_MIGRATION: Final = (errors.MigrationNotFound,)


class MigrationToPutBody(ContractsBody):
    """An intended break of a contract."""

    contract: Name
    source: Name = Field(alias="from", description="The old major version, such as 1.")
    target: Name = Field(alias="to", description="The new major version, such as 2.")
    bridge: Name = Field(description="The name of the bridge that converts the records, under /bridges/v1.")
    application: Name = Field(description="The application that runs the bridge; it is deployed like any other.")
    sunset: Annotated[str, Field(max_length=10)] = Field(
        "", description="The last day of the migration, in UTC, such as 2027-03-31; empty for no end."
    )

    def migration(self, migration_id: str) -> ContractMigration:
        """Return the migration."""
        return ContractMigration(
            migration_id, self.contract, self.source, self.target, self.bridge, self.application, self.sunset
        )


def _migration_id(migration: Annotated[str, Path()]) -> str:
    return segment(migration)


MigrationId = Annotated[str, Depends(_migration_id)]


async def list_migrations(cases: CasesOfRequest, call: CallOfRequest) -> Any:
    """List migrations."""
    call.asks()
    found = await cases.contracts.migrations.all()
    return [
        MIGRATION.write(each)
        for each in found
        if await visible.may_on_subjects(cases, call, Operation.READ, each.contract)
    ]


async def get_migration(cases: CasesOfRequest, call: CallOfRequest, migration: MigrationId) -> Any:
    """Return a migration."""
    call.asks()
    found = await cases.contracts.migrations.get(migration)
    await visible.require_on_subjects(cases, call, Operation.READ, found.contract)
    return MIGRATION.write(found)


async def put_migration(
    cases: CasesOfRequest, call: CallOfRequest, migration: MigrationId, body: MigrationToPutBody
) -> Any:
    """Store a migration; the new major version of its contract must have been published."""
    await visible.require_on_subjects(cases, call, Operation.ALTER_CONFIGS, body.contract)
    return MIGRATION.write(await cases.contracts.migrations.put(body.migration(migration)))


async def get_migration_status(cases: CasesOfRequest, call: CallOfRequest, migration: MigrationId) -> Any:
    """Return how a migration stands: its bridge, where its converter is live, who still reads the old version."""
    call.asks()
    found = await cases.contracts.migration_statuses.status(migration)
    await visible.require_on_subjects(cases, call, Operation.READ, found.contract)
    return MIGRATION_STATUS.write(_shown(call, found))


def _shown(call: Call, status: MigrationStatus) -> MigrationStatus:
    """Return a status with the applications, environments and facts of the bridge that the caller may know."""
    environments = (
        tuple(name for name in status.environments if visible.may_know_environment(call, name))
        if call.may_know_application(status.application)
        else ()
    )
    shown = replace(status, consumers=visible.shown_consumers(call, status.consumers), environments=environments)
    if call.may(Operation.READ, visible.bridge(status.bridge)):
        return shown
    return replace(
        shown,
        state=None,
        direction=None,
        source_subject="",
        target_subject="",
        lag=None,
        is_verified=False,
        gates=(),
        hindrances=(f"{call.caller_name} may not read the bridge, so that it is not shown what is missing",),
    )


_route = partial(ValidatedRoute, tag="contracts")

MIGRATION_ROUTES: Final[tuple[ValidatedRoute, ...]] = (
    _route("GET", _MIGRATIONS, list_migrations, access=FOUND, result=ListOf(MIGRATION), errors=()),
    _route("GET", _MIGRATION, get_migration, access=FOUND, result=MIGRATION, errors=_NO_MIGRATION),
    _route(
        "PUT",
        _MIGRATION,
        put_migration,
        access=FROM_BODY,
        result=MIGRATION,
        errors=(errors.ContractNotFound, errors.InvalidContract, errors.OperationNotPermitted),
    ),
    _route(
        "GET", f"{_MIGRATION}/status", get_migration_status, access=FOUND, result=MIGRATION_STATUS, errors=_NO_MIGRATION
    ),
)
