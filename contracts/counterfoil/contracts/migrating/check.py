"""The check of intended breaks: what a change breaks is approved where the converter of a migration passes its trial.

A contract in a new major version names the migration. Its converter is tried on generated and recorded records; if all
of them pass, the breaks of the topic for readers of the old version are approved until the migration ends.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple

from counterfoil.contracts.advice import advice_for
from counterfoil.contracts.consumers.agreements import Links
from counterfoil.contracts.consumers.pairs import Schemas, changes_of, topics_of
from counterfoil.contracts.linting.agreements import below
from counterfoil.contracts.migrating.trial import Failure, Outcome, Side, Trial, try_converter
from counterfoil.contracts.migrating.values import recorded_function
from counterfoil.contracts.model import Evidence, Finding, fingerprint
from counterfoil.schema.agreements.model import major_of
from counterfoil.schema.bridges.document import read_bridge
from counterfoil.schema.counting import counted
from counterfoil.schema.documents.nodes import InvalidDocument
from counterfoil.schema.errors import CounterfoilError
from counterfoil.schema.evolution.tree import NotPlannable
from counterfoil.schema.paths import InvalidPath, StepKind, parse_path
from counterfoil.schema.position import Position
from counterfoil.schema.reads.json_base import NoValues
from counterfoil.schema.reports.model import Approval, Severity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import date

    from counterfoil.contracts.consumers.check import ConsumerRequest
    from counterfoil.contracts.consumers.pairs import TopicChange
    from counterfoil.contracts.model import CheckReport
    from counterfoil.schema.agreements.model import Contract, Migration
    from counterfoil.schema.agreements.model import Read as ReadPath
    from counterfoil.schema.bridges.model import BridgeFile

FAILED: Final = "migration-failed"
LOSSY: Final = "migration-lossy"
_EVALUATOR: Final = "the reference evaluator of conversion plans"
_NOT_OF_VALUES: Final = frozenset({StepKind.KEY, StepKind.HEADER})
_NOT_OF_RECORDS: Final = frozenset({"pii-tag-removed"})
"""The rules about contracts that no conversion of records concerns."""


@dataclass(frozen=True, slots=True)
class MigrationRequest:
    """What is compared, and what a trial needs besides.

    ``read`` returns the bytes of a file of the side that is checked, None without one. ``recorded`` returns recorded
    values of a topic, as ``counterfoil consume`` prints them. ``today`` is a day in UTC.
    """

    agreements: ConsumerRequest
    read: Callable[[str], bytes | None]
    today: date
    recorded: Callable[[str], Sequence[object]] = lambda _: ()


def approve_migrations(report: CheckReport, request: MigrationRequest) -> CheckReport:
    """Return the report with approvals of the breaks that a migration permits, and with what hinders the others."""
    before, after = request.agreements.before, request.agreements.after
    if before is None:
        return report
    for path, contract in after.contracts.values():
        known = before.contracts.get(contract.id)
        if known is None:
            continue
        versions = major_of(known[1].version), major_of(contract.version)
        for migration in contract.migrations:
            if versions[0] != versions[1] and versions == (major_of(migration.source), major_of(migration.target)):
                report = _Attempt(request, path, contract, known, migration).applied(report)
    ordered = sorted(report.findings, key=lambda each: (each.path, each.position or Position(0, 0), each.rule))
    return replace(report, findings=tuple(ordered))


class _Result(NamedTuple):
    """The outcome, the topic that the converter is about, if any, and whether it leads back to the old version."""

    outcome: Outcome
    change: TopicChange | None = None
    is_back: bool = False


class _Attempt:
    """One migration of a contract that has changed its major version."""

    def __init__(
        self,
        request: MigrationRequest,
        path: str,
        contract: Contract,
        known: tuple[str, Contract],
        migration: Migration,
    ) -> None:
        self._request = request
        self._path = path
        self._contract = contract
        self._before = known[1]
        self._migration = migration
        agreements = request.agreements
        links = Links(agreements.tree, agreements.project)
        before = Links(agreements.tree_before, agreements.project) if agreements.tree_before is not None else links
        schemas = Schemas(links, before, agreements.baseline)
        self._changes = tuple(changes_of(topics_of(path, contract, links), topics_of(*known, before), schemas))
        others = (each for each in agreements.after.contracts.values() if each[1].id != contract.id)
        self._of_others = {topic.value_path for other in others for topic in topics_of(*other, links)}

    def applied(self, report: CheckReport) -> CheckReport:
        """Return the report with this migration taken into account."""
        result = self._tried()
        broken = [
            each for each in report.findings if each.severity is Severity.ERROR and self._is_of(result.change, each)
        ]
        if not broken:
            return report
        more = list(self._findings(result))
        if result.outcome.failure is not None:
            return replace(report, findings=(*report.findings, *more))
        written, read = self._names(is_back=result.is_back)
        variety = f", {result.outcome.variety}," if result.outcome.variety else ""
        records = counted(result.outcome.converted, "record")
        approval = Approval(
            reason=f"it is intended; {records} of {written}{variety} can be read as {read}",
            owner=self._contract.owner or self._contract.id,
            until=f"{self._migration.sunset}",
            migration=below(self._path, self._migration.converter),
        )
        found = tuple(replace(each, approval=approval) if each in broken else each for each in report.findings)
        return replace(report, findings=(*found, *more))

    # --- the trial

    def _tried(self) -> _Result:
        file = self._file()
        if isinstance(file, Failure):
            return _Result(Outcome(failure=file))
        change = next((each for each in self._changes if _is_about(file, each)), None)
        if change is None:
            text = f"the converter leads from {file.source_topic} to {file.target_topic}; expected {self._expected()}"
            return _Result(Outcome(failure=Failure(text)))
        is_back = _leads_back(file, change)
        return _Result(self._outcome(file, change, is_back=is_back), change, is_back)

    def _file(self) -> BridgeFile | Failure:
        """Return the converter's file, or why the migration permits nothing."""
        migration, today = self._migration, self._request.today
        if migration.sunset is None:
            return Failure("the migration has no sunset, the last day on which it permits the break")
        if migration.sunset < today:
            return Failure(f"the migration ended on {migration.sunset}; today is {today} in UTC")
        place = below(self._path, migration.converter)
        data = self._request.read(place)
        if data is None:
            return Failure(f"there is no file {migration.converter}")
        try:
            return read_bridge(data.decode())
        except (InvalidDocument, UnicodeDecodeError) as mistake:
            return Failure(f"{migration.converter} is no bridge file: {mistake}")

    def _outcome(self, file: BridgeFile, change: TopicChange, *, is_back: bool) -> Outcome:
        earlier, later, before = change.earlier, change.later, change.before
        if earlier is None or later is None or before is None:
            return Outcome(failure=Failure("no valid schema of both versions is known"))
        old = Side(self._before.version, earlier.schema, before.promise)
        new = Side(self._contract.version, later.schema, change.after.promise)
        trial = Trial(file, old, new, is_back, self._old_reads())
        topic = trial.source.promise.topic
        given = self._request.recorded(topic)
        try:
            recorded = tuple(map(recorded_function(trial.source.schema), given)) if given else ()
            return try_converter(replace(trial, recorded=recorded))
        except NoValues as problem:
            return Outcome(failure=Failure(f"a recorded value of {topic} is not read: {problem}"))
        except (NotPlannable, CounterfoilError) as problem:
            return Outcome(failure=Failure(f"the converter cannot be tried: {problem}"))

    def _old_reads(self) -> dict[str, tuple[ReadPath, ...] | None]:
        """Return what each consumer of the old version reads."""
        return {
            each.name: each.expectation.reads
            for each in self._request.agreements.after.of_contract(self._contract.id)
            if major_of(each.expectation.version) == major_of(self._migration.source)
        }

    def _expected(self) -> str:
        pairs = [f"{each.before.promise.topic} to {each.after.promise.topic}" for each in self._changes if each.before]
        return f"{' or '.join(pairs)}, or the other way round"

    # --- its findings

    def _is_of(self, change: TopicChange | None, finding: Finding) -> bool:
        """Return whether a finding is a break of the topic's values for readers of the old version alone."""
        changes = self._changes if change is None else (change,)
        paths = {path for each in changes for path in (each.after.value_path, each.before and each.before.value_path)}
        subjects = {each.after.promise.subject for each in changes}
        is_of_topic = finding.path in paths or (finding.path == self._path and finding.subject in subjects)
        broken = finding.readers.broken if finding.readers is not None else ()
        if finding.rule in _NOT_OF_RECORDS or (finding.direction is not None and finding.path in self._of_others):
            return False
        return is_of_topic and _is_of_values(finding.element) and set(broken) <= self._old_reads().keys()

    def _findings(self, result: _Result) -> Iterator[Finding]:
        migration, failure = self._migration, result.outcome.failure
        way = f"migration from version {migration.source} to {migration.target}"
        if failure is not None:
            evidence = None
            if failure.record:
                evidence = Evidence(failure.record, *self._names(is_back=result.is_back), failure.text, _EVALUATOR)
            yield self._finding(FAILED, Severity.ERROR, f"{way}: {failure.text}", evidence)
        if lossy := result.outcome.lossy:
            yield self._finding(LOSSY, Severity.NOTICE, f"{way} does not carry everything: {'; '.join(lossy)}")

    def _names(self, *, is_back: bool) -> tuple[str, str]:
        """Return the names of the version that writes the records of a trial, and of the one that reads them."""
        old, new = (f"{self._contract.id} {each.version}" for each in (self._before, self._contract))
        return (new, old) if is_back else (old, new)

    def _finding(self, rule: str, severity: Severity, text: str, evidence: Evidence | None = None) -> Finding:
        return Finding(
            rule=rule,
            severity=severity,
            subject=self._contract.id,
            path=self._path,
            text=text,
            fingerprint=fingerprint(rule, self._contract.id, self._migration.source, self._migration.target),
            position=self._migration.position,
            evidence=evidence,
            advice=advice_for(rule),
        )


def _is_about(file: BridgeFile, change: TopicChange) -> bool:
    """Return whether a bridge file is about the topic before and after the change."""
    if change.before is None:
        return False
    mine = {file.source_topic, file.target_topic}
    topics = {change.before.promise.topic, change.after.promise.topic}
    return mine == topics or (len(topics) == 1 and bool(topics & mine))


def _leads_back(file: BridgeFile, change: TopicChange) -> bool:
    """Return whether a bridge file leads to the old version: to its topic, or, by default, from a new one."""
    before, after = change.before, change.after.promise.topic
    if before is None or before.promise.topic == after:
        return file.target_topic == after
    return file.source_topic == after


def _is_of_values(element: str) -> bool:
    """Return whether an element is a part of a record's value, not of its key or its headers."""
    try:
        return not element or parse_path(element)[0].kind not in _NOT_OF_VALUES
    except InvalidPath:
        return True
