"""The migrations of contracts under ``/contracts/v1/migrations``: the body, the endpoints and their routes."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, Final

from fastapi import Depends, Path
from pydantic import Field

from counterfoil.registry.api.contracts.models import ContractsBody, Name
from counterfoil.registry.api.contracts.parameters import segment
from counterfoil.registry.api.routes.access import on, the_registry
from counterfoil.registry.api.routes.route import ValidatedRoute
from counterfoil.registry.api.routes.services import CasesOfRequest
from counterfoil.registry.domain.access.operations import Operation
from counterfoil.schema import errors
from counterfoil.schema.rest.migrations import MIGRATION, MIGRATION_STATUS, ContractMigration
from counterfoil.schema.rest.object_forms import ListOf

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


async def list_migrations(cases: CasesOfRequest) -> Any:
    """List migrations."""
    return [MIGRATION.write(each) for each in await cases.contracts.migrations.all()]


async def get_migration(cases: CasesOfRequest, migration: MigrationId) -> Any:
    """Return a migration."""
    return MIGRATION.write(await cases.contracts.migrations.get(migration))


async def put_migration(cases: CasesOfRequest, migration: MigrationId, body: MigrationToPutBody) -> Any:
    """Store a migration; the new major version of its contract must have been published."""
    return MIGRATION.write(await cases.contracts.migrations.put(body.migration(migration)))


async def get_migration_status(cases: CasesOfRequest, migration: MigrationId) -> Any:
    """Return how a migration stands: its bridge, where its converter is live, who still reads the old version."""
    return MIGRATION_STATUS.write(await cases.contracts.migration_statuses.status(migration))


_route = partial(ValidatedRoute, tag="contracts")

_READ: Final = on(Operation.READ, the_registry)

MIGRATION_ROUTES: Final[tuple[ValidatedRoute, ...]] = (
    _route("GET", _MIGRATIONS, list_migrations, access=_READ, result=ListOf(MIGRATION), errors=()),
    _route("GET", _MIGRATION, get_migration, access=_READ, result=MIGRATION, errors=_NO_MIGRATION),
    _route(
        "PUT",
        _MIGRATION,
        put_migration,
        access=on(Operation.ALTER_CONFIGS, the_registry),
        result=MIGRATION,
        errors=(errors.ContractNotFound, errors.InvalidContract, errors.OperationNotPermitted),
    ),
    _route(
        "GET", f"{_MIGRATION}/status", get_migration_status, access=_READ, result=MIGRATION_STATUS, errors=_NO_MIGRATION
    ),
)
