"""The route of the audit, its parameters and the body of its responses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated, Any, Final, Literal

from fastapi import Depends, Query
from pydantic import BaseModel, BeforeValidator, Field
from pydantic.json_schema import SkipJsonSchema

from counterfoil.registry.access.resources import REGISTRY, AccessOperation, AccessResource, ResourceKind
from counterfoil.registry.audit.events import EventKind, EventPlace, EventSelection, time_text
from counterfoil.registry.audit.journal import first_place, read_events
from counterfoil.registry.changes.routes import DEFAULT_LIMIT, Limit
from counterfoil.registry.http.access import FOUND, CallerOfRequest, CasesOfRequest
from counterfoil.registry.http.request import expected
from counterfoil.registry.http.route import ValidatedRoute
from counterfoil.schema.errors import BadRequest
from counterfoil.schema.rest.object_forms import Document

# The body of a page of events.


class EventsBody(BaseModel):
    """A page of events."""

    events: list[Document] = Field(description="In order; a member that says nothing about an event is absent.")
    next: str = Field(description="The value of `after` in the request for the next page.")
    more: bool = Field(description="Whether there is a next page already.")


# The endpoint of the audit.

_TEXTS: Final = frozenset(kind.text for kind in EventKind)
_MAX_DIGITS: Final = 18


def _place(text: object) -> EventPlace:
    change, point, number = str(text).partition(".")
    for digits in (change, number) if point else (change,):
        if not (digits.isascii() and digits.isdigit() and len(digits) <= _MAX_DIGITS):
            raise ValueError("expected the place of an event")
    return EventPlace(int(change), int(number or 0))


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


async def _wanted(
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
) -> EventSelection:
    unknown = sorted(set(event) - _TEXTS)
    if unknown:
        raise BadRequest(f"event is {unknown[0][:80]!r}; expected one of {', '.join(sorted(_TEXTS))}")
    return EventSelection(
        frozenset(event),
        caller,
        subject,
        outcome,
        None if since is None else time_text(since),
        None if until is None else time_text(until),
    )


async def _audited(caller: CallerOfRequest) -> Callable[[str], bool] | None:
    """Return whether the caller may see events about a context; None if it may see all events.

    Raises ``Forbidden`` if it may see none, before anything else of the request is examined.
    """
    if caller.authenticated is None or caller.may(AccessOperation.AUDIT, REGISTRY):
        caller.filters()
        return None
    if not caller.authenticated.rights.has_on_context(AccessOperation.AUDIT):
        raise caller.denial(AccessOperation.AUDIT, REGISTRY)
    return lambda name: caller.may(AccessOperation.AUDIT, AccessResource(ResourceKind.CONTEXT, context=name))


async def list_events(
    cases: CasesOfRequest,
    in_context: Annotated[Any, Depends(_audited)],
    wanted: Annotated[EventSelection, Depends(_wanted)],
    after: After = "0",
    limit: Limit = DEFAULT_LIMIT,
) -> object:
    """List events in their order: changes, and what happened beside them.

    Whoever has AUDIT on a context alone sees the events about it and its subjects.
    """
    wanted = replace(wanted, in_context=in_context)
    place = _place(after)
    if wanted.since is not None:
        place = max(place, await first_place(cases.storage, _time(wanted.since)))
    page = await read_events(cases.storage, place, limit, wanted=wanted)
    return EventsBody(events=page.events, next=str(page.next), more=page.has_more)


# The route of the audit.

AUDIT_ROUTES: Final[tuple[ValidatedRoute, ...]] = (
    ValidatedRoute(
        "GET",
        "/audit/v1/events",
        list_events,
        access=FOUND,
        tag="audit",
        result=EventsBody,
        errors=(),
    ),
)
