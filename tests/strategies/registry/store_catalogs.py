"""A database's description of its own tables: columns, keys and indexes, in a form for comparison."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from local_services import PostgresClient

Catalog = dict[str, Any]


def sqlite_catalog(path: Path) -> Catalog:
    """Return the description of the tables in a file."""
    with closing(sqlite3.connect(path)) as connection:

        def rows(statement: str) -> list[Any]:
            return connection.execute(statement).fetchall()

        return {
            name: {
                "without rowid": bool(without_rowid),
                "columns": [
                    (column, kind, bool(not_null or key), default, key)
                    for _, column, kind, not_null, default, key, _ in rows(f"PRAGMA table_xinfo({name})")
                ],
                "checks": sorted(checks_in(sql)),
                "references": sorted(
                    (to, position, here, there, on_delete)
                    for _, position, to, here, there, _, on_delete, _ in rows(f"PRAGMA foreign_key_list({name})")
                ),
                "indexes": sorted(
                    (
                        [column for _, _, column in rows(f"PRAGMA index_info({index})")],
                        bool(unique),
                        origin,
                        index if origin == "c" else "",
                        where_of(rows(f"SELECT sql FROM sqlite_master WHERE name = '{index}'")),
                    )
                    for _, index, unique, origin, _ in rows(f"PRAGMA index_list({name})")
                ),
            }
            for _, name, _, _, without_rowid, _, sql in rows(
                "SELECT l.*, m.sql FROM pragma_table_list l JOIN sqlite_master m ON m.name = l.name"
                " WHERE l.type = 'table' AND l.name NOT LIKE 'sqlite_%' ORDER BY l.name"
            )
        }


def checks_in(sql: str) -> list[str]:
    """Return the conditions in a CREATE TABLE."""
    return re.findall(r"CHECK \((.*?)\)", sql)


def where_of(rows: list[Any]) -> str:
    """Return the condition of a partial index."""
    sql = rows[0][0] if rows else None
    return (sql or "").partition(" WHERE ")[2]


_POSTGRES = {
    "columns": """
        SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity::text,
          l.collname, pg_get_expr(d.adbin, d.adrelid), c.reloptions
        FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid LEFT JOIN pg_collation l ON l.oid = a.attcollation
        LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
        WHERE c.relnamespace = 'counterfoil'::regnamespace AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped
        ORDER BY c.relname, a.attnum""",
    "constraints": """
        SELECT c.relname, k.conname, pg_get_constraintdef(k.oid)
        FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
        WHERE k.connamespace = 'counterfoil'::regnamespace ORDER BY 1, 2, 3""",
    "indexes": "SELECT tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = 'counterfoil' ORDER BY 1, 2",
}


def postgres_catalog(server: PostgresClient, url: str) -> Catalog:
    """Return the description of the tables of a store, except the mark of the format."""
    return {
        part: [
            tuple(re.sub(r"\bcounterfoil\.", "", str(value)) for value in row)
            for row in server.run(statement, database=url.rpartition("/")[2])
            if row[0] != "store_format"
        ]
        for part, statement in _POSTGRES.items()
    }
