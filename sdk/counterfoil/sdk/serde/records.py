"""Records of Kafka clients, of which a deserializer reads the key or the value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from counterfoil.sdk.errors import SerdeError
from counterfoil.sdk.serde.context import SerializationContext

if TYPE_CHECKING:
    from counterfoil.sdk.subjects import Field

Record: TypeAlias = Any
"""Bytes, None for a tombstone, or a record of confluent-kafka, aiokafka or kafka-python with its topic and headers."""

_BARE = (bytes, bytearray, memoryview, type(None))


def read_record(record: Record, topic: str | None, field: Field) -> tuple[Any, SerializationContext]:
    """Return the key or the value of a record, and its context; ``topic`` is used for bare bytes.

    Raises ``SerdeError`` for a message that is an error of the consumer.
    """
    if isinstance(record, _BARE) or not hasattr(record, field):
        return record, SerializationContext(topic, field)
    error = _member(record, "error")
    if error is not None:
        raise SerdeError(f"The message is an error of the consumer: {error}", topic=topic, field=field)
    context = SerializationContext(_member(record, "topic") or topic, field, _member(record, "headers"))
    return _member(record, field), context


def _member(record: Any, name: str) -> Any:
    """Return a member of the record, a method for confluent-kafka and an attribute for other clients."""
    found = getattr(record, name, None)
    return found() if callable(found) else found
