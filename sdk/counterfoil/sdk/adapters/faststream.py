"""A parser, a decoder and a middleware for FastStream's Kafka broker.

FastStream's own parser decodes every header as text and fails on the schema's guid, which is binary; it also turns a
tombstone into empty bytes. It sends empty bytes for None too, unless it is a single message with a key.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, Self

from counterfoil.schema.errors import needed_by
from counterfoil.sdk.adapters.dead_letters import NULL, DeadLetter, NullBytes, dead_letter, header_pairs, new_context
from counterfoil.sdk.errors import SerdeError
from counterfoil.sdk.serde.asynchronous import AsyncDeserializer, AsyncSerializer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection

    from aiokafka import ConsumerRecord
    from faststream.kafka.message import KafkaMessage
    from faststream.kafka.response import KafkaPublishCommand

    from counterfoil.schema.datum import Datum
    from counterfoil.sdk.serde import Headers
    from counterfoil.sdk.serde.deserializer import Deserializer
    from counterfoil.sdk.serde.multi import MultiDeserializer
    from counterfoil.sdk.serde.serializer import Serializer


with needed_by("The adapter of FastStream", extra="faststream"):
    from faststream import BaseMiddleware
    from faststream.exceptions import AckMessage
    from faststream.kafka.publisher.producer import AioKafkaFastProducerImpl


class Publisher(Protocol):
    """What ``broker.publisher(topic)`` returns."""

    async def publish(self, message: Datum, *, key: bytes | None, headers: dict[str, str]) -> Datum:
        """Send a message; None with a key is sent as null."""


class BinaryHeader(str):
    """A header whose value is not text, for FastStream, which encodes every header: ``encode`` returns the bytes."""

    __slots__ = ("value",)
    value: bytes

    def __new__(cls, value: bytes) -> Self:
        """Return the header; as text it is the value in hexadecimal digits."""
        made = super().__new__(cls, value.hex())
        made.value = value
        return made

    def encode(self, *_: object, **__: object) -> bytes:
        """Return the value."""
        return self.value


async def parse(record: Any, parse_text: Callable[[Any], Awaitable[KafkaMessage]]) -> KafkaMessage:
    """Parse a record, or a batch of records, with headers of any content: the ``parser`` of a broker or a subscriber.

    Headers that are not UTF-8 are a :class:`BinaryHeader`. ``parse_text`` is FastStream's own parser.
    """
    if isinstance(record, (tuple, list)):  # FastStream's test client makes lists
        record = tuple(map(_with_null, record))
        message = await parse_text(tuple(map(_with_text_headers, record)))
        message.batch_headers = [_text_headers(each.headers) for each in record]
        message.headers = message.batch_headers[0] if record else {}
    else:
        record = _with_null(record)
        message = await parse_text(_with_text_headers(record))
        message.headers = _text_headers(record.headers)
    message.raw_message = record
    return message


class RegistryDecoder:
    """Decodes the values of messages: the ``decoder`` of a broker or a subscriber, beside the parser :func:`parse`.

    The deserializer has an ``AsyncRegistry``. A tombstone is None. With ``dead_letters``, which
    ``broker.publisher(topic)`` returns, a message that cannot be read is sent there, and is then acknowledged without
    being handled; without it the error is FastStream's to handle, by the subscriber's ``ack_policy``. In a batch, the
    messages that can be read are handled.
    """

    def __init__(
        self, deserializer: Deserializer[Datum] | MultiDeserializer, *, dead_letters: Publisher | None = None
    ) -> None:
        self._deserializer = AsyncDeserializer(deserializer)
        self._dead_letters = dead_letters

    async def __call__(self, message: KafkaMessage) -> Datum:
        """Return the value of a message, or the values of a batch."""
        record = message.raw_message
        if not isinstance(record, tuple):
            return await self._value(record)
        values = []
        for each in record:
            try:
                values.append(await self._value(each))
            except AckMessage:
                continue
        return values

    async def _value(self, record: ConsumerRecord[object, object]) -> Datum:
        try:
            return await self._deserializer.read(record)
        except SerdeError as error:
            if self._dead_letters is None:
                raise
            await _publish(self._dead_letters, dead_letter(record, error))
            raise AckMessage from error


class RegistryMiddleware(BaseMiddleware):  # type: ignore[misc]  # FastStream's types are not read
    """Serializes the messages that a broker sends; ``serializing`` makes the ``middlewares`` of a broker of it."""

    def __init__(self, message: object, /, *, context: object, serializers: _Serializers) -> None:
        super().__init__(message, context=context)
        self._serializers = serializers

    async def publish_scope(
        self, call_next: Callable[[KafkaPublishCommand], Awaitable[Any]], cmd: KafkaPublishCommand
    ) -> Datum:
        """Serialize the bodies and the key of a command before it is carried out; None is sent as null.

        A record without key and value is sent as a batch of one, since aiokafka sends it in no other way.
        """
        if not await self._serializers.serialize(cmd) or not any(map(_is_null, (cmd.body, *cmd.extra_bodies))):
            return await call_next(cmd)
        producer = _producer_of(call_next)
        if not isinstance(producer.codec, _CodecWithNulls):
            is_real = isinstance(producer, AioKafkaFastProducerImpl)
            producer.codec = _CodecWithNulls(producer.codec, None if is_real else NULL)
        cmd.body, *rest = (NULL if each is None else each for each in (cmd.body, *cmd.extra_bodies))
        cmd.extra_bodies = tuple(rest)
        if rest or cmd.key is not None:
            return await call_next(cmd)
        return await producer.publish_batch(cmd)


def _producer_of(call_next: Any) -> Datum:
    """Return FastStream's producer, to whose method the rest of a broker's middlewares lead."""
    while isinstance(call_next, partial):
        call_next = call_next.args[-1]
    return call_next.__self__


class _CodecWithNulls:
    """The codec of a broker, which sends ``null`` for None: FastStream's test client needs bytes."""

    def __init__(self, codec: Any, null: NullBytes | None) -> None:
        self._codec = codec
        self._null = null

    async def encode(self, message: Datum, serializer: Any = None) -> tuple[bytes | None, str | None]:
        """Return the bytes of a message and the type of its content."""
        if _is_null(message):
            return self._null, None
        encoded: tuple[bytes | None, str | None] = await self._codec.encode(message, serializer)
        return encoded

    def __getattr__(self, name: str) -> Datum:
        if name == "encode_batch":  # it would encode None
            raise AttributeError(name)
        return getattr(self._codec, name)


def serializing(
    value_serializer: Serializer[Datum],
    *,
    key_serializer: Serializer[Datum] | None = None,
    topics: Collection[str] | None = None,
) -> Callable[..., RegistryMiddleware]:
    """Return a middleware of a ``KafkaBroker`` that serializes the messages to ``topics``, or to any topic.

    The serializers have an ``AsyncRegistry``. Bytes are sent as they are. In a batch, keys of single messages are not
    serialized.
    """
    key = None if key_serializer is None else AsyncSerializer(key_serializer)
    serializers = _Serializers(key, AsyncSerializer(value_serializer), topics)

    def make(message: object, /, *, context: object) -> RegistryMiddleware:
        return RegistryMiddleware(message, context=context, serializers=serializers)

    return make


class _Serializers:
    def __init__(
        self,
        key: AsyncSerializer[Datum] | None,
        value: AsyncSerializer[Datum],
        topics: Collection[str] | None,
    ) -> None:
        self._key = key
        self._value = value
        self._topics = topics

    async def serialize(self, command: KafkaPublishCommand) -> bool:
        """Replace the key and the bodies of a command by bytes, and set the headers with schema ids.

        Return whether the command is for one of the topics.
        """
        topic = command.destination
        if self._topics is not None and topic not in self._topics:
            return False
        headers = list(header_pairs(command.headers))
        if self._key is not None and not isinstance(command.key, bytes):
            command.key = await self._key(command.key, new_context(topic, "key", headers))
        bodies = (command.body, *command.extra_bodies)
        if not all(isinstance(each, bytes) for each in bodies):
            context = new_context(topic, "value", headers)
            command.body, *rest = [
                each if isinstance(each, bytes) else await self._value(each, context) for each in bodies
            ]
            command.extra_bodies = tuple(rest)
        command.headers = _text_headers(headers)
        return True


async def _publish(publisher: Publisher, letter: DeadLetter) -> None:
    await publisher.publish(letter["value"], key=letter["key"], headers=_text_headers(letter["headers"]))


def _is_null(body: object) -> bool:
    return body is None or isinstance(body, NullBytes)


def _with_null(record: ConsumerRecord[object, object]) -> Datum:
    """Return the record with null for the bytes that FastStream's test client made of it."""
    return replace(record, value=None) if isinstance(record.value, NullBytes) else record


def _with_text_headers(record: ConsumerRecord[object, object]) -> Datum:
    """Return a copy of the record whose headers FastStream's parser accepts."""
    texts = [(name, value) for name, value in header_pairs(record.headers) if _is_text(value)]
    copy = replace(record, headers=texts)
    if hasattr(record, "consumer"):
        copy.consumer = record.consumer
    return copy


def _text_headers(headers: Headers) -> dict[str, Datum]:
    return {name: _text(value) for name, value in header_pairs(headers)}


def _is_text(value: bytes | None) -> bool:
    return value is not None and not isinstance(_text(value), BinaryHeader)


def _text(value: bytes | str | None) -> str:
    if isinstance(value, str):
        return value
    try:
        return (value or b"").decode()
    except UnicodeDecodeError:
        return BinaryHeader(value or b"")
