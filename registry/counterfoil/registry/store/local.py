"""The common part of the storages in this process: primitive reads and writes, and carrying out plans with them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Protocol

from counterfoil.registry.store.changes import SCOPE_SETTINGS, JournalChangeKind, WrittenChanges
from counterfoil.registry.store.committing import WriteObservers
from counterfoil.registry.store.protocol import Load, StoreContact
from counterfoil.registry.store.writes import (
    AtRevision,
    DropContext,
    DropEvents,
    IdFree,
    IdOf,
    MarkDeleted,
    PutRecord,
    PutSettings,
    PutVersion,
    RecordAt,
    RecordEvents,
    ReferenceTarget,
    RefreshRecord,
    RemoveVersions,
    SameTerms,
    SubjectCount,
    Unreferenced,
)
from counterfoil.registry.subjects.versions import VersionEntry
from counterfoil.schema.contexts import TOP_LEVEL, QualifiedSubject, SubjectPrefix
from counterfoil.schema.rest.versions import Visibility

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from counterfoil.registry.audit.events import AuditEvent, EventPlace, StoredEvent
    from counterfoil.registry.store.changes import JournalChange, ScopeSettings
    from counterfoil.registry.store.name_ranges import SubjectRange
    from counterfoil.registry.store.protocol import Observer, StorageRecord, StoreTotals
    from counterfoil.registry.store.writes import Author, Effect, Guard, StoragePlan
    from counterfoil.registry.subjects.versions import Content, SubjectHistory, SubjectSummary, VersionUse
    from counterfoil.schema.rest.object_forms import Document


# The primitive reads and writes of a storage in this process, and carrying out plans with them.
#
# Nothing is decided here: a storage provides the primitives and a transaction around :func:`apply`.


class Reads(Protocol):
    """The primitive reads; see :class:`counterfoil.registry.store.protocol.Storage` for the meaning of each."""

    def history(self, subject: QualifiedSubject) -> SubjectHistory:
        """Return all versions of a subject."""

    def content(self, guid: UUID) -> Content | None:
        """Return the content with this fingerprint."""

    def guid_of_id(self, context: str, schema_id: int) -> UUID | None:
        """Return the fingerprint of an id's content."""

    def id_of_guid(self, context: str, guid: UUID) -> int | None:
        """Return the id of a content in a context."""

    def ids_of_guid(self, guid: UUID) -> Sequence[tuple[str, int]]:
        """Return all ids of a content."""

    def max_id(self, context: str) -> int:
        """Return the highest id that was ever used in a context."""

    def uses(self, context: str, schema_id: int) -> Sequence[VersionUse]:
        """Return the versions with an id."""

    def referrers(self, subject: QualifiedSubject, version: int) -> Sequence[VersionUse]:
        """Return the versions that refer to a version."""

    def subjects(self, prefix: SubjectPrefix, visibility: Visibility) -> Sequence[QualifiedSubject]:
        """Return the subjects with a prefix."""

    def subject_names(self, prefix: SubjectPrefix, visibility: Visibility, first: int, last: int) -> str:
        """Return the names of subjects with a prefix, as the text of a JSON array."""

    def names_within(self, ranges: Sequence[SubjectRange], visibility: Visibility, first: int, last: int) -> str:
        """Return the names of subjects in ranges, as the text of a JSON array."""

    def summaries(self, ranges: Sequence[SubjectRange], visibility: Visibility, limit: int) -> Sequence[SubjectSummary]:
        """Return the first subjects in ranges, with their latest versions."""

    def totals(self) -> StoreTotals:
        """Return the numbers of subjects and versions."""

    def contexts(self) -> Sequence[str]:
        """Return the known contexts."""

    def settings(self, scope: QualifiedSubject) -> ScopeSettings:
        """Return the stored settings of a scope."""

    def settings_revision(self) -> int:
        """Return the revision of the settings."""

    def scopes(self) -> Sequence[tuple[QualifiedSubject, ScopeSettings]]:
        """Return all scopes with settings."""

    def records(self, kind: str, prefix: tuple[str, ...]) -> Sequence[StorageRecord]:
        """Return the records of a kind whose keys have a prefix."""

    def records_under(self, kind: str, prefixes: Sequence[tuple[str, ...]]) -> Sequence[Sequence[StorageRecord]]:
        """Return the records of a kind whose keys have one of several prefixes, by prefix."""

    def changes(self, after: int, limit: int) -> Sequence[JournalChange]:
        """Return at most ``limit`` changes after one."""

    def changes_of(
        self,
        subject: QualifiedSubject,
        until: int,
        *,
        versions: range | None = None,
        kind: JournalChangeKind | None = None,
        newest: int | None = None,
    ) -> Sequence[JournalChange]:
        """Return the changes of one scope up to a number."""

    def has_changed(self, scope: QualifiedSubject, since: int) -> bool:
        """Return whether config or mode of a scope, or a record of it, was written after the change ``since``."""

    def last_change(self, until_ts: int | None) -> int:
        """Return the number of the last change up to a time."""

    def journal_head(self) -> tuple[int, bytes]:
        """Return the number of the last change and the chain up to it; 0 and an empty one if there is none."""

    def audit_events(self, after: EventPlace, last_change: int, limit: int) -> Sequence[StoredEvent]:
        """Return at most ``limit`` events of the audit after one, and not after a later change."""


class Tables(Reads, Protocol):
    """The primitive writes, beside the reads. They check nothing."""

    def put_content(self, content: Content) -> None:
        """Store a content if it is not stored yet."""

    def take_id(self, context: str) -> int:
        """Allot and return the next id of a context; the context exists afterwards."""

    def claim_id(self, context: str, schema_id: int, guid: UUID) -> None:
        """Reserve an id that the caller chose: later ids are higher, and no other id of the content is primary.

        The context exists afterwards.
        """

    def bind_id(self, context: str, schema_id: int, guid: UUID, targets: Sequence[ReferenceTarget]) -> None:
        """Give an id, taken or claimed, to a content that refers to ``targets``; it becomes the primary one."""

    def release_id(self, context: str, schema_id: int) -> None:
        """Delete an id that no version has, and its content if it has no other id."""

    def put_version(self, subject: QualifiedSubject, entry: VersionEntry) -> None:
        """Store a version, replacing the row with its number."""

    def mark_deleted(self, subject: QualifiedSubject, version: int) -> None:
        """Soft-delete a version."""

    def remove_version(self, subject: QualifiedSubject, version: int) -> None:
        """Remove a version's row."""

    def touch(self, subject: QualifiedSubject) -> None:
        """Set the subject's revision to the number of the last change; delete a subject without rows."""

    def put_settings(self, scope: QualifiedSubject, settings: ScopeSettings) -> None:
        """Store config and mode of a scope; the number of the last change is the settings' revision."""

    def revision_of_record(self, kind: str, key: tuple[str, ...]) -> int:
        """Return the revision of a record; 0 when there is none."""

    def put_record(self, record: PutRecord) -> None:
        """Store or remove a record; the number of the last change is its revision."""

    def refresh_record(self, record: RefreshRecord) -> None:
        """Replace the content of an existing record; its revision stays."""

    def add_events(self, events: Sequence[AuditEvent]) -> None:
        """Add events to the audit, after the last change."""

    def drop_events(self, until: int) -> None:
        """Remove the events of the audit up to a number."""

    def touch_settings(self) -> None:
        """Set the settings' revision to the number of the last change."""

    def sign(self, author: Author) -> None:
        """Note the following changes as those of ``author``."""

    def note(
        self,
        kind: JournalChangeKind,
        subject: QualifiedSubject,
        *,
        version: int | None = None,
        schema_id: int | None = None,
        guid: UUID | None = None,
        document: Document | None = None,
    ) -> JournalChange:
        """Add a change with the next number, and return it."""

    def drop_context(self, context: str) -> None:
        """Remove a context from the listing; its ids are not allotted again."""


def now_ms() -> int:
    """Return the time, in epoch milliseconds."""
    return time.time_ns() // 1_000_000


def apply(tables: Tables, plan: StoragePlan) -> WrittenChanges:
    """Check all guards of ``plan``, then carry out its effects; raise the refusal of a guard that does not hold."""
    for guard in plan.guards:
        if not _holds(tables, guard):
            raise guard.refusal()
    tables.sign(plan.author)
    changes = tuple(change for effect in plan.effects for change in _carry_out(tables, effect))
    return WrittenChanges(changes, plan.changes_terms)


def _holds(tables: Tables, guard: Guard) -> bool:
    match guard:
        case AtRevision():
            return tables.history(guard.subject).revision == guard.revision
        case SameTerms():
            return tables.settings_revision() == guard.revision or (
                guard.scopes is not None
                and not any(tables.has_changed(scope, guard.revision) for scope in guard.scopes)
            )
        case ReferenceTarget():
            history = tables.history(guard.subject)
            return history.find(guard.version, deleted=not guard.must_be_active) is not None
        case IdFree():
            return tables.guid_of_id(guard.context, guard.schema_id) in {None, guard.guid}
        case IdOf():
            return tables.id_of_guid(guard.context, guard.guid) == guard.schema_id
        case Unreferenced():
            return not any(
                guard.is_broken_by(use)
                for version in guard.versions
                for use in tables.referrers(guard.subject, version)
            )
        case RecordAt():
            return tables.revision_of_record(guard.kind, guard.key) == guard.revision
        case SubjectCount():
            return len(tables.subjects(SubjectPrefix(guard.context, ""), Visibility.WITH_DELETED)) == guard.count


def _carry_out(tables: Tables, effect: Effect) -> list[JournalChange]:
    """Carry out one effect and return its changes."""
    match effect:
        case PutVersion():
            return [_put_version(tables, effect)]
        case MarkDeleted():
            return _mark_deleted(tables, effect)
        case RemoveVersions():
            return _remove_versions(tables, effect)
        case PutSettings():
            change = tables.note(
                JournalChangeKind.SETTINGS, effect.scope, document=SCOPE_SETTINGS.write(effect.settings)
            )
            tables.put_settings(effect.scope, effect.settings)
        case PutRecord():
            change = tables.note(JournalChangeKind.RECORD, TOP_LEVEL, document=effect.noted)
            tables.put_record(effect)
            if effect.is_term:
                tables.touch_settings()
        case RefreshRecord() | RecordEvents() | DropEvents():
            _write_beside(tables, effect)
            return []
        case DropContext():
            tables.drop_context(effect.context)
            change = tables.note(JournalChangeKind.CONTEXT_DELETED, QualifiedSubject(effect.context, ""))
    return [change]


def _write_beside(tables: Tables, effect: RefreshRecord | RecordEvents | DropEvents) -> None:
    """Carry out an effect that is no change."""
    match effect:
        case RefreshRecord():
            tables.refresh_record(effect)
        case RecordEvents():
            tables.add_events(effect.events)
        case DropEvents():
            tables.drop_events(effect.until)


def _put_version(tables: Tables, put: PutVersion) -> JournalChange:
    subject, guid = put.subject, put.content.guid
    schema_id = _id(tables, put)
    change = tables.note(JournalChangeKind.REGISTERED, subject, version=put.version, schema_id=schema_id, guid=guid)
    ts = change.ts if put.ts is None else put.ts
    tables.put_version(subject, VersionEntry(put.version, schema_id, guid, deleted=False, ts=ts))
    if put.replaced is not None:
        _release_unused(tables, subject.context, {put.replaced.schema_id})
    tables.touch(subject)
    return change


def _id(tables: Tables, put: PutVersion) -> int:
    """Return the id for the content of a version: the one that it has, or one that is allotted and bound to it."""
    context, guid, schema_id = put.subject.context, put.content.guid, put.schema_id
    if schema_id is None:
        known = tables.id_of_guid(context, guid)
        if known is not None:
            return known
        tables.put_content(put.content)
        schema_id = tables.take_id(context)
    elif tables.guid_of_id(context, schema_id) is not None:
        return schema_id
    else:
        tables.put_content(put.content)
        tables.claim_id(context, schema_id, guid)
    tables.bind_id(context, schema_id, guid, put.targets)
    return schema_id


def _mark_deleted(tables: Tables, effect: MarkDeleted) -> list[JournalChange]:
    marked = tables.history(effect.subject).entries_of(effect.versions)
    for entry in marked:
        tables.mark_deleted(effect.subject, entry.version)
    changes = [_note_version(tables, JournalChangeKind.DELETED, effect.subject, entry) for entry in marked]
    tables.touch(effect.subject)
    return changes


def _remove_versions(tables: Tables, effect: RemoveVersions) -> list[JournalChange]:
    removed = tables.history(effect.subject).entries_of(effect.versions)
    for entry in removed:
        tables.remove_version(effect.subject, entry.version)
    changes = [_note_version(tables, JournalChangeKind.REMOVED, effect.subject, entry) for entry in removed]
    _release_unused(tables, effect.subject.context, {entry.schema_id for entry in removed})
    tables.touch(effect.subject)
    return changes


def _note_version(
    tables: Tables, kind: JournalChangeKind, subject: QualifiedSubject, entry: VersionEntry
) -> JournalChange:
    return tables.note(kind, subject, version=entry.version, schema_id=entry.schema_id, guid=entry.guid)


def _release_unused(tables: Tables, context: str, schema_ids: set[int]) -> None:
    for schema_id in schema_ids:
        if not tables.uses(context, schema_id):
            tables.release_id(context, schema_id)


# The common part of the storages in this process, whose reads do not wait.


class LocalStorage:
    """The reads of a :class:`~counterfoil.registry.store.protocol.Storage` over ``reads``."""

    def __init__(self, reads: Reads) -> None:
        self._reads = reads
        self._observers = WriteObservers()
        self.contact = StoreContact()

    def last_known(self) -> None:
        """Return None: reads need no other process, so that they never lose contact."""

    def observe(self, observer: Observer, *, of_records: bool = False) -> None:
        """Call ``observer`` for every write that was carried out, before its caller gets the outcome."""
        self._observers.add(observer, of_records=of_records)

    async def catch_up(self) -> None:
        """Do nothing: only this process writes the store."""

    async def catch_up_soon(self) -> None:
        """Do nothing, as :meth:`catch_up`."""
        await self.catch_up()

    @property
    def has_current_ids(self) -> bool:
        """True: only this process writes."""
        return True

    async def history(self, subject: QualifiedSubject) -> SubjectHistory:
        """Return all versions of a subject."""
        return self._reads.history(subject)

    async def content(self, guid: UUID) -> Content | None:
        """Return the content with this fingerprint."""
        return self._reads.content(guid)

    async def guid_of_id(self, context: str, schema_id: int) -> UUID | None:
        """Return the fingerprint of an id's content."""
        return self._reads.guid_of_id(context, schema_id)

    async def id_of_guid(self, context: str, guid: UUID) -> int | None:
        """Return the id of a content in a context."""
        return self._reads.id_of_guid(context, guid)

    async def ids_of_guid(self, guid: UUID) -> Sequence[tuple[str, int]]:
        """Return all ids of a content."""
        return self._reads.ids_of_guid(guid)

    async def max_id(self, context: str) -> int:
        """Return the highest id that was ever used in a context."""
        return self._reads.max_id(context)

    async def uses(self, context: str, schema_id: int) -> Sequence[VersionUse]:
        """Return the versions with an id."""
        return self._reads.uses(context, schema_id)

    async def referrers(self, subject: QualifiedSubject, version: int) -> Sequence[VersionUse]:
        """Return the versions that refer to a version."""
        return self._reads.referrers(subject, version)

    async def subjects(self, prefix: SubjectPrefix, visibility: Visibility) -> Sequence[QualifiedSubject]:
        """Return the subjects with a prefix."""
        return self._reads.subjects(prefix, visibility)

    async def subject_names(self, prefix: SubjectPrefix, visibility: Visibility, *, first: int, last: int) -> str:
        """Return the names of subjects with a prefix, as the text of a JSON array."""
        return self._reads.subject_names(prefix, visibility, first, last)

    async def names_within(
        self, ranges: Sequence[SubjectRange], visibility: Visibility, *, first: int, last: int
    ) -> str:
        """Return the names of subjects in ranges, as the text of a JSON array."""
        return self._reads.names_within(ranges, visibility, first, last)

    async def summaries(
        self, ranges: Sequence[SubjectRange], visibility: Visibility, limit: int
    ) -> Sequence[SubjectSummary]:
        """Return the first subjects in ranges, with their latest versions."""
        return self._reads.summaries(ranges, visibility, limit)

    async def contexts(self) -> Sequence[str]:
        """Return the known contexts."""
        return self._reads.contexts()

    async def settings(self, scope: QualifiedSubject) -> ScopeSettings:
        """Return the stored settings of a scope."""
        return self._reads.settings(scope)

    async def settings_revision(self) -> int:
        """Return the revision of the settings."""
        return self._reads.settings_revision()

    async def scopes(self) -> Sequence[tuple[QualifiedSubject, ScopeSettings]]:
        """Return all scopes with settings."""
        return self._reads.scopes()

    async def records(self, kind: str, prefix: tuple[str, ...] = ()) -> Sequence[StorageRecord]:
        """Return the records of a kind whose keys have a prefix."""
        return self._reads.records(kind, prefix)

    async def records_under(self, kind: str, prefixes: Sequence[tuple[str, ...]]) -> Sequence[Sequence[StorageRecord]]:
        """Return the records of a kind by prefix."""
        return self._reads.records_under(kind, prefixes)

    async def changes(self, after: int, limit: int) -> Sequence[JournalChange]:
        """Return at most ``limit`` changes after one."""
        return self._reads.changes(after, limit)

    async def changes_of(
        self,
        subject: QualifiedSubject,
        until: int,
        *,
        versions: range | None = None,
        kind: JournalChangeKind | None = None,
        newest: int | None = None,
    ) -> Sequence[JournalChange]:
        """Return the changes of one scope up to a number."""
        return self._reads.changes_of(subject, until, versions=versions, kind=kind, newest=newest)

    async def totals(self) -> StoreTotals:
        """Return the numbers of subjects and versions."""
        return self._reads.totals()

    @property
    def load(self) -> Load:
        """A load of zero: nothing waits here."""
        return Load()

    async def journal_head(self) -> tuple[int, bytes]:
        """Return the number of the last change and the chain up to it; 0 and an empty one if there is none."""
        return self._reads.journal_head()

    async def audit_events(self, after: EventPlace, last_change: int, limit: int) -> Sequence[StoredEvent]:
        """Return at most ``limit`` events of the audit after one, and not after a later change."""
        return self._reads.audit_events(after, last_change, limit)

    async def last_change(self, until_ts: int | None = None) -> int:
        """Return the number of the last change up to a time."""
        return self._reads.last_change(until_ts)
