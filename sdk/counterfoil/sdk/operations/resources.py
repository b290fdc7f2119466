"""Associations of resources, such as topics, with subjects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.schema.rest.associations import new_association_document, read_association
from counterfoil.schema.rest.json_values import read_each
from counterfoil.sdk.operations.operation import Operation, ReplyForm
from counterfoil.sdk.operations.requests import (
    action,
    json_body,
    read_nothing,
    read_object,
    read_objects,
    url_path,
    url_query,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, Final

    from counterfoil.schema.rest.associations import Association
    from counterfoil.schema.rest.json_values import JsonValue

_read_associations: Final = read_each(read_association)


def associations() -> Operation[tuple[Association, ...]]:
    """``GET /associations/resources/-/-``: those of all resources."""
    return Operation("associations", "GET", url_path("associations", "resources", "-", "-"), _read_associations)


def associations_of_resource(
    resource_id: str, *, resource_type: str | None, association_type: str | None
) -> Operation[tuple[Association, ...]]:
    """``GET /associations/resources/{resourceId}``."""
    query = url_query(resourceType=resource_type, associationType=association_type)
    path = url_path("associations", "resources", resource_id)
    return Operation("associations_of_resource", "GET", path, _read_associations, query)


def associated_subjects(
    namespace: str, name: str, *, resource_type: str, association_type: str
) -> Operation[tuple[str, ...]]:
    """``GET /associations/resources/{namespace}/{name}``: the subjects of a resource; ``-`` is every namespace."""
    query = url_query(resourceType=resource_type, associationType=association_type)
    path = url_path("associations", "resources", namespace, name)
    return Operation("associated_subjects", "GET", path, _subjects_of, query)


def create_association(new: Association) -> Operation[None]:
    """``POST /associations``: repeatable, since an existing association is found again."""
    body = json_body(new_association_document(new))
    return Operation("create_association", "POST", "/associations", read_nothing, body=body, form=ReplyForm.NOTHING)


def associations_by_name(
    namespace: str, name: str, *, resource_type: str | None, association_types: Iterable[str]
) -> Operation[tuple[dict[str, Any], ...]]:
    """``GET /associations/resources/{namespace}/{name}``; ``-`` is every namespace."""
    query = url_query(resourceType=resource_type) + _types(association_types)
    path = url_path("associations", "resources", namespace, name)
    return Operation("associations_by_name", "GET", path, read_objects, query)


def create_associations(request: Mapping[str, Any]) -> Operation[dict[str, Any]]:
    """``POST /associations``: those of one resource."""
    return Operation("create_associations", "POST", "/associations", read_object, body=json_body(request))


def delete_associations(
    resource_id: str, *, resource_type: str | None, association_types: Iterable[str], cascades: bool
) -> Operation[None]:
    """``DELETE /associations/resources/{resourceId}``; ``cascades``: the subjects that belong to it alone, too."""
    query = url_query(resourceType=resource_type, cascadeLifecycle=cascades) + _types(association_types)
    return action("delete_associations", "DELETE", url_path("associations", "resources", resource_id), query)


def _subjects_of(reply: JsonValue) -> tuple[str, ...]:
    return tuple(item.member("subject").text() for item in reply.items())


def _types(association_types: Iterable[str]) -> tuple[tuple[str, str], ...]:
    return tuple(("associationType", each) for each in association_types)
