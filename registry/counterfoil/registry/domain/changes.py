"""What has happened in a registry, in the order in which it did: the facts behind its present state."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from uuid import UUID

    from counterfoil.schema.contexts import QualifiedSubject
    from counterfoil.schema.rest.object_forms import Document


class ChangeKind(Enum):
    """What a change did."""

    REGISTERED = "version-registered"
    DELETED = "version-deleted"
    """A version was soft-deleted."""
    REMOVED = "version-removed"
    """A version was deleted for good."""
    SETTINGS = "settings-changed"
    """Config or mode of a scope; the document holds all that is stored there now: ``config``, ``mode``."""
    CONTEXT_DELETED = "context-deleted"
    RECORD = "record-changed"
    """A key or an association; the document names its ``kind`` and ``key``, never what it holds."""


@dataclass(frozen=True, slots=True)
class Change:
    """One fact.

    ``seq`` counts all changes of a registry from 1 without a gap, in the order in which they were committed. ``ts``
    (epoch ms) never decreases from one change to the next. ``subject`` is the scope for settings, and the empty name
    of its context for a context. ``version``, ``schema_id`` and ``guid`` belong to versions.
    """

    seq: int
    ts: int
    kind: ChangeKind
    subject: QualifiedSubject
    version: int | None = None
    schema_id: int | None = None
    guid: UUID | None = None
    document: Document | None = None
