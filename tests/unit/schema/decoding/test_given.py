"""Bytes as people have them, and how they name their schema."""

from __future__ import annotations

import base64
import json
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.schema.decoding import NO_FRAME, find_frame, read_given
from counterfoil.schema.errors import BadRequest
from counterfoil.schema.fingerprint import rabin_fingerprint
from counterfoil.schema.languages.avro.schema import parse_avro
from counterfoil.schema.languages.protobuf.schema import parse_protobuf
from counterfoil.schema.parsed import Validation
from counterfoil.schema.rest.comparisons import FrameKind
from counterfoil.schema.wire import encode_message_indexes, guid_prefix, id_prefix
from strategies.languages.decoded import check_order, decoded

GUID = UUID(int=0x0102030405060708090A0B0C0D0E0F10)


@given(st.binary(min_size=1, max_size=40))
def test_bytes_are_read_back_in_each_form(data: bytes):
    assert read_given(data.hex()).data == data
    assert read_given(data.hex(" ")).data == data
    assert read_given("".join(f"\\x{byte:02x}" for byte in data), form="hex").data == data
    assert read_given(" ".join(f"0x{byte:02X}" for byte in data)).data == data
    text = base64.b64encode(data).decode()
    assert read_given(text, form="base64").data == data
    assert read_given(text.rstrip("="), form="base64").data == data
    assert read_given(base64.urlsafe_b64encode(data).decode(), form="base64").data == data


def line_of(**members: object) -> str:
    return json.dumps({"topic": "orders", "partition": 0, "offset": 1, "key": None, **members}, ensure_ascii=False)


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\ufffd"), min_size=1))
def test_a_record_of_kcat_has_the_bytes_of_its_texts(text: str):
    found = read_given(line_of(payload=text, key="k"))
    assert (found.data, found.topic, found.form) == (text.encode(), "orders", "kcat")
    assert read_given(line_of(payload=None, key=text), is_key=True).data == text.encode()


def test_the_header_that_names_the_schema_is_read_from_a_record_of_kcat():
    header = id_prefix(7).decode()
    listed = read_given(line_of(payload="a", headers=["x", "1", "__value_schema_id", header]))
    mapped = read_given(line_of(payload="a", headers={"__value_schema_id": [header], "x": [None]}))
    assert listed.header == mapped.header == id_prefix(7)
    assert read_given(line_of(payload="a", key="k", headers=["__value_schema_id", header]), is_key=True).header is None
    lost = read_given(line_of(payload="a", headers=["__value_schema_id", "\x01\ufffd"]))
    assert lost.header is None
    assert "lost" in lost.note


@pytest.mark.parametrize(
    ("text", "form", "said"),
    [
        ("", "", "no bytes"),
        ("0", "hex", "two for each byte"),
        ("0g", "hex", "'g' is no hexadecimal digit"),
        ("!", "", "'!' at character 1"),
        ("AAAAA", "base64", "no base64"),
        ("AA", "octal", "expected one of hex, base64, kcat"),
        ("{", "", "no record of kcat"),
        ("[1]", "kcat", "expected a JSON object"),
        ('{"topic": "a"}', "", "no 'payload'"),
        (line_of(payload="a") + "\n" + line_of(payload="b"), "", "one record alone"),
        (line_of(payload=None), "", "no bytes there"),
        (line_of(payload=None, payload_error="x"), "", "without -s"),
        (line_of(payload={"id": 1}, value_schema_id=3), "", "decoded the payload already"),
        (line_of(payload="\x00\ufffd"), "", "base64 instead: kcat -C … -c 1 -D '' -f '%s'"),
        ('{"payload": "\\ud800"}', "", "lost"),
        ("00" * (1024 * 1024 + 1), "", "at most 1048576"),
    ],
)
def test_a_text_that_has_no_bytes_is_refused_with_what_is_wrong(text: str, form: str, said: str):
    with pytest.raises(BadRequest) as caught:
        read_given(text, form=form)
    assert said in caught.value.message


def test_a_frame_is_found_by_its_first_bytes():
    with_id, with_guid = find_frame(id_prefix(4711) + b"x"), find_frame(guid_prefix(GUID) + b"x")
    assert (with_id.kind, with_id.id, with_id.offset) == (FrameKind.ID, 4711, 5)
    assert (with_guid.kind, with_guid.guid, with_guid.offset) == (FrameKind.GUID, GUID, 17)
    assert find_frame(b"\x02x") == find_frame(b"") == NO_FRAME
    short = find_frame(b"\x00\x01")
    assert (short.kind, short.offset) == (FrameKind.NONE, 0)
    assert "expected a schema id of 4 bytes" in short.problem


def test_a_single_object_has_the_fingerprint_of_its_schema():
    schema = parse_avro('{"type": "record", "name": "A", "fields": [{"name": "a", "type": "int"}]}')
    data = b"\xc3\x01" + rabin_fingerprint(schema) + b"\x02"
    frame = find_frame(data)
    assert (frame.kind, frame.fingerprint, frame.offset) == (FrameKind.SINGLE_OBJECT, rabin_fingerprint(schema), 10)
    found = decoded(schema, data, frame)
    assert found.value == '{"a": 1}'
    assert check_order([node for node in found.nodes if node.value is not None]) == len(data)
    assert "fingerprint of 8 bytes" in find_frame(b"\xc3\x01\x00").problem


def test_a_header_names_the_schema_and_the_message_of_the_whole_body():
    schema = parse_protobuf(
        'syntax = "proto3"; message A { int32 a = 1; } message B { int32 b = 1; }', (), validation=Validation.LENIENT
    )
    frame = find_frame(b"\x08\x05", header=guid_prefix(GUID) + encode_message_indexes([1]))
    assert (frame.kind, frame.guid, frame.offset) == (FrameKind.HEADER, GUID, 0)
    assert decoded(schema, b"\x08\x05", frame).value == '{"b": 5}'
    assert find_frame(b"", header=b"\x07").problem.startswith("the header names no schema")


@pytest.mark.parametrize("frame", [id_prefix(1), guid_prefix(GUID)])
def test_the_parts_of_a_frame_are_the_bytes_before_those_of_the_body(frame: bytes):
    data = frame + b"\x06"
    found = decoded(parse_avro('"long"'), data, find_frame(data))
    assert check_order(found.nodes) == len(data)
    assert (found.value, found.rest) == ("3", 0)
