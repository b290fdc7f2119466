"""Verdicts on JSON schemas of other registries' own tests, from a folder that is not part of the project.

The folder is named by the environment variable COUNTERFOIL_CORPUS, else it is ``../shared/corpus`` beside the
repository. Where it is not there, the summary of the run says so. Any file of the same form is read.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from counterfoil.schema.compatibility import CompatibilityPolicy
from counterfoil.schema.languages.jsonschema.compare.differences import walk
from counterfoil.schema.languages.jsonschema.policies import find_differences
from counterfoil.schema.languages.jsonschema.schema import parse_json_schema
from counterfoil.schema.model import Reference, ResolvedReference
from counterfoil.schema.parsed import Validation

ROOT = Path(__file__).resolve().parents[2]
CORPUS = Path(os.environ.get("COUNTERFOIL_CORPUS") or ROOT.parent / "shared" / "corpus")
CONFLUENT = sorted(CORPUS.glob("confluent-ccl/json-schema*.jsonl"))
APICURIO = sorted(CORPUS.glob("apicurio-apache-2.0/json-schema*.jsonl"))
LEAST_AGREEMENT_WITH_APICURIO = {CompatibilityPolicy.STRICT: 0.86, CompatibilityPolicy.SOUND: 0.92}
"""Of verdicts; each class of the others stands in ``docs/corpus-disagreements.md``."""

# Not a missing service: the corpus may not be copied into the project, so a clone by itself cannot have it.
pytestmark = pytest.mark.skipif(
    not (CONFLUENT and APICURIO), reason=f"NOT CHECKED: no corpus at {CORPUS}; set COUNTERFOIL_CORPUS"
)


def records(files: list[Path]) -> list[dict[str, Any]]:
    lines = [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    return [record for record in map(json.loads, lines) if record["format"] == "JSON"]


def sides(record: dict[str, Any]) -> list[Any]:
    return [
        parse_json_schema(
            record[text],
            [
                ResolvedReference(
                    Reference(each["name"], each.get("subject") or each["name"], each.get("version") or 1),
                    each["schema"],
                )
                for each in record.get("references", ())
                if each["side"] == side
            ],
            validation=Validation.LENIENT,
        )
        for side, text in (("new", "reader_or_new"), ("old", "writer_or_old"))
    ]


def test_every_difference_of_confluents_own_tests_comes_out_the_same():
    """The harmless ones too, under both of its policies."""
    asked = records(CONFLUENT)
    assert asked
    wrong = []
    for record in asked:
        policy = CompatibilityPolicy(record["policy"])
        found = walk(*sides(record), policy=policy)
        told = sorted(f"{each.error_type} {each.path}".strip() for each in found)
        is_compatible = not any(policy in each.kind.breaks for each in found)
        if told != sorted(record["messages"]) or is_compatible != record["compatible"]:
            wrong.append((record["case"], record["policy"], told))
    assert wrong == []


@pytest.mark.parametrize("policy", LEAST_AGREEMENT_WITH_APICURIO)
def test_most_verdicts_of_apicurios_own_tests_come_out_the_same(policy: CompatibilityPolicy, record_property: Any):
    asked = records(APICURIO)
    assert asked
    agreed = sum((not find_differences(*sides(record), policy=policy)) == record["compatible"] for record in asked)
    record_property("agreements", f"apicurio {policy}: {agreed} of {len(asked)}")
    assert agreed >= LEAST_AGREEMENT_WITH_APICURIO[policy] * len(asked)
