"""Events as lines of text: those in audit files, and those of a registry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from counterfoil.registry.audit.verifying import read_lines
from counterfoil.registry.domain.audit.lines import canonical

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from counterfoil.registry.domain.audit.selection import Selection


class ShownLine(NamedTuple):
    """A line to print: an event, or with ``is_mistake`` what is wrong with a line of a file."""

    text: str
    is_mistake: bool = False


def shown_lines(paths: Iterable[Path], selection: Selection, *, as_json: bool) -> Iterator[ShownLine]:
    """Yield a line for each selected event, and one for each line of a file that cannot be read."""
    for line in read_lines(paths):
        if line.facts is None:
            yield ShownLine(f"{line.place}: {line.mistake}", is_mistake=True)
        elif selection.selects(line.facts):
            yield ShownLine(canonical(line.facts).decode() if as_json else event_text(line.facts))


def event_text(facts: dict[str, Any]) -> str:
    """Return an event as a line of text."""
    caller = facts.get("caller")
    principal = caller.get("principal", "-") if isinstance(caller, dict) else "-"
    parts = [facts.get("time", ""), facts.get("event", ""), principal, facts.get("from", "-")]
    parts += [
        facts[name]
        for name in ("action", "resource", "version", "detail", "status", "reason", "request_id")
        if name in facts
    ]
    parts += [f"x{facts['count']}"] if "count" in facts else []
    return " ".join(map(str, parts))
