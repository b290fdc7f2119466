"""The bodies of associations that clients send and receive, and their shapes."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from counterfoil.registry.associations.draft import AssociationOperation, AssociationRequest, ResourceRequest
from counterfoil.registry.associations.records import parse_association_type, parse_lifecycle
from counterfoil.registry.http.shapes import BodyProperty, BodyShape, properties_of, required
from counterfoil.registry.subjects.documents import (
    ERROR,
    REGISTERED,
    REGISTRATION,
    read_registration,
    registered_document,
)
from counterfoil.registry.subjects.registration import Registered
from counterfoil.schema.errors import InvalidAssociation
from counterfoil.schema.rest.object_forms import FLAG, TEXT, TEXTS, ListOf, RequestJson, read_each, read_flag, read_text
from counterfoil.schema.rest.subjects import BOND, RESOURCE, TOPIC, bond_document

if TYPE_CHECKING:
    from collections.abc import Iterable

    from counterfoil.registry.associations.draft import AssociationOutcome
    from counterfoil.registry.store.writes import PutVersion
    from counterfoil.schema.rest.object_forms import Document, JsonValue
    from counterfoil.schema.rest.subjects import Association, Resource


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
