"""What serializers do with any codec: suffixes of frames, imports, no registry, several formats, records of clients."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.schema.errors import CounterfoilError, SchemaNotFound
from counterfoil.schema.model import Reference, Schema, SchemaType
from counterfoil.schema.wire import VALUE_HEADER, encode_message_indexes, guid_prefix, read_message_indexes
from counterfoil.sdk import (
    RECORD,
    AvroDeserializer,
    AvroSerializer,
    DecodeError,
    Deserializer,
    FrameError,
    InvalidSettings,
    MultiDeserializer,
    NotFramed,
    RegistryUnavailable,
    SerdeError,
    SerializationContext,
    Serializer,
    TruncatedFrame,
    UnknownSchemaId,
)
from counterfoil.sdk.serde.serializer import SchemaImport
from counterfoil.sdk.testing import InMemoryRegistry
from counterfoil.sdk.transport import NoReply
from strategies.cases.depth import times_the_examples

RIDES = SerializationContext("rides")


class Lines:
    """A codec of Protobuf's frames: the schema declares messages, and the body is a text in UTF-8."""

    schema_type = SchemaType.PROTOBUF
    suffix_size = 1

    def __init__(self, message="A"):
        self.message = message

    def parse(self, schema, references, *, validation):
        del validation
        return schema.text, [each.text for each in references]

    def record_name(self, parsed, suffix):
        path, _ = read_message_indexes(suffix)
        return f"pkg.{self._messages(parsed)[path[0]]}"

    def encoder(self, parsed):
        del parsed
        return lambda value, prefix: prefix + value.encode()

    def decoder(self, writer, reader, suffix):
        del reader
        name = None if writer is None else self.record_name(writer, suffix)

        def decode(data, offset):
            try:
                return name, data[offset:].decode()
            except UnicodeDecodeError as error:
                raise DecodeError("no UTF-8", offset=error.start) from error

        return decode

    def frame_suffix(self, parsed):
        return encode_message_indexes([self._messages(parsed).index(self.message)])

    def suffix_end(self, data, offset):
        return read_message_indexes(data, offset)[1]

    @staticmethod
    def _messages(parsed):
        return [line.split()[1] for line in parsed[0].splitlines() if line.startswith("message")]


PROTO = 'syntax = "proto3";\npackage pkg;\nmessage A {}\nmessage B {}\n'


@pytest.fixture
def memory():
    return InMemoryRegistry()


@pytest.fixture
def client(memory):
    return memory.client(retries=0)


def test_the_suffix_names_the_message_in_prefix_and_header(client):
    deserialize = Deserializer(Lines(), client)
    for message, suffix in (("A", b"\0"), ("B", b"\2\2")):
        data = Serializer(Lines(message), client, PROTO)("x", RIDES)
        assert data == b"\0\0\0\0\1" + suffix + b"x"
        assert deserialize(data) == deserialize(data) == (f"pkg.{message}", "x")
        context = SerializationContext("rides", headers=[])
        bare = Serializer(Lines(message), client, PROTO, id_location="header")("x", context)
        guid = client.version("rides-value").guid
        assert (bare, context.headers) == (b"x", [(VALUE_HEADER, guid_prefix(guid) + suffix)])
        assert deserialize(bare, context) == (f"pkg.{message}", "x")
        assert deserialize(guid_prefix(guid) + suffix + b"x") == (f"pkg.{message}", "x")
    assert deserialize(b"\0\0\0\0\1\2\0x") == ("pkg.A", "x")  # the long spelling of the first message


def test_the_suffix_names_the_record(client):
    Serializer(Lines("B"), client, PROTO, subject=RECORD)("x", RIDES)
    assert client.subjects() == ("pkg.B",)
    assert Deserializer(Lines(), client, latest=True, subject=RECORD)(b"\0\0\0\0\1\2\2x", RIDES) == ("pkg.B", "x")


class Counting(Lines):
    """The codec, which counts how often a schema is parsed."""

    def __init__(self):
        super().__init__()
        self.parsed = []

    def parse(self, schema, references, *, validation):
        self.parsed.append(schema.text)
        return super().parse(schema, references, validation=validation)


def test_a_latest_version_is_parsed_once_for_all_prefixes_and_renewals(client):
    codec, now_s = Counting(), [0.0]
    later = f"{PROTO}message C {{}}\n"
    for text in (PROTO, later):
        client.register("rides-value", Schema(text, SchemaType.PROTOBUF))
    deserialize = Deserializer(codec, client, latest=True, latest_ttl_s=60, clock=lambda: now_s[0])
    for renewal in range(3):
        now_s[0] = renewal * 100
        assert deserialize(b"\0\0\0\0\1\0x", RIDES) == ("pkg.A", "x")
        assert deserialize(b"\0\0\0\0\1\2\2x", RIDES) == ("pkg.B", "x")
    assert codec.parsed == [client.schema_by_id(1).text, client.schema_by_id(2).text]


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"\0\0\0\0\1", TruncatedFrame),
        (b"\0\0\0\0\1\2", TruncatedFrame),
        (b"\0\0\0\0\1\2\1", FrameError),
        (b"\0\0\0\0\1" + b"\x80" * 9, FrameError),
        (b"\0\0\0\0\1\0\xff", DecodeError),
    ],
)
def test_a_damaged_suffix_or_body_is_an_error_of_the_record(client, data, error):
    Serializer(Lines(), client, PROTO)("x", RIDES)
    deserialize = Deserializer(Lines(), client)
    with pytest.raises(error) as caught:
        deserialize(data, RIDES)
    assert (caught.value.data, caught.value.topic) == (data, "rides")
    assert type(Deserializer(Lines(), client, on_error="return")(data, RIDES)) is type(caught.value)


def test_without_a_registry_messages_are_read_whatever_their_id_is():
    deserialize = Deserializer(Lines(), None)
    assert deserialize(b"\0\0\0\0\7\0x") == deserialize(b"\0\0\0\0\x08\0x") == (None, "x")
    assert Deserializer(Lines(), None, reader=PROTO)(b"\0\0\0\0\7\2\2x") == ("pkg.B", "x")
    decoded = deserialize.decode(b"\0\0\0\0\7\0x", topic="rides")
    assert (decoded.schema_id, decoded.guid, decoded.subject) == (7, None, None)
    with pytest.raises(InvalidSettings, match="without the writer's schema"):
        AvroDeserializer(None)(b"\0\0\0\0\7\0")


def test_imports_are_registered_before_the_schema_that_needs_them(client):
    base = SchemaImport("base.proto", "base.proto", Schema('syntax = "proto3";\nmessage Base {}', SchemaType.PROTOBUF))
    text = 'syntax = "proto3";\nimport "base.proto";\nmessage Mid { Base b = 1; }'
    mid = SchemaImport("mid.proto", "mid", Schema(text, SchemaType.PROTOBUF), (base,))
    own = 'syntax = "proto3";\nimport "mid.proto";\nmessage A { Mid m = 1; }'
    data = Serializer(Lines(), client, own, imports=[mid])("x", RIDES)
    assert client.subjects() == ("base.proto", "mid", "rides-value")
    assert client.version("mid").schema.references == (Reference("base.proto", "base.proto", 1),)
    assert client.version("rides-value").schema.references == (Reference("mid.proto", "mid", 1),)
    assert Deserializer(Lines(), client)(data) == ("pkg.A", "x")
    assert Serializer(Lines(), client, own, imports=[mid], register="lookup")("x", RIDES) == data


# --- several formats -------------------------------------------------------------------------------------------------


def avro(name="Ride"):
    return json.dumps({"type": "record", "name": name, "fields": [{"name": "id", "type": "long"}]})


def test_each_message_is_read_by_the_language_of_its_schema(client):
    messages = [
        AvroSerializer(client, avro())({"id": 1}, RIDES),
        Serializer(Lines("B"), client, PROTO)("x", SerializationContext("lines")),
    ]
    deserialize = MultiDeserializer(client, by_type={SchemaType.PROTOBUF: Deserializer(Lines(), client)})
    for _ in range(2):
        assert deserialize.many([*messages, None], topic="any") == [{"id": 1}, ("pkg.B", "x"), None]
    assert deserialize.decode(messages[0], topic="rides").subject == "rides-value"


def test_a_topic_and_a_record_have_deserializers_of_their_own(client):
    ride, stop = (AvroSerializer(client, avro(name), subject=RECORD)({"id": 1}, RIDES) for name in ("Ride", "Stop"))
    deserialize = MultiDeserializer(
        client,
        by_record={"Stop": AvroDeserializer(client, from_dict=lambda value, _: ("stop", value["id"]))},
        by_topic={"raw": AvroDeserializer(client, from_dict=lambda value, _: list(value))},
    )
    assert deserialize(ride, RIDES) == {"id": 1}
    assert deserialize(stop, RIDES) == ("stop", 1)
    assert deserialize(stop, SerializationContext("raw")) == ["id"]
    deserialize.close()
    assert deserialize(stop, RIDES) == ("stop", 1)


def test_a_format_that_is_not_known_an_unknown_id_and_damage_are_errors_of_the_record(client):
    made = client.register("lines", Schema(PROTO, SchemaType.PROTOBUF)).id
    by_type = {SchemaType.PROTOBUF: Deserializer(Lines(), client)}
    deserialize = MultiDeserializer(client, by_type=by_type, on_error="return")
    found = deserialize.many([b"", b"{}", b"\0\0\0\0\x63x", bytes([0, 0, 0, 0, made]), 7], topic="rides")
    assert [type(each) for each in found] == [TruncatedFrame, NotFramed, UnknownSchemaId, TruncatedFrame, NotFramed]
    assert {each.topic for each in found} == {"rides"}
    with pytest.raises(UnknownSchemaId):
        MultiDeserializer(client)(b"\0\0\0\0\x63x", RIDES)


def test_a_guid_in_a_header_names_the_language_as_well(client):
    context = SerializationContext("rides", headers={})
    data = AvroSerializer(client, avro(), id_location="header")({"id": 5}, context)
    assert MultiDeserializer(client)(data, context) == {"id": 5}


# --- records of clients, errors in their slots, and what must not escape ---------------------------------------------


class Message:
    """A message as confluent-kafka gives it."""

    def __init__(self, value, *, topic="rides", headers=None, error=None):
        self._facts = {"value": value, "key": None, "topic": topic, "headers": headers, "error": error}

    def __getattr__(self, name):
        return lambda: self._facts[name]


def test_records_of_clients_are_read_with_their_topic_and_headers(client):
    context = SerializationContext("rides", headers=[])
    bare = AvroSerializer(client, avro(), id_location="header")({"id": 5}, context)
    framed = AvroSerializer(client, avro())({"id": 6}, RIDES)
    attributes = SimpleNamespace(value=framed, key=None, topic="rides", headers=[])
    deserialize = AvroDeserializer(client)
    records = [
        Message(bare, headers=context.headers),
        attributes,
        Message(None),
        Message(None, error="partition end"),
        memoryview(framed),
        Message(b"{}", topic="broken"),
    ]
    values = deserialize.many(records, topic="rides")
    assert [values[0], values[1], values[2], values[4]] == [{"id": 5}, {"id": 6}, None, {"id": 6}]
    assert [type(values[3]), type(values[5])] == [SerdeError, NotFramed]
    assert "partition end" in str(values[3])
    assert values[5].topic == "broken"
    assert deserialize.read(attributes) == {"id": 6}
    assert deserialize.read(attributes, field="key") is None


def test_errors_can_be_returned_and_what_may_succeed_later_is_raised(memory, client):
    data = AvroSerializer(client, avro())({"id": 1}, RIDES)
    deserialize = AvroDeserializer(memory.client(retries=0), on_error="return")
    memory.answer_next(NoReply("gone"))
    with pytest.raises(RegistryUnavailable):
        deserialize(data, RIDES)
    assert deserialize(data, RIDES) == {"id": 1}
    error = deserialize(data[:5], RIDES)
    assert (type(error), error.schema_id, error.topic) == (DecodeError, 1, "rides")
    for wrong in ("ignore", None):
        with pytest.raises(InvalidSettings, match="expected 'raise' or 'return'"):
            AvroDeserializer(client, on_error=wrong)


def test_headers_are_ignored_where_only_the_prefix_counts(client):
    context = SerializationContext("rides", headers=[(VALUE_HEADER, guid_prefix(UUID(int=1)))])
    data = AvroSerializer(client, avro())({"id": 1}, RIDES)
    assert AvroDeserializer(client, id_location="prefix")(data, context) == {"id": 1}
    with pytest.raises(UnknownSchemaId):
        AvroDeserializer(client)(data, context)


@pytest.mark.parametrize("headers", [7, [7], ["abc"], [("one", b"1", "more")]])
def test_headers_that_are_no_pairs_are_an_error_of_the_record(client, headers):
    data = AvroSerializer(client, avro())({"id": 1}, RIDES)
    with pytest.raises(SerdeError, match="expected a dict or a list of pairs"):
        AvroDeserializer(client)(data, SerializationContext("rides", headers=headers))


def test_errors_of_the_registry_carry_the_place_of_the_record(client):
    with pytest.raises(SchemaNotFound) as caught:
        AvroSerializer(client, register={"id": 99})({"id": 1}, RIDES)
    error: Any = caught.value
    assert (error.topic, error.field) == ("rides", "value")


@pytest.mark.parametrize("registry", ["http://localhost:8081", object(), 7])
def test_something_that_is_no_registry_is_refused_at_once(registry):
    with pytest.raises(InvalidSettings, match="expected a Registry or an AsyncRegistry"):
        AvroSerializer(registry, avro())


CLIENT = InMemoryRegistry().client(retries=0)
CLIENT.register("rides-value", Schema(avro()))
CLIENT.register("lines-value", Schema(PROTO, SchemaType.PROTOBUF))
READERS = [
    AvroDeserializer(CLIENT),
    AvroDeserializer(CLIENT, latest=True),
    AvroDeserializer(CLIENT, from_dict=lambda value, _: value["id"]),
    Deserializer(Lines(), CLIENT),
    Deserializer(Lines(), None),
    MultiDeserializer(CLIENT, by_type={SchemaType.PROTOBUF: Deserializer(Lines(), CLIENT)}),
]
FRAMED = st.builds(lambda number, body: bytes([0, 0, 0, 0, number]) + body, st.integers(0, 3), st.binary(max_size=40))


@pytest.mark.slow
@times_the_examples(10)
@given(
    st.sampled_from(READERS),
    st.one_of(st.binary(max_size=60), FRAMED),
    st.one_of(st.none(), st.binary(max_size=30), st.sampled_from([b"\1", b"\0\0\0\0\1", b"\0\0\0\0\2\0"])),
)
def test_random_bytes_give_values_or_errors_of_ours(deserialize, data, header):
    context = SerializationContext("rides", headers=None if header is None else [(VALUE_HEADER, header)])
    try:
        deserialize(data, context)
    except CounterfoilError as error:
        assert not isinstance(error, SerdeError) or error.topic == "rides"  # noqa: PT017 - a value is right as well
