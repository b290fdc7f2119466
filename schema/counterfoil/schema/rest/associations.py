"""Associations: which subject holds the schemas of a topic's keys or values, and whom that subject belongs to.

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
"""The only type of resource there is."""

WILDCARD: Final = "-"
"""In a look-up by name: any name, or any namespace."""


class AssociationType(StrEnum):
    """Which part of a topic's records."""

    KEY = "key"
    VALUE = "value"


class Lifecycle(StrEnum):
    """Whom the subject belongs to."""

    STRONG = "STRONG"
    """To the resource alone: it carries the resource's name and goes with it."""
    WEAK = "WEAK"
    """To nobody: resources may share it, and it stays when they go."""

    @property
    def freezes(self) -> bool:
        """Whether an association is frozen where nothing else is said."""
        return self is Lifecycle.STRONG


@dataclass(frozen=True, slots=True, order=True)
class Resource:
    """What a subject is associated with: a topic, in the namespace of its cluster, known by an id."""

    name: str
    namespace: str
    type: str
    id: str

    def subject_of(self, association_type: AssociationType) -> QualifiedSubject:
        """Return the subject that belongs to this resource alone: ``:.namespace:name-type``."""
        return QualifiedSubject(f".{self.namespace}", f"{self.name}-{association_type}")

    def __str__(self) -> str:
        return f"{self.type} {self.namespace}/{self.name} ({self.id})"


@dataclass(frozen=True, slots=True)
class Association:
    """One subject of one resource. Times are epoch milliseconds; ``guid`` is the association's own."""

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
        """By name, namespace, type of resource, type of association, subject."""
        resource = self.resource
        return resource.name, resource.namespace, resource.type, self.type, str(self.subject), resource.id


def association_document(association: Association) -> Document:
    """Return the JSON of an association: ``frozen`` only where the lifecycle does not say it already."""
    document: Document = {
        "subject": str(association.subject),
        "guid": str(association.guid),
        **resource_fields(association.resource),
        "associationType": association.type.value,
        **bond_fields(association.lifecycle, frozen=association.frozen),
    }
    return {**document, "createTs": association.create_ts, "updateTs": association.update_ts}


def resource_fields(resource: Resource) -> Document:
    """Return the members that name a resource."""
    return {
        "resourceName": resource.name,
        "resourceNamespace": resource.namespace,
        "resourceId": resource.id,
        "resourceType": resource.type,
    }


def bond_fields(lifecycle: Lifecycle, *, frozen: bool) -> Document:
    """Return the members that say how close an association is."""
    if frozen == lifecycle.freezes:
        return {"lifecycle": lifecycle.value}
    return {"lifecycle": lifecycle.value, "frozen": frozen}
