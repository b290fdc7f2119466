"""What other schemas make of bytes: candidates for the writer, and the view of a reader by decoders of others."""

from __future__ import annotations

import io
import json
from random import Random
from typing import Any

import fastavro
import pytest
from google.protobuf import json_format

from counterfoil.schema.compatibility import CompatibilityPolicy
from counterfoil.schema.decoding import NO_FRAME, DecodingQuestion, decode_bytes, find_frame
from counterfoil.schema.errors import InvalidSchema
from counterfoil.schema.languages.avro.sample_values import spell_writer
from counterfoil.schema.languages.avro.schema import parse_avro
from counterfoil.schema.languages.protobuf.messages import runtime_of
from counterfoil.schema.languages.table import find_changes, language_for, parse_schema
from counterfoil.schema.model import SchemaType
from counterfoil.schema.parsed import Validation
from counterfoil.schema.wire import id_prefix
from strategies.avro.bytes import Endless, avro_bytes, has_items_without_bytes
from strategies.avro.seeded import seeded_document, seeded_pairs
from strategies.languages.decoded import decoded, version


def takes_all(schema: Any, body: bytes) -> Any:
    """Return the value that fastavro reads if that is all bytes; else ``...``."""
    stream = io.BytesIO(body)
    try:
        got = fastavro.schemaless_reader(stream, spell_writer(schema.root), None)
    except Exception:  # noqa: BLE001 - whatever it is, fastavro reads no value
        return ...
    return got if stream.tell() == len(body) else ...


@pytest.mark.slow
def test_the_candidates_are_the_schemas_with_which_fastavro_reads_all_bytes():
    random, schemas = Random(12), []
    while len(schemas) < 40:
        try:
            made = parse_avro(json.dumps(seeded_document(random)), validation=Validation.LENIENT)
            avro_bytes(random, made.root)
        except (InvalidSchema, Endless):
            continue
        if not has_items_without_bytes(made.root):  # fastavro may read such items for years
            schemas.append(made)
    several = 0
    for writer in schemas:
        body = avro_bytes(random, writer.root)
        named = [version(number, each) for number, each in enumerate(schemas)]
        found = decode_bytes(DecodingQuestion(body, NO_FRAME, candidates=named))
        ours = {each.version for each in found.candidates}
        theirs = {number for number, each in enumerate(schemas) if takes_all(each, body) is not ...}
        assert ours <= theirs
        for number in theirs - ours:  # fastavro reads bytes that nobody writes, such as a boolean of 7
            out = io.BytesIO()
            try:
                fastavro.schemaless_writer(out, spell_writer(schemas[number].root), takes_all(schemas[number], body))
            except Exception:  # noqa: BLE001 - it does not write what it read
                continue
            assert out.getvalue() != body
        assert schemas.index(writer) in ours
        several += len(ours) > 1
    assert several > 5


def test_without_a_writer_the_first_candidate_that_reads_all_bytes_is():
    long, text = parse_schema('"long"'), parse_schema('"string"')
    found = decode_bytes(DecodingQuestion(b"\x02a", NO_FRAME, candidates=[version(2, long), version(1, text)]))
    assert [each.version for each in found.candidates] == [1]
    assert (found.value, [each.version for each in found.writers]) == ('"a"', [1])
    nothing = decode_bytes(DecodingQuestion(b"\x01", NO_FRAME, candidates=[version(1, text)]))
    assert nothing.fault is not None
    assert nothing.fault.message == "None of the 1 schema reads the bytes to the last one"
    assert (nothing.candidates, nothing.rest) == ((), 1)


def test_candidates_of_protobuf_that_know_all_fields_come_first():
    old, new = (
        parse_schema(f'syntax = "proto3"; message A {{ int32 a = 1; {more} }}', SchemaType.PROTOBUF)
        for more in ("", "int32 b = 2;")
    )
    found = decode_bytes(DecodingQuestion(b"\x08\x01\x10\x02", NO_FRAME, candidates=[version(1, old), version(2, new)]))
    assert [each.version for each in found.candidates] == [2, 1]


def test_bytes_that_begin_like_a_frame_and_are_none_say_so():
    found = decode_bytes(DecodingQuestion(b"\x00\x01", find_frame(b"\x00\x01")))
    assert found.fault is not None
    assert "expected a schema id of 4 bytes" in found.fault.message


# The view of a reader.


@pytest.mark.slow
def test_a_reader_of_avro_reads_what_the_rules_promise():
    random, read, refused = Random(9), 0, 0
    for reader_text, writer_text in seeded_pairs(21, 250):
        reader, writer = (parse_avro(text, validation=Validation.LENIENT) for text in (reader_text, writer_text))
        try:
            body = avro_bytes(random, writer.root)
        except Endless:
            continue
        view = decoded(writer, body, reader=version(1, reader)).reader
        assert view is not None
        if view.value is None:
            refused += 1
            assert view.fault
        else:
            read += 1
        differences = language_for(SchemaType.AVRO).find_differences(reader, writer, policy=CompatibilityPolicy.SOUND)
        if not differences:
            assert view.fault == "", (reader_text, writer_text, body)
    assert min(read, refused) > 30


def test_a_reader_of_avro_that_stops_names_the_element_and_quotes_the_decoder():
    writer, reader = (
        parse_schema(f'{{"type": "record", "name": "A", "fields": [{{"name": "total", "type": "{kind}"}}]}}')
        for kind in ("long", "int")
    )
    data = id_prefix(3) + b"\x02"
    found = decoded(writer, data, find_frame(data), reader=version(3, reader)).reader
    assert found is not None
    assert (found.subject, found.version, found.path, found.value) == ("orders-value", 3, "total", None)
    assert "the reader expects int, the writer writes long" in found.fault
    assert "fastavro" in found.fault
    assert decoded(reader, data, find_frame(data), reader=version(3, writer)).reader.value == '{"total": 1}'


def test_a_reader_of_protobuf_shows_what_it_reads_and_what_it_loses():
    writer, reader = (
        parse_schema(f'syntax = "proto3"; package p; message A {{ {kind} n = 1; string s = 2; }}', SchemaType.PROTOBUF)
        for kind in ("int64", "int32")
    )
    message = runtime_of(writer).new("p.A")
    json_format.ParseDict({"n": 2**33 + 1, "s": "x"}, message)
    found = decoded(writer, message.SerializeToString(), reader=version(1, reader)).reader
    assert found is not None
    assert json.loads(found.value or "") == {"n": 1, "s": "x"}
    assert found.path == "n"
    assert "read as 1" in found.fault


def test_a_reader_of_json_says_why_it_refuses_a_value():
    writer, reader = (
        parse_schema(json.dumps({"type": "object", "properties": {"a": {"type": kind}}}), SchemaType.JSON)
        for kind in ("integer", "string")
    )
    found = decoded(writer, b'{"a": 1}', reader=version(1, reader)).reader
    assert found is not None
    assert (found.value, found.path) == (None, "a")
    assert found.fault.startswith('property a: the reader expects "string" (jsonschema')
    same = decoded(writer, b'{"a": 1}', reader=version(1, writer)).reader
    assert same is not None
    assert (same.value, same.fault) == ('{"a":1}'.replace(":", ": "), "")


def test_a_reader_of_another_language_and_faulty_bytes_have_no_view():
    avro, protobuf = parse_schema('"int"'), parse_schema('syntax = "proto3"; message A {}', SchemaType.PROTOBUF)
    other = decoded(avro, b"\x02", reader=version(1, protobuf)).reader
    assert other is not None
    assert other.fault == "its schema is PROTOBUF, the bytes are AVRO"
    faulty = decoded(avro, b"", reader=version(1, avro)).reader
    assert faulty is not None
    assert faulty.fault == "the bytes are no value of the schema that wrote them"


# Values that are withheld.

TAGGED = {
    SchemaType.AVRO: (
        """{"type": "record", "name": "s.P", "fields": [
            {"name": "id", "type": "int"},
            {"name": "mail", "type": ["null", "string"], "confluent:tags": ["PII"]},
            {"name": "at", "type": {"type": "record", "name": "Home", "confluent:tags": ["PII"], "fields": [
                {"name": "street", "type": "string"}]}},
            {"name": "notes", "type": {"type": "map", "values": "string"}, "confluent:tags": ["PII"]}]}""",
        bytes.fromhex("02 02 0c 736563726574 0c 736563726574 02 0c 736563726574 0c 736563726574 00"),
    ),
    SchemaType.PROTOBUF: (
        """syntax = "proto3"; package s; import "confluent/meta.proto";
        message P { int32 id = 1; string mail = 2 [(confluent.field_meta).tags = "PII"]; Home at = 3;
          map<string, string> notes = 4 [(confluent.field_meta).tags = "PII"]; }
        message Home { option (confluent.message_meta).tags = "PII"; string street = 1; }""",
        bytes.fromhex("0801 1206736563726574 1a08 0a06736563726574 2210 0a06736563726574 1206736563726574"),
    ),
    SchemaType.JSON: (
        """{"type": "object", "properties": {"id": {"type": "integer"},
            "mail": {"type": "string", "confluent:tags": ["PII"]},
            "at": {"type": "object", "confluent:tags": ["PII"], "properties": {"street": {"type": "string"}}}}}""",
        b'{"id": 1, "mail": "secret", "at": {"street": "secret"}}',
    ),
}


@pytest.mark.parametrize("schema_type", SchemaType)
def test_values_of_elements_with_the_tag_are_withheld_everywhere(schema_type: SchemaType):
    text, body = TAGGED[schema_type]
    schema = parse_schema(text, schema_type)
    found = decoded(schema, body, reader=version(1, schema))
    assert (found.fault, found.rest) == (None, 0)
    told = [found.value, *(f"{node.path} {node.value}" for node in found.nodes), found.reader]
    assert "secret" not in str(told)
    assert found.value is not None
    assert json.loads(found.value)["id"] == 1
    assert json.loads(found.value)["mail"] == json.loads(found.value)["at"] == "(masked)"
    assert {node.path.partition(".")[0].partition("<")[0] for node in found.nodes if node.is_masked} >= {"mail", "at"}
    shown = decoded(schema, body, reader=version(1, schema), shows_masked=True)
    assert str(shown.value).count("secret") == len([*filter(None, body.split(b"secret"))]) - (body[-6:] != b"secret")
    assert not any(node.is_masked for node in shown.nodes)
    assert "secret" in str(shown.reader)


@pytest.mark.parametrize("schema_type", SchemaType)
def test_a_fault_at_a_withheld_value_does_not_tell_it(schema_type: SchemaType):
    text, body = TAGGED[schema_type]
    schema = parse_schema(text, schema_type)
    for cut in range(len(body)):
        found = decoded(schema, body[:cut], reader=version(1, schema))
        assert "secret"[:3] not in str((found.fault, found.reader, found.nodes))


def test_tags_by_path_and_other_tags_are_withheld_too():
    schema = parse_schema('{"type": "record", "name": "A", "fields": [{"name": "a", "type": "string"}]}')
    by_path = decoded(schema, b"\x02x", tags_by_path={"**.a": ["PII"]})
    assert by_path.value == '{"a": "(masked)"}'
    assert decoded(schema, b"\x02x", tags_by_path={"**.a": ["GDPR"]}).value == '{"a": "x"}'
    other = decoded(schema, b"\x02x", tags_by_path={"**.a": ["GDPR"]}, masked_tags=frozenset({"GDPR"}))
    assert other.value == '{"a": "(masked)"}'


@pytest.mark.parametrize("schema_type", [SchemaType.AVRO, SchemaType.PROTOBUF])
def test_a_reader_without_the_tag_does_not_see_what_the_writer_withholds(schema_type: SchemaType):
    text, body = TAGGED[schema_type]
    untagged = text.replace('"confluent:tags": ["PII"]', '"x": 1').replace('.tags = "PII"', '.doc = ""')
    untagged = untagged.replace('"name": "mail"', '"name": "post", "aliases": ["mail"]').replace(
        "string mail", "string post"
    )
    writer, reader = parse_schema(text, schema_type), parse_schema(untagged, schema_type)
    assert find_changes(writer, reader)
    found = decoded(writer, body, reader=version(1, reader)).reader
    assert found is not None
    assert found.value is not None
    assert "secret" not in str(found)
