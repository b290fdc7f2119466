"""Serializers for programs with an event loop: a schema is awaited once, and nothing for later messages.

They are made of a serializer or deserializer with an ``AsyncRegistry``. That object can also be called itself, without
await, where a framework requires it; it raises ``SchemaNotCached`` until ``warm`` was awaited.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from counterfoil.sdk.errors import InvalidSettings, SchemaNotCached, SerdeError
from counterfoil.sdk.serde.context import field_of, headers_of, topic_of
from counterfoil.sdk.serde.records import read_record

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, MutableMapping

    import pyarrow as pa

    from counterfoil.sdk.serde.context import Headers, MessageContext
    from counterfoil.sdk.serde.deserializer import Decoded, Deserializer
    from counterfoil.sdk.serde.multi import MultiDeserializer
    from counterfoil.sdk.serde.records import Record
    from counterfoil.sdk.serde.serializer import Serializer
    from counterfoil.sdk.subjects import Field

T_contra = TypeVar("T_contra", contravariant=True)
T_co = TypeVar("T_co", covariant=True)


class AsyncSerializer(Generic[T_contra]):
    """Serializes for the tasks of an event loop."""

    def __init__(self, serializer: Serializer[T_contra]) -> None:
        _check(serializer)
        self.sync = serializer

    async def __call__(self, value: T_contra | None, ctx: MessageContext | None = None) -> bytes | None:
        """Return the message for ``value``; raises what the serializer raises, but never ``SchemaNotCached``."""
        try:
            return self.sync(value, ctx)
        except SchemaNotCached:
            await self.sync.warm(topic=topic_of(ctx), field=field_of(ctx))
        return self.sync(value, ctx)

    def __await__(self) -> Generator[None, None, Self]:
        """Return the serializer: confluent-kafka's asynchronous serializers are constructed with ``await``."""
        yield from ()
        return self


class AsyncDeserializer(Generic[T_co]):
    """Deserializes for the tasks of an event loop."""

    def __init__(self, deserializer: Deserializer[T_co] | MultiDeserializer) -> None:
        _check(deserializer)
        self.sync = deserializer

    async def __call__(self, data: bytes | None, ctx: MessageContext | None = None) -> T_co | None:
        """Return the value of a message; raises what the deserializer raises, but never ``SchemaNotCached``."""
        try:
            return self.sync(data, ctx)
        except SchemaNotCached:
            await self.sync.warm(data=data, topic=topic_of(ctx), field=field_of(ctx), headers=headers_of(ctx))
        return self.sync(data, ctx)

    async def read(self, record: Record, *, topic: str | None = None, field: Field = "value") -> T_co | None:
        """Return the key or the value of a record of a Kafka client, by its own topic and headers."""
        return await self(*read_record(record, topic, field))

    async def decode(
        self, data: bytes, *, topic: str | None = None, field: Field = "value", headers: Headers = None
    ) -> Decoded:
        """Return the value together with the schema with which it was written."""
        await self.sync.warm(data=data, topic=topic, field=field, headers=headers)
        await self.sync.warm_origin(data, topic=topic, field=field, headers=headers)
        return self.sync.decode(data, topic=topic, field=field, headers=headers)

    async def many(self, records: Iterable[Record], *, topic: str | None = None, field: Field = "value") -> list[Any]:
        """Return the values of many records, in order; each that cannot be read is replaced by its error."""
        return [await self._value_or_error(record, topic, field) for record in records]

    async def arrow(
        self,
        records: Iterable[Record],
        *,
        topic: str | None = None,
        field: Field = "value",
        schema: pa.Schema | None = None,
        errors: MutableMapping[int, SerdeError] | None = None,
    ) -> pa.Table:
        """Return the values of many records as an Arrow table, as the deserializer's ``arrow`` does."""
        kept = list(records)
        while True:
            try:
                return self.sync.arrow(kept, topic=topic, field=field, schema=schema, errors=errors)
            except SchemaNotCached as error:
                await self._warm(kept, error, topic, field)

    async def _warm(self, records: list[Record], missing: SchemaNotCached, topic: str | None, field: Field) -> None:
        """Send the requests for the first record without a schema, whose bytes are in the error."""
        for record in records:
            data, ctx = read_record(record, topic, field)
            if data is not None and bytes(data) == missing.data:
                await self.sync.warm(data=data, topic=ctx.topic, field=field, headers=ctx.headers)
                return
        raise missing

    async def _value_or_error(self, record: Record, topic: str | None, field: Field) -> Any:
        try:
            return await self.read(record, topic=topic, field=field)
        except SerdeError as error:
            return error

    def __await__(self) -> Generator[None, None, Self]:
        """Return the deserializer: confluent-kafka's asynchronous deserializers are constructed with ``await``."""
        yield from ()
        return self


def _check(serde: Serializer[Any] | Deserializer[Any] | MultiDeserializer) -> None:
    if not serde.is_async:
        problem = "The registry is not asynchronous; expected an AsyncRegistry"
        raise InvalidSettings(problem, setting="registry")
