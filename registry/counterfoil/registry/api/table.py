"""All routes of the API, as one table."""

from __future__ import annotations

from typing import Final

from counterfoil.registry.api.associations.routes import ASSOCIATION_ROUTES
from counterfoil.registry.api.keys.routes import KEY_ROUTES
from counterfoil.registry.api.routes import ROUTES, Route

TABLE: Final[tuple[Route, ...]] = (*ROUTES, *ASSOCIATION_ROUTES, *KEY_ROUTES)
