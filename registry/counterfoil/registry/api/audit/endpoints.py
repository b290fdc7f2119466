"""The endpoint of the audit."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from fastapi import Depends, Query
from pydantic import BeforeValidator
from pydantic.json_schema import SkipJsonSchema

from counterfoil.registry.api.audit.models import EventsBody
from counterfoil.registry.api.changes.parameters import DEFAULT_LIMIT, Limit
from counterfoil.registry.api.http.validation import expected
from counterfoil.registry.api.routes.services import CallOfRequest, CasesOfRequest
from counterfoil.registry.domain.access.operations import Operation
from counterfoil.registry.domain.access.resources import REGISTRY, Kind, Resource
from counterfoil.registry.domain.audit.events import EventKind, Place, time_text
from counterfoil.registry.domain.audit.selection import Selection
from counterfoil.registry.service.audit import first_place, read_events
from counterfoil.schema.errors import BadRequest

if TYPE_CHECKING:
    from collections.abc import Callable

_TEXTS: Final = frozenset(kind.text for kind in EventKind)
_MAX_DIGITS: Final = 18


def _place(text: object) -> Place:
    change, point, number = str(text).partition(".")
    for digits in (change, number) if point else (change,):
        if not (digits.isascii() and digits.isdigit() and len(digits) <= _MAX_DIGITS):
            raise ValueError("expected the place of an event")
    return Place(int(change), int(number or 0))


def _time(text: object) -> datetime:
    found = datetime.fromisoformat(str(text))
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)


_Text = str | SkipJsonSchema[None]
_Time = Annotated[
    datetime | SkipJsonSchema[None],
    BeforeValidator(_time),
    expected("a time such as 2026-11-01T12:00:00Z", empty=None),
]
After = Annotated[
    str,
    BeforeValidator(lambda text: str(_place(text))),
    Query(description="The `seq` of the last event that the caller has read, or `next` of the page before."),
    expected("the seq of an event, such as 17 or 17.3", empty="0"),
]


def _wanted(
    *,
    event: Annotated[tuple[str, ...], Query(description="Return only events of this name; it can be repeated.")] = (),
    caller: Annotated[_Text, Query(description="Return only events of this principal.")] = None,
    subject: Annotated[_Text, Query(description="Return only events whose resource is this subject.")] = None,
    outcome: Annotated[
        Literal["success", "denied", "failed"] | SkipJsonSchema[None],
        Query(description="Return only events with this outcome."),
    ] = None,
    since: Annotated[_Time, Query(description="Return only events from this time on.")] = None,
    until: Annotated[_Time, Query(description="Return only events before this time.")] = None,
) -> Selection:
    unknown = sorted(set(event) - _TEXTS)
    if unknown:
        raise BadRequest(f"event is {unknown[0][:80]!r}; expected one of {', '.join(sorted(_TEXTS))}")
    return Selection(
        frozenset(event),
        caller,
        subject,
        outcome,
        None if since is None else time_text(since),
        None if until is None else time_text(until),
    )


def _audited(call: CallOfRequest) -> Callable[[str], bool] | None:
    """Return whether the caller may see events about a context; None if it may see all events.

    Raises ``Forbidden`` if it may see none, before anything else of the request is examined.
    """
    if call.caller is None or call.may(Operation.AUDIT, REGISTRY):
        call.asks()
        return None
    if not call.caller.rights.has_on_context(Operation.AUDIT):
        raise call.denial(Operation.AUDIT, REGISTRY)
    return lambda name: call.may(Operation.AUDIT, Resource(Kind.CONTEXT, context=name))


async def list_events(
    cases: CasesOfRequest,
    in_context: Annotated[Any, Depends(_audited)],
    wanted: Annotated[Selection, Depends(_wanted)],
    after: After = "0",
    limit: Limit = DEFAULT_LIMIT,
) -> Any:
    """List events in their order: changes, and what happened beside them.

    Whoever has AUDIT on a context alone sees the events about it and its subjects.
    """
    wanted = replace(wanted, in_context=in_context)
    place = _place(after)
    if wanted.since is not None:
        place = max(place, await first_place(cases.storage, _time(wanted.since)))
    page = await read_events(cases.storage, place, limit, wanted=wanted)
    return EventsBody(events=page.events, next=str(page.next), more=page.has_more)
