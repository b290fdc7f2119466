"""A report as a JUnit suite: one case for everything that was checked, and one for each file of a finding besides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.schema.reports.junit import Case, Outcome, Suite, junit_xml
from counterfoil.schema.reports.model import PROGRAM

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterfoil.schema.reports.model import Entry, Report


def junit_report(report: Report) -> str:
    """Return the report as JUnit XML; findings that make the command fail are failures, other ones output."""
    found: dict[tuple[str, str], list[Entry]] = {(one.subject, one.path): [] for one in report.checked}
    for entry in report.entries:
        found.setdefault((entry.subject, entry.path), []).append(entry)
    skipped = {(one.subject, one.path): one.result for one in report.checked if one.is_skipped}
    name = f"{PROGRAM} {report.command}"
    cases = [_case(name, key, entries, skipped.get(key, "")) for key, entries in found.items()]
    facts = {"version": report.version, "against": report.against, "summary": report.summary, "note": report.note}
    properties = tuple((key, value) for key, value in facts.items() if value)
    return junit_xml([Suite(name, tuple(cases), properties)])


def _case(group: str, key: tuple[str, str], entries: Sequence[Entry], skipped: str) -> Case:
    subject, path = key
    name = f"{subject} ({path})" if path not in {"", subject} else subject
    failed = [entry for entry in entries if entry.is_failing]
    others = "\n\n".join(_text(entry) for entry in entries if not entry.is_failing)
    if failed:
        first = failed[0]
        more = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
        details = "\n\n".join(map(_text, failed))
        return Case(name, group, Outcome.BROKEN, first.rule, f"{first.text}{more}", details, others)
    if skipped:
        return Case(name, group, Outcome.NOT_RUN, "not-judged", skipped, skipped, others)
    return Case(name, group, output=others)


def _text(entry: Entry) -> str:
    head = f"{entry.place}: {entry.severity} {entry.rule}: {entry.text} [{entry.fingerprint}]"
    advice = (f"fix: {entry.advice}",) if entry.advice else ()
    approved = (str(entry.approval),) if entry.approval else ()
    return "\n".join((head, *entry.details, *advice, *approved))
