"""Associations: the subjects of the schemas of a topic's keys or values, and the owners of these subjects.

Source: Confluent's description of the Schema Registry REST API, associations.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from counterfoil.schema.contexts import QualifiedSubject
from counterfoil.schema.rest.object_forms import FLAG, INTEGER, REQUIRED, SUBJECT, TEXT, Member, ObjectForm, word_of
from counterfoil.schema.rest.version_forms import read_guid

if TYPE_CHECKING:
    from uuid import UUID

    from counterfoil.schema.rest.json_values import JsonValue
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


_FROZEN: Final = Member(
    "frozen", "frozen", FLAG, about="Absent if it is the default of the lifecycle: true for STRONG, false for WEAK."
)

RESOURCE: Final = ObjectForm(
    Resource,
    (
        Member("resourceName", "name", TEXT, otherwise=REQUIRED, about="Letters, digits, `_` and `-`, at most 256."),
        Member("resourceNamespace", "namespace", TEXT, otherwise=REQUIRED, about="The namespace of the cluster."),
        Member("resourceId", "id", TEXT, otherwise=REQUIRED),
        Member("resourceType", "type", TEXT, otherwise=REQUIRED, about="The type of the resource: `topic`."),
    ),
    keeps_empty=True,
)
"""The members that identify a resource."""

BOND: Final = ObjectForm(
    Association,
    (
        Member("subject", "subject", SUBJECT, otherwise=REQUIRED, about="The qualified name, `:.context:name`."),
        Member("associationType", "type", word_of(AssociationType), otherwise=REQUIRED, about="key or value."),
        Member("lifecycle", "lifecycle", word_of(Lifecycle), otherwise=REQUIRED, about="STRONG or WEAK."),
        _FROZEN,
    ),
)
"""The members about the subject and its part in the resource."""

HISTORY: Final = ObjectForm(
    Association,
    (
        Member("guid", "guid", replace(TEXT, read=read_guid, write=str), otherwise=REQUIRED),
        Member("createTs", "create_ts", INTEGER, about="The time of its creation, in epoch milliseconds."),
        Member("updateTs", "update_ts", INTEGER, about="The time of its last change, in epoch milliseconds."),
    ),
)
"""The identity of an association in one registry, and its times there."""


def association_document(association: Association) -> Document:
    """Return the JSON of an association, with ``frozen`` only if it is not the lifecycle's default."""
    return {**bond_document(association), **RESOURCE.write(association.resource), **HISTORY.write(association)}


def bond_document(association: Association) -> Document:
    """Return the JSON of an association without the members of its resource, its guid and its times."""
    document = BOND.write(association)
    if association.frozen == association.lifecycle.freezes:
        del document[_FROZEN.key]
    return document


def read_association(value: JsonValue) -> Association:
    """Return the association in a response; times that it does not have are 0."""
    bond = BOND.read_fields(value)
    defaults = {"frozen": bond["lifecycle"].freezes, "create_ts": 0, "update_ts": 0}
    return Association(resource=RESOURCE.read(value), **{**defaults, **bond, **HISTORY.read_fields(value)})


def new_association_document(association: Association) -> Document:
    """Return the request that creates ``association``, without a schema."""
    return {**RESOURCE.write(association.resource), "associations": [BOND.write(association)]}
