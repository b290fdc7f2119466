"""The change feed, page by page. :mod:`~counterfoil.registry.api.changes.event_stream` sends it as events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from counterfoil.registry.domain.changes import ChangeKind
from counterfoil.registry.service.as_of import EVER
from counterfoil.registry.service.feed import ChangeFilter, Page, read_page
from counterfoil.registry.service.moments import iso_time
from counterfoil.schema.contexts import parse_prefix
from counterfoil.schema.errors import BadRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from counterfoil.registry.api.call import Call
    from counterfoil.registry.domain.changes import Change
    from counterfoil.registry.service.storage import Storage
    from counterfoil.schema.rest.object_forms import Document

LATEST: Final = "latest"

_LIMIT: Final = 100
_MAX_LIMIT: Final = 1000
_MAX_DIGITS: Final = 18
_KINDS: Final = ", ".join(kind.value for kind in ChangeKind)


def change_document(change: Change) -> Document:
    """One change, as the feed tells it; what does not belong to its kind is left out."""
    document: Document = {
        "seq": change.seq,
        "ts": change.ts,
        "time": iso_time(change.ts),
        "kind": change.kind.value,
        "subject": str(change.subject),
        "context": change.subject.context,
        "version": change.version,
        "id": change.schema_id,
        "guid": None if change.guid is None else str(change.guid),
        "document": change.document,
    }
    return {key: value for key, value in document.items() if value is not None}


async def list_changes(call: Call) -> Any:
    """What has happened, in the order in which it did; with ``Accept: text/event-stream`` as it happens."""
    after, limit, wanted = await _position_of(call), _limit(call), wanted_changes(call.texts)
    return _document(await read_page(call.cases.storage, after, limit, wanted=wanted))


async def list_changes_of_subject(call: Call) -> Any:
    """The changes of one subject, or of one context's own settings."""
    after, limit, wanted = await _position_of(call), _limit(call), wanted_changes(call.texts)
    changes = await call.cases.storage.changes_of(call.scope_subject(), EVER)
    found = [change for change in changes if change.seq > after and wanted.wants(change)]
    page = tuple(found[:limit])
    return _document(Page(page, page[-1].seq if page else after, has_more=len(found) > limit))


def _document(page: Page) -> dict[str, Any]:
    return {"changes": [change_document(each) for each in page.changes], "next": page.next, "more": page.has_more}


# --- parameters


async def _position_of(call: Call) -> int:
    return await position(call.cases.storage, call.text("after"))


async def position(storage: Storage, text: str) -> int:
    """The number to go on after; ``BadRequest`` for one that has not been given out: what knows it knows another past.

    A feed that waited for what comes after it would leave out all that happens until then.
    """
    if text == LATEST:
        return await storage.last_change()
    seq = _number(text or "0", "after")
    if seq:
        last = await storage.last_change()
        if seq > last:
            raise BadRequest(f"after is {seq}, but the last change here is {last}; expected a number up to that")
    return seq


def _number(text: str, name: str) -> int:
    if text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS:
        return int(text)
    raise BadRequest(f"{name} is {text[:80]!r}; expected the number of a change, or {LATEST}")


def _limit(call: Call) -> int:
    text = call.text("limit") or str(_LIMIT)
    limit = int(text) if text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS else 0
    if not 1 <= limit <= _MAX_LIMIT:
        raise BadRequest(f"limit is {text[:80]!r}; expected a number from 1 to {_MAX_LIMIT}")
    return limit


def wanted_changes(texts: Callable[[str], Sequence[str]]) -> ChangeFilter:
    """What the query asks for, of whose parameters ``texts`` gives the values; ``BadRequest`` for an unknown kind."""
    prefixes = texts("subjectPrefix")
    prefix = parse_prefix(prefixes[0]) if prefixes else None
    words = [word for text in texts("kind") for word in text.split(",") if word]
    return ChangeFilter(frozenset(map(_kind, words)) or frozenset(ChangeKind), prefix)


def _kind(word: str) -> ChangeKind:
    try:
        return ChangeKind(word)
    except ValueError:
        raise BadRequest(f"kind is {word[:80]!r}; expected one of {_KINDS}") from None
