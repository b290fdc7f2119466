"""The report for people: one block for each finding with its place, its text, the reason and the fix."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from enum import Enum
from itertools import groupby
from typing import TYPE_CHECKING, Final

import click

from counterfoil.contracts.reports.sentences import (
    how_it_is_proved,
    summary,
    what_also_breaks,
    what_is_fine,
    what_is_found,
    who_fails,
)
from counterfoil.schema.reports.model import Severity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from counterfoil.contracts.model import CheckReport, FileOutcome, Finding
    from counterfoil.schema.exit_codes import ExitCode

_WIDTH: Final = 120
_INDENT: Final = " " * 9
COLOUR_BY_SEVERITY: Final[Mapping[Severity, str]] = {
    Severity.ERROR: "red",
    Severity.WARNING: "yellow",
    Severity.NOTICE: "cyan",
}


class Verbosity(Enum):
    """How much is printed: findings that fail the check, all findings, or also the files without findings."""

    QUIET = "quiet"
    NORMAL = "normal"
    VERBOSE = "verbose"


@dataclass(frozen=True, slots=True)
class TextStyle:
    """The style of the text. ``shown_path`` turns a path of the report into the path that is printed."""

    verbosity: Verbosity = Verbosity.NORMAL
    is_coloured: bool = False
    shown_path: Callable[[str], str] = str


def text_report(report: CheckReport, *, exit_code: ExitCode, style: TextStyle) -> str:
    """Return the report as text with a summary at the end; quiet text has no notices and is empty without findings."""
    findings = [one for one in report.findings if _is_shown(one, style)]
    lines: list[str] = []
    if style.verbosity is Verbosity.VERBOSE:
        unfine = {path for finding in report.findings for path in _paths(finding)}
        lines += [_fine(outcome, style) for outcome in report.files if outcome.path not in unfine]
    lines += finding_blocks(findings, style)
    if report.note and style.verbosity is not Verbosity.QUIET:
        lines.append(printable(f"note: {report.note}"))
    if findings or style.verbosity is not Verbosity.QUIET:
        lines.append(printable(summary(report, exit_code)))
    return "".join(f"{line}\n" for line in lines)


def finding_blocks(findings: Iterable[Finding], style: TextStyle) -> Iterator[str]:
    """Yield the lines of findings, one block for each, with a head line for each place."""
    for (subject, path), group in groupby(findings, key=lambda one: (one.subject, one.path)):
        yield from _group(subject, path, list(group), style)


def _is_shown(finding: Finding, style: TextStyle) -> bool:
    return style.verbosity is not Verbosity.QUIET or finding.severity is not Severity.NOTICE


def _paths(finding: Finding) -> tuple[str, ...]:
    """Return the files of a finding."""
    return (finding.path, *(dependant.path for dependant in finding.also_breaks))


def _fine(outcome: FileOutcome, style: TextStyle) -> str:
    return printable(f"{outcome.subject}  {style.shown_path(outcome.path)}  {what_is_fine(outcome)}")


def _group(subject: str, path: str, findings: Iterable[Finding], style: TextStyle) -> Iterator[str]:
    """Yield the blocks of one file.

    When all findings have one place, the head line has it in the form that editors open.
    """
    where = style.shown_path(path)
    for position, at_place in groupby(findings, key=lambda one: one.position):
        place = f"{where}:{position}" if position else where
        head = printable(f"{subject}  {place}" if subject != path else place)
        yield click.style(head, bold=True) if style.is_coloured else head
        for finding in at_place:
            yield from _block(finding, style)


def _block(finding: Finding, style: TextStyle) -> Iterator[str]:
    word = f"{f'{finding.severity} ':7}"
    if style.is_coloured:
        word = click.style(word, fg=COLOUR_BY_SEVERITY[finding.severity], bold=True)
    said = printable(f"{what_is_found(finding)}  [{finding.fingerprint}]")
    if len(said) + len(finding.rule) + len(_INDENT) > _WIDTH:
        yield f"  {word}{finding.rule}"
        yield from _wrapped(said)
    else:
        yield f"  {word}{finding.rule}  {said}"
    if finding.direction:
        yield from _wrapped(who_fails(finding))
    if finding.readers is not None:
        yield from _wrapped(finding.readers.text)
    if finding.records is not None:
        yield from _wrapped(finding.records.text)
    yield from _witness(finding)
    yield from _dependants(finding, style)
    if finding.approval is not None:
        yield from _wrapped(str(finding.approval))
    elif finding.advice:
        yield from _wrapped(f"fix: {finding.advice}")


def _witness(finding: Finding) -> Iterator[str]:
    evidence = finding.evidence
    if finding.no_witness:
        yield from _wrapped(finding.no_witness)
    if evidence is None:
        return
    yield f"{_INDENT}witness: {printable(evidence.datum_json)}"
    yield from _wrapped(how_it_is_proved(finding, evidence), deeper=True)


def _dependants(finding: Finding, style: TextStyle) -> Iterator[str]:
    """Yield the number of schemas that break because they refer to this one, and the first of them."""
    if finding.also_breaks:
        yield from _wrapped(what_also_breaks(finding, style.shown_path))


def _wrapped(text: str, *, deeper: bool = False) -> list[str]:
    indent = _INDENT + " " * 9 * deeper
    return textwrap.wrap(
        printable(text),
        _WIDTH,
        initial_indent=indent,
        subsequent_indent=indent if deeper else _INDENT + " " * 5,
        break_long_words=False,
        break_on_hyphens=False,
    )


def printable(text: str) -> str:
    """Return ``text`` with control characters as escapes, so that a name in a schema cannot control a terminal."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() or _is_lone_surrogate(one) else _escaped(one) for one in text)


def _is_lone_surrogate(character: str) -> bool:
    return "\ud800" <= character <= "\udfff"


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
