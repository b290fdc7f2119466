from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.converter.bridge import load_bridge_file, parse_bridge_file
from counterfoil.converter.errors import InvalidBridgeFile
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.schema.model import SchemaType
from counterfoil.schema.plans.bridge import DeliveryGuarantee, Partitioning, StopAbove, Timestamps

if TYPE_CHECKING:
    from pathlib import Path

SMALLEST = "bridge: b\nsource: {topic: in}\ntarget: {topic: out}\n"


def refusal(text: str) -> InvalidBridgeFile:
    with pytest.raises(InvalidBridgeFile) as caught:
        parse_bridge_file(text, name="b.yaml")
    return caught.value


def test_what_is_absent_has_a_default():
    bridge = parse_bridge_file(SMALLEST)
    assert (bridge.source_subject, bridge.target_subject) == ("in-value", "out-value")
    assert bridge.target_version is None
    assert bridge.partitioning is Partitioning.SAME
    assert bridge.timestamps is Timestamps.KEEP
    assert bridge.dead_letter_topic == "in.bridge-dlq"
    assert bridge.stop_above == StopAbove(rate=0.01)


def test_every_key_can_be_given():
    bridge = parse_bridge_file(
        "bridge: rides-v2-to-v1\n"
        "source: {topic: in, subject: ':.ctx:in', versions: all}\n"
        "target: {topic: out, subject: other, version: 4}\n"
        "key: copy\npartition: by-key\ntimestamp: now\ndelivery: exactly-once\n"
        "errors: {topic: dead, stop_above: 250}\n"
    )
    assert bridge.name == "rides-v2-to-v1"
    assert bridge.source_subject == ":.ctx:in"
    assert (bridge.target_subject, bridge.target_version) == ("other", 4)
    assert (bridge.partitioning, bridge.timestamps) == (Partitioning.BY_KEY, Timestamps.NOW)
    assert bridge.delivery is DeliveryGuarantee.EXACTLY_ONCE
    assert (bridge.dead_letter_topic, bridge.stop_above) == ("dead", StopAbove(count=250))


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("bridge: b\nsource: {topic: in}\n", (1, 1), "needs target"),
        (SMALLEST + "timestmap: keep\n", (4, 1), "did you mean timestamp?"),
        (SMALLEST + "colour: red\n", (4, 1), "it takes bridge, delivery, drop, errors"),
        ("bridge: b\nsource: {topic: in, sbject: x}\ntarget: {topic: out}\n", (2, 21), "did you mean subject?"),
        (SMALLEST + "partition: random\n", (4, 12), "same or by-key"),
        (SMALLEST + "delivery: twice\n", (4, 11), "at-least-once or restart-filter or exactly-once"),
        (SMALLEST + "bridge: c\n", (4, 1), "a second time"),
        ("bridge: b\nsource: {topic: 'a b'}\ntarget: {topic: out}\n", (2, 17), "no name for a Kafka topic"),
        ("bridge: b\nsource: {topic: in}\ntarget: {topic: in}\n", (3, 9), "two topics"),
        ("bridge: b\nsource: {topic: in}\ntarget: {topic: out, version: 0}\n", (3, 31), "a number from 1"),
        (SMALLEST + "errors: {topic: out}\n", (4, 9), "a topic of their own"),
        (SMALLEST + "errors: {stop_above: 101%}\n", (4, 22), "a percentage such as 1%"),
        (SMALLEST + "errors: {stop_above: -1}\n", (4, 22), "a percentage such as 1%"),
        (SMALLEST + "errors: 5\n", (4, 9), "a mapping"),
        ("bridge: [b]\nsource: {topic: in}\ntarget: {topic: out}\n", (1, 9), "must be a name"),
        ("bridge: b\n  source: {", (2, 9), "not YAML"),
        ("- bridge\n", (1, 1), "must be a mapping"),
        ("bridge: b\nsource: {topic: in, framing: json}\ntarget: {topic: out}\n", (2, 30), "id or none"),
        ("bridge: b\nsource: {topic: in, message: a..b}\ntarget: {topic: out}\n", (2, 30), "such as taxi.Ride"),
        (SMALLEST + "key: move\n", (4, 6), "key must be copy, convert, or a mapping"),
        (SMALLEST + "key: {feilds: {}}\n", (4, 7), "did you mean fields?"),
        (SMALLEST + "key:\n  fields:\n    a: {frm: b}\n", (6, 9), "did you mean from"),
        (SMALLEST + "fields: [a]\n", (4, 9), "fields must be a mapping"),
    ],
)
def test_a_mistake_is_reported_with_its_place(text: str, place: tuple[int, int], words: str):
    mistake = refusal(text)
    assert (mistake.line, mistake.column) == place
    assert words in str(mistake)
    assert str(mistake).startswith(f"b.yaml:{place[0]}:{place[1]}: ")


def test_keys_have_subjects_and_rules_of_their_own():
    assert parse_bridge_file(SMALLEST + "key: copy\n").keys is None
    keys = parse_bridge_file(SMALLEST + "key: convert\nfields: {a: {from: b}}\n").keys
    assert keys is not None
    assert (keys.source_subject, keys.target_subject, keys.rules.fields) == ("in-key", "out-key", ())
    keys = parse_bridge_file(SMALLEST + "key: {target: {subject: k, version: 2}, fields: {a: {from: b}}}\n").keys
    assert keys is not None
    assert (keys.source_subject, keys.target_subject, keys.target_version) == ("in-key", "k", 2)
    assert [rule.spelt for rule in keys.rules.fields] == ["a"]


def test_only_json_can_be_without_frames():
    bridge = parse_bridge_file("bridge: b\nsource: {topic: in, framing: none}\ntarget: {topic: out}\n")
    assert bridge.language_problems(SchemaType.JSON, SchemaType.AVRO) == ()
    [problem] = bridge.language_problems(SchemaType.AVRO, SchemaType.AVRO)
    assert "source: framing: none is for JSON Schema" in problem


def test_only_protobuf_has_messages_to_choose():
    bridge = parse_bridge_file("bridge: b\nsource: {topic: in, message: taxi.Ride}\ntarget: {topic: out}\n")
    assert (bridge.source_message, bridge.target_message) == ("taxi.Ride", None)
    assert bridge.language_problems(SchemaType.PROTOBUF, SchemaType.AVRO) == ()
    [problem] = bridge.language_problems(SchemaType.AVRO, SchemaType.AVRO)
    assert problem.startswith("source: message: taxi.Ride is for Protobuf")


def test_a_rule_that_cannot_be_read_is_reported_at_its_field():
    mistake = refusal(SMALLEST + "fields:\n  a: {from: b}\n  c: {frm: d}\n")
    assert (mistake.line, mistake.column) == (6, 7)


def test_keys_that_yaml_takes_for_values_are_words():
    parse_bridge_file(
        SMALLEST + "fields:\n  a: {from: b, null: 0}\n  c: {split: {from: d, on: ' ', take: 0}}\ndrop: [e]\n"
    )


def test_an_absent_file_and_an_empty_one_have_no_place(tmp_path: Path):
    with pytest.raises(InvalidBridgeFile, match="no such file"):
        load_bridge_file(tmp_path / "absent.yaml")
    (tmp_path / "empty.yaml").write_text("# nothing\n")
    with pytest.raises(InvalidBridgeFile, match="the file is empty") as caught:
        load_bridge_file(tmp_path / "empty.yaml")
    assert caught.value.line is None
    assert caught.value.exit_code is ExitCode.PRECONDITION


@given(st.text(max_size=200))
def test_no_text_ends_in_a_foreign_exception(text: str):
    with contextlib.suppress(InvalidBridgeFile):
        parse_bridge_file(text)


@pytest.mark.parametrize(
    ("spelt", "dead_letters", "records", "expected"),
    [
        ("1%", 10, 1000, False),
        ("1%", 11, 1000, True),
        ("5", 5, 5, False),
        ("5", 6, 10**9, True),
        ("never", 9, 9, False),
    ],
)
def test_when_dead_letters_are_too_many(spelt: str, dead_letters: int, records: int, *, expected: bool):
    limit = parse_bridge_file(f"{SMALLEST}errors: {{stop_above: {spelt}}}\n").stop_above
    assert str(limit) == spelt
    assert limit.is_exceeded(dead_letters=dead_letters, records=records) is expected
