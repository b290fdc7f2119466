"""The invariants that one statement can check: each finds the rows that break it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from counterfoil.registry.store.inspection.breach import Breach
from counterfoil.registry.store.inspection.rows import uuid_of
from counterfoil.schema.contexts import QualifiedSubject

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from counterfoil.registry.store.inspection.rows import Rows


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


def check_tables(rows: Rows) -> Iterator[Breach]:
    """Yield the breaches of the invariants that one statement can check."""
    for invariant in INVARIANTS:
        for row in rows.each(invariant.statement):
            yield Breach(invariant.rule, *invariant.describe(*row))
