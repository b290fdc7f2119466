"""The exit code of a report: passed, broken, or nothing was checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.contracts.advice import UNDECIDED
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.schema.reads.rules import UNDECIDED as UNDECIDED_READER

if TYPE_CHECKING:
    from counterfoil.contracts.model import CheckReport, FailOn, Finding


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
    return finding.rule == UNDECIDED or (finding.rule == UNDECIDED_READER and not finding.is_observed)
