"""The routes under ``/associations``."""

from __future__ import annotations

from typing import Final

from counterfoil.registry.api.associations import operations as associations
from counterfoil.registry.api.associations import shapes
from counterfoil.registry.api.models import AssociationBody
from counterfoil.registry.api.routes.parameters import PAGE
from counterfoil.registry.api.routes.route import ConfluentRoute
from counterfoil.schema import errors

TAG: Final = "associations"

_OF_SUBJECT: Final = "/associations/subjects/{subject}"
_NAMED: Final = "/associations/resources/{namespace}/{name}"
_OF_RESOURCE: Final = "/associations/resources/{resourceId}"
_GET: Final = "/associations:batchGet"
_MUTATE: Final = "/associations:batchMutate"
_FILTERS: Final = ("resourceType", "associationType", "lifecycle", *PAGE)
_DELETION: Final = ("resourceType", "associationType", "cascadeLifecycle", "dryRun")
_WRITING: Final = ("context", "dryRun")
_LIST: Final = list[AssociationBody]
_ASKED: Final = shapes.ResourceRequestBody
_DONE: Final = shapes.ResourceResultBody
_SLOTS: Final = shapes.SlotsBody
_MULTI_STATUS: Final = 207

_ASSOCIATE: Final = (
    errors.AssociationNotFound,
    errors.IncompatibleSchema,
    errors.AssociationExists,
    errors.SubjectAssociated,
    errors.SubjectOwned,
    errors.AssociatedSubjectEmpty,
    errors.AssociationFrozen,
    errors.InvalidSchema,
    errors.InvalidSubject,
    errors.InvalidRuleSet,
    errors.InvalidAssociation,
    errors.ReferenceExists,
    errors.OperationNotPermitted,
)

ASSOCIATION_ROUTES: Final[tuple[ConfluentRoute, ...]] = (
    ConfluentRoute(
        "GET",
        _OF_SUBJECT,
        associations.list_of_subject,
        tag=TAG,
        query=_FILTERS,
        result=_LIST,
        errors=(errors.InvalidAssociation,),
    ),
    ConfluentRoute(
        "GET",
        _NAMED,
        associations.list_named,
        tag=TAG,
        query=_FILTERS,
        result=_LIST,
        errors=(errors.InvalidAssociation,),
    ),
    ConfluentRoute(
        "GET",
        _OF_RESOURCE,
        associations.list_of_resource,
        tag=TAG,
        query=_FILTERS,
        result=_LIST,
        errors=(errors.InvalidAssociation,),
    ),
    ConfluentRoute(
        "POST",
        "/associations",
        associations.create,
        tag=TAG,
        query=_WRITING,
        body=_ASKED,
        result=_DONE,
        errors=_ASSOCIATE,
    ),
    ConfluentRoute(
        "PUT", _OF_RESOURCE, associations.upsert, tag=TAG, query=_WRITING, body=_ASKED, result=_DONE, errors=_ASSOCIATE
    ),
    ConfluentRoute(
        "DELETE",
        _OF_RESOURCE,
        associations.delete,
        tag=TAG,
        query=_DELETION,
        errors=(
            errors.AssociationNotFound,
            errors.AssociationFrozen,
            errors.InvalidAssociation,
            errors.ReferenceExists,
            errors.OperationNotPermitted,
        ),
    ),
    ConfluentRoute(
        "POST",
        _GET,
        associations.batch_get,
        tag=TAG,
        query=("includeSchemas",),
        body=shapes.ResourceQueriesBody,
        result=_SLOTS,
        status=_MULTI_STATUS,
        errors=(errors.InvalidAssociation,),
    ),
    ConfluentRoute(
        "POST",
        _MUTATE,
        associations.batch_mutate,
        tag=TAG,
        query=_WRITING,
        body=shapes.MutationsBody,
        result=_SLOTS,
        status=_MULTI_STATUS,
        errors=(errors.InvalidAssociation,),
    ),
)
