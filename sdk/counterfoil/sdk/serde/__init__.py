"""The record that is serialized: its topic, half and headers, and the errors that name them."""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

from counterfoil.schema.errors import CounterfoilError, Forbidden
from counterfoil.schema.texts import excerpt
from counterfoil.schema.wire import KEY_HEADER, VALUE_HEADER
from counterfoil.sdk.errors import EncodeError, SerdeError

if TYPE_CHECKING:
    from counterfoil.schema.datum import Datum
    from counterfoil.sdk.subjects import Field


# The record that is serialized, for programs whose Kafka client has no such context of its own.
#
# ``MessageField`` and ``SerializationContext`` have the members of confluent-kafka's classes of the same names, so that
# either can be given to either's serializers.

Headers: TypeAlias = Any
"""Kafka headers: a list of (name, bytes) pairs, a dict, or None."""


class MessageField(StrEnum):
    """The half of a Kafka record that is serialized.

    >>> "rides" + "-" + MessageField.VALUE
    'rides-value'
    """

    KEY = "key"
    VALUE = "value"


class MessageContext(Protocol):
    """The known facts of a record; ``SerializationContext`` is one, and so is confluent-kafka's."""

    @property
    def topic(self) -> str | None:
        """The topic; None where it is not known."""

    @property
    def field(self) -> str:
        """``key`` or ``value``."""


@dataclass(slots=True)
class SerializationContext:
    """The topic of a record (None when it is not known), the half of it that is serialized, and its headers.

    Headers are a list of (name, bytes) pairs or a dict; a serializer that puts the schema's guid there adds to them.
    """

    topic: str | None
    field: str = MessageField.VALUE
    headers: Headers = None


def topic_of(ctx: MessageContext | None) -> str | None:
    """Return the topic of a context; None without one."""
    topic = getattr(ctx, "topic", None)
    return topic if isinstance(topic, str) else None


def field_of(ctx: MessageContext | None) -> Field:
    """Return the half of the record of a context; the value without one."""
    return "key" if getattr(ctx, "field", None) == "key" else "value"


def headers_of(ctx: MessageContext | None) -> Headers:
    """Return the headers of a context; None without any."""
    return getattr(ctx, "headers", None)


# Schema ids in Kafka headers: the body then has no frame.
#
# Of several headers with one name the last counts, and writing replaces them all: a record that is consumed and
# produced again must not be read with its earlier schema.


def header_name(field: str | None) -> str:
    """Return the header that holds the schema id of a record's key or value."""
    return KEY_HEADER if field == "key" else VALUE_HEADER


def read_header(headers: Headers, name: str) -> bytes | None:
    """Return the value of the last header ``name``; None when there is none whose value is bytes.

    Raises ``SerdeError`` for headers that are neither a dict nor a list of pairs.
    """
    found: Datum = None
    if headers.__class__ is list:  # what Kafka clients have, and quicker than the question about mappings
        try:
            for own, value in reversed(headers):
                if own == name:
                    return value if value.__class__ is bytes else _as_bytes(value)
        except (TypeError, ValueError):
            raise _no_headers(headers) from None
        return None
    if isinstance(headers, MutableMapping):
        found = headers.get(name)
    else:
        try:
            found = dict(headers).get(name)
        except (TypeError, ValueError):
            raise _no_headers(headers) from None
    return _as_bytes(found)


def _as_bytes(found: object) -> bytes | None:
    return bytes(found) if isinstance(found, (bytes, bytearray, memoryview)) else None


def _no_headers(headers: object) -> SerdeError:
    return SerdeError(f"The record's headers are {headers!r:.60}; expected a dict or a list of pairs")


def write_header(headers: Headers, name: str, value: bytes) -> None:
    """Set the header, in place; raises ``SerdeError`` when there is no list or dict to set it in."""
    if isinstance(headers, MutableMapping):
        headers[name] = value
    elif isinstance(headers, list):
        headers[:] = [pair for pair in headers if pair[0] != name]
        headers.append((name, value))
    else:
        raise SerdeError(
            f"The schema id goes into a header, and the record's headers are {headers!r:.60}; expected a list or a dict"
        )


# What errors have in common: the record and the schema, added to the error on its way out; values in a few words.

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
    """Add to an error the facts that it does not have yet: topic, field, subject, schema_id and data.

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


def read_record(record: Record, topic: str | None, field: Field) -> tuple[Datum, SerializationContext]:
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


def member(record: Record, name: str) -> Datum:
    """Return a member of the record, a method for confluent-kafka and an attribute for other clients."""
    found = getattr(record, name, None)
    return found() if callable(found) else found


# Values that are no values of their field, and their places: the errors of writing.


def misfit(expected: str, value: object) -> EncodeError:
    """Return the error for a value; :func:`placed` adds the place where it was found."""
    got = shown(value)
    return EncodeError(f"expected {expected}; got {got}", expected=expected, got=got)


def placed(error: EncodeError, part: str) -> EncodeError:
    """Return the error with ``part`` before its path: a field's name, ``[3]`` for an item, ``['a']`` for a key."""
    separator = "." if error.path and not error.path.startswith("[") else ""
    error.path = f"{part}{separator}{error.path}"
    return error
