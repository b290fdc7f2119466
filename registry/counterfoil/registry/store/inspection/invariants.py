"""What holds in every store, the search for what does not, and the report on it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from heapq import merge
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from counterfoil.registry.store.changes import SCOPE_SETTINGS, JournalChangeKind
from counterfoil.registry.store.inspection.rows import Breach, check_chain, open_rows, text_of, uuid_of
from counterfoil.registry.store.opening import sqlite_path
from counterfoil.registry.store.protocol import FORMAT
from counterfoil.registry.subjects.versions import make_content
from counterfoil.schema.contexts import QualifiedSubject
from counterfoil.schema.errors import CounterfoilError
from counterfoil.schema.model import Reference, SchemaType
from counterfoil.schema.rest.json_values import RequestJson
from counterfoil.schema.rest.schemas import METADATA, REFERENCE, RULE_SET
from counterfoil.schema.texts import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from uuid import UUID

    from counterfoil.registry.store.inspection.rows import StoreRows
    from counterfoil.schema.rest.object_forms import Document


# The invariants of contents: each has its fingerprint, and its references are stored.

_CONTENTS = "SELECT guid, schema_type, schema_text, refs, metadata, rule_set FROM contents"
_REFERENCES = """
SELECT c.name, i.id, t.refs, r.target_version FROM schema_ids i JOIN contexts c ON c.id = i.context_id
JOIN contents t ON t.guid = i.guid
LEFT JOIN schema_refs r ON r.context_id = i.context_id AND r.schema_id = i.id
WHERE t.refs IS NOT NULL OR r.position IS NOT NULL ORDER BY i.context_id, i.id, r.position"""


def check_contents(rows: StoreRows) -> Iterator[Breach]:
    """Yield contents that do not have their fingerprint, or cannot be read."""
    for guid, *parts in rows.each(_CONTENTS):
        place = f"content {uuid_of(guid)}"
        try:
            found = _fingerprint(*parts)
        except (CounterfoilError, ValueError) as error:
            yield Breach("content-readable", place, f"it cannot be read: {error}")
            continue
        if found != uuid_of(guid):
            yield Breach("content-fingerprint", place, f"what is stored has the fingerprint {found}")


def _fingerprint(schema_type: str, text: Any, refs: str | None, metadata: str | None, rule_set: str | None) -> UUID:
    return make_content(
        text_of(text),
        SchemaType(schema_type),
        references=_references(refs),
        metadata=None if metadata is None else METADATA.read(RequestJson(json.loads(metadata), "metadata")),
        rule_set=None if rule_set is None else RULE_SET.read(RequestJson(json.loads(rule_set), "ruleSet")),
    ).guid


def _references(refs: str | None) -> tuple[Reference, ...]:
    return tuple(map(REFERENCE.read, RequestJson(json.loads(refs or "[]"), "references").items()))


def check_references(rows: StoreRows) -> Iterator[Breach]:
    """Yield ids whose stored references are not those of their contents."""
    for (context, schema_id, refs), found in groupby(rows.each(_REFERENCES), key=lambda row: row[:3]):
        guarded = [version for *_, version in found if version is not None]
        try:
            named = [reference.version for reference in _references(refs)]
        except (CounterfoilError, ValueError):
            continue  # reported as a content that cannot be read
        if guarded != named:
            yield Breach(
                "references-guarded",
                f"id {schema_id} in context {context}",
                f"its schema refers to the versions {named}, and {guarded} are guarded",
            )


# The invariants of the journal: it has no gap, and its changes lead to the stored data.

_IN_ORDER = "SELECT seq, ts, kind, version, schema_id, guid, document FROM changes ORDER BY seq"
_BY_SCOPE = """
SELECT context, name, 0, seq, kind, version, schema_id, guid, document FROM changes ORDER BY context, name, seq"""
_STORED_VERSIONS = """
SELECT c.name, s.name, 1, s.revision, v.version, v.schema_id, i.guid, v.deleted
FROM contexts c JOIN subjects s ON s.context_id = c.id JOIN versions v ON v.subject_id = s.id
LEFT JOIN schema_ids i ON i.context_id = v.context_id AND i.id = v.schema_id ORDER BY c.name, s.name, v.version"""
_STORED_SETTINGS = "SELECT context, name, 2, config, mode FROM settings ORDER BY context, name"
_BINDINGS = """
SELECT context, schema_id, seq, guid, ended FROM (
  SELECT context, schema_id, seq, guid, kind, lead(seq) OVER (PARTITION BY context, name, version ORDER BY seq) AS ended
  FROM changes WHERE kind IN ('version-registered', 'version-removed')) h
WHERE kind = 'version-registered' ORDER BY context, schema_id, seq"""
_RECORDS = """
SELECT r.kind, r.key, r.revision, r.document, h.kind, h.document
FROM records r LEFT JOIN changes h ON h.seq = r.revision"""

_KINDS: Final = frozenset(kind.value for kind in JournalChangeKind)
_OF_VERSIONS: Final = frozenset(
    {JournalChangeKind.REGISTERED.value, JournalChangeKind.DELETED.value, JournalChangeKind.REMOVED.value}
)
_WITH_DOCUMENT: Final = frozenset({JournalChangeKind.SETTINGS.value, JournalChangeKind.RECORD.value})
_SCOPE: Final = itemgetter(0, 1)

_Version = tuple[int, Any, bool]
"""A version as it is stored or as it follows from the journal: its id, its fingerprint, whether it is deleted."""


def check_order(rows: StoreRows) -> Iterator[Breach]:
    """Yield missing numbers, decreasing times, and incomplete changes."""
    expected, latest = 1, 0
    for seq, ts, kind, *facts in rows.each(_IN_ORDER):
        if seq != expected:
            yield Breach("journal-without-gap", f"change {seq}", f"it follows {expected - 1}; expected {expected}")
        if ts < latest:
            yield Breach("journal-in-time", f"change {seq}", f"its time {ts} is before that of the last, {latest}")
        if problem := _problem_of(kind, *facts):
            yield Breach("change-complete", f"change {seq}", problem)
        expected, latest = seq + 1, max(ts, latest)


def _problem_of(kind: str, version: Any, schema_id: Any, guid: Any, document: str | None) -> str | None:
    if kind not in _KINDS:
        return f"its kind {kind!r} is not known"
    if kind in _OF_VERSIONS and None in {version, schema_id, guid}:
        return "it lacks version, id or fingerprint"
    if kind in _WITH_DOCUMENT and not isinstance(_json(document), dict):
        return "it lacks its document"
    return None


def check_replay(rows: StoreRows) -> Iterator[Breach]:
    """Yield scopes whose changes do not lead to the stored data; one scope is in memory at a time."""
    sources = (rows.each(_BY_SCOPE), rows.each(_STORED_VERSIONS), rows.each(_STORED_SETTINGS))
    for (context, name), found in groupby(merge(*sources, key=_SCOPE), key=_SCOPE):
        scope = _Scope(QualifiedSubject(context, name))
        for row in found:
            scope.take(row[2], row[3:])
        yield from scope.breaches()


class _Scope:
    """One subject or context: its state from the journal, and its stored state."""

    def __init__(self, subject: QualifiedSubject) -> None:
        self._subject = subject
        self._told: dict[int, _Version] = {}
        self._stored: dict[int, _Version] = {}
        self._told_settings: Any = {}
        self._stored_settings: Document = {}
        self._last_seq = 0
        self._revision = 0

    def take(self, source: int, row: tuple[Any, ...]) -> None:
        """Add a row of one of the three statements."""
        if source == 0:
            self._take_change(*row)
        elif source == 1:
            self._revision, version, schema_id, guid, deleted = row
            self._stored[version] = (schema_id, guid, bool(deleted))
        else:
            config, mode = row
            self._stored_settings = {"config": _json(config), "mode": mode}

    def _take_change(self, seq: int, kind: str, *facts: Any) -> None:
        version, schema_id, guid, document = facts
        if kind == JournalChangeKind.SETTINGS.value:
            self._told_settings = _json(document)
        elif kind == JournalChangeKind.REMOVED.value:
            self._told.pop(version, None)
        elif kind in _OF_VERSIONS:
            self._told[version] = (schema_id, guid, kind == JournalChangeKind.DELETED.value)
        if kind in _OF_VERSIONS:
            self._last_seq = seq

    def breaches(self) -> Iterator[Breach]:
        """Yield the differences."""
        place = f"subject {str(self._subject)!r}"
        for version in sorted(self._told.keys() | self._stored.keys()):
            told, stored = self._told.get(version), self._stored.get(version)
            if told != stored:
                yield Breach(
                    "journal-replays",
                    f"{place} version {version}",
                    f"according to the journal it is {_shown(told)}; stored is {_shown(stored)}",
                )
        if self._stored and self._revision != self._last_seq:
            message = f"its revision is {self._revision}, and its last change {self._last_seq}"
            yield Breach("subject-revision", place, message)
        yield from self._breaches_of_settings()

    def _breaches_of_settings(self) -> Iterator[Breach]:
        place = f"settings of {str(self._subject)!r}"
        stored = {name: value for name, value in self._stored_settings.items() if value is not None}
        if stored != self._told_settings:
            yield Breach(
                "journal-replays",
                place,
                f"according to the journal they are {self._told_settings}; stored are {stored}",
            )
        try:
            SCOPE_SETTINGS.read(RequestJson(stored))
        except CounterfoilError as error:
            yield Breach("settings-readable", place, f"they cannot be read: {error}")


def _shown(version: _Version | None) -> str:
    if version is None:
        return "nothing"
    schema_id, guid, deleted = version
    content = "no content" if guid is None else f"content {uuid_of(guid)}"
    return f"id {schema_id}, {content}, {'deleted' if deleted else 'active'}"


def check_bindings(rows: StoreRows) -> Iterator[Breach]:
    """Yield ids that had two contents at the same time, according to the journal."""
    for (context, schema_id), found in groupby(rows.each(_BINDINGS), key=_SCOPE):
        if _is_bound_twice(row[2:] for row in found):
            place = f"id {schema_id} in context {context}"
            yield Breach("id-bound-once", place, "it stood for two contents at the same time")


def _is_bound_twice(bindings: Iterable[tuple[int, Any, int | None]]) -> bool:
    """Return whether two bindings with different contents overlap; each is from one change to another."""
    live: list[tuple[int | None, Any]] = []
    for seq, guid, ended in bindings:
        live = [(end, held) for end, held in live if end is None or end > seq]
        if any(held != guid for _, held in live):
            return True
        live.append((ended, guid))
    return False


def check_records(rows: StoreRows) -> Iterator[Breach]:
    """Yield records whose revision is not the number of a change to them."""
    for kind, key, revision, document, change_kind, noted in rows.each(_RECORDS):
        parts = key.split("\x1f")[:-1]
        place = f"record {kind} {'/'.join(parts)}"
        named = _json(noted)
        is_named = isinstance(named, dict) and (named.get("kind"), named.get("key")) == (kind, parts)
        if change_kind != JournalChangeKind.RECORD.value or not is_named:
            yield Breach("record-revision", place, f"its revision {revision} is no change to it")
        if not isinstance(_json(document), dict):
            yield Breach("record-readable", place, "its document cannot be read")


def _json(text: str | None) -> Any:
    """Return the parsed document; for a text that is none the text itself, which differs from every document."""
    try:
        return None if text is None else json.loads(text)
    except ValueError:
        return text


# The invariants that one statement can check: each finds the rows that break it.


@dataclass(frozen=True, slots=True)
class Invariant:
    """``statement`` returns the rows that break it.

    ``describe`` makes place and message of the columns of such a row.
    """

    rule: str
    statement: str
    describe: Callable[..., tuple[str, str]]


def _subject(context: str | None, name: str | None) -> str:
    return f"subject {str(QualifiedSubject(context or '?', name or ''))!r}"


def _id(context: str | None, schema_id: int) -> str:
    return f"id {schema_id} in context {context}"


INVARIANTS: Final = (
    Invariant(
        "next-id",
        "SELECT c.name, max(i.id), c.next_schema_id FROM contexts c JOIN schema_ids i ON i.context_id = c.id"
        " GROUP BY c.name, c.next_schema_id HAVING max(i.id) >= c.next_schema_id",
        lambda context, highest, following: (
            f"context {context}",
            f"id {highest} is bound, and the next to be given out is {following}; expected a higher one",
        ),
    ),
    Invariant(
        "id-has-content",
        "SELECT c.name, i.id, i.guid FROM schema_ids i LEFT JOIN contexts c ON c.id = i.context_id"
        " LEFT JOIN contents t ON t.guid = i.guid WHERE t.guid IS NULL OR c.id IS NULL",
        lambda context, schema_id, guid: (
            _id(context, schema_id),
            f"its content is {uuid_of(guid)}, which does not exist",
        ),
    ),
    Invariant(
        "id-has-version",
        "SELECT c.name, i.id FROM schema_ids i JOIN contexts c ON c.id = i.context_id WHERE NOT EXISTS"
        " (SELECT 1 FROM versions v WHERE v.context_id = i.context_id AND v.schema_id = i.id)",
        lambda context, schema_id: (
            _id(context, schema_id),
            "no version holds it; expected it to go with its last version",
        ),
    ),
    Invariant(
        "content-has-id",
        "SELECT t.guid FROM contents t WHERE NOT EXISTS (SELECT 1 FROM schema_ids i WHERE i.guid = t.guid)",
        lambda guid: (f"content {uuid_of(guid)}", "no id stands for it; expected it to go with its last id"),
    ),
    Invariant(
        "one-primary-id",
        "SELECT c.name, i.guid, sum(CASE WHEN i.is_primary THEN 1 ELSE 0 END) FROM schema_ids i"
        " JOIN contexts c ON c.id = i.context_id GROUP BY c.name, i.guid"
        " HAVING sum(CASE WHEN i.is_primary THEN 1 ELSE 0 END) <> 1",
        lambda context, guid, count: (
            f"content {uuid_of(guid)} in context {context}",
            f"{count} of its ids are the one that registrations get; expected exactly one",
        ),
    ),
    Invariant(
        "version-has-id",
        "SELECT c.name, s.name, v.version, v.schema_id FROM versions v LEFT JOIN subjects s ON s.id = v.subject_id"
        " LEFT JOIN contexts c ON c.id = s.context_id LEFT JOIN schema_ids i"
        " ON i.context_id = v.context_id AND i.id = v.schema_id WHERE i.id IS NULL",
        lambda context, name, version, schema_id: (
            f"{_subject(context, name)} version {version}",
            f"it holds id {schema_id}, which stands for nothing",
        ),
    ),
    Invariant(
        "version-has-subject",
        "SELECT v.subject_id, v.version FROM versions v LEFT JOIN subjects s ON s.id = v.subject_id"
        " LEFT JOIN contexts c ON c.id = s.context_id WHERE s.id IS NULL OR c.id IS NULL"
        " OR s.context_id <> v.context_id OR v.version < 1",
        lambda row, version: (
            f"version {version} of subject row {row}",
            "its subject is not there or is in another context, or its number is below 1",
        ),
    ),
    Invariant(
        "active-versions",
        "SELECT c.name, s.name, s.active_versions, sum(CASE WHEN v.version IS NULL OR v.deleted THEN 0 ELSE 1 END)"
        " FROM subjects s JOIN contexts c ON c.id = s.context_id LEFT JOIN versions v ON v.subject_id = s.id"
        " GROUP BY c.name, s.name, s.active_versions"
        " HAVING s.active_versions <> sum(CASE WHEN v.version IS NULL OR v.deleted THEN 0 ELSE 1 END)",
        lambda context, name, counted, found: (
            _subject(context, name),
            f"it counts {counted} active versions and has {found}",
        ),
    ),
    Invariant(
        "subject-has-version",
        "SELECT c.name, s.name FROM subjects s JOIN contexts c ON c.id = s.context_id"
        " WHERE NOT EXISTS (SELECT 1 FROM versions v WHERE v.subject_id = s.id)",
        lambda context, name: (_subject(context, name), "it has no version; expected it to go with its last one"),
    ),
    Invariant(
        "context-is-listed",
        "SELECT c.name FROM contexts c WHERE NOT c.listed"
        " AND EXISTS (SELECT 1 FROM subjects s WHERE s.context_id = c.id)",
        lambda context: (f"context {context}", "it is marked as deleted and has subjects"),
    ),
    Invariant(
        "reference-intact",
        "SELECT c.name, r.schema_id, t.name, r.target_subject, r.target_version FROM schema_refs r"
        " LEFT JOIN contexts c ON c.id = r.context_id LEFT JOIN contexts t ON t.id = r.target_context_id"
        " WHERE NOT EXISTS (SELECT 1 FROM subjects s JOIN versions v ON v.subject_id = s.id"
        " WHERE s.context_id = r.target_context_id AND s.name = r.target_subject AND v.version = r.target_version)",
        lambda context, schema_id, target_context, target, version: (
            _id(context, schema_id),
            f"it refers to {_subject(target_context, target)} version {version}, which does not exist",
        ),
    ),
    Invariant(
        "reference-of-id",
        "SELECT r.context_id, r.schema_id FROM schema_refs r WHERE NOT EXISTS"
        " (SELECT 1 FROM schema_ids i WHERE i.context_id = r.context_id AND i.id = r.schema_id)",
        lambda row, schema_id: (
            f"id {schema_id} in context row {row}",
            "its references are stored, and it stands for nothing",
        ),
    ),
    Invariant(
        "audit-in-order",
        "SELECT a.number, a.change, a.least FROM (SELECT number, change, max(change) OVER (ORDER BY number) AS least"
        " FROM audit) a, stamps s WHERE a.change < a.least OR a.change > s.change",
        lambda number, change, least: (
            f"event {number} of the audit",
            f"it is after change {change}; expected one from {least} to the last",
        ),
    ),
    Invariant(
        "stamps",
        "SELECT change, settings, last, put FROM stamps, (SELECT coalesce(max(seq), 0) AS last FROM changes) l,"
        " (SELECT coalesce(max(seq), 0) AS put FROM changes WHERE kind = 'settings-changed') p"
        " WHERE change <> last OR settings > last OR settings < put",
        lambda change, settings, last, put: (
            "stamps",
            (
                f"they say that change {change} is the last, and {settings} the last one to settings; "
                f"the journal says {last} and {put}"
            ),
        ),
    ),
    Invariant(
        "one-row-of-stamps",
        "SELECT count(*) FROM stamps HAVING count(*) <> 1",
        lambda count: ("stamps", f"{count} rows; expected exactly one"),
    ),
)


def check_tables(rows: StoreRows) -> Iterator[Breach]:
    """Yield the breaches of the invariants that one statement can check."""
    for invariant in INVARIANTS:
        for row in rows.each(invariant.statement):
            yield Breach(invariant.rule, *invariant.describe(*row))


# ``counterfoil db check``: every invariant of a stored registry.

_SOUND: Final = "ok"


def check(rows: StoreRows) -> Iterator[Breach]:
    """Yield each breach when it is found; a few thousand rows are in memory at a time."""
    if rows.dialect == "sqlite":
        yield from _check_file(rows)
    for part in (check_tables, check_contents, check_references, check_order, check_chain, check_replay):
        yield from part(rows)
    yield from check_bindings(rows)
    yield from check_records(rows)


def _check_file(rows: StoreRows) -> Iterator[Breach]:
    for (said,) in rows.each("PRAGMA quick_check"):
        if said != _SOUND:
            yield Breach("file-sound", "file", str(said))


# ``counterfoil db stats``: the counts and sizes of a store.

_COUNTS: Final = {
    "contexts": "SELECT count(*) FROM contexts WHERE listed",
    "subjects_active": "SELECT count(*) FROM subjects WHERE active_versions > 0",
    "subjects_deleted": "SELECT count(*) FROM subjects WHERE active_versions = 0",
    "versions_active": "SELECT count(*) FROM versions WHERE NOT deleted",
    "versions_deleted": "SELECT count(*) FROM versions WHERE deleted",
    "ids": "SELECT count(*) FROM schema_ids",
    "contents": "SELECT count(*) FROM contents",
    "references": "SELECT count(*) FROM schema_refs",
    "scopes_with_settings": "SELECT count(*) FROM settings",
    "records": "SELECT count(*) FROM records",
    "changes": "SELECT count(*) FROM changes",
}
_SIZES: Final = {
    "sqlite": {
        "schema_text_bytes": "SELECT coalesce(sum(length(CAST(schema_text AS BLOB))), 0) FROM contents",
        "database_bytes": "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size",
    },
    "postgresql": {
        "schema_text_bytes": "SELECT coalesce(sum(length(schema_text)), 0)::bigint FROM contents",
        "database_bytes": (
            "SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class"
            " WHERE relnamespace = 'counterfoil'::regnamespace AND relkind = 'r'"
        ),
    },
}


def measure(rows: StoreRows) -> dict[str, int]:
    """Return counts and sizes by name; sizes are in bytes, that of the database includes its indexes."""
    statements = {**_COUNTS, **_SIZES[rows.dialect]}
    return {"format": FORMAT, **{name: int(rows.one(statement)) for name, statement in statements.items()}}


# The output of ``counterfoil db check`` and ``counterfoil db stats``.

if TYPE_CHECKING:
    Write = Callable[[str], None]


def write_stats(url: str, write: Write, *, as_json: bool) -> None:
    """Write the counts and sizes of the store at ``url``; raise ``StoreNotUsable`` if it cannot be read."""
    with open_rows(url) as rows:
        figures = measure(rows)
    if as_json:
        write(json.dumps({"store": _shown_text(url), **figures}, indent=2))
        return
    width = max(map(len, figures))
    for name, figure in figures.items():
        write(f"{name.replace('_', ' '):<{width}}  {figure:>15,}")


def write_check(url: str, write: Write, *, as_json: bool) -> bool:
    """Write every breach of the store at ``url`` when it is found, and their number; return whether there is none.

    Raises ``StoreNotUsable`` if it cannot be read.
    """
    with open_rows(url) as rows:
        figures = measure(rows)
        count = _write_breaches(check(rows), write, as_json=as_json)
    subjects = figures["subjects_active"] + figures["subjects_deleted"]
    versions = figures["versions_active"] + figures["versions_deleted"]
    if as_json:
        checked = {"subjects": subjects, "versions": versions, "changes": figures["changes"]}
        write(f'], "count": {count}, "checked": {json.dumps(checked)}, "store": {json.dumps(_shown_text(url))}}}')
    else:
        said = counted(count, "breach", "breaches", spec=",") if count else "sound"
        numbers = {"subject": subjects, "version": versions, "change": figures["changes"]}
        seen = ", ".join(counted(number, noun, spec=",") for noun, number in numbers.items())
        write(f"{_shown_text(url)}: {said}; {seen} checked")
    return not count


def _write_breaches(breaches: Iterator[Breach], write: Write, *, as_json: bool) -> int:
    count = 0
    if as_json:
        write('{"breaches": [')
    for count, breach in enumerate(breaches, 1):
        if as_json:
            document = {"rule": breach.rule, "place": breach.place, "message": breach.message}
            write(("," if count > 1 else "") + json.dumps(document))
        else:
            write(f"{breach.place}: {breach.message} [{breach.rule}]")
    return count


def _shown_text(url: str) -> str:
    """Return the URL without a password."""
    if sqlite_path(url) is not None:
        return url
    from counterfoil.registry.store.postgres.connections import parse_address

    return parse_address(url).shown
