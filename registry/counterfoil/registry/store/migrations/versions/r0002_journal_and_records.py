"""The journal and the records; the journal begins with what is stored.

Of what was stored before, the time of each registration is known, and that of deletions and settings is not: the
registrations are noted in the order of their times, then the deletions and the settings as of this upgrade.
"""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision: Final = "0002"
down_revision: Final = "0001"

_BIG: Final = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_NAME: Final = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_GUID: Final = sa.LargeBinary().with_variant(postgresql.UUID(), "postgresql")

_CLOCK_MS: Final = {
    "sqlite": "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)",
    "postgresql": "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint)",
}
_PARTS: Final = {
    "@last": "(SELECT coalesce(max(seq), 0) FROM changes)",
    "@now": "(SELECT CASE WHEN max(ts) > @clock THEN max(ts) ELSE @clock END FROM changes)",
    "@versions": """versions v JOIN subjects s ON s.id = v.subject_id JOIN contexts c ON c.id = s.context_id
JOIN schema_ids i ON i.context_id = v.context_id AND i.id = v.schema_id""",
}
_REGISTERED: Final = """
INSERT INTO changes (seq, ts, kind, context, name, version, schema_id, guid)
SELECT row_number() OVER (ORDER BY v.ts, c.name, v.schema_id, s.name, v.version),
  v.ts, 'version-registered', c.name, s.name, v.version, v.schema_id, i.guid FROM @versions"""
_DELETED: Final = """
INSERT INTO changes (seq, ts, kind, context, name, version, schema_id, guid)
SELECT @last + row_number() OVER (ORDER BY c.name, s.name, v.version),
  @now, 'version-deleted', c.name, s.name, v.version, v.schema_id, i.guid FROM @versions WHERE v.deleted"""
_SETTINGS: Final = """
INSERT INTO changes (seq, ts, kind, context, name, document)
SELECT @last + row_number() OVER (ORDER BY context, name), @now, 'settings-changed', context, name,
  '{' || coalesce('"config"\\: ' || config, '') || CASE WHEN config IS NULL OR mode IS NULL THEN '' ELSE ', ' END
  || coalesce('"mode"\\: "' || mode || '"', '') || '}' FROM settings"""
_REVISIONS: Final = """
UPDATE subjects SET revision = (
  SELECT max(h.seq) FROM changes h JOIN contexts c ON c.name = h.context
  WHERE c.id = subjects.context_id AND h.name = subjects.name AND h.version IS NOT NULL)"""
_STAMPS: Final = """
UPDATE stamps SET change = (SELECT coalesce(max(seq), 0) FROM changes),
  settings = (SELECT coalesce(max(seq), 0) FROM changes WHERE kind = 'settings-changed')"""


def upgrade() -> None:
    """Create the tables, and note what is stored."""
    dialect = op.get_context().dialect.name
    if dialect == "postgresql":
        op.execute("LOCK TABLE stamps IN ACCESS EXCLUSIVE MODE")
    _create_tables()
    if dialect == "sqlite":
        _unite_counters()
        _number_contents()
    for statement in (_REGISTERED, _DELETED, _SETTINGS, _REVISIONS, _STAMPS):
        op.execute(_filled(statement.strip(), {**_PARTS, "@clock": _CLOCK_MS[dialect]}))


def _filled(statement: str, parts: dict[str, str]) -> str:
    for name, part in parts.items():
        statement = statement.replace(name, part)
    return statement


def _create_tables() -> None:
    op.create_table(
        "changes",
        sa.Column("seq", _BIG, primary_key=True, autoincrement=False),
        sa.Column("ts", _BIG, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("context", _NAME, nullable=False),
        sa.Column("name", _NAME, nullable=False),
        sa.Column("version", _BIG),
        sa.Column("schema_id", _BIG),
        sa.Column("guid", _GUID),
        sa.Column("document", sa.Text()),
    )
    op.create_index("changes_scope", "changes", ["context", "name", "seq"])
    op.create_index("changes_ts", "changes", ["ts"])
    op.create_table(
        "records",
        sa.Column("kind", _NAME, primary_key=True),
        sa.Column("key", _NAME, primary_key=True),
        sa.Column("document", sa.Text(), nullable=False),
        sa.Column("ts", _BIG, nullable=False),
        sa.Column("revision", _BIG, nullable=False),
        sqlite_with_rowid=False,
    )


def _number_contents() -> None:
    """SQLite's contents get rows in the order in which they come: long texts spread over a tree are slow to write."""
    op.create_table(
        "contents_in_order",
        sa.Column("guid", _GUID, primary_key=True, nullable=False),
        sa.Column("schema_type", sa.Text(), nullable=False),
        sa.Column("schema_text", sa.Text(), nullable=False),
        sa.Column("refs", sa.Text()),
        sa.Column("metadata", sa.Text()),
        sa.Column("rule_set", sa.Text()),
    )
    op.execute("INSERT INTO contents_in_order SELECT * FROM contents")
    op.drop_table("contents")
    op.rename_table("contents_in_order", "contents")


def _unite_counters() -> None:
    """SQLite's counters become what they are in PostgreSQL."""
    op.create_table(
        "stamps",
        sa.Column(
            "only_one", sa.Integer(), sa.CheckConstraint("only_one"), primary_key=True, server_default=sa.text("1")
        ),
        sa.Column("change", sa.Integer(), nullable=False, server_default=sa.text("0")),
        sa.Column("settings", sa.Integer(), nullable=False, server_default=sa.text("0")),
        sqlite_with_rowid=False,
    )
    op.execute("INSERT INTO stamps DEFAULT VALUES")
    op.drop_table("counters")
