"""A report as Markdown: a comment on a pull request, or the summary of a job."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from counterfoil.schema.reports.model import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.schema.reports.model import Entry, Report

MARKER: Final = "<!-- counterfoil {command} -->"
"""The first line, by which a job finds its earlier comment and replaces it."""
MAX_CHARACTERS: Final = 60_000
"""GitHub refuses comments of more than 65,536 characters."""
_SPECIAL: Final = re.compile(r"([\\`*_{}\[\]<>()#+!|~@&$])")
_SIGN: Final = {Severity.ERROR: "❌", Severity.WARNING: "⚠️", Severity.NOTICE: "ℹ️"}  # noqa: RUF001 (signs of severities)


def markdown_report(report: Report) -> str:
    """Return the report as Markdown; what does not fit into a comment is counted in its last line."""
    head = [MARKER.format(command=report.command), f"### {plain(report.title)}", "", plain(report.summary), ""]
    if report.note:
        head += [f"> {plain(report.note)}", ""]
    blocks = ["\n".join(_block(report, entry)) for entry in report.open]
    if approved := "\n".join(_approved(report)):
        blocks.append(approved)
    lines, length = ["\n".join(head)], 0
    for index, block in enumerate(blocks):
        length += len(block)
        if length > MAX_CHARACTERS:
            lines.append(f"{len(blocks) - index} more are not shown.")
            break
        lines.append(block)
    return "\n".join(lines).rstrip() + "\n"


def _block(report: Report, entry: Entry) -> Iterator[str]:
    rule = report.rules.get(entry.rule)
    name = f"[{entry.rule}]({rule.page})" if rule and rule.page else entry.rule
    where = f" {code(entry.place)}" if entry.place else ""
    about = f" {plain(entry.subject)}" if entry.subject not in {"", entry.path} else ""
    yield f"#### {_SIGN[entry.severity]} {entry.severity} {name}{about}{where}"
    yield ""
    yield f"{plain(entry.text)} {code(entry.fingerprint)}"
    if entry.details or entry.advice:
        yield ""
    yield from (f"- {plain(line)}" for line in entry.details)
    if entry.advice:
        yield f"- **Fix:** {plain(entry.advice)}"
    yield ""


def _approved(report: Report) -> Iterator[str]:
    if not report.approved:
        return
    yield f"<details><summary>{len(report.approved)} approved</summary>"
    yield ""
    for entry, approval in report.approved:
        yield f"- {code(entry.place)} {entry.rule}: {plain(entry.text)} {code(entry.fingerprint)}: {plain(approval)}"
    yield ""
    yield "</details>"


def plain(text: object) -> str:
    """Return a text whose characters mean themselves, on one line."""
    return _SPECIAL.sub(r"\\\1", " ".join(str(text).split()))


def code(text: str) -> str:
    """Return the text as code, also where it has backticks or line ends; a bar does not end a table's cell."""
    text = " ".join(text.split()).replace("|", r"\|")
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", text)), default=0))
    space = " " if "`" in text else ""
    return f"{fence}{space}{text}{space}{fence}"
