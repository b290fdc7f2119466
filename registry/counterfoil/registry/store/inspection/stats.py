"""``counterfoil db stats``: the counts and sizes of a store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.registry.store.formats import FORMAT

if TYPE_CHECKING:
    from counterfoil.registry.store.inspection.rows import Rows

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


def measure(rows: Rows) -> dict[str, int]:
    """Return counts and sizes by name; sizes are in bytes, that of the database includes its indexes."""
    statements = {**_COUNTS, **_SIZES[rows.dialect]}
    return {"format": FORMAT, **{name: int(rows.one(statement)) for name, statement in statements.items()}}
