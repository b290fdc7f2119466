"""Records with deserialized keys and values, or with the error in their place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from counterfoil.sdk.errors import SchemaNotCached, SerdeError
from counterfoil.sdk.serde.places import member

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from counterfoil.sdk.serde.asynchronous import AsyncDeserializer
    from counterfoil.sdk.serde.places import Record
    from counterfoil.sdk.serde.records import RecordReader
    from counterfoil.sdk.subjects import Field

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Consumed:
    """A ``record`` of a Kafka client with its ``key`` and ``value``; with an ``error`` both are None.

    The error is a ``SerdeError``, or what the client reports in place of a record.
    """

    record: Any
    key: Any = None
    value: Any = None
    error: Exception | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """How keys and values are read; without a deserializer they stay bytes."""

    key: RecordReader[Any] | None
    value: RecordReader[Any] | None

    def read(self, record: Record) -> Consumed:
        """Return the record with its key and value, or with the error of one of them.

        Raises what is not the record's error, such as ``RegistryUnavailable``.
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
class AsyncReading:
    """:class:`Reading` for programs with an event loop."""

    key: AsyncDeserializer[Any] | None
    value: AsyncDeserializer[Any] | None

    async def read(self, record: Record) -> Consumed:
        """Return the record with its key and value, or with the error of one of them."""
        try:
            key = member(record, "key") if self.key is None else await self.key.read(record, field="key")
            value = member(record, "value") if self.value is None else await self.value.read(record)
        except SerdeError as error:
            return Consumed(record, error=error)
        return _consumed(record, key, value)

    async def read_all(self, records: Sequence[R], rewind: Callable[[R], None]) -> list[Consumed]:
        """Return the records, read in order; ``rewind`` is as for :meth:`Reading.read_all`."""
        try:
            return [await self.read(record) for record in records]
        except BaseException:  # a cancelled task has not processed the records either
            _rewind_all(records, rewind)
            raise


def _consumed(record: Record, key: Any, value: Any) -> Consumed:
    """Return the record; a deserializer with ``on_error="return"`` has returned its error as the key or the value."""
    for found in (key, value):
        if isinstance(found, SerdeError):
            return Consumed(record, error=found)
    return Consumed(record, key, value)


def _rewind_all(records: Iterable[R], rewind: Callable[[R], None]) -> None:
    """Call ``rewind`` with the first record of each partition."""
    first: dict[tuple[Any, Any], R] = {}
    for record in records:
        first.setdefault((member(record, "topic"), member(record, "partition")), record)
    for record in first.values():
        rewind(record)


def _read(deserializer: RecordReader[Any] | None, record: Record, field: Field) -> Any:
    return member(record, field) if deserializer is None else deserializer.read(record, field=field)
