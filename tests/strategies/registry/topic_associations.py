"""Associations of topics with subjects, for tests of serializers."""

from __future__ import annotations

from uuid import UUID

from counterfoil.schema.contexts import DEFAULT_CONTEXT, QualifiedSubject
from counterfoil.schema.rest.subjects import Association, AssociationType, Lifecycle, Resource


def association_of(topic: str, subject: str, *, cluster: str = "lkc-1", field: str = "value") -> Association:
    """Return the association of the topic's keys or values with a subject that other topics may share."""
    return Association(
        subject=QualifiedSubject(DEFAULT_CONTEXT, subject),
        guid=UUID(int=0),
        resource=Resource(topic, cluster, "topic", f"{cluster}-{topic}"),
        type=AssociationType(field),
        lifecycle=Lifecycle.WEAK,
        frozen=False,
        create_ts=0,
        update_ts=0,
    )
