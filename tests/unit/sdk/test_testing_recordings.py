"""The in-memory registry against recorded answers of Confluent Schema Registry 8.5, as far as it goes.

What it does not have is left out by the list below: a step that reads it is skipped, a step that writes it ends its
sequence, since the later ones build on it.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from counterfoil.schema.compatibility.levels import CompatibilityLevel
from counterfoil.sdk.memory import Memory
from counterfoil.sdk.memory_routes import answer
from counterfoil.sdk.transport import Request

RECORDING = Path(__file__).parents[2] / "data" / "recordings" / "rest.dev.jsonl"
THEMES = {"avro", "config", "contexts", "delete", "ids", "metadata", "normalize", "readonly", "references"}
PARAMETERS = (
    "offset=",
    "limit=",
    "force=",
    "format=",
    "findTags",
    "deletedAsNegative",
    "referenceFormat",
    "fetchMaxId",
)
MEMBERS = ("version", "id", "schemaTagsToAdd", "schemaTagsToRemove", "propagateSchemaTags")
SETTINGS = ("alias", "compatibilityGroup", "defaultMetadata", "overrideMetadata")
CODES = {400, 405, 406, 415}
FREE = {"ts", "deleted", "maxId", "messages"}
ONLY_HERE = {"subject", "version", "id"}  # it tells more of a registration, and less of an id


def sequences():
    for line in RECORDING.read_text().splitlines():
        sequence = json.loads(line)
        text = json.dumps(sequence["steps"])
        if sequence["theme"] in THEMES and "PROTOBUF" not in text and '"JSON"' not in text:
            yield sequence


def is_beyond(step):
    path, body = step["path"], step.get("body")
    members = body if isinstance(body, dict) else {}
    searches_contexts = "subject=" in path and "subject=:" not in path and "subject=%3A" not in path
    return bool(
        step.get("skip")
        or step.get("headers")
        or step.get("raw") is not None
        or step["m"] in ("HEAD", "PATCH")
        or path.split("?")[0].endswith(("/schemas", "/tags"))
        or (searches_contexts and not path.startswith("/contexts/"))
        or any(name in path for name in PARAMETERS)
        or any(name in members for name in (*MEMBERS, *SETTINGS))
        or step["reply"].get("code") in CODES
    )


def comparable(value, *, free):
    if isinstance(value, dict):
        return {key: comparable(item, free=free) for key, item in value.items() if key not in free}
    return value


def check(memory, step):
    body = json.dumps(step["body"]).encode() if "body" in step else None
    reply = answer(memory, Request(step["m"], f"http://h{step['path']}", {}, body))
    expected = step["reply"]
    assert reply.status == expected["status"], reply.body
    if "code" in expected:
        assert json.loads(reply.body)["error_code"] == expected["code"]
    if "text" in expected:
        assert reply.body.decode() == expected["text"]
    if "json" in expected and not step.get("only"):
        free = FREE | ONLY_HERE | set(step.get("mask", ()))
        found = comparable(json.loads(reply.body), free=free)
        wanted = comparable(expected["json"], free=free)
        if step.get("unordered"):
            found, wanted = sorted(found, key=str), sorted(wanted, key=str)
        assert found == wanted


@pytest.mark.parametrize("sequence", list(sequences()), ids=lambda sequence: f"{sequence['name']}-{sequence['theme']}")
def test_the_answers_are_the_recorded_ones(sequence):
    memory = Memory(CompatibilityLevel.BACKWARD)
    for step in sequence["steps"]:
        if not is_beyond(step):
            check(memory, step)
        elif step["m"] not in ("GET", "HEAD") and step["reply"]["status"] < 400:
            return


def test_enough_of_the_recording_is_compared():
    steps = [step for sequence in sequences() for step in sequence["steps"]]
    assert sum(not is_beyond(step) for step in steps) > 300
