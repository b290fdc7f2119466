"""The frame of every page: what is around its content, as a value."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from counterfoil.pages.links import FileLinks, PageLinks, Section
from counterfoil.schema.rest.inspection import IndexState

# The parts of a frame.


@dataclass(frozen=True, slots=True)
class Crumb:
    """A step of the way from the home page to this page; ``url`` is empty for this page itself."""

    title: str
    url: str = ""


@dataclass(frozen=True, slots=True)
class EarlierState:
    """The moment that a page shows, if it is not now.

    ``text`` is the parameter ``as_of`` as it was given, ``seq`` and ``ts`` (epoch ms) the change that it means, None if
    they are not known. ``now_url`` is the same page now. ``missing`` names what cannot be requested for an earlier
    moment.
    """

    text: str
    now_url: str
    seq: int | None = None
    ts: int | None = None
    missing: tuple[str, ...] = ()


class NoticeKind(StrEnum):
    """The weight of a notice."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Notice:
    """A sentence above the content of a page, with a link if there is one to follow; ``ts`` is its time (epoch ms)."""

    kind: NoticeKind
    text: str
    url: str = ""
    link_text: str = ""
    ts: int | None = None


@dataclass(frozen=True, slots=True)
class PrintedFoot:
    """The foot of a page for paper: the whole address of the page on a screen, and when it was made (epoch ms)."""

    address: str
    ts: int


FIRST_SECTIONS: Final = (
    Section.SUBJECTS,
    Section.CHANGES,
    Section.COMPARE,
    Section.TRY,
    Section.DECODE,
    Section.REFUSALS,
    Section.RULES,
    Section.REGISTRY,
)
"""The sections of a server without contracts and bridges."""


# The frame.


@dataclass(frozen=True, slots=True)
class PageFrame:
    """What is around the content of a page.

    ``title`` is that of the browser's tab, ``crumbs`` the way to the page, ``section`` its entry in the navigation.
    ``here`` is the page's own address without ``as_of``, empty if it has no earlier state; ``parameters`` are those of
    its query, without ``as_of``: the form that asks for an earlier moment sends them again. ``search`` is the text in
    the search field. ``context`` is the context that the page is limited to, empty for all. ``change`` is the number of
    the last change that the page rests on; with ``change_is_least``, it may have later ones that came in
    meanwhile. ``json_url`` and ``command`` give the same answer to programs. ``canonical``
    is the page's other address, if it has two and this is not the chosen one. ``user`` is who is signed in.
    ``may_stream`` is whether changes are sent live. ``refresh_s`` asks the browser to try again after some seconds.
    ``printed`` is the foot of a page that has no windows, for
    paper; ``print_url`` is the page without windows. ``has_index`` is false if the server has no search index.
    """

    title: str
    links: PageLinks = field(default_factory=FileLinks)
    version: str = ""
    section: Section | None = None
    sections: tuple[Section, ...] = FIRST_SECTIONS
    crumbs: tuple[Crumb, ...] = ()
    here: str = ""
    parameters: tuple[tuple[str, str], ...] = ()
    context: str = ""
    as_of: EarlierState | None = None
    search: str = ""
    index: IndexState | None = None
    change: int | None = None
    change_is_least: bool = False
    json_url: str = ""
    command: str = ""
    canonical: str = ""
    print_url: str = ""
    printed: PrintedFoot | None = None
    user: str = ""
    may_stream: bool = False
    refresh_s: int | None = None
    notices: tuple[Notice, ...] = ()
