"""The body of a page of events."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field


class EventsBody(BaseModel):
    """A page of events."""

    events: list[dict[str, Any]] = Field(description="In order; a member that says nothing about an event is absent.")
    next: str = Field(description="The value of `after` in the request for the next page.")
    more: bool = Field(description="Whether there is a next page already.")
