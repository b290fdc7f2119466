"""Intended breaks: a break is approved where the converter of a migration passes its trial with records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from itertools import chain, islice
from typing import TYPE_CHECKING, Final, NamedTuple

from counterfoil.contracts.advice import advice_for
from counterfoil.contracts.check.agreements import Links, TopicChange, TopicSchemas, changes_of, topics_of
from counterfoil.contracts.check.migrated_values import (
    Conditions,
    misfit_function,
    numbers_in,
    recorded_function,
    shown,
    unkept,
)
from counterfoil.contracts.findings import CheckReport, Evidence, Finding, fingerprint
from counterfoil.contracts.lint.agreements import below
from counterfoil.schema.agreements import Contract, ExpectedRead, Migration, Promise, major_of
from counterfoil.schema.agreements.findings import SchemaFacts
from counterfoil.schema.agreements.generation import generated
from counterfoil.schema.agreements.judge import uncovered
from counterfoil.schema.datum import Datum
from counterfoil.schema.documents import InvalidDocument
from counterfoil.schema.errors import CounterfoilError
from counterfoil.schema.parsed import ParsedSchema
from counterfoil.schema.paths import InvalidPath, StepKind, parse_path
from counterfoil.schema.plans import ConversionError
from counterfoil.schema.plans.bridge import BridgeFile
from counterfoil.schema.plans.bridge_document import read_bridge
from counterfoil.schema.plans.derivations import derive_both_ways
from counterfoil.schema.plans.derive import derive_plan
from counterfoil.schema.plans.evaluate import evaluator
from counterfoil.schema.plans.jsonschema import NoValues
from counterfoil.schema.plans.model import ConversionPlan
from counterfoil.schema.plans.tree import Node, NotPlannable, tree_of, with_message
from counterfoil.schema.reports import ReportedApproval, Severity
from counterfoil.schema.texts import Position, counted

if TYPE_CHECKING:
    from counterfoil.contracts.check.consumers import ConsumerRequest


# The trial of a converter: records of one version of a topic are converted to the other, and judged there.
#
# The bridge file may lead from the old version to the new one, or back. Old consumers read what is converted back to
# the old version: by the file itself, or by the reverse of its plan.

GENERATED: Final = 100
"""How many records are generated for a trial."""
_TRIES: Final = 20
_FEWEST: Final = 2
"""How many fields a sentence names, those with the fewest distinct values."""
_FILLED: Final = frozenset({"default", "null"})


@dataclass(frozen=True, slots=True)
class TrialSide:
    """A topic in one version of its contract."""

    version: str
    schema: ParsedSchema
    promise: Promise


@dataclass(frozen=True, slots=True)
class Trial:
    """The trial of one bridge file. ``is_back``: the bridge file leads from the new version to the old one.

    ``reads`` are the paths that old consumers read, by the name of each; None is the whole record. ``recorded`` are
    base values of the version from which the file leads.
    """

    file: BridgeFile
    old: TrialSide
    new: TrialSide
    is_back: bool
    reads: Mapping[str, Sequence[ExpectedRead] | None] = field(default_factory=dict)
    recorded: Sequence[Datum] = ()

    @property
    def source(self) -> TrialSide:
        """The version from which the file leads."""
        return self.new if self.is_back else self.old

    @property
    def target(self) -> TrialSide:
        """The version to which the file leads."""
        return self.old if self.is_back else self.new


@dataclass(frozen=True, slots=True)
class TrialFailure:
    """Why a converter does not do: a sentence, and the record of the source that shows it, as JSON, if one does."""

    text: str
    record: str = ""


@dataclass(frozen=True, slots=True)
class TrialOutcome:
    """The result: how many records were converted, the first failure, and the parts that are not carried, as sentences.

    ``numbers`` is how many distinct values were tried of each field that is a number, by its path.
    """

    converted: int = 0
    failure: TrialFailure | None = None
    lossy: tuple[str, ...] = ()
    numbers: Mapping[str, int] = field(default_factory=dict)

    @property
    def variety(self) -> str:
        """How many distinct numbers were tried, as words: of the two fields with the fewest; empty without numbers."""
        fewest = sorted(self.numbers.items(), key=lambda each: each[1])[:_FEWEST]
        listed = [f"{counted(count, 'distinct value')} of {path}" for path, count in fewest]
        least = "at least " if len(self.numbers) > _FEWEST else ""
        return f"with {least}{' and '.join(listed)}" if listed else ""


def try_converter(trial: Trial, count: int = GENERATED) -> TrialOutcome:
    """Convert all recorded and ``count`` generated records, and return the first failure, if there is one."""
    source = with_message(trial.source.schema, trial.file.source_message)
    target = with_message(trial.target.schema, trial.file.target_message)
    problems = trial.file.language_problems(source.schema_type, target.schema_type)
    plan = derive_plan(source, target, trial.file.rules)
    problems = (*problems, *map(str, plan.problems))
    lossy = tuple(_lossy(plan))
    if problems:
        return TrialOutcome(0, TrialFailure(f"the converter is not complete: {'; '.join(problems)}"), lossy)
    if not trial.is_back and trial.reads:
        both = derive_both_ways(source, target, trial.file.rules)
        if both.back.problems:
            missing = "; ".join(f"{each}" for each in both.losses)
            text = f"consumers of version {trial.old.version} need the way back, and it has gaps: {missing}"
            return TrialOutcome(0, TrialFailure(f"{text}; give each field an explicit default"), lossy)
        lossy = (*lossy, *map(str, both.losses), *(f"on the way back, {each}" for each in _filled(both.back)))
        return _Run(trial, source, plan, both.back).outcome(count, lossy)
    return _Run(trial, source, plan, None).outcome(count, lossy)


def _lossy(plan: ConversionPlan) -> Iterator[str]:
    """Yield the parts of a record that are not carried as they were."""
    yield from (f"{each} is dropped" for each in plan.dropped)
    yield from (f"{each} does not keep every value" for each in plan.lossy)
    yield from _filled(plan)


def _filled(plan: ConversionPlan) -> Iterator[str]:
    """Yield the fields that no source field fills."""
    yield from (f"{row.target} is always {row.note}" for row in plan.described if row.how in _FILLED)


class _Run:
    """Converts records one after another."""

    def __init__(self, trial: Trial, source: ParsedSchema, plan: ConversionPlan, back: ConversionPlan | None) -> None:
        self._trial = trial
        self._source = source
        self._source_tree, self._target_tree = tree_of(plan.source), tree_of(plan.target)
        self._convert = evaluator(plan)
        self._back: Callable[[Datum], Datum] | None = None if back is None else evaluator(back)
        self._misfit = misfit_function(trial.target.schema)
        self._source_conditions = Conditions(trial.source.promise, self._source_tree)
        self._target_conditions = Conditions(trial.target.promise, self._target_tree)
        facts, promise = SchemaFacts(trial.old.schema), trial.old.promise
        self._reads = {
            name: None if reads is None else [each for each in reads if _is_backed(each, promise, facts)]
            for name, reads in trial.reads.items()
        }

    def outcome(self, count: int, lossy: tuple[str, ...]) -> TrialOutcome:
        done = 0
        numbers: dict[str, set[Datum]] = {}
        try:
            for value in chain(self._trial.recorded, self._generated(count)):
                if (text := self._failure(value)) is not None:
                    return TrialOutcome(done, TrialFailure(text, shown(self._source, value)), lossy)
                done += 1
                for path, number in numbers_in(self._source_tree, value):
                    numbers.setdefault(path, set()).add(number)
        except NoValues as problem:
            if not self._trial.recorded:
                return TrialOutcome(
                    done, TrialFailure(f"no record could be generated: {problem}; give recorded ones"), lossy
                )
        if not done:
            text = "no record was found that keeps the promises of the contract; give recorded ones"
            return TrialOutcome(0, TrialFailure(text), lossy)
        return TrialOutcome(done, None, lossy, {path: len(found) for path, found in numbers.items()})

    def _generated(self, count: int) -> Iterator[Datum]:
        """Yield generated records that keep the promises of the contract."""
        fields = self._trial.source.promise.fields
        made = generated(self._source, count * _TRIES, self._trial.source.promise.field)
        kept = (each for each in made if next(unkept(self._source_tree, each, fields), None) is None)
        return islice((each for each in kept if next(self._source_conditions.broken(each), None) is None), count)

    def _failure(self, value: object) -> str | None:
        """Return why a record does not pass; None if it does."""
        target = self._trial.target
        try:
            converted = self._convert(value)
        except ConversionError as error:
            return f"it cannot be converted: {error}"
        if misfit := self._misfit(converted):
            return f"converted, it is no record of version {target.version}: {misfit}"
        of_fields = unkept(self._target_tree, converted, target.promise.fields)
        broken = next(chain(of_fields, self._target_conditions.broken(converted)), None)
        if broken is not None:
            return f"converted, it breaks a promise of version {target.version}: {broken}"
        if self._trial.is_back:
            return self._unread(self._target_tree, converted)
        return self._unread_after_the_way_back(converted)

    def _unread(self, tree: Node, value: object) -> str | None:
        """Return the old consumer whose expectation a record of the old version does not keep."""
        for name, reads in self._reads.items():
            problem = next(unkept(tree, value, reads or ()), None)
            if problem is not None:
                return f"{name} cannot read the converted record: {problem}"
        return None

    def _unread_after_the_way_back(self, converted: object) -> str | None:
        if self._back is None:
            return None
        try:
            returned = self._back(converted)
        except ConversionError as error:
            return f"it cannot be converted back to version {self._trial.old.version}: {error}"
        return self._unread(self._source_tree, returned)


def _is_backed(read: ExpectedRead, promise: Promise, facts: SchemaFacts) -> bool:
    """Return whether the old version kept a consumer's expectation; otherwise a converter need not keep it."""
    found = facts.at(read.path)
    return found is not None and not any(uncovered(read, promise.field(read.path), found))


# The check of intended breaks: what a change breaks is approved where the converter of a migration passes its trial.
#
# A contract in a new major version names the migration. Its converter is tried on generated and recorded records; if
# all of them pass, the breaks of the topic for readers of the old version are approved until the migration ends.

FAILED: Final = "migration-failed"
LOSSY: Final = "migration-lossy"
_EVALUATOR: Final = "the reference evaluator of conversion plans"
_NOT_OF_VALUES: Final = frozenset({StepKind.KEY, StepKind.HEADER})
_NOT_OF_RECORDS: Final = frozenset({"pii-tag-removed"})
"""The rules about contracts that no conversion of records concerns."""


@dataclass(frozen=True, slots=True)
class MigrationRequest:
    """Both sides of the comparison, and what else a trial needs.

    ``read`` returns the bytes of a file of the side that is checked, None without one. ``recorded`` returns recorded
    values of a topic, as ``counterfoil consume`` prints them. ``today`` is a day in UTC.
    """

    agreements: ConsumerRequest
    read: Callable[[str], bytes | None]
    today: date
    recorded: Callable[[str], Sequence[object]] = lambda _: ()


def approve_migrations(report: CheckReport, request: MigrationRequest) -> CheckReport:
    """Return the report with approvals of breaks that a migration permits, and with the reasons against the others."""
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

    outcome: TrialOutcome
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
        schemas = TopicSchemas(links, before, agreements.baseline)
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
        approval = ReportedApproval(
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
        if isinstance(file, TrialFailure):
            return _Result(TrialOutcome(failure=file))
        change = next((each for each in self._changes if _is_about(file, each)), None)
        if change is None:
            text = f"the converter leads from {file.source_topic} to {file.target_topic}; expected {self._expected()}"
            return _Result(TrialOutcome(failure=TrialFailure(text)))
        is_back = _leads_back(file, change)
        return _Result(self._outcome(file, change, is_back=is_back), change, is_back)

    def _file(self) -> BridgeFile | TrialFailure:
        """Return the converter's file, or why the migration permits nothing."""
        migration, today = self._migration, self._request.today
        if migration.sunset is None:
            return TrialFailure("the migration has no sunset, the last day on which it permits the break")
        if migration.sunset < today:
            return TrialFailure(f"the migration ended on {migration.sunset}; today is {today} in UTC")
        place = below(self._path, migration.converter)
        data = self._request.read(place)
        if data is None:
            return TrialFailure(f"there is no file {migration.converter}")
        try:
            return read_bridge(data.decode())
        except (InvalidDocument, UnicodeDecodeError) as mistake:
            return TrialFailure(f"{migration.converter} is no bridge file: {mistake}")

    def _outcome(self, file: BridgeFile, change: TopicChange, *, is_back: bool) -> TrialOutcome:
        earlier, later, before = change.earlier, change.later, change.before
        if earlier is None or later is None or before is None:
            return TrialOutcome(failure=TrialFailure("no valid schema of both versions is known"))
        old = TrialSide(self._before.version, earlier.schema, before.promise)
        new = TrialSide(self._contract.version, later.schema, change.after.promise)
        trial = Trial(file, old, new, is_back, self._old_reads())
        topic = trial.source.promise.topic
        given = self._request.recorded(topic)
        try:
            recorded = tuple(map(recorded_function(trial.source.schema), given)) if given else ()
            return try_converter(replace(trial, recorded=recorded))
        except NoValues as problem:
            return TrialOutcome(failure=TrialFailure(f"a recorded value of {topic} is not read: {problem}"))
        except (NotPlannable, CounterfoilError) as problem:
            return TrialOutcome(failure=TrialFailure(f"the converter cannot be tried: {problem}"))

    def _old_reads(self) -> dict[str, tuple[ExpectedRead, ...] | None]:
        """Return the reads of each consumer of the old version."""
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
