"""A report as GitLab's Code Quality JSON, which merge requests show at the changed lines.

Source: GitLab's documentation of Code Quality, "Report format".
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.reports.model import Severity

if TYPE_CHECKING:
    from counterfoil.schema.reports.model import Entry, Report

_SEVERITY: Final = {Severity.ERROR: "major", Severity.WARNING: "minor", Severity.NOTICE: "info"}


def gitlab_report(report: Report) -> str:
    """Return the findings as indented JSON, with a line end at its end; an approved finding is of severity ``info``."""
    found = [_entry(entry) for entry in report.entries if entry.path]
    return json.dumps(found, indent=2, ensure_ascii=False) + "\n"


def _entry(entry: Entry) -> dict[str, Any]:
    approved = f" ({entry.approval})" if entry.approval else ""
    return {
        "description": f"{entry.subject}: {entry.text}{approved}" if entry.subject else f"{entry.text}{approved}",
        "check_name": entry.rule,
        "fingerprint": entry.fingerprint,
        "severity": "info" if entry.approval else _SEVERITY[entry.severity],
        "location": {"path": entry.path, "lines": {"begin": entry.position.line if entry.position else 1}},
    }
