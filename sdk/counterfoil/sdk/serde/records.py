"""Records of Kafka clients, of which a deserializer reads the key or the value."""

from __future__ import annotations

import gc
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from counterfoil.sdk.errors import SchemaNotCached, SerdeError
from counterfoil.sdk.serde.context import SerializationContext, field_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from counterfoil.sdk.serde.context import MessageContext
    from counterfoil.sdk.subjects import Field

T_co = TypeVar("T_co", covariant=True)

Record: TypeAlias = Any
"""Bytes, None for a tombstone, or a record of confluent-kafka, aiokafka or kafka-python with its topic and headers."""

_BARE = (bytes, bytearray, memoryview, type(None))


def read_record(record: Record, topic: str | None, field: Field) -> tuple[Any, SerializationContext]:
    """Return the key or the value of a record, and its context; ``topic`` is used for bare bytes.

    Raises ``SerdeError`` for a message that is an error of the consumer.
    """
    if isinstance(record, _BARE) or not hasattr(record, field):
        return record, SerializationContext(topic, field)
    error = member(record, "error")
    if error is not None:
        raise SerdeError(f"The message is an error of the consumer: {error}", topic=topic, field=field)
    context = SerializationContext(member(record, "topic") or topic, field, member(record, "headers"))
    return member(record, field), context


def member(record: Record, name: str) -> Any:
    """Return a member of the record, a method for confluent-kafka and an attribute for other clients."""
    found = getattr(record, name, None)
    return found() if callable(found) else found


class RecordReader(ABC, Generic[T_co]):
    """The ways to call a deserializer."""

    @abstractmethod
    def __call__(self, data: bytes | None, ctx: MessageContext | None = None) -> T_co | None:
        """Return the value of a message; None for None, a tombstone."""

    def read(self, record: Record, *, topic: str | None = None, field: Field = "value") -> T_co | None:
        """Return the key or the value of a record of a Kafka client, by its own topic and headers.

        ``record`` may be bytes, of ``topic``. Raises the same errors as calling the deserializer.
        """
        return self(*read_record(record, topic, field))

    def many(self, records: Iterable[Record], *, topic: str | None = None, field: Field = "value") -> list[Any]:
        """Return the keys or the values of many records, in order.

        A record is the bytes of a message of ``topic``, None, or a record of a Kafka client, which has its own topic
        and headers. A value that cannot be read is replaced by its error. Only a ``SerdeError`` replaces a value; the
        registry's errors and ``SchemaNotCached`` end the call. Python's garbage collector is paused during the call,
        since thousands of new values would start it without need.
        """
        ctx = SerializationContext(topic, field)
        was_enabled = gc.isenabled()
        gc.disable()
        try:
            return [self._value_or_error(record, ctx) for record in records]
        finally:
            if was_enabled:
                gc.enable()

    def bind(self, topic: str | None, field: Field = "value") -> Callable[[bytes | None], T_co | None]:
        """Return a function of the data alone, for clients that call deserializers as ``callable(data)``."""
        context = SerializationContext(topic, field)

        def read(data: bytes | None) -> T_co | None:
            return self(data, context)

        return read

    def _value_or_error(self, record: Record, ctx: SerializationContext) -> Any:
        try:
            if record.__class__ is bytes:
                return self(record, ctx)
            return self.read(record, topic=ctx.topic, field=field_of(ctx))
        except SchemaNotCached:
            raise
        except SerdeError as error:
            return error
