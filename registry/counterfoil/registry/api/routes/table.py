"""All routes of the application, in the order in which they are tried."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.registry.api.access.routes import ACCESS_ROUTES
from counterfoil.registry.api.associations.routes import ASSOCIATION_ROUTES
from counterfoil.registry.api.associations.routes import TAG as ASSOCIATIONS
from counterfoil.registry.api.audit.routes import AUDIT_ROUTES
from counterfoil.registry.api.bridges.routes import BRIDGE_ROUTES
from counterfoil.registry.api.changes.routes import CHANGE_ROUTES
from counterfoil.registry.api.contracts.migrations import MIGRATION_ROUTES
from counterfoil.registry.api.contracts.routes import CONTRACT_ROUTES
from counterfoil.registry.api.keys.routes import KEY_ROUTES
from counterfoil.registry.api.openapi.description import DESCRIPTION_ROUTE
from counterfoil.registry.api.operations import OPERATION_ROUTES
from counterfoil.registry.api.routes.levels import LEVEL_ROUTES
from counterfoil.registry.api.routes.schemas import SCHEMA_ROUTES
from counterfoil.registry.api.routes.server import SERVER_ROUTES
from counterfoil.registry.api.routes.subjects import SUBJECT_ROUTES
from counterfoil.registry.api.sketches.routes import SKETCH_ROUTES

if TYPE_CHECKING:
    from counterfoil.registry.api.dialects import Dialect
    from counterfoil.registry.api.routes.route import DeclaredRoute

ROUTES: Final[tuple[DeclaredRoute, ...]] = (
    *SUBJECT_ROUTES,
    *SCHEMA_ROUTES,
    *LEVEL_ROUTES,
    *CHANGE_ROUTES,
    *SERVER_ROUTES,
    *ASSOCIATION_ROUTES,
    *KEY_ROUTES,
    *BRIDGE_ROUTES,
    *SKETCH_ROUTES,
    *CONTRACT_ROUTES,
    *MIGRATION_ROUTES,
    *ACCESS_ROUTES,
    *AUDIT_ROUTES,
    *OPERATION_ROUTES,
    DESCRIPTION_ROUTE,
)


def served_routes(dialect: Dialect, *, associations: bool) -> list[DeclaredRoute]:
    """Return the routes of ``dialect``, with those of associations if they are turned on."""
    return [
        route for route in ROUTES if dialect.has(route.path_format) and (associations or ASSOCIATIONS not in route.tags)
    ]
