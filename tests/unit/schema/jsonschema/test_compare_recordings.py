"""Recorded answers of the reference for pairs of JSON schemas, under STRICT and LENIENT: each of them, to the path."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.schema.compatibility.policies import CompatibilityPolicy
from counterfoil.schema.languages.jsonschema.policies import find_differences
from counterfoil.schema.languages.jsonschema.schema import parse_json_schema
from counterfoil.schema.model import Reference, ResolvedReference
from counterfoil.schema.parsed import Validation

if TYPE_CHECKING:
    from counterfoil.schema.languages.jsonschema.schema import JsonSchema

RECORDINGS = Path(__file__).parents[3] / "data" / "recordings" / "verdicts.json.jsonl"


@cache
def records() -> list[dict[str, Any]]:
    return [json.loads(line) for line in RECORDINGS.read_text(encoding="utf-8").splitlines()]


def side(record: dict[str, Any], name: str) -> JsonSchema:
    references = [
        ResolvedReference(Reference(each["name"], each["subject"], each["version"]), each["schema"])
        for each in record.get("references", ())
        if each["side"] == name
    ]
    text = record["reader_or_new" if name == "new" else "writer_or_old"]
    return parse_json_schema(text, references, validation=Validation.LENIENT)


@pytest.mark.slow
@pytest.mark.parametrize("policy", [CompatibilityPolicy.STRICT, CompatibilityPolicy.LENIENT])
def test_every_recorded_verdict_type_and_path_comes_out_the_same(policy: CompatibilityPolicy):
    asked = [record for record in records() if record["policy"] == policy]
    assert len(asked) == 1336
    wrong = []
    for record in asked:
        found = find_differences(side(record, "new"), side(record, "old"), policy=policy)
        messages = sorted(f"{each.error_type} {each.path}".strip() for each in found)
        if messages != record["messages"] or (not found) != record["compatible"]:
            wrong.append((record["id"], record["case"], messages))
    assert wrong == []


@pytest.mark.slow
def test_every_difference_points_into_both_texts():
    for record in records()[::7]:
        reader, writer = side(record, "new"), side(record, "old")
        for each in find_differences(reader, writer):
            assert reader.locate(each.reader_pointer) is not None
            assert writer.locate(each.writer_pointer) is not None
            assert each.text.startswith("The reader")
            assert "{" not in each.text.replace(each.detail, "")


@pytest.mark.slow
def test_a_schema_is_compatible_with_itself_under_every_policy():
    for record in records()[:: 2 * 11]:
        for policy in CompatibilityPolicy:
            reader = side(record, "new")
            assert find_differences(reader, side(record, "new"), policy=policy) == [], record["id"]
