"""A report as one HTML page, which needs neither network nor scripts."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.schema.reports.model import Checked, Entry, Report

_STYLE: Final = """
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
article { border-left: 4px solid gray; margin: 1rem 0; padding: .25rem 1rem; }
article.error { border-color: #c62828; } article.warning { border-color: #ef6c00; }
article.notice { border-color: #0277bd; } article.approved { border-color: #2e7d32; }
code, .details { font: 13px/1.5 ui-monospace, monospace; overflow-wrap: anywhere; }
table { border-collapse: collapse; } td, th { padding: .2rem .8rem .2rem 0; text-align: left; vertical-align: top; }
"""


def html_report(report: Report) -> str:
    """Return the page: the findings in the order of the report, then everything that was checked."""
    return "\n".join(_page(report)) + "\n"


def page_head(title: str) -> Iterator[str]:
    """Yield the beginning of a page up to its title, with the style of all pages, light and dark."""
    title = escape(title)
    yield '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield f'<meta name="viewport" content="width=device-width">\n<title>{title}</title>\n<style>{_STYLE}</style>'
    yield f"</head>\n<body>\n<h1>{title}</h1>"


def _page(report: Report) -> Iterator[str]:
    yield from page_head(report.title)
    yield f"<p>{escape(report.summary)}</p>"
    if report.note:
        yield f"<p>{escape(report.note)}</p>"
    for entry in report.entries:
        yield from _article(report, entry)
    if report.checked:
        yield "<h2>Checked</h2>\n<table>\n<tr><th>subject</th><th>file</th><th>result</th></tr>"
        yield from map(_row, report.checked)
        yield "</table>"
    yield "</body>\n</html>"


def _article(report: Report, entry: Entry) -> Iterator[str]:
    rule = report.rules.get(entry.rule)
    name = escape(entry.rule)
    if rule and rule.page:
        name = f'<a href="{escape(rule.page)}">{name}</a>'
    yield f'<article class="{"approved" if entry.approval else entry.severity}" id="{escape(entry.fingerprint)}">'
    yield f"<h3>{entry.severity} {name}</h3>"
    yield f"<p>{escape(entry.subject)} <code>{escape(entry.place)}</code></p>"
    yield f"<p>{escape(entry.text)} <code>[{escape(entry.fingerprint)}]</code></p>"
    if entry.details:
        yield '<ul class="details">'
        yield from (f"<li>{escape(line)}</li>" for line in entry.details)
        yield "</ul>"
    if entry.advice:
        yield f"<p><b>Fix:</b> {escape(entry.advice)}</p>"
    if entry.approval:
        yield f"<p>{escape(str(entry.approval))}</p>"
    yield "</article>"


def _row(checked: Checked) -> str:
    cells = (checked.subject, checked.path, checked.result)
    return f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"
