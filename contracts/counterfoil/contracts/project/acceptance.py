"""The effect of a project and its approvals on a report: findings that are accepted, rules that are ignored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING, Final

from counterfoil.contracts.advice import advice_for
from counterfoil.contracts.findings import CheckReport, Finding, fingerprint
from counterfoil.schema.reports import ReportedApproval, Severity
from counterfoil.schema.texts import counted

if TYPE_CHECKING:
    from counterfoil.contracts.project.model import Project, StaleEntry
    from counterfoil.schema.rest.verdicts import Approval as RegisteredApproval
    from counterfoil.schema.rest.verdicts import Approvals


STALE: Final = "approval-stale"
"""The rule about accepted findings that have expired or are not reported."""


@dataclass(frozen=True, slots=True)
class AcceptanceSource:
    """A file that accepts findings, relative to the root of the tree, and its declarations."""

    path: str
    project: Project


def accept(report: CheckReport, sources: Sequence[AcceptanceSource], *, today: date, is_whole: bool) -> CheckReport:
    """Return the report without the findings of ignored rules, and with approvals on those that are accepted.

    ``today`` is a day in UTC. An entry that has expired is a warning; so is one without a finding, if the report
    ``is_whole``, that is, if no file of the tree was left out.
    """
    kept = [each for each in report.findings if not any(one.project.ignores(each.rule, each.path) for one in sources)]
    known = {each for finding in kept for each in finding.fingerprints}
    findings = [with_approval(finding, sources, today) for finding in kept]
    for source in sources:
        seen = known if is_whole else known.union(each.fingerprint for each in source.project.accepted)
        findings += _stale(source, seen, today)
    note = "; ".join(one for one in (report.note, _ignored(report, kept)) if one)
    return replace(report, findings=tuple(findings), note=note)


def with_approval(finding: Finding, sources: Iterable[AcceptanceSource], today: date) -> Finding:
    """Return a finding with the approval that one of ``sources`` has for it on that day, if there is one."""
    found = (source.project.acceptance(each, on=today) for each in finding.fingerprints for source in sources)
    accepted = next((each for each in found if each is not None), None)
    if accepted is None:
        return finding
    approval = ReportedApproval(accepted.reason, accepted.owner, accepted.until.isoformat(), accepted.migration)
    return replace(finding, approval=approval)


def accept_registered(report: CheckReport, approvals: Approvals, *, label: str) -> CheckReport:
    """Return the report with the approvals of a registry on findings that are not accepted yet.

    The clock of the registry, which ``label`` names, has decided which of them have expired.
    """
    live = {each: one for one in approvals.approvals if not one.is_expired for each in one.fingerprints}
    over = {each: one for one in approvals.approvals if one.is_expired for each in one.fingerprints}
    findings, notes = [], [report.note]
    for finding in report.findings:
        found = _first(live, finding) if finding.approval is None else None
        expired = _first(over, finding) if finding.approval is None and found is None else None
        if expired is not None:
            notes.append(
                f"the approval of {finding.fingerprint} by {expired.owner} in {label} expired on {expired.until}; it "
                f"is {approvals.decided_on} there, in UTC"
            )
        findings.append(finding if found is None else replace(finding, approval=_registered(found)))
    return replace(report, findings=tuple(findings), note="; ".join(filter(None, dict.fromkeys(notes))))


def _first(approvals: Mapping[str, RegisteredApproval], finding: Finding) -> RegisteredApproval | None:
    """Return the approval of a finding, by its fingerprint, or else by a former one."""
    return next((approvals[each] for each in finding.fingerprints if each in approvals), None)


def _registered(approval: RegisteredApproval) -> ReportedApproval:
    return ReportedApproval(approval.reason, approval.owner, approval.until, approval.migration)


def _stale(source: AcceptanceSource, known: Collection[str], today: date) -> Iterator[Finding]:
    for entry in source.project.stale(known, on=today):
        yield Finding(
            rule=STALE,
            severity=Severity.WARNING,
            subject=source.path,
            path=source.path,
            text=_dated(entry, today),
            fingerprint=fingerprint(STALE, source.path, entry.fingerprint, "expired" if entry.is_expired else "unused"),
            former_fingerprints=(fingerprint(STALE, source.path, entry.text),),
            position=entry.position,
            advice=advice_for(STALE),
        )


def _dated(entry: StaleEntry, today: date) -> str:
    return f"{entry.text}; today is {today} in UTC" if entry.is_expired else entry.text


def _ignored(report: CheckReport, kept: Sequence[Finding]) -> str:
    """Return the sentence about the findings that are left out."""
    rules = Counter(finding.rule for finding in report.findings)
    rules.subtract(finding.rule for finding in kept)
    left_out = +rules
    if not left_out:
        return ""
    return f"{counted(left_out.total(), 'finding')} of ignored rules left out: {', '.join(sorted(left_out))}"
