"""Which events of the audit are wanted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_SUBJECT: Final = "Subject: "


@dataclass(frozen=True, slots=True)
class Selection:
    """A condition on events; None and an empty set select all. Times are compared as texts in UTC (ISO 8601).

    ``in_context`` says whether events about a context are selected; those about no context are not then.
    """

    events: frozenset[str] = frozenset()
    caller: str | None = None
    subject: str | None = None
    outcome: str | None = None
    since: str | None = None
    until: str | None = None
    in_context: Callable[[str], bool] | None = None

    def selects(self, facts: Mapping[str, Any]) -> bool:
        """Return whether the event with ``facts`` is wanted; somebody may have made a line of a file by hand."""
        resource, time = str(facts.get("resource", "")), str(facts.get("time", ""))
        caller = facts.get("caller")
        principal = caller.get("principal") if isinstance(caller, dict) else None
        return (
            (not self.events or str(facts.get("event")) in self.events)
            and self.caller in (None, principal)
            and self.subject in (None, resource, resource.removeprefix(_SUBJECT), facts.get("subject"))
            and self.outcome in (None, facts.get("outcome"))
            and (self.since or "") <= time
            and (self.until is None or time < self.until)
            and (self.in_context is None or ("context" in facts and self.in_context(str(facts["context"]))))
        )
