"""Refused requests, counted: whoever sends a million of them causes a few rows in the store, not a million."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from counterfoil.registry.domain.audit.events import AuditEvent, time_text

if TYPE_CHECKING:
    from datetime import datetime

_MAX_DIFFERENT: Final = 1000
_COMMON: Final = ("status", "outcome")


class EqualEvents:
    """Events of the same kind, caller or address, action, resource and reason, which differ in time alone.

    Beyond a thousand different ones, only the kinds of further ones are counted.
    """

    def __init__(self) -> None:
        self._counted: dict[tuple[Any, ...], tuple[AuditEvent, int, datetime]] = {}

    def add(self, event: AuditEvent) -> None:
        """Count ``event``."""
        facts = event.facts
        who = facts.get("caller", {}).get("principal") or facts.get("from")
        key: tuple[Any, ...] = (event.kind, who, facts.get("action"), facts.get("resource"), facts.get("reason"))
        if key not in self._counted and len(self._counted) >= _MAX_DIFFERENT:
            key = (event.kind,)
            event = replace(event, facts={name: facts[name] for name in _COMMON if name in facts})
        first, count, _ = self._counted.get(key, (event, 0, event.at))
        self._counted[key] = (first, count + 1, event.at)

    def take(self) -> list[AuditEvent]:
        """Return an event for all equal ones, with their number, and begin again."""
        counted, self._counted = self._counted, {}
        return [
            replace(event, facts={**event.facts, "count": count, "until": time_text(last)})
            for event, count, last in counted.values()
        ]
