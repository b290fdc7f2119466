"""``counterfoil bridge report``: the page with a summary, the plan, the progress as plots, and dead letters."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import click

from counterfoil.converter.bridge import load_bridge_file, resolve
from counterfoil.converter.errors import BridgeError, why_unreadable
from counterfoil.converter.kafka.cluster import named_cluster
from counterfoil.converter.monitoring.observers import read_history
from counterfoil.converter.report.dead_letters import HIDDEN, DeadLetters, read_dead_letters, values_of
from counterfoil.converter.run.checkpoint import checkpoint_of
from counterfoil.converter.run.progress import RunSnapshot, RunState, duration, now_ms
from counterfoil.pages.documents import (
    Block,
    Cell,
    DocumentSection,
    FileDocument,
    HeadingBlock,
    Inline,
    ListBlock,
    PlotBlock,
    TableBlock,
    TextBlock,
    Tile,
    TileBlock,
    WordKind,
    Words,
)
from counterfoil.pages.files import document_file
from counterfoil.pages.svg import PlotPoint
from counterfoil.schema.datum import Json, JsonObject
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.schema.plans.bridge import BridgeFile
from counterfoil.schema.plans.derivations import RoundTripLoss
from counterfoil.schema.plans.model import ConversionPlan
from counterfoil.schema.texts import counted
from counterfoil.sdk.commands import is_printed, print_json
from counterfoil.sdk.kafka import KafkaAccess

if TYPE_CHECKING:
    from counterfoil.sdk.commands.options import RegistryAccess


# The page: a summary, the plan, the course of the runs, dead letters, the verification.


@dataclass(frozen=True)
class PageContent:
    """What is reported: the plan, the recorded states of all runs (the oldest first), and what else is there.

    ``verification`` is the JSON of ``bridge verify``, and None if there is none; ``dead_letters`` is None if the topic
    was not read.
    """

    file: BridgeFile
    plan: ConversionPlan
    problems: Sequence[str]
    losses: Sequence[RoundTripLoss]
    history: Sequence[RunSnapshot]
    dead_letters: DeadLetters | None = None
    verification: Mapping[str, Json] | None = None
    made_ts: int = 0

    def runs(self) -> list[list[RunSnapshot]]:
        """Return the states of each run, the earliest run first."""
        by_run: dict[tuple[int, str], list[RunSnapshot]] = {}
        for state in self.history:
            by_run.setdefault((state.started_ts, state.job), []).append(state)
        return list(by_run.values())


def page_of(content: PageContent) -> str:
    """Return the page as HTML."""
    return document_file(document_of(content))


def document_of(content: PageContent) -> FileDocument:
    """Return the document about a bridge."""
    sections = [
        DocumentSection("summary", "Summary", [*_summary(content)]),
        DocumentSection("mapping", "Mapping", [*_mapping(content)]),
        DocumentSection("runs", "Runs", [*_runs(content)]),
        DocumentSection("dead-letters", "Dead letters", [*_dead_letters(content)]),
        DocumentSection("verification", "Verification", [*_verification(content.verification)]),
    ]
    foot = f"Made by counterfoil {metadata.version('counterfoil')}, {_moment(content.made_ts)}."
    return FileDocument(f"Bridge {content.file.name}", sections, tuple(_route(content)), foot)


def _route(content: PageContent) -> Iterator[Inline]:
    file = content.file
    yield "From topic "
    yield Words(file.source_topic, WordKind.CODE)
    yield " to "
    yield Words(file.target_topic, WordKind.CODE)
    yield ", dead letters to "
    yield Words(file.dead_letter_topic, WordKind.CODE)
    yield f". Delivery {file.delivery}, plan "
    yield Words(content.plan.hash[:16], WordKind.CODE)
    yield "."


def _summary(content: PageContent) -> Iterator[Block]:
    latest = content.history[-1] if content.history else None
    ends = [run[-1] for run in content.runs()]
    tiles: list[Tile] = []
    if latest is not None:
        dead = sum(each.dead_letter_count for each in ends)
        tiles = [
            Tile("Latest run", str(latest.state), WordKind.NO if latest.state is RunState.FAILED else None),
            Tile("Converted", f"{sum(each.converted for each in ends):,}"),
            Tile("Dead letters", f"{dead:,}", WordKind.NO if dead else WordKind.YES),
            Tile("Tombstones", f"{sum(each.tombstones for each in ends):,}"),
            Tile("Lag", f"{latest.lag:,}"),
            Tile("Rate", f"{latest.rate_per_s:,.0f}/s"),
        ]
    yield TileBlock((*tiles, _verdict_tile(content.verification)))
    if latest is None:
        yield TextBlock(("No run is recorded in the checkpoint.",))
    elif latest.error:
        yield TextBlock((Words("Last error", WordKind.NO), f" {latest.error}"))


def _verdict_tile(verification: Mapping[str, object] | None) -> Tile:
    if verification is None:
        return Tile("Verification", "not given")
    if verification["good"]:
        return Tile("Verification", "good", WordKind.YES)
    return Tile("Verification", "not good", WordKind.NO)


# --- the plan ---------------------------------------------------------------------------------------------------------


def _mapping(content: PageContent) -> Iterator[Block]:
    plan = content.plan
    filled = [row for row in plan.rows() if row.target]
    by_way = Counter(row.how for row in filled)
    ways = ", ".join(f"{count} {way}" for way, count in by_way.most_common())
    coverage = f"{counted(len(filled), 'field')} of the target: {ways}."
    if plan.dropped:
        coverage += f" {counted(len(plan.dropped), 'field')} of the source dropped."
    if content.problems:
        yield TextBlock((Words("Not complete:", WordKind.NO), f" {len(content.problems)} open."))
    else:
        yield TextBlock((Words("Complete.", WordKind.YES), f" {coverage}"))
    rows = [(_code(row.target) or "(none)", row.how, _code(row.source), row.note) for row in plan.rows()]
    yield from _list("Open", content.problems)
    yield TableBlock(("target field", "how", "from", "note"), rows, "How each field of the target is filled")
    yield from _list("Fields of the source that the target does not keep", [str(loss) for loss in content.losses])
    yield from _list("Notes", plan.notes)


def _code(text: str) -> Words | None:
    return Words(text, WordKind.CODE) if text else None


def _list(title: str, items: Sequence[str]) -> Iterator[Block]:
    if items:
        yield ListBlock(title, tuple(items))


# --- the runs ---------------------------------------------------------------------------------------------------------


def _runs(content: PageContent) -> Iterator[Block]:
    runs = content.runs()
    if not runs:
        yield TextBlock(("No run is recorded in the checkpoint.",))
        return
    drawn = next((run for run in reversed(runs) if any(state.batches for state in run)), None)
    if drawn is not None:
        yield from _drawn_run(drawn)
        yield HeadingBlock("All runs")
    rows: list[Sequence[Cell]] = []
    for run in reversed(runs):
        end = run[-1]
        took_s = (end.ts - end.started_ts) / 1000
        counts = (end.batches, end.read, end.converted, end.dead_letter_count, end.written_bytes)
        rows.append(
            (_moment(end.started_ts), duration(took_s), str(end.state), end.engine, *(f"{each:,}" for each in counts))
        )
    titles = ("started", "took", "state", "engine", "batches", "read", "converted", "dead letters", "bytes written")
    yield TableBlock(titles, rows, "The runs, the latest first", numbers=5)


def _drawn_run(run: Sequence[RunSnapshot]) -> Iterator[Block]:
    batches = [state for number, state in enumerate(run) if state.batches and state.batch != run[number - 1].batch]
    rates = [PlotPoint(each.ts, each.batch_records / each.batch_s) for each in batches if each.batch_s]
    yield HeadingBlock(f"The latest run with records, from {_moment(run[0].started_ts)}")
    if rates:
        yield PlotBlock("throughput", "Throughput of each batch", "records/s", rates)
    yield PlotBlock("lag", "Lag", "offsets", [PlotPoint(each.ts, each.lag) for each in run])
    partitions = [
        (str(each.partition), f"{each.begin:,}", f"{each.position:,}", f"{each.end:,}", f"{each.lag:,}")
        for each in run[-1].partitions
    ]
    yield TableBlock(
        ("partition", "first offset", "next offset", "end", "lag"),
        partitions,
        "The partitions of the source at the end of this run",
        numbers=4,
    )


# --- dead letters and verification ------------------------------------------------------------------------------------


def _dead_letters(content: PageContent) -> Iterator[Block]:
    counts: Counter[str] = Counter()
    for run in content.runs():
        counts.update(run[-1].dead_letters)
    found = content.dead_letters
    rows = [(_code(code), f"{count:,}") for code, count in counts.most_common()]
    if rows:
        about = "Records that could not be converted, in the recorded runs"
        yield TableBlock(("reason", "records"), rows, about, numbers=1)
    else:
        yield TextBlock(("The recorded runs have no dead letters.",))
    if found is None:
        yield TextBlock((Words("The dead-letter topic was not read.", WordKind.QUIET),))
        return
    about = (
        f"Examples from the last {counted(found.records, 'dead letter', spec=',')} of the topic. Values, and "
        "sentences that may quote them, are hidden unless they were requested; those of fields tagged PII always."
    )
    yield TextBlock((Words(about, WordKind.QUIET),))
    for code, examples in found.examples.items():
        lines = [
            (
                f"{each.partition}/{each.offset}",
                _code(each.field),
                _shown(each.text),
                _shown(each.value),
                f"{each.size:,}",
            )
            for each in examples
        ]
        titles = ("partition/offset", "field", "reason", "value", "bytes")
        yield TableBlock(titles, lines, f"{code}: {found.counts[code]:,} of these", numbers=1)


def _shown(text: str) -> Words:
    return Words(text, WordKind.QUIET if text == HIDDEN else WordKind.CODE)


def _verification(found: Mapping[str, Json] | None) -> Iterator[Block]:
    if found is None:
        command = Words("counterfoil bridge verify --format json=verify.json", WordKind.CODE)
        option = Words("--verification verify.json", WordKind.CODE)
        yield TextBlock(("No verification was given. ", command, " makes one; ", option, " adds it here."))
        return
    totals = found["totals"]
    if found["good"]:
        yield TextBlock((Words("Good:", WordKind.YES), f" {totals['source']:,} records, each exactly once."))
    else:
        yield TextBlock((Words("Not good.", WordKind.NO), " The faults are in the table."))
    names = ("source", "converted", "tombstones", "dead_letters", "echoes", "recomputed")
    faults = [name for name in totals if name not in names]
    rows: list[Sequence[Cell]] = [(name.replace("_", " "), f"{totals[name]:,}") for name in names]
    rows += [(f"fault: {name.replace('_', ' ')}", _fault_count(totals[name])) for name in faults]
    yield TableBlock(("what", "records"), rows, "Counts of the verification", numbers=1)
    examples = [
        f"partition {each['partition']}, {kind.replace('_', ' ')}: {', '.join(places)}"
        for each in found["partitions"]
        for kind, places in each["examples"].items()
    ]
    yield from _list("Where", examples)


def _fault_count(count: int) -> Cell:
    return Words(f"{count:,}", WordKind.NO) if count else "0"


def _moment(ts: int) -> str:
    return datetime.fromtimestamp(ts / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


# ``counterfoil bridge report``: the page about a bridge, written to a file.


def report_bridge(
    *,
    file: Path,
    registry: RegistryAccess,
    kafka: KafkaAccess | None,
    checkpoint: Path | str | None,
    verification: Path | None,
    show_values: bool,
    out: Path,
    as_json: bool,
) -> ExitCode:
    """Run ``bridge report``: write a page about a bridge, its plan, its runs and its dead letters."""
    declared = load_bridge_file(file)
    if show_values and kafka is None:
        raise click.UsageError("--show-values needs --bootstrap-servers: values are those of the dead-letter topic")
    dead_letters = None
    with registry.open() as client:
        resolved = resolve(declared, client)
        if kafka is not None:
            values = values_of(resolved, client) if show_values else None
            dead_letters = read_dead_letters(resolved, named_cluster(kafka), values)
    content = PageContent(
        file=declared,
        plan=resolved.plan,
        problems=resolved.problems,
        losses=resolved.losses,
        history=read_history(checkpoint_of(file, declared.name, checkpoint).folder),
        dead_letters=dead_letters,
        verification=None if verification is None else _stored_verification(verification),
        made_ts=now_ms(),
    )
    if as_json and is_printed(out):
        raise click.UsageError("--out - prints the page, and --json where it is; give one of them")
    if is_printed(out):
        click.echo(page_of(content), nl=False)
        return ExitCode.OK
    try:
        out.write_text(page_of(content), encoding="utf-8")
    except OSError as refusal:
        raise BridgeError(f"The page cannot be written to {out}: {refusal.strerror}") from None
    if as_json:
        print_json({"bridge": declared.name, "page": str(out)})
    else:
        click.echo(f"wrote {out}")
    return ExitCode.OK


def _stored_verification(path: Path) -> JsonObject:
    """Return the JSON report of ``bridge verify`` in a file."""
    try:
        found: JsonObject = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as refusal:
        raise BridgeError(f"The verification {path} cannot be read: {why_unreadable(refusal)}") from None
    is_report = isinstance(found, dict) and {"good", "totals", "partitions"} <= found.keys()
    if not is_report or not {"source", "converted", "recomputed"} <= found["totals"].keys():
        raise BridgeError(f"{path} is not what 'counterfoil bridge verify --format json={path.name}' writes")
    return found
