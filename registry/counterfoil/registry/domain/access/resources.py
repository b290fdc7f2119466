"""What operations are done to: the registry, its contexts, their subjects, and the other things with names."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

from counterfoil.schema.contexts import TOP_LEVEL

if TYPE_CHECKING:
    from counterfoil.schema.contexts import QualifiedSubject


class Kind(Enum):
    """The kinds of resources; the value is the word before the colon in files and messages."""

    REGISTRY = "registry"
    CONTEXT = "context"
    SUBJECT = "subject"
    KEK = "kek"
    APPLICATION = "application"
    ENVIRONMENT = "environment"
    BRIDGE = "bridge"


@dataclass(frozen=True, slots=True)
class Resource:
    """One resource. ``context`` is that of a subject or a context, ``name`` is empty for a context and the registry."""

    kind: Kind
    name: str = ""
    context: str = ""

    def __str__(self) -> str:
        """Return the text that messages use, such as ``Subject: orders-value``."""
        match self.kind:
            case Kind.REGISTRY:
                return "Registry"
            case Kind.CONTEXT:
                return f"Context: {self.context}"
            case Kind.SUBJECT if self.context != TOP_LEVEL.context:
                return f"Subject: :{self.context}:{self.name}"
            case _:
                return f"{self.kind.value.capitalize()}: {self.name}"


REGISTRY: Final = Resource(Kind.REGISTRY)


def subject_resource(subject: QualifiedSubject) -> Resource:
    """Return a subject as a resource; a name that is a context is that context."""
    if subject.is_global:
        return REGISTRY
    if subject.is_context:
        return Resource(Kind.CONTEXT, context=subject.context)
    return Resource(Kind.SUBJECT, subject.name, subject.context)


def scope_resource(scope: QualifiedSubject) -> Resource:
    """Return the resource whose config or mode ``scope`` names: that of the default context is the registry's."""
    return REGISTRY if scope == TOP_LEVEL else subject_resource(scope)
