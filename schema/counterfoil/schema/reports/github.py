"""A report as GitHub's workflow commands, which a pull request shows as annotations.

Source: GitHub's "Workflow commands for GitHub Actions". A step shows at most ten annotations of a kind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.schema.reports.model import Severity

if TYPE_CHECKING:
    from counterfoil.schema.reports.model import Entry, Report

SHOWN: Final = 10
"""How many annotations of a severity are shown in a step."""
_IN_DATA: Final = {ord("%"): "%25", ord("\r"): "%0D", ord("\n"): "%0A"}
_IN_PROPERTIES: Final = {**_IN_DATA, ord(":"): "%3A", ord(","): "%2C"}


def github_report(report: Report) -> str:
    """Return a command for each finding that is not approved, ten of a severity, then the summary."""
    lines = []
    for severity in Severity:
        found = [entry for entry in report.open if entry.severity is severity]
        lines += [_command(entry) for entry in found[:SHOWN]]
        if len(found) > SHOWN:
            lines.append(f"{len(found) - SHOWN} more of severity {severity} are in the summary of the job")
    lines.append(report.summary)
    return "".join(f"{line}\n" for line in lines)


def _command(entry: Entry) -> str:
    facts = {"file": entry.path} if entry.path else {}
    if entry.position is not None:
        facts |= {"line": str(entry.position.line), "col": str(entry.position.column)}
    facts["title"] = f"{entry.rule} [{entry.fingerprint}]"
    properties = ",".join(f"{name}={value.translate(_IN_PROPERTIES)}" for name, value in facts.items())
    advice = (f"fix: {entry.advice}",) if entry.advice else ()
    said = "\n".join((f"{entry.subject}: {entry.text}" if entry.subject else entry.text, *entry.details, *advice))
    return f"::{entry.severity} {properties}::{said.translate(_IN_DATA)}"
