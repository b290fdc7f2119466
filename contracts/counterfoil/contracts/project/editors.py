"""The grammar of project files as a JSON schema, for editors: completion, and marks at mistakes."""

from __future__ import annotations

from typing import Any

from counterfoil.contracts.model import FailOn, Gate
from counterfoil.contracts.project.document import FINGERPRINT_PATTERN
from counterfoil.schema.compatibility.levels import CompatibilityLevel
from counterfoil.schema.compatibility.policies import CompatibilityPolicy
from counterfoil.schema.rest.associations import AssociationType, Lifecycle
from counterfoil.schema.rest.modes import Mode


def project_json_schema() -> dict[str, Any]:
    """Return the JSON schema (draft 2020-12) of ``counterfoil.yaml``.

    >>> sorted(project_json_schema()["properties"])[:4]
    ['accepted', 'consumers', 'contracts', 'fail-on']
    """
    text = {"type": "string", "minLength": 1}
    glob = {"type": "string", "pattern": r"^(?!/)(?!(.*/)?\.\.(/|$))[^\\]+$"}
    globs = {"anyOf": [glob, {"type": "array", "items": glob, "minItems": 1}]}
    settings = {
        "level": _one_of(CompatibilityLevel, "The compatibility that a change must keep."),
        "policy": _one_of(CompatibilityPolicy, "Which differences are breaking."),
        "fail-on": _one_of(FailOn, "The least severity that makes a check fail."),
        "owner": {**text, "description": "The team that is responsible for the files."},
        "registry": {"type": "string", "pattern": "^https?://", "description": "The address of the registry."},
        "gate": _one_of(Gate, "Whether the compatibility level, the consumers, or neither makes a check fail."),
    }
    subject = {"type": "string", "pattern": r"^([^{}]|\{(stem|name|folder)\})+$"}
    terms = {
        "normalize": {"type": "boolean", "description": "Whether the registry normalizes the schemas."},
        "metadata": _metadata(text),
    }
    line = {
        "files": {
            **globs,
            "description": "Globs, relative to the folder of this file; the first entry that matches counts.",
        },
        "subject": {
            "anyOf": [
                subject,
                {
                    "type": "array",
                    "minItems": 1,
                    "items": {"anyOf": [subject, _closed({"name": subject, **terms}, "name")]},
                },
            ],
            "description": "The subject, or a list of subjects; {stem} is the file's name without suffix, {name} the "
            "schema's full name, {folder} the name of the file's folder. Without it, the stem if it ends in -key or "
            "-value.",
        },
        **terms,
        "mode": _one_of(Mode, "The mode of the subject, which counterfoil plan sets."),
        "aliases": {
            "type": "array",
            "items": text,
            "description": "Other names of a subject without placeholders, which counterfoil plan sets.",
        },
        "associations": _list(
            _closed(
                {
                    **dict.fromkeys(("topic", "namespace", "id"), text),
                    "type": _one_of(AssociationType, "The part of the records; default value."),
                    "lifecycle": _one_of(Lifecycle, "STRONG: the subject belongs to the topic; default WEAK."),
                },
                "topic",
                "namespace",
                "id",
            ),
            "Topics with which a subject without placeholders is associated by counterfoil plan.",
        ),
        "part": {"type": "boolean", "description": "The files have no subject: other schemas refer to them."},
        **settings,
    }
    ignored = {"rule": text, "reason": text, "files": globs}
    accepted = {
        "fingerprint": {"type": "string", "pattern": f"^{FINGERPRINT_PATTERN}$"},
        "owner": text,
        "reason": text,
        "until": {"type": "string", "format": "date", "description": "The last day on which the finding is accepted."},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A project of schemas and contracts: counterfoil.yaml",
        **_closed(
            {
                **settings,
                "managed-by": {
                    **text,
                    "description": "The name of this project, by which counterfoil plan marks the subjects it owns.",
                },
                "schemas": _list(_closed(line, "files"), "Which files belong to which subject."),
                "contracts": {**globs, "description": "The contract files of the project (ODCS, ODPS)."},
                "consumers": {
                    **globs,
                    "description": "The product files (ODPS) whose reads counterfoil check compares with contracts.",
                },
                "ignore": _list(_closed(ignored, "rule", "reason"), "Rules whose findings are not reported."),
                "accepted": _list(
                    _closed({**accepted, "migration": {**text, "description": "A converter's file."}}, *accepted),
                    "Single findings that someone answers for.",
                ),
            }
        ),
    }


def _metadata(text: dict[str, Any]) -> dict[str, Any]:
    tags = {"type": "object", "additionalProperties": {"type": "array", "items": text}}
    return {
        **_closed(
            {
                "properties": {"type": "object", "additionalProperties": text},
                "tags": tags,
                "sensitive": {"type": "array", "items": text},
            }
        ),
        "description": "The metadata that the registered schemas have at least.",
    }


def _one_of(choices: Any, description: str) -> dict[str, Any]:
    return {"enum": [str(each) for each in choices], "description": description}


def _list(item: dict[str, Any], description: str) -> dict[str, Any]:
    return {"type": "array", "items": item, "description": description}


def _closed(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}
