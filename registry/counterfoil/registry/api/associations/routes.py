"""The routes under ``/associations``, as a table."""

from __future__ import annotations

from typing import Final

from counterfoil.registry.api.associations import operations as associations
from counterfoil.registry.api.associations import shapes
from counterfoil.registry.api.models import AssociationBody
from counterfoil.registry.api.routes import Route

TAG: Final = "associations"

_OF_SUBJECT: Final = "/associations/subjects/{subject}"
_NAMED: Final = "/associations/resources/{namespace}/{name}"
_OF_RESOURCE: Final = "/associations/resources/{resourceId}"
_GET: Final = "/associations:batchGet"
_MUTATE: Final = "/associations:batchMutate"
_FILTERS: Final = ("resourceType", "associationType", "lifecycle", "offset", "limit")
_DELETION: Final = ("resourceType", "associationType", "cascadeLifecycle", "dryRun")
_WRITING: Final = ("context", "dryRun")
_LIST: Final = list[AssociationBody]
_ASKED: Final = shapes.ResourceRequestBody
_DONE: Final = shapes.ResourceResultBody
_SLOTS: Final = shapes.SlotsBody
_MULTI_STATUS: Final = 207

ASSOCIATION_ROUTES: Final[tuple[Route, ...]] = (
    Route("GET", _OF_SUBJECT, associations.list_of_subject, TAG, _FILTERS, None, _LIST),
    Route("GET", _NAMED, associations.list_named, TAG, _FILTERS, None, _LIST),
    Route("GET", _OF_RESOURCE, associations.list_of_resource, TAG, _FILTERS, None, _LIST),
    Route("POST", "/associations", associations.create, TAG, _WRITING, _ASKED, _DONE),
    Route("PUT", _OF_RESOURCE, associations.upsert, TAG, _WRITING, _ASKED, _DONE),
    Route("DELETE", _OF_RESOURCE, associations.delete, TAG, _DELETION),
    Route(
        "POST",
        _GET,
        associations.batch_get,
        TAG,
        ("includeSchemas",),
        shapes.ResourceQueriesBody,
        _SLOTS,
        status=_MULTI_STATUS,
    ),
    Route(
        "POST", _MUTATE, associations.batch_mutate, TAG, _WRITING, shapes.MutationsBody, _SLOTS, status=_MULTI_STATUS
    ),
)
