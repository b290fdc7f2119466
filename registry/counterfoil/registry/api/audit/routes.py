"""The route of the audit."""

from __future__ import annotations

from typing import Final

from counterfoil.registry.api.audit.endpoints import list_events
from counterfoil.registry.api.audit.models import EventsBody
from counterfoil.registry.api.routes.access import on, the_registry
from counterfoil.registry.api.routes.route import ValidatedRoute
from counterfoil.registry.domain.access.operations import Operation

AUDIT_ROUTES: Final[tuple[ValidatedRoute, ...]] = (
    ValidatedRoute(
        "GET",
        "/audit/v1/events",
        list_events,
        access=on(Operation.AUDIT, the_registry),
        tag="audit",
        result=EventsBody,
        errors=(),
    ),
)
