"""Migrations of contracts, of this project's registry: intended breaks, and how each of them stands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.schema.rest.json_values import read_each
from counterfoil.schema.rest.migrations import MIGRATION, MIGRATION_STATUS
from counterfoil.sdk.operations.contracts import CONTRACTS
from counterfoil.sdk.operations.operation import Operation
from counterfoil.sdk.operations.requests import json_body, url_path

if TYPE_CHECKING:
    from counterfoil.schema.rest.migrations import ContractMigration, MigrationStatus

_OF_REPLIES: Final = frozenset({"id", "createTs"})


def migrations() -> Operation[tuple[ContractMigration, ...]]:
    """``GET /contracts/v1/migrations``."""
    return Operation("migrations", "GET", url_path(*CONTRACTS, "migrations"), read_each(MIGRATION.read))


def put_migration(migration: ContractMigration) -> Operation[ContractMigration]:
    """``PUT /contracts/v1/migrations/{migration}``: repeatable, since it replaces what is known of it."""
    body = {key: value for key, value in MIGRATION.write(migration).items() if key not in _OF_REPLIES}
    path = url_path(*CONTRACTS, "migrations", migration.id)
    return Operation("put_migration", "PUT", path, MIGRATION.read, body=json_body(body))


def migration_status(migration_id: str) -> Operation[MigrationStatus]:
    """``GET /contracts/v1/migrations/{migration}/status``."""
    path = url_path(*CONTRACTS, "migrations", migration_id, "status")
    return Operation("migration_status", "GET", path, MIGRATION_STATUS.read)
