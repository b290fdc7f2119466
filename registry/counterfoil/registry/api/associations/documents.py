"""The documents of associations: the bodies that clients send and receive."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from counterfoil.registry.api.documents import read_registration, registered_document
from counterfoil.registry.domain.associations import parse_association_type, parse_lifecycle
from counterfoil.registry.service.associations.requests import AssociationRequest, Operation, ResourceRequest
from counterfoil.registry.service.registration import Registered
from counterfoil.schema.errors import InvalidAssociation
from counterfoil.schema.rest.associations import RESOURCE, bond_document
from counterfoil.schema.rest.json_values import RequestJson, read_each, read_flag, read_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from counterfoil.registry.domain.writes.effects import PutVersion
    from counterfoil.registry.service.associations.requests import Outcome
    from counterfoil.schema.rest.associations import Association, Resource
    from counterfoil.schema.rest.json_values import JsonValue
    from counterfoil.schema.rest.object_forms import Document


def read_resource_request(
    value: object, *, context: str, operation: Operation | None = None, resource_id: str | None = None
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


def _read_association(value: JsonValue, *, operation: Operation | None) -> AssociationRequest:
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


def _read_operation(text: str | None) -> Operation:
    try:
        return Operation(text)
    except ValueError:
        raise InvalidAssociation(
            f"The association's property 'opType' is {text if text is None else text[:80]!r}; "
            f"expected {', '.join(each.value for each in Operation)}"
        ) from None


def outcome_document(outcome: Outcome) -> Document:
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
