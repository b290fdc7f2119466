"""Statements on PostgreSQL: plans of writes as one call of a function in the database, and the reads."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, Protocol
from uuid import UUID

from counterfoil.registry.store.changes import SCOPE_SETTINGS, JournalChangeKind, WrittenChanges, bounds, document_text
from counterfoil.registry.store.name_ranges import above
from counterfoil.registry.store.postgres.news import MAX_TOLD, GatheredReads, Journal, Stamps
from counterfoil.registry.store.protocol import StorageRecord, StoreTotals
from counterfoil.registry.store.records import (
    change_of,
    content_of,
    event_of,
    event_row,
    key_of,
    key_range,
    key_text,
    settings_of,
    summary_of,
    use_of,
)
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
from counterfoil.registry.subjects.versions import SubjectHistory, VersionEntry
from counterfoil.schema.contexts import QualifiedSubject
from counterfoil.schema.rest.schemas import metadata_document, reference_documents, rule_set_document
from counterfoil.schema.rest.subjects import config_document

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterfoil.registry.audit.events import EventPlace, StoredEvent
    from counterfoil.registry.store.changes import JournalChange, ScopeSettings
    from counterfoil.registry.store.name_ranges import SubjectRange
    from counterfoil.registry.store.writes import Effect, Guard, StoragePlan
    from counterfoil.registry.subjects.versions import Content, SubjectSummary, VersionUse
    from counterfoil.schema.contexts import SubjectPrefix
    from counterfoil.schema.rest.object_forms import Document
    from counterfoil.schema.rest.versions import Visibility


# Plans of writes, as one call of a function in the database.

_GUID: Final = 7
_SUMMARY_GUID: Final = 5
_DELETIONS: Final = frozenset({JournalChangeKind.DELETED, JournalChangeKind.REMOVED})


def name_of(text: str) -> str:
    """Return a name that the database can store: PostgreSQL does not permit U+0000.

    No stored name has a control character, so that a replacement finds nothing, either.
    """
    return text.replace("\x00", "\x01")


@dataclass(frozen=True, slots=True)
class CommitBatch:
    """The three arguments of ``commit``: the plans as one JSON text, the contents' fingerprints, and their texts."""

    plans: str
    guids: list[UUID]
    texts: list[bytes]


def batch_of(plans: Sequence[StoragePlan]) -> CommitBatch:
    """Return the arguments of ``commit`` that carry out ``plans``."""
    contents: list[Content] = []
    documents = [
        {
            "guards": [_guard_document(guard) for guard in plan.guards],
            "effects": [_effect_document(effect, contents) for effect in plan.effects],
            "by": {"author": plan.author.principal, "request_id": plan.author.request_id},
        }
        for plan in plans
    ]
    return CommitBatch(
        json.dumps(documents), [content.guid for content in contents], [content.text.encode() for content in contents]
    )


def _guard_document(guard: Guard) -> Document:
    match guard:
        case AtRevision():
            return {"is": "revision", **_place(guard.subject), "revision": guard.revision}
        case SameTerms():
            scopes = None if guard.scopes is None else [list(_place(scope).values()) for scope in guard.scopes]
            return {"is": "terms", "revision": guard.revision, "scopes": scopes}
        case ReferenceTarget():
            place = _place(guard.subject)
            return {"is": "target", **place, "version": guard.version, "active": guard.must_be_active}
        case IdFree():
            return {"is": "free", "context": name_of(guard.context), "id": guard.schema_id, "guid": str(guard.guid)}
        case IdOf():
            return {"is": "id", "context": name_of(guard.context), "id": guard.schema_id, "guid": str(guard.guid)}
        case Unreferenced():
            return {"is": "unreferenced", **_place(guard.subject), **_references(guard)}
        case RecordAt():
            key = name_of(key_text(guard.key))
            return {"is": "record", "kind": guard.kind, "key": key, "revision": guard.revision}
        case SubjectCount():
            return {"is": "subjects", "context": _context(guard.context), "count": guard.count}


def _references(guard: Unreferenced) -> Document:
    inside = guard.inside
    return {
        "versions": guard.versions,
        "deleted_count": guard.deleted_count,
        "inside": None if inside is None else [_context(inside.context), _context(inside.name)],
    }


def _effect_document(effect: Effect, contents: list[Content]) -> Document:
    match effect:
        case PutVersion():
            contents.append(effect.content)
            return _put_version(effect, content=len(contents))
        case MarkDeleted():
            return {"do": "mark", **_place(effect.subject), "versions": effect.versions}
        case RemoveVersions():
            return {"do": "remove", **_place(effect.subject), "versions": effect.versions}
        case PutSettings():
            return _put_settings(effect)
        case PutRecord():
            return _put_record(effect)
        case RefreshRecord():
            return {"do": "refresh", **_record(effect)}
        case DropContext():
            return {"do": "drop", "context": name_of(effect.context)}
        case RecordEvents():
            return {"do": "events", "rows": [list(event_row(event)) for event in effect.events]}
        case DropEvents():
            return {"do": "drop-events", "until": effect.until}


def _put_version(put: PutVersion, *, content: int) -> Document:
    held = put.content
    references = reference_documents(held.references)
    return {
        "do": "version",
        **_place(put.subject),
        "version": put.version,
        "targets": [[*_place(target.subject).values(), target.version] for target in put.targets],
        "schema_id": put.schema_id,
        "ts": put.ts,
        "replaced": None if put.replaced is None else put.replaced.schema_id,
        "content": content,
        "schema_type": held.schema_type.value,
        "refs": json.dumps(references) if references else None,
        "metadata": document_text(metadata_document(held.metadata)),
        "rule_set": document_text(rule_set_document(held.rule_set)),
    }


def _put_settings(put: PutSettings) -> Document:
    config = None if put.settings.config is None else json.dumps(config_document(put.settings.config))
    document = json.dumps(SCOPE_SETTINGS.write(put.settings))
    return {"do": "settings", **_place(put.scope), "config": config, "mode": put.settings.mode, "document": document}


def _put_record(put: PutRecord) -> Document:
    return {
        "do": "record",
        **_record(put),
        "is_term": put.is_term,
        "noted": json.dumps(put.noted),
    }


def _record(put: PutRecord | RefreshRecord) -> Document:
    document = None if put.document is None else json.dumps(put.document, sort_keys=True)
    return {"kind": put.kind, "key": name_of(key_text(put.key)), "document": document}


def _place(subject: QualifiedSubject) -> dict[str, str]:
    return {"context": name_of(subject.context), "name": name_of(subject.name)}


def _context(name: str | None) -> str | None:
    return None if name is None else name_of(name)


# --- outcomes ---------------------------------------------------------------------------------------------------------


def outcomes_of(plans: Sequence[StoragePlan], answer: Document) -> list[WrittenChanges | Exception]:
    """Return the outcomes of ``plans`` from the database's result."""
    changes = [change_of(row, None if row[_GUID] is None else UUID(row[_GUID])) for row in answer["changes"]]
    begun: int = answer["begun"]
    outcomes: list[WrittenChanges | Exception] = []
    for plan, said in zip(plans, answer["outcomes"], strict=True):
        if "refused" in said:
            outcomes.append(plan.guards[said["refused"]].refusal())
        else:
            own = changes[begun - answer["begun"] : said["ended"] - answer["begun"]]
            outcomes.append(_written(plan, tuple(own), shares_id=said["shares_id"]))
            begun = said["ended"]
    return outcomes


def _written(plan: StoragePlan, changes: tuple[JournalChange, ...], *, shares_id: bool) -> WrittenChanges:
    """Return the outcome of a plan; ``shares_id``: a new version has an id that existed, or replaces another one."""
    has_own_times = any(put.ts is not None for put in plan.new_versions)
    return WrittenChanges(
        changes,
        plan.changes_terms,
        decided_on={} if has_own_times else _revisions(plan),
        is_leased=shares_id or plan.changes_leased or any(change.kind in _DELETIONS for change in changes),
    )


def _revisions(plan: StoragePlan) -> dict[QualifiedSubject, int]:
    return {guard.subject: guard.revision for guard in plan.guards if isinstance(guard, AtRevision)}


# The reads over PostgreSQL: one statement each, or one for many calls at the same time.

_HISTORY = """
SELECT w.position, s.revision, v.version, v.schema_id, i.guid, v.deleted, v.ts
FROM unnest($1::text[], $2::text[]) WITH ORDINALITY w (context, name, position)
JOIN counterfoil.contexts c ON c.name = w.context
JOIN counterfoil.subjects s ON s.context_id = c.id AND s.name = w.name
JOIN counterfoil.versions v ON v.subject_id = s.id
JOIN counterfoil.schema_ids i ON i.context_id = v.context_id AND i.id = v.schema_id
ORDER BY w.position, v.version"""
_CONTENTS = """
SELECT guid, schema_type, schema_text, refs, metadata, rule_set FROM counterfoil.contents
WHERE guid = ANY ($1::uuid[])"""
_GUIDS_OF_IDS = """
SELECT w.position, i.guid FROM unnest($1::text[], $2::bigint[]) WITH ORDINALITY w (context, id, position)
JOIN counterfoil.contexts c ON c.name = w.context
JOIN counterfoil.schema_ids i ON i.context_id = c.id AND i.id = w.id"""
_ID_OF_GUID = """
SELECT i.id FROM counterfoil.schema_ids i JOIN counterfoil.contexts c ON c.id = i.context_id
WHERE c.name = $1 AND i.guid = $2 AND i.is_primary"""
_IDS_OF_GUID = """
SELECT c.name, i.id FROM counterfoil.schema_ids i JOIN counterfoil.contexts c ON c.id = i.context_id
WHERE i.guid = $1 ORDER BY c.name, i.id"""
_USES = """
SELECT w.position, c.name, s.name, v.version, v.schema_id, v.deleted, v.ts
FROM unnest($1::text[], $2::bigint[]) WITH ORDINALITY w (context, id, position)
JOIN counterfoil.contexts c ON c.name = w.context
JOIN counterfoil.versions v ON v.context_id = c.id AND v.schema_id = w.id
JOIN counterfoil.subjects s ON s.id = v.subject_id
ORDER BY w.position, s.name, v.version"""
_REFERRERS = """
SELECT DISTINCT w.position, c.name, s.name, v.version, v.schema_id, v.deleted, v.ts
FROM unnest($1::text[], $2::text[], $3::bigint[]) WITH ORDINALITY w (context, name, version, position)
JOIN counterfoil.contexts t ON t.name = w.context
JOIN counterfoil.schema_refs r
  ON r.target_context_id = t.id AND r.target_subject = w.name AND r.target_version = w.version
JOIN counterfoil.versions v ON v.context_id = r.context_id AND v.schema_id = r.schema_id
JOIN counterfoil.subjects s ON s.id = v.subject_id JOIN counterfoil.contexts c ON c.id = s.context_id
ORDER BY w.position, c.name, s.name, v.version"""
_SUBJECTS = """
SELECT c.name, s.name FROM counterfoil.subjects s JOIN counterfoil.contexts c ON c.id = s.context_id
WHERE ($1::text IS NULL OR c.name = $1) AND s.name >= $2 AND starts_with(s.name, $2)
  AND ($3 = 'with deleted' OR (s.active_versions > 0) = ($3 = 'active'))
ORDER BY c.name, s.name"""
_SUBJECT_NAMES = """
SELECT '[' || coalesce(string_agg(to_json(name)::text, ','), '') || ']' FROM (
  SELECT (CASE c.name WHEN '.' THEN s.name ELSE ':' || c.name || ':' || s.name END) COLLATE "C" AS name
  FROM counterfoil.subjects s JOIN counterfoil.contexts c ON c.id = s.context_id
  WHERE ($1::text IS NULL OR c.name = $1) AND s.name >= $2 AND starts_with(s.name, $2)
    AND ($3 = 'with deleted' OR (s.active_versions > 0) = ($3 = 'active'))
  ORDER BY 1 OFFSET $4 LIMIT $5) named"""
_NAMES_OF_CONTEXT = """
SELECT '[' || coalesce(string_agg(to_json(name)::text, ','), '') || ']' FROM (
  SELECT CASE $1::text WHEN '.' THEN s.name ELSE ':' || $1 || ':' || s.name END AS name FROM counterfoil.subjects s
  WHERE s.context_id = (SELECT id FROM counterfoil.contexts WHERE name = $1)
    AND s.name >= $2 AND ($6::text IS NULL OR s.name < $6)
    AND ($3 = 'with deleted' OR (s.active_versions > 0) = ($3 = 'active'))
  ORDER BY s.name OFFSET $4 LIMIT $5) named"""
_NAMES_WITHIN = """
SELECT '[' || coalesce(string_agg(to_json(name)::text, ','), '') || ']' FROM (
  SELECT (CASE c.name WHEN '.' THEN s.name ELSE ':' || c.name || ':' || s.name END) COLLATE "C" AS name
  FROM unnest($1::text[], $2::text[], $3::text[]) r (context, low, high)
  JOIN counterfoil.contexts c ON c.name = r.context
  JOIN counterfoil.subjects s ON s.context_id = c.id AND s.name >= r.low AND (r.high IS NULL OR s.name < r.high)
  WHERE $4 = 'with deleted' OR (s.active_versions > 0) = ($4 = 'active')
  ORDER BY 1 OFFSET $5 LIMIT $6) named"""
_SUMMARIES = """
SELECT r.context, s.name,
  CASE WHEN s.active_versions > 0 THEN s.active_versions
    ELSE (SELECT count(*) FROM counterfoil.versions w WHERE w.subject_id = s.id) END,
  v.version, v.schema_id, i.guid, v.deleted, v.ts, t.schema_type
FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY r (context, low, high, position)
JOIN counterfoil.contexts c ON c.name = r.context
CROSS JOIN LATERAL (
  SELECT id, name, active_versions FROM counterfoil.subjects
  WHERE context_id = c.id AND name >= r.low AND (r.high IS NULL OR name < r.high)
    AND ($4 = 'with deleted' OR (active_versions > 0) = ($4 = 'active'))
  ORDER BY name LIMIT $5) s
CROSS JOIN LATERAL (
  SELECT w.version, w.context_id, w.schema_id, w.deleted, w.ts FROM counterfoil.versions w
  WHERE w.subject_id = s.id AND (NOT w.deleted OR s.active_versions = 0)
  ORDER BY w.version DESC LIMIT 1) v
JOIN counterfoil.schema_ids i ON i.context_id = v.context_id AND i.id = v.schema_id
JOIN counterfoil.contents t ON t.guid = i.guid
ORDER BY r.position, s.name LIMIT $5"""
_TOTALS = """
SELECT count(*), coalesce(sum(active_versions), 0)::bigint FROM counterfoil.subjects WHERE active_versions > 0"""
_SETTINGS = """
SELECT s.config, s.mode FROM unnest($1::text[], $2::text[]) WITH ORDINALITY w (context, name, position)
LEFT JOIN counterfoil.settings s ON s.context = w.context AND s.name = w.name ORDER BY w.position"""
_SCOPES = "SELECT context, name, config, mode FROM counterfoil.settings ORDER BY context, name LIMIT $1"
_RECORDS = """
SELECT key, document, ts, revision FROM counterfoil.records
WHERE kind = $1 AND key >= $2 AND key < $3 ORDER BY key"""
_RECORDS_UNDER = """
SELECT w.position, r.key, r.document, r.ts, r.revision
FROM unnest($2::text[], $3::text[]) WITH ORDINALITY w (low, high, position) CROSS JOIN LATERAL (
  SELECT key, document, ts, revision FROM counterfoil.records
  WHERE kind = $1 AND key >= w.low AND key < w.high ORDER BY key) r
ORDER BY w.position, r.key"""
_CHANGES = """
SELECT seq, ts, kind, context, name, version, schema_id, guid, document, author, request_id FROM counterfoil.changes"""
_STAMPS = "SELECT change, settings FROM counterfoil.stamps"
_JOURNAL = """
SELECT s.change, s.settings,
  c.seq, c.ts, c.kind, c.context, c.name, c.version, c.schema_id, c.guid, c.document, c.author, c.request_id
FROM counterfoil.stamps s LEFT JOIN counterfoil.changes c ON c.seq BETWEEN $1 + 1 AND $2"""
_EVENTS = """
SELECT change, number, ts, event, document FROM counterfoil.audit
WHERE (change, number) > ($1, $2) AND change <= $3 ORDER BY change, number LIMIT $4"""
_JOURNAL_HEAD = "SELECT seq, chain FROM counterfoil.changes ORDER BY seq DESC LIMIT 1"
_LAST_UNTIL = "SELECT seq FROM counterfoil.changes WHERE ts <= $1 ORDER BY ts DESC, seq DESC LIMIT 1"


class Statements(Protocol):
    """Runs statements, as :class:`~.connections.Connections` does."""

    async def rows(self, statement: str, *arguments: object) -> Sequence[Any]:
        """Return the rows of a statement that only reads."""


class PostgresReads:
    """The reads of a :class:`~counterfoil.registry.store.protocol.Storage`."""

    def __init__(self, connections: Statements) -> None:
        self._connections = connections
        self._history_reads = GatheredReads(self._histories_of)
        self._content_reads = GatheredReads(self._contents_of)
        self._settings_reads = GatheredReads(self._settings_of)
        self._guid_reads = GatheredReads(self._guids_of_ids)
        self._use_reads = GatheredReads(self._uses_of)
        self._referrer_reads = GatheredReads(self._referrers_of)
        self._has_news = False

    async def _one(self, statement: str, *arguments: object) -> Any:
        rows = await self._connections.rows(statement, *arguments)
        return rows[0][0] if rows else None

    async def history(self, subject: QualifiedSubject) -> SubjectHistory:
        """Return all versions of a subject."""
        return await self._history_reads.read(subject)

    async def _histories_of(self, subjects: Sequence[QualifiedSubject]) -> Sequence[SubjectHistory]:
        rows = await self._connections.rows(_HISTORY, *_columns(subjects))
        found = [SubjectHistory()] * len(subjects)
        for position, of_subject in groupby(rows, key=itemgetter(0)):
            held = list(of_subject)
            found[position - 1] = SubjectHistory(held[0][1], tuple(VersionEntry(*tuple(row)[2:]) for row in held))
        return found

    async def content(self, guid: UUID) -> Content | None:
        """Return the content with this fingerprint."""
        return await self._content_reads.read(guid)

    async def _contents_of(self, guids: Sequence[UUID]) -> Sequence[Content | None]:
        rows = await self._connections.rows(_CONTENTS, guids)
        found = {row[0]: content_of((row[0], row[1], row[2].decode(), *row[3:])) for row in rows}
        return [found.get(guid) for guid in guids]

    async def guid_of_id(self, context: str, schema_id: int) -> UUID | None:
        """Return the fingerprint of an id's content."""
        return await self._guid_reads.read((context, schema_id))

    async def _guids_of_ids(self, ids: Sequence[tuple[str, int]]) -> Sequence[UUID | None]:
        rows = await self._connections.rows(_GUIDS_OF_IDS, *_id_columns(ids))
        found = dict(map(tuple, rows))
        return [found.get(position) for position in range(1, len(ids) + 1)]

    async def id_of_guid(self, context: str, guid: UUID) -> int | None:
        """Return the id of a content in a context."""
        found: int | None = await self._one(_ID_OF_GUID, name_of(context), guid)
        return found

    async def ids_of_guid(self, guid: UUID) -> Sequence[tuple[str, int]]:
        """Return all ids of a content."""
        return [(context, schema_id) for context, schema_id in await self._connections.rows(_IDS_OF_GUID, guid)]

    async def max_id(self, context: str) -> int:
        """Return the highest id that was ever used in a context."""
        statement = "SELECT next_schema_id - 1 FROM counterfoil.contexts WHERE name = $1"
        return int(await self._one(statement, name_of(context)) or 0)

    async def uses(self, context: str, schema_id: int) -> Sequence[VersionUse]:
        """Return the versions with an id."""
        return await self._use_reads.read((context, schema_id))

    async def _uses_of(self, ids: Sequence[tuple[str, int]]) -> Sequence[Sequence[VersionUse]]:
        return _uses_by_position(await self._connections.rows(_USES, *_id_columns(ids)), len(ids))

    async def referrers(self, subject: QualifiedSubject, version: int) -> Sequence[VersionUse]:
        """Return the versions that refer to a version."""
        return await self._referrer_reads.read((subject, version))

    async def _referrers_of(self, versions: Sequence[tuple[QualifiedSubject, int]]) -> Sequence[Sequence[VersionUse]]:
        columns = _columns([subject for subject, _ in versions])
        numbers = [version for _, version in versions]
        return _uses_by_position(await self._connections.rows(_REFERRERS, *columns, numbers), len(versions))

    async def subjects(self, prefix: SubjectPrefix, visibility: Visibility) -> Sequence[QualifiedSubject]:
        """Return the subjects with a prefix."""
        context = None if prefix.context is None else name_of(prefix.context)
        rows = await self._connections.rows(_SUBJECTS, context, name_of(prefix.name), visibility.value)
        return [QualifiedSubject(*row) for row in rows]

    async def subject_names(self, prefix: SubjectPrefix, visibility: Visibility, *, first: int, last: int) -> str:
        """Return the names of subjects with a prefix, as the text of a JSON array."""
        context = None if prefix.context is None else name_of(prefix.context)
        wanted = (context, name_of(prefix.name), visibility.value, first, max(last - first, 0))
        if context is None:
            rows = await self._connections.rows(_SUBJECT_NAMES, *wanted)
        else:
            rows = await self._connections.rows(_NAMES_OF_CONTEXT, *wanted, above(name_of(prefix.name)))
        return str(rows[0][0])

    async def names_within(
        self, ranges: Sequence[SubjectRange], visibility: Visibility, *, first: int, last: int
    ) -> str:
        """Return the names of subjects in ranges, as the text of a JSON array."""
        rows = await self._connections.rows(
            _NAMES_WITHIN, *_range_columns(ranges), visibility.value, first, max(last - first, 0)
        )
        return str(rows[0][0])

    async def summaries(
        self, ranges: Sequence[SubjectRange], visibility: Visibility, limit: int
    ) -> Sequence[SubjectSummary]:
        """Return the first subjects in ranges, with their latest versions."""
        rows = await self._connections.rows(_SUMMARIES, *_range_columns(ranges), visibility.value, limit)
        return [summary_of(row, row[_SUMMARY_GUID]) for row in rows]

    async def totals(self) -> StoreTotals:
        """Return the numbers of subjects and versions."""
        [row] = await self._connections.rows(_TOTALS)
        return StoreTotals(*row)

    async def contexts(self) -> Sequence[str]:
        """Return the known contexts."""
        rows = await self._connections.rows("SELECT name FROM counterfoil.contexts WHERE listed ORDER BY name")
        return [name for (name,) in rows]

    async def settings(self, scope: QualifiedSubject) -> ScopeSettings:
        """Return the stored settings of a scope."""
        return await self._settings_reads.read(scope)

    async def _settings_of(self, scopes: Sequence[QualifiedSubject]) -> Sequence[ScopeSettings]:
        return [settings_of(*row) for row in await self._connections.rows(_SETTINGS, *_columns(scopes))]

    async def scopes(self, at_most: int | None = None) -> Sequence[tuple[QualifiedSubject, ScopeSettings]]:
        """Return all scopes with settings, or the first ones."""
        rows = await self._connections.rows(_SCOPES, at_most)
        return [(QualifiedSubject(context, name), settings_of(config, mode)) for context, name, config, mode in rows]

    async def records(self, kind: str, prefix: tuple[str, ...] = ()) -> Sequence[StorageRecord]:
        """Return the records of a kind whose keys have a prefix."""
        low, high = key_range([name_of(part) for part in prefix])
        rows = await self._connections.rows(_RECORDS, name_of(kind), low, high)
        return [
            StorageRecord(kind, key_of(key), json.loads(document), ts, revision) for key, document, ts, revision in rows
        ]

    async def records_under(self, kind: str, prefixes: Sequence[tuple[str, ...]]) -> Sequence[Sequence[StorageRecord]]:
        """Return the records of a kind by prefix, in one statement."""
        found: list[list[StorageRecord]] = [[] for _ in prefixes]
        ranges = [key_range([name_of(part) for part in prefix]) for prefix in prefixes]
        lows, highs = [low for low, _ in ranges], [high for _, high in ranges]
        for position, key, document, ts, revision in await self._connections.rows(
            _RECORDS_UNDER, name_of(kind), lows, highs
        ):
            found[position - 1].append(StorageRecord(kind, key_of(key), json.loads(document), ts, revision))
        return found

    async def changes(self, after: int, limit: int) -> Sequence[JournalChange]:
        """Return at most ``limit`` changes after one."""
        rows = await self._connections.rows(f"{_CHANGES} WHERE seq > $1 ORDER BY seq LIMIT $2", after, limit)
        return [change_of(row, row[_GUID]) for row in rows]

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
        statement = (
            f"{_CHANGES} WHERE context = $1 AND name = $2 AND seq <= $3 AND ($4::text IS NULL OR kind = $4)"
            " AND ($5::bigint IS NULL OR version >= $5 AND version < $6::bigint)"
            " ORDER BY seq DESC LIMIT $7::bigint"
        )
        given = name_of(subject.context), name_of(subject.name), until, kind and kind.value, *bounds(versions), newest
        rows = await self._connections.rows(statement, *given)
        return [change_of(row, row[_GUID]) for row in reversed(rows)]

    async def journal(self, after: int | None) -> Journal:
        """Return the stamps, and the changes after one; None stands for none of them.

        If the last read had no new changes, only the stamps are read, which takes a third of the time; otherwise all in
        one statement.
        """
        if after is None or not self._has_news:
            [row] = await self._connections.rows(_STAMPS)
            now = Stamps(*row)
            self._has_news = after is not None and now.change > after
            if after is None or not self._has_news:
                return Journal(now)
        rows = await self._connections.rows(_JOURNAL, after, after + MAX_TOLD)
        noted = sorted(tuple(row)[2:] for row in rows if row[2] is not None)
        self._has_news = bool(noted)
        return Journal(Stamps(rows[0][0], rows[0][1]), [change_of(row, row[_GUID]) for row in noted])

    async def journal_head(self) -> tuple[int, bytes]:
        """Return the number of the last change and the chain up to it; 0 and an empty one if there is none."""
        rows = await self._connections.rows(_JOURNAL_HEAD)
        return tuple(rows[0]) if rows else (0, b"")

    async def audit_events(self, after: EventPlace, last_change: int, limit: int) -> Sequence[StoredEvent]:
        """Return at most ``limit`` events of the audit after one, and not after a later change."""
        return [event_of(tuple(row)) for row in await self._connections.rows(_EVENTS, *after, last_change, limit)]

    async def last_change(self, until_ts: int | None = None) -> int:
        """Return the number of the last change up to a time."""
        if until_ts is None:
            return int(await self._one("SELECT change FROM counterfoil.stamps"))
        return int(await self._one(_LAST_UNTIL, until_ts) or 0)


def _uses_by_position(rows: Sequence[Any], count: int) -> list[list[VersionUse]]:
    """Return the versions in ``rows`` by the position, from 1, of the read that they answer."""
    found: list[list[VersionUse]] = [[] for _ in range(count)]
    for row in rows:
        found[row[0] - 1].append(use_of(tuple(row)[1:]))
    return found


def _id_columns(ids: Sequence[tuple[str, int]]) -> tuple[list[str], list[int]]:
    """Return the contexts and the ids, as two arrays."""
    return [name_of(context) for context, _ in ids], [schema_id for _, schema_id in ids]


def _range_columns(ranges: Sequence[SubjectRange]) -> tuple[list[str], list[str], list[str | None]]:
    """Return the contexts, the lowest names and the ends of ranges, as three arrays."""
    return (
        [name_of(each.context) for each in ranges],
        [name_of(each.low) for each in ranges],
        [None if each.high is None else name_of(each.high) for each in ranges],
    )


def _columns(scopes: Sequence[QualifiedSubject]) -> tuple[list[str], list[str]]:
    """Return the contexts and the names, as two arrays."""
    return [name_of(scope.context) for scope in scopes], [name_of(scope.name) for scope in scopes]
