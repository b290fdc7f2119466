"""Records that hold values: their kinds, their keys, and the rows of the tables as values."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, Protocol, TypeVar
from uuid import UUID

from counterfoil.registry.audit.events import AuditEvent, EventPlace, StoredEvent, facts_about
from counterfoil.registry.store.changes import JournalChange, JournalChangeKind, ScopeSettings
from counterfoil.registry.store.writes import StoragePlan, record_write
from counterfoil.registry.subjects.versions import Content, SubjectSummary, VersionEntry, VersionUse
from counterfoil.schema.contexts import QualifiedSubject
from counterfoil.schema.model import SchemaType
from counterfoil.schema.rest.object_forms import Document, ObjectForm, ReplyJson, RequestJson
from counterfoil.schema.rest.schemas import METADATA, REFERENCE, RULE_SET
from counterfoil.schema.rest.subjects import Mode, read_config

# Kinds of records that hold values: what each is called, how its values are written, and the key of each.

_T = TypeVar("_T")

Key = tuple[str, ...]


class StoredRecord(Protocol):
    """The part of a stored record that a value is made of."""

    @property
    def document(self) -> Document:
        """Its content."""

    @property
    def revision(self) -> int:
        """The number of its last change."""


@dataclass(frozen=True, slots=True)
class StoredKind(Generic[_T]):
    """A kind of records that hold values: its name, the form of the values, and the key of each."""

    name: str
    form: ObjectForm[_T]
    key: Callable[[_T], Key]

    def read(self, document: Document) -> _T:
        """Return the value in a stored document."""
        return self.form.read(ReplyJson(document))

    def held(self, record: StoredRecord) -> tuple[_T, int]:
        """Return the value in a record, and the record's revision."""
        return self.read(record.document), record.revision

    def write(self, value: _T, *, revision: int, subjects: Iterable[QualifiedSubject] = ()) -> StoragePlan:
        """Return the plan that stores ``value`` instead of the record with ``revision``; 0 if there is none.

        ``subjects`` are those that it is about, for the audit.
        """
        about = facts_about(subjects)
        return record_write(self.name, self.key(value), self.form.write(value), revision=revision, for_audit=about)


# The keys of records as texts, with the order and the prefixes of their parts.

_PART_END: Final = "\x1f"
_AFTER_PART_END: Final = "\x20"
_ABOVE_ALL: Final = "\U0010ffff"


def key_text(parts: Sequence[str]) -> str:
    """Return a key, or the beginning of one, as a text."""
    return "".join(f"{part}{_PART_END}" for part in parts)


def key_of(text: str) -> tuple[str, ...]:
    """Return the parts of a key."""
    return tuple(text.split(_PART_END)[:-1])


def key_range(prefix: Sequence[str]) -> tuple[str, str]:
    """Return the range of the texts of keys that begin with these parts."""
    low = key_text(prefix)
    return low, low[:-1] + _AFTER_PART_END if low else _ABOVE_ALL


# Converting rows of the tables to values, and documents to their stored texts.
#
# The two databases represent fingerprints, booleans and texts differently; the arguments here are Python's.


def content_of(row: tuple[UUID, str, str, str | None, str | None, str | None]) -> Content:
    """Return the content in a row of ``contents``."""
    guid, schema_type, text, references, metadata, rule_set = row
    return Content(
        guid,
        SchemaType(schema_type),
        text,
        tuple(map(REFERENCE.read, RequestJson(json.loads(references or "[]"), "references").items())),
        None if metadata is None else METADATA.read(RequestJson(json.loads(metadata), "metadata")),
        None if rule_set is None else RULE_SET.read(RequestJson(json.loads(rule_set), "ruleSet")),
    )


def change_of(
    row: tuple[
        int, int, str, str, str, int | None, int | None, bytes | UUID | None, str | None, str | None, str | None
    ],
    guid: UUID | None,
) -> JournalChange:
    """Return the change in a row of ``changes``, whose fingerprint is ``guid``."""
    seq, ts, kind, context, name, version, schema_id, _, document, author, request_id = row
    read = None if document is None else json.loads(document)
    subject = QualifiedSubject(context, name)
    return JournalChange(seq, ts, JournalChangeKind(kind), subject, version, schema_id, guid, read, author, request_id)


def event_row(event: AuditEvent) -> tuple[int, str, str]:
    """Return time, name and facts of an event as they are stored."""
    return int(event.at.timestamp() * 1000), event.kind.text, json.dumps(event.facts, sort_keys=True)


def event_of(row: tuple[int, int, int, str, str]) -> StoredEvent:
    """Return the event in a row of ``audit``."""
    change, number, ts, event, document = row
    return StoredEvent(EventPlace(change, number), ts, event, json.loads(document))


def use_of(row: tuple[str, str, int, int, bool, int]) -> VersionUse:
    """Return the version with an id in a row: context, name, version, id, whether it is deleted, time."""
    context, name, version, schema_id, deleted, ts = row
    return VersionUse(QualifiedSubject(context, name), version, schema_id, bool(deleted), ts)


def summary_of(row: Sequence[Any], guid: UUID) -> SubjectSummary:
    """Return the subject in a row: context, name, number of versions, the latest one with its guid, schema type."""
    context, name, versions, version, schema_id, _, deleted, ts, schema_type = row
    latest = VersionEntry(version, schema_id, guid, deleted=bool(deleted), ts=ts)
    return SubjectSummary(QualifiedSubject(context, name), versions, latest, SchemaType(schema_type))


def settings_of(config: str | None, mode: str | None) -> ScopeSettings:
    """Return the settings in a row of ``settings``."""
    return ScopeSettings(
        None if config is None else read_config(RequestJson(json.loads(config))), None if mode is None else Mode(mode)
    )
