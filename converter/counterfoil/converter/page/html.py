"""HTML as values: elements that escape their texts, so that no text of a record or schema can become markup."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

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
