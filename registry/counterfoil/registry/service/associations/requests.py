"""What a caller asks for: associations to make, to change, to delete, all of one resource."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from counterfoil.registry.domain.associations import check_name, check_resource_id, check_resource_type, property_fault
from counterfoil.schema.contexts import DEFAULT_CONTEXT
from counterfoil.schema.rest.associations import TOPIC, Association, AssociationType, Lifecycle, Resource

if TYPE_CHECKING:
    from counterfoil.registry.service.registration import Registered
    from counterfoil.registry.service.requests import SchemaRequest
    from counterfoil.registry.service.storage import Append


class Operation(Enum):
    """What is to be done about an association."""

    CREATE = "CREATE"
    """Make it; it may be there already as it is asked for, and not as another."""
    UPSERT = "UPSERT"
    """Make it, or change the one that is there."""
    DELETE = "DELETE"


@dataclass(frozen=True, slots=True)
class AssociationRequest:
    """One association. What is None was not said.

    ``subject`` is as it was written. ``cascades``: what belongs to the resource alone is deleted with the association.
    """

    operation: Operation
    type: AssociationType = AssociationType.VALUE
    subject: str | None = None
    lifecycle: Lifecycle | None = None
    frozen: bool | None = None
    schema: SchemaRequest | None = None
    normalize: bool = False
    cascades: bool = False


@dataclass(frozen=True, slots=True)
class ResourceRequest:
    """What is to be done about the associations of one resource.

    ``context`` is that of the subjects that are written without one.
    """

    associations: tuple[AssociationRequest, ...]
    id: str | None = None
    name: str | None = None
    namespace: str | None = None
    type: str = TOPIC
    context: str = DEFAULT_CONTEXT

    def check(self, *, needs_id: bool) -> None:
        """Return when the request makes sense by itself; else ``InvalidAssociation`` names the property."""
        check_resource_type(self.type)
        if self.id is not None or needs_id:
            check_resource_id(self.id)
        creates = any(each.operation is Operation.CREATE for each in self.associations)
        if creates or self.name is not None or not self.id:
            check_name(self.name, "resourceName")
        if creates or self.namespace is not None or not self.id:
            check_name(self.namespace, "resourceNamespace")
        if not self.associations:
            raise property_fault("associations", "there is none; expected at least one")
        types = [each.type for each in self.associations]
        if len(set(types)) < len(types):
            raise property_fault("associationType", "a request has each type once at most")
        for each in self.associations:
            _check_schema(each)

    def resource(self) -> Resource:
        """The resource as the request describes it, which must be whole; else ``InvalidAssociation``."""
        name = check_name(self.name, "resourceName")
        return Resource(name, check_name(self.namespace, "resourceNamespace"), self.type, self.id or "")


def _check_schema(request: AssociationRequest) -> None:
    if request.schema is None:
        return
    if request.lifecycle is Lifecycle.WEAK:
        raise property_fault("lifecycle", "a subject that is given a schema here belongs to the resource: STRONG")
    if request.frozen is False:
        raise property_fault("frozen", "an association that brings a schema is frozen")


@dataclass(frozen=True, slots=True)
class Effect:
    """An association as it was made or changed, and the schema that came with it.

    The schema is a plan where it was not stored yet, and nothing was written.
    """

    association: Association
    schema: Registered | Append | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a request has changed, or would have."""

    resource: Resource
    effects: tuple[Effect, ...] = field(default=())
