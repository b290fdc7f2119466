"""SOUND for well-known types of Protobuf: which may stand for each other, by the bytes that are read."""

from __future__ import annotations

from itertools import product

import pytest

from counterfoil.schema.compatibility import CompatibilityPolicy
from counterfoil.schema.judgement import confirm_unguarded, search_unguarded
from counterfoil.schema.languages.protobuf.policies import find_differences
from strategies.cases.each_case import check_each
from strategies.protobuf.read_messages import ADDED, E23, P3, SOUND, differences, m, new_message, parsed

WRAPPERS = ("Bool", "Int32", "Int64", "UInt32", "UInt64", "Float", "Double", "String", "Bytes")
WELL_KNOWN = (
    *("timestamp.Timestamp", "duration.Duration", "empty.Empty", "any.Any", "field_mask.FieldMask"),
    *("struct.Struct", "struct.ListValue", "struct.Value"),
    *(f"wrappers.{name}Value" for name in WRAPPERS),
)
KEEPS_WRAPPED = {
    "Bool": {"Int32", "Int64", "UInt32", "UInt64"},
    "Int32": {"Int64"},
    "UInt32": {"Int64", "UInt64"},
    "String": {"Bytes"},
}


def holding(message: str) -> str:
    file, _, name = message.partition(".")
    return f'{P3} import "google/protobuf/{file}.proto"; message M {{ google.protobuf.{name} a = 1; }}'


@pytest.mark.slow
def test_a_well_known_type_is_read_as_no_other():
    """Those of equal fields too; but a wrapper is as good as what it wraps."""
    check_each(((f"{one} as {other}", (one, other)) for one, other in product(WELL_KNOWN, repeat=2)), check_well_known)


def check_well_known(pair: tuple[str, str]):
    written, read = pair
    writer, reader = parsed(holding(written)), parsed(holding(read))
    found = find_differences(reader, writer, policy=SOUND)
    mine, theirs = (each.removeprefix("wrappers.").removesuffix("Value") for each in (read, written))
    if read == written or mine in KEEPS_WRAPPED.get(theirs, ()):
        assert found == []
        assert confirm_unguarded(reader, writer, 100).round_tripped == 100
        return
    assert found
    assert any(search_unguarded(reader, writer, each) for each in found)
    assert confirm_unguarded(reader, writer, 100).counter_witness


def test_a_well_known_type_of_equal_fields_shows_both_meanings():
    writer, reader = parsed(holding("timestamp.Timestamp")), parsed(holding("duration.Duration"))
    witness = confirm_unguarded(reader, writer, 100).counter_witness
    assert witness
    assert witness.step.endswith("2024-05-01T12:34:56.789Z is read as 1714566896.789s")


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("date.Date", "timeofday.TimeOfDay"),
        ("fraction.Fraction", "latlng.LatLng"),
        ("timeofday.TimeOfDay", "date.Date"),
    ],
)
def test_googles_common_types_are_read_as_no_other(written: str, read: str):
    writer, reader = (
        parsed(f'{P3} import "google/type/{file}.proto"; message M {{ google.type.{name} a = 1; }}')
        for file, _, name in (written.partition("."), read.partition("."))
    )
    assert find_differences(reader, writer, policy=SOUND)
    assert confirm_unguarded(reader, writer, 100).counter_witness


def test_a_message_of_ones_own_may_stand_for_a_well_known_one_of_its_fields():
    own = m("Moment a = 1;") + "message Moment { int64 seconds = 1; int32 nanos = 2; }"
    for writer, reader in ((own, holding("timestamp.Timestamp")), (holding("timestamp.Timestamp"), own)):
        assert differences(writer, reader, SOUND) == []
        assert confirm_unguarded(parsed(reader), parsed(writer), 100).round_tripped == 100


def test_a_loss_above_the_place_of_a_difference_is_not_about_it():
    """The message around the place is gone as a whole, since it is enclosed otherwise."""
    writer = parsed(P3 + "message B { C a = 5; } message C { int64 v = 1; }")
    reader = parsed(E23 + "message B { D a = 5 [features.message_encoding = DELIMITED]; } message D { uint32 v = 1; }")
    for policy in CompatibilityPolicy:
        for difference in find_differences(reader, writer, policy=policy):
            search_unguarded(reader, writer, difference)
    found = {
        each.rule: search_unguarded(reader, writer, each) for each in find_differences(reader, writer, policy=SOUND)
    }
    assert found["message-encoding-changed"]
    assert not found["integer-narrowed"]


def test_a_default_that_is_not_written_is_each_readers_own():
    writer, reader, *_ = ADDED["another default"]
    assert (new_message(writer).a, new_message(reader).a) == (5, 6)


def test_a_file_that_protobuf_forbids_is_refused():
    twice = m("int32 a = 1; int32 b = 1;")
    found = differences(twice, twice, SOUND)
    assert {each.rule for each in found} == {"invalid-protobuf-file"}
    assert differences(twice, twice, CompatibilityPolicy.STRICT) == []
    assert {each.text.partition("'s file")[0] for each in found} == {
        "The reader cannot rely on the reader",
        "The reader cannot rely on the writer",
    }
