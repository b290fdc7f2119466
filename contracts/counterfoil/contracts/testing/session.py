"""One run of the tests: each topic from its source to findings."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from counterfoil.contracts.baselines.operands import read_operand
from counterfoil.contracts.errors import UsageMistake
from counterfoil.contracts.project.acceptance import AcceptanceSource, with_approval
from counterfoil.contracts.reports.lint import is_failing
from counterfoil.contracts.testing.plan import Proposed, RecordTestPlan, Writers
from counterfoil.contracts.testing.sources import (
    FILE,
    RecordFile,
    SampleUnderTest,
    batches_of,
    choose_sample,
    environment_of,
    open_topic,
)
from counterfoil.contracts.testing.tester import TopicTester
from counterfoil.contracts.testing.verdict import TestReport, TopicResult, findings_of
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.sdk.kafka import KafkaAccess

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import date

    from counterfoil.contracts.findings import FailOn, Finding
    from counterfoil.contracts.project.model import Project
    from counterfoil.contracts.testing.promises import TopicTest
    from counterfoil.contracts.testing.sources import ChosenTest, SampleChoice
    from counterfoil.contracts.testing.tally import Tally
    from counterfoil.sdk.client import Registry


@dataclass(frozen=True, slots=True)
class TestSettings:
    """What the command was called with. ``registry`` opens what schemas come from; ``proposed`` names a schema.

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
