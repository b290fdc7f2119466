"""Values as JSON: every value that is printed is read again as the same bytes, and a misfit is named with its place."""

from __future__ import annotations

import io
import json
from typing import Any

import fastavro
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from counterfoil.contracts.values import form_of, one_line, read_json
from counterfoil.schema.languages.avro.schema import parse_avro
from counterfoil.schema.languages.avro.types import AvroKind
from counterfoil.schema.languages.protobuf.runtime import pooled_file
from counterfoil.schema.languages.protobuf.schema import parse_protobuf
from counterfoil.schema.model import SchemaType
from counterfoil.schema.wire import encode_message_indexes
from counterfoil.sdk import DecodeError, EncodeError
from counterfoil.sdk.serde.avro.coders import compile_encoder
from counterfoil.sdk.serde.multi import LANGUAGES
from counterfoil.sdk.serde.protobuf.codec import ProtobufCodec
from counterfoil.sdk.serde.protobuf.message_types import MessageTypes, path_of
from strategies.avro.data import avro_data
from strategies.avro.schemas import avro_schemas
from strategies.protobuf.messages import messages
from strategies.protobuf.schemas import protobuf_schemas

LEVELS = [
    {"type": "record", "name": f"a.{name}", "fields": [{"name": "id", "type": "string"}]}
    for name in ("Created", "Deleted")
]
EVENT = {
    "type": "record",
    "name": "a.Event",
    "fields": [
        {"name": "what", "type": LEVELS},
        {"name": "note", "type": ["null", "string"]},
        {"name": "raw", "type": ["null", "string", "bytes"]},
        {"name": "either", "type": ["null", "string", "long", "boolean"]},
        {"name": "real", "type": "double"},
        {"name": "fare", "type": {"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}, "default": 0},
    ],
}
SHOWN = {
    "what": {"a.Deleted": {"id": "x"}},
    "note": "n",
    "raw": {"bytes": "AQ=="},
    "either": 5,
    "real": "-Infinity",
    "fare": "9.30",
    "at": "2026-01-31T12:00:00+00:00",
}


def again(text: str, data: bytes) -> bytes:
    """Return the encoding of what is printed for ``data`` of a schema."""
    form, codec = form_of(SchemaType.AVRO), LANGUAGES[SchemaType.AVRO].plain_codec()
    schema = parse_avro(text)
    shown = read_json(one_line(form.decoder(codec, schema, None, b"")(data, 0)))
    return compile_encoder(schema, strict=True)(form.value(schema, shown))


@given(st.data())
def test_an_avro_value_is_printed_and_read_again(data):
    text = data.draw(avro_schemas())
    out = io.BytesIO()
    schema = parse_avro(text)
    assume(schema.root.kind is not AvroKind.BYTES)  # a top-level bytes has no length in a message
    value = data.draw(avro_data(schema))
    fastavro.schemaless_writer(out, fastavro.parse_schema(json.loads(text)), value)
    assert again(text, out.getvalue()) == out.getvalue()


def write(given: Any, schema: Any = EVENT) -> bytes:
    parsed = parse_avro(json.dumps(schema))
    return compile_encoder(parsed)(form_of(SchemaType.AVRO).value(parsed, given))


def test_the_form_of_unions_and_logical_types():
    form, codec = form_of(SchemaType.AVRO), LANGUAGES[SchemaType.AVRO].plain_codec()
    parsed = parse_avro(json.dumps(EVENT))
    assert form.decoder(codec, parsed, None, b"")(write(SHOWN), 0) == SHOWN
    assert write({key: value for key, value in SHOWN.items() if key != "at"})  # a default is left out


@pytest.mark.parametrize(
    ("change", "path", "problem"),
    [
        ({"what": {"id": "x"}}, "what", "one key, the name of the type: a.Created, a.Deleted"),
        ({"what": {"a.Deleted": {"id": 1}}}, "what.a.Deleted.id", "expected a str; got 1 (int)"),
        ({"raw": {"bytes": "??"}}, "raw.bytes", "expected bytes in base64"),
        ({"either": [1]}, "either", "expected None or a str"),
        ({"fare": "x"}, "fare", "expected the text of a decimal.Decimal"),
        ({"at": "2026-01-31T12:00:00"}, "at", "a time with its zone"),
        ({"other": 1}, "", "only fields of a.Event"),
    ],
)
def test_a_misfit_is_named_with_its_place(change, path, problem):
    with pytest.raises(EncodeError, match=r"expected") as raised:
        write({**SHOWN, **change})
    assert raised.value.path == path
    assert problem in str(raised.value)


def test_a_reader_that_wants_less_is_given_in_its_own_form():
    form, codec = form_of(SchemaType.AVRO), LANGUAGES[SchemaType.AVRO].plain_codec()
    added = {"name": "new", "type": ["null", "int", "long"], "default": None}
    reader = parse_avro(json.dumps({**EVENT, "fields": [EVENT["fields"][0], added]}))
    writer = parse_avro(json.dumps(EVENT))
    assert form.decoder(codec, writer, reader, b"")(write(SHOWN), 0) == {"what": SHOWN["what"], "new": None}
    with pytest.raises(DecodeError, match="left behind"):
        form.decoder(codec, writer, None, b"")(write(SHOWN) + b"\x00", 0)


@given(st.data())
def test_a_protobuf_message_is_printed_and_read_again(data):
    text = data.draw(protobuf_schemas())
    types = MessageTypes(pooled_file(parse_protobuf(text), text))
    assume(types.declared)
    descriptor = data.draw(st.sampled_from(list(types.declared.values())))
    body = data.draw(messages(descriptor)).SerializeToString(deterministic=True)
    form, codec = form_of(SchemaType.PROTOBUF), ProtobufCodec(as_dict=True, message=descriptor.full_name)
    decode = form.decoder(codec, types, None, encode_message_indexes(path_of(descriptor)))
    shown = read_json(one_line(decode(body, 0)))
    assert decode(codec.encoder(types)(form.value(types, shown, descriptor.full_name), b""), 0) == shown


NAMED_RECORD = {"type": "record", "name": "a.Note", "fields": [{"name": "text", "type": "string"}]}
IN_AVRO_JSON = [
    (["null", "int"], {"int": 1}, 1),
    (["null", "int"], None, None),
    (["null", "int"], 1, 1),
    (["null", "string", "long"], {"long": 2}, 2),
    (["null", "string", "long"], {"string": "x"}, "x"),
    (["null", NAMED_RECORD], {"a.Note": {"text": "x"}}, {"text": "x"}),
    (["null", NAMED_RECORD], {"text": "x"}, {"text": "x"}),
    (["null", {"type": "map", "values": "int"}], {"map": {"a": 1}}, {"a": 1}),
    (["null", {"type": "map", "values": "int"}], {"map": 1}, {"map": 1}),
    (["null", {"type": "array", "items": ["null", "int"]}], {"array": [{"int": 1}, None]}, [1, None]),
]


@pytest.mark.parametrize(("union", "given", "value"), IN_AVRO_JSON)
def test_values_of_unions_may_be_written_as_avro_writes_them(union: Any, given: Any, value: Any) -> None:
    parsed = parse_avro(json.dumps({"type": "record", "name": "R", "fields": [{"name": "a", "type": union}]}))
    written = compile_encoder(parsed)(form_of(SchemaType.AVRO).value(parsed, {"a": given}), b"")
    assert written == compile_encoder(parsed)({"a": value}, b"")


@pytest.mark.parametrize("given", [{"int": "x"}, {"text": 1}, {"int": 1, "long": 2}, {}])
def test_other_objects_are_no_values_of_a_union(given: Any) -> None:
    parsed = parse_avro(json.dumps({"type": "array", "items": ["null", "int"]}))
    with pytest.raises(EncodeError):
        form_of(SchemaType.AVRO).value(parsed, [given])


@pytest.mark.parametrize(
    ("kind", "text", "is_kept"),
    [
        ({"type": "long", "logicalType": "timestamp-micros"}, "2026-01-31T12:00:00.123456700Z", False),
        ({"type": "long", "logicalType": "timestamp-micros"}, "2026-01-31T12:00:00.123456000Z", True),
        ({"type": "long", "logicalType": "timestamp-millis"}, "2026-01-31T12:00:00.123456Z", False),
        ({"type": "long", "logicalType": "local-timestamp-micros"}, "2026-01-31T12:00:00.0000001", False),
        ({"type": "long", "logicalType": "local-timestamp-micros"}, "2026-01-31T12:00:00Z", False),
        ({"type": "long", "logicalType": "time-micros"}, "12:00:00.1234567", False),
        ({"type": "long", "logicalType": "time-micros"}, "12:00:00.123456", True),
        ({"type": "int", "logicalType": "time-millis"}, "12:00:00.0001", False),
        ("double", 2**53 + 1, False),
        ("double", 2**53, True),
        ("float", 2**24 + 1, False),
    ],
)
def test_a_value_of_avro_is_not_rounded(kind, text, is_kept):
    parsed = parse_avro(json.dumps({"type": "record", "name": "R", "fields": [{"name": "a", "type": kind}]}))

    def write() -> bytes:
        return compile_encoder(parsed)(form_of(SchemaType.AVRO).value(parsed, {"a": text}))

    if is_kept:
        assert write()
        return
    with pytest.raises(EncodeError, match="a: expected"):
        write()
