"""The invariants of the journal: it has no gap, and its changes lead to the stored data."""

from __future__ import annotations

import json
from heapq import merge
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from counterfoil.registry.domain.changes import ChangeKind
from counterfoil.registry.domain.scope_settings import SCOPE_SETTINGS
from counterfoil.registry.store.inspection.breach import Breach
from counterfoil.registry.store.inspection.rows import uuid_of
from counterfoil.schema.contexts import QualifiedSubject
from counterfoil.schema.errors import CounterfoilError
from counterfoil.schema.rest.json_values import RequestJson

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from counterfoil.registry.store.inspection.rows import Rows

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

_KINDS: Final = frozenset(kind.value for kind in ChangeKind)
_OF_VERSIONS: Final = frozenset({ChangeKind.REGISTERED.value, ChangeKind.DELETED.value, ChangeKind.REMOVED.value})
_WITH_DOCUMENT: Final = frozenset({ChangeKind.SETTINGS.value, ChangeKind.RECORD.value})
_SCOPE: Final = itemgetter(0, 1)

_Version = tuple[int, Any, bool]
"""A version as it is stored or as it follows from the journal: its id, its fingerprint, whether it is deleted."""


def check_order(rows: Rows) -> Iterator[Breach]:
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


def check_replay(rows: Rows) -> Iterator[Breach]:
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
        self._stored_settings: dict[str, Any] = {}
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
        if kind == ChangeKind.SETTINGS.value:
            self._told_settings = _json(document)
        elif kind == ChangeKind.REMOVED.value:
            self._told.pop(version, None)
        elif kind in _OF_VERSIONS:
            self._told[version] = (schema_id, guid, kind == ChangeKind.DELETED.value)
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


def check_bindings(rows: Rows) -> Iterator[Breach]:
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


def check_records(rows: Rows) -> Iterator[Breach]:
    """Yield records whose revision is not the number of a change to them."""
    for kind, key, revision, document, change_kind, noted in rows.each(_RECORDS):
        parts = key.split("\x1f")[:-1]
        place = f"record {kind} {'/'.join(parts)}"
        named = _json(noted)
        is_named = isinstance(named, dict) and (named.get("kind"), named.get("key")) == (kind, parts)
        if change_kind != ChangeKind.RECORD.value or not is_named:
            yield Breach("record-revision", place, f"its revision {revision} is no change to it")
        if not isinstance(_json(document), dict):
            yield Breach("record-readable", place, "its document cannot be read")


def _json(text: str | None) -> Any:
    """Return the parsed document; for a text that is none the text itself, which differs from every document."""
    try:
        return None if text is None else json.loads(text)
    except ValueError:
        return text
