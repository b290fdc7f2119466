"""The bodies of the change feed."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field


class ChangeBody(BaseModel):
    """One change; a field that does not belong to its kind is absent."""

    seq: int = Field(description="Counts all changes from 1, without a gap, in the order in which they were made.")
    ts: int = Field(description="Epoch milliseconds; never less than that of the change before.")
    time: str = Field(description="The same time as ISO 8601.")
    kind: str = Field(description="Such as version-registered, version-deleted, settings-changed.")
    subject: str = Field(description="The subject, or the level of config and mode; empty for a context.")
    context: str
    version: int | None = None
    id: int | None = None
    guid: str | None = None
    by: str | None = Field(None, description="The principal that requested it, for callers who may read the subject.")
    document: dict[str, Any] | None = Field(
        None, description="The whole config and mode that are stored for the subject after the change."
    )


class ChangesBody(BaseModel):
    """A page of changes."""

    changes: list[ChangeBody]
    next: int = Field(description="The value of `after` in the request for the next page.")
    more: bool = Field(description="Whether there is a next page already.")
