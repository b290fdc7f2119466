"""Rows to write into a SQLite file: collected plan by plan, and written many at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

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


class Rows:
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
