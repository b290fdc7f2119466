"""Recorded verdicts of the reference, each pair of them; and a witness for every incompatible one that can have one."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.schema.judgement import search_for_witness
from counterfoil.schema.languages.avro.compare import rules
from counterfoil.schema.languages.avro.policies import find_differences
from counterfoil.schema.languages.avro.schema import parse_avro
from counterfoil.schema.model import Reference, ResolvedReference
from counterfoil.schema.parsed import Validation
from counterfoil.schema.witness import NoWitness, Witness

if TYPE_CHECKING:
    from counterfoil.schema.compatibility.rules import CompatibilityRule
    from counterfoil.schema.languages.avro.schema import AvroSchema

RECORDINGS = Path(__file__).parents[3] / "data" / "recordings" / "verdicts.avro.jsonl"
BY_STRUCTURE = "only names of records differ, and decoders that go by structure, such as Avro's for Java, read them"
SEVERAL_MATCHES = "decoders disagree about a field with several matches"


@cache
def recorded() -> tuple[tuple[dict[str, Any], AvroSchema, AvroSchema], ...]:
    records = [json.loads(line) for line in RECORDINGS.read_text(encoding="utf-8").splitlines()]
    return tuple((record, parsed(record, "new"), parsed(record, "old")) for record in records)


def parsed(record: dict[str, Any], side: str) -> AvroSchema:
    references = [
        ResolvedReference(Reference(each["name"], each["subject"], each["version"]), each["schema"])
        for each in record.get("references", ())
        if each["side"] == side
    ]
    text = record["reader_or_new"] if side == "new" else record["writer_or_old"]
    return parse_avro(text, references, validation=Validation.LENIENT)


@pytest.mark.slow
def test_every_recorded_verdict_comes_out_the_same():
    assert len(recorded()) == 1045
    wrong = [
        (record["id"], record["case"])
        for record, reader, writer in recorded()
        if (not find_differences(reader, writer)) != record["compatible"]
    ]
    assert wrong == []


@pytest.mark.slow
def test_every_recorded_error_type_and_path_comes_out_the_same():
    wrong = []
    for record, reader, writer in recorded():
        found = find_differences(reader, writer)
        if sorted(f"{each.error_type} {each.path}" for each in found if each.error_type) != record["messages"]:
            wrong.append((record["id"], record["case"]))
    assert wrong == []


def test_an_undecidable_pair_is_one_difference_without_a_type():
    undecidable = [pair for pair in recorded() if not pair[0]["compatible"] and not pair[0]["messages"]]
    found = [[each.rule for each in find_differences(reader, writer)] for _, reader, writer in undecidable]
    assert found == [[rules.AMBIGUOUS_ALIAS.id]] * 16


@cache
def searched() -> tuple[tuple[Witness | NoWitness, str, AvroSchema, AvroSchema], ...]:
    return tuple(
        (search_for_witness(reader, writer, each), each.rule, reader, writer)
        for _, reader, writer in recorded()
        for each in dict.fromkeys(find_differences(reader, writer))
    )


@pytest.mark.slow
def test_the_recorded_differences_have_witnesses():
    count = Counter((rule, bool(found)) for found, rule, _, _ in searched())
    assert count == {
        ("reader-field-missing-default", True): 110,
        ("type-mismatch", True): 208,
        ("type-mismatch", False): 2,
        ("missing-union-branch", True): 154,
        ("missing-union-branch", False): 5,
        ("missing-enum-symbols", True): 29,
        ("fixed-size-mismatch", True): 9,
        ("name-mismatch", True): 14,
        ("name-mismatch", False): 52,
        ("ambiguous-alias", False): 16,
    }
    confirmed = sum(number for (_, has_one), number in count.items() if has_one)
    print(f"{confirmed} of {count.total()} recorded differences have a confirmed witness")  # noqa: T201 - shown by -s


@pytest.mark.slow
def test_a_difference_without_a_witness_has_one_of_three_reasons():
    for found, rule, reader, _ in searched():
        if isinstance(found, Witness):
            continue
        if rule == "type-mismatch":  # fastavro gives such a field its default, Java's decoder reads the alias
            assert any_alias_claims_a_named_field(reader)
        else:
            assert found.reason.startswith((BY_STRUCTURE, SEVERAL_MATCHES))


def any_alias_claims_a_named_field(schema: AvroSchema) -> bool:
    return any(
        alias in {other.name for other in node.fields}
        for node in schema.named.values()
        if node.kind == "record"
        for field in node.fields
        for alias in field.aliases
    )


@pytest.mark.parametrize(
    "rule", [rule for rule in rules.RULES if rule.promises_witness and rule.error_type], ids=lambda rule: rule.id
)
def test_a_rule_that_promises_a_witness_keeps_its_word(rule: CompatibilityRule):
    broken = [
        found.reason
        for found, name, reader, _ in searched()
        if isinstance(found, NoWitness) and name == rule.id and not any_alias_claims_a_named_field(reader)
    ]
    assert [reason for reason in broken if not reason.startswith(BY_STRUCTURE)] == []
    assert any(isinstance(found, Witness) for found, name, _, _ in searched() if name == rule.id)
