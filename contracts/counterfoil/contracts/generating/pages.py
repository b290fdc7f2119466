"""Pages as values, printed as Markdown or as HTML without network and scripts."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, TypeAlias

from counterfoil.schema.reports.html import page_head
from counterfoil.schema.reports.markdown import code, plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


@dataclass(frozen=True, slots=True)
class Heading:
    """The title of a section."""

    text: str


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A text."""

    text: str


@dataclass(frozen=True, slots=True)
class Table:
    """A table; the cells of the first column are names."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


Block: TypeAlias = Heading | Paragraph | Table


@dataclass(frozen=True, slots=True)
class Page:
    """A page: its title and its blocks."""

    title: str
    blocks: Sequence[Block]


def markdown(page: Page) -> str:
    """Return the page as Markdown."""
    return "\n".join([f"# {plain(page.title)}", *(line for block in page.blocks for line in _markdown(block))]) + "\n"


def html(page: Page) -> str:
    """Return the page as one HTML file."""
    return "\n".join(_html(page)) + "\n"


def _markdown(block: Block) -> Iterator[str]:
    yield ""
    match block:
        case Heading():
            yield f"## {plain(block.text)}"
        case Paragraph():
            yield plain(block.text)
        case Table():
            yield _row(block.columns)
            yield _row(["---"] * len(block.columns))
            for name, *others in block.rows:
                yield _row([code(name) if name else "", *map(plain, others)])


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _html(page: Page) -> Iterator[str]:
    yield from page_head(page.title)
    for block in page.blocks:
        match block:
            case Heading():
                yield f"<h2>{escape(block.text)}</h2>"
            case Paragraph():
                yield f"<p>{escape(block.text)}</p>"
            case Table():
                head = "".join(f"<th>{escape(cell)}</th>" for cell in block.columns)
                yield f"<table>\n<tr>{head}</tr>"
                yield from map(_html_row, block.rows)
                yield "</table>"
    yield "</body>\n</html>"


def _html_row(cells: Sequence[str]) -> str:
    name, *others = cells
    return f"<tr><td><code>{escape(name)}</code></td>{''.join(f'<td>{escape(cell)}</td>' for cell in others)}</tr>"
