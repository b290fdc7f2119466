"""What errors have in common: the record and the schema, added to the error on its way out; values in a few words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from counterfoil.schema.errors import Forbidden
from counterfoil.schema.excerpt import excerpt
from counterfoil.sdk.errors import SerdeError
from counterfoil.sdk.serde.context import SerializationContext, field_of, topic_of

if TYPE_CHECKING:
    from counterfoil.schema.errors import CounterfoilError
    from counterfoil.sdk.serde.context import MessageContext
    from counterfoil.sdk.subjects import Field

Record: TypeAlias = Any
"""Bytes, None for a tombstone, or a record of confluent-kafka, aiokafka or kafka-python with its topic and headers."""

_BARE = (bytes, bytearray, memoryview, type(None))

_OF_A_RECORD: Final = ("topic", "partition", "offset", "field", "subject", "schema_id")


def place(
    error: CounterfoilError,
    ctx: MessageContext | None,
    *,
    subject: str | None = None,
    schema_id: int | None = None,
    data: bytes | None = None,
) -> None:
    """Add to an error what it does not have yet of topic, field, subject, schema_id and data.

    A denial by the registry gets a text of them, and of the ``partition`` and ``offset`` that it may have.
    """
    facts = {
        "topic": topic_of(ctx),
        "field": field_of(ctx),
        "subject": subject,
        "schema_id": schema_id,
        "data": data,
    }
    for name, value in facts.items():
        if getattr(error, name, None) is None:
            setattr(error, name, value)
    if isinstance(error, Forbidden):
        own = {name: getattr(error, name, None) for name in _OF_A_RECORD}
        error.record = ", ".join(f"{name}={value!r}" for name, value in own.items() if value is not None)


def shown(value: object) -> str:
    """Return a value and its type in a few words on one line, for an error message."""
    try:
        text = " ".join(map(str.strip, repr(value).splitlines()))
    except Exception:  # noqa: BLE001 - a repr of the program's own may raise anything
        text = "a value without repr"
    return f"{excerpt(text)} ({type(value).__name__})"


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


def place_denial(error: Forbidden, record: Record, ctx: MessageContext) -> None:
    """Add to a denial by the registry which record needed the schema."""
    for name in ("partition", "offset"):
        if getattr(error, name, None) is None:
            setattr(error, name, member(record, name))
    place(error, ctx)


def member(record: Record, name: str) -> Any:
    """Return a member of the record, a method for confluent-kafka and an attribute for other clients."""
    found = getattr(record, name, None)
    return found() if callable(found) else found
