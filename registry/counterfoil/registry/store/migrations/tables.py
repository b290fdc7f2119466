"""The tables of a store, described once for both databases.

What a new store is made from (``schema.sql``, ``postgres/tables.sql``) and what the migrations make of an old one are
held against this by a test. Beside these tables a store has the mark of its format: SQLite's ``user_version``, and the
table ``store_format`` in PostgreSQL.
"""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ColumnElement,
    ForeignKey,
    ForeignKeyConstraint,
    Identity,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    false,
    text,
    true,
)
from sqlalchemy.dialects import postgresql

BIG: Final = BigInteger().with_variant(Integer(), "sqlite")
FLAG: Final = Integer().with_variant(Boolean(), "postgresql")
NAME: Final = Text().with_variant(Text(collation="C"), "postgresql")
"""Compared byte by byte, so that order and prefixes are those of code points."""
GUID: Final = LargeBinary().with_variant(postgresql.UUID(), "postgresql")
BYTES: Final = Text().with_variant(LargeBinary(), "postgresql")
"""UTF-8; a text column of PostgreSQL cannot hold U+0000."""

metadata: Final = MetaData()


def _table(name: str, *parts: Any, has_rowid: bool = False, fillfactor: int | None = None) -> Table:
    """A table; in SQLite its rows lie in its primary key, unless ``has_rowid``."""
    options: dict[str, Any] = {"sqlite_with_rowid": has_rowid}
    if fillfactor is not None:
        options["postgresql_with"] = {"fillfactor": fillfactor}
    table: Table = Table(name, metadata, *parts, **options)
    return table


def _flag(name: str, default: ColumnElement[bool]) -> Column[Any]:
    """A column that says yes or no: 1 and 0 in SQLite."""
    return Column(name, FLAG, nullable=False, server_default=default)


def _number(name: str, default: str | None = None) -> Column[Any]:
    return Column(name, BIG, nullable=False, server_default=None if default is None else text(default))


_table(
    "contexts",
    Column("id", Integer, Identity(always=True), primary_key=True),
    Column("name", NAME, nullable=False),
    _number("next_schema_id", "1"),
    _flag("listed", true()),
    UniqueConstraint("name"),
    has_rowid=True,
    fillfactor=50,
)

_table(
    "contents",
    Column("guid", GUID, primary_key=True),
    Column("schema_type", Text, nullable=False),
    Column("schema_text", BYTES, nullable=False),
    Column("refs", Text),
    Column("metadata", Text),
    Column("rule_set", Text),
    has_rowid=True,
)

_schema_ids = _table(
    "schema_ids",
    Column("context_id", Integer, ForeignKey("contexts.id"), primary_key=True, autoincrement=False),
    Column("id", BIG, CheckConstraint("id >= 0"), primary_key=True, autoincrement=False),
    Column("guid", GUID, ForeignKey("contents.guid"), nullable=False),
    _flag("is_primary", true()),
)
Index(
    "schema_ids_content",
    _schema_ids.c.context_id,
    _schema_ids.c.guid,
    unique=True,
    sqlite_where=text("is_primary = 1"),
    postgresql_where=text("is_primary"),
)
Index("schema_ids_guid", _schema_ids.c.guid)

_table(
    "subjects",
    Column("id", BIG, Identity(always=True), primary_key=True),
    Column("context_id", Integer, ForeignKey("contexts.id"), nullable=False),
    Column("name", NAME, nullable=False),
    Column("active_versions", Integer, nullable=False, server_default=text("0")),
    _number("revision", "0"),
    UniqueConstraint("context_id", "name"),
    has_rowid=True,
    fillfactor=80,
)

_versions = _table(
    "versions",
    Column("subject_id", BIG, ForeignKey("subjects.id"), primary_key=True, autoincrement=False),
    Column("version", BIG, CheckConstraint("version > 0"), primary_key=True, autoincrement=False),
    Column("context_id", Integer, nullable=False),
    _number("schema_id"),
    _flag("deleted", false()),
    _number("ts"),
    ForeignKeyConstraint(["context_id", "schema_id"], ["schema_ids.context_id", "schema_ids.id"]),
)
Index("versions_schema", _versions.c.context_id, _versions.c.schema_id)

_schema_refs = _table(
    "schema_refs",
    Column("context_id", Integer, primary_key=True, autoincrement=False),
    Column("schema_id", BIG, primary_key=True, autoincrement=False),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("target_context_id", Integer, ForeignKey("contexts.id"), nullable=False),
    Column("target_subject", NAME, nullable=False),
    _number("target_version"),
    ForeignKeyConstraint(["context_id", "schema_id"], ["schema_ids.context_id", "schema_ids.id"], ondelete="CASCADE"),
)
Index(
    "schema_refs_target",
    _schema_refs.c.target_context_id,
    _schema_refs.c.target_subject,
    _schema_refs.c.target_version,
)

_table(
    "settings",
    Column("context", NAME, primary_key=True),
    Column("name", NAME, primary_key=True),
    Column("config", Text),
    Column("mode", Text),
)

_changes = _table(
    "changes",
    Column("seq", BIG, primary_key=True, autoincrement=False),
    _number("ts"),
    Column("kind", Text, nullable=False),
    Column("context", NAME, nullable=False),
    Column("name", NAME, nullable=False),
    Column("version", BIG),
    Column("schema_id", BIG),
    Column("guid", GUID),
    Column("document", Text),
    has_rowid=True,
)
Index("changes_scope", _changes.c.context, _changes.c.name, _changes.c.seq)
Index("changes_ts", _changes.c.ts)

_table(
    "records",
    Column("kind", NAME, primary_key=True),
    Column("key", NAME, primary_key=True),
    Column("document", Text, nullable=False),
    _number("ts"),
    _number("revision"),
)

_table(
    "stamps",
    Column("only_one", FLAG, CheckConstraint("only_one"), primary_key=True, server_default=true()),
    _number("change", "0"),
    _number("settings", "0"),
    fillfactor=20,
)
