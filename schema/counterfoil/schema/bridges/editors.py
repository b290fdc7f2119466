"""The grammar of bridge documents as a JSON schema, for editors: completion, and marks at mistakes.

It accepts every valid document. What depends on the schemas of the topics is checked when the plan is derived.
"""

from __future__ import annotations

from typing import Any, Final

from counterfoil.schema.bridges.document import MESSAGE_PATTERN, TOPIC_PATTERN
from counterfoil.schema.bridges.model import Delivery, Framing, Partitioning, Timestamps
from counterfoil.schema.evolution.field_paths import SOURCE_PATH_PATTERN, TARGET_PATH_PATTERN
from counterfoil.schema.evolution.numbers import MAX_DECIMALS
from counterfoil.schema.evolution.rules import FOLLOWING_BY_ORIGIN

_SOURCE: Final = {"type": "string", "pattern": f"^{SOURCE_PATH_PATTERN}$"}
_TOPIC: Final = {"type": "string", "pattern": f"^{TOPIC_PATTERN}$"}
_SUBJECT: Final = {"type": "string", "minLength": 1}
_MESSAGE: Final = {"type": "string", "pattern": f"^{MESSAGE_PATTERN}$"}
_SPLIT: Final = {
    "type": "object",
    "properties": {"from": _SOURCE, "on": {"type": "string", "minLength": 1}, "take": {"type": "integer"}},
    "required": ["from", "on", "take"],
    "additionalProperties": False,
}
_WORDS: Final[dict[str, tuple[str, Any]]] = {
    "from": ("The source field with the value.", _SOURCE),
    "join": ("Source fields whose texts are joined.", {"type": "array", "items": _SOURCE, "minItems": 1}),
    "split": ("One piece of a text.", _SPLIT),
    "expr": ("Arithmetic over source fields.", {"type": ["string", "number"]}),
    "const": ("A fixed value.", True),
    "format": ("The date or point in time that is written as text.", _SOURCE),
    "parse": ("The text that is read as a date or point in time.", _SOURCE),
    "with": ("The text between joined texts.", {"type": "string"}),
    "as": ("A date pattern such as yyyy-MM-dd HH:mm:ss.", {"type": "string"}),
    "zone": ("UTC, an offset, or a name such as Europe/Paris.", {"type": "string"}),
    "lookup": ("A table from source values to target values.", {"type": "object", "minProperties": 1}),
    "else": ("What a value becomes that is not in the table: error, keep, or a value.", True),
    "cast": ("The type of the target field, by name.", {"type": "string"}),
    "decimals": ("The decimals of a number as text.", {"type": "integer", "minimum": 0, "maximum": MAX_DECIMALS}),
    "null": ("What null becomes: error, or a value.", True),
}


def bridge_json_schema() -> dict[str, Any]:
    """Return the JSON schema (draft 2020-12) of bridge documents.

    >>> sorted(bridge_json_schema()["required"])
    ['bridge', 'source', 'target']
    """
    source: dict[str, Any] = {
        "topic": _TOPIC,
        "subject": _SUBJECT,
        "versions": {"const": "all"},
    }
    source |= {"framing": {"enum": [str(each) for each in Framing]}, "message": _MESSAGE}
    version = {"anyOf": [{"type": "integer", "minimum": 1}, {"const": "latest"}]}
    limit = {"anyOf": [{"type": "integer", "minimum": 0}, {"const": "never"}, {"pattern": r"^[0-9.]+\s*%$"}]}
    key = {
        "source": _closed({"subject": _SUBJECT, "message": _MESSAGE}),
        "target": _closed({"subject": _SUBJECT, "version": version, "message": _MESSAGE}),
        **_rules(),
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A bridge between two topics",
        **_closed(
            {
                "bridge": {"type": ["string", "number"], "description": "The name of the bridge."},
                "source": _closed(source, "topic"),
                "target": _closed({**source, "version": version}, "topic", without="versions"),
                "key": {"anyOf": [{"enum": ["copy", "convert"]}, _closed(key)]},
                "partition": {"enum": [str(each) for each in Partitioning]},
                "timestamp": {"enum": [str(each) for each in Timestamps]},
                "delivery": {"enum": [str(each) for each in Delivery]},
                **_rules(),
                "errors": _closed({"topic": _TOPIC, "stop_above": limit}),
                "progress": _closed({"topic": _TOPIC}, "topic"),
            },
            "bridge",
            "source",
            "target",
        ),
    }


def _rules() -> dict[str, Any]:
    """Return the schemas of ``fields``, ``drop`` and ``numbers``."""
    return {
        "fields": {
            "type": "object",
            "propertyNames": {"pattern": f"^{TARGET_PATH_PATTERN}$"},
            "additionalProperties": {"oneOf": [_rule(word) for word in FOLLOWING_BY_ORIGIN]},
        },
        "drop": {
            "anyOf": [
                {"const": "rest"},
                {"type": "array", "items": {"type": "string", "pattern": f"^{TARGET_PATH_PATTERN}$"}},
            ]
        },
        "numbers": {
            "const": "same",
            "description": "Fields of Protobuf messages that have one number and other names are the same fields.",
        },
    }


def _closed(properties: dict[str, Any], *required: str, without: str = "") -> dict[str, Any]:
    kept = {name: value for name, value in properties.items() if name != without}
    return {"type": "object", "properties": kept, "required": list(required), "additionalProperties": False}


def _rule(origin: str) -> dict[str, Any]:
    """Return the schema of a rule whose value comes from ``origin``."""
    words = [origin, *sorted(FOLLOWING_BY_ORIGIN[origin])]
    required = [origin, "as"] if "as" in words else [origin]
    return {"title": origin, **_closed({word: _described(word) for word in words}, *required)}


def _described(word: str) -> dict[str, Any]:
    text, schema = _WORDS[word]
    return {"description": text} if schema is True else {"description": text, **schema}
