"""Records with their key and value or the error in their place, dead letters, and the headers of both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypedDict, TypeVar

from counterfoil.sdk.errors import SchemaNotCached, SerdeError
from counterfoil.sdk.serde import SerializationContext, header_name, member

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from counterfoil.schema.datum import Datum
    from counterfoil.sdk.serde import Headers, Record
    from counterfoil.sdk.serde.asynchronous import AsyncDeserializer
    from counterfoil.sdk.serde.base import RecordReader
    from counterfoil.sdk.subjects import Field


# Records with deserialized keys and values, or with the error in their place.

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Consumed:
    """A ``record`` of a Kafka client with its ``key`` and ``value``; with an ``error`` both are None.

    The error is a ``SerdeError``, or the one that the client reports in place of a record.
    """

    record: Datum
    key: Datum = None
    value: Datum = None
    error: Exception | None = None


@dataclass(frozen=True, slots=True)
class KeyValueReader:
    """How keys and values are read; without a deserializer they stay bytes."""

    key: RecordReader[Datum] | None
    value: RecordReader[Datum] | None

    def read(self, record: Record) -> Consumed:
        """Return the record with its key and value, or with the error of one of them.

        Raises any error that is not the record's, such as ``RegistryUnavailable``.
        """
        try:
            return _consumed(record, _read(self.key, record, "key"), _read(self.value, record, "value"))
        except SchemaNotCached:
            raise
        except SerdeError as error:
            return Consumed(record, error=error)

    def read_all(self, records: Sequence[R], rewind: Callable[[R], None]) -> list[Consumed]:
        """Return the records, read in order.

        If one cannot be read now, since the registry cannot be reached, ``rewind`` is called with the first record of
        each partition before the error is raised, so that the client returns the same records once more.
        """
        try:
            return [self.read(record) for record in records]
        except Exception:
            _rewind_all(records, rewind)
            raise


@dataclass(frozen=True, slots=True)
class AsyncKeyValueReader:
    """:class:`KeyValueReader` for programs with an event loop."""

    key: AsyncDeserializer[Datum] | None
    value: AsyncDeserializer[Datum] | None

    async def read(self, record: Record) -> Consumed:
        """Return the record with its key and value, or with the error of one of them."""
        try:
            key = member(record, "key") if self.key is None else await self.key.read(record, field="key")
            value = member(record, "value") if self.value is None else await self.value.read(record)
        except SerdeError as error:
            return Consumed(record, error=error)
        return _consumed(record, key, value)

    async def read_all(self, records: Sequence[R], rewind: Callable[[R], None]) -> list[Consumed]:
        """Return the records, read in order; ``rewind`` is as for :meth:`KeyValueReader.read_all`."""
        try:
            return [await self.read(record) for record in records]
        except BaseException:  # a cancelled task has not processed the records either
            _rewind_all(records, rewind)
            raise


def _consumed(record: Record, key: object, value: object) -> Consumed:
    """Return the record; a deserializer with ``on_error="return"`` has returned its error as the key or the value."""
    for found in (key, value):
        if isinstance(found, SerdeError):
            return Consumed(record, error=found)
    return Consumed(record, key, value)


def _rewind_all(records: Iterable[R], rewind: Callable[[R], None]) -> None:
    """Call ``rewind`` with the first record of each partition."""
    first: dict[tuple[Datum, Datum], R] = {}
    for record in records:
        first.setdefault((member(record, "topic"), member(record, "partition")), record)
    for record in first.values():
        rewind(record)


def _read(deserializer: RecordReader[Datum] | None, record: Record, field: Field) -> Datum:
    return member(record, field) if deserializer is None else deserializer.read(record, field=field)


# The headers of records that are consumed, and of those that are made of them.


def header_pairs(headers: Headers) -> Iterable[tuple[str, bytes | None]]:
    """Return headers of any form as pairs."""
    return headers.items() if hasattr(headers, "items") else headers or ()


def new_context(topic: str | None, field: Field, headers: list[tuple[str, bytes | None]]) -> SerializationContext:
    """Return the context of a key or a value that is serialized anew.

    A schema id in ``headers``, which may be those of a consumed record, is removed: it does not fit the new bytes.
    """
    headers[:] = [pair for pair in headers if pair[0] != header_name(field)]
    return SerializationContext(topic, field, headers)


# Dead letters: records that could not be read, unchanged, with headers that give the reason.

ERROR: Final = "counterfoil.error"
"""The class of the error, such as ``DecodeError``."""
ERROR_FIELD: Final = "counterfoil.error.field"
"""The half of the record that could not be read: ``key`` or ``value``."""
ERROR_TEXT: Final = "counterfoil.error.text"
"""The error as a sentence."""
SOURCE: Final = "counterfoil.src"
"""The position of the record: ``topic/partition/offset``."""


class DeadLetter(TypedDict):
    """The arguments of a client's ``produce`` or ``send``, besides the topic."""

    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]


def dead_letter(record: object, error: BaseException) -> DeadLetter:
    """Return the record as it was consumed, with the ``error`` in its headers.

    ``record`` is one of confluent-kafka, aiokafka or kafka-python whose key and value are still bytes. Use it as in
    ``producer.produce("rides.dead-letters", **dead_letter(record, error))``.
    """
    key, value = member(record, "key"), member(record, "value")
    return DeadLetter(key=key, value=value, headers=[*header_pairs(member(record, "headers")), *_reason(record, error)])


def _reason(record: object, error: BaseException) -> list[tuple[str, bytes | None]]:
    place = "/".join(str(member(record, name)) for name in ("topic", "partition", "offset"))
    facts = {
        ERROR: type(error).__name__,
        ERROR_FIELD: getattr(error, "field", None) or "",
        ERROR_TEXT: str(error),
        SOURCE: place,
    }
    return [(name, text.encode()) for name, text in facts.items()]


# Null where a framework needs bytes: several measure the length of each value, or have no null of their own.


class NullBytes(bytes):
    """No bytes, which stand for null until the Kafka client is called."""

    __slots__ = ()


NULL: Final = NullBytes()
