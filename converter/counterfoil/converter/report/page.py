"""``counterfoil bridge report``: the page with a summary, the plan, the progress as plots, and dead letters."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from importlib import metadata, resources
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

import click

from counterfoil.converter.bridge import load_bridge_file, resolve
from counterfoil.converter.errors import BridgeError, why_unreadable
from counterfoil.converter.kafka.cluster import named_cluster
from counterfoil.converter.monitoring.observers import read_history
from counterfoil.converter.report.dead_letters import HIDDEN, DeadLetters, read_dead_letters, values_of
from counterfoil.converter.run.checkpoint import default_folder
from counterfoil.converter.run.progress import RunSnapshot, RunState, duration, now_ms
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


# HTML as values: elements that escape their texts, so that no text of a record or schema can become markup.

_NARROW = 2
_EMPTY = frozenset({"meta", "line", "polyline", "circle", "path", "rect"})


@dataclass(frozen=True, slots=True)
class Markup:
    """Text that is HTML already."""

    text: str


Content: TypeAlias = "Markup | str | None"
"""A part of an element: markup, a text to escape, or nothing."""


def element(tag: str, /, *content: Content, **attributes: str | float | None) -> Markup:
    """Return an element; an underscore at the end of an attribute's name is left out, others become dashes.

    >>> element("p", "1 < 2", element("b", "!"), class_="note").text
    '<p class="note">1 &lt; 2<b>!</b></p>'
    """
    spelt = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if tag in _EMPTY:
        return Markup(f"<{tag}{spelt}/>" if tag != "meta" else f"<{tag}{spelt}>")
    return Markup(f"<{tag}{spelt}>{joined(*content).text}</{tag}>")


def joined(*content: Content) -> Markup:
    """Return the parts one after the other."""
    return Markup("".join(part.text if isinstance(part, Markup) else escape(part or "") for part in content))


def table(caption: str, titles: tuple[str, ...], rows: Sequence[tuple[Content, ...]], *, numbers: int = 0) -> Markup:
    """Return a table that scrolls by itself if it is wide; the last ``numbers`` columns have numbers.

    The first cell of a row is its heading.
    """
    plain = len(titles) - numbers
    head = element("tr", *(element("th", each, scope="col", class_=_kind(i, plain)) for i, each in enumerate(titles)))
    body = [
        element(
            "tr",
            element("th", row[0], scope="row", class_=_kind(0, plain)),
            *(element("td", cell, class_=_kind(i, plain)) for i, cell in enumerate(row[1:], start=1)),
        )
        for row in rows
    ]
    whole = element("table", element("caption", caption), element("thead", head), element("tbody", *body))
    kind = "scroll" if len(titles) > _NARROW else "scroll narrow"
    return element("div", whole, class_=kind, role="region", aria_label=caption, tabindex=0)


def _kind(column: int, plain: int) -> str | None:
    return "number" if column >= plain else None


# Line plots as SVG inside a page: one value over time, with a table of its figures for those who cannot see it.

_WIDTH: Final = 720
_HEIGHT: Final = 220
_LEFT: Final = 64
_BOTTOM: Final = 28
_TOP: Final = 12
_RIGHT: Final = 12
_MOST_POINTS: Final = 360
_MOST_ROWS: Final = 12
_STEPS: Final = (1, 2, 2.5, 5, 10)
_LINES: Final = 4
_UNITS: Final = ((10**9, "G"), (10**6, "M"), (10**3, "k"))
_DAY_MS: Final = 24 * 3600 * 1000


@dataclass(frozen=True, slots=True)
class Point:
    """A value at a time in epoch milliseconds."""

    ts: int
    value: float


def line_plot(name: str, title: str, unit: str, points: Sequence[Point]) -> Markup:
    """Return a figure with the values over time; ``name`` is its id in the page."""
    shown = thinned(points, _MOST_POINTS)
    highest = max((each.value for each in shown), default=0)
    ticks = scale_of(highest)
    first, last = shown[0].ts, shown[-1].ts
    span = max(last - first, 1)

    def place(point: Point) -> tuple[float, float]:
        x = _LEFT + (point.ts - first) / span * (_WIDTH - _LEFT - _RIGHT) if last > first else _WIDTH / 2
        return round(x, 1), _y(point.value, ticks[-1])

    said = f"{title}: {_figure(points[-1].value)} {unit} at the end, at most {_figure(highest)}"
    drawing = element(
        "svg",
        element("title", title, id=f"{name}-title"),
        element("desc", said, id=f"{name}-desc"),
        *_grid(ticks),
        *_times(first, last),
        element("polyline", points=" ".join(f"{x},{y}" for x, y in map(place, shown)), class_="curve"),
        *([] if len(shown) > _MOST_ROWS else [_dot(*place(each)) for each in shown]),
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        role="img",
        aria_labelledby=f"{name}-title {name}-desc",
    )
    rows = [(_clock(each.ts, span), _figure(each.value)) for each in thinned(points, _MOST_ROWS)]
    figures = element(
        "details", element("summary", "Figures"), table(f"{title}, {unit}", ("time (UTC)", unit), rows, numbers=1)
    )
    caption = element("figcaption", element("strong", title), f" ({unit}): {said.partition(': ')[2]}")
    return element("figure", joined(caption, drawing, figures))


def thinned(points: Sequence[Point], most: int) -> list[Point]:
    """Return at most ``most`` points: means of neighbours, and always the last one as it is."""
    if len(points) <= most:
        return list(points)
    bounds = [round(number * (len(points) - 1) / (most - 1)) for number in range(most)]
    groups = [points[begin:end] for begin, end in pairwise(bounds)]
    means = [Point(group[len(group) // 2].ts, sum(each.value for each in group) / len(group)) for group in groups]
    return [*means, points[-1]]


def scale_of(highest: float) -> list[float]:
    """Return the values at the lines of a plot, from 0 to one that is not below ``highest``.

    >>> scale_of(83_000)
    [0, 25000.0, 50000.0, 75000.0, 100000.0]
    """
    if highest <= 0:
        return [0, 1]
    rough = highest / _LINES
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(size * each for each in _STEPS if size * each >= rough)
    return [step * number if number else 0 for number in range(math.ceil(highest / step) + 1)]


def _y(value: float, top: float) -> float:
    return round(_HEIGHT - _BOTTOM - value / top * (_HEIGHT - _BOTTOM - _TOP), 1)


def _grid(ticks: Sequence[float]) -> list[Markup]:
    parts = []
    for tick in ticks:
        y = _y(tick, ticks[-1])
        parts.append(element("line", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=y, y2=y, class_="axis" if tick == 0 else "grid"))
        parts.append(element("text", _short(tick), x=_LEFT - 8, y=y + 4, class_="tick end"))
    return parts


def _times(first: int, last: int) -> list[Markup]:
    y = _HEIGHT - 8
    if first == last:
        return [element("text", _clock(first, 0), x=_WIDTH / 2, y=y, class_="tick middle")]
    return [
        element("text", _clock(first, last - first), x=_LEFT, y=y, class_="tick"),
        element("text", _clock((first + last) // 2, last - first), x=(_LEFT + _WIDTH) / 2, y=y, class_="tick middle"),
        element("text", _clock(last, last - first), x=_WIDTH - _RIGHT, y=y, class_="tick end"),
    ]


def _dot(x: float, y: float) -> Markup:
    return element("circle", cx=x, cy=y, r=3.5, class_="dot")


def _clock(ts: int, span_ms: int) -> str:
    """Return a time of day, with the date if the plot is of more than a day."""
    moment = datetime.fromtimestamp(ts / 1000, UTC)
    return moment.strftime("%Y-%m-%d %H:%M" if span_ms > _DAY_MS else "%H:%M:%S")


def _figure(value: float) -> str:
    """Return a number as a reader needs it: whole, with separators.

    >>> _figure(1234.5), _figure(0.25)
    ('1,234', '0.25')
    """
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:,.2f}"  # noqa: PLR2004 - one digit


def _short(value: float) -> str:
    """Return the number at a line of a plot, with a unit if it is large.

    >>> _short(2_500_000), _short(75_000), _short(0.5)
    ('2.5 M', '75 k', '0.5')
    """
    for size, unit in _UNITS:
        if value >= size:
            return f"{value / size:g} {unit}"
    return f"{value:g}"


# The page: a summary, the plan, the course of the runs, dead letters, the verification.

_NO_NETWORK: Final = "default-src 'none'; style-src 'unsafe-inline'"


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
    name = content.file.name
    sections = [
        ("summary", "Summary", _summary(content)),
        ("mapping", "Mapping", _mapping(content)),
        ("runs", "Runs", _runs(content)),
        ("dead-letters", "Dead letters", _dead_letters(content)),
        ("verification", "Verification", _verification(content.verification)),
    ]
    style = resources.files("counterfoil.converter.report").joinpath("style.css").read_text(encoding="utf-8")
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_NO_NETWORK),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", f"Bridge {name}"),
        element("style", Markup(style)),
    )
    links = [element("li", element("a", title, href=f"#{key}")) for key, title, _ in sections]
    body = element(
        "body",
        element("a", "Skip to the summary", href="#summary", class_="skip"),
        element(
            "header",
            element("h1", f"Bridge {name}"),
            element("p", *_route(content), class_="soft"),
            element("nav", element("ul", *links), aria_label="Sections"),
        ),
        element(
            "main",
            *(
                element(
                    "section", element("h2", title, id=f"{key}-title"), part, id=key, aria_labelledby=f"{key}-title"
                )
                for key, title, part in sections
            ),
        ),
        element("footer", f"Made by counterfoil {metadata.version('counterfoil')}, {_moment(content.made_ts)}."),
    )
    return f"<!doctype html>\n{element('html', head, body, lang='en').text}\n"


def _route(content: PageContent) -> Iterator[Content]:
    file = content.file
    yield "From topic "
    yield element("code", file.source_topic)
    yield " to "
    yield element("code", file.target_topic)
    yield ", dead letters to "
    yield element("code", file.dead_letter_topic)
    yield f". Delivery {file.delivery}, plan "
    yield element("code", content.plan.hash[:16])
    yield "."


def _summary(content: PageContent) -> Markup:
    latest = content.history[-1] if content.history else None
    ends = [run[-1] for run in content.runs()]
    tiles: list[Content] = []
    if latest is not None:
        dead = sum(each.dead_letter_count for each in ends)
        tiles = [
            _tile("Latest run", str(latest.state), "bad" if latest.state is RunState.FAILED else None),
            _tile("Converted", f"{sum(each.converted for each in ends):,}"),
            _tile("Dead letters", f"{dead:,}", "bad" if dead else "good"),
            _tile("Tombstones", f"{sum(each.tombstones for each in ends):,}"),
            _tile("Lag", f"{latest.lag:,}"),
            _tile("Rate", f"{latest.rate_per_s:,.0f}/s"),
        ]
    tiles.append(_verdict_tile(content.verification))
    error = None
    if latest is not None and latest.error:
        error = element("p", element("strong", "Last error: ", class_="bad"), latest.error)
    nothing = element("p", "No run is recorded in the checkpoint.") if latest is None else None
    return joined(element("dl", *tiles, class_="tiles"), error, nothing)


def _tile(name: str, figure: str, kind: str | None = None) -> Markup:
    return element("div", element("dt", name), element("dd", figure, class_=kind))


def _verdict_tile(verification: Mapping[str, object] | None) -> Markup:
    if verification is None:
        return _tile("Verification", "not given")
    return _tile("Verification", "good", "good") if verification["good"] else _tile("Verification", "not good", "bad")


# --- the plan ---------------------------------------------------------------------------------------------------------


def _mapping(content: PageContent) -> Markup:
    plan = content.plan
    filled = [row for row in plan.rows() if row.target]
    by_way = Counter(row.how for row in filled)
    ways = ", ".join(f"{count} {way}" for way, count in by_way.most_common())
    coverage = f"{counted(len(filled), 'field')} of the target: {ways}."
    if plan.dropped:
        coverage += f" {counted(len(plan.dropped), 'field')} of the source dropped."
    state = (
        element("p", element("strong", "Not complete: ", class_="bad"), f"{len(content.problems)} open.")
        if content.problems
        else element("p", element("strong", "Complete. ", class_="good"), coverage)
    )
    rows: list[tuple[Content, ...]] = [
        (_code(row.target) or "(none)", row.how, _code(row.source), row.note) for row in plan.rows()
    ]
    return joined(
        state,
        _list("Open", content.problems),
        table("How each field of the target is filled", ("target field", "how", "from", "note"), rows),
        _list("Fields of the source that the target does not keep", [str(loss) for loss in content.losses]),
        _list("Notes", plan.notes),
    )


def _code(text: str) -> Markup | None:
    return element("code", text) if text else None


def _list(title: str, items: Sequence[str]) -> Markup | None:
    if not items:
        return None
    return joined(element("h3", title), element("ul", *(element("li", each) for each in items)))


# --- the runs ---------------------------------------------------------------------------------------------------------


def _runs(content: PageContent) -> Markup:
    runs = content.runs()
    if not runs:
        return element("p", "No run is recorded in the checkpoint.")
    drawn = next((run for run in reversed(runs) if any(state.batches for state in run)), None)
    rows: list[tuple[Content, ...]] = []
    for run in reversed(runs):
        end = run[-1]
        took_s = (end.ts - end.started_ts) / 1000
        counts = (end.batches, end.read, end.converted, end.dead_letter_count, end.written_bytes)
        rows.append(
            (_moment(end.started_ts), duration(took_s), str(end.state), end.engine, *(f"{each:,}" for each in counts))
        )
    titles = ("started", "took", "state", "engine", "batches", "read", "converted", "dead letters", "bytes written")
    whole = table("The runs, the latest first", titles, rows, numbers=5)
    if drawn is None:
        return whole
    batches = [state for number, state in enumerate(drawn) if state.batches and state.batch != drawn[number - 1].batch]
    rates = [Point(each.ts, each.batch_records / each.batch_s) for each in batches if each.batch_s]
    plots = [element("h3", f"The latest run with records, from {_moment(drawn[0].started_ts)}")]
    if rates:
        plots.append(line_plot("throughput", "Throughput of each batch", "records/s", rates))
    plots.append(line_plot("lag", "Lag", "offsets", [Point(each.ts, each.lag) for each in drawn]))
    partitions: list[tuple[Content, ...]] = [
        (str(each.partition), f"{each.begin:,}", f"{each.position:,}", f"{each.end:,}", f"{each.lag:,}")
        for each in drawn[-1].partitions
    ]
    last = table(
        "The partitions of the source at the end of this run",
        ("partition", "first offset", "next offset", "end", "lag"),
        partitions,
        numbers=4,
    )
    return joined(*plots, last, element("h3", "All runs"), whole)


# --- dead letters and verification ------------------------------------------------------------------------------------


def _dead_letters(content: PageContent) -> Markup:
    counts: Counter[str] = Counter()
    for run in content.runs():
        counts.update(run[-1].dead_letters)
    found = content.dead_letters
    rows: list[tuple[Content, ...]] = [(_code(code), f"{count:,}") for code, count in counts.most_common()]
    parts = [
        table("Records that could not be converted, in the recorded runs", ("reason", "records"), rows, numbers=1)
        if rows
        else element("p", "The recorded runs have no dead letters.")
    ]
    if found is None:
        return joined(*parts, element("p", "The dead-letter topic was not read.", class_="soft"))
    parts.append(
        element(
            "p",
            f"Examples from the last {counted(found.records, 'dead letter', spec=',')} of the topic. Values, and "
            "sentences that may quote them, are hidden unless they were requested; those of fields tagged PII always.",
            class_="soft",
        )
    )
    for code, examples in found.examples.items():
        lines: list[tuple[Content, ...]] = [
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
        parts.append(table(f"{code}: {found.counts[code]:,} of these", titles, lines, numbers=1))
    return joined(*parts)


def _shown(text: str) -> Markup:
    return element("span", text, class_="soft") if text == HIDDEN else element("code", text)


def _verification(found: Mapping[str, Json] | None) -> Markup:
    if found is None:
        return element(
            "p",
            "No verification was given. ",
            element("code", "counterfoil bridge verify --format json=verify.json"),
            " makes one; ",
            element("code", "--verification verify.json"),
            " adds it here.",
        )
    totals = found["totals"]
    verdict = (
        element("p", element("strong", "Good: ", class_="good"), f"{totals['source']:,} records, each exactly once.")
        if found["good"]
        else element("p", element("strong", "Not good.", class_="bad"), " The faults are in the table.")
    )
    names = ("source", "converted", "tombstones", "dead_letters", "echoes", "recomputed")
    faults = [name for name in totals if name not in names]
    rows: list[tuple[Content, ...]] = [(name.replace("_", " "), f"{totals[name]:,}") for name in names]
    rows += [(f"fault: {name.replace('_', ' ')}", _fault_count(totals[name])) for name in faults]
    parts = [
        verdict,
        table("Counts of the verification", ("what", "records"), rows, numbers=1),
    ]
    examples = [
        f"partition {each['partition']}, {kind.replace('_', ' ')}: {', '.join(places)}"
        for each in found["partitions"]
        for kind, places in each["examples"].items()
    ]
    return joined(*parts, _list("Where", examples))


def _fault_count(count: int) -> Content:
    return element("strong", f"{count:,}", class_="bad") if count else "0"


def _moment(ts: int) -> str:
    return datetime.fromtimestamp(ts / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


# ``counterfoil bridge report``: the page about a bridge, written to a file.


def report_bridge(
    *,
    file: Path,
    registry: RegistryAccess,
    kafka: KafkaAccess | None,
    checkpoint: Path | None,
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
        history=read_history(checkpoint or default_folder(file, declared.name)),
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
