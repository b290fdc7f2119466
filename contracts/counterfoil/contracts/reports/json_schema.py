"""The JSON reports of ``check``, ``diff`` and ``plan`` as a JSON schema, for programs that read them."""

from __future__ import annotations

from typing import Any

from counterfoil.contracts.model import FINGERPRINT_LENGTH, Status
from counterfoil.contracts.reports import diff, json
from counterfoil.schema.compatibility.levels import CompatibilityLevel, Direction
from counterfoil.schema.compatibility.policies import CompatibilityPolicy
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.schema.reports.model import Severity

_TEXT = {"type": "string"}
_COUNT = {"type": "integer", "minimum": 0}
_FLAG = {"type": "boolean"}
_LINE = {"type": ["integer", "null"], "minimum": 1}
_TEXTS = {"type": "array", "items": _TEXT}
_TEXT_OR_NULL = {"type": ["string", "null"]}


def report_json_schema() -> dict[str, Any]:
    """Return the JSON schema (draft 2020-12) of the reports; later versions only add members.

    >>> sorted(report_json_schema()["$defs"])
    ['check', 'diff', 'finding', 'plan']
    """
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Reports of counterfoil check, diff and plan with --format json",
        "oneOf": [{"$ref": f"#/$defs/{kind}"} for kind in ("check", "diff", "plan")],
        "$defs": {"check": _check(), "finding": _finding(), "diff": _diff(), "plan": _plan()},
    }


def _object(properties: dict[str, Any], *optional: str) -> dict[str, Any]:
    required = [name for name in properties if name not in optional]
    return {"type": "object", "required": required, "properties": properties}


def _list(item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": item}


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [schema, {"type": "null"}]}


def _check() -> dict[str, Any]:
    counts = ("checked", "judged", "new", "unmapped", "errors", "warnings", "notices", "approved")
    file = {
        "path": _TEXT,
        "subject": _TEXT,
        "status": {"enum": [*Status]},
        "level": {"enum": [*CompatibilityLevel]},
        "comparedWith": _TEXTS,
        "policy": {"enum": [*CompatibilityPolicy]},
        "confirmed": _COUNT,
        "mapped": _FLAG,
        "owner": _TEXT_OR_NULL,
    }
    return _object(
        {
            "schemaVersion": {"const": json.SCHEMA_VERSION},
            "kind": {"const": "check"},
            "against": _TEXT,
            "note": _TEXT,
            "exitCode": {"enum": [int(code) for code in ExitCode]},
            "summary": _object(dict.fromkeys((*counts, "consumers"), _COUNT), "consumers"),
            "files": _list(_object(file)),
            "findings": _list({"$ref": "#/$defs/finding"}),
        }
    )


def _finding() -> dict[str, Any]:
    place = {"subject": _TEXT, "path": _TEXT, "line": _LINE, "column": _LINE, "element": _TEXT}
    witness = {"datum": {}, "writer": _TEXT, "reader": _TEXT, "step": _TEXT, "confirmedBy": _TEXT}
    records = {
        "triggering": {"type": ["integer", "null"], "minimum": 0},
        "total": _COUNT,
        "exact": _FLAG,
        "unread": _COUNT,
        "sampled": _FLAG,
        "text": _TEXT,
    }
    approval = {"reason": _TEXT, "owner": _TEXT, "until": {"type": "string", "format": "date"}}
    return _object(
        {
            "rule": _TEXT,
            "severity": {"enum": [*Severity]},
            **place,
            "direction": {"enum": [*(each.name for each in Direction), None]},
            "against": _TEXTS,
            "text": _TEXT,
            "witness": _or_null(_object(witness)),
            "advice": _TEXT,
            "fingerprint": {"type": "string", "pattern": f"^[0-9a-f]{{{FINGERPRINT_LENGTH}}}$"},
            "noWitness": _TEXT,
            "alsoBreaks": _list(_object({**place, "against": _TEXTS})),
            "approval": _or_null(_object({**approval, "migration": _TEXT_OR_NULL})),
            "records": _object(records),
            "consumers": _object({"breaks": _TEXTS, "readBy": _TEXTS, "notReadBy": _TEXTS}),
            "observed": {"const": True},
        },
        "records",
        "consumers",
        "observed",
    )


def _diff() -> dict[str, Any]:
    side = _object({"operand": _TEXT, "name": _TEXT_OR_NULL})
    position = _or_null(_object({"line": _LINE, "column": _LINE}))
    change = {
        "kind": _TEXT,
        "element": _TEXT,
        "earlier": _TEXT_OR_NULL,
        "later": _TEXT_OR_NULL,
        "text": _TEXT,
        "earlierPosition": position,
        "laterPosition": position,
    }
    return _object(
        {
            "schemaVersion": {"const": diff.SCHEMA_VERSION},
            "kind": {"const": "diff"},
            "earlier": side,
            "later": side,
            "changes": _list(_object(change)),
        }
    )


def _plan() -> dict[str, Any]:
    change = {"kind": _TEXT, "subject": _TEXT, "before": _TEXT_OR_NULL, "after": _TEXT_OR_NULL, "path": _TEXT_OR_NULL}
    return _object(
        {
            "schemaVersion": {"const": 1},
            "kind": {"const": "plan"},
            "registry": _TEXT,
            "changes": _list(_object(change)),
        }
    )
