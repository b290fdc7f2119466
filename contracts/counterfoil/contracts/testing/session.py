"""A test of topics from its plan to its verdict, and the publication of the result."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Final

from counterfoil.contracts.baselines.operands import read_operand
from counterfoil.contracts.check.agreements import read_file
from counterfoil.contracts.errors import Conflict, NotKnown, UsageMistake
from counterfoil.contracts.findings import FailOn, Finding
from counterfoil.contracts.project.acceptance import AcceptanceSource, with_approval
from counterfoil.contracts.project.model import Project
from counterfoil.contracts.reports.lint import is_failing
from counterfoil.contracts.testing import Check
from counterfoil.contracts.testing.plan import (
    UNREADABLE,
    UNWRITABLE,
    Failures,
    Proposed,
    RecordTestPlan,
    Tally,
    Writers,
)
from counterfoil.contracts.testing.promises import TopicTest
from counterfoil.contracts.testing.sources import (
    FILE,
    ChosenTest,
    RecordFile,
    SampleChoice,
    SampleUnderTest,
    batches_of,
    choose_sample,
    environment_of,
    open_topic,
)
from counterfoil.contracts.testing.tester import TopicTester
from counterfoil.contracts.testing.verdict import TestReport, TopicResult, findings_of
from counterfoil.schema.agreements.documents import content_hash
from counterfoil.schema.documents import likely
from counterfoil.schema.errors import ContractNotFound, InvalidVerification
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.schema.rest.observations import (
    CheckOutcome,
    CheckResult,
    NewVerification,
    OffsetRange,
    RecordSample,
    SchemaCount,
    TopicStats,
)
from counterfoil.schema.texts import excerpt
from counterfoil.sdk import operations
from counterfoil.sdk.client import Registry
from counterfoil.sdk.kafka import KafkaAccess

# One run of the tests: each topic from its source to findings.


@dataclass(frozen=True, slots=True)
class TestSettings:
    """The options of the command. ``registry`` opens the source of schemas; ``proposed`` names a schema.

    ``environment`` is that of the records; None is that of the contract's server.
    """

    choice: SampleChoice
    registry: Callable[[], Registry]
    today: date
    kafka: KafkaAccess | None = None
    proposed: str | None = None
    shows_values: bool = False
    from_file: str | None = None
    engine: str = "python"
    environment: str | None = None
    project: Project | None = None


class TestSession:
    """Runs tests with the same settings."""

    def __init__(self, settings: TestSettings) -> None:
        self._settings = settings

    def run(self, tests: Sequence[ChosenTest]) -> TestReport:
        """Return the results, in the order of the tests."""
        proposed = self._proposed()
        return TestReport(tuple(self._result(each, proposed) for each in tests))

    def _result(self, chosen: ChosenTest, proposed: Proposed | None) -> TopicResult:
        test = chosen.test
        if self._settings.from_file is not None:
            sample, tally = self._of_file(test, self._settings.from_file, proposed)
        else:
            sample, tally = self._of_topic(test, self._access(chosen), proposed)
        findings = tuple(self._judged(each) for each in findings_of(test, tally, sample) if not self._ignores(each))
        environment = environment_of(chosen, self._settings.environment)
        return TopicResult(test, sample, tally, findings, environment, proposed.found.label if proposed else "")

    def _proposed(self) -> Proposed | None:
        name = self._settings.proposed
        if name is None:
            return None
        found = read_operand(name, ".", registry=self._settings.registry)
        if found.schema is None:
            raise UsageMistake(f"--proposed {name} is no schema")
        return Proposed(found, found.schema.schema_type)

    def _of_file(self, test: TopicTest, path: str, proposed: Proposed | None) -> tuple[SampleUnderTest, Tally]:
        file = RecordFile(path, Path(path).read_bytes(), topic=test.topic, registry=self._settings.registry)
        tester = self._tester(test, file.registry, proposed)
        for batch in file.batches():
            tester.feed(batch)
        return SampleUnderTest(path, FILE, has_ids=file.has_ids), tester.tally

    def _of_topic(
        self, test: TopicTest, access: KafkaAccess, proposed: Proposed | None
    ) -> tuple[SampleUnderTest, Tally]:
        choice = self._settings.choice
        with open_topic(access, test) as topic:
            sample = choose_sample(topic, choice, source=f"{test.topic} at {access.servers}")
            if self._settings.engine == "spark":
                return sample, self._distributed(test, sample, access, proposed)
            tester = self._tester(test, self._settings.registry, proposed)
            for batch in batches_of(topic, sample, limit_bytes=choice.limit_bytes):
                tester.feed(batch)
        return sample, tester.tally

    def _distributed(
        self, test: TopicTest, sample: SampleUnderTest, access: KafkaAccess, proposed: Proposed | None
    ) -> Tally:
        from counterfoil.contracts.testing.tester import DistributedTest, open_scanner, sendable, wanted_of

        sent = DistributedTest(
            test, wanted_of(sample), self._settings.registry(), sendable(proposed), self._settings.shows_values
        )
        with open_scanner(self._settings.engine) as scanner:
            return sent.run(scanner, access)

    def _tester(self, test: TopicTest, registry: Callable[[], Registry], proposed: Proposed | None) -> TopicTester:
        plan = RecordTestPlan(
            test,
            keys=Writers(registry),
            shows_values=self._settings.shows_values,
            has_proposed=proposed is not None,
        )
        return TopicTester(plan, Writers(registry, proposed))

    def _access(self, chosen: ChosenTest) -> KafkaAccess:
        """Return the given access to Kafka, else that of the contract's server. Raises ``UsageMistake``."""
        given = self._settings.kafka
        if given is not None:
            return given
        if chosen.server is not None and chosen.server.host:
            return KafkaAccess(chosen.server.host)
        raise UsageMistake("test needs --bootstrap-servers, COUNTERFOIL_BOOTSTRAP_SERVERS, --server or --from-file")

    def _ignores(self, finding: Finding) -> bool:
        project = self._settings.project
        return project is not None and project.ignores(finding.rule, finding.path) is not None

    def _judged(self, finding: Finding) -> Finding:
        project = self._settings.project
        return (
            finding
            if project is None
            else with_approval(finding, [AcceptanceSource("", project)], self._settings.today)
        )


def exit_code_of(report: TestReport, limit: FailOn, *, is_empty_fine: bool) -> ExitCode:
    """Return BROKEN for a finding that fails, CANNOT_SAY if a topic gave no record or there is none, OK otherwise."""
    if any(is_failing(one, limit) for one in report.findings):
        return ExitCode.BROKEN
    has_all = bool(report.results) and all(each.tally.records for each in report.results)
    return ExitCode.OK if has_all or is_empty_fine else ExitCode.CANNOT_SAY


# Results of tests as a registry takes them: verifications of published contracts, and statistics of topics.

_MAX_TEXT: Final = 1000
_MAX_NAME: Final = 200
_MAX_RESULTS: Final = 1000
_MAX_ID: Final = 2**31 - 1
"""A greater id is no id of a registry: its records are among those that cannot be read."""


class ResultPublisher:
    """Stores the results of tests in the registry of ``client``; ``read`` returns the content of a file here.

    ``environment`` is that of the records, None for that of the contract's server.
    """

    def __init__(
        self,
        client: Registry,
        tests: Sequence[ChosenTest],
        *,
        read: Callable[[str], bytes | None],
        environment: str | None,
        build_url: str = "",
    ) -> None:
        self._client = client
        self._read = read
        self._build_url = build_url
        self._check_environments({environment_of(each, environment) for each in tests})
        self._hashes = {each.test.file: self._hash(each.test) for each in tests}

    def publish(self, report: TestReport) -> Iterator[str]:
        """Store the results of each topic with records, and yield a sentence about each topic."""
        for result in report.results:
            name = f"{result.test.contract} {result.test.version}, topic {result.test.topic}"
            if not result.tested:
                yield f"{name}: nothing was stored, because there was no record to test"
                continue
            self._client.call(operations.post_topic_stats(statistics_of(result)))
            new = verification_of(result, contract_hash=self._hashes[result.test.file], build_url=self._build_url)
            try:
                stored = self._client.call(operations.publish_verification(new))
            except InvalidVerification as mistake:
                raise Conflict(mistake.message) from None
            word = "passed" if stored.is_passed else "failed"
            yield f"{name}: the verification in {stored.environment} is stored: {word}"

    def _check_environments(self, names: set[str]) -> None:
        if "" in names:
            raise UsageMistake("--publish needs the environment of the records: --environment, or --server")
        known = [each.name for each in self._client.call(operations.environments())]
        for name in sorted(names):
            if name not in known:
                raise NotKnown(f"the registry has no environment {name}; {likely(name, known)}")

    def _hash(self, test: TopicTest) -> str:
        """Return the hash of the published contract, whose promises must be those of the file here."""
        what = f"{test.contract} {test.version}"
        try:
            published = self._client.call(operations.published_contract(test.contract, test.version))
        except ContractNotFound:
            raise NotKnown(
                f"{test.file}: the registry has no contract {what}; store it first with counterfoil publish"
            ) from None
        here = read_file(test.file, self._read(test.file) or b"").reading.agreement
        there = read_file(test.file, published.text.encode()).reading.agreement
        if here is None or there is None or content_hash(here) != content_hash(there):
            raise Conflict(
                f"{test.file}: {what} is published with other content, and a verification is about published content; "
                "give the file another version, and store it with counterfoil publish"
            )
        return published.hash


def verification_of(result: TopicResult, *, contract_hash: str, build_url: str = "") -> NewVerification:
    """Return the result for a topic as a verification. It has no values of records.

    Checks of the contract's own file count; those of a proposed schema and of consumers are about something else.
    """
    sample, tally, test = result.sample, result.tally, result.test
    own = [
        _result(result, number, check)
        for number, check in enumerate(test.checks)
        if check.file == test.file and number not in {UNREADABLE, UNWRITABLE}
    ]
    unchecked = (
        CheckResult(excerpt(each.name, _MAX_NAME), CheckOutcome.SKIPPED, text=excerpt(each.reason, _MAX_TEXT))
        for each in test.unchecked
    )
    results = sorted((*own, *unchecked), key=lambda each: each.outcome is not CheckOutcome.FAILED)
    is_of_topic = sample.strategy != FILE
    offsets = [OffsetRange(number, each.first, each.last + 1) for number, each in sorted(tally.spans.items())]
    return NewVerification(
        test.contract,
        test.version,
        result.environment,
        RecordSample(
            test.topic,
            tally.records,
            sample.strategy,
            sample.seed if sample.is_random else None,
            tuple(offsets) if is_of_topic else (),
        ),
        tuple(results[:_MAX_RESULTS]),
        tuple(result.records_by_id),
        contract_hash,
        build_url,
        sample.taken_ms or None,
    )


def statistics_of(result: TopicResult) -> TopicStats:
    """Return the counts of a topic's records by schema id."""
    sample, tally = result.sample, result.tally
    return TopicStats(
        result.test.topic,
        result.environment,
        tally.records,
        tally.tombstones,
        sum(each.undecodable for each in tally.writers.values()),
        tuple(SchemaCount(each, records) for each, records in result.records_by_id.items() if each <= _MAX_ID),
        is_complete=sample.is_complete and sample.strategy != FILE,
        counted_ts=sample.taken_ms,
    )


def _result(result: TopicResult, number: int, check: Check) -> CheckResult:
    """Return the result of a check: skipped if it was not evaluated, or is a warning, approved or ignored."""
    tally, finding = result.tally, result.finding(check)
    failures = tally.failures.get(number) or tally.counts.get(number, Failures())
    if finding is not None and is_failing(finding, FailOn.ERROR):
        outcome = CheckOutcome.FAILED
    else:
        is_kept = finding is None and number not in tally.failures
        outcome = CheckOutcome.PASSED if is_kept else CheckOutcome.SKIPPED
    return CheckResult(
        excerpt(f"{check.rule} {check.element}".rstrip(), _MAX_NAME),
        outcome,
        result.tested,
        failures.count,
        "" if outcome is CheckOutcome.PASSED else excerpt(check.text, _MAX_TEXT),
    )
