"""One folder a rule, readable by people: the file before, the file after, and what is found with the two.

``expected.json`` holds the findings of the new schema reading what the old one wrote, under STRICT; under SOUND, WIRE
and WIRE_JSON only where they differ from those. ``told`` are the differences that break nobody, where the folder's own
rule is one of them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.schema.compatibility.policies import CompatibilityPolicy
from counterfoil.schema.compatibility.rules import NEVER
from counterfoil.schema.formats.protobuf.compare.differences import walk
from counterfoil.schema.formats.protobuf.policies import find_differences
from counterfoil.schema.formats.protobuf.rules import RULES
from counterfoil.schema.judgement.witnesses import search_for_witness
from counterfoil.schema.model import SchemaType
from counterfoil.schema.parsing import parse_schema
from counterfoil.schema.witness import Witness

if TYPE_CHECKING:
    from collections.abc import Iterable

    from counterfoil.schema.compatibility.report import Difference

FOLDER = Path(__file__).parents[2] / "rules" / "protobuf"
FOLDERS = sorted(folder for folder in FOLDER.iterdir() if folder.is_dir())
RULE_BY_ID = {rule.id: rule for rule in RULES}


def schema(folder: Path, name: str) -> Any:
    return parse_schema((folder / f"{name}.proto").read_text(encoding="utf-8"), SchemaType.PROTOBUF)


def found(folder: Path, policy: CompatibilityPolicy) -> list[Difference]:
    return find_differences(schema(folder, "current"), schema(folder, "previous"), policy=policy)


def expected(folder: Path) -> dict[str, list[dict[str, str]]]:
    return json.loads((folder / "expected.json").read_text(encoding="utf-8"))


def rows(differences: Iterable[Difference]) -> list[dict[str, str]]:
    return [{"rule": each.rule, "error_type": each.error_type, "path": each.path} for each in differences]


def test_each_rule_has_a_folder_and_each_folder_a_rule():
    assert [folder.name for folder in FOLDERS] == sorted(RULE_BY_ID)


@pytest.mark.parametrize("policy", CompatibilityPolicy)
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_findings_are_those_that_the_folder_says(folder: Path, policy: CompatibilityPolicy):
    assert rows(found(folder, policy)) == expected(folder).get(policy, expected(folder)["STRICT"])


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_folder_shows_its_rule(folder: Path):
    rule = RULE_BY_ID[folder.name]
    if rule.breaks == NEVER:
        told = walk(schema(folder, "current"), schema(folder, "previous"))
        assert rows(each for each in told if each.kind.breaks == NEVER) == expected(folder)["told"]
        assert folder.name in {each["rule"] for each in expected(folder)["told"]}
    else:
        for policy in rule.breaks:
            assert folder.name in {each.rule for each in found(folder, policy)}


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_rule_that_promises_a_witness_has_one_here(folder: Path):
    rule = RULE_BY_ID[folder.name]
    reader, writer = schema(folder, "current"), schema(folder, "previous")
    for policy in rule.breaks:
        for difference in found(folder, policy):
            if difference.rule == rule.id and rule.promises_witness:
                assert isinstance(search_for_witness(reader, writer, difference), Witness)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_finding_has_no_placeholder_left_and_a_place_in_both_files(folder: Path):
    reader, writer = schema(folder, "current"), schema(folder, "previous")
    for policy in CompatibilityPolicy:
        for difference in found(folder, policy):
            assert "{" not in difference.text
            assert difference.detail
            assert reader.locate(difference.reader_pointer)
            assert writer.locate(difference.writer_pointer)
