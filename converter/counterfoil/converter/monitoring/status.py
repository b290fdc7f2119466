"""The status of a bridge, from any machine: what a checkpoint, a topic of progress, and a registry have about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from counterfoil.converter.run.progress import dead_letters_text, duration, lag_text
from counterfoil.converter.run.snapshot import RunState, Snapshot, snapshot_json
from counterfoil.converter.run.watch import now_ms
from counterfoil.schema.counting import counted
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.schema.rest.bridges import PROGRESS, VERIFICATION

if TYPE_CHECKING:
    from counterfoil.schema.rest.bridges import BridgeStatus, Progress

_SILENT_S: Final = 90.0
"""A run reports every 30 seconds; one that has not reported for this time may have ended without a report."""
_INTERRUPTED: Final = "interrupted"
_SILENT: Final = "silent"
_WORDS: Final = {
    _INTERRUPTED: "interrupted: no driver uses the checkpoint",
    _SILENT: "running by its last report, which is old",
}
"""The states that are no ``RunState``, for people."""


@dataclass(frozen=True, slots=True)
class KnownRun:
    """The latest state of a run, and where it was found. ``has_driver``: whether a driver uses the checkpoint now."""

    state: Snapshot
    origin: str
    has_driver: bool | None = None

    def word(self, *, now: int) -> str:
        """Return the state; a run that was killed could not report it, and is ``interrupted`` or ``silent``."""
        if self.state.state is not RunState.RUNNING or self.has_driver:
            return str(self.state.state)
        if self.has_driver is False:
            return _INTERRUPTED
        return str(RunState.RUNNING) if now - self.state.ts < _SILENT_S * 1000 else _SILENT


@dataclass(frozen=True, slots=True)
class BridgeStatusReport:
    """What is known about a bridge: its latest run, and what a registry has stored; None where there is nothing.

    ``unread`` is a sentence about a place that could not be read.
    """

    bridge: str
    run: KnownRun | None = None
    stored: BridgeStatus | None = None
    unread: str = ""

    @property
    def exit_code(self) -> ExitCode:
        """OK, or CANNOT_SAY if nothing is known."""
        return ExitCode.CANNOT_SAY if self.run is None and self.stored is None else ExitCode.OK

    def lines(self) -> list[str]:
        """Return the status as lines of text."""
        now = now_ms()
        if self.run is None and self.stored is None:
            return [f"nothing is known about bridge {self.bridge}", *([self.unread] if self.unread else [])]
        rows = [("bridge", self.bridge)]
        if self.stored is not None:
            rows.append(("migration", str(self.stored.bridge.state)))
        if self.run is not None:
            word = self.run.word(now=now)
            rows += [("run", _WORDS.get(word, word)), ("known from", self.run.origin), *_figures(self.run.state, now)]
            rows += [("engine", self.run.state.engine), ("last error", self.run.state.error)]
        elif self.stored is not None and self.stored.reports.progress is not None:
            rows += [("known from", "the registry"), *_figures(self.stored.reports.progress, now)]
        if self.stored is not None and (found := self.stored.reports.verification) is not None:
            word = "passed" if found.has_passed else "failed"
            rows.append(("verification", f"{word}: {counted(found.fault_count, 'fault')} in {found.records:,} records"))
        rows.append(("not read", self.unread))
        return [f"{name:<12}  {text}" for name, text in rows if text]

    def as_json(self) -> dict[str, Any]:
        """Return the status as a JSON object."""
        document: dict[str, Any] = {"bridge": self.bridge, "migration": None, "run": None, "registry": None}
        if self.run is not None:
            state = self.run.word(now=now_ms())
            document["run"] = {**snapshot_json(self.run.state), "state": state, "origin": self.run.origin}
        if self.stored is not None:
            reports = self.stored.reports
            document["migration"] = str(self.stored.bridge.state)
            document["registry"] = {
                "isStale": self.stored.is_stale,
                "progress": None if reports.progress is None else PROGRESS.write(reports.progress),
                "verification": None if reports.verification is None else VERIFICATION.write(reports.verification),
            }
        return document


def _figures(found: Snapshot | Progress, now: int) -> list[tuple[str, str]]:
    """Return the figures of a run, from its own report or from the registry's."""
    rate = f"{found.rate_per_s:,.0f}/s" if found.rate_per_s is not None else ""
    eta_s = found.eta_s if isinstance(found, Snapshot) else None
    written = [f"{found.converted:,} converted", dead_letters_text(found.dead_letters)]
    written += [counted(found.tombstones, "tombstone", spec=",")] if found.tombstones else []
    return [
        ("job", f"{found.job}, {duration((now - found.ts) / 1000)} ago"),
        ("records", ", ".join(written)),
        ("rate", rate + (f", {duration(eta_s)} to go" if eta_s is not None else "")),
        ("position", lag_text(found)),
    ]
