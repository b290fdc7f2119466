"""The check: from schema files and their earlier versions to findings, what decides on them, and the exit code."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Final, NamedTuple

from counterfoil.contracts.advice import UNDECIDED, advice_for
from counterfoil.contracts.baselines import Baseline, Removed
from counterfoil.contracts.check.drafts import fold
from counterfoil.contracts.check.file import FileCheck
from counterfoil.contracts.check.request import EarlierSubjects, FileRequest, FilesBefore, GeneratedCode, SketchedTopics
from counterfoil.contracts.findings import CheckGate, CheckReport, FailOn, FileOutcome, Finding, Status, fingerprint
from counterfoil.contracts.project import SchemaTree
from counterfoil.contracts.project.model import Project, mapping_of, settings_at, settings_of
from counterfoil.contracts.project.subjects import Subjects
from counterfoil.schema.compatibility import CompatibilityLevel, CompatibilityPolicy
from counterfoil.schema.compatibility.findings import CONSUMER_UNDECIDED
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.schema.reports import Severity
from counterfoil.schema.texts import counted

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
    """Report what one file causes in others once, at its cause."""
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


# What decides on a change: the compatibility level, the consumers, both, or nothing.

_LANGUAGE: Final = "schema-type-changed"
"""A rule of the level that consumers cannot overrule: none of them reads another language."""
_READ_OR_NOT: Final = frozenset({"unit-changed", "enum-symbol-added-closed", "header-missing"})
"""The rules about promises that matter to those alone who read what is promised."""


class Gates:
    """The gates of files: the ``given`` one of all, else what ``project`` has for each, else strict.

    Contract and product files have the gate of the schema that they are about, once that is known.
    """

    def __init__(self, tree: SchemaTree, project: Project | None, given: CheckGate | None) -> None:
        self._tree = tree
        self._schemas = frozenset(tree.paths)
        self._project = project
        self._given = given
        self._by_path: dict[str, CheckGate] = {}

    def of(self, path: str) -> CheckGate:
        """Return the gate of the file at ``path``."""
        if self._given is not None:
            return self._given
        if path not in self._by_path:
            names = self._tree.outline(path) if path in self._schemas else None
            settings = settings_at(self._project, path, names.name if names else None)
            self._by_path[path] = settings.gate or CheckGate.STRICT
        return self._by_path[path]

    def lend(self, schema: str, path: str) -> None:
        """Give the agreement at ``path`` the gate of a schema, unless it has that of another one."""
        self._by_path.setdefault(path, self.of(schema))


def apply_gates(report: CheckReport, tree: SchemaTree, gates: Gates, is_read: Mapping[str, bool]) -> CheckReport:
    """Return the report with the severities that the gates leave to its findings.

    ``is_read`` says of each schema with a contract whether it has a consumer. A schema without one stays strict.
    """
    decided = _Decided(tree, is_read)
    findings, undecided, overruled = [], set(), 0
    for finding in report.findings:
        gate = gates.of(finding.path)
        if gate is CheckGate.OBSERVE:
            findings.append(replace(finding, is_observed=True))
            continue
        is_of_level = finding.direction is not None and finding.rule != _LANGUAGE
        if gate is CheckGate.CONSUMERS and is_of_level and not decided.by_consumers(finding.path):
            undecided.add(finding.path)
        elif gate is CheckGate.CONSUMERS and (is_of_level or _concerns_nobody(finding)):
            overruled += finding.severity is not Severity.NOTICE
            findings.append(replace(finding, severity=Severity.NOTICE))
            continue
        findings.append(finding)
    notes = [report.note] if report.note else []
    if overruled:
        notes.append(f"the gate consumers makes {counted(overruled, 'finding')} a notice")
    if undecided:
        paths = ", ".join(sorted(undecided))
        notes.append(f"the gate consumers does not apply to {paths}: no contract with a consumer is about it")
    if observed := sum(each.is_observed and each.severity is Severity.ERROR for each in findings):
        notes.append(f"the gate observe lets {counted(observed, 'error')} pass")
    return replace(report, findings=tuple(findings), note="; ".join(notes))


def _concerns_nobody(finding: Finding) -> bool:
    return finding.rule in _READ_OR_NOT and finding.readers is not None and not finding.readers.reading


class _Decided:
    """Which schemas the consumers decide on: those that are read, and those that only such schemas refer to."""

    def __init__(self, tree: SchemaTree, is_read: Mapping[str, bool]) -> None:
        self._tree = tree
        self._is_read = is_read
        self._users_by_path: dict[str, list[str]] | None = None

    def by_consumers(self, path: str, way: tuple[str, ...] = ()) -> bool:
        """Return whether consumers decide on the schema at ``path``; ``way`` are the schemas that led to it."""
        if path in self._is_read:
            return self._is_read[path]
        users = [each for each in self._users(path) if each not in way]
        return bool(users) and all(self.by_consumers(each, (*way, path)) for each in users)

    def _users(self, path: str) -> list[str]:
        """Return the schemas that refer to the one at ``path``."""
        if self._users_by_path is None:
            self._users_by_path = {}
            for each in self._tree.paths:
                for target in self._tree.direct_references(each).values():
                    self._users_by_path.setdefault(target, []).append(each)
        return self._users_by_path.get(path, [])


# The exit code of a report: passed, broken, or nothing was checked.


def exit_code_of(report: CheckReport, *, fail_on: FailOn | None, is_empty_fine: bool) -> ExitCode:
    """Return BROKEN for a failing finding, CANNOT_SAY if too little could be judged, OK otherwise.

    Too little is no file at all, a comparison that did not end within its limits, or, if the report needs all of them,
    fewer than there are without the new ones, or what a registry could not say.
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
