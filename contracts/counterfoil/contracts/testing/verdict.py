"""The result of the tests: findings, made of what was counted in which windows of time, and the exit code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from counterfoil.contracts.findings import Finding, fingerprint
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
from counterfoil.contracts.testing.promises import TopicTest
from counterfoil.contracts.testing.sources import FILE, SampleUnderTest
from counterfoil.contracts.testing.tally import Failures, RecordPlace, Tally
from counterfoil.schema.reports import Severity
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
    """Return what is wrong with the records of a topic, and what could not be checked, in the order of the files."""
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
