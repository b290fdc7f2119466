"""Confluent's Python serializer and deserializer of Protobuf, unchanged, sharing one client."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka.schema_registry import (
    AsyncSchemaRegistryClient,
    Schema,
    SchemaRegistryClient,
    header_schema_id_serializer,
)
from confluent_kafka.schema_registry._async.protobuf import AsyncProtobufDeserializer, AsyncProtobufSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.json_format import ParseDict
from google.protobuf.message_factory import GetMessageClass
from google.protobuf.timestamp_pb2 import DESCRIPTOR as TIMESTAMP

if TYPE_CHECKING:
    from collections.abc import Callable

    from google.protobuf.message import Message

    from local_services import RegistryProcess

OPTIONAL, STRING, INT64, MESSAGE = 1, 9, 3, 11


def file_of(name: str, message: str, *fields: tuple[str, int, str], imports: tuple[str, ...] = ()) -> Any:
    """A file descriptor with one message; a field is its name, its type, and the name of its message type."""
    file = FileDescriptorProto(name=f"{name}.proto", package=name, syntax="proto3", dependency=imports)
    declared = file.message_type.add(name=message)
    for number, (field, kind, type_name) in enumerate(fields, 1):
        declared.field.add(
            name=field, number=number, type=kind, label=OPTIONAL, type_name=type_name or None, json_name=field
        )
    return file


def message_class(*files: Any, of: str) -> type[Message]:
    """The class of a message that the files declare, as a compiler would have made it."""
    pool = DescriptorPool()
    pool.AddSerializedFile(TIMESTAMP.serialized_pb)
    for file in files:
        pool.Add(file)
    found: type[Message] = GetMessageClass(pool.FindMessageTypeByName(of))
    return found


class Ride:
    """Messages in a package of their own: one by itself, and one whose file imports two others, one in turn."""

    def __init__(self, package: str) -> None:
        self.country = f"{package}_country"
        self.place = f"{package}_place"
        country = file_of(self.country, "Country", ("code", STRING, ""))
        place = file_of(
            self.place,
            "Place",
            ("zone", STRING, ""),
            ("country", MESSAGE, f".{self.country}.Country"),
            imports=(f"{self.country}.proto",),
        )
        ride = file_of(
            package,
            "Ride",
            ("id", INT64, ""),
            ("pickup", MESSAGE, f".{self.place}.Place"),
            ("at", MESSAGE, ".google.protobuf.Timestamp"),
            imports=(f"{self.place}.proto", "google/protobuf/timestamp.proto"),
        )
        self.plain = message_class(country, of=f"{self.country}.Country")
        self.importing = message_class(country, place, ride, of=f"{package}.Ride")

    def messages(self) -> list[Message]:
        place = {"zone": "Gare", "country": {"code": "FR"}}
        ride = {"id": "7", "pickup": place, "at": "2026-11-01T12:00:00Z"}
        return [ParseDict({"code": "FR"}, self.plain()), ParseDict(ride, self.importing())]


@pytest.fixture
def ride(unique_name: Callable[[str], str]) -> Ride:
    return Ride(unique_name("taxi").replace("-", "_"))


@pytest.fixture
def context(unique_name: Callable[[str], str]) -> SerializationContext:
    return SerializationContext(unique_name("rides"), MessageField.VALUE)


WRITER: dict[str, Any] = {"use.deprecated.format": False}
LATEST: dict[str, Any] = {"auto.register.schemas": False, "use.latest.version": True}


def pair(message: Message, client: SchemaRegistryClient, **settings: Any) -> tuple[Any, Any]:
    kind: Any = type(message)
    serializer = ProtobufSerializer(kind, client, {**WRITER, **settings})
    return serializer, ProtobufDeserializer(kind, WRITER, client)


@pytest.mark.parametrize("which", ["plain", "importing"])
@pytest.mark.parametrize("normalizes", [False, True], ids=["as it is", "normalised"])
def test_one_client_serves_the_serializer_that_registers_and_the_deserializer(
    live_registry: RegistryProcess, ride: Ride, context: SerializationContext, which: str, *, normalizes: bool
):
    message = ride.messages()[which == "importing"]
    client = SchemaRegistryClient({"url": live_registry.url})
    registering, reading = pair(message, client, **{"normalize.schemas": normalizes})
    written = registering(message, context)
    assert reading(written, context) == message
    assert registering(message, context) == written
    for settings in ({"auto.register.schemas": False, "normalize.schemas": normalizes}, LATEST):
        for shared in (client, SchemaRegistryClient({"url": live_registry.url})):
            looking_up, reading = pair(message, shared, **settings)
            assert looking_up(message, context) == written
            assert reading(written, context) == message


@pytest.mark.parametrize("which", ["plain", "importing"])
def test_one_client_serves_a_pair_that_uses_an_id_or_the_latest_version(
    live_registry: RegistryProcess, ride: Ride, context: SerializationContext, which: str
):
    message = ride.messages()[which == "importing"]
    written = pair(message, SchemaRegistryClient({"url": live_registry.url}))[0](message, context)
    schema_id = int.from_bytes(written[1:5])
    for settings in ({"auto.register.schemas": False, "use.schema.id": schema_id}, LATEST):
        client = SchemaRegistryClient({"url": live_registry.url})
        writing, reading = pair(message, client, **settings)
        assert writing(message, context) == written
        assert reading(written, context) == message
        kind: Any = type(message)
        assert ProtobufDeserializer(kind, {**WRITER, "use.latest.version": True}, client)(written, context) == message


def test_one_client_serves_a_pair_that_puts_the_guid_into_a_header(
    live_registry: RegistryProcess, ride: Ride, context: SerializationContext
):
    context.headers = []
    client = SchemaRegistryClient({"url": live_registry.url})
    for message in ride.messages()[1:] * 2:
        writing, reading = pair(message, client, **{"schema.id.serializer": header_schema_id_serializer})
        written = writing(message, context)
        assert [name for name, _ in context.headers] == ["__value_schema_id"]
        assert reading(written, context) == message
        context.headers.clear()


def test_the_asynchronous_pair_shares_a_client_too(
    live_registry: RegistryProcess, ride: Ride, context: SerializationContext
):
    async def written_and_read(message: Message) -> Any:
        kind: Any = type(message)
        client = AsyncSchemaRegistryClient({"url": live_registry.url})
        serializer = await AsyncProtobufSerializer(kind, client, WRITER)
        deserializer = await AsyncProtobufDeserializer(kind, WRITER, client)
        return await deserializer(await serializer(message, context), context)

    message = ride.messages()[1]
    assert asyncio.run(written_and_read(message)) == message


def test_what_is_stored_is_the_text_and_other_clients_get_it(
    live_registry: RegistryProcess, ride: Ride, context: SerializationContext
):
    message = ride.messages()[0]
    client = SchemaRegistryClient({"url": live_registry.url})
    schema_id = int.from_bytes(pair(message, client)[0](message, context)[1:5])
    text = SchemaRegistryClient({"url": live_registry.url}).get_schema(schema_id).schema_str
    assert text is not None
    assert text.startswith('syntax = "proto3";')
    again = SchemaRegistryClient({"url": live_registry.url}).register_schema_full_response(
        f"{context.topic}-value", Schema(text, "PROTOBUF")
    )
    assert (again.schema_id, again.schema.schema_str) == (schema_id, text)
