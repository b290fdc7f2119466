"""The sentences about a check, its files and its findings, for reports of every format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.contracts.model import Status
from counterfoil.schema.compatibility.policies import CompatibilityPolicy
from counterfoil.schema.counting import counted
from counterfoil.schema.reports.model import Severity

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.contracts.model import CheckReport, Dependant, Evidence, FileOutcome, Finding
    from counterfoil.schema.exit_codes import ExitCode

_SHOWN_DEPENDANTS: Final = 3
_USUAL_POLICY: Final = CompatibilityPolicy.STRICT
"""The policy that is not printed."""


def what_is_found(finding: Finding) -> str:
    """Return the sentence of a finding, with the part of the schema that it is about."""
    return f"{finding.element}: {finding.text}" if finding.element else finding.text


def who_fails(finding: Finding) -> str:
    """Return which side cannot read the other's records."""
    earlier = ", ".join(finding.against)
    if finding.direction == "FORWARD":
        return f"{earlier} cannot read what this schema writes"
    return f"this schema cannot read what {earlier} wrote"


def how_it_is_proved(finding: Finding, evidence: Evidence) -> str:
    """Return how the record of a finding was written and read."""
    decoder = evidence.confirmed_by.partition(": ")[0]
    is_known = finding.text in evidence.step or evidence.step in finding.text
    step = "" if is_known else f": {evidence.step}"
    return f"written with {evidence.writer}, read with {evidence.reader}{step} (confirmed with {decoder})"


def what_also_breaks(finding: Finding, shown_path: Callable[[str], str] = str) -> str:
    """Return the number of schemas that break because they refer to this one, and the first of them."""
    shown = [_named(one, shown_path) for one in finding.also_breaks[:_SHOWN_DEPENDANTS]]
    more = len(finding.also_breaks) - len(shown)
    rest = f", and {more} more" if more else ""
    return f"also breaks {counted(len(finding.also_breaks), 'schema')}: {', '.join(shown)}{rest}"


def what_is_fine(outcome: FileOutcome) -> str:
    """Return the result of a file without findings."""
    requested = outcome.level if outcome.policy is _USUAL_POLICY else f"{outcome.level}, {outcome.policy}"
    result = "unchanged" if outcome.status is Status.UNCHANGED else f"compatible ({requested})"
    compared = f" with {', '.join(outcome.compared_with)}" if outcome.status is Status.COMPARED else ""
    records = counted(outcome.confirmed, "generated record was", "generated records were")
    confirmed = f"; {records} written and read" if outcome.confirmed else ""
    return f"{result}{compared}{confirmed}"


def summary(report: CheckReport, exit_code: ExitCode) -> str:
    """Return the last line of a report: counts, base, policy, exit code."""
    counts = [counted(report.count(severity), severity) for severity in (Severity.ERROR, Severity.WARNING)]
    if report.approved:
        counts.append(f"{report.approved} approved")
    policies = sorted({outcome.policy for outcome in report.files} - {_USUAL_POLICY})
    under = f" under {', '.join(policies)}" if policies else ""
    live = f" and what is live in {report.environment}" if report.environment else ""
    return f"{', '.join(counts)}; {_looked_at(report)} against {report.against}{live}{under} (exit {int(exit_code)})"


def _looked_at(report: CheckReport) -> str:
    """Return how many files were checked; against a registry also how many were judged, and why others were not."""
    consumers = "" if report.consumers is None else f", {counted(report.consumers, 'consumer')}"
    if not report.names_subjects:
        return f"{counted(report.checked, 'schema')}{consumers} checked"
    others = [f"{report.new} new", f"{report.unmapped} unmapped"]
    unread = len(report.files) - report.judged - report.new - report.unmapped
    if unread:
        others.append(f"{unread} not comparable")
    return f"{counted(report.judged, 'schema')} judged, {', '.join(others)}{consumers},"


def _named(dependant: Dependant, shown_path: Callable[[str], str]) -> str:
    path, position = dependant.path, dependant.position
    where = f"{shown_path(path)}:{position}" if position else shown_path(path)
    return f"{dependant.subject} ({where})" if dependant.subject != path else where
