"""The primitive reads over a SQLite connection, and SQLite's errors as errors of the registry."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar
from uuid import UUID

from counterfoil.registry.store.changes import TERM_KINDS, JournalChange, JournalChangeKind, ScopeSettings, bounds
from counterfoil.registry.store.name_ranges import above
from counterfoil.registry.store.protocol import StorageRecord, StoreTotals, uncertain
from counterfoil.registry.store.records import (
    change_of,
    content_of,
    event_of,
    key_of,
    key_range,
    settings_of,
    summary_of,
    use_of,
)
from counterfoil.registry.subjects.versions import SubjectHistory, VersionEntry, VersionUse
from counterfoil.schema.contexts import QualifiedSubject
from counterfoil.schema.errors import RegistryError, StoreTimeout, StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from counterfoil.registry.audit.events import EventPlace, StoredEvent
    from counterfoil.registry.store.name_ranges import SubjectRange
    from counterfoil.registry.subjects.versions import Content, SubjectSummary
    from counterfoil.schema.contexts import SubjectPrefix
    from counterfoil.schema.rest.versions import Visibility


# Translating SQLite's errors into errors of the registry, with what is wrong and what to do.

_P = ParamSpec("_P")
_T = TypeVar("_T")

_PRIMARY: Final = 0xFF
"""The low byte of SQLite's extended result codes is the primary one (https://www.sqlite.org/rescode.html)."""

_SENTENCE_BY_CODE: Final = {
    sqlite3.SQLITE_FULL: "its disk is full; free some space",
    sqlite3.SQLITE_IOERR: "its disk fails, is read-only, or has reached a limit on file sizes; check disk and quota",
    sqlite3.SQLITE_READONLY: "it is read-only; make the file, its folder and its disk writable",
    sqlite3.SQLITE_CORRUPT: "it is damaged; stop the registry and restore a backup",
    sqlite3.SQLITE_NOTADB: "it is damaged; stop the registry and restore a backup",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened; check its folder, its permissions and the limit on open files",
    sqlite3.SQLITE_PERM: "its permissions forbid it; make it writable for the registry",
    sqlite3.SQLITE_NOMEM: "there is no memory left",
    sqlite3.SQLITE_TOOBIG: "what is to be written is larger than SQLite takes",
}
_BUSY: Final = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_FLUSHES: Final = frozenset({sqlite3.SQLITE_IOERR_FSYNC, sqlite3.SQLITE_IOERR_DIR_FSYNC})


def is_busy(error: sqlite3.Error) -> bool:
    """Return whether another connection holds a lock."""
    return _code(error) & _PRIMARY in _BUSY


def at_run_time(error: sqlite3.Error) -> RegistryError:
    """Return the error for a statement that failed with ``error``; its transaction is undone."""
    code = _code(error)
    if is_busy(error):
        return StoreTimeout("The SQLite file is locked by another program; end that program, then try again")
    sentence = _SENTENCE_BY_CODE.get(code & _PRIMARY, "SQLite refuses; see what it says")
    said = f"The SQLite file cannot be used: {sentence}, then try again ({error})"
    if code in _FLUSHES:  # all was written, but perhaps not durably
        said = uncertain(said)
    return StoreUnavailable(said)


def damaged(error: Exception) -> StoreUnavailable:
    """Return the error for stored data that can never have been written."""
    return StoreUnavailable(
        f"The SQLite file holds something that was never written to it ({type(error).__name__}: {str(error)[:200]}): "
        "it is damaged; stop the registry and restore a backup"
    )


def intact(read: Callable[_P, _T]) -> Callable[_P, _T]:
    """Return ``read`` with errors about stored data turned into errors of the store."""

    @wraps(read)
    def reading(*arguments: _P.args, **named: _P.kwargs) -> _T:
        try:
            return read(*arguments, **named)
        except (StoreUnavailable, StoreTimeout):
            raise
        except (ValueError, TypeError, KeyError, RegistryError) as error:
            raise damaged(error) from error

    return reading


def _code(error: sqlite3.Error) -> int:
    """Return SQLite's extended result code; 0 for an error of Python's module itself."""
    code: int = getattr(error, "sqlite_errorcode", 0)
    return code


# The primitive reads over a SQLite connection.

_HISTORY = """
SELECT s.id, s.revision, v.version, v.schema_id, i.guid, v.deleted, v.ts
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
_TOTALS = "SELECT count(*), coalesce(sum(active_versions), 0) FROM subjects WHERE active_versions > 0"
_SUBJECTS = """
SELECT c.name, s.name FROM subjects s JOIN contexts c ON c.id = s.context_id
WHERE (:context IS NULL OR c.name = :context) AND s.name >= :low AND s.name < :high
  AND (:visibility = 'with deleted' OR (s.active_versions > 0) = (:visibility = 'active'))
ORDER BY c.name, s.name"""
_SUBJECT_NAMES = """
SELECT json_group_array(name) FROM (
  SELECT CASE c.name WHEN '.' THEN s.name ELSE ':' || c.name || ':' || s.name END AS name
  FROM subjects s JOIN contexts c ON c.id = s.context_id
  WHERE s.name >= :low AND s.name < :high
    AND (:visibility = 'with deleted' OR (s.active_versions > 0) = (:visibility = 'active'))
  ORDER BY 1 LIMIT :limit OFFSET :offset)"""
_NAMES_OF_CONTEXT = """
SELECT json_group_array(name) FROM (
  SELECT CASE :context WHEN '.' THEN s.name ELSE ':' || :context || ':' || s.name END AS name
  FROM subjects s
  WHERE s.context_id = (SELECT id FROM contexts WHERE name = :context) AND s.name >= :low AND s.name < :high
    AND (:visibility = 'with deleted' OR (s.active_versions > 0) = (:visibility = 'active'))
  ORDER BY s.name LIMIT :limit OFFSET :offset)"""
_RECORDS_UNDER = """
WITH ranges (number, low, high) AS (VALUES {})
SELECT ranges.number, r.key, r.document, r.ts, r.revision
FROM ranges CROSS JOIN records r WHERE r.kind = ? AND r.key >= ranges.low AND r.key < ranges.high
ORDER BY ranges.number, r.key"""
_RANGES: Final = 100
"""The greatest number of prefixes in one statement: SQLite compiles a row for each of them."""
_NAMES_WITHIN = """
SELECT json_group_array(name) FROM (
  SELECT CASE c.name WHEN '.' THEN s.name ELSE ':' || c.name || ':' || s.name END AS name
  FROM json_each(:ranges) r
  CROSS JOIN contexts c ON c.name = json_extract(r.value, '$[0]')
  CROSS JOIN subjects s ON s.context_id = c.id AND s.name >= json_extract(r.value, '$[1]')
    AND s.name < coalesce(json_extract(r.value, '$[2]'), x'')
  WHERE :visibility = 'with deleted' OR (s.active_versions > 0) = (:visibility = 'active')
  ORDER BY 1 LIMIT :limit OFFSET :offset)"""
_SUMMARIES: Final = """
SELECT :context, s.name,
  CASE WHEN s.active_versions > 0 THEN s.active_versions
    ELSE (SELECT count(*) FROM versions w WHERE w.subject_id = s.id) END,
  v.version, v.schema_id, i.guid, v.deleted, v.ts, t.schema_type
FROM (
  SELECT id, name, active_versions FROM subjects
  WHERE context_id = (SELECT id FROM contexts WHERE name = :context) AND name >= :low AND name < :high
    AND (:visibility = 'with deleted' OR (active_versions > 0) = (:visibility = 'active'))
  ORDER BY name LIMIT :limit) s
JOIN versions v ON v.subject_id = s.id AND v.version = (
  SELECT w.version FROM versions w WHERE w.subject_id = s.id AND (w.deleted = 0 OR s.active_versions = 0)
  ORDER BY w.version DESC LIMIT 1)
JOIN schema_ids i ON i.context_id = v.context_id AND i.id = v.schema_id
JOIN contents t ON t.guid = i.guid
ORDER BY s.name"""
_GUID: Final = 7
_SUMMARY_GUID: Final = 5
_ABOVE_ALL_TEXTS: Final = b""
"""In SQLite's order every blob comes after every text."""
_NOTHING = SubjectHistory()
_EVERY: Final = -1
"""SQLite's limit for all rows."""

_CHANGES = "SELECT seq, ts, kind, context, name, version, schema_id, guid, document, author, request_id FROM changes"


@dataclass(frozen=True, slots=True)
class StoredSubject:
    """The stored versions of a subject, and the number of its row, if it has one."""

    history: SubjectHistory = _NOTHING
    row_id: int | None = None


class SqliteReads:
    """Reads over ``connection``, which is in autocommit mode: transactions are the caller's."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def _all(self, statement: str, parameters: Sequence[object] | Mapping[str, object] = ()) -> list[Any]:
        try:
            return self._connection.execute(statement, parameters).fetchall()
        except sqlite3.Error as error:
            raise at_run_time(error) from error

    def _one(self, statement: str, parameters: Sequence[object] = ()) -> Any:
        rows = self._all(statement, parameters)
        return rows[0][0] if rows else None

    # --- reads

    def history(self, subject: QualifiedSubject) -> SubjectHistory:
        """Return all versions of a subject."""
        return self.stored(subject).history

    @intact
    def stored(self, subject: QualifiedSubject) -> StoredSubject:
        """Return all versions of a subject, and its row."""
        rows = self._all(_HISTORY, (subject.context, subject.name))
        if not rows:
            return StoredSubject()
        entries = tuple(
            VersionEntry(version, schema_id, UUID(bytes=guid), bool(deleted), ts)
            for _, _, version, schema_id, guid, deleted, ts in rows
        )
        return StoredSubject(SubjectHistory(rows[0][1], entries), rows[0][0])

    @intact
    def content(self, guid: UUID) -> Content | None:
        """Return the content with this fingerprint."""
        rows = self._all(
            "SELECT schema_type, schema_text, refs, metadata, rule_set FROM contents WHERE guid = ?", (guid.bytes,)
        )
        if not rows:
            return None
        return content_of((guid, *rows[0]))

    @intact
    def guid_of_id(self, context: str, schema_id: int) -> UUID | None:
        """Return the fingerprint of an id's content."""
        guid = self._one(
            "SELECT guid FROM schema_ids WHERE context_id = (SELECT id FROM contexts WHERE name = ?) AND id = ?",
            (context, schema_id),
        )
        return None if guid is None else UUID(bytes=guid)

    def id_of_guid(self, context: str, guid: UUID) -> int | None:
        """Return the id of a content in a context."""
        found: int | None = self._one(
            "SELECT id FROM schema_ids WHERE context_id = (SELECT id FROM contexts WHERE name = ?)"
            " AND guid = ? AND is_primary = 1",
            (context, guid.bytes),
        )
        return found

    def ids_of_guid(self, guid: UUID) -> Sequence[tuple[str, int]]:
        """Return all ids of a content."""
        return self._all(
            "SELECT c.name, i.id FROM schema_ids i JOIN contexts c ON c.id = i.context_id WHERE i.guid = ?"
            " ORDER BY c.name, i.id",
            (guid.bytes,),
        )

    def max_id(self, context: str) -> int:
        """Return the highest id that was ever used in a context."""
        return int(self._one("SELECT next_schema_id - 1 FROM contexts WHERE name = ?", (context,)) or 0)

    @intact
    def uses(self, context: str, schema_id: int) -> Sequence[VersionUse]:
        """Return the versions with an id."""
        return [use_of(row) for row in self._all(_USES, (context, schema_id))]

    @intact
    def referrers(self, subject: QualifiedSubject, version: int) -> Sequence[VersionUse]:
        """Return the versions that refer to a version."""
        return [use_of(row) for row in self._all(_REFERRERS, (subject.context, subject.name, version))]

    def subjects(self, prefix: SubjectPrefix, visibility: Visibility) -> Sequence[QualifiedSubject]:
        """Return the subjects with a prefix."""
        return [QualifiedSubject(*row) for row in self._all(_SUBJECTS, _wanted(prefix, visibility))]

    def subject_names(self, prefix: SubjectPrefix, visibility: Visibility, first: int, last: int) -> str:
        """Return the names of subjects with a prefix, as the text of a JSON array."""
        wanted = {**_wanted(prefix, visibility), "limit": max(last - first, 0), "offset": first}
        statement = _SUBJECT_NAMES if prefix.context is None else _NAMES_OF_CONTEXT
        return str(self._all(statement, wanted)[0][0])

    def names_within(self, ranges: Sequence[SubjectRange], visibility: Visibility, first: int, last: int) -> str:
        """Return the names of subjects in ranges, as the text of a JSON array."""
        wanted = {
            "ranges": json.dumps(ranges),
            "visibility": visibility.value,
            "limit": max(last - first, 0),
            "offset": first,
        }
        return str(self._all(_NAMES_WITHIN, wanted)[0][0])

    @intact
    def summaries(self, ranges: Sequence[SubjectRange], visibility: Visibility, limit: int) -> Sequence[SubjectSummary]:
        """Return the first subjects in ranges, with their latest versions; one range is read after the other."""
        found: list[SubjectSummary] = []
        for each in ranges:
            if len(found) == limit:
                break
            wanted = {
                "context": each.context,
                "low": each.low,
                "high": _ABOVE_ALL_TEXTS if each.high is None else each.high,
                "visibility": visibility.value,
                "limit": limit - len(found),
            }
            found += [summary_of(row, UUID(bytes=row[_SUMMARY_GUID])) for row in self._all(_SUMMARIES, wanted)]
        return found

    def totals(self) -> StoreTotals:
        """Return the numbers of subjects and versions."""
        return StoreTotals(*self._all(_TOTALS)[0])

    def contexts(self) -> Sequence[str]:
        """Return the known contexts."""
        return [name for (name,) in self._all("SELECT name FROM contexts WHERE listed = 1 ORDER BY name")]

    @intact
    def settings(self, scope: QualifiedSubject) -> ScopeSettings:
        """Return the stored settings of a scope."""
        rows = self._all(
            "SELECT config, mode FROM settings WHERE context = ? AND name = ?", (scope.context, scope.name)
        )
        return settings_of(*rows[0]) if rows else ScopeSettings()

    def settings_revision(self) -> int:
        """Return the revision of the settings."""
        return int(self._one("SELECT settings FROM stamps"))

    def last_subject_row(self) -> int:
        """Return the highest row number of subjects; 0 when there is none."""
        return int(self._one("SELECT coalesce(max(id), 0) FROM subjects"))

    @intact
    def scopes(self) -> Sequence[tuple[QualifiedSubject, ScopeSettings]]:
        """Return all scopes with settings."""
        rows = self._all("SELECT context, name, config, mode FROM settings ORDER BY context, name")
        return [(QualifiedSubject(context, name), settings_of(config, mode)) for context, name, config, mode in rows]

    @intact
    def records(self, kind: str, prefix: tuple[str, ...]) -> Sequence[StorageRecord]:
        """Return the records of a kind whose keys have a prefix."""
        rows = self._all(
            "SELECT key, document, ts, revision FROM records WHERE kind = ? AND key >= ? AND key < ? ORDER BY key",
            (kind, *key_range(prefix)),
        )
        return [
            StorageRecord(kind, key_of(key), json.loads(document), ts, revision) for key, document, ts, revision in rows
        ]

    @intact
    def records_under(self, kind: str, prefixes: Sequence[tuple[str, ...]]) -> Sequence[Sequence[StorageRecord]]:
        """Return the records of a kind by prefix, with one statement for many prefixes."""
        if len(prefixes) == 1:
            return [self.records(kind, prefixes[0])]
        found: list[list[StorageRecord]] = [[] for _ in prefixes]
        for first in range(0, len(prefixes), _RANGES):
            ranges = [each for prefix in prefixes[first : first + _RANGES] for each in key_range(prefix)]
            rows = ",".join(f"({number},?,?)" for number in range(first, first + len(ranges) // 2))
            for number, key, document, ts, revision in self._all(_RECORDS_UNDER.format(rows), [*ranges, kind]):
                found[number].append(StorageRecord(kind, key_of(key), json.loads(document), ts, revision))
        return found

    @intact
    def changes(self, after: int, limit: int) -> Sequence[JournalChange]:
        """Return at most ``limit`` changes after one."""
        return [_change(row) for row in self._all(f"{_CHANGES} WHERE seq > ? ORDER BY seq LIMIT ?", (after, limit))]

    @intact
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
        most = _EVERY if newest is None else newest
        rows = self._all(
            f"{_CHANGES} WHERE context = ?1 AND name = ?2 AND seq <= ?3 AND (?4 IS NULL OR kind = ?4)"
            " AND (?5 IS NULL OR version >= ?5 AND version < ?6) ORDER BY seq DESC LIMIT ?7",
            (subject.context, subject.name, until, kind and kind.value, *bounds(versions), most),
        )
        return [_change(row) for row in reversed(rows)]

    def journal_head(self) -> tuple[int, bytes]:
        """Return the number of the last change and the chain up to it; 0 and an empty one if there is none."""
        rows = self._all("SELECT seq, chain FROM changes ORDER BY seq DESC LIMIT 1")
        return rows[0] if rows else (0, b"")

    @intact
    def audit_events(self, after: EventPlace, last_change: int, limit: int) -> Sequence[StoredEvent]:
        """Return at most ``limit`` events of the audit after one, and not after a later change."""
        rows = self._all(
            "SELECT change, number, ts, event, document FROM audit WHERE (change, number) > (?, ?) AND change <= ?"
            " ORDER BY change, number LIMIT ?",
            (*after, last_change, limit),
        )
        return [event_of(row) for row in rows]

    def has_changed(self, scope: QualifiedSubject, since: int) -> bool:
        """Return whether config or mode of a scope, or a record noted there, was written to."""
        rows = self._all(
            "SELECT kind FROM changes WHERE context = ? AND name = ? AND seq > ?", (scope.context, scope.name, since)
        )
        return any(JournalChangeKind(kind) in TERM_KINDS for (kind,) in rows)

    def last_change(self, until_ts: int | None) -> int:
        """Return the number of the last change up to a time."""
        if until_ts is None:
            return int(self._one("SELECT change FROM stamps"))
        return int(
            self._one("SELECT seq FROM changes WHERE ts <= ? ORDER BY ts DESC, seq DESC LIMIT 1", (until_ts,)) or 0
        )


def _change(row: Any) -> JournalChange:
    return change_of(row, None if row[_GUID] is None else UUID(bytes=row[_GUID]))


def _wanted(prefix: SubjectPrefix, visibility: Visibility) -> dict[str, object]:
    """Return the parameters of a listing."""
    return {
        "context": prefix.context,
        "low": prefix.name,
        "high": above(prefix.name) or _ABOVE_ALL_TEXTS,
        "visibility": visibility.value,
    }
