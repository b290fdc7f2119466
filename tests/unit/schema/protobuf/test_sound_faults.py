"""SOUND and files with faults, message sets, extensions, and generated pairs of files."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf import message_factory

from counterfoil.schema.compatibility import CompatibilityLevel, CompatibilityPolicy
from counterfoil.schema.compatibility.findings import Earlier
from counterfoil.schema.judgement import check_compatibility, confirm_compatible, search_for_witness
from counterfoil.schema.languages.protobuf.policies import find_differences
from counterfoil.schema.languages.protobuf.runtime import pooled_file
from strategies.protobuf.pairs import seeded_pair
from strategies.protobuf.read_messages import P2, P3, SOUND, differences, m, parsed

SETTLED = {
    "duplicate-constant-name": "enum S { X = 0; X = 1; }",
    "duplicate-field-name": "string b = 2; string b = 3;",
    "empty-oneof": "oneof o {}",
    "explicit-map-entry": "message E { option map_entry = true; string key = 1; int32 value = 2; } repeated E e = 2;",
    "field-number-of-extensions": "extensions 2 to 5; int32 b = 3;",
    "field-number-of-runtime": "int32 b = 19000;",
    "invalid-name": "message 1N {}",
    "json-name-conflict": "int32 a_b = 2; int32 aB = 3;",
    "map-in-oneof": "oneof o { map<string, int32> b = 2; }",
    "overlapping-ranges": "reserved 5 to 9, 7;",
    "proto3-extension-range": "extensions 100 to 200;",
    "proto3-group": "group G = 2 { int32 b = 1; }",
    "reserved-constant": "enum S { X = 0; Y = 1; reserved 1; }",
    "reserved-field": "reserved 2; int32 b = 2;",
}
"""Parts of a message of proto3 that protoc refuses, whose bytes have one meaning, by the rule of the warning."""

OPEN = {
    "contested extension": "extensions 2 to 5; int32 b = 3; } extend M { int32 c = 3;",
    "duplicate-field-number": "int32 b = 2; int64 c = 2;",
    "empty-enum": "enum S {} S b = 2;",
    "field-number-out-of-range": "int32 b = 0;",
    "first-constant-not-zero": "enum S { X = 1; } S b = 2;",
    "map-key-type": "map<double, int32> b = 2;",
    "proto3-default": "int32 b = 2 [default = 5];",
    "unknown-option of bytes": 'repeated int32 b = 2 [packed = "x"];',
}
"""Parts that leave open what was written: two fields of one number, the meaning of a value that is left out."""


@pytest.mark.parametrize("fault", SETTLED)
@pytest.mark.parametrize("level", ["BACKWARD_TRANSITIVE", "FORWARD_TRANSITIVE", "FULL_TRANSITIVE"])
def test_a_fault_of_an_earlier_version_with_one_meaning_does_not_lock_the_subject(fault, level):
    faulty, sound = parsed(m(f"int32 a = 1; {SETTLED[fault]}")), parsed(m("int32 a = 1;"))
    assert fault in {each.rule for each in faulty.warnings()}
    assert [each.rule for each in faulty.warnings() if each.leaves_open] == []
    history = [Earlier(faulty)]
    assert check_compatibility(sound, history, CompatibilityLevel(level), policy=SOUND).is_compatible
    refused = check_compatibility(faulty, [Earlier(sound)], CompatibilityLevel(level), policy=SOUND)
    assert {each.rule for failure in refused.failures for each in failure.differences} == {"invalid-protobuf-file"}


@pytest.mark.parametrize("fault", OPEN)
@pytest.mark.parametrize("level", ["BACKWARD_TRANSITIVE", "FORWARD_TRANSITIVE"])
def test_a_fault_that_leaves_open_what_was_written_counts_in_every_version(fault, level):
    faulty, sound = parsed(m(f"int32 a = 1; {OPEN[fault]}")), parsed(m("int32 a = 1;"))
    report = check_compatibility(sound, [Earlier(faulty)], CompatibilityLevel(level), policy=SOUND)
    assert "invalid-protobuf-file" in {each.rule for failure in report.failures for each in failure.differences}


def test_a_break_beside_a_fault_with_one_meaning_is_found():
    writer, reader = m("int32 a = 1; reserved 5 to 9, 7;"), m("string a = 1;")
    report = check_compatibility(parsed(reader), [Earlier(parsed(writer))], CompatibilityLevel.BACKWARD, policy=SOUND)
    assert [each.rule for each in report.failures[0].differences] == ["field-scalar-kind-changed"]


def of_last_message(text: str, written: bytes) -> tuple[Any, Any]:
    """The record of the message M, read by the runtime, and the extension in the message E."""
    file = pooled_file(parsed(text))
    messages = file.message_types_by_name
    record = message_factory.GetMessageClass(messages["M"]).FromString(written)
    return record, messages["E"].extensions_by_name["ext"]


def test_extensions_of_a_message_set_are_lost_without_its_option():
    """The runtime writes the item of a message set as a group, and a reader without the option does not read it."""
    extended = "message E { extend S { optional E ext = 10; } optional int32 a = 1; } message M { optional S s = 1; }"
    plain = f"{P2} message S {{ extensions 4 to 536870911; }} {extended}"
    items = f"{P2} message S {{ option message_set_wire_format = true; extensions 4 to max; }} {extended}"
    assert [each.rule for each in differences(items, plain, SOUND)] == ["message-set-changed"]
    assert differences(plain, items, SOUND) == differences(items, items, SOUND) == []
    written = bytes.fromhex("0a080b100a1a0208070c")
    for text, is_read in ((items, True), (plain, False)):
        record, extension = of_last_message(text, written)
        assert record.s.HasExtension(extension) is is_read
    record, extension = of_last_message(items, bytes.fromhex("0a0452020807"))
    assert record.s.Extensions[extension].a == 7


@pytest.mark.slow
def test_generated_pairs_break_exactly_where_messages_are_lost():
    broken = 0
    for seed in range(300):
        writer, reader = map(parsed, seeded_pair(seed))
        found = find_differences(reader, writer, policy=SOUND)
        broken += bool(found)
        if not found:
            confirmed = confirm_compatible(reader, writer, 50)
            assert (confirmed.round_tripped, confirmed.counter_witness) == (50, None), seed
        assert all(search_for_witness(reader, writer, difference) for difference in found), seed
    assert 60 < broken < 200


def test_extensions_are_fields_too():
    def extended(kind: str) -> str:
        return m("extensions 100 to max;", P2) + f"extend M {{ optional {kind} x = 100; }}"

    assert differences(extended("int32"), extended("int64"), SOUND) == []
    (found,) = differences(extended("int32"), extended("string"), SOUND)
    assert (found.rule, found.path) == ("field-scalar-kind-changed", "#/M/100")
    assert differences(extended("int32"), extended("string"), CompatibilityPolicy.STRICT) == []


@pytest.mark.slow
def test_messages_exchanged_without_end_are_judged_within_a_bound():
    def web(step: int) -> Any:
        fields = [f"message M{i} {{ M{(i * 7 + 1) % 400} a = 1; M{(i * step + 2) % 400} b = 2; }}" for i in range(400)]
        return parsed(P3 + " ".join(fields))

    assert find_differences(web(3), web(5), policy=SOUND)
    assert find_differences(web(3), web(3), policy=SOUND) == []
