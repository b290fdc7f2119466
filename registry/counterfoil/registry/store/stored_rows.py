"""Converting rows of the tables to values, and documents to their stored texts.

The two databases represent fingerprints, booleans and texts differently; the arguments here are Python's.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from counterfoil.registry.domain.audit.events import Place, StoredEvent
from counterfoil.registry.domain.changes import Change, ChangeKind
from counterfoil.registry.domain.content import Content
from counterfoil.registry.domain.scope_settings import ScopeSettings
from counterfoil.registry.domain.versions import Use
from counterfoil.schema.contexts import QualifiedSubject
from counterfoil.schema.model import SchemaType
from counterfoil.schema.rest.config import read_config
from counterfoil.schema.rest.json_values import RequestJson
from counterfoil.schema.rest.modes import Mode
from counterfoil.schema.rest.schemas import METADATA, REFERENCE, RULE_SET

if TYPE_CHECKING:
    from uuid import UUID

    from counterfoil.registry.domain.audit.events import AuditEvent
    from counterfoil.schema.rest.object_forms import Document


def document_text(document: Document | None) -> str | None:
    """Return the stored text of a document; None for none."""
    return None if document is None else json.dumps(document)


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
) -> Change:
    """Return the change in a row of ``changes``, whose fingerprint is ``guid``."""
    seq, ts, kind, context, name, version, schema_id, _, document, author, request_id = row
    read = None if document is None else json.loads(document)
    subject = QualifiedSubject(context, name)
    return Change(seq, ts, ChangeKind(kind), subject, version, schema_id, guid, read, author, request_id)


def event_row(event: AuditEvent) -> tuple[int, str, str]:
    """Return time, name and facts of an event as they are stored."""
    return int(event.at.timestamp() * 1000), event.kind.text, json.dumps(event.facts, sort_keys=True)


def event_of(row: tuple[int, int, int, str, str]) -> StoredEvent:
    """Return the event in a row of ``audit``."""
    change, number, ts, event, document = row
    return StoredEvent(Place(change, number), ts, event, json.loads(document))


def use_of(row: tuple[str, str, int, int, bool, int]) -> Use:
    """Return the version with an id in a row: context, name, version, id, whether it is deleted, time."""
    context, name, version, schema_id, deleted, ts = row
    return Use(QualifiedSubject(context, name), version, schema_id, bool(deleted), ts)


def settings_of(config: str | None, mode: str | None) -> ScopeSettings:
    """Return the settings in a row of ``settings``."""
    return ScopeSettings(
        None if config is None else read_config(RequestJson(json.loads(config))), None if mode is None else Mode(mode)
    )
