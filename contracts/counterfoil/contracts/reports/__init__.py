"""The report of a check: for people, as JSON, and as the writers of all other formats take it."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from itertools import groupby
from typing import TYPE_CHECKING, Final, Protocol

import click

from counterfoil.contracts.findings import CheckReport, Dependant, Evidence, FileOutcome, Finding, Status
from counterfoil.schema.compatibility import CompatibilityPolicy
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.schema.reports import PROJECT, CheckedSubject, Report, ReportedRule, ReportEntry, Severity
from counterfoil.schema.texts import counted

if TYPE_CHECKING:
    from counterfoil.contracts.findings import FailOn, FindingReaders, TopicRecords
    from counterfoil.schema.datum import JsonObject
    from counterfoil.schema.reports import ReportedApproval


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


# The report as JSON, stable enough to script against.
#
# ``schemaVersion`` is 1; within it members are only added, never renamed, removed or given another meaning.

SCHEMA_VERSION = 1


def json_report(report: CheckReport, *, exit_code: ExitCode) -> str:
    """Return the whole report as indented JSON, with a line end at its end."""
    document = {
        "schemaVersion": SCHEMA_VERSION,
        "kind": "check",
        "against": report.against,
        **({"environment": report.environment} if report.environment else {}),
        "note": report.note,
        "exitCode": int(exit_code),
        "summary": {
            "checked": report.checked,
            "judged": report.judged,
            "new": report.new,
            "unmapped": report.unmapped,
            "errors": report.count(Severity.ERROR),
            "warnings": report.count(Severity.WARNING),
            "notices": report.count(Severity.NOTICE),
            "approved": report.approved,
            **({"consumers": report.consumers} if report.consumers is not None else {}),
        },
        "files": [_file(outcome) for outcome in report.files],
        "findings": [_finding(finding) for finding in report.findings],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _file(outcome: FileOutcome) -> JsonObject:
    return {
        "path": outcome.path,
        "subject": outcome.subject,
        "status": outcome.status,
        "level": outcome.level,
        "comparedWith": list(outcome.compared_with),
        "policy": outcome.policy,
        "confirmed": outcome.confirmed,
        "mapped": outcome.is_mapped,
        "owner": outcome.owner or None,
    }


def _finding(finding: Finding) -> JsonObject:
    return {
        "rule": finding.rule,
        "severity": finding.severity,
        "subject": finding.subject,
        "path": finding.path,
        "line": finding.position.line if finding.position else None,
        "column": finding.position.column if finding.position else None,
        "element": finding.element,
        "direction": finding.direction,
        "against": list(finding.against),
        "text": finding.text,
        "witness": _evidence(finding.evidence),
        "advice": finding.advice,
        "fingerprint": finding.fingerprint,
        "noWitness": finding.no_witness,
        "alsoBreaks": [_dependant(dependant) for dependant in finding.also_breaks],
        "approval": _approval(finding.approval),
        **({"records": _records(finding.records)} if finding.records is not None else {}),
        **({"consumers": _readers(finding.readers)} if finding.readers is not None else {}),
        **({"observed": True} if finding.is_observed else {}),
    }


def _approval(approval: ReportedApproval | None) -> JsonObject | None:
    if approval is None:
        return None
    return {
        "reason": approval.reason,
        "owner": approval.owner,
        "until": approval.until,
        "migration": approval.migration or None,
    }


def _records(records: TopicRecords) -> JsonObject:
    return {
        "triggering": records.triggering,
        "total": records.total,
        "exact": records.is_exact,
        "unread": records.unread,
        "sampled": records.is_sample,
        "text": records.text,
    }


def _readers(readers: FindingReaders) -> JsonObject:
    return {"breaks": list(readers.broken), "readBy": list(readers.reading), "notReadBy": list(readers.others)}


def _dependant(dependant: Dependant) -> JsonObject:
    return {
        "subject": dependant.subject,
        "path": dependant.path,
        "line": dependant.position.line if dependant.position else None,
        "column": dependant.position.column if dependant.position else None,
        "element": dependant.element,
        "against": list(dependant.against),
    }


def _evidence(evidence: Evidence | None) -> JsonObject | None:
    if evidence is None:
        return None
    return {
        "datum": json.loads(evidence.datum_json),
        "writer": evidence.writer,
        "reader": evidence.reader,
        "step": evidence.step,
        "confirmedBy": evidence.confirmed_by,
    }


# The report of a check in its forms.


@dataclass(frozen=True, slots=True)
class CheckForms:
    """The report of a check; without ``fail_on``, the project says of each file which findings fail it."""

    found: CheckReport
    exit_code: ExitCode
    fail_on: FailOn | None = None

    def text(self, style: TextStyle) -> str:
        """Return the report as text."""
        return text_report(self.found, exit_code=self.exit_code, style=style)

    def json(self) -> str:
        """Return the report as indented JSON."""
        return json_report(self.found, exit_code=self.exit_code)

    def report(self, *, version: str) -> Report:
        """Return the report for any writer."""
        return check_report_of(self.found, exit_code=self.exit_code, fail_on=self.fail_on, version=version)


# The report as the writers of ``counterfoil.schema.reports`` take it.

_PAGES: Final = f"{PROJECT}/blob/main/docs"
_JUDGED: Final = frozenset({Status.COMPARED, Status.UNCHANGED})


def check_report_of(report: CheckReport, *, exit_code: ExitCode, fail_on: FailOn | None, version: str) -> Report:
    """Return the report of a check for any writer; ``version`` is that of the program."""
    return Report(
        command="check",
        version=version,
        summary=summary(report, exit_code),
        exit_code=exit_code,
        against=report.against,
        entries=tuple(_entry(one, is_failing=report.is_failing(one, fail_on)) for one in report.findings),
        checked=tuple(
            CheckedSubject(
                each.subject,
                each.path,
                what_is_fine(each) if each.status in _JUDGED else each.status,
                is_skipped=each.status is Status.SKIPPED,
            )
            for each in report.files
        ),
        rules={finding.rule: _check_rule(finding.rule) for finding in report.findings},
        note=report.note,
    )


def _entry(finding: Finding, *, is_failing: bool) -> ReportEntry:
    return ReportEntry(
        rule=finding.rule,
        severity=finding.severity,
        text=_text(finding),
        fingerprint=finding.fingerprint,
        former_fingerprints=finding.former_fingerprints,
        subject=finding.subject,
        path=finding.path,
        position=finding.position,
        details=tuple(_details(finding)),
        advice=finding.advice,
        is_failing=is_failing,
        approval=finding.approval,
    )


def _text(finding: Finding) -> str:
    """Return the sentence of a finding, with the consumers, which every format is to show."""
    text = what_is_found(finding)
    return text if finding.readers is None else f"{text}; {finding.readers.text}"


def _details(finding: Finding) -> Iterator[str]:
    if finding.direction:
        yield who_fails(finding)
    if finding.records is not None:
        yield finding.records.text
    if finding.no_witness:
        yield finding.no_witness
    if finding.evidence is not None:
        yield f"witness: {finding.evidence.datum_json}"
        yield how_it_is_proved(finding, finding.evidence)
    if finding.also_breaks:
        yield what_also_breaks(finding)


def _check_rule(name: str) -> ReportedRule:
    from counterfoil.contracts.advice import FILE_RULE_BY_ID
    from counterfoil.contracts.lint import LINT_RULE_BY_ID
    from counterfoil.schema.agreements import RULE_BY_ID as READS
    from counterfoil.schema.languages.rules import RULE_BY_ID  # the tables of all languages cost start time

    if (known := RULE_BY_ID.get(name)) is not None:
        return ReportedRule(known.why, f"{_PAGES}/reference/{known.page}")
    about_files = FILE_RULE_BY_ID.get(name)
    about_agreements = READS.get(name) or LINT_RULE_BY_ID.get(name)
    if about_files is None and about_agreements is not None:
        return ReportedRule(about_agreements.why, f"{_PAGES}/reference/contract-rules.md#{name}")
    return ReportedRule(about_files.why if about_files else "", f"{_PAGES}/check-reference.md#rules-about-files")
