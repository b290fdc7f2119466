"""The shapes of the bodies under ``/associations``, for the OpenAPI description."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from counterfoil.registry.api.bodies import ERROR, REGISTERED, REGISTRATION
from counterfoil.registry.api.openapi.shapes import Property, Shape, properties_of, required
from counterfoil.schema.rest.associations import BOND, RESOURCE, TOPIC
from counterfoil.schema.rest.object_forms import FLAG, TEXT, TEXTS, ListOf

_RESOURCE: Final = tuple(
    replace(each, is_required=False, default=TOPIC if each.key == "resourceType" else None)
    for each in properties_of(RESOURCE)
)
_TO_MAKE: Final = Shape(
    "AssociationRequestBody",
    "One association to create or change.",
    (
        Property("subject", TEXT, "STRONG: `:.namespace:name-type`, which is the default."),
        Property("associationType", TEXT, "key or value.", default="value"),
        Property("lifecycle", TEXT, "By default STRONG with a schema, otherwise WEAK."),
        Property("frozen", FLAG),
        Property("schema", REGISTRATION, "A schema to register in the subject."),
        Property("normalize", FLAG, default=False),
    ),
)
_OPERATION: Final = _TO_MAKE.extended(
    "AssociationOperationBody",
    "One operation of a batch.",
    required("opType", TEXT, "CREATE, UPSERT or DELETE."),
    Property("cascadeLifecycle", FLAG, "DELETE: also what belongs to the resource only.", default=False),
)
_FOUND: Final = Shape(
    "AssociationResultBody",
    "One association of the resource that contains it.",
    (*properties_of(BOND), Property("schema", REGISTERED)),
)

RESOURCE_REQUEST: Final = Shape(
    "ResourceRequestBody",
    "The associations to create or change for one resource.",
    (*_RESOURCE, required("associations", ListOf(_TO_MAKE))),
)
RESOURCE_RESULT: Final = Shape(
    "ResourceResultBody", "A resource, and associations of it.", (*_RESOURCE, Property("associations", ListOf(_FOUND)))
)

# --- batches

_OPERATIONS: Final = Shape(
    "ResourceOperationsBody",
    "The operations on one resource, all or none of which are carried out.",
    (*_RESOURCE, required("associations", ListOf(_OPERATION))),
)
_QUERY: Final = Shape(
    "ResourceQueryBody",
    "Selects associations of one resource: by its id, or by name and namespace.",
    (*_RESOURCE, Property("associationTypes", TEXTS), Property("lifecycle", TEXT)),
)
_SLOT: Final = Shape(
    "SlotBody",
    "The outcome of one item of a batch: one of the two.",
    (Property("result", RESOURCE_RESULT), Property("error", ERROR)),
)
MUTATIONS: Final = Shape(
    "MutationsBody", "Operations on several resources.", (required("requests", ListOf(_OPERATIONS)),)
)
QUERIES: Final = Shape(
    "ResourceQueriesBody", "Selects associations of several resources.", (required("requests", ListOf(_QUERY)),)
)
SLOTS: Final = Shape("SlotsBody", "The outcome of a batch, item by item.", (required("results", ListOf(_SLOT)),))
