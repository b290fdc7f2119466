"""The JSON reports of the commands about contracts as a JSON schema."""

from __future__ import annotations

from typing import Any

from counterfoil.contracts.findings import FINGERPRINT_LENGTH, Status
from counterfoil.contracts.reports import SCHEMA_VERSION, deployment, diff, lint
from counterfoil.schema.compatibility import CompatibilityLevel, CompatibilityPolicy, Direction
from counterfoil.schema.datum import JsonObject
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.schema.reports import Severity
from counterfoil.schema.rest.object_forms import FLAG, INTEGER, TEXT, TEXTS, ObjectForm
from counterfoil.schema.rest.observations import TOPIC_STATS
from counterfoil.schema.rest.verdicts import CONSUMER, VERDICT_REASON, ReasonCode

_KINDS = ("lint", "check", "diff", "plan", "can-i-deploy", "test", "usage", "topic")
_TEXT = {"type": "string"}
_COUNT = {"type": "integer", "minimum": 0}
_INTEGER = {"type": "integer"}
_FLAG = {"type": "boolean"}
_LINE = {"type": ["integer", "null"], "minimum": 1}
_TEXTS = {"type": "array", "items": _TEXT}
_TEXT_OR_NULL = {"type": ["string", "null"]}


def report_json_schema() -> JsonObject:
    """Return the JSON schema (draft 2020-12) of the reports; later versions only add members.

    >>> [each["$ref"].rpartition("/")[2] for each in report_json_schema()["oneOf"]]
    ['lint', 'check', 'diff', 'plan', 'can-i-deploy', 'test', 'usage', 'topic']
    """
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Reports of counterfoil lint, check, diff, plan, can-i-deploy, test and usage with --format json",
        "oneOf": [{"$ref": f"#/$defs/{kind}"} for kind in _KINDS],
        "$defs": {
            "lint": _lint(),
            "check": _check(),
            "finding": _finding(),
            "diff": _diff(),
            "plan": _plan(),
            "can-i-deploy": _can_i_deploy(),
            "test": _test(),
            "usage": _usage(),
            "topic": _topic(),
            "verification": _verification(),
            "record-finding": _record_finding(),
        },
    }


def _object(properties: JsonObject, *optional: str) -> JsonObject:
    required = [name for name in properties if name not in optional]
    return {"type": "object", "required": required, "properties": properties}


def _list(item: JsonObject) -> JsonObject:
    return {"type": "array", "items": item}


def _or_null(schema: JsonObject) -> JsonObject:
    return {"anyOf": [schema, {"type": "null"}]}


def _lint() -> JsonObject:
    fix = {"rule": _TEXT, "path": _TEXT, "line": _LINE, "column": _LINE, "before": _TEXT, "after": _TEXT}
    return _object(
        {
            "schemaVersion": {"const": lint.SCHEMA_VERSION},
            "kind": {"const": "lint"},
            "note": _TEXT,
            "exitCode": {"enum": [int(code) for code in ExitCode]},
            "summary": _object(dict.fromkeys(("checked", "errors", "warnings", "notices", "fixed"), _COUNT), "fixed"),
            "files": _TEXTS,
            "fixes": _list(_object(fix)),
            "findings": _list({"$ref": "#/$defs/record-finding"}),
        },
        "fixes",
    )


def _check() -> JsonObject:
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
            "schemaVersion": {"const": SCHEMA_VERSION},
            "kind": {"const": "check"},
            "against": _TEXT,
            "environment": _TEXT,
            "note": _TEXT,
            "exitCode": {"enum": [int(code) for code in ExitCode]},
            "summary": _object(dict.fromkeys((*counts, "consumers"), _COUNT), "consumers"),
            "files": _list(_object(file)),
            "findings": _list({"$ref": "#/$defs/finding"}),
        },
        "environment",
    )


def _finding() -> JsonObject:
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


def _diff() -> JsonObject:
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
    found = {"direction": {"enum": [each.name for each in Direction]}, "rule": _TEXT, "element": _TEXT, "text": _TEXT}
    breaks = _list(_object({**found, "allowed": _FLAG}))
    changes = _list(_object({**change, "breaks": breaks}))
    terms = {"level": {"enum": [*CompatibilityLevel]}, "policy": {"enum": [*CompatibilityPolicy]}}
    verdict = _or_null(_object({"compatible": _FLAG, **terms, "otherBreaks": breaks}))
    status = {"enum": ["added", "removed", "changed"]}
    file = _object({"path": _TEXT, "status": status, "changes": changes, "verdict": verdict})
    members = {
        "schemaVersion": {"const": diff.SCHEMA_VERSION},
        "kind": {"const": "diff"},
        "earlier": side,
        "later": side,
        "changes": changes,
        "verdict": verdict,
        "files": _list(file),
    }
    either = [{"required": ["changes", "verdict"]}, {"required": ["files"]}]
    return {**_object(members, "changes", "verdict", "files"), "oneOf": either}


def _plan() -> JsonObject:
    change = {"kind": _TEXT, "subject": _TEXT, "before": _TEXT_OR_NULL, "after": _TEXT_OR_NULL, "path": _TEXT_OR_NULL}
    return _object(
        {
            "schemaVersion": {"const": 1},
            "kind": {"const": "plan"},
            "registry": _TEXT,
            "changes": _list(_object(change)),
            "kept": {"type": "object", "additionalProperties": _TEXTS},
            "repairs": _TEXTS,
            "notes": _TEXTS,
        },
        "kept",
        "repairs",
        "notes",
    )


def _can_i_deploy() -> JsonObject:
    members = {
        each.key: {"enum": [*ReasonCode]} if each.key == "reason" else _TEXTS if each.type is TEXTS else _TEXT
        for each in VERDICT_REASON.members
    }
    optional = [each.key for each in VERDICT_REASON.members if each.is_optional]
    return _object(
        {
            "schemaVersion": {"const": deployment.SCHEMA_VERSION},
            "kind": {"const": "can-i-deploy"},
            "exitCode": {"enum": [int(code) for code in ExitCode]},
            "subject": _TEXT,
            "environment": _TEXT,
            "deployable": {"type": ["boolean", "null"]},
            "reasons": _list(_object(members, *optional)),
            "notices": _TEXTS,
            "decidedAt": {"type": "string", "format": "date-time"},
        },
        "decidedAt",
    )


def _test() -> JsonObject:
    counts = ("topics", "records", "failing", "errors", "warnings", "notices")
    return _object(
        {
            "schemaVersion": {"const": 1},
            "kind": {"const": "test"},
            "exitCode": {"enum": [int(code) for code in ExitCode]},
            "summary": _object(dict.fromkeys(counts, _COUNT)),
            "verifications": _list({"$ref": "#/$defs/verification"}),
            "findings": _list({"$ref": "#/$defs/record-finding"}),
        }
    )


def _usage() -> JsonObject:
    consumer = _form(CONSUMER)
    return _object(
        {
            "schemaVersion": {"const": 1},
            "kind": {"const": "usage"},
            "subject": _TEXT,
            "version": _INTEGER,
            "environment": _TEXT_OR_NULL,
            "path": _TEXT,
            "consumers": _list(consumer),
            "fields": _list(_object({"path": _TEXT, "consumers": _list(consumer)})),
            "warnings": _TEXTS,
        }
    )


def _topic() -> JsonObject:
    count = _object(
        {"schemaId": _INTEGER, "count": _COUNT, "subject": _TEXT, "version": _INTEGER}, "subject", "version"
    )
    form = _form(TOPIC_STATS, schemas=_list(count))
    head = {"schemaVersion": {"const": 1}, "kind": {"const": "topic"}}
    return {**form, "required": [*head, *form["required"]], "properties": {**head, **form["properties"]}}


def _form(form: ObjectForm[Any], **parts: JsonObject) -> JsonObject:
    """Return the schema of an object of the registry; ``parts`` are those of members with types of their own."""
    known = {TEXT: _TEXT, INTEGER: _INTEGER, FLAG: _FLAG, TEXTS: _TEXTS}
    members = {each.key: parts[each.key] if each.key in parts else known[each.type] for each in form.members}
    return _object(members, *(each.key for each in form.members if each.is_optional))


def _verification() -> JsonObject:
    """Return the schema of the result for one topic."""
    number = {"type": "integer"}
    sample = {
        "source": _TEXT,
        "strategy": _TEXT,
        "seed": number,
        "limit": {"type": ["integer", "null"], "minimum": 1},
        "since": {"type": ["integer", "null"]},
        "takenAt": _COUNT,
        "records": _COUNT,
        "bytes": _COUNT,
        "isComplete": _FLAG,
        "partitions": _list(_object(dict.fromkeys(("partition", "first", "last"), number))),
    }
    outcomes = ("records", "fine", "undecodable", "unreadable", "unwritable", "failing")
    place = {"partition": number, "offset": number, "writer": _TEXT, "reason": _TEXT}
    failures = {"rule": _TEXT, "element": _TEXT, "records": _COUNT, "first": _list(_object(place))}
    results = {
        **dict.fromkeys(("records", "tested", "failing", "tombstones", "nullKeys", "withHeaders"), _COUNT),
        "repeatedKeys": _COUNT,
        "failingAtMost": {"type": ["number", "null"], "minimum": 0, "maximum": 1},
        "writers": _list(_object({"writer": _TEXT, **dict.fromkeys(outcomes, _COUNT)})),
        "failures": _list(_object(failures)),
    }
    return _object(
        {
            "contract": _object({"id": _TEXT, "version": _TEXT}),
            "subject": _TEXT,
            "topic": _TEXT,
            "environment": _TEXT_OR_NULL,
            "schemaIds": _list(_COUNT),
            "proposed": _TEXT_OR_NULL,
            "sample": _object(sample),
            "results": _object(results),
        }
    )


def _record_finding() -> JsonObject:
    """Return the schema of a finding about records, or about files by themselves."""
    members = ("rule", "severity", "subject", "path", "line", "column", "element", "text", "advice", "fingerprint")
    known = _finding()["properties"]
    return _object({name: known[name] for name in members})
