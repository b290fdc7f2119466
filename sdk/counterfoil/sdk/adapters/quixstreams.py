"""Serializers of Quix Streams, for ``value_serializer``, ``key_deserializer`` and so on of a topic.

They work with the version of confluent-kafka that Quix Streams pins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.schema.errors import needed_by
from counterfoil.sdk.adapters.dead_letters import new_context
from counterfoil.sdk.errors import EncodeError, SchemaNotCached, SerdeError
from counterfoil.sdk.serde import MessageField, SerializationContext, field_of, headers_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from logging import Logger

    from counterfoil.schema.datum import Datum
    from counterfoil.sdk.serde import MessageContext
    from counterfoil.sdk.serde.base import RecordReader
    from counterfoil.sdk.serde.serializer import Serializer


with needed_by("The adapter of Quix Streams", extra="quixstreams"):
    from quixstreams.models import Deserializer as QuixDeserializer
    from quixstreams.models import Serializer as QuixSerializer


class RegistrySerializer(QuixSerializer):  # type: ignore[misc]  # Quix Streams has no types here
    """The ``key_serializer`` or ``value_serializer`` of a topic.

    Quix Streams takes the headers of a value before it serializes it. A value serializer that puts the schema id into a
    header therefore needs the name of its ``topic`` here.
    """

    def __init__(self, serializer: Serializer[Datum], *, topic: str | None = None) -> None:
        self._serializer = serializer
        self._topic = topic
        self._announced: tuple[str, bytes] | None = None

    @property
    def extra_headers(self) -> dict[str, bytes]:
        """The header with the schema id of the value that is serialized next."""
        self._announced = None if self._topic is None else self._serializer.header(self._topic)
        return {} if self._announced is None else dict([self._announced])

    def __call__(self, value: object, ctx: MessageContext) -> bytes | None:
        """Return the message for the value; None for None."""
        announced, self._announced = self._announced, None
        if announced is None:
            is_in_time = ctx.field == MessageField.KEY or self._topic is not None
            headers = headers_of(ctx) if is_in_time else None
            return self._serializer(value, SerializationContext(ctx.topic, ctx.field, headers))
        own: list[tuple[str, bytes | None]] = []
        message = self._serializer(value, SerializationContext(ctx.topic, ctx.field, own))
        if message is not None and own != [announced]:
            problem = f"The schema is not the one in the header, which was written for the topic {self._topic!r}"
            raise EncodeError(problem, topic=ctx.topic, field=ctx.field)
        return message


class RegistryDeserializer(QuixDeserializer):  # type: ignore[misc]  # Quix Streams has no types here
    """The ``key_deserializer`` or ``value_deserializer`` of a topic.

    The header with the schema id of a message is removed after it was read, since Quix Streams copies headers to the
    messages that it makes of this one.
    """

    def __init__(self, deserializer: RecordReader[Datum]) -> None:
        super().__init__()
        self._deserializer = deserializer

    def __call__(self, value: bytes | None, ctx: MessageContext) -> Datum:
        """Return the value of a message; None for None."""
        found = self._deserializer(value, ctx)
        headers = headers_of(ctx)
        if isinstance(headers, list):
            new_context(ctx.topic, field_of(ctx), headers)
        return found


def skip_and_report(report: Callable[[Datum, SerdeError], object]) -> Callable[[Exception, Datum, Logger], bool]:
    """Return an ``on_consumer_error`` for an ``Application`` that skips messages that cannot be read.

    ``report`` is called with the message, one of confluent-kafka, and its error, for example to write a
    :func:`~counterfoil.sdk.adapters.dead_letters.dead_letter`. Every other error, such as a registry that cannot be
    reached, ends the application.
    """

    def on_consumer_error(error: Exception, message: object, logger: Logger) -> bool:
        if message is None or not isinstance(error, SerdeError) or isinstance(error, SchemaNotCached):
            logger.error("The next message cannot be read: %s", error)
            return False
        report(message, error)
        return True

    return on_consumer_error
