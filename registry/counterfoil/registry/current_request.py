"""The request that is handled now, as far as storages record it with a write.

The routes set it, and storages read it when they carry out a plan; plans themselves are made without it.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from counterfoil.registry.domain.writes.author import UNKNOWN, Author
from counterfoil.registry.domain.writes.effects import RecordEvents

if TYPE_CHECKING:
    from counterfoil.registry.domain.audit.trail import Trail
    from counterfoil.registry.domain.changes import Written
    from counterfoil.registry.domain.writes.plan import Plan


@dataclass(frozen=True, slots=True)
class Signature:
    """The author of the request that is handled, and its trail for the audit, if the audit is on."""

    author: Author = UNKNOWN
    trail: Trail | None = None


_UNSIGNED: Final = Signature()
SIGNATURE: Final[ContextVar[Signature]] = ContextVar("counterfoil_signature", default=_UNSIGNED)
"""The signature under the plans that storages carry out for the request that is handled."""


def signed(plan: Plan) -> Plan:
    """Return ``plan`` with the author of the current request, and with the facts of the request in its events.

    Raise ``StoreUnavailable`` while the audit cannot record what is written, and writes are refused for that.
    """
    signature = SIGNATURE.get()
    if signature.trail is None:
        return replace(plan, author=signature.author)
    signature.trail.require_recording()
    return replace(plan, author=signature.author, effects=tuple(map(signature.trail.completed, plan.effects)))


def noted(written: Written, plan: Plan) -> Written:
    """Return the outcome of ``plan``, and add it to what is known of the current request."""
    trail = SIGNATURE.get().trail
    if trail is not None:
        trail.changes.extend(written.changes)
        for effect in plan.effects:
            if isinstance(effect, RecordEvents):
                trail.events.extend(effect.events)
    return written
