"""Values as pages: ``render_page`` prints a value with the template of its page, inside a frame.

Each template is compiled when it is first used. Everything that a template prints is escaped, and passes
:func:`counterfoil.pages.markup.shown`; a name that a template has wrong is an error, never an empty text.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from counterfoil.pages import models
from counterfoil.pages.alignment import aligned_lines
from counterfoil.pages.frame import PageFrame
from counterfoil.pages.links import anchor, operand
from counterfoil.pages.markup import FILTERS, hexadecimal, shown, style_text
from counterfoil.pages.static import style_sheet
from counterfoil.pages.svg import lay_out_graph, lay_out_plot, lay_out_timeline
from counterfoil.pages.words import WORDS, element_facts, type_addresses, window_of
from counterfoil.schema.rest.inspection import ElementInspection, IdInspection, RegistryInspection, RuleInspection

if TYPE_CHECKING:
    from jinja2 import Environment

PAGES: Final[Mapping[str, type | None]] = MappingProxyType(
    {
        "home": models.HomePage,
        "search": models.SearchPage,
        "subjects": models.SubjectsPage,
        "subject": models.SubjectPage,
        "version": models.VersionPage,
        "element": ElementInspection,
        "id": IdInspection,
        "references": models.ReferencesPage,
        "topic": models.TopicPage,
        "compare": models.ComparePage,
        "try": models.TryPage,
        "decode": models.DecodePage,
        "refusals": models.RefusalsPage,
        "refusal": models.RefusalPage,
        "rules": models.RulesPage,
        "rule": RuleInspection,
        "changes": models.ChangesPage,
        "registry": RegistryInspection,
        "help": models.HelpPage,
        "error": models.ErrorPage,
    }
)
"""The class of the value that each page shows."""


def render_page(page: str, value: object, frame: PageFrame) -> str:
    """Return a page of a server as an HTML document; ``value`` is of the page's class in ``PAGES``."""
    wanted = PAGES[page]
    if wanted is not None and not isinstance(value, wanted):
        raise TypeError(f"The page {page} shows a {wanted.__name__}, not a {type(value).__name__}")
    return _environment().get_template(f"{page}.html").render(value=value, frame=frame, links=frame.links)


def render_file(template: str, value: object, frame: PageFrame) -> str:
    """Return a page that is one file: its style is inside it, and it needs neither network nor scripts."""
    style = style_text(style_sheet())
    return (
        _environment().get_template(f"{template}.html").render(value=value, frame=frame, links=frame.links, style=style)
    )


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    found = Environment(
        loader=PackageLoader("counterfoil.pages", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=shown,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        cache_size=100,
    )
    found.filters.update(FILTERS, groupby_day=models.by_day)
    found.globals.update(
        anchor=anchor,
        operand=operand,
        hexadecimal=hexadecimal,
        timeline=lay_out_timeline,
        graph_drawing=lay_out_graph,
        plot=lay_out_plot,
        aligned_lines=aligned_lines,
        element_facts=element_facts,
        type_addresses=type_addresses,
        window_of=window_of,
        words=WORDS,
    )
    return found
