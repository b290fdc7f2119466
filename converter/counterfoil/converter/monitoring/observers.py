"""Everything that follows one run: how its progress is displayed, and where its states are kept."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from counterfoil.converter.bridge import ResolvedBridge, stored_bridge
from counterfoil.converter.errors import BridgeError, CheckpointUnreadable, why_unreadable
from counterfoil.converter.run.progress import (
    Listener,
    RunSnapshot,
    RunState,
    duration,
    now_ms,
    progress_line,
    read_snapshot,
    snapshot_json,
)
from counterfoil.schema.datum import Json
from counterfoil.schema.errors import CounterfoilError, ReporterReplaced, needed_by
from counterfoil.schema.rest import bridges
from counterfoil.schema.rest.object_forms import UnexpectedShapeError
from counterfoil.sdk import Registry, operations
from counterfoil.sdk.operations import Operation

if TYPE_CHECKING:
    from counterfoil.converter.kafka.cluster import Cluster


# The recorded progress of a bridge: a file of JSON lines in the checkpoint's folder, one line for each state.
#
# It is data for ``bridge status`` and ``bridge report`` alone; a run neither needs nor reads it. Its size is limited:
# when it is full, every second state of the middle of runs is left out, and if that is not enough, the older half.

FILE_NAME: Final = "progress.jsonl"
_MAX_BYTES: Final = 4 << 20
_KEPT_SHARE: Final = 0.75
"""A history that is fuller after states were left out would have to be rewritten soon again."""


class RunHistory:
    """Appends the states of a run to the file in ``folder``; a file that cannot be written is printed once."""

    def __init__(self, folder: Path, *, say: Callable[[str], None], max_bytes: int = _MAX_BYTES) -> None:
        self._path = folder / FILE_NAME
        self._say = say
        self._max_bytes = max_bytes
        self._has_failed = False

    def __call__(self, state: RunSnapshot) -> None:
        """Append a state."""
        try:
            self._append(state)
        except OSError as failure:
            if not self._has_failed:
                why = why_unreadable(failure)
                self._say(f"the progress cannot be recorded, and the run goes on: {self._path}: {why}")
            self._has_failed = True

    def _append(self, state: RunSnapshot) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        line = _line(state)
        with self._path.open("ab") as file:
            size = file.tell()
            if size and not _ends_with_line_end(self._path, size):  # an earlier driver was killed while it wrote
                line = b"\n" + line
            file.write(line)
        if size + len(line) > self._max_bytes:
            self._thin_out()

    def _thin_out(self) -> None:
        """Leave out every second state, but for the first and last ones of runs; then, if need be, the older half."""
        states = read_history(self._path.parent)
        kept = [
            state
            for number, state in enumerate(states)
            if number % 2 or not state.batches or state.state is not RunState.RUNNING
        ]
        unfinished = self._path.with_suffix(".new")
        lines = [_line(state) for state in kept]
        if sum(map(len, lines)) > _KEPT_SHARE * self._max_bytes:
            lines = lines[len(lines) // 2 :]
        unfinished.write_bytes(b"".join(lines))
        unfinished.replace(self._path)


def _line(state: RunSnapshot) -> bytes:
    return json.dumps(snapshot_json(state), separators=(",", ":")).encode() + b"\n"


def _ends_with_line_end(path: Path, size: int) -> bool:
    with path.open("rb") as file:
        file.seek(size - 1)
        return file.read(1) == b"\n"


def read_history(folder: Path) -> list[RunSnapshot]:
    """Return the recorded states, the oldest first; none if there is no file.

    A line that is cut off, as a kill leaves it, is skipped.
    """
    path = folder / FILE_NAME
    try:
        lines = path.read_bytes().splitlines()
    except FileNotFoundError:
        return []
    except OSError as failure:
        raise CheckpointUnreadable(f"{path} cannot be read: {failure.strerror}") from None
    states = []
    for line in lines:
        try:
            states.append(read_snapshot(json.loads(line)))
        except ValueError:  # no JSON
            continue
        except UnexpectedShapeError as mistake:
            raise CheckpointUnreadable(f"{path} is not the progress of a bridge: {mistake}") from None
    return states


# The progress of bridges in a compacted topic: the key is a bridge's name, the value its latest state as JSON.

_TIMEOUT_S: Final = 10.0


class TopicReports:
    """Writes the states of a run to ``topic``; a broker that does not take them is printed once, and ends no run.

    ``client`` are settings of confluent-kafka.
    """

    def __init__(self, client: Mapping[str, object], topic: str, *, say: Callable[[str], None]) -> None:
        from confluent_kafka import KafkaException, Producer

        self._producer = Producer({**client, "message.timeout.ms": round(_TIMEOUT_S * 1000)})
        self._errors = (KafkaException, BufferError)
        self._topic = topic
        self._say = say
        self._has_failed = False

    def __call__(self, state: RunSnapshot) -> None:
        """Write a state, and wait until the broker has it."""
        value = json.dumps(snapshot_json(state))
        try:
            self._producer.produce(self._topic, key=state.bridge, value=value, on_delivery=self._delivered)
            self._producer.flush(_TIMEOUT_S)
        except self._errors as failure:
            self._note(str(failure))

    def _delivered(self, error: Any, _message: Any) -> None:
        self._note("" if error is None else error.str())

    def _note(self, problem: str) -> None:
        """Print a problem, but not one after the other."""
        if problem and not self._has_failed:
            self._say(f"topic {self._topic} does not take reports of progress, and the run goes on: {problem}")
        self._has_failed = bool(problem)


def latest_state(cluster: Cluster, topic: str, *, bridge: str) -> RunSnapshot | None:
    """Return the latest state of a bridge in ``topic``; None if there is none."""
    found: RunSnapshot | None = None
    for message in cluster.read(topic, cluster.watermarks(topic)):
        if message.key() == bridge.encode() and message.value() is not None:
            try:
                state = read_snapshot(json.loads(message.value()))
            except (ValueError, UnexpectedShapeError) as mistake:
                place = f"{topic}/{message.partition()}/{message.offset()}"
                raise BridgeError(f"The record {place} is not the progress of a bridge: {mistake}") from None
            found = state if found is None or state.ts >= found.ts else found
    return found


# Reports of the progress of a run to the registry that stores the bridge.
#
# A registry that does not take them ends no run, and is printed once. One answer does end the run: the registry has a
# report of a later start of the same bridge, so another driver has taken over.


class RegistryReports:
    """Sends snapshots of a run to the registry that stores its bridge.

    ``send`` is called with each request. ``epoch`` is the number of this start of the bridge.
    """

    def __init__(self, send: Callable[[Operation[None]], None], *, epoch: int, say: Callable[[str], None]) -> None:
        self.is_replaced = False
        self._send = send
        self._epoch = epoch
        self._say = say
        self._has_failed = False

    def __call__(self, state: RunSnapshot) -> None:
        """Send the state of the run."""
        report = bridges.Progress(
            job=state.job,
            epoch=self._epoch,
            plan_hash=state.plan_hash,
            partitions=tuple(
                bridges.PartitionProgress(each.partition, each.position, each.end) for each in state.partitions
            ),
            ts=state.ts,
            converted=state.converted,
            tombstones=state.tombstones,
            dead_letters=state.dead_letters,
            rate_per_s=state.rate_per_s if state.batches else None,
        )
        try:
            self._send(operations.report_progress(state.bridge, report))
        except ReporterReplaced:
            self.is_replaced = True
        except CounterfoilError as failure:
            if not self._has_failed:
                self._say(f"the registry does not take reports of progress, and the run goes on: {failure}")
            self._has_failed = True
        else:
            self._has_failed = False


# What sends the state of a run over the network: a thread of its own, so that the run waits for no answer.

_PERIOD_S: Final = 30.0
"""A run without new records is reported this often, so that its reports do not become stale."""
_LAST_S: Final = 10.0
"""How long the end of a run waits for the last report."""


class BackgroundReports:
    """Passes the latest state of a run to ``recipients``, in a thread; of several that wait, only the latest is sent.

    Before, it requests the present ends of the source's partitions with ``watermarks``, so that the lag is that of now.
    """

    def __init__(
        self,
        recipients: Sequence[Listener],
        watermarks: Callable[[], Mapping[int, tuple[int, int]]],
        *,
        period_s: float = _PERIOD_S,
    ) -> None:
        self._recipients = recipients
        self._watermarks = watermarks
        self._period_s = period_s
        self._waiting: RunSnapshot | None = None
        self._latest: RunSnapshot | None = None
        self._is_closed = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._work, name="bridge reports", daemon=True)
        self._thread.start()

    def __call__(self, state: RunSnapshot) -> None:
        """Report a state, soon."""
        with self._changed:
            self._waiting = self._latest = state
            self._changed.notify()

    def close(self) -> None:
        """Wait a short time until the last report is sent."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()
        self._thread.join(_LAST_S)

    def _work(self) -> None:
        while (state := self._next()) is not None:
            present = self._with_present_ends(state)
            if present is not None:
                for recipient in self._recipients:
                    recipient(present)

    def _next(self) -> RunSnapshot | None:
        """Return the state to send: a new one, or after a period the last one again; None at the end."""
        with self._changed:
            while self._waiting is None:
                if self._is_closed:
                    return None
                if not self._changed.wait(self._period_s) and self._latest is not None:
                    return self._latest
            state, self._waiting = self._waiting, None
            return state

    def _with_present_ends(self, state: RunSnapshot) -> RunSnapshot | None:
        """Return the state with the present ends; None while the broker is away, for which the query waits, too."""
        try:
            marks = self._watermarks()
        except BridgeError:
            return None if state.state is RunState.RUNNING else state
        partitions = [
            replace(each, end=max(each.position, marks[each.partition][1])) if each.partition in marks else each
            for each in state.partitions
        ]
        return replace(state, partitions=tuple(partitions), ts=now_ms())


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


def panel(state: RunSnapshot) -> Json:
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
    lines: list[Json] = [head, Text(", ".join(facts), style="red" if state.dead_letters else "")]
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
    client: Registry | None,
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
    registry = None if client is None else _registry_reports(resolved, client, display.say)
    if registry is not None:
        remote.append(registry)
    if resolved.file.progress_topic is not None:
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
