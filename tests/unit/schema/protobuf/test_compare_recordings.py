"""Recorded verdicts of the reference over pairs of Protobuf schemas; what proves them, and what proves them wrong."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.schema.compatibility.policies import CompatibilityPolicy
from counterfoil.schema.judgement import confirm_compatible, search_for_witness
from counterfoil.schema.languages.protobuf.policies import find_differences
from counterfoil.schema.languages.protobuf.schema import parse_protobuf
from counterfoil.schema.model import Reference, ResolvedReference
from counterfoil.schema.parsed import Validation
from counterfoil.schema.witness import Witness
from strategies.cases.depth import IS_DEEP, some_of

if TYPE_CHECKING:
    from counterfoil.schema.languages.protobuf.schema import ProtobufSchema

RECORDINGS = Path(__file__).parents[3] / "data" / "recordings" / "verdicts.protobuf.jsonl"
SOUND = CompatibilityPolicy.SOUND
VALUES = 60 if IS_DEEP else 20

WITHOUT_WITNESS = (
    "the writer cannot write it in a message of finite size",  # a message that requires itself
    "no record holds such a message",  # of an imported file, and no field leads to it
)


@cache
def recorded() -> tuple[tuple[dict[str, Any], ProtobufSchema, ProtobufSchema], ...]:
    records = [json.loads(line) for line in RECORDINGS.read_text(encoding="utf-8").splitlines()]
    return tuple((record, parsed(record, "new"), parsed(record, "old")) for record in records)


def parsed(record: dict[str, Any], side: str) -> ProtobufSchema:
    references = [
        ResolvedReference(Reference(each["name"], each["subject"], each["version"]), each["schema"])
        for each in record.get("references", ())
        if each["side"] == side
    ]
    text = record["reader_or_new"] if side == "new" else record["writer_or_old"]
    return parse_protobuf(text, references, validation=Validation.LENIENT)


@pytest.mark.slow
def test_every_recorded_verdict_error_type_and_path_comes_out_the_same():
    assert len(recorded()) == 828
    wrong = []
    for record, reader, writer in recorded():
        found = sorted(f"{each.error_type} {each.path}" for each in find_differences(reader, writer))
        if found != record["messages"] or (not found) != record["compatible"]:
            wrong.append((record["id"], record["case"], found))
    assert wrong == []


@pytest.mark.slow
def test_every_finding_points_at_a_line_that_names_it():
    for record, reader, writer in recorded():
        for difference in find_differences(reader, writer):
            for schema, pointer in ((reader, difference.reader_pointer), (writer, difference.writer_pointer)):
                position = schema.locate(pointer)
                assert position is not None
                named = schema.text.splitlines()[position.line - 1]
                if pointer == ("#package",):
                    assert named.startswith("package " if "\npackage " in schema.text else "syntax ")
                else:
                    assert str(pointer[-1] if pointer else "") in named, (record["id"], difference)


@pytest.mark.slow
def test_every_finding_that_bytes_can_show_has_a_witness():
    searched, witnessed, unproved = 0, 0, Counter()
    for _, reader, writer in recorded():
        kept = find_differences(reader, writer, policy=SOUND)
        for difference in find_differences(reader, writer):
            witness = search_for_witness(reader, writer, difference)
            searched += 1
            if isinstance(witness, Witness):
                witnessed += 1
                assert kept
            elif difference in kept and witness.reason not in WITHOUT_WITNESS:
                unproved[difference.rule] += 1
    assert (searched, witnessed) == (518, 304)
    # Messages without a field in common, maps read as such, and enums whose one symbol is written as nothing.
    assert unproved == {"field-named-type-changed": 4, "field-kind-changed": 4, "field-scalar-kind-changed": 3}


@pytest.mark.slow
def test_what_sound_lets_pass_is_read_without_loss():
    confirmed = 0
    for record, reader, writer in recorded():
        if not find_differences(reader, writer, policy=SOUND):
            result = confirm_compatible(reader, writer, VALUES)
            assert result.counter_witness is None, (record["id"], result)
            confirmed += result.round_tripped
    assert confirmed > 400 * VALUES


@pytest.mark.slow
def test_what_sound_adds_is_proved():
    """Each finding that Confluent does not have comes with a message, but for those that nobody can write."""
    unproved = []
    for record, reader, writer in recorded():
        if record["compatible"]:
            for difference in find_differences(reader, writer, policy=SOUND):
                witness = search_for_witness(reader, writer, difference)
                if not isinstance(witness, Witness) and witness.reason not in WITHOUT_WITNESS:
                    unproved.append(difference.rule)
    assert unproved == ["invalid-protobuf-file"]  # a message that calls itself the entry of a map


@pytest.mark.slow
def test_a_schema_is_compatible_with_itself_and_with_its_other_spellings():
    for record, schema, _ in some_of(recorded(), 11):
        if record.get("references"):
            continue
        for text in (schema.text, schema.canonical(), schema.normalized()):
            again = parse_protobuf(text, validation=Validation.LENIENT)
            for policy in CompatibilityPolicy:
                rules = {each.rule for each in find_differences(again, schema, policy=policy)}
                assert rules <= {"invalid-protobuf-file"}, (record["id"], policy)


@pytest.mark.slow
def test_canonical_and_normalised_texts_keep_every_verdict():
    for record, reader, writer in some_of(recorded(), 5):
        if record.get("references"):
            continue
        found = [(each.error_type, each.path) for each in find_differences(reader, writer)]
        for texts in ((reader.canonical(), writer.canonical()), (reader.normalized(), writer.normalized())):
            mine, theirs = (parse_protobuf(text, validation=Validation.LENIENT) for text in texts)
            assert sorted((each.error_type, each.path) for each in find_differences(mine, theirs)) == sorted(found)
