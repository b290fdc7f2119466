"""Which findings of a report count: by ``--rules``, by what the project ignores and accepts, by severity."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from counterfoil.contracts.acceptance import Source, with_approval
from counterfoil.contracts.advice import FILE_RULE_BY_ID
from counterfoil.contracts.errors import UsageMistake
from counterfoil.contracts.linting.rules import LINT_RULE_BY_ID
from counterfoil.contracts.model import FailOn
from counterfoil.schema.documents.blocks import likely
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.schema.formats.rules import RULE_BY_ID
from counterfoil.schema.reports.model import Severity

if TYPE_CHECKING:
    from datetime import date

    from counterfoil.contracts.linting.lint import LintReport
    from counterfoil.contracts.model import Finding
    from counterfoil.contracts.project.model import Project

_FAILING = {
    FailOn.ERROR: frozenset({Severity.ERROR}),
    FailOn.WARNING: frozenset({Severity.ERROR, Severity.WARNING}),
    FailOn.NEVER: frozenset[Severity](),
}


class Rules(NamedTuple):
    """The rules that ``--rules`` names: those alone, or all but those."""

    ids: frozenset[str]
    is_without: bool

    def has(self, rule: str) -> bool:
        """Return whether findings of the rule are reported."""
        return (rule in self.ids) is not self.is_without


def parse_rules(text: str | None) -> Rules | None:
    """Return the rules that a list separated by commas names; None without one. Raises ``UsageMistake``."""
    if text is None:
        return None
    names = [name.strip() for name in text.split(",") if name.strip()]
    without = {name.startswith("-") for name in names}
    if len(without) != 1:
        raise UsageMistake("--rules takes names of rules, either all with a minus in front or none")
    ids = frozenset(name.removeprefix("-") for name in names)
    for name in sorted(ids):
        if name not in LINT_RULE_BY_ID and name not in FILE_RULE_BY_ID and name not in RULE_BY_ID:
            raise UsageMistake(f"--rules names no rule {name}; {likely(name, LINT_RULE_BY_ID)}")
    return Rules(ids, is_without=without == {True})


def selected(report: LintReport, rules: Rules | None, project: Project | None, *, today: date) -> LintReport:
    """Return the report with the findings that are wanted and not ignored, and with approvals."""
    kept = [one for one in report.findings if rules is None or rules.has(one.rule)]
    if project is not None:
        kept = [
            with_approval(one, [Source("", project)], today) for one in kept if not project.ignores(one.rule, one.path)
        ]
    return replace(report, findings=tuple(kept))


def limit_of(fail_on: str | None, project: Project | None) -> FailOn:
    """Return the least severity that fails: the given one, else that of the project, else ERROR."""
    own = project.settings.fail_on if project is not None else None
    return FailOn(fail_on) if fail_on else own or FailOn.ERROR


def is_failing(finding: Finding, limit: FailOn) -> bool:
    """Return whether a finding is not approved and at least as severe as ``limit``."""
    return finding.approval is None and finding.severity in _FAILING[limit]


def exit_code_of(report: LintReport, limit: FailOn, *, is_empty_fine: bool) -> ExitCode:
    """Return BROKEN for a finding that fails, CANNOT_SAY if no file was checked, OK otherwise."""
    if any(is_failing(one, limit) for one in report.findings):
        return ExitCode.BROKEN
    return ExitCode.OK if report.files or is_empty_fine else ExitCode.CANNOT_SAY
