"""The report of a check: its forms, whose modules are imported when they are printed, and the report as JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from counterfoil.schema.reports import Severity

if TYPE_CHECKING:
    from counterfoil.contracts.findings import (
        CheckReport,
        Dependant,
        Evidence,
        FailOn,
        FileOutcome,
        Finding,
        FindingReaders,
        TopicRecords,
    )
    from counterfoil.contracts.reports import TextStyle
    from counterfoil.schema.datum import JsonObject
    from counterfoil.schema.exit_codes import ExitCode
    from counterfoil.schema.reports import Report, ReportedApproval


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
        from counterfoil.contracts.reports.entries import check_report_of

        return check_report_of(self.found, exit_code=self.exit_code, fail_on=self.fail_on, version=version)
