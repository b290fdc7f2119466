"""Effects: what a write plan does once its guards hold. Each is recorded in the journal when it is carried out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterfoil.registry.domain.audit.events import AuditEvent
    from counterfoil.registry.domain.content import Content
    from counterfoil.registry.domain.scope_settings import ScopeSettings
    from counterfoil.registry.domain.versions import VersionEntry
    from counterfoil.registry.domain.writes.guards import Target
    from counterfoil.schema.contexts import QualifiedSubject
    from counterfoil.schema.rest.object_forms import Document


@dataclass(frozen=True, slots=True)
class PutVersion:
    """Store a version of ``subject``, instead of ``replaced`` if that has its number.

    ``schema_id`` is the id given by an import; with None, the content's primary id in this context is used, or a new
    one is allotted. A new id is bound to the content, which refers to ``targets``. ``ts`` (epoch ms) is the time of
    storage given by an import; None is now. An id that only ``replaced`` had is released.
    """

    subject: QualifiedSubject
    version: int
    content: Content
    targets: tuple[Target, ...] = ()
    schema_id: int | None = None
    ts: int | None = None
    replaced: VersionEntry | None = None


@dataclass(frozen=True, slots=True)
class MarkDeleted:
    """Soft-delete existing versions of ``subject``."""

    subject: QualifiedSubject
    versions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RemoveVersions:
    """Delete existing versions of ``subject`` permanently, and release ids that no version has any more."""

    subject: QualifiedSubject
    versions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PutSettings:
    """Replace what is stored for ``scope``."""

    scope: QualifiedSubject
    settings: ScopeSettings


@dataclass(frozen=True, slots=True)
class PutRecord:
    """Store a record, or delete it if ``document`` is None.

    Writing the same content again gives it a new revision, so that plans made with the old one are refused.
    ``is_term``: registrations and deletions depend on it, so that it also gives the settings a new revision.
    ``is_leased``: servers answer by it for a moment without reading the journal, as they do for ids. ``for_audit`` are
    members that its change in the journal has besides kind and key.
    """

    kind: str
    key: tuple[str, ...]
    document: Document | None
    is_term: bool = False
    is_leased: bool = False
    for_audit: Mapping[str, str] = field(default_factory=dict)

    @property
    def noted(self) -> Document:
        """The document of its change in the journal."""
        return {"kind": self.kind, "key": list(self.key), **self.for_audit}


@dataclass(frozen=True, slots=True)
class RefreshRecord:
    """Replace the content of an existing record without a change in the journal; its revision stays.

    It is for reports that are sent all the time, of which only the latest one is of interest. A guard on the revision
    must make sure that the record exists.
    """

    kind: str
    key: tuple[str, ...]
    document: Document


@dataclass(frozen=True, slots=True)
class DropContext:
    """Remove a context from the listing. Its ids are not allotted again."""

    context: str


@dataclass(frozen=True, slots=True)
class RecordEvents:
    """Add events to the audit, after the last change of the journal, which gets none for them."""

    events: tuple[AuditEvent, ...]


@dataclass(frozen=True, slots=True)
class DropEvents:
    """Remove the events of the audit up to the one with the number ``until``."""

    until: int


Effect: TypeAlias = (
    PutVersion
    | MarkDeleted
    | RemoveVersions
    | PutSettings
    | PutRecord
    | RefreshRecord
    | DropContext
    | RecordEvents
    | DropEvents
)
