"""The report of ``counterfoil lint``: which findings count, and the report as text, as JSON and for any writer."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING, Final, NamedTuple

from counterfoil.contracts.advice import FILE_RULE_BY_ID
from counterfoil.contracts.errors import UsageMistake
from counterfoil.contracts.findings import FailOn, Finding
from counterfoil.contracts.lint import LINT_RULE_BY_ID, Fix
from counterfoil.contracts.project.acceptance import AcceptanceSource, with_approval
from counterfoil.contracts.reports import TextStyle, Verbosity, finding_blocks, printable
from counterfoil.schema.datum import JsonObject
from counterfoil.schema.documents import likely
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.schema.languages.rules import RULE_BY_ID
from counterfoil.schema.reports import PROJECT, CheckedSubject, Report, ReportedRule, ReportEntry, Severity
from counterfoil.schema.texts import counted

if TYPE_CHECKING:
    from counterfoil.contracts.lint.lint import LintReport
    from counterfoil.contracts.project.model import Project


# Which findings of a report count: by ``--rules``, by what the project ignores and accepts, by severity.

_FAILING = {
    FailOn.ERROR: frozenset({Severity.ERROR}),
    FailOn.WARNING: frozenset({Severity.ERROR, Severity.WARNING}),
    FailOn.NEVER: frozenset[Severity](),
}


class ChosenRules(NamedTuple):
    """The rules that ``--rules`` names: those alone, or all but those."""

    ids: frozenset[str]
    is_without: bool

    def has(self, rule: str) -> bool:
        """Return whether findings of the rule are reported."""
        return (rule in self.ids) is not self.is_without


def parse_rules(text: str | None) -> ChosenRules | None:
    """Return the rules that a list separated by commas names; None without one. Raises ``UsageMistake``."""
    if text is None:
        return None
    names = [name.strip() for name in text.split(",") if name.strip()]
    without = {name.startswith("-") for name in names}
    if len(without) != 1:
        raise UsageMistake("--rules takes names of rules, either all with a minus in front or none")
    ids = frozenset(name.removeprefix("-") for name in names)
    for name in sorted(ids):
        if name not in LINT_RULE_BY_ID and name not in FILE_RULE_BY_ID and name not in RULE_BY_ID:
            raise UsageMistake(f"--rules names no rule {name}; {likely(name, LINT_RULE_BY_ID)}")
    return ChosenRules(ids, is_without=without == {True})


def selected(report: LintReport, rules: ChosenRules | None, project: Project | None, *, today: date) -> LintReport:
    """Return the report with the findings that are wanted and not ignored, and with approvals."""
    kept = [one for one in report.findings if rules is None or rules.has(one.rule)]
    if project is not None:
        kept = [
            with_approval(one, [AcceptanceSource("", project)], today)
            for one in kept
            if not project.ignores(one.rule, one.path)
        ]
    return replace(report, findings=tuple(kept))


def limit_of(fail_on: str | None, project: Project | None) -> FailOn:
    """Return the least severity that fails: the given one, else that of the project, else ERROR."""
    own = project.settings.fail_on if project is not None else None
    return FailOn(fail_on) if fail_on else own or FailOn.ERROR


def is_failing(finding: Finding, limit: FailOn) -> bool:
    """Return whether a finding is not approved and at least as severe as ``limit``."""
    return finding.approval is None and finding.severity in _FAILING[limit]


def exit_code_of(report: LintReport, limit: FailOn, *, is_empty_fine: bool) -> ExitCode:
    """Return BROKEN for a finding that fails, CANNOT_SAY if no file was checked, OK otherwise."""
    if any(is_failing(one, limit) for one in report.findings):
        return ExitCode.BROKEN
    return ExitCode.OK if report.files or is_empty_fine else ExitCode.CANNOT_SAY


# The report of ``counterfoil lint``, as text and as JSON.

SCHEMA_VERSION = 1
PAGE: Final = f"{PROJECT}/blob/main/docs/reference/contract-rules.md"
"""The page of the rules about files and records."""


@dataclass(frozen=True, slots=True)
class LintForms:
    """The report of a run of lint; findings that are at least as severe as ``limit`` fail it."""

    found: LintReport
    exit_code: ExitCode
    limit: FailOn

    def text(self, style: TextStyle) -> str:
        """Return the report as text."""
        return lint_text_report(self.found, exit_code=self.exit_code, style=style)

    def json(self) -> str:
        """Return the report as indented JSON."""
        return lint_json_report(self.found, exit_code=self.exit_code)

    def report(self, *, version: str) -> Report:
        """Return the report for any writer."""
        return lint_report_of(self.found, exit_code=self.exit_code, limit=self.limit, version=version)


def lint_text_report(report: LintReport, *, exit_code: ExitCode, style: TextStyle) -> str:
    """Return the report as text with a summary at the end; quiet text has no notices and is empty without findings."""
    is_quiet = style.verbosity is Verbosity.QUIET
    findings = [one for one in report.findings if not is_quiet or one.severity is not Severity.NOTICE]
    lines = [] if is_quiet else [_fixed(each, style) for each in report.fixes or ()]
    if style.verbosity is Verbosity.VERBOSE:
        unfine = {finding.path for finding in report.findings}
        lines += [printable(f"{style.shown_path(path)}  valid") for path in report.files if path not in unfine]
    lines += finding_blocks(findings, style)
    if report.note and not is_quiet:
        lines.append(printable(f"note: {report.note}"))
    if not report.files and not is_quiet:
        lines.append("There is no schema, contract or product file here, so nothing was checked.")
    if findings or not is_quiet:
        lines.append(lint_summary(report, exit_code))
    return "".join(f"{line}\n" for line in lines)


def _fixed(fix: Fix, style: TextStyle) -> str:
    return printable(f"fixed  {style.shown_path(fix.path)}:{fix.repair.position}  {fix.rule}  {fix}")


def lint_summary(report: LintReport, exit_code: ExitCode) -> str:
    """Return the last line: how many findings there are, in how many files."""
    errors, warnings = report.count(Severity.ERROR), report.count(Severity.WARNING)
    found = f"{counted(errors, 'error')}, {counted(warnings, 'warning')}"
    if report.fixes is not None:
        found = f"{len(report.fixes)} fixed, {found} left"
    return f"{found}; {counted(len(report.files), 'file')} checked (exit {int(exit_code)})"


def lint_json_report(report: LintReport, *, exit_code: ExitCode) -> str:
    """Return the report as indented JSON; members are only ever added to this form."""
    document = {
        "schemaVersion": SCHEMA_VERSION,
        "kind": "lint",
        "note": report.note,
        "exitCode": int(exit_code),
        "summary": {
            "checked": len(report.files),
            "errors": report.count(Severity.ERROR),
            "warnings": report.count(Severity.WARNING),
            "notices": report.count(Severity.NOTICE),
            **({"fixed": len(report.fixes)} if report.fixes is not None else {}),
        },
        "files": list(report.files),
        **({"fixes": [_fix(each) for each in report.fixes]} if report.fixes is not None else {}),
        "findings": [finding_document(finding) for finding in report.findings],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _fix(fix: Fix) -> JsonObject:
    place = {"path": fix.path, "line": fix.repair.position.line, "column": fix.repair.position.column}
    return {"rule": fix.rule, **place, "before": fix.repair.before, "after": fix.repair.after}


def lint_report_of(report: LintReport, *, exit_code: ExitCode, limit: FailOn, version: str) -> Report:
    """Return the report for any writer; ``version`` is that of the program."""
    return Report(
        command="lint",
        version=version,
        summary=lint_summary(report, exit_code),
        exit_code=exit_code,
        entries=tuple(entry_of(one, limit) for one in report.findings),
        checked=tuple(CheckedSubject(path, path, "valid") for path in report.files),
        rules={one.rule: _lint_rule(one.rule) for one in report.findings},
        note="; ".join(
            (
                *(f"fixed {each.rule} in {each.path}:{each.repair.position}: {each}" for each in report.fixes or ()),
                *([report.note] if report.note else []),
            )
        ),
    )


def entry_of(finding: Finding, limit: FailOn) -> ReportEntry:
    """Return a finding as any writer of reports takes it."""
    return ReportEntry(
        rule=finding.rule,
        severity=finding.severity,
        text=finding.text,
        fingerprint=finding.fingerprint,
        former_fingerprints=finding.former_fingerprints,
        subject=finding.subject,
        path=finding.path,
        position=finding.position,
        advice=finding.advice,
        is_failing=is_failing(finding, limit),
        approval=finding.approval,
    )


def _lint_rule(name: str) -> ReportedRule:
    known = LINT_RULE_BY_ID.get(name) or FILE_RULE_BY_ID.get(name) or RULE_BY_ID.get(name)
    return ReportedRule(known.why if known else "", f"{PAGE}#{name}")


def finding_document(finding: Finding) -> JsonObject:
    """Return a finding as values of JSON."""
    return {
        "rule": finding.rule,
        "severity": finding.severity,
        "subject": finding.subject,
        "path": finding.path,
        "line": finding.position.line if finding.position else None,
        "column": finding.position.column if finding.position else None,
        "element": finding.element,
        "text": finding.text,
        "advice": finding.advice,
        "fingerprint": finding.fingerprint,
    }
