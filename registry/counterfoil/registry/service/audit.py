"""Reading the audit: the changes of the journal and the events beside them, as one list."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from counterfoil.registry.domain.audit.changed import event_of_change
from counterfoil.registry.domain.audit.events import Place, time_text, time_text_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from counterfoil.registry.domain.audit.events import StoredEvent
    from counterfoil.registry.domain.audit.selection import Selection
    from counterfoil.registry.domain.changes import Change
    from counterfoil.registry.service.storage import Storage

_SCANNED_A_PAGE: Final = 10_000
_READ_AT_ONCE: Final = 500


class EventPage(NamedTuple):
    """Some events in order; ``next`` is the place to continue after, ``has_more`` whether there are more."""

    events: list[dict[str, Any]]
    next: Place
    has_more: bool


async def first_place(storage: Storage, since: datetime) -> Place:
    """Return a place after which all events since a time are."""
    before = since - timedelta(milliseconds=1)
    return Place(await storage.last_change(int(before.timestamp() * 1000)))


async def read_events(storage: Storage, after: Place, limit: int, *, wanted: Selection) -> EventPage:
    """Return the next events after ``after``, ``limit`` at most.

    If few events are wanted, a page has fewer, so that one request does not read a whole journal.
    """
    found: list[dict[str, Any]] = []
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


def _merged(changes: Sequence[Change], stored: Sequence[StoredEvent]) -> Iterator[tuple[Place, dict[str, Any] | None]]:
    """Yield changes and events in order, as far as both have been read; a change that is no event is None."""
    last = stored[-1].place if len(stored) == _READ_AT_ONCE else Place(changes[-1].seq + 1 if changes else 0)
    places = {Place(each.seq): _facts_of_change(each) for each in changes if Place(each.seq) <= last}
    places.update({event.place: _facts_of_event(event) for event in stored})
    for place in sorted(places):
        yield place, places[place]


def _facts_of_change(change: Change) -> dict[str, Any] | None:
    event = event_of_change(change)
    if event is None:
        return None
    caller = {} if change.author is None else {"caller": {"principal": change.author}}
    request = {} if change.request_id is None else {"request_id": change.request_id}
    return {"time": time_text(event.at), "event": event.kind.text, **caller, **request, **event.facts}


def _facts_of_event(event: StoredEvent) -> dict[str, Any]:
    return {"time": time_text_of(event.ts), "event": event.event, **event.facts}
