"""One folder a rule, readable by people: the schema before, the schema after, and what is found with the two.

``expected.json`` holds the findings of the new schema reading what the old one wrote under STRICT, those under LENIENT
and SOUND only where they differ from these, and ``differences``: all that the walk tells, what breaks nobody too.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.schema.compatibility.policies import CompatibilityPolicy
from counterfoil.schema.formats.jsonschema.compare.differences import walk
from counterfoil.schema.formats.jsonschema.parse import parse_json_schema
from counterfoil.schema.formats.jsonschema.policies import find_differences
from counterfoil.schema.formats.jsonschema.rules import RULES
from counterfoil.schema.judgement.witnesses import search_for_witness
from counterfoil.schema.parsed import Validation

if TYPE_CHECKING:
    from collections.abc import Iterable

    from counterfoil.schema.compatibility.report import Difference
    from counterfoil.schema.formats.jsonschema.schema import JsonSchema

FOLDER = Path(__file__).parents[2] / "rules" / "json"
FOLDERS = sorted(folder for folder in FOLDER.iterdir() if folder.is_dir())
RULE_BY_ID = {rule.id: rule for rule in RULES}


def schema(folder: Path, name: str) -> JsonSchema:
    text = (folder / f"{name}.json").read_text(encoding="utf-8")
    return parse_json_schema(text, validation=Validation.LENIENT)


def rows(differences: Iterable[Difference]) -> list[dict[str, str]]:
    return [{"rule": each.rule, "error_type": each.error_type, "path": each.path} for each in differences]


def expected(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    return found


def test_each_rule_has_a_folder_and_each_folder_a_rule():
    assert [folder.name for folder in FOLDERS] == sorted(RULE_BY_ID)


@pytest.mark.parametrize("policy", CompatibilityPolicy)
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_findings_are_those_that_the_folder_says(folder: Path, policy: CompatibilityPolicy):
    found = find_differences(schema(folder, "current"), schema(folder, "previous"), policy=policy)
    assert rows(found) == expected(folder).get(policy, expected(folder)["STRICT"])


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_walk_tells_what_the_folder_says(folder: Path):
    found = walk(schema(folder, "current"), schema(folder, "previous"))
    assert rows(found) == expected(folder)["differences"]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_folder_shows_its_rule(folder: Path):
    rule = RULE_BY_ID[folder.name]
    told = expected(folder)
    assert folder.name in {each["rule"] for findings in told.values() for each in findings}
    breaking = {each["rule"] for findings in (told["STRICT"], told.get("SOUND", [])) for each in findings}
    assert (folder.name in breaking) == bool(rule.breaks)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_rule_that_promises_a_witness_has_one_here(folder: Path):
    reader, writer = schema(folder, "current"), schema(folder, "previous")
    for policy in (CompatibilityPolicy.STRICT, CompatibilityPolicy.SOUND):
        for difference in find_differences(reader, writer, policy=policy):
            witness = search_for_witness(reader, writer, difference)
            assert witness or not RULE_BY_ID[difference.rule].promises_witness


def test_a_rule_is_written_for_people():
    for rule in RULES:
        assert rule.sentence.startswith("The reader"), rule.id
        assert rule.why.endswith("."), rule.id
        assert rule.mend.endswith("."), rule.id
        assert rule.error_type in {"", rule.id.upper().replace("-", "_")}, rule.id


def test_the_rules_are_many_and_none_stands_twice():
    assert len(RULES) == len(RULE_BY_ID) == 142
