"""The event that a change of the journal is."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from counterfoil.registry.domain.access.records import ACCESS_KINDS
from counterfoil.registry.domain.associations import BY_ID, BY_NAME, BY_SUBJECT
from counterfoil.registry.domain.audit.events import AuditEvent, EventKind
from counterfoil.registry.domain.bridges.stored import BRIDGE_KIND, BY_SOURCE_KIND, REPORT_RECORD_KINDS
from counterfoil.registry.domain.changes import ChangeKind
from counterfoil.registry.domain.contracts import stored as contracts
from counterfoil.registry.domain.contracts.hooks import DELIVERY_KINDS, WEBHOOKS
from counterfoil.registry.domain.keys.stored import DEK_KIND, KEK_KIND
from counterfoil.schema.contexts import TOP_LEVEL

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterfoil.registry.domain.changes import Change

_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})
_OF_RECORDS: Final = ("context", "subject", "before", "after")
"""The members that changes of records have for their events."""
_KINDS_OF_CHANGES: Final[Mapping[ChangeKind, EventKind]] = {
    ChangeKind.REGISTERED: EventKind.SCHEMA_REGISTER,
    ChangeKind.DELETED: EventKind.SCHEMA_DELETE,
    ChangeKind.REMOVED: EventKind.SCHEMA_PURGE,
    ChangeKind.SETTINGS: EventKind.SETTINGS_CHANGE,
    ChangeKind.CONTEXT_DELETED: EventKind.CONTEXT_DELETE,
}
_CONTRACT_KINDS: Final = (
    contracts.APPLICATIONS,
    contracts.VERSIONS,
    contracts.CONTRACTS,
    contracts.ENVIRONMENTS,
    contracts.DEPLOYMENTS,
    contracts.APPROVALS,
    contracts.VERIFICATIONS,
    contracts.MIGRATIONS,
    WEBHOOKS,
)
_INDEXES: Final = contracts.INDEX_KINDS | DELIVERY_KINDS | {BY_SOURCE_KIND, BY_NAME, BY_SUBJECT}
_KINDS_OF_RECORDS: Final[Mapping[str, EventKind | None]] = {
    KEK_KIND: EventKind.KEK_CHANGE,
    DEK_KIND: EventKind.DEK_CHANGE,
    BY_ID: EventKind.ASSOCIATION_CHANGE,
    BRIDGE_KIND: EventKind.BRIDGE_CHANGE,
    **dict.fromkeys(REPORT_RECORD_KINDS, EventKind.BRIDGE_CHANGE),
    **dict.fromkeys([each.name for each in _CONTRACT_KINDS], EventKind.CONTRACT_CHANGE),
    **dict.fromkeys(ACCESS_KINDS),  # their events are stored beside them
    **dict.fromkeys(_INDEXES),  # written with what they lead to
}


def event_of_change(change: Change, common: Mapping[str, Any] = _NOTHING) -> AuditEvent | None:
    """Return the event that a change is, with the facts that are ``common`` to all events of its request.

    None for a record that is written with another, which has the event.
    """
    is_record = change.kind is ChangeKind.RECORD
    document = change.document or _NOTHING
    kind = _kind_of_record(document) if is_record else _KINDS_OF_CHANGES[change.kind]
    if kind is None:
        return None
    subject = change.subject
    resource = _resource_of_record(document) if is_record else str(subject)
    facts: dict[str, Any] = {**common, "resource": resource, "change": change.seq, "outcome": "success"}
    if is_record:
        facts |= {name: document[name] for name in _OF_RECORDS if name in document}
    elif not (subject.is_global or (kind is EventKind.SETTINGS_CHANGE and subject == TOP_LEVEL)):  # of the registry
        facts["context"] = subject.context
    if change.version is not None:
        facts["version"] = change.version
    if change.guid is not None:
        facts["after"] = str(change.guid)
    elif kind is EventKind.SETTINGS_CHANGE:
        facts["after"] = hashlib.sha256(json.dumps(change.document, sort_keys=True).encode()).hexdigest()
    return AuditEvent(kind, facts, datetime.fromtimestamp(change.ts / 1000, UTC))


def _kind_of_record(document: Mapping[str, Any]) -> EventKind | None:
    if "before" in document and document["before"] == document.get("after"):
        return None  # a key encryption key was written with another key that it wraps, to count it
    return _KINDS_OF_RECORDS.get(document.get("kind", ""), EventKind.RECORD_CHANGE)


def _resource_of_record(document: Mapping[str, Any]) -> str:
    return " ".join([str(document.get("kind", "")), *map(str, document.get("key", ()))])
