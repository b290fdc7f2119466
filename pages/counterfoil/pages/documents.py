"""Documents as values: a page of sections with texts, tables, lists, figures and plots, for files such as reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, TypeAlias

from counterfoil.pages.svg import PlotPoint

# Texts.


class WordKind(StrEnum):
    """How a part of a text is written."""

    CODE = "code"
    YES = "yes"
    NO = "no"
    STRONG = "strong"
    QUIET = "quiet"


@dataclass(frozen=True, slots=True)
class Words:
    """A part of a text that is written in a way of its own."""

    text: str
    kind: WordKind


Inline: TypeAlias = str | Words
"""A part of a text."""
Cell: TypeAlias = str | Words | None
"""A cell of a table; None is an empty one."""


# Blocks: each has the name of its template.


@dataclass(frozen=True, slots=True)
class HeadingBlock:
    """The title of what follows, inside a section."""

    template: ClassVar = "heading"
    text: str


@dataclass(frozen=True, slots=True)
class TextBlock:
    """A paragraph."""

    template: ClassVar = "text"
    parts: tuple[Inline, ...]


@dataclass(frozen=True, slots=True)
class ListBlock:
    """A list of sentences with its title."""

    template: ClassVar = "list"
    title: str
    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TableBlock:
    """A table, whose first column names its rows; the last ``numbers`` columns have numbers.

    An empty ``caption`` is not shown: then ``columns`` say what the table has.
    """

    template: ClassVar = "table"
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    caption: str = ""
    numbers: int = 0


@dataclass(frozen=True, slots=True)
class Tile:
    """A figure with its name; ``kind`` is the verdict about it, if it has one."""

    name: str
    figure: str
    kind: WordKind | None = None


@dataclass(frozen=True, slots=True)
class TileBlock:
    """Figures side by side."""

    template: ClassVar = "tiles"
    tiles: tuple[Tile, ...]


@dataclass(frozen=True, slots=True)
class PlotBlock:
    """A plot of one value over time, of which there is at least one point; ``name`` is its id in the page."""

    template: ClassVar = "plot"
    name: str
    title: str
    unit: str
    points: Sequence[PlotPoint]


Block: TypeAlias = HeadingBlock | TextBlock | ListBlock | TableBlock | TileBlock | PlotBlock


# Documents.


@dataclass(frozen=True, slots=True)
class DocumentSection:
    """A section, with the name of its place in the page; one without a title has no heading."""

    name: str
    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True, slots=True)
class FileDocument:
    """A document that is one file: ``lead`` follows its title, ``foot`` says what made it."""

    title: str
    sections: Sequence[DocumentSection]
    lead: tuple[Inline, ...] = ()
    foot: str = ""
