"""The check of a change: its stages, the first of which compares schema files, and the exit code of its report."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from counterfoil.contracts.advice import UNDECIDED, advice_for
from counterfoil.contracts.baselines import Baseline, Removed
from counterfoil.contracts.check.drafts import fold
from counterfoil.contracts.check.file import EarlierSubjects, FileCheck, FileRequest, FilesBefore, GeneratedCode
from counterfoil.contracts.check.topics import SketchedTopics
from counterfoil.contracts.findings import CheckGate, CheckReport, FailOn, FileOutcome, Finding, Status, fingerprint
from counterfoil.contracts.project import SchemaTree
from counterfoil.contracts.project.files import APPROVALS_FILE_NAME, load_approvals
from counterfoil.contracts.project.model import Project, agreement_test
from counterfoil.contracts.project.subjects import (
    Subjects,
    mapping_of,
    notes_of,
    settings_at,
    settings_of,
    shared_notes,
    unmapped_notes,
)
from counterfoil.schema.compatibility import CompatibilityLevel, CompatibilityPolicy
from counterfoil.schema.compatibility.findings import CONSUMER_UNDECIDED
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.schema.reports import Severity

if TYPE_CHECKING:
    from datetime import date

    from counterfoil.contracts.baselines.choose import ComparedSides
    from counterfoil.contracts.check.consumers import ConsumerRequest
    from counterfoil.schema.datum import Datum
    from counterfoil.schema.rest.verdicts import Approvals


# The check itself: from schema files and their earlier versions to findings. It does no I/O.

DEFAULT_LEVEL = CompatibilityLevel.BACKWARD
DEFAULT_POLICY = CompatibilityPolicy.STRICT


def check_files(
    head: SchemaTree,
    paths: Iterable[str],
    *,
    baseline: Baseline,
    level: CompatibilityLevel | None = None,
    policy: CompatibilityPolicy | None = None,
    confirm: int = 0,
    allow_unmapped: bool = False,
    topics: SketchedTopics | None = None,
    project: Project | None = None,
    generated_code: GeneratedCode = GeneratedCode.NONE,
    subjects: Subjects | None = None,
    before: Callable[[], FilesBefore] | None = None,
) -> CheckReport:
    """Return the report on the files of ``head`` at ``paths``, compared with ``baseline``.

    ``level`` and ``policy`` take precedence over those that ``project`` has for a file, and these over the baseline's;
    without all three the level is BACKWARD and the policy STRICT. All files and all findings are in the report, in the
    order of paths and positions. Where the verdict is "compatible", ``confirm`` generated records are written with one
    schema and read with the other; one that is not read, or is read as another value, is a warning, since the rules
    allow it and records are misread; under SOUND it is an error.

    A baseline that knows files by their subjects must know the subject of each of them, unless ``allow_unmapped``: a
    file without a subject is then a warning, and the report's result is "cannot say". A file with several subjects is
    judged against each of them.

    ``topics`` are sketches of topics: each finding gets the number of records that trigger it. With ``generated_code``,
    changes that break code generated from the newest earlier version are errors, too. ``subjects`` are those of the
    files of ``head``, by default as ``project`` declares them. ``before`` returns the files and the project as they
    were, by default the baseline and the present project; where a file had another subject then, that is a warning.
    """
    named = subjects or Subjects(head, project)
    earlier = EarlierSubjects(before or (lambda: FilesBefore(None if baseline.names_subjects else baseline, project)))
    settings = {path: settings_of(project, head, path) for path in sorted(paths)}

    def request_of(path: str, source: Baseline, *, is_first: bool) -> FileRequest:
        said, mapping = settings[path], mapping_of(project, head, path)
        names_subjects = source.names_subjects or project is not None
        return FileRequest(
            level or said.level or source.level(path) or DEFAULT_LEVEL,
            policy or said.policy or source.policy(path) or DEFAULT_POLICY,
            confirm,
            needs_subject=source.names_subjects and not allow_unmapped,
            topics=topics,
            owner=said.owner or "",
            subject=mapping.subject if mapping else None,
            generated_code=generated_code,
            rivals=named.rivals(path) if names_subjects else {},
            unmapped=named.unmapped_references(path) if names_subjects else (),
            is_first=is_first,
            is_by_name=project is None,
            earlier_subjects=earlier if is_first else None,
            subjects=partial(named.known_as, path),
        )

    outcomes: list[FileOutcome] = []
    findings: list[Finding] = []
    has_sketch = False
    further = baseline.further if baseline.names_subjects else ()
    sources: list[tuple[Baseline, Iterable[str]]] = [(baseline, settings)]
    sources += [(each, sorted(each.paths)) for each in further]
    for source, checked in sources:
        is_first = source is baseline
        checks = {path: FileCheck(head, path, source, request_of(path, source, is_first=is_first)) for path in checked}
        outcomes += [check.run() for check in checks.values()]
        _fold(head, checks)
        findings += [finding for check in checks.values() for finding in check.findings()]
        has_sketch = has_sketch or any(check.has_sketch for check in checks.values())
    fail_on_by_path = {path: said.fail_on for path, said in settings.items() if said.fail_on is not None}
    if len(sources) > 1:
        outcomes.sort(key=lambda one: one.path)
        findings.sort(key=lambda one: one.path)
    for gone in baseline.removed():
        said = settings_at(project, gone.path, gone.name or None)
        wanted = _Wanted(level or said.level or DEFAULT_LEVEL, policy or said.policy or DEFAULT_POLICY)
        if wanted.level is not CompatibilityLevel.NONE:
            outcomes.append(_gone(gone, project, wanted, baseline.label))
            findings.append(_removed(outcomes[-1]))
            if said.fail_on is not None:
                fail_on_by_path[gone.path] = said.fail_on
    return CheckReport(
        baseline.label,
        tuple(outcomes),
        tuple(findings),
        _note(baseline.note, topics, has_sketch=has_sketch),
        names_subjects=baseline.names_subjects,
        needs_all=baseline.names_subjects,
        allows_unmapped=allow_unmapped,
        fail_on_by_path=fail_on_by_path,
    )


class _Wanted(NamedTuple):
    """The level and the policy of a file."""

    level: CompatibilityLevel
    policy: CompatibilityPolicy


def _gone(gone: Removed, project: Project | None, wanted: _Wanted, against: str) -> FileOutcome:
    """Return the outcome of a removed file."""
    known = project.mapping(gone.path, name=gone.name or None) if project is not None else None
    name = (known.subject if known is not None else None) or gone.name or gone.path
    return FileOutcome(gone.path, name, Status.REMOVED, wanted.level, wanted.policy, (against,))


def _fold(head: SchemaTree, checks: Mapping[str, FileCheck]) -> None:
    """Report a finding that one file causes in others once, at its cause."""
    fold(
        {path: check.drafts for path, check in checks.items()},
        referred=lambda path: head.referred(path).values(),
        move=lambda path, draft: checks[path].take_over(draft, checks[draft.finding.path]),
    )


def _note(note: str, topics: SketchedTopics | None, *, has_sketch: bool) -> str:
    """Return the note of a report, also about sketches that are of no checked file."""
    if topics is None or has_sketch:
        return note
    subjects = ", ".join(subject for sketch in topics.sketches for subject, part in sketch.parts() if part.records)
    unused = f"no checked file is of a subject in the sketch: {subjects or 'it has no records'}"
    return f"{note}; {unused}" if note else unused


def _removed(outcome: FileOutcome) -> Finding:
    rule = "schema-removed"
    return Finding(
        rule=rule,
        severity=Severity.WARNING,
        subject=outcome.subject,
        path=outcome.path,
        text="the schema was removed, so later changes of it are not checked",
        fingerprint=fingerprint(rule, outcome.subject),
        against=outcome.compared_with,
        advice=advice_for(rule),
    )


# The stages of a check, from the comparison of the files to what is accepted.


@dataclass(frozen=True, slots=True)
class CheckQuestion:
    """The question of a check: both sides, how they are judged, and which registry takes part.

    ``level`` to ``generated_code`` are as for :func:`check_files`. ``consumers`` are folders and files that say
    which fields consumers read, and ``gate`` decides which breaks fail, before the project's. ``recorded`` returns the
    recorded values of a topic, on which the converters of migrations are tried. ``judge_live`` adds the breaks for the
    versions that are live in an environment, and ``registered`` returns the approvals of a registry, with the name of
    the registry; both are None where no registry takes part.
    """

    sides: ComparedSides
    level: CompatibilityLevel | None = None
    policy: CompatibilityPolicy | None = None
    confirm: int = 0
    allow_unmapped: bool = False
    topics: SketchedTopics | None = None
    generated_code: GeneratedCode = GeneratedCode.NONE
    consumers: Sequence[str] = ()
    gate: CheckGate | None = None
    recorded: Callable[[str], Sequence[Datum]] = lambda _: ()
    judge_live: Callable[[CheckReport, ConsumerRequest], CheckReport] | None = None
    registered: Callable[[], tuple[Approvals, str] | None] | None = None

    @property
    def has_consumers(self) -> bool:
        """Whether consumers are known: by an option, or by the project."""
        project = self.sides.project
        return bool(self.consumers or (project is not None and project.consumers))

    @property
    def gates(self) -> Collection[CheckGate | None]:
        """The gates that some file has."""
        project = self.sides.project
        return {self.gate} if self.gate or project is None else project.gates

    def agreements(self, gate: CheckGate | None) -> ConsumerRequest:
        """Return the contracts and consumers of both sides; their files are read now."""
        from counterfoil.contracts.check.consumers import request_of

        return request_of(self.sides, self.consumers, gate)


def run_check(question: CheckQuestion) -> CheckReport:
    """Return the report of a check, which each stage hands to the next one."""
    report = CheckReport(question.sides.baseline.label)
    for stage in STAGES:
        report = stage(question, report)
    return report


def compare_files(question: CheckQuestion, _: CheckReport) -> CheckReport:
    """Compare the files with their earlier versions, with which the report begins."""
    sides = question.sides
    return check_files(
        sides.head,
        sides.selected,
        baseline=sides.baseline,
        level=question.level,
        policy=question.policy,
        confirm=question.confirm,
        allow_unmapped=question.allow_unmapped,
        topics=question.topics,
        project=sides.project,
        generated_code=question.generated_code,
        subjects=sides.subjects,
        before=lambda: FilesBefore(sides.before, sides.earlier_project),
    )


def note_unchecked_files(question: CheckQuestion, report: CheckReport) -> CheckReport:
    """Add notes about files that are not checked, and about entries of the project without files."""
    sides = question.sides
    notes = [*notes_of(sides.project, sides.head, sides.undeclared, sides.linked)]
    if not sides.request.is_against_registry:  # against a registry, each such file has a finding
        notes += [
            *unmapped_notes(sides.project, sides.selected),
            *shared_notes(sides.subjects, sides.selected),
        ]
    return replace(report, note="; ".join(filter(None, (report.note, *notes)))) if notes else report


def judge_by_consumers(question: CheckQuestion, report: CheckReport) -> CheckReport:
    """Add the breaks for consumers, and let the gates decide which of them fail."""
    if not question.has_consumers and CheckGate.OBSERVE not in question.gates:
        return report
    from counterfoil.contracts.check.consumers import Gates, apply_gates, check_consumers

    if question.has_consumers:
        return check_consumers(report, question.agreements(question.gate))
    head = question.sides.head
    return apply_gates(report, head, Gates(head, question.sides.project, question.gate), {})


def permit_migrations(question: CheckQuestion, report: CheckReport) -> CheckReport:
    """Approve the breaks that a migration of a contract permits.

    Nothing is read unless something is broken and a contract names a migration.
    """
    if not report.count(Severity.ERROR):
        return report
    head, is_agreement = question.sides.yaml_files, agreement_test(question.sides.project, ())
    contents = head.contents([path for path in head.paths if is_agreement(path)])
    if not any(b"migration" in each for each in contents.values()):
        return report
    from counterfoil.contracts.check.migrations import MigrationRequest, approve_migrations

    def read(path: str) -> bytes | None:
        return head.contents([path]).get(path) if path in head.paths else None

    return approve_migrations(report, MigrationRequest(question.agreements(None), read, _today(), question.recorded))


def judge_by_live_versions(question: CheckQuestion, report: CheckReport) -> CheckReport:
    """Add the breaks for the versions that are live in an environment."""
    judge_live = question.judge_live
    return report if judge_live is None else judge_live(report, question.agreements(question.gate))


def accept_findings(question: CheckQuestion, report: CheckReport) -> CheckReport:
    """Accept the findings that the project or an approval in the repository accepts."""
    sides, approvals = question.sides, load_approvals(question.sides.scope.root)
    project, place = sides.project, sides.project_file
    if project is None and not approvals:
        return report
    from counterfoil.contracts.project.acceptance import AcceptanceSource, accept

    sources = [AcceptanceSource(APPROVALS_FILE_NAME, Project(accepted=tuple(record.accepted for record in approvals)))]
    if project is not None and place is not None:
        sources.insert(0, AcceptanceSource(os.path.relpath(place.place, sides.scope.root), project))
    return accept(report, sources, today=_today(), is_whole="" in sides.scope.wanted)


def accept_registered_findings(question: CheckQuestion, report: CheckReport) -> CheckReport:
    """Accept the findings that a registry has approvals of, requested only where a finding breaks the check."""
    registered = question.registered
    found = None if registered is None or not report.count(Severity.ERROR) else registered()
    if found is None:
        return report
    from counterfoil.contracts.project.acceptance import accept_registered

    approvals, label = found
    return accept_registered(report, approvals, label=label)


STAGES: Final = (
    compare_files,
    note_unchecked_files,
    judge_by_consumers,
    permit_migrations,
    judge_by_live_versions,
    accept_findings,
    accept_registered_findings,
)
"""The stages of a check, in this order: each stage is a function of the question and of the report so far."""


def _today() -> date:
    from datetime import UTC, datetime

    return datetime.now(UTC).date()


# The exit code of a report: passed, broken, or nothing was checked.


def exit_code_of(report: CheckReport, *, fail_on: FailOn | None, is_empty_fine: bool) -> ExitCode:
    """Return BROKEN for a failing finding, CANNOT_SAY if too little could be judged, OK otherwise.

    Too little is no file at all, a comparison that did not end within its limits, or, if the report needs all of them,
    fewer than there are without the new ones, or a question that a registry could not answer.
    """
    if report.is_broken(fail_on):
        return ExitCode.BROKEN
    if report.is_undecided or any(map(_is_unknown, report.findings)):
        return ExitCode.CANNOT_SAY
    if report.is_incomplete:
        return ExitCode.CANNOT_SAY
    if report.checked == 0 and not is_empty_fine:
        return ExitCode.CANNOT_SAY
    return ExitCode.OK


def _is_unknown(finding: Finding) -> bool:
    """Return whether a finding says that a comparison did not end within its limits."""
    return finding.rule == UNDECIDED or (finding.rule == CONSUMER_UNDECIDED and not finding.is_observed)
