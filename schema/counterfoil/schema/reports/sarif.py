"""A report as SARIF 2.1.0, which code scanning services read.

Source: OASIS SARIF 2.1.0. A fingerprint is the same wherever its finding moves, so that a service recognises it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from counterfoil.schema.reports.model import PROGRAM, PROJECT, Severity

if TYPE_CHECKING:
    from counterfoil.schema.reports.model import Entry, Report

_SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVEL_BY_SEVERITY: Final = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTICE: "note"}
_FORMER_FINGERPRINT: Final = "contractFinding/v1"
"""That of releases up to 0.2.0, so that a service recognises what it knows from them."""
_FINGERPRINT: Final = "contractFinding/v2"
_ROOT: Final = "SRCROOT"


def sarif_report(report: Report) -> str:
    """Return the report as indented JSON, with a line end at its end."""
    ids = list(dict.fromkeys(entry.rule for entry in report.entries))
    driver = {
        "name": PROGRAM,
        "version": report.version,
        "informationUri": PROJECT,
        "rules": [_rule(report, name) for name in ids],
    }
    run = {
        "tool": {"driver": driver},
        "automationDetails": {"id": f"{PROGRAM}-{report.command}/"},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {_ROOT: {"description": {"text": "The top of the repository."}}},
        "invocations": [{"executionSuccessful": True, "exitCode": int(report.exit_code)}],
        "results": [_result(entry, ids.index(entry.rule)) for entry in report.entries],
        "properties": {"against": report.against, "summary": report.summary},
    }
    document = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _rule(report: Report, name: str) -> dict[str, Any]:
    rule = report.rules.get(name)
    found: dict[str, Any] = {"id": name}
    if rule is not None:
        found["shortDescription"] = {"text": rule.why or name}
        if rule.page:
            found["helpUri"] = rule.page
            found["help"] = {"text": f"{rule.why} {rule.page}"}
    return found


def _result(entry: Entry, rule_index: int) -> dict[str, Any]:
    advice = [f"Fix: {entry.advice}"] if entry.advice else []
    found: dict[str, Any] = {
        "ruleId": entry.rule,
        "ruleIndex": rule_index,
        "level": _LEVEL_BY_SEVERITY[entry.severity],
        "message": {"text": "\n".join((f"{_about(entry)}{entry.text}", *entry.details, *advice))},
        "partialFingerprints": {
            _FORMER_FINGERPRINT: next(iter(entry.former_fingerprints), entry.fingerprint),
            _FINGERPRINT: entry.fingerprint,
        },
    }
    if entry.path:
        found["locations"] = [{"physicalLocation": _location(entry)}]
    if entry.approval is not None:
        found["suppressions"] = [
            {"kind": "external", "status": "accepted", "justification": f"{entry.approval}"},
        ]
    return found


def _about(entry: Entry) -> str:
    return f"{entry.subject}: " if entry.subject not in {"", entry.path} else ""


def _location(entry: Entry) -> dict[str, Any]:
    location: dict[str, Any] = {"artifactLocation": {"uri": quote(entry.path), "uriBaseId": _ROOT}}
    position = entry.position
    region = {"startLine": position.line, "startColumn": position.column} if position else {"startLine": 1}
    return {**location, "region": region}
