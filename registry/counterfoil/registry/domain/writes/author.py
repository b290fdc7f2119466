"""Who requests a write: part of the journal, in the transaction of the write."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Author:
    """The principal of a request, None if no authentication is set up, and the request's id."""

    principal: str | None = None
    request_id: str | None = None


UNKNOWN: Final = Author()
"""The author of a write that no request caused."""
