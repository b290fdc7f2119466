"""HTML as values that escape their texts, and line plots as SVG with a table of their figures."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence


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
