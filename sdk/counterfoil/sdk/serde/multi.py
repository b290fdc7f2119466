"""Reading topics with records of several formats or types, and the schema languages of messages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Literal, Self

from counterfoil.schema.datum import Datum
from counterfoil.schema.errors import CounterfoilError
from counterfoil.schema.model import Schema, SchemaType
from counterfoil.schema.wire import ID_PREFIX_BYTES, Frame, id_prefix
from counterfoil.sdk.errors import NotFramed, SchemaNotCached, SerdeError
from counterfoil.sdk.processes import PickledByArguments
from counterfoil.sdk.script import Script
from counterfoil.sdk.serde import (
    Headers,
    MessageContext,
    SerializationContext,
    field_of,
    header_name,
    headers_of,
    place,
    read_header,
    topic_of,
)
from counterfoil.sdk.serde.base import Done, RecordReader, chosen, observer
from counterfoil.sdk.serde.codec import AnyCodec
from counterfoil.sdk.serde.deserializer import Decoded, Deserializer
from counterfoil.sdk.serde.plans import PlanTable, ReadPlan
from counterfoil.sdk.serde.reading import OnForbidden, chosen_on_forbidden, fetch_writer, frame_of, of_record
from counterfoil.sdk.serde.sources import AnyRegistry, RegistrySource
from counterfoil.sdk.subjects import Field

if TYPE_CHECKING:
    from counterfoil.sdk.serde.serializer import Serializer
    from counterfoil.sdk.usage import Usage


# The schema languages of messages: one row for each, whose modules are imported when a schema needs them.

_SERDE: Final = "counterfoil.sdk.serde"


@dataclass(frozen=True, slots=True)
class Language:
    """Where the classes of a language are: a module below this package, and a name in it.

    ``plain`` are the options of the codec with which values are plain, and nothing is validated.
    """

    deserializer: tuple[str, str]
    serializer: tuple[str, str]
    codec: tuple[str, str]
    plain: Mapping[str, Datum] = field(default_factory=dict)

    def make_deserializer(self, registry: AnyRegistry, **options: object) -> Deserializer[Datum]:
        """Return a deserializer with these options, and else its defaults."""
        made: Deserializer[Datum] = _named(*self.deserializer)(registry, **options)
        return made

    def make_serializer(self, registry: AnyRegistry, schema: Schema, **options: object) -> Serializer[Datum]:
        """Return a serializer with these options, and else its defaults."""
        made: Serializer[Datum] = _named(*self.serializer)(registry, schema, **options)
        return made

    def plain_codec(self) -> AnyCodec:
        """Return the codec with which any message is read."""
        return self.make_codec(**self.plain)

    def make_codec(self, **options: object) -> AnyCodec:
        """Return the codec with these options."""
        codec: AnyCodec = _named(*self.codec)(**options)
        return codec


LANGUAGES: Final[Mapping[SchemaType, Language]] = {
    SchemaType.AVRO: Language(("avro", "AvroDeserializer"), ("avro", "AvroSerializer"), ("avro", "AvroCodec")),
    SchemaType.JSON: Language(
        ("json", "JsonDeserializer"), ("json", "JsonSerializer"), ("json", "JsonCodec"), {"validate": False}
    ),
    SchemaType.PROTOBUF: Language(
        ("protobuf", "ProtobufDeserializer"),
        ("protobuf", "ProtobufSerializer"),
        ("protobuf.codec", "ProtobufCodec"),
        {"as_dict": True},
    ),
}


def _named(module: str, name: str) -> Any:
    return getattr(import_module(f"{_SERDE}.{module}"), name)


# Reading topics with records of several formats, or of several types with a deserializer each.


class MultiDeserializer(RecordReader["Datum"], PickledByArguments):
    """Reads records of any format, each by the language of its writer's schema.

    ``by_topic`` and ``by_record`` give the deserializer of a topic or of a record's full name; ``by_type`` the one of a
    language, in place of that language's deserializer with its defaults. A topic goes before a name, a name before a
    language. ``on_error`` and ``on_forbidden`` are as for :class:`~counterfoil.sdk.serde.deserializer.Deserializer`.

    One object can be used by all threads, and it raises the errors of its deserializers.
    """

    def __init__(
        self,
        registry: AnyRegistry,
        *,
        by_topic: Mapping[str, Deserializer[Datum]] | None = None,
        by_record: Mapping[str, Deserializer[Datum]] | None = None,
        by_type: Mapping[SchemaType, Deserializer[Datum]] | None = None,
        on_error: Literal["raise", "return"] = "raise",
        on_forbidden: OnForbidden = "raise",
    ) -> None:
        self._on_forbidden: OnForbidden = chosen_on_forbidden(on_forbidden)
        self._registry = registry
        self._source = RegistrySource(registry)
        self._by_topic = dict(by_topic or {})
        self._by_record = dict(by_record or {})
        self._by_type: dict[SchemaType, Deserializer[Datum]] = dict(by_type or {})
        self._returns_errors = chosen("on_error", on_error, ("raise", "return")) == "return"
        self._by_prefix: PlanTable[bytes, Deserializer[Datum]] = PlanTable()
        self._usage: Usage | None = None

    def __call__(self, data: bytes | None, ctx: MessageContext | None = None) -> Datum:
        """Return the value of a message; None for None, a tombstone."""
        if data is None:
            return None
        try:
            return self._deserializer(data, ctx)(data, ctx)
        except SchemaNotCached:
            raise
        except SerdeError as error:
            if self._returns_errors:
                return error
            raise

    def decode(
        self, data: bytes | None, *, topic: str | None = None, field: Field = "value", headers: Headers = None
    ) -> Decoded:
        """Return the value together with the schema with which it was written; for None, a tombstone, all are None."""
        if data is None:
            return Decoded(None, None, None, None, None)
        deserializer = self._deserializer(data, SerializationContext(topic, field, headers))
        return deserializer.decode(data, topic=topic, field=field, headers=headers)

    def read_plan(self, data: bytes, ctx: MessageContext | None) -> ReadPlan:
        """Return the plan of a message."""
        return self._deserializer(data, ctx).read_plan(data, ctx)

    def empty_schema(self) -> Datum:
        """Return None: a table of no records has no columns."""

    @property
    def is_async(self) -> bool:
        """Whether the registry is asynchronous, so that requests are sent by ``warm`` alone."""
        return self._source.is_async

    def warm(
        self,
        *,
        ids: Iterable[int] = (),
        data: bytes | None = None,
        topic: str | None = None,
        field: Field = "value",
        headers: Headers = None,
    ) -> Awaitable[None]:
        """Send the requests for these schema ids, or for this message, now, so that later calls send none.

        With an async registry the result must be awaited; with another one everything is done when the method returns.
        """
        ctx = SerializationContext(topic, field, headers)
        wanted = [*map(id_prefix, ids), *(() if data is None else (data,))]
        if self.is_async:
            return self._warm_all(wanted, ctx)
        for message in wanted:
            typed = self._typed(message, ctx)
            frame = _shortest(typed, message)
            self._deserializer(frame, ctx).warm(data=frame, topic=topic, field=field, headers=headers)
        return Done()

    async def _warm_all(self, wanted: list[bytes], ctx: SerializationContext) -> None:
        for message in wanted:
            typed = await self._source.arun(self._find_typed(message, ctx))
            frame = _shortest(typed, message)
            facts: dict[str, Any] = {"data": frame, "topic": ctx.topic, "field": ctx.field, "headers": ctx.headers}
            await typed.warm(**facts)
            await self._deserializer(frame, ctx).warm(**facts)

    async def arun(self, script: Callable[[], Script[Datum]]) -> None:
        """Run the script of a ``SchemaNotCached`` that a rule raised, and wait for the registry.

        The rule's executor keeps what the script returns, so that the call can be repeated.
        """
        await self._source.arun(script())

    async def warm_origin(self, data: bytes | None, *, topic: str | None, field: Field, headers: Headers) -> None:
        """Send the request of :meth:`decode` for the version, after :meth:`warm` for the same message."""
        if data is None:
            return
        deserializer = self._deserializer(data, SerializationContext(topic, field, headers))
        await deserializer.warm_origin(data, topic=topic, field=field, headers=headers)

    def observe(self, usage: Usage) -> Self:
        """Return this object, whose messages ``usage`` observes from now on, also with the deserializers given."""
        self._usage = observer(usage)
        for deserializer in (*self._by_topic.values(), *self._by_record.values(), *self._by_type.values()):
            deserializer.observe(usage)
        return self

    def close(self) -> None:
        """Close every deserializer, also those that were given; the registry stays open."""
        self._by_prefix.clear()
        for deserializer in (*self._by_topic.values(), *self._by_record.values(), *self._by_type.values()):
            deserializer.close()

    # --- the choice of a deserializer -------------------------------------------------------------------------------

    def _deserializer(self, data: bytes, ctx: MessageContext | None) -> Deserializer[Datum]:
        """Return the deserializer of a message."""
        typed = self._typed(data, ctx)
        if not self._by_record or typed in self._by_topic.values():
            return typed
        return self._by_record.get(typed.record_name(data, ctx) or "", typed)

    def _typed(self, data: bytes, ctx: MessageContext | None) -> Deserializer[Datum]:
        """Return the deserializer of the topic, or of the language of the writer's schema."""
        if not headers_of(ctx) and not self._by_topic:
            try:
                found = self._by_prefix.found.get(data[:ID_PREFIX_BYTES])
            except (TypeError, ValueError):  # not bytes, or mutable bytes, which cannot be a key
                found = None
            if found is not None:
                return found
        return self._source.run(self._find_typed(data, ctx))

    def _find_typed(self, data: object, ctx: MessageContext | None) -> Script[Deserializer[Datum]]:
        frame: Frame | None = None
        try:
            own = self._by_topic.get(topic_of(ctx) or "")
            if own is not None:
                return own
            if not isinstance(data, (bytes, bytearray, memoryview)):
                raise NotFramed(f"The message is a {type(data).__name__}; expected bytes")
            headers = headers_of(ctx)
            named = read_header(headers, header_name(field_of(ctx))) if headers else None
            framed = bytes(data) if named is None else named
            frame = frame_of(framed)
            key = framed[: frame.offset]
            found = self._by_prefix.found.get(key)
            if found is None:
                with of_record(self._on_forbidden):
                    schema = yield from fetch_writer(self._source.calls, frame)
                found = self._by_prefix.put(key, self._of_type(schema.schema_type))
        except CounterfoilError as error:
            place(error, ctx, schema_id=frame.schema_id if frame else None, data=_bytes_of(data))
            raise
        return found

    def _of_type(self, schema_type: SchemaType) -> Deserializer[Datum]:
        found = self._by_type.get(schema_type)
        if found is None:
            made = LANGUAGES[schema_type].make_deserializer(self._registry, on_forbidden=self._on_forbidden)
            if self._usage is not None:
                made.observe(self._usage)
            found = self._by_type.setdefault(schema_type, made)
        return found


def _shortest(typed: Deserializer[Datum], message: bytes) -> bytes:
    """Return the message, with the shortest suffix of its format if it is nothing but an id."""
    return typed.shortest_frame(message) if len(message) == ID_PREFIX_BYTES else message


def _bytes_of(data: object) -> bytes | None:
    return bytes(data) if isinstance(data, (bytes, bytearray, memoryview)) else None
