"""Drawings as numbers: where a template draws the marks of a timeline, the boxes of a graph, the line of a plot.

Every drawing is bounded: what does not fit into it is left to the table beside it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from counterfoil.pages.markup import day_of
from counterfoil.schema.rest.inspection import ReferenceEdge, ReferenceGraph, VersionStep

# The versions of a subject on a line.

_TIMELINE_WIDTH: Final = 960
_TIMELINE_HEIGHT: Final = 74
_TIMELINE_EDGE: Final = 28
_MOST_MARKS: Final = 40
_LEAST_GAP: Final = 22
_LABEL_GAP: Final = 30


@dataclass(frozen=True, slots=True)
class VersionMark:
    """A version on a timeline, with its place and whether its number fits beside it."""

    step: VersionStep
    x: float
    is_labelled: bool


@dataclass(frozen=True, slots=True)
class TimelineDrawing:
    """The last versions of a subject: to the scale of their times where these are known and wide enough apart.

    ``left_out`` is the number of earlier versions; ``first`` and ``last`` are days, empty if they are not known.
    """

    width: int
    height: int
    y: int
    marks: tuple[VersionMark, ...]
    is_to_scale: bool
    left_out: int
    first: str
    last: str


def lay_out_timeline(versions: Sequence[VersionStep]) -> TimelineDrawing:
    """Return the drawing of the versions, at most forty of them."""
    steps = versions[-_MOST_MARKS:]
    scaled = _scaled_places(steps)
    places = scaled or _even_places(len(steps))
    marks: list[VersionMark] = []
    free = -math.inf
    for step, x in zip(reversed(steps), reversed(places), strict=True):
        is_labelled = marks == [] or free - x >= _LABEL_GAP
        free = x if is_labelled else free
        marks.append(VersionMark(step, x, is_labelled))
    times = [each.registered for each in steps if each.registered is not None]
    return TimelineDrawing(
        width=_TIMELINE_WIDTH,
        height=_TIMELINE_HEIGHT,
        y=34,
        marks=tuple(reversed(marks)),
        is_to_scale=bool(scaled),
        left_out=len(versions) - len(steps),
        first=day_of(min(times)) if times else "",
        last=day_of(max(times)) if times else "",
    )


def _even_places(count: int) -> list[float]:
    if count == 1:
        return [_TIMELINE_WIDTH / 2]
    width = min(_TIMELINE_WIDTH - 2 * _TIMELINE_EDGE, 160 * (count - 1))
    return [round(_TIMELINE_EDGE + width * number / (count - 1), 1) for number in range(count)]


def _scaled_places(steps: Sequence[VersionStep]) -> list[float]:
    """Return places to the scale of time, moved apart where marks would touch; none if a time is not known."""
    times = [each.registered for each in steps if each.registered is not None]
    if len(times) < len(steps) or len(times) < 2 or sorted(times) != times or times[0] == times[-1]:  # noqa: PLR2004 (a scale has two ends)
        return []
    span = times[-1] - times[0]
    width = _TIMELINE_WIDTH - 2 * _TIMELINE_EDGE
    spare = width - _LEAST_GAP * (len(times) - 1)
    if spare <= 0:
        return []
    return [
        round(_TIMELINE_EDGE + _LEAST_GAP * number + (each - times[0]) / span * spare, 1)
        for number, each in enumerate(times)
    ]


# References as a graph of boxes in columns.

_MOST_NODES: Final = 60
_BOX_WIDTH: Final = 200
_BOX_HEIGHT: Final = 34
_COLUMN_GAP: Final = 54
_ROW_GAP: Final = 14
_MARGIN: Final = 8


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A version in a graph, in a box whose upper left corner is at ``x`` and ``y``."""

    subject: str
    version: int
    x: int
    y: int
    is_centre: bool


@dataclass(frozen=True, slots=True)
class GraphLine:
    """An arrow from the right side of a box to the left side of another one."""

    x1: int
    y1: int
    x2: int
    y2: int


@dataclass(frozen=True, slots=True)
class GraphDrawing:
    """A graph in columns: what refers to the version is left of it, what it refers to is right of it."""

    width: int
    height: int
    box_width: int
    box_height: int
    nodes: tuple[GraphNode, ...]
    lines: tuple[GraphLine, ...]


def lay_out_graph(graph: ReferenceGraph) -> GraphDrawing | None:
    """Return the drawing of a graph, None if it has no edge or more than sixty versions: then the list says it."""
    columns = _columns(graph)
    if len(columns) > _MOST_NODES or len(columns) < 2:  # noqa: PLR2004 (an edge has two ends)
        return None
    first = min(columns.values())
    rows: dict[int, list[tuple[str, int]]] = {}
    for node, column in columns.items():
        rows.setdefault(column - first, []).append(node)
    tallest = max(map(len, rows.values()))
    height = 2 * _MARGIN + tallest * (_BOX_HEIGHT + _ROW_GAP) - _ROW_GAP
    places: dict[tuple[str, int], tuple[int, int]] = {}
    for column, nodes in rows.items():
        top = (height - len(nodes) * (_BOX_HEIGHT + _ROW_GAP) + _ROW_GAP) // 2
        for row, node in enumerate(nodes):
            places[node] = (_MARGIN + column * (_BOX_WIDTH + _COLUMN_GAP), top + row * (_BOX_HEIGHT + _ROW_GAP))
    centre = (graph.subject, graph.version)
    width = 2 * _MARGIN + (max(rows) + 1) * (_BOX_WIDTH + _COLUMN_GAP) - _COLUMN_GAP
    return GraphDrawing(
        width=width,
        height=height,
        box_width=_BOX_WIDTH,
        box_height=_BOX_HEIGHT,
        nodes=tuple(GraphNode(*node, *place, node == centre) for node, place in places.items()),
        lines=tuple(
            _line(places, each) for each in graph.edges if _ends(each)[0] in places and _ends(each)[1] in places
        ),
    )


def _ends(edge: ReferenceEdge) -> tuple[tuple[str, int], tuple[str, int]]:
    return (edge.subject, edge.version), (edge.to_subject, edge.to_version)


def _line(places: dict[tuple[str, int], tuple[int, int]], edge: ReferenceEdge) -> GraphLine:
    source, target = (places[each] for each in _ends(edge))
    middle = _BOX_HEIGHT // 2
    return GraphLine(source[0] + _BOX_WIDTH, source[1] + middle, target[0], target[1] + middle)


def _columns(graph: ReferenceGraph) -> dict[tuple[str, int], int]:
    """Return the column of each version: 0 for the one in question, one more for each reference away from it.

    Every edge is followed once in each direction, so that the steps are at most twice as many as the edges.
    """
    targets: dict[tuple[str, int], list[tuple[str, int]]] = {}
    sources: dict[tuple[str, int], list[tuple[str, int]]] = {}
    for edge in graph.edges:
        source, target = _ends(edge)
        targets.setdefault(source, []).append(target)
        sources.setdefault(target, []).append(source)
    centre = (graph.subject, graph.version)
    columns = {centre: 0}
    for following, step in ((targets, 1), (sources, -1)):
        level, column = [centre], 0
        while level and len(columns) <= _MOST_NODES:
            column += step
            found = dict.fromkeys(each for node in level for each in following.get(node, ()))
            level = [each for each in found if each not in columns]
            columns.update(dict.fromkeys(level, column))
    return columns


# One value over time.

_PLOT_WIDTH: Final = 720
_PLOT_HEIGHT: Final = 220
_LEFT: Final = 64
_BOTTOM: Final = 28
_TOP: Final = 12
_RIGHT: Final = 12
_MOST_POINTS: Final = 360
_MOST_ROWS: Final = 12
_STEPS: Final = (1, 2, 2.5, 5, 10)
_LINES: Final = 4
_UNITS: Final = ((10**9, "G"), (10**6, "M"), (10**3, "k"))


@dataclass(frozen=True, slots=True)
class PlotPoint:
    """A value at a time in epoch milliseconds."""

    ts: int
    value: float


@dataclass(frozen=True, slots=True)
class PlotTick:
    """A horizontal line of a plot with its label."""

    y: float
    label: str
    is_axis: bool


@dataclass(frozen=True, slots=True)
class PlotDrawing:
    """A line plot: its line, its dots if there are few, its horizontal lines, and the figures of the table beside it.

    ``times`` are the times (epoch ms) that are written below it, with their places; ``span`` is from the first to the
    last in milliseconds.
    """

    width: int
    height: int
    left: int
    right: int
    curve: str
    dots: tuple[tuple[float, float], ...]
    ticks: tuple[PlotTick, ...]
    times: tuple[tuple[float, int], ...]
    figures: tuple[PlotPoint, ...]
    last: float
    highest: float
    span: int


def lay_out_plot(points: Sequence[PlotPoint]) -> PlotDrawing:
    """Return the plot of some points, of which there is at least one, in the order of their times."""
    drawn = thinned(points, _MOST_POINTS)
    highest = max(each.value for each in drawn)
    scale = scale_of(highest)
    first, last = drawn[0].ts, drawn[-1].ts
    places = [(_x(each.ts, first, last), _y(each.value, scale[-1])) for each in drawn]
    times = (first,) if first == last else (first, (first + last) // 2, last)
    return PlotDrawing(
        width=_PLOT_WIDTH,
        height=_PLOT_HEIGHT,
        left=_LEFT,
        right=_PLOT_WIDTH - _RIGHT,
        curve=" ".join(f"{x},{y}" for x, y in places),
        dots=tuple(places) if len(places) <= _MOST_ROWS else (),
        ticks=tuple(PlotTick(_y(each, scale[-1]), short_number(each), each == 0) for each in scale),
        times=tuple((_x(each, first, last), each) for each in times),
        figures=tuple(thinned(points, _MOST_ROWS)),
        last=points[-1].value,
        highest=highest,
        span=last - first,
    )


def thinned(points: Sequence[PlotPoint], most: int) -> list[PlotPoint]:
    """Return at most ``most`` points: means of neighbours, and always the last one as it is."""
    if len(points) <= most:
        return list(points)
    bounds = [round(number * (len(points) - 1) / (most - 1)) for number in range(most)]
    groups = [points[begin:end] for begin, end in pairwise(bounds)]
    means = [PlotPoint(group[len(group) // 2].ts, sum(each.value for each in group) / len(group)) for group in groups]
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


def short_number(value: float) -> str:
    """Return the number at a line of a plot, with a unit if it is large.

    >>> short_number(2_500_000), short_number(75_000), short_number(0.5)
    ('2.5 M', '75 k', '0.5')
    """
    for size, unit in _UNITS:
        if value >= size:
            return f"{value / size:g} {unit}"
    return f"{value:g}"


def _x(ts: int, first: int, last: int) -> float:
    if last <= first:
        return _PLOT_WIDTH / 2
    return round(_LEFT + (ts - first) / (last - first) * (_PLOT_WIDTH - _LEFT - _RIGHT), 1)


def _y(value: float, top: float) -> float:
    return round(_PLOT_HEIGHT - _BOTTOM - value / top * (_PLOT_HEIGHT - _BOTTOM - _TOP), 1)
