"""The message list of a report: what clients of Confluent's registry look for, in our sentences."""

from __future__ import annotations

import doctest
import json
import re

from counterfoil.schema.answers import OLD_SCHEMA_LIMIT, confluent_messages
from counterfoil.schema.compatibility import rules as sentences
from counterfoil.schema.compatibility.policies import CompatibilityLevel
from counterfoil.schema.compatibility.report import CompatibilityReport, Earlier
from counterfoil.schema.judgement import check_compatibility, search_for_witness
from counterfoil.schema.languages.avro.schema import parse_avro
from counterfoil.schema.model import SchemaType

NEW, OLD = parse_avro('"int"'), parse_avro('"string"')
# What a client of the registry takes out of a message.
FACTS = re.compile(r"errorType:'([A-Z_]+)'.*?\bpath '([^']*)'")


def report(level: CompatibilityLevel, version: int | None = 3) -> CompatibilityReport:
    return check_compatibility(NEW, [Earlier(OLD, version)], level)


def test_a_compatible_report_has_no_messages():
    assert confluent_messages(check_compatibility(NEW, [Earlier(NEW, 1)], CompatibilityLevel.FULL)) == []


def test_backward_calls_the_reader_new():
    assert confluent_messages(report(CompatibilityLevel.BACKWARD)) == [
        (
            "{errorType:'TYPE_MISMATCH', description:'The new schema expects int, the old schema writes string "
            "(path '/')', additionalInfo:'int cannot read string'}"
        ),
        "{oldSchemaVersion: 3}",
        "{oldSchema: '\"string\"'}",
    ]


def test_forward_calls_the_reader_old():
    (message, *_) = confluent_messages(report(CompatibilityLevel.FORWARD))
    assert "The old schema expects string, the new schema writes int" in message


def test_full_names_the_version_once_after_both_directions():
    first, second, *rest = confluent_messages(report(CompatibilityLevel.FULL))
    assert "The old schema expects string" in first
    assert "The new schema expects int" in second
    assert rest == ["{oldSchemaVersion: 3}", "{oldSchema: '\"string\"'}"]


def test_full_does_not_name_the_version_where_only_the_earlier_schema_cannot_read():
    narrow, wide = parse_avro('"int"'), parse_avro('"long"')
    candidate_wide = check_compatibility(wide, [Earlier(narrow, 1)], CompatibilityLevel.FULL)
    candidate_narrow = check_compatibility(narrow, [Earlier(wide, 1)], CompatibilityLevel.FULL)
    assert len(confluent_messages(candidate_wide)) == 1
    assert confluent_messages(candidate_narrow)[1:] == ["{oldSchemaVersion: 1}", "{oldSchema: '\"long\"'}"]


def test_every_message_carries_type_and_path_where_clients_look():
    new = parse_avro(
        '{"type":"record","name":"R","fields":[{"name":"a","type":["null","int"]},{"name":"b","type":"int"}]}'
    )
    old = parse_avro('{"type":"record","name":"S","fields":[{"name":"a","type":["null","string"]}]}')
    messages = confluent_messages(check_compatibility(new, [Earlier(old, 1)], CompatibilityLevel.BACKWARD))
    assert [FACTS.search(message).groups() for message in messages[:-2]] == [
        ("NAME_MISMATCH", "/name"),
        ("MISSING_UNION_BRANCH", "/fields/0/type/1"),
        ("READER_FIELD_MISSING_DEFAULT_VALUE", "/fields/1"),
    ]


def test_a_history_without_numbers_has_no_version_line():
    messages = confluent_messages(report(CompatibilityLevel.BACKWARD, version=None))
    assert [message for message in messages if "oldSchemaVersion" in message] == []


def test_a_long_old_schema_is_cut():
    symbols = [f"SYMBOL_{number:05}" for number in range(2000)]
    old = parse_avro(json.dumps({"type": "enum", "name": "E", "symbols": symbols}))
    *_, last = confluent_messages(check_compatibility(NEW, [Earlier(old, 1)], CompatibilityLevel.BACKWARD))
    assert last == "{oldSchema: '" + old.canonical()[:OLD_SCHEMA_LIMIT] + "...'}"


def test_a_witness_is_worked_into_the_description():
    broken = report(CompatibilityLevel.BACKWARD)
    (failure,) = broken.failures
    witnesses = {each: search_for_witness(failure.reader, failure.writer, each) for each in failure.differences}
    (message, *_) = confluent_messages(broken, witnesses=witnesses)
    assert message == (
        "{errorType:'TYPE_MISMATCH', description:'The new schema expects int, the old schema writes string "
        "(path '/'); for example this record: \"\"', additionalInfo:'int cannot read string'}"
    )


def test_an_undecidable_pair_is_one_sentence_without_a_type():
    new = parse_avro('{"type":"record","name":"R","fields":[{"name":"a","type":"int","aliases":["b"]}]}')
    old = parse_avro('{"type":"record","name":"R","fields":[{"name":"a","type":"int"},{"name":"b","type":"int"}]}')
    (message, *_) = confluent_messages(check_compatibility(new, [Earlier(old, 1)], CompatibilityLevel.BACKWARD))
    assert message == "The new schema's field a stands for more than one field of the old schema's record R: a, b"


def test_another_language_is_one_sentence_without_a_type():
    class JsonSchema:
        schema_type = SchemaType.JSON

        def canonical(self) -> str:
            return "{}"

    messages = confluent_messages(check_compatibility(NEW, [Earlier(JsonSchema(), 2)], CompatibilityLevel.FULL))
    assert messages == [
        (
            "The schema is AVRO, the earlier version JSON; a subject keeps one schema type unless its compatibility "
            "level is NONE"
        ),
    ]


def test_the_examples_in_docstrings_hold():
    tried = doctest.testmod(sentences)
    assert (tried.attempted > 0, tried.failed) == (True, 0)
