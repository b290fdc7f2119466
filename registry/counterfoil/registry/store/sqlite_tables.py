"""The primitives over a SQLite connection."""

from __future__ import annotations

import json
import sqlite3
import time
from typing import TYPE_CHECKING, Any
from uuid import UUID

from counterfoil.registry.domain.changes import Change, ChangeKind
from counterfoil.registry.domain.content import Content
from counterfoil.registry.domain.documents import (
    Document,
    config_document,
    metadata_document,
    read_config,
    read_metadata,
    read_reference,
    read_rule_set,
    reference_document,
    rule_set_document,
)
from counterfoil.registry.domain.modes import Mode
from counterfoil.registry.domain.versions import History, VersionEntry
from counterfoil.registry.service.storage import Record, ScopeSettings, Use, Visibility
from counterfoil.registry.store.record_keys import key_of, key_range, key_text
from counterfoil.schema.contexts import QualifiedSubject
from counterfoil.schema.errors import StoreUnavailable
from counterfoil.schema.model import SchemaType

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from counterfoil.registry.service.storage import RecordWrite, Target
    from counterfoil.schema.contexts import SubjectPrefix

_HISTORY = """
SELECT s.revision, v.version, v.schema_id, i.guid, v.deleted, v.ts
FROM contexts c JOIN subjects s ON s.context_id = c.id JOIN versions v ON v.subject_id = s.id
JOIN schema_ids i ON i.context_id = v.context_id AND i.id = v.schema_id
WHERE c.name = ? AND s.name = ? ORDER BY v.version"""
_USES = """
SELECT c.name, s.name, v.version, v.schema_id, v.deleted, v.ts
FROM versions v JOIN subjects s ON s.id = v.subject_id JOIN contexts c ON c.id = s.context_id
WHERE v.context_id = (SELECT id FROM contexts WHERE name = ?) AND v.schema_id = ? ORDER BY s.name, v.version"""
_REFERRERS = """
SELECT c.name, s.name, v.version, v.schema_id, v.deleted, v.ts
FROM (SELECT DISTINCT context_id, schema_id FROM schema_refs
      WHERE target_context_id = (SELECT id FROM contexts WHERE name = ?)
      AND target_subject = ? AND target_version = ?) r
JOIN versions v ON v.context_id = r.context_id AND v.schema_id = r.schema_id
JOIN subjects s ON s.id = v.subject_id JOIN contexts c ON c.id = s.context_id
ORDER BY c.name, s.name, v.version"""
_SUBJECTS = """
SELECT c.name, s.name FROM subjects s JOIN contexts c ON c.id = s.context_id
WHERE (:context IS NULL OR c.name = :context) AND s.name >= :low AND substr(s.name, 1, length(:low)) = :low
  AND (:visibility = 'all' OR (s.active_versions > 0) = (:visibility = 'active'))
ORDER BY c.name, s.name"""
_TOUCH = """
UPDATE subjects SET revision = (SELECT value FROM counters WHERE name = 'change'),
  active_versions = (SELECT count(*) FROM versions WHERE subject_id = id AND deleted = 0)
WHERE context_id = ? AND name = ? RETURNING EXISTS (SELECT 1 FROM versions WHERE subject_id = id)"""
_MARK_DELETED = """
UPDATE versions SET deleted = 1
WHERE subject_id = (SELECT s.id FROM subjects s JOIN contexts c ON c.id = s.context_id WHERE c.name = ? AND s.name = ?)
  AND version = ?"""
_REMOVE_VERSION = """
DELETE FROM versions
WHERE subject_id = (SELECT s.id FROM subjects s JOIN contexts c ON c.id = s.context_id WHERE c.name = ? AND s.name = ?)
  AND version = ?"""

_CHANGES = "SELECT seq, ts, kind, context, name, version, schema_id, guid, document FROM changes"


class SqliteTables:
    """Reads and writes over ``connection``, which is in autocommit mode: transactions are the caller's."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._context_ids: dict[str, int] = {}
        self._listed: set[str] = set()

    def forget(self) -> None:
        """Trust nothing that a transaction which was undone may have brought."""
        self._context_ids.clear()
        self._listed.clear()

    def _all(self, statement: str, parameters: Sequence[object] | Mapping[str, object] = ()) -> list[Any]:
        try:
            return self._connection.execute(statement, parameters).fetchall()
        except sqlite3.Error as error:
            raise StoreUnavailable(f"The store failed: {error}") from error

    def _one(self, statement: str, parameters: Sequence[object] = ()) -> Any:
        rows = self._all(statement, parameters)
        return rows[0][0] if rows else None

    def _run(self, statement: str, parameters: Sequence[object] = ()) -> None:
        self._all(statement, parameters)

    # --- reads

    def history(self, subject: QualifiedSubject) -> History:
        """All versions of a subject."""
        rows = self._all(_HISTORY, (subject.context, subject.name))
        if not rows:
            return History()
        entries = tuple(
            VersionEntry(version, schema_id, UUID(bytes=guid), bool(deleted), ts)
            for _, version, schema_id, guid, deleted, ts in rows
        )
        return History(rows[0][0], entries)

    def content(self, guid: UUID) -> Content | None:
        """The content with this fingerprint."""
        rows = self._all(
            "SELECT schema_type, schema_text, refs, metadata, rule_set FROM contents WHERE guid = ?", (guid.bytes,)
        )
        if not rows:
            return None
        schema_type, text, references, metadata, rule_set = rows[0]
        return Content(
            guid,
            SchemaType(schema_type),
            text,
            tuple(read_reference(item, "reference") for item in json.loads(references or "[]")),
            None if metadata is None else read_metadata(json.loads(metadata), "metadata"),
            None if rule_set is None else read_rule_set(json.loads(rule_set), "ruleSet"),
        )

    def guid_of_id(self, context: str, schema_id: int) -> UUID | None:
        """What an id stands for."""
        guid = self._one(
            "SELECT guid FROM schema_ids WHERE context_id = (SELECT id FROM contexts WHERE name = ?) AND id = ?",
            (context, schema_id),
        )
        return None if guid is None else UUID(bytes=guid)

    def id_of_guid(self, context: str, guid: UUID) -> int | None:
        """The id of a content in a context."""
        found: int | None = self._one(
            "SELECT id FROM schema_ids WHERE context_id = (SELECT id FROM contexts WHERE name = ?)"
            " AND guid = ? AND is_primary = 1",
            (context, guid.bytes),
        )
        return found

    def ids_of_guid(self, guid: UUID) -> Sequence[tuple[str, int]]:
        """All ids of a content."""
        return self._all(
            "SELECT c.name, i.id FROM schema_ids i JOIN contexts c ON c.id = i.context_id WHERE i.guid = ?"
            " ORDER BY c.name, i.id",
            (guid.bytes,),
        )

    def max_id(self, context: str) -> int:
        """The highest id seen in a context."""
        return int(self._one("SELECT next_schema_id - 1 FROM contexts WHERE name = ?", (context,)) or 0)

    def uses(self, context: str, schema_id: int) -> Sequence[Use]:
        """The versions that hold an id."""
        return [_use(row) for row in self._all(_USES, (context, schema_id))]

    def referrers(self, subject: QualifiedSubject, version: int) -> Sequence[Use]:
        """The versions that refer to a version."""
        return [_use(row) for row in self._all(_REFERRERS, (subject.context, subject.name, version))]

    def subjects(self, prefix: SubjectPrefix, visibility: Visibility) -> Sequence[QualifiedSubject]:
        """The subjects whose names begin so."""
        wanted = {"context": prefix.context, "low": prefix.name, "visibility": visibility.value}
        return [QualifiedSubject(*row) for row in self._all(_SUBJECTS, wanted)]

    def contexts(self) -> Sequence[str]:
        """The known contexts."""
        return [name for (name,) in self._all("SELECT name FROM contexts WHERE listed = 1 ORDER BY name")]

    def settings(self, scope: QualifiedSubject) -> ScopeSettings:
        """What is stored for a scope."""
        rows = self._all(
            "SELECT config, mode FROM settings WHERE context = ? AND name = ?", (scope.context, scope.name)
        )
        return _settings(*rows[0]) if rows else ScopeSettings()

    def settings_revision(self) -> int:
        """The stamp of the last change of settings."""
        return int(self._one("SELECT value FROM counters WHERE name = 'settings'"))

    def scopes(self) -> Sequence[tuple[QualifiedSubject, ScopeSettings]]:
        """All scopes with settings."""
        rows = self._all("SELECT context, name, config, mode FROM settings ORDER BY context, name")
        return [(QualifiedSubject(context, name), _settings(config, mode)) for context, name, config, mode in rows]

    def records(self, kind: str, prefix: tuple[str, ...]) -> Sequence[Record]:
        """The records of a kind whose keys begin so."""
        rows = self._all(
            "SELECT key, document, ts, revision FROM records WHERE kind = ? AND key >= ? AND key < ? ORDER BY key",
            (kind, *key_range(prefix)),
        )
        return [Record(kind, key_of(key), json.loads(document), ts, revision) for key, document, ts, revision in rows]

    def changes(self, after: int, limit: int) -> Sequence[Change]:
        """The changes after one, so many at most."""
        return [_change(row) for row in self._all(f"{_CHANGES} WHERE seq > ? ORDER BY seq LIMIT ?", (after, limit))]

    def changes_of(self, subject: QualifiedSubject, until: int) -> Sequence[Change]:
        """The changes of one scope up to a number."""
        rows = self._all(
            f"{_CHANGES} WHERE context = ? AND name = ? AND seq <= ? ORDER BY seq",
            (subject.context, subject.name, until),
        )
        return [_change(row) for row in rows]

    def last_change(self, until_ts: int | None) -> int:
        """The number of the last change up to a time."""
        if until_ts is None:
            return int(self._one("SELECT value FROM counters WHERE name = 'change'"))
        return int(
            self._one("SELECT seq FROM changes WHERE ts <= ? ORDER BY ts DESC, seq DESC LIMIT 1", (until_ts,)) or 0
        )

    # --- writes

    def put_content(self, content: Content) -> None:
        """Store a content."""
        references = [reference_document(reference) for reference in content.references]
        self._run(
            "INSERT INTO contents VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (
                content.guid.bytes,
                content.schema_type.value,
                content.text,
                json.dumps(references) if references else None,
                _json(metadata_document(content.metadata)),
                _json(rule_set_document(content.rule_set)),
            ),
        )

    def take_id(self, context: str) -> int:
        """Give out the next id."""
        rows = self._all(
            "INSERT INTO contexts (name, next_schema_id) VALUES (?, 2)"
            " ON CONFLICT (name) DO UPDATE SET next_schema_id = next_schema_id + 1 RETURNING next_schema_id - 1",
            (context,),
        )
        return int(rows[0][0])

    def _context_id(self, context: str) -> int:
        found = self._context_ids.get(context)
        if found is None:
            self._run("INSERT INTO contexts (name) VALUES (?) ON CONFLICT DO NOTHING", (context,))
            found = self._context_ids[context] = int(self._one("SELECT id FROM contexts WHERE name = ?", (context,)))
        return found

    def claim_id(self, context: str, schema_id: int, guid: UUID) -> None:
        """Take an id that the caller chose."""
        context_id = self._context_id(context)
        self._run(
            "UPDATE contexts SET next_schema_id = max(next_schema_id, ?) WHERE id = ?", (schema_id + 1, context_id)
        )
        self._run("UPDATE schema_ids SET is_primary = 0 WHERE context_id = ? AND guid = ?", (context_id, guid.bytes))

    def bind_id(self, context: str, schema_id: int, guid: UUID, targets: Sequence[Target]) -> None:
        """Make an id stand for a content."""
        context_id = self._context_id(context)
        self._run("INSERT INTO schema_ids (context_id, id, guid) VALUES (?, ?, ?)", (context_id, schema_id, guid.bytes))
        for position, target in enumerate(targets):
            target_id = self._context_id(target.subject.context)
            self._run(
                "INSERT INTO schema_refs VALUES (?, ?, ?, ?, ?, ?)",
                (context_id, schema_id, position, target_id, target.subject.name, target.version),
            )

    def release_id(self, context: str, schema_id: int) -> None:
        """Forget an id."""
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

    def put_version(self, subject: QualifiedSubject, version: int, schema_id: int, ts: int | None) -> None:
        """Store a version as active."""
        context_id = self._context_id(subject.context)
        if subject.context not in self._listed:
            self._run("UPDATE contexts SET listed = 1 WHERE id = ?", (context_id,))
            self._listed.add(subject.context)
        subject_id = self._one(
            "INSERT INTO subjects (context_id, name) VALUES (?, ?)"
            " ON CONFLICT (context_id, name) DO UPDATE SET name = name RETURNING id",
            (context_id, subject.name),
        )
        self._run(
            "INSERT OR REPLACE INTO versions VALUES (?, ?, ?, ?, 0, ?)",
            (subject_id, version, context_id, schema_id, _now_ms() if ts is None else ts),
        )

    def mark_deleted(self, subject: QualifiedSubject, version: int) -> None:
        """Soft-delete a version."""
        self._run(
            _MARK_DELETED,
            (subject.context, subject.name, version),
        )

    def remove_version(self, subject: QualifiedSubject, version: int) -> None:
        """Remove a version's row."""
        self._run(
            _REMOVE_VERSION,
            (subject.context, subject.name, version),
        )

    def touch(self, subject: QualifiedSubject) -> None:
        """Give the subject a new revision."""
        place = (self._context_id(subject.context), subject.name)
        if not self._one(_TOUCH, place):
            self._run("DELETE FROM subjects WHERE context_id = ? AND name = ?", place)

    def put_settings(self, scope: QualifiedSubject, settings: ScopeSettings) -> None:
        """Store config and mode of a scope."""
        self.touch_settings()
        if settings == ScopeSettings():
            self._run("DELETE FROM settings WHERE context = ? AND name = ?", (scope.context, scope.name))
            return
        config = None if settings.config is None else _json(config_document(settings.config))
        self._run(
            "INSERT OR REPLACE INTO settings VALUES (?, ?, ?, ?)", (scope.context, scope.name, config, settings.mode)
        )

    def touch_settings(self) -> None:
        """Make the number of the last change the settings' revision."""
        self._run(
            "UPDATE counters SET value = (SELECT value FROM counters WHERE name = 'change') WHERE name = 'settings'"
        )

    def revision_of_record(self, write: RecordWrite) -> int:
        """The revision of the record that a write is about."""
        found = self._one("SELECT revision FROM records WHERE kind = ? AND key = ?", (write.kind, key_text(write.key)))
        return int(found or 0)

    def put_record(self, write: RecordWrite) -> None:
        """Store or remove a record."""
        if write.document is None:
            self._run("DELETE FROM records WHERE kind = ? AND key = ?", (write.kind, key_text(write.key)))
            return
        self._run(
            "INSERT INTO records VALUES (?, ?, ?, ?, (SELECT value FROM counters WHERE name = 'change'))"
            " ON CONFLICT (kind, key) DO UPDATE SET revision = excluded.revision, document = excluded.document,"
            " ts = CASE WHEN document = excluded.document THEN ts ELSE excluded.ts END",
            (write.kind, key_text(write.key), json.dumps(write.document, sort_keys=True), _now_ms()),
        )

    def note(
        self,
        kind: ChangeKind,
        subject: QualifiedSubject,
        *,
        version: int | None = None,
        schema_id: int | None = None,
        guid: UUID | None = None,
        document: Document | None = None,
    ) -> None:
        """Add a change, under the next number."""
        seq = self._one("UPDATE counters SET value = value + 1 WHERE name = 'change' RETURNING value")
        self._run(
            "INSERT INTO changes VALUES (?1, max(?2, coalesce((SELECT ts FROM changes WHERE seq = ?1 - 1), 0)),"
            " ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            (
                seq,
                _now_ms(),
                kind.value,
                subject.context,
                subject.name,
                version,
                schema_id,
                None if guid is None else guid.bytes,
                _json(document),
            ),
        )

    def drop_context(self, context: str) -> None:
        """Take a context out of the listing."""
        self._listed.discard(context)
        self._run("UPDATE contexts SET listed = 0 WHERE name = ?", (context,))


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _change(row: tuple[int, int, str, str, str, int | None, int | None, bytes | None, str | None]) -> Change:
    seq, ts, kind, context, name, version, schema_id, guid, document = row
    return Change(
        seq,
        ts,
        ChangeKind(kind),
        QualifiedSubject(context, name),
        version,
        schema_id,
        None if guid is None else UUID(bytes=guid),
        None if document is None else json.loads(document),
    )


def _use(row: tuple[str, str, int, int, int, int]) -> Use:
    context, name, version, schema_id, deleted, ts = row
    return Use(QualifiedSubject(context, name), version, schema_id, bool(deleted), ts)


def _settings(config: str | None, mode: str | None) -> ScopeSettings:
    return ScopeSettings(
        None if config is None else read_config(json.loads(config)), None if mode is None else Mode(mode)
    )


def _json(document: Document | None) -> str | None:
    return None if document is None else json.dumps(document)
