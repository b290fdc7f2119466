"""Everything that follows one run, and how its progress is displayed: as plain lines, JSON lines, or lines redrawn."""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

import click

from counterfoil.converter.bridge import stored_bridge
from counterfoil.converter.monitoring.records import BackgroundReports, RegistryReports, RunHistory
from counterfoil.converter.run.progress import duration, progress_line
from counterfoil.converter.run.snapshot import RunState, snapshot_json
from counterfoil.schema.errors import needed_by

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from counterfoil.converter.bridge import ResolvedBridge
    from counterfoil.converter.kafka.cluster import Cluster
    from counterfoil.converter.run.progress import Listener
    from counterfoil.converter.run.snapshot import RunSnapshot
    from counterfoil.sdk import Registry


# How the progress of a run is displayed: as plain lines, as JSON lines, or in a terminal as lines that are redrawn.

_PARTITIONS_SHOWN: Final = 10


class ProgressForm(StrEnum):
    """The values of ``--progress``."""

    AUTO = "auto"
    """``RICH`` in a terminal, else ``PLAIN``."""
    RICH = "rich"
    PLAIN = "plain"
    JSON = "json"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Display:
    """What prints sentences about a run (``say``), and what shows its states (``show``)."""

    say: Callable[[str], None]
    show: Listener


@contextmanager
def display_of(form: ProgressForm) -> Iterator[Display]:
    """Yield the display of a run. With JSON lines, sentences go to stderr, so that stdout has nothing else."""
    if form is ProgressForm.AUTO:
        form = ProgressForm.RICH if sys.stdout.isatty() else ProgressForm.PLAIN
    if form is ProgressForm.RICH:
        with _rich_display() as display:
            yield display
    elif form is ProgressForm.JSON:
        yield Display(
            lambda line: click.echo(line, err=True), lambda state: click.echo(json.dumps(snapshot_json(state)))
        )
    else:
        yield Display(click.echo, PlainLines(click.echo) if form is ProgressForm.PLAIN else lambda _state: None)


class PlainLines:
    """One line for each batch."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._batches = 0

    def __call__(self, state: RunSnapshot) -> None:
        """Print the line of a new batch."""
        if state.batches > self._batches:
            self._batches = state.batches
            self._say(progress_line(state))


@contextmanager
def _rich_display() -> Iterator[Display]:
    """Yield a display whose last lines are redrawn after each batch; sentences are printed above them."""
    with needed_by("--progress rich", extra="converter"):
        from rich.console import Console
        from rich.live import Live
    console = Console(highlight=False)
    with Live(console=console, auto_refresh=False, vertical_overflow="crop") as live:
        yield Display(
            lambda line: console.print(line, markup=False, soft_wrap=True),
            lambda state: live.update(panel(state), refresh=True),
        )


def panel(state: RunSnapshot) -> Any:
    """Return the lines about a run in a terminal: a bar, the rate and time left, and the partitions that are behind."""
    from rich.console import Group
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    head = Table.grid(padding=(0, 1))
    share = 100 * state.done // state.total if state.total else 100
    bar = ProgressBar(total=max(state.total, 1), completed=state.done if state.total else 1, width=30)
    head.add_row(Text(state.bridge, style="bold"), bar, Text(f"{share}%"), Text(_pace(state)))
    facts = [
        f"{state.done:,} of {state.total:,} records, batch {state.batches:,}, {state.converted:,} converted",
        f"{state.dead_letter_count:,} dead letters",
    ]
    if state.dead_letters:
        facts[1] += " (" + ", ".join(f"{code} {count:,}" for code, count in state.dead_letters.items()) + ")"
    lines: list[Any] = [head, Text(", ".join(facts), style="red" if state.dead_letters else "")]
    behind = sorted((each for each in state.partitions if each.lag), key=lambda each: -each.lag)
    if behind and state.state is RunState.RUNNING:
        table = Table(box=None, padding=(0, 2), show_edge=False)
        for title in ("partition", "position", "end", "lag"):
            table.add_column(title, justify="right", style="dim" if title != "lag" else "")
        for each in behind[:_PARTITIONS_SHOWN]:
            table.add_row(*(f"{number:,}" for number in (each.partition, each.position, each.end, each.lag)))
        lines.append(table)
        if len(behind) > _PARTITIONS_SHOWN:
            lines.append(Text(f"and {len(behind) - _PARTITIONS_SHOWN} more partitions with a lag", style="dim"))
    return Group(*lines)


def _pace(state: RunSnapshot) -> str:
    if state.state is not RunState.RUNNING:
        return str(state.state)
    left = f", {duration(state.eta_s)} to go" if state.eta_s is not None else ""
    return f"{state.rate_per_s:,.0f}/s, lag {state.lag:,}{left}" if state.batches else "starting"


# Everything that follows one run: its display, its history, its measures, and the reports over the network.


@dataclass(frozen=True, slots=True)
class Observers:
    """Who is called with each state of a run, and whether another driver has started the bridge later."""

    listeners: tuple[Listener, ...]
    is_replaced: Callable[[], bool]


@contextmanager
def observers_of(
    resolved: ResolvedBridge,
    cluster: Cluster,
    client: Registry,
    *,
    display: Display,
    folder: Path,
    metrics: tuple[str, int] | None,
) -> Iterator[Observers]:
    """Yield the observers of a run during the block.

    ``folder`` is that of the checkpoint; ``metrics`` are the host and port of the measures, a free port for 0.
    """
    listeners: list[Listener] = [RunHistory(folder, say=display.say), display.show]
    remote: list[Listener] = []
    registry = _registry_reports(resolved, client, display.say)
    if registry is not None:
        remote.append(registry)
    if resolved.file.progress_topic is not None:
        from counterfoil.converter.monitoring.records import TopicReports

        remote.append(TopicReports(cluster.client_settings, resolved.file.progress_topic, say=display.say))
    with ExitStack() as stack:
        if metrics is not None:
            from counterfoil.converter.monitoring.measures import RunMeasures, serve_measures

            measures = RunMeasures()
            port, server = serve_measures(measures, host=metrics[0], port=metrics[1])
            stack.callback(server.server_close)
            stack.callback(server.shutdown)
            display.say(f"measures for Prometheus: http://{metrics[0]}:{port}/metrics")
            listeners.append(measures)
            remote.append(measures)
        if remote:
            background = BackgroundReports(remote, lambda: cluster.watermarks(resolved.file.source_topic))
            stack.callback(background.close)
            listeners.append(background)
        yield Observers(tuple(listeners), lambda: registry is not None and registry.is_replaced)


def _registry_reports(resolved: ResolvedBridge, client: Registry, say: Callable[[str], None]) -> RegistryReports | None:
    """Return what reports to the registry; None if it does not store the bridge."""
    stored = stored_bridge(client, resolved.file.name)
    if stored is None:
        return None
    if stored.bridge.plan_hash != resolved.plan.hash:
        say(
            f"warning: bridge {resolved.file.name} has the plan {stored.bridge.plan_hash[:16]} in the registry and "
            f"{resolved.plan.hash[:16]} in this run; the reports of this run do not count for its gates"
        )
    before = stored.reports.progress
    return RegistryReports(client.call, epoch=before.epoch + 1 if before is not None else 1, say=say)
