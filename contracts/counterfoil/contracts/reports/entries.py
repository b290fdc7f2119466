"""The report of a check as the writers of ``counterfoil.schema.reports`` take it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.contracts.advice import FILE_RULE_BY_ID
from counterfoil.contracts.findings import Status
from counterfoil.contracts.lint import LINT_RULE_BY_ID
from counterfoil.contracts.reports import (
    how_it_is_proved,
    summary,
    what_also_breaks,
    what_is_fine,
    what_is_found,
    who_fails,
)
from counterfoil.schema.agreements import rules as reads
from counterfoil.schema.languages.rules import RULE_BY_ID
from counterfoil.schema.reports import PROJECT, CheckedSubject, Report, ReportedRule, ReportEntry

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.contracts.findings import CheckReport, FailOn, Finding
    from counterfoil.schema.exit_codes import ExitCode


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
    if (known := RULE_BY_ID.get(name)) is not None:
        return ReportedRule(known.why, f"{_PAGES}/reference/{known.page}")
    about_files = FILE_RULE_BY_ID.get(name)
    about_agreements = reads.RULE_BY_ID.get(name) or LINT_RULE_BY_ID.get(name)
    if about_files is None and about_agreements is not None:
        return ReportedRule(about_agreements.why, f"{_PAGES}/reference/contract-rules.md#{name}")
    return ReportedRule(about_files.why if about_files else "", f"{_PAGES}/check-reference.md#rules-about-files")
