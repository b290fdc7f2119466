"""The check itself: from schema files and their earlier versions to findings. It does no I/O."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.contracts.advice import advice_for
from counterfoil.contracts.checking.file import FileCheck
from counterfoil.contracts.checking.request import FileRequest
from counterfoil.contracts.folding import fold
from counterfoil.contracts.generated_code import GeneratedCode
from counterfoil.contracts.model import CheckReport, FileOutcome, Finding, Status, fingerprint
from counterfoil.contracts.project.mapping import mapping_of, settings_at, settings_of
from counterfoil.schema.compatibility.levels import CompatibilityLevel
from counterfoil.schema.compatibility.policies import CompatibilityPolicy
from counterfoil.schema.reports.model import Severity

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from counterfoil.contracts.baseline import Baseline
    from counterfoil.contracts.model import FailOn
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
) -> CheckReport:
    """Return the report on the files of ``head`` at ``paths``, compared with ``baseline``.

    ``level`` and ``policy`` take precedence over those that ``project`` has for a file, and these over the baseline's;
    without all three the level is BACKWARD and the policy STRICT. All files and all findings are in the report, in the
    order of paths and positions. Where the verdict is "compatible", ``confirm`` generated records are written with one
    schema and read with the other; one that is not read, or is read as another value, is a warning, since the rules
    allow it and records are misread; under SOUND it is an error.

    A baseline that knows files by their subjects must know each of them, unless ``allow_unmapped``: a file without a
    subject or versions there is then a warning, and the report's result is "cannot say".

    ``topics`` are sketches of topics: each finding gets the number of records that trigger it. With ``generated_code``,
    changes that break code generated from the newest earlier version are errors, too.
    """
    needs_all = baseline.names_subjects and not allow_unmapped
    checks: dict[str, FileCheck] = {}
    fail_on_by_path: dict[str, FailOn] = {}
    for path in sorted(paths):
        mapping, said = mapping_of(project, head, path), settings_of(project, head, path)
        request = FileRequest(
            level or said.level or baseline.level(path) or DEFAULT_LEVEL,
            policy or said.policy or baseline.policy(path) or DEFAULT_POLICY,
            confirm,
            needs_all,
            topics,
            owner=said.owner or "",
            subject=mapping.subject if mapping else None,
            generated_code=generated_code,
        )
        if said.fail_on is not None:
            fail_on_by_path[path] = said.fail_on
        checks[path] = FileCheck(head, path, baseline, request)
    outcomes = [check.run() for check in checks.values()]
    fold(
        {path: check.drafts for path, check in checks.items()},
        referred=lambda path: head.referred(path).values(),
        move=lambda path, draft: checks[path].take_over(draft, checks[draft.finding.path]),
    )
    findings = [finding for check in checks.values() for finding in check.findings()]
    for gone in baseline.removed():
        said = settings_at(project, gone.path, gone.name or None)
        wanted = level or said.level or DEFAULT_LEVEL
        if wanted is not CompatibilityLevel.NONE:
            known = project.mapping(gone.path, name=gone.name or None) if project is not None else None
            name = (known.subject if known is not None else None) or gone.name or gone.path
            outcome = FileOutcome(
                gone.path, name, Status.REMOVED, wanted, policy or said.policy or DEFAULT_POLICY, (baseline.label,)
            )
            outcomes.append(outcome)
            findings.append(_removed(outcome))
            if said.fail_on is not None:
                fail_on_by_path[gone.path] = said.fail_on
    return CheckReport(
        baseline.label,
        tuple(outcomes),
        tuple(findings),
        _note(baseline.note, topics, checks.values()),
        names_subjects=baseline.names_subjects,
        needs_all=needs_all,
        fail_on_by_path=fail_on_by_path,
    )


def _note(note: str, topics: Topics | None, checks: Collection[FileCheck]) -> str:
    """Return the note of a report, also about sketches that are of no checked file."""
    if topics is None or any(check.has_sketch for check in checks):
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
