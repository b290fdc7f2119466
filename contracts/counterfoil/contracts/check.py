"""The check itself: from schema files and their earlier versions to findings. It does no I/O."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from counterfoil.contracts.advice import advice_for
from counterfoil.contracts.checking.file import FileCheck
from counterfoil.contracts.checking.request import Before, EarlierSubjects, FileRequest
from counterfoil.contracts.folding import fold
from counterfoil.contracts.generated_code import GeneratedCode
from counterfoil.contracts.model import CheckReport, FileOutcome, Finding, Status, fingerprint
from counterfoil.contracts.project.mapping import mapping_of, settings_at, settings_of
from counterfoil.contracts.subjects import Subjects
from counterfoil.schema.compatibility.levels import CompatibilityLevel
from counterfoil.schema.compatibility.policies import CompatibilityPolicy
from counterfoil.schema.reports.model import Severity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from counterfoil.contracts.baseline import Baseline, Removed
    from counterfoil.contracts.project.model import Project
    from counterfoil.contracts.topic_records import Topics
    from counterfoil.contracts.tree import SchemaTree

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
    topics: Topics | None = None,
    project: Project | None = None,
    generated_code: GeneratedCode = GeneratedCode.NONE,
    subjects: Subjects | None = None,
    before: Callable[[], Before] | None = None,
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
    earlier = EarlierSubjects(before or (lambda: Before(None if baseline.names_subjects else baseline, project)))
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


def _note(note: str, topics: Topics | None, *, has_sketch: bool) -> str:
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
        text="the schema was removed, so nothing keeps its readers and writers together any longer",
        fingerprint=fingerprint(rule, outcome.subject),
        against=outcome.compared_with,
        advice=advice_for(rule),
    )
