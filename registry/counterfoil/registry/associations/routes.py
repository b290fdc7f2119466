"""The routes under ``/associations``, and their endpoints."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from counterfoil.registry.access.resources import AccessOperation as Right
from counterfoil.registry.access.resources import subject_resource
from counterfoil.registry.associations import documents as bodies
from counterfoil.registry.associations.documents import outcome_document, read_resource_request, resource_document
from counterfoil.registry.associations.draft import AssociationOperation
from counterfoil.registry.http.access import FOUND, FROM_BODY
from counterfoil.registry.http.answers import NOTHING, error_document
from counterfoil.registry.http.route import ConfluentRoute
from counterfoil.registry.http.shapes import PAGE
from counterfoil.registry.subjects.documents import ASSOCIATION
from counterfoil.schema import errors
from counterfoil.schema.contexts import parse_subject
from counterfoil.schema.errors import (
    BadRequest,
    InvalidAssociation,
    InvalidSchema,
    NotFound,
    RegistryError,
    StoreTimeout,
    StoreUnavailable,
)
from counterfoil.schema.rest.object_forms import ListOf, RequestJson, read_each, read_text, read_texts
from counterfoil.schema.rest.subjects import TOPIC, AssociationType, Lifecycle, association_document

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Iterable

    from counterfoil.registry.associations.draft import AssociationRequest
    from counterfoil.registry.associations.use_cases import Associations
    from counterfoil.registry.http.call import ApiCall
    from counterfoil.schema.contexts import QualifiedSubject
    from counterfoil.schema.rest.object_forms import Document
    from counterfoil.schema.rest.subjects import Association


# Operations under ``/associations``.

_PAGE: Final = 1000
_BAD_ITEM: Final = 500
"""The code of an item of a batch that cannot be read, as in this API; the batch itself gets a response."""


def _associations(call: ApiCall) -> Associations:
    if call.cases.associations is None:
        raise NotFound("This registry keeps no associations: they are turned off")
    return call.cases.associations


# --- reading ----------------------------------------------------------------------------------------------------------


async def list_of_subject(call: ApiCall) -> Any:
    """List the associations of a subject; a subject of another context is written ``:.context:name``."""
    text = call.segment("subject")
    named = parse_subject(text)
    subject = await call.subject()
    call.asks()
    if subject == named and str(named) != text:
        return []
    return _listed(call, await _associations(call).of_subject(subject))


async def list_named(call: ApiCall) -> Any:
    """List the associations of the resources of a name; ``-`` is any name, or any namespace."""
    found = await _associations(call).named(call.segment("namespace"), call.segment("name"))
    return _listed(call, found)


async def list_of_resource(call: ApiCall) -> Any:
    """List the associations of the resource with an id."""
    resource_type = call.text("resourceType") or TOPIC
    return _listed(call, await _associations(call).of_resource(resource_type, call.segment("resourceId")))


def _listed(call: ApiCall, found: list[Association]) -> list[Document]:
    first, last = call.bounds(default_limit=_PAGE)
    found = _shown(call, found)
    resource_type = call.text("resourceType") or TOPIC
    lifecycles = requested_lifecycles(call, {each.value for each in Lifecycle})
    kept = _of_types(found, call.texts("associationType"))
    kept = [each for each in kept if each.resource.type == resource_type]
    kept = [each for each in kept if not lifecycles or each.lifecycle in lifecycles]
    return [association_document(each) for each in kept[first:last]]


def _shown(call: ApiCall, found: Iterable[Association]) -> list[Association]:
    """Return the associations of subjects that the caller may know."""
    call.asks()
    return [each for each in found if call.may_describe(each.subject)]


def _of_types(found: Iterable[Association], types: Iterable[str]) -> list[Association]:
    wanted = {text for text in types if text}
    return [each for each in found if not wanted or each.type in wanted]


def requested_lifecycles(call: ApiCall, known: Collection[str]) -> set[str]:
    """Return the query's lifecycles; raise ``NotFound`` unless all are ``known``."""
    requested = {text for text in call.texts("lifecycle") if text}
    for text in sorted(requested - set(known)):
        raise NotFound(f"lifecycle is {text[:80]!r}; expected {' or '.join(sorted(known))}")
    return requested


# --- writing ----------------------------------------------------------------------------------------------------------


def _context(call: ApiCall) -> str:
    """Return the context of the subjects that a body names without one."""
    return parse_subject(call.text("context")).context


async def create(call: ApiCall) -> Any:
    """Create associations of a resource, and register the schemas in the body."""
    return await _put(call, AssociationOperation.CREATE)


async def upsert(call: ApiCall) -> Any:
    """Create or change associations of a resource."""
    return await _put(call, AssociationOperation.UPSERT, resource_id=call.segment("resourceId"))


async def _put(call: ApiCall, operation: AssociationOperation, *, resource_id: str | None = None) -> Any:
    associations = _associations(call)
    request = read_resource_request(
        await call.json(), context=_context(call), operation=operation, resource_id=resource_id
    )
    call.asks()
    done = await associations.put(request, dry_run=call.flag("dryRun"), permit=partial(_permit, call))
    return outcome_document(done)


def _permit(call: ApiCall, subject: QualifiedSubject, request: AssociationRequest) -> None:
    """Raise ``Forbidden`` unless the caller may write an association of ``subject`` as requested.

    The subject of an association that exists is not named to those who may not know it.
    """
    named = parse_subject(request.subject, context=subject.context) if request.subject else None
    if named != subject:
        call.require_found(Right.ALTER_CONFIGS, subject_resource(subject))
    call.require_on(Right.ALTER_CONFIGS, subject)
    if request.schema is not None:
        call.require_on(Right.WRITE, subject)
        call.require_registration(subject, request.schema)
    if request.cascades:
        call.require_on(Right.PURGE, subject)


async def delete(call: ApiCall) -> Any:
    """Delete the associations of a resource; with ``cascadeLifecycle=true`` also subjects that belong to it only."""
    call.asks()
    await _associations(call).delete(
        call.text("resourceType") or TOPIC,
        call.segment("resourceId"),
        types=[text for text in call.texts("associationType") if text],
        cascades=call.flag("cascadeLifecycle"),
        dry_run=call.flag("dryRun"),
        permit=partial(_permit, call),
    )
    return NOTHING


# --- batches ----------------------------------------------------------------------------------------------------------


async def batch_get(call: ApiCall) -> Any:
    """Return the associations of several resources; each result is a list or an error."""
    associations, with_schemas = _associations(call), call.flag("includeSchemas")
    call.asks()

    async def result(item: object) -> Document:
        try:
            return await _got(call, associations, item, with_schemas=with_schemas)
        except (BadRequest, InvalidAssociation) as error:
            raise RegistryError(error.message, status=_BAD_ITEM, code=_BAD_ITEM) from None

    return await _results(call, result)


async def _got(call: ApiCall, associations: Associations, item: object, *, with_schemas: bool) -> Document:
    query = RequestJson(item, root="The request")
    resource_type = query.optional("resourceType", read_text) or TOPIC
    resource_id = query.optional("resourceId", read_text)
    name, namespace = query.optional("resourceName", read_text), query.optional("resourceNamespace", read_text)
    types = query.optional("associationTypes", read_texts) or ()
    lifecycle = query.optional("lifecycle", read_text)
    _check_known(types, AssociationType, "associationTypes")
    _check_known([lifecycle] if lifecycle else [], Lifecycle, "lifecycle")
    if resource_id:
        found = await associations.of_resource(resource_type, resource_id)
    elif name and namespace:
        found = await associations.named(namespace, name)
    else:
        raise InvalidAssociation("A request names neither resourceId nor resourceName with resourceNamespace")
    found = _shown(call, found)
    kept = [each for each in _of_types(found, types) if each.resource.type == resource_type]
    kept = [each for each in kept if not lifecycle or each.lifecycle == lifecycle]
    schemas = [
        await associations.latest_schema(each.subject) if with_schemas and call.may_read(each.subject) else None
        for each in kept
    ]
    for each, schema in zip(kept, schemas, strict=True):
        if schema is not None:
            call.gives(each.subject, schema.version)
    if found:
        return resource_document(found[0].resource, zip(kept, schemas, strict=True))
    requested = {"resourceName": name, "resourceNamespace": namespace, "resourceId": resource_id}
    return {**{key: value for key, value in requested.items() if value}, "resourceType": resource_type}


def _check_known(texts: Iterable[str], known: Iterable[str], what: str) -> None:
    words = [str(word) for word in known]
    for text in texts:
        if text not in words:
            raise InvalidAssociation(f"The property {what!r} holds {text[:80]!r}; expected {' or '.join(words)}")


async def batch_mutate(call: ApiCall) -> Any:
    """Change the associations of several resources, for each all or none; each result is an outcome or an error."""
    associations, context, dry_run = _associations(call), _context(call), call.flag("dryRun")
    call.asks()

    async def result(item: object) -> Document:
        try:
            request = read_resource_request(item, context=context)
            return outcome_document(await associations.put(request, dry_run=dry_run, permit=partial(_permit, call)))
        except InvalidSchema as error:
            raise InvalidAssociation(f"The association's property 'schema' is not valid: {error.message}") from None

    return await _results(call, result)


async def _results(call: ApiCall, result: Callable[[object], Awaitable[Document]]) -> Document:
    """Return the results of the items of a batch; if the store fails, the whole batch fails."""
    items = RequestJson(await call.json()).optional("requests", read_each(lambda item: item.value)) or ()
    results: list[Document] = []
    for item in items:
        try:
            results.append({"result": await result(item)})
        except (StoreUnavailable, StoreTimeout):
            raise
        except RegistryError as error:
            results.append({"error": error_document(call.shown_error(error))})
    return {"results": results}


# The routes under ``/associations``.

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
        list_of_subject,
        access=FOUND,
        query=_FILTERS,
        result=_LIST,
        errors=(errors.InvalidAssociation,),
    ),
    _route(
        "GET",
        _NAMED,
        list_named,
        access=FOUND,
        query=_FILTERS,
        result=_LIST,
        errors=(errors.InvalidAssociation,),
    ),
    _route(
        "GET",
        _OF_RESOURCE,
        list_of_resource,
        access=FOUND,
        query=_FILTERS,
        result=_LIST,
        errors=(errors.InvalidAssociation,),
    ),
    _route(
        "POST",
        "/associations",
        create,
        access=FROM_BODY,
        query=_WRITING,
        body=_ASKED,
        result=_DONE,
        errors=_ASSOCIATE,
    ),
    _route(
        "PUT",
        _OF_RESOURCE,
        upsert,
        access=FROM_BODY,
        query=_WRITING,
        body=_ASKED,
        result=_DONE,
        errors=_ASSOCIATE,
    ),
    _route(
        "DELETE",
        _OF_RESOURCE,
        delete,
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
        batch_get,
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
        batch_mutate,
        access=FROM_BODY,
        query=_WRITING,
        body=bodies.MUTATIONS,
        result=_SLOTS,
        status=_MULTI_STATUS,
        errors=(errors.InvalidAssociation,),
    ),
)
