"""The result of the tests: findings, made of the counts in windows of time; its report in every form."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from counterfoil.contracts.findings import FailOn, Finding, fingerprint
from counterfoil.contracts.reports import TextStyle, Verbosity, finding_blocks, printable
from counterfoil.contracts.reports.lint import PAGE, entry_of, finding_document
from counterfoil.contracts.testing import (
    RECORD_RULE_BY_ID,
    REPEATED_KEY,
    UNCHECKED,
    Check,
    FreshnessCheck,
    Metric,
    QualityCheck,
    facts_of,
)
from counterfoil.contracts.testing.plan import Failures, Outcomes, RecordPlace, Tally
from counterfoil.contracts.testing.promises import TopicTest
from counterfoil.contracts.testing.sources import FILE, SampleUnderTest
from counterfoil.schema.datum import JsonObject
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.schema.reports import CheckedSubject, Report, ReportedRule, Severity
from counterfoil.schema.sampling import share_at_most
from counterfoil.schema.texts import Position, counted

# Which windows of time lie completely within the records that were read.

_MOST: Final = 100_000
"""How many windows are looked at, beginning with the newest."""


def complete_windows(sample: SampleUnderTest, tally: Tally, length_ms: int) -> Sequence[int]:
    """Return the starts of the windows of which every record was read, ascending; none if that is not known.

    A partition that was not read from its beginning limits them by its first timestamp, one that was not read to its
    end by its last.
    """
    if not sample.is_contiguous:
        return ()
    earliest = [span.earliest_ms for span in tally.spans.values() if span.earliest_ms is not None]
    if not earliest:
        return ()
    low, high = min(earliest), sample.taken_ms
    for partition, ((first, end),) in sample.offsets.items():
        bounds, span = sample.bounds.get(partition, (first, end)), tally.spans.get(partition)
        if span is None:
            continue
        if first > bounds[0] and span.earliest_ms is not None:
            low = max(low, span.earliest_ms)
        if end < bounds[1] and span.latest_ms is not None:
            high = min(high, span.latest_ms)
    if any(number not in sample.offsets for number, (first, end) in sample.bounds.items() if first < end):
        return ()
    start = max(-(-low // length_ms), high // length_ms - _MOST)
    return [number * length_ms for number in range(start, high // length_ms)]


# The result of the tests: findings, made of what was counted, and the exit code.

_NAMED_PLACES: Final = 3
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class TopicResult:
    """The result for one topic: the test, the sample, the counts, and the findings.

    ``environment`` is that of the server, ``proposed`` the label of the proposed schema; empty if there is none.
    """

    test: TopicTest
    sample: SampleUnderTest
    tally: Tally
    findings: tuple[Finding, ...] = ()
    environment: str = ""
    proposed: str = ""

    def finding(self, check: Check) -> Finding | None:
        """Return the finding about a check: that it fails, or that it was not evaluated; None if there is none."""
        names = {_identity(self.test, check), *(_unchecked_identity(self.test, each) for each in _names(check))}
        return next((each for each in self.findings if each.fingerprint in names), None)

    @property
    def tested(self) -> int:
        """The number of records with a value."""
        return self.tally.records - self.tally.tombstones

    @property
    def records_by_id(self) -> dict[int, int]:
        """The number of records of each schema id, sorted by id."""
        if not self.sample.has_ids:
            return {}
        labels = ((label.partition(" "), each.records) for label, each in self.tally.writers.items())
        return dict(sorted((int(name), records) for (kind, _, name), records in labels if kind == "id"))

    @property
    def share_at_most(self) -> float | None:
        """The share of all records of the topic that fail at most, at 95 % confidence; None if nobody can say."""
        if not self.sample.is_random or not self.tested:
            return None
        return share_at_most(self.tally.failing, self.tested)


@dataclass(frozen=True, slots=True)
class TestReport:
    """The results for all topics, in the order of files."""

    __test__ = False  # the name begins as pytest's tests do

    results: tuple[TopicResult, ...] = ()

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings."""
        return tuple(finding for result in self.results for finding in result.findings)

    def count(self, severity: Severity) -> int:
        """Return the number of findings with this severity that are not approved."""
        return sum(finding.severity is severity and finding.approval is None for finding in self.findings)


def findings_of(test: TopicTest, tally: Tally, sample: SampleUnderTest) -> tuple[Finding, ...]:
    """Return the mistakes of a topic's records, and the checks that were not possible, in the order of the files."""
    found = _Maker(test, tally, sample).findings()
    return tuple(sorted(found, key=lambda one: (one.path, one.position or Position(0, 0), one.rule, one.element)))


class _Maker:
    def __init__(self, test: TopicTest, tally: Tally, sample: SampleUnderTest) -> None:
        self._test = test
        self._tally = tally
        self._sample = sample
        self._tested = tally.records - tally.tombstones

    def findings(self) -> Iterator[Finding]:
        if self._tested:
            for number, check in enumerate(self._test.checks):
                failures = self._tally.failures.get(number)
                if failures is not None:
                    yield self._finding(check, f"{self._share(failures.count)}: {check.text}{_first(failures)}")
                elif isinstance(check, QualityCheck):
                    yield from self._quality(number, check)
                elif isinstance(check, FreshnessCheck):
                    yield from self._freshness(number, check)
            if self._tally.repeated_keys.count:
                yield self._repeated_keys(self._tally.repeated_keys)
        for each in self._test.unchecked:
            yield self._unchecked(each.name, each.reason, each.file, each.position)

    # --- quality ------------------------------------------------------------------------------------------------------

    def _quality(self, number: int, check: QualityCheck) -> Iterator[Finding]:
        failures = self._tally.counts.get(number)
        if check.constraint is not None:
            count = 0 if failures is None else failures.count
            measured = check.measure(count, self._tested)
            if not check.is_kept(measured):
                yield self._broken(check, measured, failures)
            return
        if check.window_ms and not self._tally.windows.get(check.window_ms):
            reason = "it is about windows of time, and no record has a timestamp"
            yield self._unchecked(check.element, reason, check.file, check.position)
            return
        if number in self._tally.crowded:
            reason = "there are more different values than are kept, so that a repeated one may have been missed"
            yield self._unchecked(check.element, reason, check.file, check.position)
        if check.metric is Metric.DUPLICATE:
            yield from self._duplicates(number, check, failures)
        else:
            yield from self._volume(check)

    def _duplicates(self, number: int, check: QualityCheck, failures: Failures | None) -> Iterator[Finding]:
        windows = self._tally.windows.get(check.window_ms, {})
        measured = {
            start: check.measure(window.duplicates.get(number, 0), window.records) for start, window in windows.items()
        }
        broken = {start: each for start, each in sorted(measured.items()) if not check.is_kept(each)}
        if broken:
            worst = max(broken.values())
            yield self._broken(check, worst, failures, _windows(broken, check.window_ms))

    def _volume(self, check: QualityCheck) -> Iterator[Finding]:
        windows = self._tally.windows.get(check.window_ms, {})
        if not check.window_ms:
            if not self._sample.is_complete:
                reason = "the number of all records is known only with --sample all; a window of time may be meant"
                yield self._unchecked(check.element, reason, check.file, check.position)
            elif not check.is_kept(self._tested):
                yield self._broken(check, self._tested, None)
            return
        complete = complete_windows(self._sample, self._tally, check.window_ms)
        if not complete:
            reason = f"no window of {_length(check.window_ms)} lies completely within the records that were read"
            yield self._unchecked(check.element, reason, check.file, check.position)
        counts = {start: windows[start].records if start in windows else 0 for start in complete}
        broken = {start: count for start, count in counts.items() if not check.is_kept(count)}
        if broken:
            yield self._broken(check, next(iter(broken.values())), None, _windows(broken, check.window_ms))

    def _broken(self, check: QualityCheck, measured: float, failures: Failures | None, windows: str = "") -> Finding:
        unit = "%" if check.is_percent else ""
        where = _first(failures) if failures is not None else ""
        if check.rule != "quality-failed":
            return self._finding(check, f"{self._share(int(measured))}: {check.text}{where}")
        number = f"{measured:,.2f}".rstrip("0").rstrip(".")
        text = f"{check.text}: {check.metric} is {number}{unit}, and must be {check.words}{windows}{where}"
        return self._finding(check, text)

    def _freshness(self, number: int, check: FreshnessCheck) -> Iterator[Finding]:
        newest = self._tally.newest_ms.get(number)
        if newest is None or self._sample.strategy == FILE or not self._sample.reaches_end:
            reason = (
                "no record that was read has a time there"
                if newest is None
                else "the newest records were not read; --sample newest reads them"
            )
            yield self._unchecked(_freshness_of(check), reason, check.file, check.position)
        elif self._sample.taken_ms - newest > check.age_ms:
            age = timedelta(milliseconds=self._sample.taken_ms - newest)
            moment = _moment(newest)
            yield self._finding(check, f"the newest record is of {moment}, {_age(age)} before the test; {check.text}")

    def _repeated_keys(self, failures: Failures) -> Finding:
        rule = RECORD_RULE_BY_ID[REPEATED_KEY]
        return Finding(
            rule=rule.id,
            severity=rule.severity,
            subject=self._test.subject,
            path=self._test.file,
            text=f"{self._share(failures.count)}: a JSON object has a key twice{_first(failures)}",
            fingerprint=fingerprint(rule.id, self._test.subject),
            position=self._test.position,
            advice=rule.fix,
        )

    # --- findings -----------------------------------------------------------------------------------------------------

    def _share(self, count: int) -> str:
        return f"{count:,} of {counted(self._tested, 'record', spec=',')}"

    def _finding(self, check: Check, text: str) -> Finding:
        return Finding(
            rule=check.rule,
            severity=check.severity,
            subject=self._test.subject,
            path=check.file,
            text=text,
            fingerprint=_identity(self._test, check),
            former_fingerprints=(_former_identity(self._test, check),),
            position=check.position or self._test.position,
            element=check.element,
            advice=RECORD_RULE_BY_ID[check.rule].fix,
        )

    def _unchecked(self, name: str, reason: str, file: str, position: Position | None) -> Finding:
        rule = RECORD_RULE_BY_ID[UNCHECKED]
        return Finding(
            rule=rule.id,
            severity=Severity.NOTICE,
            subject=self._test.subject,
            path=file,
            text=f"it was not checked: {reason}",
            fingerprint=_unchecked_identity(self._test, name),
            position=position or self._test.position,
            element=name,
            advice=rule.fix,
        )


def _identity(test: TopicTest, check: Check) -> str:
    return fingerprint(check.rule, test.subject, check.element, facts_of(check))


def _former_identity(test: TopicTest, check: Check) -> str:
    """Return the fingerprint of releases up to 0.2.0, which contained the sentence."""
    return fingerprint(check.rule, test.subject, check.element, check.text)


def _unchecked_identity(test: TopicTest, name: str) -> str:
    return fingerprint(UNCHECKED, test.subject, name)


def _names(check: Check) -> tuple[str, ...]:
    """Return the name with which a check is reported that was not evaluated, if that can be."""
    if isinstance(check, FreshnessCheck):
        return (_freshness_of(check),)
    return (check.element,) if isinstance(check, QualityCheck) else ()


def _freshness_of(check: FreshnessCheck) -> str:
    return f"freshness of {check.element}"


def _first(failures: Failures) -> str:
    places = failures.places[:_NAMED_PLACES]
    reasons = {each.reason for each in places}
    common = reasons.pop() if len(reasons) == 1 else ""
    named = [_place(each, "" if common else each.reason) for each in places]
    return f"; first at {', '.join(named)}{f': {common}' if common else ''}" if named else ""


def _place(place: RecordPlace, reason: str) -> str:
    return f"partition {place.partition} offset {place.offset} ({place.writer}{f': {reason}' if reason else ''})"


def _windows(broken: Iterable[int], length_ms: int) -> str:
    starts = list(broken)
    if not length_ms:
        return ""
    named = ", ".join(_moment(start) for start in starts[:_NAMED_PLACES])
    more = f" and {len(starts) - _NAMED_PLACES} more" if len(starts) > _NAMED_PLACES else ""
    return f", in the windows of {_length(length_ms)} from {named}{more}"


def _moment(moment_ms: int) -> str:
    try:
        return (_EPOCH + timedelta(milliseconds=moment_ms)).strftime("%Y-%m-%dT%H:%M:%SZ")
    except OverflowError:
        return f"{moment_ms} ms"


def _length(length_ms: int) -> str:
    return _age(timedelta(milliseconds=length_ms))


def _age(age: timedelta) -> str:
    seconds = int(age.total_seconds())
    for size, noun in ((86_400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            return counted(round(seconds / size, 1) if seconds % size else seconds // size, noun, spec="g")
    return counted(seconds, "second")


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
    """Return the result in the form of a verification: the tested topics, the sample, and the counts."""
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
