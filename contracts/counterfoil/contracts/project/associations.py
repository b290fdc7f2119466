"""The associations of topics with subjects that a project declares."""

from __future__ import annotations

from dataclasses import dataclass

from counterfoil.schema.rest.subjects import AssociationType, Lifecycle


@dataclass(frozen=True, slots=True)
class TopicAssociation:
    """The association of a subject with a topic that `counterfoil plan` creates: the topic, and its part."""

    topic: str
    namespace: str
    id: str
    type: AssociationType = AssociationType.VALUE
    lifecycle: Lifecycle = Lifecycle.WEAK

    def __str__(self) -> str:
        return f"{self.type} of {self.namespace}/{self.topic} ({self.id}), {self.lifecycle}"
