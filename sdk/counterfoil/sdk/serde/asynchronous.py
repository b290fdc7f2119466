"""Serializers for programs with an event loop: a schema is awaited once, and nothing for later messages.

They are made of a serializer or deserializer with an ``AsyncRegistry``. That object can also be called itself, without
await, where a framework requires it; it raises ``SchemaNotCached`` until ``warm`` was awaited.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping, MutableMapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final, Generic, Self, TypeVar

from counterfoil.schema.datum import Datum
from counterfoil.schema.errors import Forbidden
from counterfoil.sdk.errors import InvalidSettings, SchemaNotCached, SerdeError
from counterfoil.sdk.serde import (
    Headers,
    MessageContext,
    Record,
    SerializationContext,
    field_of,
    headers_of,
    place_denial,
    read_record,
    topic_of,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from counterfoil.sdk.serde.deserializer import Decoded, Deserializer
    from counterfoil.sdk.serde.multi import MultiDeserializer
    from counterfoil.sdk.serde.serializer import Serializer
    from counterfoil.sdk.subjects import Field


_MOST_REQUESTS: Final = 100
"""How often a message is tried at most: besides its schema, each of its rules may need something of the registry."""

R = TypeVar("R")
T_contra = TypeVar("T_contra", contravariant=True)
T_co = TypeVar("T_co", covariant=True)
S = TypeVar("S", bound="Serializer[Datum] | Deserializer[Datum] | MultiDeserializer")


class _AsyncSerde(Generic[S]):
    """The common part of asynchronous serializers and deserializers; ``sync`` is the one that they are made of."""

    def __init__(self, serde: S) -> None:
        if not serde.is_async:
            problem = "The registry is not asynchronous; expected an AsyncRegistry"
            raise InvalidSettings(problem, setting="registry")
        self.sync: S = serde

    def build(self, conf: Mapping[str, object], is_key: bool) -> tuple[Self, dict[str, Datum]]:  # noqa: FBT001 - the signature of confluent-kafka's builders
        """Return this object and the settings that remain, as confluent-kafka's builders do."""
        del is_key
        return self, dict(conf)

    async def aclose(self) -> None:
        """Remove every plan; the registry, which others may use, stays open."""
        self.sync.close()

    async def _awaited(self, call: Callable[[], R], warm: Callable[[], Awaitable[None]]) -> R:
        """Return the result of a call, after the requests that it needs: for schemas by ``warm``, for rules."""
        for _ in range(_MOST_REQUESTS):
            try:
                return call()
            except SchemaNotCached as error:
                await (warm() if error.script is None else self.sync.arun(error.script))
        return call()

    def __await__(self) -> Generator[None, None, Self]:
        """Return this object: confluent-kafka's asynchronous serializers are constructed with ``await``."""
        yield from ()
        return self


class AsyncSerializer(_AsyncSerde["Serializer[T_contra]"], Generic[T_contra]):
    """Serializes for the tasks of an event loop."""

    async def __call__(self, value: T_contra | None, ctx: MessageContext | None = None) -> bytes | None:
        """Return the message for ``value``; raises the errors of the serializer, but never ``SchemaNotCached``."""
        try:
            return self.sync(value, ctx)
        except SchemaNotCached:
            return await self._awaited(
                lambda: self.sync(value, ctx), lambda: self.sync.warm(topic=topic_of(ctx), field=field_of(ctx))
            )


class AsyncDeserializer(_AsyncSerde["Deserializer[T_co] | MultiDeserializer"], Generic[T_co]):
    """Deserializes for the tasks of an event loop."""

    async def __call__(self, data: bytes | None, ctx: MessageContext | None = None) -> T_co | None:
        """Return the value of a message; raises the errors of the deserializer, but never ``SchemaNotCached``."""
        try:
            return self.sync(data, ctx)
        except SchemaNotCached:
            return await self._awaited(lambda: self.sync(data, ctx), lambda: self._warm(data, ctx))

    async def read(self, record: Record, *, topic: str | None = None, field: Field = "value") -> T_co | None:
        """Return the key or the value of a record of a Kafka client, by its own topic and headers."""
        data, ctx = read_record(record, topic, field)
        try:
            return await self(data, ctx)
        except Forbidden as error:
            place_denial(error, record, ctx)
            raise

    async def decode(
        self, data: bytes | None, *, topic: str | None = None, field: Field = "value", headers: Headers = None
    ) -> Decoded:
        """Return the value together with the schema with which it was written."""
        await self.sync.warm(data=data, topic=topic, field=field, headers=headers)
        await self.sync.warm_origin(data, topic=topic, field=field, headers=headers)
        return await self._awaited(
            lambda: self.sync.decode(data, topic=topic, field=field, headers=headers),
            lambda: self._warm(data, SerializationContext(topic, field, headers)),
        )

    async def many(self, records: Iterable[Record], *, topic: str | None = None, field: Field = "value") -> list[Datum]:
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
        reader = self.sync.table_reader(topic=topic, field=field, errors=errors)
        while reader.count < len(kept):
            with suppress(SchemaNotCached):
                reader.read(kept[reader.count :])
                break
            record = kept[reader.count]
            warm = partial(self._warm, *read_record(record, topic, field))
            try:
                await self._awaited(partial(reader.read, [record]), warm)
            except SchemaNotCached:
                raise
            except SerdeError as error:
                reader.read([error])
        return reader.table(schema, self.sync.empty_schema)

    async def _warm(self, data: bytes | None, ctx: MessageContext | None) -> None:
        await self.sync.warm(data=data, topic=topic_of(ctx), field=field_of(ctx), headers=headers_of(ctx))

    async def _value_or_error(self, record: Record, topic: str | None, field: Field) -> Datum:
        try:
            return await self.read(record, topic=topic, field=field)
        except SerdeError as error:
            return error
