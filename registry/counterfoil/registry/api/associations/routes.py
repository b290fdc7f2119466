"""The routes under ``/associations``."""

from __future__ import annotations

from functools import partial
from typing import Final

from counterfoil.registry.api.associations import bodies
from counterfoil.registry.api.associations import operations as associations
from counterfoil.registry.api.bodies import ASSOCIATION
from counterfoil.registry.api.routes.access import FOUND, FROM_BODY
from counterfoil.registry.api.routes.parameters import PAGE
from counterfoil.registry.api.routes.route import ConfluentRoute
from counterfoil.schema import errors
from counterfoil.schema.rest.object_forms import ListOf

TAG: Final = "associations"

_route = partial(ConfluentRoute, tag=TAG)
_OF_SUBJECT: Final = "/associations/subjects/{subject}"
_NAMED: Final = "/associations/resources/{namespace}/{name}"
_OF_RESOURCE: Final = "/associations/resources/{resourceId}"
_GET: Final = "/associations:batchGet"
_MUTATE: Final = "/associations:batchMutate"
_FILTERS: Final = ("resourceType", "associationType", "lifecycle", *PAGE)
_DELETION: Final = ("resourceType", "associationType", "cascadeLifecycle", "dryRun")
_WRITING: Final = ("context", "dryRun")
_LIST: Final = ListOf(ASSOCIATION)
_ASKED: Final = bodies.RESOURCE_REQUEST
_DONE: Final = bodies.RESOURCE_RESULT
_SLOTS: Final = bodies.SLOTS
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
    _route(
        "GET",
        _OF_SUBJECT,
        associations.list_of_subject,
        access=FOUND,
        query=_FILTERS,
        result=_LIST,
        errors=(errors.InvalidAssociation,),
    ),
    _route(
        "GET",
        _NAMED,
        associations.list_named,
        access=FOUND,
        query=_FILTERS,
        result=_LIST,
        errors=(errors.InvalidAssociation,),
    ),
    _route(
        "GET",
        _OF_RESOURCE,
        associations.list_of_resource,
        access=FOUND,
        query=_FILTERS,
        result=_LIST,
        errors=(errors.InvalidAssociation,),
    ),
    _route(
        "POST",
        "/associations",
        associations.create,
        access=FROM_BODY,
        query=_WRITING,
        body=_ASKED,
        result=_DONE,
        errors=_ASSOCIATE,
    ),
    _route(
        "PUT",
        _OF_RESOURCE,
        associations.upsert,
        access=FROM_BODY,
        query=_WRITING,
        body=_ASKED,
        result=_DONE,
        errors=_ASSOCIATE,
    ),
    _route(
        "DELETE",
        _OF_RESOURCE,
        associations.delete,
        access=FOUND,
        query=_DELETION,
        errors=(
            errors.AssociationNotFound,
            errors.AssociationFrozen,
            errors.InvalidAssociation,
            errors.ReferenceExists,
            errors.OperationNotPermitted,
        ),
    ),
    _route(
        "POST",
        _GET,
        associations.batch_get,
        access=FOUND,
        query=("includeSchemas",),
        body=bodies.QUERIES,
        result=_SLOTS,
        status=_MULTI_STATUS,
        errors=(errors.InvalidAssociation,),
    ),
    _route(
        "POST",
        _MUTATE,
        associations.batch_mutate,
        access=FROM_BODY,
        query=_WRITING,
        body=bodies.MUTATIONS,
        result=_SLOTS,
        status=_MULTI_STATUS,
        errors=(errors.InvalidAssociation,),
    ),
)
