"""Verdicts of other registries' own tests, from a folder that is not part of the project.

The folder is named by the environment variable COUNTERFOIL_CORPUS, else it is ``../shared/corpus`` beside the
repository. Where it is not there, the summary of the run says so.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from counterfoil.schema.languages.avro.policies import find_differences
from counterfoil.schema.languages.avro.schema import parse_avro
from counterfoil.schema.parsed import Validation

ROOT = Path(__file__).resolve().parents[2]
CORPUS = Path(os.environ.get("COUNTERFOIL_CORPUS") or ROOT.parent / "shared" / "corpus")
FILE = CORPUS / "apicurio-apache-2.0" / "avro.dev.jsonl"

# Not a missing service: the corpus may not be copied into the project, so a clone by itself cannot have it.
pytestmark = pytest.mark.skipif(not FILE.exists(), reason=f"NOT CHECKED: no corpus at {FILE}; set COUNTERFOIL_CORPUS")


def records() -> list[dict[str, Any]]:
    return [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]


def test_every_verdict_of_the_corpus_comes_out_the_same():
    asked = records()
    assert asked
    assert [record["case"] for record in asked if is_compatible(record) != record["compatible"]] == []


def is_compatible(record: dict[str, Any]) -> bool:
    sides = (parse_avro(record[side], validation=Validation.LENIENT) for side in ("reader_or_new", "writer_or_old"))
    return not find_differences(*sides)
