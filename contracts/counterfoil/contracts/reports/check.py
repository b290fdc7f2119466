"""The report of a check: as a value of the formats of all reports, as JSON, and each finding as an entry."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from counterfoil.contracts.advice import FILE_RULE_BY_ID
from counterfoil.contracts.findings import (
    CheckReport,
    Dependant,
    Evidence,
    FailOn,
    FileOutcome,
    Finding,
    FindingReaders,
    Status,
    TopicRecords,
)
from counterfoil.contracts.lint import LINT_RULE_BY_ID
from counterfoil.contracts.reports import (
    TextStyle,
    how_it_is_proved,
    summary,
    what_also_breaks,
    what_is_fine,
    what_is_found,
    who_fails,
)
from counterfoil.schema.agreements import rules as reads
from counterfoil.schema.datum import JsonObject
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.schema.languages.rules import RULE_BY_ID
from counterfoil.schema.reports import (
    PROJECT,
    CheckedSubject,
    Report,
    ReportedApproval,
    ReportedRule,
    ReportEntry,
    Severity,
)

# The report of a check as the writers of ``counterfoil.schema.reports`` take it.

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


# The report of a check: its forms, whose modules are imported when they are printed, and the report as JSON.

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


# The report of a check in its forms, each of whose modules is imported when it is printed.


@dataclass(frozen=True, slots=True)
class CheckForms:
    """The report of a check; without ``fail_on``, the project says of each file which findings fail it."""

    found: CheckReport
    exit_code: ExitCode
    fail_on: FailOn | None = None

    def text(self, style: TextStyle) -> str:
        """Return the report as text."""
        from counterfoil.contracts.reports import text_report

        return text_report(self.found, exit_code=self.exit_code, style=style)

    def json(self) -> str:
        """Return the report as indented JSON."""
        return json_report(self.found, exit_code=self.exit_code)

    def report(self, *, version: str) -> Report:
        """Return the report for any writer."""
        return check_report_of(self.found, exit_code=self.exit_code, fail_on=self.fail_on, version=version)
