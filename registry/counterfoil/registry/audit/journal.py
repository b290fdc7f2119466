"""The event that a change of the journal is; changes of the journal and the events beside them as one list."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from counterfoil.registry.access.records import ACCESS_KINDS
from counterfoil.registry.associations.records import BY_ID, BY_NAME, BY_SUBJECT
from counterfoil.registry.audit.events import (
    AuditEvent,
    EventKind,
    EventPlace,
    EventSelection,
    StoredEvent,
    time_text,
    time_text_of,
)
from counterfoil.registry.bridges.records import BRIDGE_KIND, BY_SOURCE_KIND, REPORT_RECORD_KINDS
from counterfoil.registry.contracts import records as contracts
from counterfoil.registry.contracts.events import DELIVERY_KINDS, WEBHOOKS
from counterfoil.registry.keys.records import DEK_KIND, KEK_KIND
from counterfoil.registry.store.changes import JournalChange, JournalChangeKind
from counterfoil.registry.store.protocol import Storage
from counterfoil.schema.contexts import TOP_LEVEL
from counterfoil.schema.rest.object_forms import Document

# The event that a change of the journal is.

_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})
_OF_RECORDS: Final = ("context", "subject", "before", "after")
"""The members that changes of records have for their events."""
_KINDS_OF_CHANGES: Final[Mapping[JournalChangeKind, EventKind]] = {
    JournalChangeKind.REGISTERED: EventKind.SCHEMA_REGISTER,
    JournalChangeKind.DELETED: EventKind.SCHEMA_DELETE,
    JournalChangeKind.REMOVED: EventKind.SCHEMA_PURGE,
    JournalChangeKind.SETTINGS: EventKind.SETTINGS_CHANGE,
    JournalChangeKind.CONTEXT_DELETED: EventKind.CONTEXT_DELETE,
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


def event_of_change(change: JournalChange, common: Mapping[str, Any] = _NOTHING) -> AuditEvent | None:
    """Return the event that a change is, with the facts that are ``common`` to all events of its request.

    None for a record that is written with another, which has the event.
    """
    is_record = change.kind is JournalChangeKind.RECORD
    document = change.document or _NOTHING
    kind = _kind_of_record(document) if is_record else _KINDS_OF_CHANGES[change.kind]
    if kind is None:
        return None
    subject = change.subject
    resource = _resource_of_record(document) if is_record else str(subject)
    facts: Document = {**common, "resource": resource, "change": change.seq, "outcome": "success"}
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


# Reading the audit: the changes of the journal and the events beside them, as one list.

_SCANNED_A_PAGE: Final = 10_000
_READ_AT_ONCE: Final = 500


class EventPage(NamedTuple):
    """Some events in order; ``next`` is the place to continue after, ``has_more`` whether there are more."""

    events: list[Document]
    next: EventPlace
    has_more: bool


async def first_place(storage: Storage, since: datetime) -> EventPlace:
    """Return a place after which all events since a time are."""
    before = since - timedelta(milliseconds=1)
    return EventPlace(await storage.last_change(int(before.timestamp() * 1000)))


async def read_events(storage: Storage, after: EventPlace, limit: int, *, wanted: EventSelection) -> EventPage:
    """Return the next events after ``after``, ``limit`` at most.

    If few events are wanted, a page has fewer, so that one request does not read a whole journal.
    """
    found: list[Document] = []
    scanned = 0
    while scanned < _SCANNED_A_PAGE:
        changes = await storage.changes(after.change, _READ_AT_ONCE)
        last = changes[-1].seq if changes else after.change
        stored = await storage.audit_events(after, last, _READ_AT_ONCE)
        for place, facts in _merged(changes, stored):
            after = place
            if facts is not None and wanted.selects(facts):
                found.append({**facts, "seq": str(place)})
                if len(found) == limit:
                    return EventPage(found, after, has_more=True)
        if max(len(changes), len(stored)) < _READ_AT_ONCE:
            return EventPage(found, after, has_more=False)
        scanned += len(changes) + len(stored)
        await asyncio.sleep(0)
    return EventPage(found, after, has_more=True)


def _merged(
    changes: Sequence[JournalChange], stored: Sequence[StoredEvent]
) -> Iterator[tuple[EventPlace, Document | None]]:
    """Yield changes and events in order, as far as both have been read; a change that is no event is None."""
    last = stored[-1].place if len(stored) == _READ_AT_ONCE else EventPlace(changes[-1].seq + 1 if changes else 0)
    places = {EventPlace(each.seq): _facts_of_change(each) for each in changes if EventPlace(each.seq) <= last}
    places.update({event.place: _facts_of_event(event) for event in stored})
    for place in sorted(places):
        yield place, places[place]


def _facts_of_change(change: JournalChange) -> Document | None:
    event = event_of_change(change)
    if event is None:
        return None
    caller = {} if change.author is None else {"caller": {"principal": change.author}}
    request = {} if change.request_id is None else {"request_id": change.request_id}
    return {"time": time_text(event.at), "event": event.kind.text, **caller, **request, **event.facts}


def _facts_of_event(event: StoredEvent) -> Document:
    return {"time": time_text_of(event.ts), "event": event.event, **event.facts}
