"""Which findings of a report count: by ``--rules``, by the project's ignored rules, and by severity."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from counterfoil.contracts.errors import UsageMistake
from counterfoil.contracts.linting.rules import LINT_RULE_BY_ID
from counterfoil.contracts.model import FailOn, Severity
from counterfoil.schema.documents.blocks import likely
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.schema.formats.rules import RULE_BY_ID

if TYPE_CHECKING:
    from counterfoil.contracts.linting.lint import LintReport
    from counterfoil.contracts.project.model import Project

_FILE_RULES = frozenset({"byte-order-mark", "missing-import"})
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
    known = {*LINT_RULE_BY_ID, *_FILE_RULES, *RULE_BY_ID}
    for name in ids:
        if name not in known:
            raise UsageMistake(f"--rules names no rule {name}; {likely(name, LINT_RULE_BY_ID)}")
    return Rules(ids, is_without=without == {True})


def selected(report: LintReport, rules: Rules | None, project: Project | None) -> LintReport:
    """Return the report with the findings that are wanted, and that the project does not ignore or accept."""
    kept = (
        one
        for one in report.findings
        if (rules is None or rules.has(one.rule)) and (project is None or not project.ignores(one.rule, one.path))
    )
    return replace(report, findings=tuple(kept))


def exit_code_of(report: LintReport, *, fail_on: str | None, project: Project | None, is_empty_fine: bool) -> ExitCode:
    """Return BROKEN for a finding that fails, CANNOT_SAY if no file was checked, OK otherwise."""
    own = project.settings.fail_on if project is not None else None
    failing = _FAILING[FailOn(fail_on) if fail_on else own or FailOn.ERROR]
    if any(one.severity in failing for one in report.findings):
        return ExitCode.BROKEN
    return ExitCode.OK if report.files or is_empty_fine else ExitCode.CANNOT_SAY
