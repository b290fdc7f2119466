"""ProtobufSerializer and ProtobufDeserializer against an in-memory registry: schemas, types, subjects, errors."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest
from google.protobuf import timestamp_pb2
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.schema.errors import CounterfoilError, SchemaParseError, SubjectNotFound
from counterfoil.schema.model import Reference, Schema, SchemaType
from counterfoil.schema.wire import VALUE_HEADER
from counterfoil.sdk import RECORD, TOPIC_RECORD, AvroSerializer, ProtobufDeserializer, ProtobufSerializer
from counterfoil.sdk.errors import (
    DecodeError,
    EncodeError,
    FrameError,
    IncompatibleReader,
    InvalidSettings,
    NotFramed,
    SerdeError,
    TruncatedFrame,
    UnknownSchemaId,
)
from counterfoil.sdk.serde.multi import MultiDeserializer
from counterfoil.sdk.serde.protobuf import QUALIFIED
from counterfoil.sdk.testing import InMemoryRegistry
from strategies.cases.depth import times_the_examples
from strategies.protobuf.classes import generated_classes

PLACE = 'syntax = "proto3"; package taxi.place; import "taxi/country.proto"; message Place { Country country = 1; }'
COUNTRY = 'syntax = "proto3"; package taxi.place; message Country { string code = 1; }'
RIDE = """syntax = "proto3"; package taxi;
import "google/protobuf/timestamp.proto"; import "taxi/place.proto";
message Ride {
  int64 id = 1; optional double fare = 2; google.protobuf.Timestamp at = 3; taxi.place.Place pickup = 4;
  map<string, string> labels = 5; Status status = 6;
  message Stop { int32 number = 1; message Reason { string text = 1; } }
  enum Status { NEW = 0; DONE = 1; }
}
message Cancelled { int64 id = 1; }"""
FILES = {"taxi/country.proto": COUNTRY, "taxi/place.proto": PLACE, "taxi/ride.proto": RIDE}
CLASSES = generated_classes(FILES)
Ride, Stop, Reason = CLASSES["taxi.Ride"], CLASSES["taxi.Ride.Stop"], CLASSES["taxi.Ride.Stop.Reason"]
Cancelled = CLASSES["taxi.Cancelled"]

ORDER = (
    'syntax = "proto3"; package shop; message Order { int64 id = 1; string note = 2; } message Other { bool b = 1; }'
)


@dataclass
class Ctx:
    topic: str | None = "rides"
    field: str = "value"
    headers: Any = None


CTX = Ctx()


@pytest.fixture
def client() -> Any:
    return InMemoryRegistry().client(retries=0)


def ride() -> Any:
    return Ride(id=7, fare=0, at={"seconds": 1}, pickup={"country": {"code": "FR"}}, labels={"a": "b"}, status="DONE")


AS_DICT = {
    "id": 7,
    "fare": 0,
    "at": "1970-01-01T00:00:01Z",
    "pickup": {"country": {"code": "FR"}},
    "labels": {"a": "b"},
    "status": "DONE",
}


# --- generated classes ---------------------------------------------------------------------------------------------


def test_a_class_is_registered_after_the_files_that_it_imports(client: Any):
    data = ProtobufSerializer(client, model=Ride)(ride(), CTX)
    assert client.subjects() == ("rides-value", "taxi/country.proto", "taxi/place.proto")
    registered = client.version("rides-value")
    assert registered.schema.references == (Reference("taxi/place.proto", "taxi/place.proto", 1),)
    assert client.version("taxi/place.proto").schema.references == (
        Reference("taxi/country.proto", "taxi/country.proto", 1),
    )
    assert data == b"\x00" + registered.id.to_bytes(4) + b"\x00" + ride().SerializeToString()
    assert ProtobufDeserializer(client, model=Ride)(data, CTX) == ride()


def test_references_have_the_subjects_of_their_strategy(client: Any):
    ProtobufSerializer(client, model=Ride, reference_subject=QUALIFIED)(ride(), CTX)
    assert client.subjects() == ("rides-value", "taxi.country", "taxi.place")
    named = ProtobufSerializer(client, model=Ride, reference_subject=lambda path: f"import {path}")
    named(ride(), Ctx("others"))
    assert "import taxi/place.proto" in client.subjects()


def test_known_types_are_registered_when_they_are_not_skipped(client: Any):
    ProtobufSerializer(client, model=Ride, skip_known_types=False)(ride(), CTX)
    assert "google/protobuf/timestamp.proto" in client.subjects()


def test_a_serializer_that_looks_up_registers_nothing(client: Any):
    with pytest.raises(SubjectNotFound):
        ProtobufSerializer(client, model=Ride, register="lookup")(ride(), CTX)
    assert client.subjects() == ()
    written = ProtobufSerializer(client, model=Ride)(ride(), CTX)
    assert ProtobufSerializer(client, model=Ride, register="lookup")(ride(), CTX) == written


def test_nested_classes_have_their_path_and_full_name(client: Any):
    suffix_by_class = {Cancelled: b"\x02\x02", Stop: b"\x04\x00\x02", Reason: b"\x06\x00\x02\x00"}
    for class_, suffix in suffix_by_class.items():
        serialize = ProtobufSerializer(client, model=class_, subject=RECORD)
        data = serialize(class_(), CTX)
        assert data[5:] == suffix
        assert class_.DESCRIPTOR.full_name in client.subjects()
        assert type(ProtobufDeserializer(client)(data).DESCRIPTOR.full_name) is str
        assert ProtobufDeserializer(client)(data).DESCRIPTOR.full_name == class_.DESCRIPTOR.full_name
        assert ProtobufDeserializer(client, model=class_)(data) == class_()


def test_a_nested_class_is_written_with_the_latest_version(client: Any):
    """Confluent's Python serializer looks at the names of top-level messages alone, and raises KeyError."""
    ProtobufSerializer(client, model=Ride)(ride(), CTX)
    data = ProtobufSerializer(client, model=Reason, register="latest")(Reason(text="rain"), CTX)
    assert ProtobufDeserializer(client, model=Reason)(data, CTX) == Reason(text="rain")
    ProtobufSerializer(client, ORDER)({"id": 1}, Ctx("orders"))
    with pytest.raises(EncodeError, match=r"has no message taxi.Ride.Stop.Reason; it has shop.Order or shop.Other"):
        ProtobufSerializer(client, model=Reason, register="latest")(Reason(), Ctx("orders"))


@pytest.mark.slow
def test_every_subject_has_its_own_id(client: Any):
    serialize = ProtobufSerializer(client, model=Cancelled)
    first = serialize(Cancelled(id=1), Ctx("a"))
    client.register("b-value", Schema(COUNTRY.replace("Country", "Other"), SchemaType.PROTOBUF))
    assert serialize(Cancelled(id=1), Ctx("b", "key")) is not None
    assert serialize(Cancelled(id=1), Ctx("a")) == first


def test_a_class_that_the_schema_reads_as_other_values_is_refused(client: Any):
    text = 'syntax = "proto3"; message Cancelled { sint64 id = 1; }'
    client.register("rides-value", Schema(text, SchemaType.PROTOBUF))
    (class_,) = generated_classes({"c.proto": 'syntax = "proto3"; message Cancelled { int64 id = 1; }'}).values()
    with pytest.raises(EncodeError, match="writes it as int64, and the schema reads it as sint64") as caught:
        ProtobufSerializer(client, model=class_, register="latest")(class_(id=1), CTX)
    assert caught.value.path == "id"


# --- several types in one topic ------------------------------------------------------------------------------------


def test_a_deserializer_reads_several_types_of_one_topic(client: Any):
    written = [
        ProtobufSerializer(client, model=class_, subject=TOPIC_RECORD)(class_(), CTX)
        for class_ in (Ride, Cancelled, Stop)
    ]
    assert client.subjects()[:3] == ("rides-taxi.Cancelled", "rides-taxi.Ride", "rides-taxi.Ride.Stop")
    read = ProtobufDeserializer(client, model=[Ride, Cancelled, Stop]).many(written)
    assert [type(each) for each in read] == [Ride, Cancelled, Stop]
    assert [each.DESCRIPTOR.full_name for each in ProtobufDeserializer(client).many(written)] == [
        "taxi.Ride",
        "taxi.Cancelled",
        "taxi.Ride.Stop",
    ]


def test_bytes_of_another_type_are_refused_and_both_are_named(client: Any):
    """Confluent's deserializer reads them as its own class, whatever comes of it."""
    data = ProtobufSerializer(client, model=Cancelled)(Cancelled(id=1), CTX)
    for options in ({"model": Ride}, {"message": "taxi.Ride"}):
        with pytest.raises(DecodeError, match=r"The message is a taxi.Cancelled; expected taxi.Ride") as caught:
            ProtobufDeserializer(client, **options)(data, CTX)
        assert (caught.value.topic, caught.value.schema_id, caught.value.data) == ("rides", 3, data)


def test_ids_can_be_requested_before_the_messages_of_a_nested_class(client: Any):
    data = ProtobufSerializer(client, model=Reason)(Reason(text="x"), CTX)
    deserialize = ProtobufDeserializer(client, model=Reason)
    deserialize.warm(ids=[int.from_bytes(data[1:5])])
    assert deserialize(data, CTX) == Reason(text="x")


def test_one_deserializer_reads_avro_and_protobuf(client: Any):
    deserialize = MultiDeserializer(client)
    assert deserialize(ProtobufSerializer(client, model=Reason)(Reason(text="x"), CTX), CTX).text == "x"
    assert deserialize(AvroSerializer(client, '"long"')(5, Ctx("others")), CTX) == 5
    by_record = {"taxi.Cancelled": ProtobufDeserializer(client, model=Cancelled)}
    data = ProtobufSerializer(client, model=Cancelled)(Cancelled(id=1), CTX)
    assert MultiDeserializer(client, by_record=by_record)(data, CTX) == Cancelled(id=1)


def test_indexes_that_lead_nowhere_are_refused(client: Any):
    data = ProtobufSerializer(client, ORDER)({"id": 1}, CTX)
    for suffix in (b"\x02\x04", b"\x04\x00\x00", b"\x02\x80\x80\x04"):
        with pytest.raises(DecodeError, match=r"lead to no message of the writer's schema; it has shop\.Order"):
            ProtobufDeserializer(client)(data[:5] + suffix + data[6:], CTX)


def test_an_index_of_the_type_of_map_entries_is_the_message_after_it(client: Any):
    text = 'syntax = "proto3"; message O { map<string, int32> m = 1; message I { int32 a = 1; } }'
    data = ProtobufSerializer(client, text, message="O.I")({"a": 1}, CTX)
    assert data[5:8] == b"\x04\x00\x02"
    for suffix in (b"\x04\x00\x02", b"\x04\x00\x00"):
        found = ProtobufDeserializer(client)(data[:5] + suffix + data[8:], CTX)
        assert (found.DESCRIPTOR.full_name, found.a) == ("O.I", 1)


def test_both_spellings_of_the_first_message_are_read(client: Any):
    data = ProtobufSerializer(client, ORDER)({"id": 1}, CTX)
    assert data[5:6] == b"\x00"
    deserialize = ProtobufDeserializer(client)
    assert deserialize(data[:5] + b"\x02\x00" + data[6:]).id == deserialize(data).id == 1


# --- dynamic messages and dicts ------------------------------------------------------------------------------------


def test_a_text_is_registered_and_dicts_are_written_and_read(client: Any):
    serialize = ProtobufSerializer(client, ORDER)
    data = serialize({"id": 1, "note": "x"}, CTX)
    assert client.version("rides-value").schema.text.startswith('syntax = "proto3";')
    assert ProtobufDeserializer(client, values="dict")(data) == {"id": 1, "note": "x"}
    message = ProtobufDeserializer(client)(data)
    assert (message.id, message.note) == (1, "x")
    assert serialize(message, CTX) == data
    other = ProtobufSerializer(client, ORDER, message="shop.Other")({"b": True}, CTX)
    assert other[5:7] == b"\x02\x02"
    assert ProtobufDeserializer(client, values="dict")(other) == {"b": True}


def test_values_are_written_with_the_latest_version(client: Any):
    client.register("rides-value", Schema(ORDER, SchemaType.PROTOBUF))
    data = ProtobufSerializer(client, register="latest")({"note": "y"}, CTX)
    by_id = ProtobufSerializer(client, register={"id": 1})({"note": "y"}, CTX)
    assert data == by_id == b"\x00\x00\x00\x00\x01\x00\x12\x01y"


def test_a_text_with_imports_is_written_and_read(client: Any):
    client.register("c", Schema(COUNTRY, SchemaType.PROTOBUF))
    to_country = (Reference("taxi/country.proto", "c", 1),)
    client.register("p", Schema(PLACE, SchemaType.PROTOBUF, to_country))
    schema = Schema(RIDE, SchemaType.PROTOBUF, (Reference("taxi/place.proto", "p", 1),))
    data = ProtobufSerializer(client, schema)({"pickup": {"country": {"code": "CH"}}}, CTX)
    assert ProtobufDeserializer(client, values="dict")(data)["pickup"] == {"country": {"code": "CH"}}
    assert ProtobufDeserializer(client, model=Ride)(data).pickup.country.code == "CH"


def test_presence_and_unknown_fields_are_kept(client: Any):
    longer = ORDER.replace("int64 id = 1;", "int64 id = 1; optional int32 extra = 9;")
    data = ProtobufSerializer(client, longer)({"extra": 0}, CTX)
    message = ProtobufDeserializer(client, reader=ORDER)(data)
    assert message.SerializeToString() == b"\x48\x00"
    assert ProtobufDeserializer(client)(data).HasField("extra")


def test_the_readers_schema_reads_by_number(client: Any):
    data = ProtobufSerializer(client, ORDER)({"id": 1, "note": "x"}, CTX)
    renamed = 'syntax = "proto3"; package shop; message Order { bytes text = 2; string more = 3; }'
    assert ProtobufDeserializer(client, reader=renamed, values="dict")(data) == {"text": b"x", "more": ""}
    client.register(
        "rides-value", Schema(ORDER.replace("string note = 2;", "string note = 2; int32 n = 3;"), SchemaType.PROTOBUF)
    )
    assert ProtobufDeserializer(client, latest=True, values="dict")(data, CTX) == {"id": 1, "note": "x", "n": 0}


def test_the_latest_version_is_that_of_the_messages_own_subject(client: Any):
    data = ProtobufSerializer(client, model=Stop, subject=RECORD)(Stop(number=2), CTX)
    decoded = ProtobufDeserializer(client, subject=RECORD, latest=True).decode(data, topic="rides")
    assert (decoded.subject, decoded.version, decoded.value.number) == ("taxi.Ride.Stop", 1, 2)


def test_a_reader_that_cannot_read_the_type_is_refused(client: Any):
    data = ProtobufSerializer(client, ORDER)({"id": 1, "note": "x"}, CTX)
    with pytest.raises(IncompatibleReader, match=r"The message is a shop.Order; the reader's schema has B"):
        ProtobufDeserializer(client, reader="message B { }")(data)
    with pytest.raises(IncompatibleReader, match="id: the writer's int64 would be read as sint64") as caught:
        ProtobufDeserializer(client, reader="package shop; message Order { optional sint64 id = 1; }")(data)
    assert caught.value.path == "id"


# --- headers, tombstones, other registries ---------------------------------------------------------------------------


@pytest.mark.parametrize("class_", [Cancelled, Reason])
def test_the_indexes_go_into_the_header_after_the_guid(client: Any, class_: Any):
    ctx = Ctx(headers=[])
    message = class_()
    data = ProtobufSerializer(client, model=class_, id_location="header")(message, ctx)
    assert data == message.SerializeToString() == b""
    ((name, header),) = ctx.headers
    assert (name, header[0]) == (VALUE_HEADER, 1)
    assert header[17:] == {Cancelled: b"\x02\x02", Reason: b"\x06\x00\x02\x00"}[class_]
    assert ProtobufDeserializer(client, model=class_)(data, ctx) == message
    assert ProtobufDeserializer(client, values="dict")(data, ctx) in ({"id": 0}, {"text": ""})


def test_tombstones_are_not_framed(client: Any):
    assert ProtobufSerializer(client, model=Ride)(None, CTX) is None
    assert ProtobufDeserializer(client)(None, CTX) is None
    assert client.subjects() == ()


def test_an_empty_message_is_no_tombstone(client: Any):
    data = ProtobufSerializer(client, model=Cancelled)(Cancelled(), CTX)
    assert ProtobufDeserializer(client, model=Cancelled)(data, CTX) == Cancelled()


def test_without_a_registry_the_class_itself_is_the_writers_schema(client: Any):
    data = ProtobufSerializer(client, model=Reason)(Reason(text="x"), CTX)
    assert ProtobufDeserializer(None, model=Reason)(data, CTX) == Reason(text="x")
    with pytest.raises(DecodeError, match=r"The message is a taxi.Ride.Stop.Reason; expected taxi.Ride"):
        ProtobufDeserializer(None, model=Ride)(data, CTX)
    assert ProtobufDeserializer(None, reader=ORDER, values="dict")(b"\x00\x00\x00\x00\x09\x00\x08\x01")["id"] == 1
    with pytest.raises(InvalidSettings, match="Without a registry"):
        ProtobufDeserializer(None)


def test_an_async_registry_serves_them():
    async def written_and_read() -> Any:
        registry = InMemoryRegistry().async_client(retries=0)
        serialize, deserialize = ProtobufSerializer(registry, model=Ride), ProtobufDeserializer(registry, model=Ride)
        await serialize.warm(topic="rides")
        data = serialize(ride(), CTX)
        await deserialize.warm(data=data)
        return deserialize(data, CTX)

    assert asyncio.run(written_and_read()) == ride()


def test_the_second_message_is_written_and_read_like_the_first(client: Any):
    """From the second message on, those of a known class and frame take a shorter way."""
    serialize, deserialize = ProtobufSerializer(client, model=Ride), ProtobufDeserializer(client, model=Ride)
    other = generated_classes(FILES)["taxi.Ride"]
    nested = ProtobufSerializer(client, model=Stop)(Stop(number=1), Ctx("stops"))
    headed, own = Ctx(headers=[]), ProtobufSerializer(client, model=Ride, id_location="header")
    body = own(ride(), headed)
    for _ in range(3):
        data = serialize(ride(), CTX)
        assert data == serialize(AS_DICT, CTX) == serialize(other.FromString(body), CTX)
        assert serialize(None, CTX) is None
        assert deserialize(data, CTX) == deserialize(bytearray(data), CTX) == deserialize(data) == ride()
        assert deserialize(body, headed) == ride()
        assert deserialize(None, CTX) is None
        with pytest.raises(EncodeError):
            serialize(Stop(), CTX)
        with pytest.raises(DecodeError):
            deserialize(data + b"\xff", CTX)
        with pytest.raises(DecodeError):
            deserialize(nested, CTX)
    deserialize.close()
    serialize.close()
    assert deserialize(serialize(ride(), CTX), CTX) == ride()


# --- bad input ------------------------------------------------------------------------------------------------------


def test_settings_that_make_no_sense_are_refused(client: Any):
    for options in (
        {"model": 3},
        {"model": Ride()},
        {"model": dict},
        {"model": Ride, "message": "taxi.Other"},
    ):
        with pytest.raises(InvalidSettings):
            ProtobufSerializer(client, **options)
        with pytest.raises(InvalidSettings):
            ProtobufDeserializer(client, **options)
    with pytest.raises(InvalidSettings, match="values is 'json'; expected 'message' or 'dict'"):
        ProtobufDeserializer(client, values="json")  # type: ignore[arg-type]
    with pytest.raises(InvalidSettings, match="needs a schema"):
        ProtobufSerializer(client)
    with pytest.raises(SchemaParseError):
        ProtobufSerializer(client, "message {")


def test_a_message_of_another_type_is_refused_with_the_place(client: Any):
    serialize = ProtobufSerializer(client, model=Ride)
    for value in (Cancelled(), timestamp_pb2.Timestamp(), 3, "x", [1]):
        with pytest.raises(EncodeError, match=r"expected a message of taxi\.Ride, or a dict") as caught:
            serialize(value, CTX)
        assert (caught.value.topic, caught.value.subject, caught.value.schema_id) == ("rides", "rides-value", 3)
    with pytest.raises(EncodeError) as caught:
        serialize({"pickup": {"country": {"code": 1}}}, CTX)
    assert caught.value.path == "pickup.country.code"
    assert serialize({"id": 7}, CTX)[6:] == b"\x08\x07"


def test_a_schema_of_another_language_is_refused(client: Any):
    data = AvroSerializer(client, '"long"')(1, CTX)
    with pytest.raises(SerdeError, match="The schema is AVRO; expected PROTOBUF"):
        ProtobufDeserializer(client)(data + b"\x00", CTX)


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"", TruncatedFrame),
        (b"\x00\x00\x00", TruncatedFrame),
        (b"\x00\x00\x00\x00\x01", TruncatedFrame),
        (b"\x00\x00\x00\x00\x01\x04\x00", TruncatedFrame),
        (b"\x00\x00\x00\x00\x01" + b"\x80" * 40, FrameError),
        (b"\x00\x00\x00\x00\x01\x01", FrameError),
        (b"\x00\x00\x00\x00\x01\x82\x02" + b"\x00" * 200, FrameError),
        (b"\x05\x00\x00\x00\x01\x00", NotFramed),
        (b"\x00\x00\x00\x00\x63\x00", UnknownSchemaId),
        (b"\x00\x00\x00\x00\x01\x00\x0a", DecodeError),
        ("text", NotFramed),
    ],
)
def test_damaged_frames_have_errors_of_their_own(client: Any, data: Any, error: type[Exception]):
    ProtobufSerializer(client, ORDER)({"id": 1}, CTX)
    with pytest.raises(error) as caught:
        ProtobufDeserializer(client)(data, CTX)
    assert type(caught.value) is error


REGISTRY = InMemoryRegistry()
SEEDED = REGISTRY.client(retries=0)
MESSAGES = [
    ProtobufSerializer(SEEDED, model=class_, subject=RECORD)(message, CTX)
    for class_, message in ((Ride, ride()), (Reason, Reason(text="é")), (Cancelled, Cancelled(id=2**62)))
]
READERS = (
    ProtobufDeserializer(SEEDED),
    ProtobufDeserializer(SEEDED, values="dict"),
    ProtobufDeserializer(SEEDED, model=[Ride, Cancelled]),
    ProtobufDeserializer(None, model=Ride),
)


@pytest.mark.slow
@times_the_examples(10)
@given(st.data())
def test_only_our_errors_come_of_damaged_messages(data: st.DataObject):
    message = bytearray(data.draw(st.sampled_from(MESSAGES)))
    for _ in range(data.draw(st.integers(0, 3))):
        message[data.draw(st.integers(4, len(message) - 1))] = data.draw(st.integers(0, 255))
    damaged = bytes(message[: data.draw(st.integers(0, len(message)))]) + data.draw(st.binary(max_size=4))
    for deserialize in READERS:
        try:
            deserialize(damaged, CTX)
        except CounterfoilError as error:
            assert isinstance(error, SerdeError)  # noqa: PT017 - any message may be read or refused
            assert error.data == damaged  # noqa: PT017 - as above


@times_the_examples(5)
@given(st.binary(max_size=40))
def test_only_our_errors_come_of_arbitrary_bytes(data: bytes):
    for deserialize in READERS:
        assert deserialize.many([data, b"\x00\x00\x00\x00\x01" + data])


MANY = 'syntax = "proto3"; package many; ' + " ".join(
    f"message M{number} {{ int64 id = 1; string text = {number + 2}; message N {{ string a = {number + 1}; }} }}"
    for number in range(70)
)
MANY_CLASSES = generated_classes({"many/many.proto": MANY})


@pytest.mark.slow
@times_the_examples(3)
@given(st.data())
def test_messages_of_any_index_are_read_in_any_order(data: st.DataObject):
    """The first message of each kind is read the long way, and all others the short one: both have the same value."""
    registry = InMemoryRegistry().client(retries=0)
    names = data.draw(st.lists(st.sampled_from(sorted(MANY_CLASSES)), min_size=1, max_size=4, unique=True))
    classes = [MANY_CLASSES[each] for each in names]
    ways = [
        (class_, ProtobufSerializer(registry, model=class_, subject=RECORD, id_location=location), location)
        for class_ in classes
        for location in ("prefix", "header")
    ]
    read = ProtobufDeserializer(registry, model=classes)
    for number, (class_, write, location) in enumerate(data.draw(st.lists(st.sampled_from(ways), max_size=12))):
        value = class_(**({"a": str(number)} if class_.DESCRIPTOR.name == "N" else {"id": number, "text": "t"}))
        others: list[Any] = data.draw(st.sampled_from([[], [("trace", b"\x01")]]))
        headers = list(others)
        message = write(value, Ctx("t", headers=headers if location == "header" or others else None))
        found = read(message, Ctx("t", headers=headers))
        assert (type(found), found) == (class_, value)
        with pytest.raises(DecodeError) as caught:
            read(message + b"\x0f", Ctx("t", headers=headers))
        assert (caught.value.topic, caught.value.subject) == ("t", "t-value")
        assert caught.value.schema_id is not None or location == "header"
