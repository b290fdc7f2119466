"""Requests about the associations of one resource: to create, change or delete them."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

from counterfoil.registry.domain.associations import check_name, check_resource_id, check_resource_type, property_fault
from counterfoil.schema.contexts import DEFAULT_CONTEXT
from counterfoil.schema.rest.associations import TOPIC, Association, AssociationType, Lifecycle, Resource

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.registry.domain.writes.effects import PutVersion
    from counterfoil.registry.service.registration import Registered
    from counterfoil.registry.service.requests import SchemaRequest
    from counterfoil.schema.contexts import QualifiedSubject


class Operation(Enum):
    """How an association is written."""

    CREATE = "CREATE"
    """Create it; an existing one must be equal."""
    UPSERT = "UPSERT"
    """Create it, or change the existing one."""
    DELETE = "DELETE"


@dataclass(frozen=True, slots=True)
class AssociationRequest:
    """One association in a request. None is not given.

    ``subject`` is the text of the request. ``cascades``: subjects that belong to the resource alone are deleted with
    the association.
    """

    operation: Operation
    type: AssociationType = AssociationType.VALUE
    subject: str | None = None
    lifecycle: Lifecycle | None = None
    frozen: bool | None = None
    schema: SchemaRequest | None = None
    normalize: bool = False
    cascades: bool = False


Permit: TypeAlias = "Callable[[QualifiedSubject, AssociationRequest], None]"
"""Raises unless the caller may write an association of a subject as requested."""


def permit_all(_: QualifiedSubject, __: AssociationRequest) -> None:
    """Do nothing: for callers who may do everything."""


@dataclass(frozen=True, slots=True)
class ResourceRequest:
    """A request about the associations of one resource.

    ``context`` is the context of subjects without one.
    """

    associations: tuple[AssociationRequest, ...]
    id: str | None = None
    name: str | None = None
    namespace: str | None = None
    type: str = TOPIC
    context: str = DEFAULT_CONTEXT

    def check(self, *, needs_id: bool) -> None:
        """Raise ``InvalidAssociation``, which names the property, if the request is not valid by itself."""
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
        """Return the resource in the request; raise ``InvalidAssociation`` if a part of it is missing."""
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
    """An association as it was created or changed, and the schema of the request.

    The schema is a version to store if it is not stored yet.
    """

    association: Association
    schema: Registered | PutVersion | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """The changes of a request, made or (in a dry run) planned."""

    resource: Resource
    effects: tuple[Effect, ...] = field(default=())
