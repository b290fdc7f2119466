"""The primitive writes over a SQLite connection, with rows that are collected and written many at a time."""

from __future__ import annotations

import json
import sqlite3
from typing import TYPE_CHECKING, Any, Final

from counterfoil.registry.store.changes import JournalChange, ScopeSettings, chain_after, document_text, facts_of
from counterfoil.registry.store.local import now_ms
from counterfoil.registry.store.records import event_row, key_text
from counterfoil.registry.store.sqlite.reads import SqliteReads, StoredSubject, at_run_time
from counterfoil.registry.store.writes import UNKNOWN
from counterfoil.registry.subjects.versions import SubjectHistory
from counterfoil.schema.caches import RecentValues
from counterfoil.schema.rest.schemas import metadata_document, reference_documents, rule_set_document
from counterfoil.schema.rest.subjects import config_document

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from uuid import UUID

    from counterfoil.registry.audit.events import AuditEvent
    from counterfoil.registry.store.changes import JournalChangeKind
    from counterfoil.registry.store.writes import Author, PutRecord, ReferenceTarget, RefreshRecord
    from counterfoil.registry.subjects.versions import Content, VersionEntry
    from counterfoil.schema.contexts import QualifiedSubject
    from counterfoil.schema.rest.object_forms import Document


# Rows to write into a SQLite file: collected plan by plan, and written many at a time.

_PUT_SUBJECT: Final = """
INSERT INTO subjects VALUES (?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET active_versions = excluded.active_versions, revision = excluded.revision"""
_STATEMENTS: Final = (
    ("contents", "INSERT INTO contents VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"),
    ("ids", "INSERT INTO schema_ids (context_id, id, guid) VALUES (?, ?, ?)"),
    ("references", "INSERT INTO schema_refs VALUES (?, ?, ?, ?, ?, ?)"),
    ("subjects", _PUT_SUBJECT),
    ("versions", "INSERT OR REPLACE INTO versions VALUES (?, ?, ?, ?, ?, ?)"),
    ("changes", "INSERT INTO changes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"),
    ("next_ids", "UPDATE contexts SET next_schema_id = ? WHERE id = ?"),
    ("stamps", "UPDATE stamps SET change = ?, settings = ?"),
)
"""The tables, in the order in which rows may refer to each other."""


class WaitingRows:
    """The rows that wait to be written, by table; for a table with keys, only the last state of each key."""

    __slots__ = ("changes", "contents", "ids", "next_ids", "references", "stamps", "subjects", "versions")

    def __init__(self) -> None:
        self.contents: list[Sequence[Any]] = []
        self.ids: list[Sequence[Any]] = []
        self.references: list[Sequence[Any]] = []
        self.subjects: dict[int, Sequence[Any]] = {}
        self.versions: list[Sequence[Any]] = []
        self.changes: list[Sequence[Any]] = []
        self.next_ids: dict[int, Sequence[Any]] = {}
        self.stamps: list[Sequence[Any]] = []

    def statements(self) -> Iterator[tuple[str, Iterable[Sequence[Any]]]]:
        """Yield each statement with its rows."""
        for name, statement in _STATEMENTS:
            waiting = getattr(self, name)
            if waiting:
                yield statement, waiting.values() if isinstance(waiting, dict) else waiting


# The primitive writes over a SQLite connection.
#
# The rows of registrations are collected (:class:`WaitingRows`) and written many at a time: before the next statement
# that might read them, and at the end of the transaction. Counters, and the histories of the subjects that are written
# to, are cached, since no other process writes the file.

_MAX_REMEMBERED_VERSIONS: Final = 50_000


class KnownSubjects:
    """A cache of the most recently used subjects, as they are committed."""

    def __init__(self) -> None:
        self._known: RecentValues[QualifiedSubject, StoredSubject] = RecentValues(_MAX_REMEMBERED_VERSIONS)

    def read(self, subject: QualifiedSubject, reads: SqliteReads) -> StoredSubject:
        """Return the stored versions of a subject, read by ``reads`` if they are not cached."""
        found = self._known.get(subject)
        if found is None:
            found = reads.stored(subject)
            self.put(subject, found)
        return found

    def put(self, subject: QualifiedSubject, stored: StoredSubject) -> None:
        """Cache the stored versions of a subject."""
        self._known.put(subject, stored, weight=1 + len(stored.history.entries))


class _Numbers:
    """The counters: of changes, rows of subjects, and ids in each context."""

    def __init__(self, reads: SqliteReads) -> None:
        self.change = reads.last_change(None)
        self.settings = reads.settings_revision()
        last = reads.changes(self.change - 1, 1)
        self.ts = last[-1].ts if last else 0
        _, self.chain = reads.journal_head()
        self.subject_row = reads.last_subject_row()
        self.next_id_by_context: dict[str, int] = {}


class SqliteTables(SqliteReads):
    """Reads and writes over ``connection``, which is in autocommit mode: transactions are the caller's.

    ``known`` is updated with the committed data by :meth:`publish`.
    """

    def __init__(self, connection: sqlite3.Connection, known: KnownSubjects) -> None:
        super().__init__(connection)
        self._plain = SqliteReads(connection)  # these do not see waiting rows
        self._known = known
        self._remembered: _Numbers | None = None
        self._rows = WaitingRows()
        self._waits = False
        self._written: dict[QualifiedSubject, StoredSubject] = {}
        self._bound: dict[tuple[str, UUID], int] = {}
        self._context_ids: dict[str, int] = {}
        self._listed: set[str] = set()
        self._author = UNKNOWN

    def forget(self) -> None:
        """Clear everything that an undone transaction may have changed."""
        self._remembered = None
        self._rows, self._waits = WaitingRows(), False
        self._written.clear()
        self._bound.clear()
        self._context_ids.clear()
        self._listed.clear()

    def flush(self) -> None:
        """Write the waiting rows."""
        rows, self._rows, self._waits = self._rows, WaitingRows(), False
        self._bound.clear()
        for statement, waiting in rows.statements():
            self._write_many(statement, waiting)

    def publish(self) -> None:
        """Update the caches with the committed data."""
        for subject, stored in self._written.items():
            self._known.put(subject, stored)
        self._written.clear()

    def _all(self, statement: str, parameters: Sequence[object] | Mapping[str, object] = ()) -> list[Any]:
        if self._waits:
            self.flush()
        return super()._all(statement, parameters)

    def _run(self, statement: str, parameters: Sequence[object] = ()) -> None:
        self._all(statement, parameters)

    @property
    def _numbers(self) -> _Numbers:
        if self._remembered is None:
            self._remembered = _Numbers(self)
        return self._remembered

    # --- reads that do not depend on waiting rows

    def stored(self, subject: QualifiedSubject) -> StoredSubject:
        """Return all versions of a subject, and its row."""
        found = self._written.get(subject)
        return self._known.read(subject, self._plain) if found is None else found

    def settings_revision(self) -> int:
        """Return the revision of the settings."""
        return super().settings_revision() if self._remembered is None else self._remembered.settings

    def id_of_guid(self, context: str, guid: UUID) -> int | None:
        """Return the id of a content in a context."""
        found = self._bound.get((context, guid))
        return self._plain.id_of_guid(context, guid) if found is None else found

    # --- ids and contents

    def put_content(self, content: Content) -> None:
        """Store a content."""
        references = reference_documents(content.references)
        row = (
            content.guid.bytes,
            content.schema_type.value,
            content.text,
            json.dumps(references) if references else None,
            document_text(metadata_document(content.metadata)),
            document_text(rule_set_document(content.rule_set)),
        )
        self._rows.contents.append(row)
        self._waits = True

    def take_id(self, context: str) -> int:
        """Allot the next id."""
        next_ids = self._numbers.next_id_by_context
        taken = next_ids.get(context)
        context_id = self._context_id(context)
        if taken is None:
            taken = int(self._one("SELECT next_schema_id FROM contexts WHERE id = ?", (context_id,)))
        next_ids[context] = taken + 1
        self._rows.next_ids[context_id] = (taken + 1, context_id)
        self._waits = True
        return taken

    def _context_id(self, context: str) -> int:
        found = self._context_ids.get(context)
        if found is None:
            self._run("INSERT INTO contexts (name) VALUES (?) ON CONFLICT DO NOTHING", (context,))
            found = self._context_ids[context] = int(self._one("SELECT id FROM contexts WHERE name = ?", (context,)))
        return found

    def claim_id(self, context: str, schema_id: int, guid: UUID) -> None:
        """Reserve an id that the caller chose."""
        context_id = self._context_id(context)
        self._run(
            "UPDATE contexts SET next_schema_id = max(next_schema_id, ?) WHERE id = ?", (schema_id + 1, context_id)
        )
        self._run("UPDATE schema_ids SET is_primary = 0 WHERE context_id = ? AND guid = ?", (context_id, guid.bytes))
        self._numbers.next_id_by_context.pop(context, None)

    def bind_id(self, context: str, schema_id: int, guid: UUID, targets: Sequence[ReferenceTarget]) -> None:
        """Give an id to a content."""
        context_id = self._context_id(context)
        target_ids = [self._context_id(target.subject.context) for target in targets]
        self._rows.ids.append((context_id, schema_id, guid.bytes))
        self._bound[context, guid] = schema_id
        for position, (target, target_id) in enumerate(zip(targets, target_ids, strict=True)):
            self._rows.references.append(
                (context_id, schema_id, position, target_id, target.subject.name, target.version)
            )
        self._waits = True

    def release_id(self, context: str, schema_id: int) -> None:
        """Delete an id."""
        guid = self.guid_of_id(context, schema_id)
        if guid is None:
            return
        context_id = self._context_id(context)
        self._run("DELETE FROM schema_ids WHERE context_id = ? AND id = ?", (context_id, schema_id))
        if self.id_of_guid(context, guid) is None:
            self._run(
                "UPDATE schema_ids SET is_primary = 1 WHERE context_id = ?1 AND id ="
                " (SELECT max(id) FROM schema_ids WHERE context_id = ?1 AND guid = ?2)",
                (context_id, guid.bytes),
            )
        if not self.ids_of_guid(guid):
            self._run("DELETE FROM contents WHERE guid = ?", (guid.bytes,))

    # --- versions

    def put_version(self, subject: QualifiedSubject, entry: VersionEntry) -> None:
        """Store a version."""
        context_id = self._context_id(subject.context)
        if subject.context not in self._listed:
            self._run("UPDATE contexts SET listed = 1 WHERE id = ?", (context_id,))
            self._listed.add(subject.context)
        stored = self.stored(subject)
        row_id = stored.row_id
        if row_id is None:
            row_id = self._numbers.subject_row = self._numbers.subject_row + 1
        self._keep(subject, StoredSubject(stored.history.put(entry), row_id))
        self._rows.versions.append((row_id, entry.version, context_id, entry.schema_id, int(entry.deleted), entry.ts))

    def mark_deleted(self, subject: QualifiedSubject, version: int) -> None:
        """Soft-delete a version."""
        stored = self.stored(subject)
        self._run("UPDATE versions SET deleted = 1 WHERE subject_id = ? AND version = ?", (stored.row_id, version))
        self._keep(subject, StoredSubject(stored.history.with_deleted(version), stored.row_id))

    def remove_version(self, subject: QualifiedSubject, version: int) -> None:
        """Remove a version's row."""
        stored = self.stored(subject)
        self._run("DELETE FROM versions WHERE subject_id = ? AND version = ?", (stored.row_id, version))
        self._keep(subject, StoredSubject(stored.history.without(version), stored.row_id))

    def touch(self, subject: QualifiedSubject) -> None:
        """Give the subject a new revision."""
        stored = self.stored(subject)
        if stored.history.entries:
            history = SubjectHistory(self._numbers.change, stored.history.entries)
            self._keep(subject, StoredSubject(history, stored.row_id))
        elif stored.row_id is not None:
            self._run("DELETE FROM subjects WHERE id = ?", (stored.row_id,))
            self._written[subject] = StoredSubject()

    def _keep(self, subject: QualifiedSubject, stored: StoredSubject) -> None:
        """Write ``stored``, and return it for later reads."""
        self._written[subject] = stored
        history, row_id = stored.history, stored.row_id
        if row_id is None:
            return
        context_id = self._context_id(subject.context)
        self._rows.subjects[row_id] = (row_id, context_id, subject.name, len(history.active), history.revision)
        self._waits = True

    # --- settings, contexts, records, changes

    def put_settings(self, scope: QualifiedSubject, settings: ScopeSettings) -> None:
        """Store config and mode of a scope."""
        self.touch_settings()
        if settings == ScopeSettings():
            self._run("DELETE FROM settings WHERE context = ? AND name = ?", (scope.context, scope.name))
            return
        config = None if settings.config is None else document_text(config_document(settings.config))
        self._run(
            "INSERT OR REPLACE INTO settings VALUES (?, ?, ?, ?)", (scope.context, scope.name, config, settings.mode)
        )

    def touch_settings(self) -> None:
        """Set the settings' revision to the number of the last change."""
        self._numbers.settings = self._numbers.change
        self._stamp()

    def _stamp(self) -> None:
        self._rows.stamps = [(self._numbers.change, self._numbers.settings)]
        self._waits = True

    def drop_context(self, context: str) -> None:
        """Remove a context from the listing."""
        self._listed.discard(context)
        self._run("UPDATE contexts SET listed = 0 WHERE name = ?", (context,))

    def revision_of_record(self, kind: str, key: tuple[str, ...]) -> int:
        """Return the revision of a record."""
        found = self._one("SELECT revision FROM records WHERE kind = ? AND key = ?", (kind, key_text(key)))
        return int(found or 0)

    def put_record(self, record: PutRecord) -> None:
        """Store or remove a record."""
        if record.document is None:
            self._run("DELETE FROM records WHERE kind = ? AND key = ?", (record.kind, key_text(record.key)))
            return
        self._run(
            "INSERT INTO records VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT (kind, key) DO UPDATE SET revision = excluded.revision, document = excluded.document,"
            " ts = CASE WHEN document = excluded.document THEN ts ELSE excluded.ts END",
            (
                record.kind,
                key_text(record.key),
                json.dumps(record.document, sort_keys=True),
                now_ms(),
                self._numbers.change,
            ),
        )

    def refresh_record(self, record: RefreshRecord) -> None:
        """Replace the content of an existing record; its revision stays."""
        self._run(
            "UPDATE records SET document = ?, ts = ? WHERE kind = ? AND key = ?",
            (json.dumps(record.document, sort_keys=True), now_ms(), record.kind, key_text(record.key)),
        )

    def add_events(self, events: Sequence[AuditEvent]) -> None:
        """Add events to the audit, after the last change."""
        if self._waits:
            self.flush()
        rows = [(self._numbers.change, *event_row(event)) for event in events]
        self._write_many("INSERT INTO audit (change, ts, event, document) VALUES (?, ?, ?, ?)", rows)

    def drop_events(self, until: int) -> None:
        """Remove the events of the audit up to a number."""
        self._run("DELETE FROM audit WHERE number <= ?", (until,))

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
        numbers = self._numbers
        numbers.change += 1
        numbers.ts = max(numbers.ts, now_ms())
        by = self._author
        change = JournalChange(
            numbers.change, numbers.ts, kind, subject, version, schema_id, guid, document, by.principal, by.request_id
        )
        facts = facts_of(change, document_text(document))
        numbers.chain = chain_after(numbers.chain, facts)
        self._rows.changes.append((*facts[:7], None if guid is None else guid.bytes, *facts[8:], numbers.chain))
        self._stamp()
        return change

    def _write_many(self, statement: str, rows: object) -> None:
        try:
            self._connection.executemany(statement, rows)  # type: ignore[arg-type]  # the driver wants its own protocol
        except sqlite3.Error as error:
            raise at_run_time(error) from error
