"""Writes as plain values: guards, effects, the plan of both, its author, and its trail for the audit.

The errors of the registry, besides those of the API::

    CounterfoilError
    ├── RegistryError …     (counterfoil.schema.errors) an error response of the REST API
    ├── StaleWrite          the data has changed in the meantime; repeat
    └── StoreNotUsable      the server cannot start on this store

Whether a write is permitted, and what it consists of, is decided when it is planned, from what was read without a lock.
A storage decides nothing: under its lock it checks the guards, allots ids, carries out the effects, and records them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final, TypeAlias
from uuid import UUID

from counterfoil.registry.audit.events import AuditEvent, AuditLog
from counterfoil.registry.store.changes import JournalChange, ScopeSettings, WrittenChanges
from counterfoil.registry.subjects.versions import Content, VersionEntry, VersionUse
from counterfoil.schema.contexts import GLOBAL_LEVEL, TOP_LEVEL, QualifiedSubject
from counterfoil.schema.errors import CounterfoilError, OperationNotPermitted, StoreUnavailable
from counterfoil.schema.rest.object_forms import Document

# The errors of the registry, besides those of the API.


class StaleWrite(CounterfoilError):
    """Data has changed since it was read, so that a write was refused, or a response cannot be completed; repeat."""


class StoreNotUsable(CounterfoilError):
    """The store in the settings cannot be used; the message names it and what would be right."""


# Who requests a write: part of the journal, in the transaction of the write.


@dataclass(frozen=True, slots=True)
class Author:
    """The principal of a request, None if no authentication is set up, and the request's id."""

    principal: str | None = None
    request_id: str | None = None


UNKNOWN: Final = Author()
"""The author of a write that no request caused."""


# Sets of subjects: one, those of a context, or all.


@dataclass(frozen=True, slots=True)
class Extent:
    """The subjects with a context and a name; None stands for every one."""

    context: str | None = None
    name: str | None = None

    @classmethod
    def of(cls, subject: QualifiedSubject) -> Extent:
        """Return the extent of one subject."""
        return cls(subject.context, subject.name)

    def __contains__(self, subject: QualifiedSubject) -> bool:
        return self.context in {None, subject.context} and self.name in {None, subject.name}


# Guards: the data on which a write plan was decided.
#
# A storage checks the guards of a plan in order, under its lock and before the first effect. The first one that does
# not hold refuses the plan with its ``refusal``: ``StaleWrite`` if the write must be planned again, and another error
# if the same plan would be refused for ever.


@dataclass(frozen=True, slots=True)
class AtRevision:
    """The history of ``subject`` has this revision."""

    subject: QualifiedSubject
    revision: int

    def refusal(self) -> CounterfoilError:
        """Return the error for a subject that has changed."""
        return StaleWrite(f"{self.subject} has changed since the write was planned")


@dataclass(frozen=True, slots=True)
class SameTerms:
    """Config and mode of ``scopes`` have not changed since the settings had this revision; None is all scopes.

    A change of another scope does not refuse the plan; otherwise registrations would be repeated for ever in a registry
    whose settings change all the time. A change of a record counts as one of the top level.
    """

    revision: int
    scopes: tuple[QualifiedSubject, ...] | None = None

    def refusal(self) -> CounterfoilError:
        """Return the error for a config or mode that has changed."""
        return StaleWrite("config or mode has changed since the write was planned")


def same_terms(scope: QualifiedSubject, revision: int) -> SameTerms:
    """Return the guard that what is in effect for ``scope`` has not changed since a revision of the settings."""
    levels = (scope, QualifiedSubject(scope.context, ""), TOP_LEVEL, GLOBAL_LEVEL)
    return SameTerms(revision, tuple(dict.fromkeys(levels)))


@dataclass(frozen=True, slots=True)
class ReferenceTarget:
    """A version that a schema refers to exists. ``must_be_active``: it is not soft-deleted."""

    subject: QualifiedSubject
    version: int
    must_be_active: bool = True

    def refusal(self) -> CounterfoilError:
        """Return the error for a version that no longer exists."""
        return StaleWrite(f"{self.subject} version {self.version} is gone")


@dataclass(frozen=True, slots=True)
class IdFree:
    """No content has this id, or the content with this fingerprint has it."""

    context: str
    schema_id: int
    guid: UUID

    def refusal(self) -> CounterfoilError:
        """Return the error for an import with an id that another schema has."""
        return OperationNotPermitted(
            f"Id {self.schema_id} already stands for another schema in context {self.context!r}; ids are never re-bound"
        )


@dataclass(frozen=True, slots=True)
class IdOf:
    """A new version with the content of this fingerprint gets this id."""

    context: str
    guid: UUID
    schema_id: int

    def refusal(self) -> CounterfoilError:
        """Return the error for a content that has another id."""
        return StaleWrite(f"the id of {self.guid} has changed since the write was planned")


@dataclass(frozen=True, slots=True)
class Unreferenced:
    """No schema refers to these versions of ``subject``.

    Referring subjects in ``inside`` do not count; soft-deleted referring versions only if ``deleted_count``.
    """

    subject: QualifiedSubject
    versions: tuple[int, ...]
    inside: Extent | None = None
    deleted_count: bool = True

    def is_broken_by(self, use: VersionUse) -> bool:
        """Return whether a version that refers to one of these counts."""
        is_inside = self.inside is not None and use.subject in self.inside
        return not is_inside and (self.deleted_count or not use.deleted)

    def refusal(self) -> CounterfoilError:
        """Return the error for a reference that was registered in the meantime."""
        return StaleWrite(f"a schema refers to {self.subject} since the write was planned")


@dataclass(frozen=True, slots=True)
class RecordAt:
    """A record has this revision; 0 stands for no record."""

    kind: str
    key: tuple[str, ...]
    revision: int

    def refusal(self) -> CounterfoilError:
        """Return the error for a record that has changed."""
        return StaleWrite(f"{self.kind} {'/'.join(self.key)} has changed since the write was planned")


@dataclass(frozen=True, slots=True)
class SubjectCount:
    """A context, or with None the registry, has this number of subjects, soft-deleted ones included."""

    context: str | None
    count: int

    def refusal(self) -> CounterfoilError:
        """Return the error for subjects that were added or removed."""
        where = "the registry" if self.context is None else f"context {self.context}"
        return StaleWrite(f"the subjects of {where} have changed since the write was planned")


Guard: TypeAlias = AtRevision | SameTerms | ReferenceTarget | IdFree | IdOf | Unreferenced | RecordAt | SubjectCount


# Effects: what a write plan does once its guards hold. Each is recorded in the journal when it is carried out.


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
    targets: tuple[ReferenceTarget, ...] = ()
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


# Write plans: guards and effects, carried out all or not at all.

_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class StoragePlan:
    """The guards of a write, which are all checked first, and its effects, in their order; ``author`` requested it."""

    guards: tuple[Guard, ...] = ()
    effects: tuple[Effect, ...] = ()
    author: Author = UNKNOWN

    @property
    def new_versions(self) -> tuple[PutVersion, ...]:
        """The versions that the plan stores."""
        return tuple(effect for effect in self.effects if isinstance(effect, PutVersion))

    @property
    def changes_terms(self) -> bool:
        """Whether config or modes are changed, or records on which registrations and deletions depend."""
        return any(
            isinstance(effect, PutSettings) or (isinstance(effect, PutRecord) and effect.is_term)
            for effect in self.effects
        )

    @property
    def changes_leased(self) -> bool:
        """Whether records are written that servers answer by under the lease of ids."""
        return any(isinstance(effect, PutRecord) and effect.is_leased for effect in self.effects)


def together(plans: Iterable[StoragePlan]) -> StoragePlan:
    """Return the plan that carries out all of ``plans`` or none: no effect of one makes a guard of another fail."""
    parts = tuple(plans)
    return StoragePlan(
        tuple(guard for plan in parts for guard in plan.guards),
        tuple(effect for plan in parts for effect in plan.effects),
    )


def record_write(
    kind: str,
    key: tuple[str, ...],
    document: Document | None,
    *,
    revision: int,
    is_term: bool = False,
    for_audit: Mapping[str, str] = _NOTHING,
) -> StoragePlan:
    """Return the plan that stores a record, or deletes it if ``document`` is None.

    ``revision`` is the one that was read, 0 if there was no such record. ``for_audit``: see :class:`PutRecord`.
    """
    return StoragePlan(
        (RecordAt(kind, key, revision),), (PutRecord(kind, key, document, is_term, for_audit=for_audit),)
    )


# What is known of one request for the audit: what it has written, and why it was refused.


@dataclass(slots=True)
class RequestTrail:
    """The trail of a request that ``log`` records.

    ``facts`` returns what every event of it says: who, what, from where. ``reads`` are the versions whose texts are in
    the response, as far as that is recorded. ``refused`` is what a refusal adds to that.
    ``is_denied``: the caller lacked a right, even if the response does not say so by its status.
    """

    log: AuditLog
    facts: Callable[[], Document]
    changes: list[JournalChange] = field(default_factory=list)
    events: list[AuditEvent] = field(default_factory=list)
    reads: dict[tuple[QualifiedSubject, int], None] = field(default_factory=dict)
    refused: Document = field(default_factory=dict)
    is_denied: bool = False

    def require_recording(self) -> None:
        """Raise ``StoreUnavailable`` while events cannot be recorded, and writes are refused for that."""
        if self.log.refuses_writes:
            raise StoreUnavailable("The audit file cannot be written, and writes are refused until it can")

    def completed(self, effect: Effect) -> Effect:
        """Return ``effect``; its events, if it records any, with the facts of the request."""
        if not isinstance(effect, RecordEvents):
            return effect
        facts = self.facts()
        return RecordEvents(tuple(replace(event, facts={**facts, **event.facts}) for event in effect.events))


# Who has a plan carried out. Use cases pass it on to the storage, and decide nothing by it.


@dataclass(frozen=True, slots=True)
class Requester:
    """The author of a write, and the trail of the request for the audit, if the audit is on."""

    author: Author = UNKNOWN
    trail: RequestTrail | None = None

    def signed(self, plan: StoragePlan) -> StoragePlan:
        """Return ``plan`` with its author, and with the facts of the request in its events.

        Raise ``StoreUnavailable`` while the audit cannot record what is written, and writes are refused for that.
        """
        if self.trail is None:
            return replace(plan, author=self.author)
        self.trail.require_recording()
        return replace(plan, author=self.author, effects=tuple(map(self.trail.completed, plan.effects)))

    def noted(self, written: WrittenChanges, plan: StoragePlan) -> WrittenChanges:
        """Return the outcome of ``plan``, and add it to the trail."""
        if self.trail is not None:
            self.trail.changes.extend(written.changes)
            for effect in plan.effects:
                if isinstance(effect, RecordEvents):
                    self.trail.events.extend(effect.events)
        return written


NO_REQUEST: Final = Requester()
"""The requester of a write that the server, or a command beside it, makes by itself."""
