"""The report for people: one block for each finding with its place, its text, the reason and the fix."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from itertools import groupby
from typing import Final, Protocol

import click

from counterfoil.contracts.findings import CheckReport, Dependant, Evidence, FileOutcome, Finding, Status
from counterfoil.schema.compatibility import CompatibilityPolicy
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.schema.reports import Report, Severity
from counterfoil.schema.texts import counted

# What a command passes to the writer of reports: its result, which prints itself in each form.


class ReportForms(Protocol):
    """A result with findings, in the forms from which every format is made."""

    def text(self, style: TextStyle) -> str:
        """Return the report as text for people."""

    def json(self) -> str:
        """Return the report as indented JSON, whose schema is that of :mod:`counterfoil.contracts.reports`."""

    def report(self, *, version: str) -> Report:
        """Return the report for the writers of all other formats; ``version`` is that of the program."""


# The sentences about a check, its files and its findings, for reports of every format.

_SHOWN_DEPENDANTS: Final = 3
_USUAL_POLICY: Final = CompatibilityPolicy.STRICT
"""The policy that is not printed."""


def what_is_found(finding: Finding) -> str:
    """Return the sentence of a finding, with the part of the schema that it is about."""
    return f"{finding.element}: {finding.text}" if finding.element else finding.text


def who_fails(finding: Finding) -> str:
    """Return which side cannot read the other's records."""
    earlier = ", ".join(finding.against)
    if finding.direction == "FORWARD":
        return f"{earlier} cannot read what this schema writes"
    return f"this schema cannot read what {earlier} wrote"


def how_it_is_proved(finding: Finding, evidence: Evidence) -> str:
    """Return how the record of a finding was written and read."""
    decoder = evidence.confirmed_by.partition(": ")[0]
    is_known = finding.text in evidence.step or evidence.step in finding.text
    step = "" if is_known else f": {evidence.step}"
    return f"written with {evidence.writer}, read with {evidence.reader}{step} (confirmed with {decoder})"


def what_also_breaks(finding: Finding, shown_path: Callable[[str], str] = str) -> str:
    """Return the number of schemas that break because they refer to this one, and the first of them."""
    shown = [_named(one, shown_path) for one in finding.also_breaks[:_SHOWN_DEPENDANTS]]
    more = len(finding.also_breaks) - len(shown)
    rest = f", and {more} more" if more else ""
    return f"also breaks {counted(len(finding.also_breaks), 'schema')}: {', '.join(shown)}{rest}"


def what_is_fine(outcome: FileOutcome) -> str:
    """Return the result of a file without findings."""
    requested = outcome.level if outcome.policy is _USUAL_POLICY else f"{outcome.level}, {outcome.policy}"
    result = "unchanged" if outcome.status is Status.UNCHANGED else f"compatible ({requested})"
    compared = f" with {', '.join(outcome.compared_with)}" if outcome.status is Status.COMPARED else ""
    records = counted(outcome.confirmed, "generated record was", "generated records were")
    confirmed = f"; {records} written and read" if outcome.confirmed else ""
    return f"{result}{compared}{confirmed}"


def summary(report: CheckReport, exit_code: ExitCode) -> str:
    """Return the last line of a report: counts, base, policy, exit code."""
    counts = [counted(report.count(severity), severity) for severity in (Severity.ERROR, Severity.WARNING)]
    if report.approved:
        counts.append(f"{report.approved} approved")
    policies = sorted({outcome.policy for outcome in report.files} - {_USUAL_POLICY})
    under = f" under {', '.join(policies)}" if policies else ""
    live = f" and what is live in {report.environment}" if report.environment else ""
    return f"{', '.join(counts)}; {_looked_at(report)} against {report.against}{live}{under} (exit {int(exit_code)})"


def _looked_at(report: CheckReport) -> str:
    """Return how many files were checked; against a registry also how many were judged, and why others were not."""
    consumers = "" if report.consumers is None else f", {counted(report.consumers, 'consumer')}"
    if not report.names_subjects:
        return f"{counted(report.checked, 'schema')}{consumers} checked"
    others = [f"{report.new} new", f"{report.unmapped} unmapped"]
    unread = len(report.files) - report.judged - report.new - report.unmapped
    if unread:
        others.append(f"{unread} not comparable")
    return f"{counted(report.judged, 'schema')} judged, {', '.join(others)}{consumers},"


def _named(dependant: Dependant, shown_path: Callable[[str], str]) -> str:
    path, position = dependant.path, dependant.position
    where = f"{shown_path(path)}:{position}" if position else shown_path(path)
    return f"{dependant.subject} ({where})" if dependant.subject != path else where


# The report itself: its blocks, and how long lines are wrapped.

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
    if not (report.files or findings or report.note) and style.verbosity is not Verbosity.QUIET:
        lines.append(
            "There is no schema file here (.avsc, .proto, .schema.json or .jsonschema), so nothing was checked."
        )
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
