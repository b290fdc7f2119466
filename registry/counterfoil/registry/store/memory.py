"""A storage in memory: for tests, trials and ``sqlite://``."""

from __future__ import annotations

import json
from bisect import bisect_right
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from counterfoil.registry.store.changes import (
    TERM_KINDS,
    JournalChange,
    ScopeSettings,
    chain_after,
    document_text,
    facts_of,
)
from counterfoil.registry.store.local import LocalStorage, apply, now_ms
from counterfoil.registry.store.name_ranges import within
from counterfoil.registry.store.protocol import StorageRecord, StoreTotals
from counterfoil.registry.store.records import event_of, event_row
from counterfoil.registry.store.writes import UNKNOWN
from counterfoil.registry.subjects.versions import SubjectHistory, SubjectSummary, VersionUse, last_of, summarized
from counterfoil.schema.contexts import QualifiedSubject, SubjectPrefix
from counterfoil.schema.rest.versions import Visibility

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from counterfoil.registry.audit.events import AuditEvent, EventPlace, StoredEvent
    from counterfoil.registry.store.changes import JournalChangeKind, WrittenChanges
    from counterfoil.registry.store.name_ranges import SubjectRange
    from counterfoil.registry.store.writes import (
        Author,
        PutRecord,
        ReferenceTarget,
        RefreshRecord,
        Requester,
        StoragePlan,
    )
    from counterfoil.registry.subjects.versions import Content, VersionEntry
    from counterfoil.schema.rest.object_forms import Document


_Key = tuple[QualifiedSubject, int]


@dataclass(slots=True)
class _Context:
    next_id: int = 1
    listed: bool = True
    guid_by_id: dict[int, UUID] = field(default_factory=dict)
    id_by_guid: dict[UUID, int] = field(default_factory=dict)
    targets_by_id: dict[int, tuple[_Key, ...]] = field(default_factory=dict)
    versions_by_id: dict[int, set[_Key]] = field(default_factory=dict)


class MemoryTables:
    """The primitives over dictionaries."""

    def __init__(self) -> None:
        self._changes: list[JournalChange] = []
        self._chain = b""
        self._author = UNKNOWN
        self._events: list[StoredEvent] = []
        self._event_count = 0
        self._records: dict[tuple[str, tuple[str, ...]], StorageRecord] = {}
        self._settings_revision = 0
        self._histories: dict[QualifiedSubject, SubjectHistory] = {}
        self._contents: dict[UUID, Content] = {}
        self._contexts: dict[str, _Context] = {}
        self._referrers: dict[_Key, set[tuple[str, int]]] = {}
        self._settings: dict[QualifiedSubject, ScopeSettings] = {}

    def history(self, subject: QualifiedSubject) -> SubjectHistory:
        """Return all versions of a subject."""
        return self._histories.get(subject, SubjectHistory())

    def content(self, guid: UUID) -> Content | None:
        """Return the content with this fingerprint."""
        return self._contents.get(guid)

    def guid_of_id(self, context: str, schema_id: int) -> UUID | None:
        """Return the fingerprint of an id's content."""
        return self._context(context).guid_by_id.get(schema_id)

    def id_of_guid(self, context: str, guid: UUID) -> int | None:
        """Return the id of a content in a context."""
        return self._context(context).id_by_guid.get(guid)

    def ids_of_guid(self, guid: UUID) -> Sequence[tuple[str, int]]:
        """Return all ids of a content."""
        return sorted(
            (name, schema_id)
            for name, context in self._contexts.items()
            for schema_id, held in context.guid_by_id.items()
            if held == guid
        )

    def max_id(self, context: str) -> int:
        """Return the highest id that was ever used in a context."""
        return self._context(context).next_id - 1

    def uses(self, context: str, schema_id: int) -> Sequence[VersionUse]:
        """Return the versions with an id."""
        return sorted(self._use(key) for key in self._context(context).versions_by_id.get(schema_id, ()))

    def _use(self, key: _Key) -> VersionUse:
        subject, version = key
        entry = self._histories[subject].find(version, deleted=True)
        if entry is None:
            raise KeyError(key)
        return VersionUse(subject, version, entry.schema_id, entry.deleted, entry.ts)

    def referrers(self, subject: QualifiedSubject, version: int) -> Sequence[VersionUse]:
        """Return the versions that refer to a version."""
        found = self._referrers.get((subject, version), set())
        return sorted(use for context, schema_id in found for use in self.uses(context, schema_id))

    def subjects(self, prefix: SubjectPrefix, visibility: Visibility) -> Sequence[QualifiedSubject]:
        """Return the subjects with a prefix."""
        return sorted(
            subject
            for subject, history in self._histories.items()
            if prefix.context in (None, subject.context)
            and subject.name.startswith(prefix.name)
            and _is_listed(history, visibility)
        )

    def subject_names(self, prefix: SubjectPrefix, visibility: Visibility, first: int, last: int) -> str:
        """Return the names of subjects with a prefix, as the text of a JSON array."""
        return json.dumps(sorted(map(str, self.subjects(prefix, visibility)))[first:last])

    def names_within(self, ranges: Sequence[SubjectRange], visibility: Visibility, first: int, last: int) -> str:
        """Return the names of subjects in ranges, as the text of a JSON array."""
        found = within(self.subjects(SubjectPrefix(None, ""), visibility), ranges)
        return json.dumps(sorted(map(str, found))[first:last])

    def summaries(self, ranges: Sequence[SubjectRange], visibility: Visibility, limit: int) -> Sequence[SubjectSummary]:
        """Return the first subjects in ranges, with their latest versions."""
        found = within(self.subjects(SubjectPrefix(None, ""), visibility), ranges)[:limit]
        return [self._summary(each) for each in found]

    def _summary(self, subject: QualifiedSubject) -> SubjectSummary:
        history = self._histories[subject]
        return summarized(subject, history, self._contents[last_of(history).guid].schema_type)

    def totals(self) -> StoreTotals:
        """Return the numbers of subjects and versions."""
        counts = [len(history.active) for history in self._histories.values() if history.active]
        return StoreTotals(len(counts), sum(counts))

    def contexts(self) -> Sequence[str]:
        """Return the known contexts."""
        return sorted(name for name, context in self._contexts.items() if context.listed)

    def settings(self, scope: QualifiedSubject) -> ScopeSettings:
        """Return the stored settings of a scope."""
        return self._settings.get(scope, ScopeSettings())

    def settings_revision(self) -> int:
        """Return the revision of the settings."""
        return self._settings_revision

    def scopes(self) -> Sequence[tuple[QualifiedSubject, ScopeSettings]]:
        """Return all scopes with settings."""
        return sorted(self._settings.items(), key=lambda item: item[0])

    def put_content(self, content: Content) -> None:
        """Store a content."""
        self._contents.setdefault(content.guid, content)

    def take_id(self, context: str) -> int:
        """Allot the next id."""
        found = self._contexts.setdefault(context, _Context())
        found.next_id += 1
        return found.next_id - 1

    def claim_id(self, context: str, schema_id: int, guid: UUID) -> None:
        """Reserve an id that the caller chose; binding makes it the primary one."""
        del guid
        found = self._contexts.setdefault(context, _Context())
        found.next_id = max(found.next_id, schema_id + 1)

    def bind_id(self, context: str, schema_id: int, guid: UUID, targets: Sequence[ReferenceTarget]) -> None:
        """Give an id to a content."""
        found = self._contexts[context]
        found.guid_by_id[schema_id] = guid
        found.id_by_guid[guid] = schema_id
        found.targets_by_id[schema_id] = tuple((target.subject, target.version) for target in targets)
        for key in found.targets_by_id[schema_id]:
            self._referrers.setdefault(key, set()).add((context, schema_id))

    def release_id(self, context: str, schema_id: int) -> None:
        """Delete an id."""
        found = self._contexts[context]
        guid = found.guid_by_id.pop(schema_id)
        for key in found.targets_by_id.pop(schema_id, ()):
            self._referrers[key].discard((context, schema_id))
        if found.id_by_guid.get(guid) == schema_id:
            others = [other for other, held in found.guid_by_id.items() if held == guid]
            del found.id_by_guid[guid]
            if others:
                found.id_by_guid[guid] = max(others)
        if not self.ids_of_guid(guid):
            del self._contents[guid]

    def put_version(self, subject: QualifiedSubject, entry: VersionEntry) -> None:
        """Store a version."""
        context = self._contexts.setdefault(subject.context, _Context())
        context.listed = True
        if self.history(subject).find(entry.version, deleted=True):
            self.remove_version(subject, entry.version)
        self._histories[subject] = self.history(subject).put(entry)
        context.versions_by_id.setdefault(entry.schema_id, set()).add((subject, entry.version))

    def mark_deleted(self, subject: QualifiedSubject, version: int) -> None:
        """Soft-delete a version."""
        self._histories[subject] = self.history(subject).with_deleted(version)

    def remove_version(self, subject: QualifiedSubject, version: int) -> None:
        """Remove a version's row."""
        history = self.history(subject)
        found = history.find(version, deleted=True)
        if found is not None:
            self._contexts[subject.context].versions_by_id[found.schema_id].discard((subject, version))
            self._histories[subject] = history.without(version)

    def touch(self, subject: QualifiedSubject) -> None:
        """Give the subject a new revision."""
        history = self.history(subject)
        if history.entries:
            self._histories[subject] = replace(history, revision=len(self._changes))
        else:
            self._histories.pop(subject, None)

    def put_settings(self, scope: QualifiedSubject, settings: ScopeSettings) -> None:
        """Store config and mode of a scope."""
        self.touch_settings()
        if settings == ScopeSettings():
            self._settings.pop(scope, None)
        else:
            self._settings[scope] = settings

    def touch_settings(self) -> None:
        """Set the settings' revision to the number of the last change."""
        self._settings_revision = len(self._changes)

    def records(self, kind: str, prefix: tuple[str, ...]) -> Sequence[StorageRecord]:
        """Return the records of a kind whose keys have a prefix."""
        found = (record for record in self._records.values() if record.kind == kind)
        return sorted((each for each in found if each.key[: len(prefix)] == prefix), key=lambda record: record.key)

    def records_under(self, kind: str, prefixes: Sequence[tuple[str, ...]]) -> Sequence[Sequence[StorageRecord]]:
        """Return the records of a kind by prefix."""
        return [self.records(kind, each) for each in prefixes]

    def revision_of_record(self, kind: str, key: tuple[str, ...]) -> int:
        """Return the revision of a record."""
        found = self._records.get((kind, key))
        return found.revision if found else 0

    def put_record(self, record: PutRecord) -> None:
        """Store or remove a record."""
        found = self._records.pop((record.kind, record.key), None)
        if record.document is not None:
            ts = found.ts if found is not None and found.document == record.document else now_ms()
            stored = StorageRecord(record.kind, record.key, record.document, ts, revision=len(self._changes))
            self._records[record.kind, record.key] = stored

    def refresh_record(self, record: RefreshRecord) -> None:
        """Replace the content of an existing record; its revision stays."""
        found = self._records[record.kind, record.key]
        self._records[record.kind, record.key] = replace(found, document=record.document, ts=now_ms())

    def add_events(self, events: Sequence[AuditEvent]) -> None:
        """Add events to the audit, after the last change."""
        for event in events:
            self._event_count += 1
            self._events.append(event_of((len(self._changes), self._event_count, *event_row(event))))

    def drop_events(self, until: int) -> None:
        """Remove the events of the audit up to a number."""
        self._events = [event for event in self._events if event.place.number > until]

    def audit_events(self, after: EventPlace, last_change: int, limit: int) -> Sequence[StoredEvent]:
        """Return at most ``limit`` events of the audit after one, and not after a later change."""
        return [event for event in self._events if event.place > after and event.place.change <= last_change][:limit]

    def journal_head(self) -> tuple[int, bytes]:
        """Return the number of the last change and the chain up to it; 0 and an empty one if there is none."""
        return len(self._changes), self._chain

    def sign(self, author: Author) -> None:
        """Note the following changes as those of ``author``."""
        self._author = author

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
        ts = max(now_ms(), self._changes[-1].ts if self._changes else 0)
        by = self._author
        change = JournalChange(
            len(self._changes) + 1, ts, kind, subject, version, schema_id, guid, document, by.principal, by.request_id
        )
        self._chain = chain_after(self._chain, facts_of(change, document_text(document)))
        self._changes.append(change)
        return change

    def changes(self, after: int, limit: int) -> Sequence[JournalChange]:
        """Return at most ``limit`` changes after one."""
        return self._changes[max(after, 0) : max(after, 0) + limit]

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
        found = [
            change
            for change in self._changes[: max(until, 0)]
            if change.subject == subject
            and (versions is None or change.version in versions)
            and kind in {None, change.kind}
        ]
        return found if newest is None else found[max(len(found) - newest, 0) :]

    def has_changed(self, scope: QualifiedSubject, since: int) -> bool:
        """Return whether config or mode of a scope, or a record noted there, was written to."""
        return any(change.subject == scope and change.kind in TERM_KINDS for change in self._changes[since:])

    def last_change(self, until_ts: int | None) -> int:
        """Return the number of the last change up to a time."""
        if until_ts is None:
            return len(self._changes)
        return bisect_right(self._changes, until_ts, key=lambda change: change.ts)

    def drop_context(self, context: str) -> None:
        """Remove a context from the listing."""
        if context in self._contexts:
            self._contexts[context].listed = False

    def _context(self, name: str) -> _Context:
        return self._contexts.get(name) or _Context()


def _is_listed(history: SubjectHistory, visibility: Visibility) -> bool:
    if visibility is Visibility.WITH_DELETED:
        return bool(history.entries)
    return bool(history.active) == (visibility is Visibility.ACTIVE) and bool(history.entries)


class MemoryStorage(LocalStorage):
    """A storage whose content ends with the process."""

    def __init__(self) -> None:
        self._tables = MemoryTables()
        super().__init__(self._tables)

    async def commit(self, plan: StoragePlan, *, by: Requester) -> WrittenChanges:
        """Carry out ``plan``."""
        plan = by.signed(plan)
        written = apply(self._tables, plan)
        self._observers.call(written)
        return by.noted(written, plan)

    async def check(self) -> None:
        """Do nothing: memory always responds."""

    async def close(self) -> None:
        """Do nothing: there is nothing to close."""
