"""The route of the audit."""

from __future__ import annotations

from typing import Final

from counterfoil.registry.api.audit.endpoints import list_events
from counterfoil.registry.api.audit.models import EventsBody
from counterfoil.registry.api.routes.access import FOUND
from counterfoil.registry.api.routes.route import ValidatedRoute

AUDIT_ROUTES: Final[tuple[ValidatedRoute, ...]] = (
    ValidatedRoute(
        "GET",
        "/audit/v1/events",
        list_events,
        access=FOUND,
        tag="audit",
        result=EventsBody,
        errors=(),
    ),
)
