"""The report of ``counterfoil lint``, as text and as JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from counterfoil.contracts.advice import FILE_RULE_BY_ID
from counterfoil.contracts.linting.rules import LINT_RULE_BY_ID
from counterfoil.contracts.linting.selection import is_failing
from counterfoil.contracts.reports.text import Verbosity, finding_blocks, printable
from counterfoil.schema.counting import counted
from counterfoil.schema.formats.rules import RULE_BY_ID
from counterfoil.schema.reports.model import PROJECT, Checked, Entry, Report, Rule, Severity

if TYPE_CHECKING:
    from counterfoil.contracts.linting.findings import Fix
    from counterfoil.contracts.linting.lint import LintReport
    from counterfoil.contracts.model import FailOn, Finding
    from counterfoil.contracts.reports.text import TextStyle
    from counterfoil.schema.exit_codes import ExitCode

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
        return text_report(self.found, exit_code=self.exit_code, style=style)

    def json(self) -> str:
        """Return the report as indented JSON."""
        return json_report(self.found, exit_code=self.exit_code)

    def report(self, *, version: str) -> Report:
        """Return the report for any writer."""
        return report_of(self.found, exit_code=self.exit_code, limit=self.limit, version=version)


def text_report(report: LintReport, *, exit_code: ExitCode, style: TextStyle) -> str:
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
        lines.append(summary(report, exit_code))
    return "".join(f"{line}\n" for line in lines)


def _fixed(fix: Fix, style: TextStyle) -> str:
    return printable(f"fixed  {style.shown_path(fix.path)}:{fix.repair.position}  {fix.rule}  {fix}")


def summary(report: LintReport, exit_code: ExitCode) -> str:
    """Return the last line: how many findings there are, in how many files."""
    errors, warnings = report.count(Severity.ERROR), report.count(Severity.WARNING)
    found = f"{counted(errors, 'error')}, {counted(warnings, 'warning')}"
    if report.fixes is not None:
        found = f"{len(report.fixes)} fixed, {found} left"
    return f"{found}; {counted(len(report.files), 'file')} checked (exit {int(exit_code)})"


def json_report(report: LintReport, *, exit_code: ExitCode) -> str:
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


def _fix(fix: Fix) -> dict[str, Any]:
    place = {"path": fix.path, "line": fix.repair.position.line, "column": fix.repair.position.column}
    return {"rule": fix.rule, **place, "before": fix.repair.before, "after": fix.repair.after}


def report_of(report: LintReport, *, exit_code: ExitCode, limit: FailOn, version: str) -> Report:
    """Return the report for any writer; ``version`` is that of the program."""
    return Report(
        command="lint",
        version=version,
        summary=summary(report, exit_code),
        exit_code=exit_code,
        entries=tuple(entry_of(one, limit) for one in report.findings),
        checked=tuple(Checked(path, path, "valid") for path in report.files),
        rules={one.rule: _rule(one.rule) for one in report.findings},
        note="; ".join(
            (
                *(f"fixed {each.rule} in {each.path}:{each.repair.position}: {each}" for each in report.fixes or ()),
                *([report.note] if report.note else []),
            )
        ),
    )


def entry_of(finding: Finding, limit: FailOn) -> Entry:
    """Return a finding as any writer of reports takes it."""
    return Entry(
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


def _rule(name: str) -> Rule:
    known = LINT_RULE_BY_ID.get(name) or FILE_RULE_BY_ID.get(name) or RULE_BY_ID.get(name)
    return Rule(known.why if known else "", f"{PAGE}#{name}")


def finding_document(finding: Finding) -> dict[str, Any]:
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
