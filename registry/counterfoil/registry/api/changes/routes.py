"""The routes of the change feed."""

from __future__ import annotations

from typing import Final

from counterfoil.registry.api.changes import pages
from counterfoil.registry.api.changes.event_stream import PATH, EventsRoute
from counterfoil.registry.api.changes.models import ChangesBody
from counterfoil.registry.api.routes.access import FOUND, on, the_scope
from counterfoil.registry.api.routes.route import DeclaredRoute, ValidatedRoute
from counterfoil.registry.domain.access.operations import Operation
from counterfoil.schema import errors

_TAG: Final = "changes"

CHANGE_ROUTES: Final[tuple[DeclaredRoute, ...]] = (
    EventsRoute(),
    ValidatedRoute("GET", PATH, pages.list_changes, access=FOUND, tag=_TAG, result=ChangesBody, errors=()),
    ValidatedRoute(
        "GET",
        "/subjects/{subject}/changes",
        pages.list_changes_of_subject,
        access=on(Operation.DESCRIBE, the_scope) & FOUND,
        tag=_TAG,
        result=ChangesBody,
        errors=(errors.SubjectNotFound,),
    ),
)
