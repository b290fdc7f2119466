"""The routes under ``/associations``, with their endpoints and the documents that they read and write."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable
from dataclasses import replace
from functools import partial
from typing import Final

from counterfoil.registry.access.resources import AccessOperation as Right
from counterfoil.registry.access.resources import subject_resource
from counterfoil.registry.associations.draft import (
    AssociationOperation,
    AssociationOutcome,
    AssociationRequest,
    ResourceRequest,
)
from counterfoil.registry.associations.records import parse_association_type, parse_lifecycle
from counterfoil.registry.associations.use_cases import Associations
from counterfoil.registry.http.access import FOUND, FROM_BODY, RequestCaller
from counterfoil.registry.http.answers import NOTHING, Answer, error_document
from counterfoil.registry.http.request import ApiRequest
from counterfoil.registry.http.route import ConfluentRoute
from counterfoil.registry.http.shapes import PAGE, BodyProperty, BodyShape, properties_of, required
from counterfoil.registry.store.writes import PutVersion
from counterfoil.registry.subjects.documents import (
    ASSOCIATION,
    ERROR,
    REGISTERED,
    REGISTRATION,
    read_registration,
    registered_document,
)
from counterfoil.registry.subjects.registration import Registered
from counterfoil.schema import errors
from counterfoil.schema.contexts import QualifiedSubject, parse_subject
from counterfoil.schema.errors import (
    BadRequest,
    InvalidAssociation,
    InvalidSchema,
    NotFound,
    RegistryError,
    StoreTimeout,
    StoreUnavailable,
)
from counterfoil.schema.rest.json_values import JsonValue, RequestJson, read_each, read_flag, read_text, read_texts
from counterfoil.schema.rest.object_forms import FLAG, TEXT, TEXTS, Document, ListOf
from counterfoil.schema.rest.subjects import (
    BOND,
    RESOURCE,
    TOPIC,
    Association,
    AssociationType,
    Lifecycle,
    Resource,
    association_document,
    bond_document,
)

# The documents of associations: the bodies that clients send and receive.


def read_resource_request(
    value: object, *, context: str, operation: AssociationOperation | None = None, resource_id: str | None = None
) -> ResourceRequest:
    """Return what a body requests about one resource.

    ``operation`` is that of every item; None if each names its own. ``resource_id`` is the one in the path; another one
    in the body raises ``InvalidAssociation``.
    """
    request = RequestJson(value, root="The request")
    given = request.optional("resourceId", read_text)
    if resource_id is not None and given not in {None, "", resource_id}:
        raise InvalidAssociation(
            f"The association's property 'resourceId' is {given[:80]!r}, and the path says {resource_id[:80]!r}"
        )

    return ResourceRequest(
        request.optional("associations", read_each(partial(_read_association, operation=operation))) or (),
        id=resource_id if resource_id is not None else given or None,
        name=request.optional("resourceName", read_text),
        namespace=request.optional("resourceNamespace", read_text),
        type=request.optional("resourceType", read_text) or "topic",
        context=context,
    )


def _read_association(value: JsonValue, *, operation: AssociationOperation | None) -> AssociationRequest:
    return AssociationRequest(
        operation or _read_operation(value.optional("opType", read_text)),
        parse_association_type(value.optional("associationType", read_text)),
        subject=value.optional("subject", read_text) or None,
        lifecycle=parse_lifecycle(value.optional("lifecycle", read_text)),
        frozen=value.optional("frozen", read_flag),
        schema=value.optional("schema", lambda schema: read_registration(schema.value)),
        normalize=value.optional("normalize", read_flag) or False,
        cascades=value.optional("cascadeLifecycle", read_flag) or False,
    )


def _read_operation(text: str | None) -> AssociationOperation:
    try:
        return AssociationOperation(text)
    except ValueError:
        raise InvalidAssociation(
            f"The association's property 'opType' is {text if text is None else text[:80]!r}; "
            f"expected {', '.join(each.value for each in AssociationOperation)}"
        ) from None


def outcome_document(outcome: AssociationOutcome) -> Document:
    """Return the resource and the associations that were made or changed, with the schemas that were sent with them."""
    effects = [(effect.association, effect.schema) for effect in outcome.effects]
    return resource_document(outcome.resource, effects)


def resource_document(
    resource: Resource, associations: Iterable[tuple[Association, Registered | PutVersion | None]]
) -> Document:
    """Return a resource, and associations of it with a schema each."""
    document: Document = {
        **RESOURCE.write(resource),
        "associations": [_association_fields(association, schema) for association, schema in associations],
    }
    return {name: value for name, value in document.items() if value not in ("", [])}


def _association_fields(association: Association, schema: Registered | PutVersion | None) -> Document:
    document = bond_document(association)
    if schema is not None:
        document["schema"] = _schema_document(schema)
    return document


def _schema_document(schema: Registered | PutVersion) -> Document:
    """Return the schema as in the response to a registration; one that was not stored has no id and no number."""
    if isinstance(schema, Registered):
        return registered_document(schema, text=schema.content.text)
    document = registered_document(Registered(0, 0, schema.content), text=schema.content.text)
    return {name: value for name, value in document.items() if name not in {"id", "version"}}


# The shapes of the bodies under ``/associations``, for the OpenAPI description.

_RESOURCE: Final = tuple(
    replace(each, is_required=False, default=TOPIC if each.key == "resourceType" else None)
    for each in properties_of(RESOURCE)
)
_TO_MAKE: Final = BodyShape(
    "AssociationRequestBody",
    "One association to create or change.",
    (
        BodyProperty("subject", TEXT, "STRONG: `:.namespace:name-type`, which is the default."),
        BodyProperty("associationType", TEXT, "key or value.", default="value"),
        BodyProperty("lifecycle", TEXT, "By default STRONG with a schema, otherwise WEAK."),
        BodyProperty("frozen", FLAG),
        BodyProperty("schema", REGISTRATION, "A schema to register in the subject."),
        BodyProperty("normalize", FLAG, default=False),
    ),
)
_OPERATION: Final = _TO_MAKE.extended(
    "AssociationOperationBody",
    "One operation of a batch.",
    required("opType", TEXT, "CREATE, UPSERT or DELETE."),
    BodyProperty("cascadeLifecycle", FLAG, "DELETE: also what belongs to the resource only.", default=False),
)
_FOUND: Final = BodyShape(
    "AssociationResultBody",
    "One association of the resource that contains it.",
    (*properties_of(BOND), BodyProperty("schema", REGISTERED)),
)

RESOURCE_REQUEST: Final = BodyShape(
    "ResourceRequestBody",
    "The associations to create or change for one resource.",
    (*_RESOURCE, required("associations", ListOf(_TO_MAKE))),
)
RESOURCE_RESULT: Final = BodyShape(
    "ResourceResultBody",
    "A resource, and associations of it.",
    (*_RESOURCE, BodyProperty("associations", ListOf(_FOUND))),
)

# --- batches

_OPERATIONS: Final = BodyShape(
    "ResourceOperationsBody",
    "The operations on one resource, all or none of which are carried out.",
    (*_RESOURCE, required("associations", ListOf(_OPERATION))),
)
_QUERY: Final = BodyShape(
    "ResourceQueryBody",
    "Selects associations of one resource: by its id, or by name and namespace.",
    (*_RESOURCE, BodyProperty("associationTypes", TEXTS), BodyProperty("lifecycle", TEXT)),
)
_SLOT: Final = BodyShape(
    "SlotBody",
    "The outcome of one item of a batch: one of the two.",
    (BodyProperty("result", RESOURCE_RESULT), BodyProperty("error", ERROR)),
)
MUTATIONS: Final = BodyShape(
    "MutationsBody", "Operations on several resources.", (required("requests", ListOf(_OPERATIONS)),)
)
QUERIES: Final = BodyShape(
    "ResourceQueriesBody", "Selects associations of several resources.", (required("requests", ListOf(_QUERY)),)
)
SLOTS: Final = BodyShape("SlotsBody", "The outcome of a batch, item by item.", (required("results", ListOf(_SLOT)),))


# Operations under ``/associations``.

_PAGE: Final = 1000
_BAD_ITEM: Final = 500
"""The code of an item of a batch that cannot be read, as in this API; the batch itself gets a response."""


def _associations(request: ApiRequest) -> Associations:
    if request.cases.associations is None:
        raise NotFound("This registry keeps no associations: they are turned off")
    return request.cases.associations


# --- reading ----------------------------------------------------------------------------------------------------------


async def list_of_subject(request: ApiRequest, caller: RequestCaller) -> object:
    """List the associations of a subject; a subject of another context is written ``:.context:name``."""
    text = request.segment("subject")
    named = parse_subject(text)
    subject = await request.subject()
    caller.filters()
    if subject == named and str(named) != text:
        return []
    return _listed(request, caller, await _associations(request).of_subject(subject))


async def list_named(request: ApiRequest, caller: RequestCaller) -> object:
    """List the associations of the resources of a name; ``-`` is any name, or any namespace."""
    found = await _associations(request).named(request.segment("namespace"), request.segment("name"))
    return _listed(request, caller, found)


async def list_of_resource(request: ApiRequest, caller: RequestCaller) -> object:
    """List the associations of the resource with an id."""
    resource_type = request.text("resourceType") or TOPIC
    return _listed(
        request, caller, await _associations(request).of_resource(resource_type, request.segment("resourceId"))
    )


def _listed(request: ApiRequest, caller: RequestCaller, found: list[Association]) -> list[Document]:
    first, last = request.bounds(default_limit=_PAGE)
    found = _shown(caller, found)
    resource_type = request.text("resourceType") or TOPIC
    lifecycles = requested_lifecycles(request, {each.value for each in Lifecycle})
    kept = _of_types(found, request.texts("associationType"))
    kept = [each for each in kept if each.resource.type == resource_type]
    kept = [each for each in kept if not lifecycles or each.lifecycle in lifecycles]
    return [association_document(each) for each in kept[first:last]]


def _shown(caller: RequestCaller, found: Iterable[Association]) -> list[Association]:
    """Return the associations of subjects that the caller may know."""
    caller.filters()
    return [each for each in found if caller.may_describe(each.subject)]


def _of_types(found: Iterable[Association], types: Iterable[str]) -> list[Association]:
    wanted = {text for text in types if text}
    return [each for each in found if not wanted or each.type in wanted]


def requested_lifecycles(request: ApiRequest, known: Collection[str]) -> set[str]:
    """Return the query's lifecycles; raise ``NotFound`` unless all are ``known``."""
    requested = {text for text in request.texts("lifecycle") if text}
    for text in sorted(requested - set(known)):
        raise NotFound(f"lifecycle is {text[:80]!r}; expected {' or '.join(sorted(known))}")
    return requested


# --- writing ----------------------------------------------------------------------------------------------------------


def _context(request: ApiRequest) -> str:
    """Return the context of the subjects that a body names without one."""
    return parse_subject(request.text("context")).context


async def create(request: ApiRequest, caller: RequestCaller) -> object:
    """Create associations of a resource, and register the schemas in the body."""
    return await _put(request, caller, AssociationOperation.CREATE)


async def upsert(request: ApiRequest, caller: RequestCaller) -> object:
    """Create or change associations of a resource."""
    return await _put(request, caller, AssociationOperation.UPSERT, resource_id=request.segment("resourceId"))


async def _put(
    request: ApiRequest, caller: RequestCaller, operation: AssociationOperation, *, resource_id: str | None = None
) -> object:
    associations = _associations(request)
    given = read_resource_request(
        await request.json(), context=_context(request), operation=operation, resource_id=resource_id
    )
    caller.filters()
    done = await associations.put(
        given, dry_run=request.flag("dryRun"), permit=partial(_permit, caller), by=caller.requester
    )
    return outcome_document(done)


def _permit(caller: RequestCaller, subject: QualifiedSubject, request: AssociationRequest) -> None:
    """Raise ``Forbidden`` unless the caller may write an association of ``subject`` as requested.

    The subject of an association that exists is not named to those who may not know it.
    """
    named = parse_subject(request.subject, context=subject.context) if request.subject else None
    if named != subject:
        caller.require_found(Right.ALTER_CONFIGS, subject_resource(subject))
    caller.require_on(Right.ALTER_CONFIGS, subject)
    if request.schema is not None:
        caller.require_on(Right.WRITE, subject)
        caller.require_registration(subject, request.schema)
    if request.cascades:
        caller.require_on(Right.PURGE, subject)


async def delete(request: ApiRequest, caller: RequestCaller) -> object:
    """Delete the associations of a resource; with ``cascadeLifecycle=true`` also subjects that belong to it only."""
    caller.filters()
    await _associations(request).delete(
        request.text("resourceType") or TOPIC,
        request.segment("resourceId"),
        types=[text for text in request.texts("associationType") if text],
        cascades=request.flag("cascadeLifecycle"),
        dry_run=request.flag("dryRun"),
        permit=partial(_permit, caller),
        by=caller.requester,
    )
    return NOTHING


# --- batches ----------------------------------------------------------------------------------------------------------


async def batch_get(request: ApiRequest, caller: RequestCaller) -> object:
    """Return the associations of several resources; each result is a list or an error."""
    associations, with_schemas = _associations(request), request.flag("includeSchemas")
    caller.filters()

    texts: list[tuple[QualifiedSubject, int]] = []

    async def result(item: object) -> Document:
        try:
            document, read = await _got(caller, associations, item, with_schemas=with_schemas)
        except (BadRequest, InvalidAssociation) as error:
            raise RegistryError(error.message, status=_BAD_ITEM, code=_BAD_ITEM) from None
        texts.extend(read)
        return document

    return Answer(await _results(request, caller, result), texts=tuple(texts))


async def _got(
    caller: RequestCaller, associations: Associations, item: object, *, with_schemas: bool
) -> tuple[Document, list[tuple[QualifiedSubject, int]]]:
    """Return the result of one item, and the versions whose texts it has."""
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
    found = _shown(caller, found)
    kept = [each for each in _of_types(found, types) if each.resource.type == resource_type]
    kept = [each for each in kept if not lifecycle or each.lifecycle == lifecycle]
    schemas = [
        await associations.latest_schema(each.subject) if with_schemas and caller.may_read(each.subject) else None
        for each in kept
    ]
    if found:
        read = [
            (each.subject, schema.version) for each, schema in zip(kept, schemas, strict=True) if schema is not None
        ]
        return resource_document(found[0].resource, zip(kept, schemas, strict=True)), read
    requested = {"resourceName": name, "resourceNamespace": namespace, "resourceId": resource_id}
    return {**{key: value for key, value in requested.items() if value}, "resourceType": resource_type}, []


def _check_known(texts: Iterable[str], known: Iterable[str], what: str) -> None:
    words = [str(word) for word in known]
    for text in texts:
        if text not in words:
            raise InvalidAssociation(f"The property {what!r} holds {text[:80]!r}; expected {' or '.join(words)}")


async def batch_mutate(request: ApiRequest, caller: RequestCaller) -> object:
    """Change the associations of several resources, for each all or none; each result is an outcome or an error."""
    associations, context, dry_run = _associations(request), _context(request), request.flag("dryRun")
    caller.filters()

    async def result(item: object) -> Document:
        try:
            given = read_resource_request(item, context=context)
            return outcome_document(
                await associations.put(given, dry_run=dry_run, permit=partial(_permit, caller), by=caller.requester)
            )
        except InvalidSchema as error:
            raise InvalidAssociation(f"The association's property 'schema' is not valid: {error.message}") from None

    return await _results(request, caller, result)


async def _results(
    request: ApiRequest, caller: RequestCaller, result: Callable[[object], Awaitable[Document]]
) -> Document:
    """Return the results of the items of a batch; if the store fails, the whole batch fails."""
    items = RequestJson(await request.json()).optional("requests", read_each(lambda item: item.value)) or ()
    results: list[Document] = []
    for item in items:
        try:
            results.append({"result": await result(item)})
        except (StoreUnavailable, StoreTimeout):
            raise
        except RegistryError as error:
            results.append({"error": error_document(caller.shown_error(error))})
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
_ASKED: Final = RESOURCE_REQUEST
_DONE: Final = RESOURCE_RESULT
_SLOTS: Final = SLOTS
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
        body=QUERIES,
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
        body=MUTATIONS,
        result=_SLOTS,
        status=_MULTI_STATUS,
        errors=(errors.InvalidAssociation,),
    ),
)
