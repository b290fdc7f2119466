"""The documents of associations: what callers send and get."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.registry.api.documents import read_registration, registered_document
from counterfoil.registry.domain.associations import bond_fields, parse_association_type, parse_lifecycle
from counterfoil.registry.domain.json_fields import boolean_of, list_of, object_of, optional, text_of
from counterfoil.registry.service.associations.requests import AssociationRequest, Operation, ResourceRequest
from counterfoil.registry.service.registration import Registered
from counterfoil.schema.errors import InvalidAssociation

if TYPE_CHECKING:
    from collections.abc import Iterable

    from counterfoil.registry.domain.associations import Association, Resource
    from counterfoil.registry.domain.documents import Document
    from counterfoil.registry.service.associations.requests import Outcome
    from counterfoil.registry.service.storage import Append


def read_resource_request(
    value: object, *, context: str, operation: Operation | None = None, resource_id: str | None = None
) -> ResourceRequest:
    """What a body asks for about one resource.

    ``operation`` is that of every item; None where each names its own. ``resource_id`` is the one in the path, which
    one in the body must repeat: ``InvalidAssociation``.
    """
    fields = object_of(value, "The request")
    given = optional(fields, "resourceId", text_of)
    if resource_id is not None and given not in {None, "", resource_id}:
        raise InvalidAssociation(
            f"The association's property 'resourceId' is {given[:80]!r}, and the path says {resource_id[:80]!r}"
        )

    def read_item(item: object, at: str) -> AssociationRequest:
        return _read_association(item, at, operation)

    return ResourceRequest(
        optional(fields, "associations", lambda items, at: list_of(items, at, read_item)) or (),
        id=resource_id if resource_id is not None else given or None,
        name=optional(fields, "resourceName", text_of),
        namespace=optional(fields, "resourceNamespace", text_of),
        type=optional(fields, "resourceType", text_of) or "topic",
        context=context,
    )


def _read_association(value: object, what: str, operation: Operation | None) -> AssociationRequest:
    fields = object_of(value, what)
    within = f"{what}."
    return AssociationRequest(
        operation or _read_operation(optional(fields, "opType", text_of, within=within)),
        parse_association_type(optional(fields, "associationType", text_of, within=within)),
        subject=optional(fields, "subject", text_of, within=within) or None,
        lifecycle=parse_lifecycle(optional(fields, "lifecycle", text_of, within=within)),
        frozen=optional(fields, "frozen", boolean_of, within=within),
        schema=optional(fields, "schema", lambda schema, _: read_registration(schema), within=within),
        normalize=optional(fields, "normalize", boolean_of, within=within) or False,
        cascades=optional(fields, "cascadeLifecycle", boolean_of, within=within) or False,
    )


def _read_operation(text: str | None) -> Operation:
    try:
        return Operation(text)
    except ValueError:
        raise InvalidAssociation(
            f"The association's property 'opType' is {text if text is None else text[:80]!r}; "
            f"expected {', '.join(each.value for each in Operation)}"
        ) from None


def outcome_document(outcome: Outcome) -> Document:
    """The resource, and the associations that were made or changed, with the schemas that came with them."""
    effects = [(effect.association, effect.schema) for effect in outcome.effects]
    return resource_document(outcome.resource, effects)


def resource_document(
    resource: Resource, associations: Iterable[tuple[Association, Registered | Append | None]]
) -> Document:
    """A resource, and associations of it with a schema each."""
    document: Document = {
        "resourceName": resource.name,
        "resourceNamespace": resource.namespace,
        "resourceId": resource.id,
        "resourceType": resource.type,
        "associations": [_association_fields(association, schema) for association, schema in associations],
    }
    return {name: value for name, value in document.items() if value not in ("", [])}


def _association_fields(association: Association, schema: Registered | Append | None) -> Document:
    document: Document = {
        "subject": str(association.subject),
        "associationType": association.type.value,
        **bond_fields(association.lifecycle, frozen=association.frozen),
    }
    if schema is not None:
        document["schema"] = _schema_document(schema)
    return document


def _schema_document(schema: Registered | Append) -> Document:
    """The schema as a registration answers it; one that was not stored has no id and no number."""
    if isinstance(schema, Registered):
        return registered_document(schema, text=schema.content.text)
    document = registered_document(Registered(0, 0, schema.content), text=schema.content.text)
    return {name: value for name, value in document.items() if name not in {"id", "version"}}
