"""``counterfoil bridge status``: what a checkpoint, a topic of progress and a registry have about a bridge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from counterfoil.converter.bridge import load_bridge_file
from counterfoil.converter.kafka.cluster import Cluster, named_cluster
from counterfoil.converter.monitoring.observers import latest_state, read_history
from counterfoil.converter.outputs import give, parse_forms
from counterfoil.converter.run.checkpoint import Checkpoint, checkpoint_of
from counterfoil.converter.run.progress import (
    RunSnapshot,
    RunState,
    dead_letters_text,
    duration,
    lag_text,
    now_ms,
    snapshot_json,
)
from counterfoil.schema.datum import JsonObject
from counterfoil.schema.errors import BridgeNotFound, CounterfoilError
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.schema.rest.bridges import BRIDGE_VERIFICATION, PROGRESS, BridgeStatus, Progress
from counterfoil.schema.texts import counted
from counterfoil.sdk.kafka import KafkaAccess

if TYPE_CHECKING:
    from counterfoil.sdk.commands.options import RegistryAccess


# The status of a bridge, from any machine: what a checkpoint, a topic of progress, and a registry have about it.

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

    state: RunSnapshot
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

    def as_json(self) -> JsonObject:
        """Return the status as a JSON object."""
        document: JsonObject = {"bridge": self.bridge, "migration": None, "run": None, "registry": None}
        if self.run is not None:
            state = self.run.word(now=now_ms())
            document["run"] = {**snapshot_json(self.run.state), "state": state, "origin": self.run.origin}
        if self.stored is not None:
            reports = self.stored.reports
            document["migration"] = str(self.stored.bridge.state)
            document["registry"] = {
                "isStale": self.stored.is_stale,
                "progress": None if reports.progress is None else PROGRESS.write(reports.progress),
                "verification": None
                if reports.verification is None
                else BRIDGE_VERIFICATION.write(reports.verification),
            }
        return document


def _figures(found: RunSnapshot | Progress, now: int) -> list[tuple[str, str]]:
    """Return the figures of a run, from its own report or from the registry's."""
    rate = f"{found.rate_per_s:,.0f}/s" if found.rate_per_s is not None else ""
    eta_s = found.eta_s if isinstance(found, RunSnapshot) else None
    written = [f"{found.converted:,} converted", dead_letters_text(found.dead_letters)]
    written += [counted(found.tombstones, "tombstone", spec=",")] if found.tombstones else []
    return [
        ("job", f"{found.job}, {duration((now - found.ts) / 1000)} ago"),
        ("records", ", ".join(written)),
        ("rate", rate + (f", {duration(eta_s)} to go" if eta_s is not None else "")),
        ("position", lag_text(found)),
    ]


# ``counterfoil bridge status``: what is known about a bridge, named by its file or by its name.


def show_status(
    *,
    bridge: str,
    registry: RegistryAccess,
    kafka: KafkaAccess | None,
    checkpoint: Path | str | None,
    progress_topic: str | None,
    formats: Sequence[str],
) -> ExitCode:
    """Run ``bridge status``: print what is known about a bridge, named by its file or by its name."""
    forms = parse_forms(formats)
    file = Path(bridge)
    declared = load_bridge_file(file) if file.is_file() else None
    name = bridge if declared is None else declared.name
    topic = progress_topic or (declared.progress_topic if declared is not None else None)
    place = None if checkpoint is None else Checkpoint(checkpoint)
    if declared is not None:
        place = checkpoint_of(file, declared.name, checkpoint)
    if topic is None and place is None and registry.url is None:
        raise click.UsageError(
            f"there is no file {bridge}, so it is taken for the name of a bridge; say where its status is: --registry, "
            "--progress-topic or --checkpoint"
        )
    cluster = named_cluster(kafka) if progress_topic or (topic and kafka) else None
    run = _known_run(name, cluster, topic, place)
    stored, unread = (None, "") if registry.url is None else _stored(name, registry, is_only_source=run is None)
    report = BridgeStatusReport(name, run, stored, unread)
    give(forms, lines=report.lines, document=report.as_json)
    return report.exit_code


def _known_run(name: str, cluster: Cluster | None, topic: str | None, place: Checkpoint | None) -> KnownRun | None:
    """Return the latest state that the topic of progress or the checkpoint has."""
    run = None
    if topic is not None and cluster is not None:
        state = latest_state(cluster, topic, bridge=name)
        run = None if state is None else KnownRun(state, f"topic {topic}")
    if place is not None:
        history = read_history(place.folder)
        if history and (run is None or history[-1].ts >= run.state.ts):
            run = KnownRun(history[-1], f"checkpoint {place.folder}", place.has_driver())
    return run


def _stored(name: str, access: RegistryAccess, *, is_only_source: bool) -> tuple[BridgeStatus | None, str]:
    """Return what the registry has stored about a bridge, and a sentence if it cannot be read.

    If nothing else is known, the error is raised.
    """
    from counterfoil.sdk import operations

    try:
        with access.open() as client:
            return client.call(operations.bridge(name)), ""
    except BridgeNotFound:
        return None, ""
    except CounterfoilError as failure:
        if is_only_source:
            raise
        return None, str(failure)
