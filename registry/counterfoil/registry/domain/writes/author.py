"""Who requests a write: part of the journal, in the transaction of the write."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from counterfoil.registry.domain.audit.trail import Trail


@dataclass(frozen=True, slots=True)
class Author:
    """The principal of a request, None if no authentication is set up, and the request's id."""

    principal: str | None = None
    request_id: str | None = None


UNKNOWN: Final = Author()
"""The author of a write that no request caused."""


@dataclass(frozen=True, slots=True)
class Signature:
    """The author of the request that is handled, and what is recorded of the request, if anything is."""

    author: Author = UNKNOWN
    trail: Trail | None = None


_UNSIGNED: Final = Signature()
SIGNATURE: Final[ContextVar[Signature]] = ContextVar("counterfoil_signature", default=_UNSIGNED)
"""What the request that is handled adds to the plans that storages carry out for it."""
