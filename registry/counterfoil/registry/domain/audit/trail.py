"""What is known of one request for the audit: what it has written, and why it was refused."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from counterfoil.registry.domain.writes.effects import RecordEvents
from counterfoil.schema.errors import StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.registry.domain.audit.events import AuditEvent, AuditLog
    from counterfoil.registry.domain.changes import Change
    from counterfoil.registry.domain.writes.effects import Effect
    from counterfoil.schema.contexts import QualifiedSubject


@dataclass(slots=True)
class Trail:
    """The trail of a request that ``log`` records.

    ``facts`` returns what every event of it says: who, what, from where. ``reads`` are the versions whose texts are in
    the response, as far as that is recorded. ``refused`` is what a refusal adds to that.
    ``is_denied``: the caller lacked a right, even if the response does not say so by its status.
    """

    log: AuditLog
    facts: Callable[[], dict[str, Any]]
    changes: list[Change] = field(default_factory=list)
    events: list[AuditEvent] = field(default_factory=list)
    reads: dict[tuple[QualifiedSubject, int], None] = field(default_factory=dict)
    refused: dict[str, Any] = field(default_factory=dict)
    is_denied: bool = False

    def require_recording(self) -> None:
        """Raise ``StoreUnavailable`` while events cannot be recorded, and writes are refused for that."""
        if self.log.refuses_writes:
            raise StoreUnavailable("The audit file cannot be written, and writes are refused until it can")

    def completed(self, effect: Effect) -> Effect:
        """Return ``effect``; its events, if it records any, with the facts of the request."""
        if not isinstance(effect, RecordEvents):
            return effect
        facts = self.facts()
        return RecordEvents(tuple(replace(event, facts={**facts, **event.facts}) for event in effect.events))
