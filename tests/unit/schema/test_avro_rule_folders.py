"""One folder a rule, readable by people: the schema before, the schema after, and what is found with the two.

``expected.json`` holds the findings of the new schema reading what the old one wrote, under STRICT; under ``SOUND``,
and any other policy, only where they differ from those.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from counterfoil.schema.compatibility.policies import CompatibilityPolicy
from counterfoil.schema.formats.avro.compare.rules import RULES
from counterfoil.schema.judgement.witnesses import search_for_witness
from counterfoil.schema.model import SchemaType
from counterfoil.schema.parsing import parse_schema

FOLDER = Path(__file__).parents[2] / "rules" / "avro"
FOLDERS = sorted(folder for folder in FOLDER.iterdir() if folder.is_dir())
RULE_BY_ID = {rule.id: rule for rule in RULES}


def schema(folder: Path, name: str) -> Any:
    return parse_schema((folder / f"{name}.avsc").read_text(encoding="utf-8"), SchemaType.AVRO)


def found(folder: Path, policy: CompatibilityPolicy) -> list[Any]:
    from counterfoil.schema.formats.table import format_for

    compare = format_for(SchemaType.AVRO).find_differences
    return list(compare(schema(folder, "current"), schema(folder, "previous"), policy=policy))


def expected(folder: Path) -> dict[str, list[dict[str, str]]]:
    return json.loads((folder / "expected.json").read_text(encoding="utf-8"))


def test_each_rule_has_a_folder_and_each_folder_a_rule():
    assert [folder.name for folder in FOLDERS] == sorted(RULE_BY_ID)


@pytest.mark.parametrize("policy", CompatibilityPolicy)
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_findings_are_those_that_the_folder_says(folder: Path, policy: CompatibilityPolicy):
    findings = [{"rule": each.rule, "error_type": each.error_type, "path": each.path} for each in found(folder, policy)]
    assert findings == expected(folder).get(policy, expected(folder)["STRICT"])


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_folder_shows_its_rule_and_no_other(folder: Path):
    """Under one policy at least; a reader of the page should see one thing happen."""
    rules = {each["rule"] for findings in expected(folder).values() for each in findings}
    assert rules == {folder.name}


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_rule_that_promises_a_witness_has_one_here(folder: Path):
    rule = RULE_BY_ID[folder.name]
    policies = [CompatibilityPolicy(name) for name, findings in expected(folder).items() if findings]
    for difference in [each for policy in policies for each in found(folder, policy)]:
        witness = search_for_witness(schema(folder, "current"), schema(folder, "previous"), difference)
        assert witness or not rule.promises_witness
