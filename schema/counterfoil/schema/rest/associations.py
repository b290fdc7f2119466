"""Associations: the subjects of the schemas of a topic's keys or values, and the owners of these subjects.

Source: Confluent's description of the Schema Registry REST API, associations.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from counterfoil.schema.contexts import QualifiedSubject

if TYPE_CHECKING:
    from uuid import UUID

    from counterfoil.schema.rest.object_forms import Document

TOPIC: Final = "topic"
"""The only type of resource."""

WILDCARD: Final = "-"
"""The value for any name, or any namespace, in a look-up by name."""


class AssociationType(StrEnum):
    """The part of a topic's records that an association is about."""

    KEY = "key"
    VALUE = "value"


class Lifecycle(StrEnum):
    """The ownership of the subject."""

    STRONG = "STRONG"
    """It belongs to one resource: it has the resource's name and is deleted with it."""
    WEAK = "WEAK"
    """It belongs to no resource: resources may share it, and it is kept when they are deleted."""

    @property
    def freezes(self) -> bool:
        """Whether an association is frozen by default."""
        return self is Lifecycle.STRONG


@dataclass(frozen=True, slots=True, order=True)
class Resource:
    """The resource of an association: a topic, in the namespace of its cluster, with an id."""

    name: str
    namespace: str
    type: str
    id: str

    def subject_of(self, association_type: AssociationType) -> QualifiedSubject:
        """Return the subject that belongs to this resource only: ``:.namespace:name-type``."""
        return QualifiedSubject(f".{self.namespace}", f"{self.name}-{association_type}")

    def __str__(self) -> str:
        return f"{self.type} {self.namespace}/{self.name} ({self.id})"


@dataclass(frozen=True, slots=True)
class Association:
    """The association of one subject with one resource. Times are epoch milliseconds; ``guid`` is the association's."""

    subject: QualifiedSubject
    guid: UUID
    resource: Resource
    type: AssociationType
    lifecycle: Lifecycle
    frozen: bool
    create_ts: int
    update_ts: int

    @property
    def sort_key(self) -> tuple[str, ...]:
        """The sort key: name, namespace, type of resource, type of association, subject, id."""
        resource = self.resource
        return resource.name, resource.namespace, resource.type, self.type, str(self.subject), resource.id


def association_document(association: Association) -> Document:
    """Return the JSON of an association, with ``frozen`` only if it is not the lifecycle's default."""
    document: Document = {
        "subject": str(association.subject),
        "guid": str(association.guid),
        **resource_fields(association.resource),
        "associationType": association.type.value,
        **bond_fields(association.lifecycle, frozen=association.frozen),
    }
    return {**document, "createTs": association.create_ts, "updateTs": association.update_ts}


def resource_fields(resource: Resource) -> Document:
    """Return the JSON members that identify a resource."""
    return {
        "resourceName": resource.name,
        "resourceNamespace": resource.namespace,
        "resourceId": resource.id,
        "resourceType": resource.type,
    }


def bond_fields(lifecycle: Lifecycle, *, frozen: bool) -> Document:
    """Return the JSON members for the lifecycle and for ``frozen``, if that is not the lifecycle's default."""
    if frozen == lifecycle.freezes:
        return {"lifecycle": lifecycle.value}
    return {"lifecycle": lifecycle.value, "frozen": frozen}
