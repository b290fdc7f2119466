"""Verdicts of the reference's own tests for Protobuf, from a folder that is not part of the project.

The folder is named by the environment variable COUNTERFOIL_CORPUS, else it is ``../shared/corpus`` beside the
repository. Where it is not there, the summary of the run says so. Every file ``protobuf*.jsonl`` in it is read.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from counterfoil.schema.languages.protobuf.compare.differences import walk
from counterfoil.schema.languages.protobuf.policies import find_differences
from counterfoil.schema.languages.protobuf.schema import parse_protobuf
from counterfoil.schema.model import Reference, ResolvedReference
from counterfoil.schema.parsed import Validation

ROOT = Path(__file__).resolve().parents[2]
CORPUS = Path(os.environ.get("COUNTERFOIL_CORPUS") or ROOT.parent / "shared" / "corpus")
FILES = sorted(CORPUS.glob("*/protobuf*.jsonl"))

# Not a missing service: the corpus may not be copied into the project, so a clone by itself cannot have it.
pytestmark = pytest.mark.skipif(not FILES, reason=f"NOT CHECKED: no corpus in {CORPUS}; set COUNTERFOIL_CORPUS")


def records() -> list[dict[str, Any]]:
    lines = [line for file in FILES for line in file.read_text(encoding="utf-8").splitlines()]
    return [record for record in map(json.loads, lines) if record["implementation"] == "confluent"]


def parsed(record: dict[str, Any], side: str) -> Any:
    references = [
        ResolvedReference(
            Reference(each["name"], each.get("subject", each["name"]), each.get("version", 1)), each["schema"]
        )
        for each in record.get("references") or ()
        if each["side"] == side and each["schema"] is not None
    ]
    text = record["reader_or_new"] if side == "new" else record["writer_or_old"]
    return parse_protobuf(text, references, validation=Validation.LENIENT)


def test_every_verdict_and_every_difference_of_the_corpus_comes_out_the_same():
    agreed: Counter[str] = Counter()
    wrong = []
    for record in records():
        reader, writer = parsed(record, "new"), parsed(record, "old")
        found = sorted(f"{each.error_type} {each.path}" for each in walk(reader, writer))
        if found != sorted(record["messages"]) or record["compatible"] == bool(find_differences(reader, writer)):
            wrong.append((record["case"], found, sorted(record["messages"])))
        else:
            agreed[record["source"]] += 1
    print("\n".join(f"{count} agree: {source}" for source, count in agreed.items()))  # noqa: T201 - shown by pytest -s
    assert wrong == []
    assert agreed
