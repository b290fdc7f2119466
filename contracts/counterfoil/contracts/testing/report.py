"""The report of ``counterfoil test``: as text, as JSON, and as the writers of any report take it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from counterfoil.contracts.findings import FailOn, Finding
from counterfoil.contracts.reports import TextStyle, Verbosity, finding_blocks, printable
from counterfoil.contracts.reports.lint import PAGE, entry_of, finding_document
from counterfoil.contracts.testing import RECORD_RULE_BY_ID
from counterfoil.contracts.testing.tally import Failures, Outcomes
from counterfoil.schema.datum import JsonObject
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.schema.reports import CheckedSubject, Report, ReportedRule, Severity
from counterfoil.schema.texts import counted

if TYPE_CHECKING:
    from counterfoil.contracts.testing.verdict import TestReport, TopicResult


SCHEMA_VERSION: Final = 1
_HEAD: Final = ("writer", "records", "fine", "undecodable", "unreadable", "unwritable", "failing")


@dataclass(frozen=True, slots=True)
class RecordForms:
    """The report of a test of records; findings that are at least as severe as ``limit`` fail it."""

    found: TestReport
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


def text_report(report: TestReport, *, exit_code: ExitCode, style: TextStyle) -> str:
    """Return the report as text: a table for each topic, the findings, a summary."""
    is_quiet = style.verbosity is Verbosity.QUIET
    lines = [] if report.results or is_quiet else ["There is no contract with a topic here, so no record was tested."]
    for result in report.results:
        if not is_quiet:
            lines += [printable(line) for line in _table(result)]
        lines += finding_blocks(_shown(result.findings, is_quiet=is_quiet), style)
    if not report.results and not report.findings and not is_quiet:
        lines.append("There is no contract with a topic here, so nothing was tested.")
    if not is_quiet or any(one.severity is not Severity.NOTICE for one in report.findings):
        lines.append(summary(report, exit_code))
    return "".join(f"{line}\n" for line in lines)


def summary(report: TestReport, exit_code: ExitCode) -> str:
    """Return the last line."""
    found = f"{counted(report.count(Severity.ERROR), 'error')}, {counted(report.count(Severity.WARNING), 'warning')}"
    records = counted(sum(each.tally.records for each in report.results), "record", spec=",")
    return f"{found}; {records} of {counted(len(report.results), 'topic')} tested (exit {int(exit_code)})"


def json_report(report: TestReport, *, exit_code: ExitCode) -> str:
    """Return the report as indented JSON; members are only ever added to this form."""
    document = {
        "schemaVersion": SCHEMA_VERSION,
        "kind": "test",
        "exitCode": int(exit_code),
        "summary": {
            "topics": len(report.results),
            "records": sum(each.tally.records for each in report.results),
            "failing": sum(each.tally.failing for each in report.results),
            "errors": report.count(Severity.ERROR),
            "warnings": report.count(Severity.WARNING),
            "notices": report.count(Severity.NOTICE),
        },
        "verifications": [_verification(each) for each in report.results],
        "findings": [finding_document(each) for each in report.findings],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def report_of(report: TestReport, *, exit_code: ExitCode, limit: FailOn, version: str) -> Report:
    """Return the report for any writer; ``version`` is that of the program."""
    return Report(
        command="test",
        version=version,
        summary=summary(report, exit_code),
        exit_code=exit_code,
        entries=tuple(entry_of(one, limit) for one in report.findings),
        checked=tuple(
            CheckedSubject(each.test.subject, each.test.file, _in_words(each), is_skipped=not each.tested)
            for each in report.results
        ),
        rules={
            one.rule: ReportedRule(RECORD_RULE_BY_ID[one.rule].why, f"{PAGE}#{one.rule}") for one in report.findings
        },
        note="; ".join(line for each in report.results if (line := _confidence(each))),
    )


def _shown(findings: Sequence[Finding], *, is_quiet: bool) -> list[Finding]:
    return [one for one in findings if not is_quiet or one.severity is not Severity.NOTICE]


def _table(result: TopicResult) -> Iterator[str]:
    yield f"{result.test.topic}  {result.test.contract} {result.test.version}  {_sample_words(result)}"
    tally = result.tally
    rows = [_HEAD, *(_row(label, each) for label, each in sorted(tally.writers.items()))]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    if tally.writers:
        for row in rows:
            cells = [
                row[0].ljust(widths[0]),
                *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)),
            ]
            yield f"  {'  '.join(cells)}"
    yield f"  {_in_words(result)}"
    confidence = _confidence(result)
    if confidence:
        yield f"  {confidence}"


def _row(label: str, outcomes: Outcomes) -> tuple[str, ...]:
    counts = (
        outcomes.records,
        outcomes.fine,
        outcomes.undecodable,
        outcomes.unreadable,
        outcomes.unwritable,
        outcomes.failing,
    )
    return (label, *(f"{count:,}" for count in counts))


def _in_words(result: TopicResult) -> str:
    tally = result.tally
    return (
        f"{counted(tally.records, 'record', spec=',')}, {tally.failing:,} failing; "
        f"{counted(tally.tombstones, 'tombstone', spec=',')}, {counted(tally.null_keys, 'null key', spec=',')}, "
        f"{tally.with_headers:,} with headers{_repeated_keys(tally.repeated_keys)}"
    )


def _repeated_keys(failures: Failures) -> str:
    return f", {failures.count:,} with a JSON key twice" if failures.count else ""


def _sample_words(result: TopicResult) -> str:
    sample = result.sample
    seed = f" with seed {sample.seed}" if sample.strategy in {"random", "spread"} else ""
    ended = ", ended by the limit of bytes" if sample.is_cut else ""
    whole = "all records" if sample.is_complete else f"sample {sample.strategy}{seed}"
    return f"{whole} of {sample.source}{ended}"


def _confidence(result: TopicResult) -> str:
    share = result.share_at_most
    if share is None:
        return ""
    tested = counted(result.tested, "record", spec=",")
    return (
        f"{result.tally.failing:,} of {tested} fail: at 95 % confidence, at most {100 * share:.2g} % of all records of "
        f"{result.test.topic} do"
    )


def _verification(result: TopicResult) -> JsonObject:
    """Return the result in the form of a verification: what was tested, with which sample, and the counts."""
    sample, tally = result.sample, result.tally
    return {
        "contract": {"id": result.test.contract, "version": result.test.version},
        "subject": result.test.subject,
        "topic": result.test.topic,
        "environment": result.environment or None,
        "schemaIds": [*result.records_by_id],
        "proposed": result.proposed or None,
        "sample": {
            "source": sample.source,
            "strategy": sample.strategy,
            "seed": sample.seed,
            "limit": sample.limit,
            "since": sample.since_ms,
            "takenAt": sample.taken_ms,
            "records": tally.records,
            "bytes": tally.size_bytes,
            "isComplete": sample.is_complete,
            "partitions": [
                {"partition": number, "first": span.first, "last": span.last}
                for number, span in sorted(tally.spans.items())
            ],
        },
        "results": {
            "records": tally.records,
            "tested": result.tested,
            "failing": tally.failing,
            "tombstones": tally.tombstones,
            "nullKeys": tally.null_keys,
            "withHeaders": tally.with_headers,
            "repeatedKeys": tally.repeated_keys.count,
            "failingAtMost": result.share_at_most,
            "writers": [
                {
                    "writer": label,
                    "records": each.records,
                    "fine": each.fine,
                    "undecodable": each.undecodable,
                    "unreadable": each.unreadable,
                    "unwritable": each.unwritable,
                    "failing": each.failing,
                }
                for label, each in sorted(tally.writers.items())
            ],
            "failures": [
                _failures(result.test.checks[number].rule, result.test.checks[number].element, each)
                for number, each in sorted(tally.failures.items())
            ],
        },
    }


def _failures(rule: str, element: str, failures: Failures) -> JsonObject:
    places = [
        {"partition": each.partition, "offset": each.offset, "writer": each.writer, "reason": each.reason}
        for each in failures.places
    ]
    return {"rule": rule, "element": element, "records": failures.count, "first": places}
