"""Searches and confirmations over random pairs of every language, under every policy: none of them fails.

The searches are called without the guard that would turn a defect into a finding without a record.
COUNTERFOIL_EXAMPLES asks for so many pairs of each language; the pairs are the same on each run, by their number.
"""

from __future__ import annotations

import json
import os
from random import Random
from typing import TYPE_CHECKING

import pytest

from counterfoil.schema.compatibility.policies import CompatibilityLevel, CompatibilityPolicy
from counterfoil.schema.compatibility.report import Earlier
from counterfoil.schema.errors import InvalidSchema
from counterfoil.schema.judgement import check_compatibility, confirm_unguarded, search_unguarded
from counterfoil.schema.model import SchemaType
from counterfoil.schema.parsed import Validation
from counterfoil.schema.parsing import parse_schema
from strategies.avro.seeded import seeded_pairs
from strategies.json_schema.pairs import schema_pairs
from strategies.languages.meanings import avro_meaning_pair, json_with_meanings, protobuf_meaning_pair
from strategies.protobuf.pairs import seeded_pair

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.schema.parsed import ParsedSchema

EXAMPLES = int(os.environ.get("COUNTERFOIL_EXAMPLES", "10"))
CONFIRMED = 10


def avro_pair(seed: int) -> tuple[str, str]:
    return avro_meaning_pair(Random(seed)) if seed % 2 else next(seeded_pairs(seed, 1))


def protobuf_pair(seed: int) -> tuple[str, str]:
    return protobuf_meaning_pair(Random(seed)) if seed % 2 else seeded_pair(seed)


def json_pair(seed: int) -> tuple[str, str]:
    random = Random(seed)
    first, second = next(schema_pairs(random, 20))
    if seed % 2:
        first, second = (json_with_meanings(random, each) for each in (first, second))
    return json.dumps(first), json.dumps(second)


PAIR_BY_LANGUAGE: dict[SchemaType, Callable[[int], tuple[str, str]]] = {
    SchemaType.AVRO: avro_pair,
    SchemaType.PROTOBUF: protobuf_pair,
    SchemaType.JSON: json_pair,
}


@pytest.mark.slow
@pytest.mark.parametrize("language", SchemaType)
def test_no_search_fails_under_any_policy(language: SchemaType):
    for seed in range(EXAMPLES):
        texts = PAIR_BY_LANGUAGE[language](seed)
        try:
            first, second = (parse_schema(text, language, validation=Validation.LENIENT) for text in texts)
        except InvalidSchema:
            continue
        for policy in CompatibilityPolicy:
            searched(first, second, policy, seed)


def searched(candidate: ParsedSchema, earlier: ParsedSchema, policy: CompatibilityPolicy, seed: int) -> None:
    try:
        report = check_compatibility(candidate, [Earlier(earlier)], CompatibilityLevel.FULL, policy=policy)
        for failure in report.failures:
            for difference in failure.differences:
                str(search_unguarded(failure.reader, failure.writer, difference))
        failed = {failure.direction for failure in report.failures}
        for direction in set(CompatibilityLevel.FULL.directions) - failed:
            sides = (candidate, earlier) if direction.name == "BACKWARD" else (earlier, candidate)
            confirmation = confirm_unguarded(*sides, CONFIRMED)
            assert policy is not CompatibilityPolicy.SOUND or confirmation.counter_witness is None, confirmation
    except Exception as defect:
        defect.add_note(f"pair {seed} of {candidate.schema_type} under {policy}")
        raise
