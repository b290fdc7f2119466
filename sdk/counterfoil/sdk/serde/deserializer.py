"""Deserializing framed messages of any format."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Self, TypeAlias, TypeVar

from counterfoil.schema.errors import CounterfoilError, SchemaNotFound, SubjectNotFound, VersionNotFound
from counterfoil.schema.wire import ID_PREFIX_BYTES, id_prefix
from counterfoil.sdk.errors import DecodeError, NotFramed, SchemaNotCached, SerdeError, SubjectUnresolved
from counterfoil.sdk.serde import SerializationContext, field_of, header_name, headers_of, place, read_header, topic_of
from counterfoil.sdk.serde.base import (
    Done,
    RecordReader,
    Serde,
    chosen,
    chosen_function,
    chosen_naming,
    chosen_schema,
    observer,
    replaceable,
    use_defined_call,
    use_deserializer_call,
    with_entry,
)
from counterfoil.sdk.serde.plans import Planner, PlanTable, ReadPlan
from counterfoil.sdk.serde.reading import ReadResolver, read_header_of
from counterfoil.sdk.serde.rules import settings as keys
from counterfoil.sdk.serde.rules.settings import DEFAULT_RULES, chosen_rules
from counterfoil.sdk.serde.sources import RegistrySource
from counterfoil.sdk.subjects import TOPIC, find_subject

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable
    from uuid import UUID

    from counterfoil.schema.datum import Datum
    from counterfoil.schema.model import Schema
    from counterfoil.sdk.script import Script
    from counterfoil.sdk.serde import Headers, MessageContext
    from counterfoil.sdk.serde.codec import AnyCodec, Decode
    from counterfoil.sdk.serde.plans import Build
    from counterfoil.sdk.serde.reading import Latest, MessageFrame, OnForbidden
    from counterfoil.sdk.serde.rules.settings import Rules
    from counterfoil.sdk.serde.sources import AnyRegistry
    from counterfoil.sdk.subjects import Field, SubjectNaming
    from counterfoil.sdk.usage import Usage


if TYPE_CHECKING:
    import typing_extensions

    T_co = typing_extensions.TypeVar("T_co", covariant=True, default=Any)
else:
    T_co = TypeVar("T_co", covariant=True)
"""The class of the values; for type checkers ``Any`` unless a model names it."""
_Origin: TypeAlias = tuple[str | None, int | None]
"""A subject and a version of it; None for what is not known."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """A value, and the schema with which it was written.

    ``schema_id`` is None for a record that names its schema by guid alone. ``subject`` is the subject of the subject
    strategy, and ``version`` the version of it that has the writer's schema; both are None when they cannot be
    determined. ``guid`` is None for a deserializer without a registry.
    """

    value: Datum
    schema_id: int | None
    guid: UUID | None
    subject: str | None
    version: int | None


class Deserializer(RecordReader[T_co], Serde):
    """Reads framed messages with a codec and the schema that the frame or a header names.

    ``reader`` is the schema of the values. With ``latest`` it is the latest version of the record's subject, or with
    ``{"metadata": {…}}`` the latest that has these properties; it is requested again within ``latest_ttl_s``, in the
    background. ``from_dict(value, ctx)`` turns values into objects. ``id_location="prefix"`` ignores the headers of
    records. With ``on_error="return"`` a record that cannot be read gives its error as the value. A schema that the
    registry does not let the program read raises ``Forbidden``, whose text names the record; with
    ``on_forbidden="record"`` it is an error of the record, ``SchemaForbidden``, as an unknown id is. Without a
    ``registry`` every message is read with the reader's schema, whatever its frame says. ``rules`` is how the rules of
    schemas are run.

    One object can be used by all threads. A schema is requested once; unknown ids and damaged data are errors of the
    record, while ``RegistryUnavailable`` means that the same record may be read later, and is always raised.
    """

    def __init__(
        self,
        codec: AnyCodec,
        registry: AnyRegistry | None,
        *,
        reader: str | Schema | None = None,
        latest: Latest = False,
        subject: SubjectNaming | str = TOPIC,
        id_location: Literal["any", "prefix"] = "any",
        from_dict: Callable[[Datum, Datum], Datum] | None = None,
        on_error: Literal["raise", "return"] = "raise",
        on_forbidden: OnForbidden = "raise",
        latest_ttl_s: float = 60.0,
        rules: Rules = DEFAULT_RULES,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._codec = codec
        self._resolver = ReadResolver(
            codec,
            reader=chosen_schema("reader", reader, codec.schema_type),
            latest=latest,
            subject=chosen_naming(subject),
            has_registry=registry is not None,
            rules=chosen_rules(rules),
            on_forbidden=on_forbidden,
        )
        super().__init__(RegistrySource(registry), self._resolver)
        self._from_dict = chosen_function("from_dict", from_dict)
        self._clock = clock
        self._reads_headers = chosen("id_location", id_location, ("any", "prefix")) == "any"
        self._returns_errors = chosen("on_error", on_error, ("raise", "return")) == "return"
        self._plans: Planner[Any, ReadPlan] = Planner(
            self._source, ttl_s=latest_ttl_s if self._resolver.is_latest else None, clock=clock
        )
        self._origins: PlanTable[Any, _Origin] = PlanTable()
        self._prefix_size = ID_PREFIX_BYTES + codec.suffix_size
        self._is_latest = self._resolver.is_latest
        self._is_bare = from_dict is None and not self._returns_errors and not keys.NEED.is_there
        self._is_plain = self._is_bare and not self._is_latest
        self._usage: Usage | None = None
        self._ready: dict[bytes, Decode] = {}
        """What a call needs of a plan, if that is all it needs; replaced and never changed, as the plans are."""
        self._sizes: tuple[int, ...] = ()
        """The sizes of the prefixes in ``_ready``: several for Protobuf. No prefix is the beginning of another."""
        self._named_ready: dict[bytes, Decode] = {}
        """The same for records whose schema is named by the value of a header."""
        keys.NEED.join(self)

    @replaceable
    def __call__(self, data: bytes | None, ctx: MessageContext | None = None) -> T_co | None:
        """Return the value of a message; None for None, a tombstone.

        Raises ``NotFramed``, ``TruncatedFrame``, ``UnknownSchemaId``, ``DecodeError`` (with offset and path),
        ``ValidationError`` (JSON), ``RuleError`` (a rule of the schema), all of them with topic, field, schema id and
        data, the registry's errors, and with an async registry ``SchemaNotCached``.
        """
        if data is None:
            return None
        try:
            decode = self._ready.get(data[: self._prefix_size])
            if decode is not None and (ctx is None or not ctx.headers):  # type: ignore[attr-defined]  # some contexts have headers
                value: T_co = decode(data, self._prefix_size)
                return value
        except (AttributeError, TypeError, ValueError):  # such as data that cannot be a key
            pass
        except SerdeError as error:
            plan = self._plans.found.get(data[: self._prefix_size])  # None where it was removed meanwhile
            self._raise_placed(error, ctx, plan.schema_id if plan else None, data)
        other: T_co = self._latest_value(data, ctx) if self._is_latest else self._value(data, ctx)
        return other

    def decode(
        self,
        data: bytes | None,
        *,
        topic: str | None = None,
        field: Field = "value",
        headers: Headers = None,
    ) -> Decoded:
        """Return the value together with the schema with which it was written; for None, a tombstone, all are None.

        One more request per schema fetches the version. Raises the same errors as calling the deserializer.
        """
        if data is None:
            return Decoded(None, None, None, None, None)
        ctx = SerializationContext(topic, field, headers)
        plan, bare = self._plan(data, ctx, self._named(ctx))
        value = self._decoded(plan, bare, ctx)
        subject, version = self._source.run(self._origin(plan, topic, field))
        return Decoded(value, plan.schema_id, plan.guid, subject, version)

    def read_plan(self, data: bytes, ctx: MessageContext | None) -> ReadPlan:
        """Return the plan of a message."""
        return self._plan(data, ctx, self._named(ctx))[0]

    def empty_schema(self) -> Datum:
        """Return the Arrow schema of a table of no records: the reader's, if there is one, else None."""
        source = self._source.run(self._resolver.reader_rows(self._source.calls))
        return None if source is None else source.schema()

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
        wanted: list[tuple[bytes, bytes | None]] = [(self.shortest_frame(id_prefix(each)), None) for each in ids]
        if data is not None:
            wanted.append((data, self._named(ctx)))
        if self._source.is_async:
            return self._warm_all(wanted, ctx)
        for message, named in wanted:
            self._found(message, named, ctx, with_rules=topic is not None)
        return Done()

    async def warm_origin(self, data: bytes | None, *, topic: str | None, field: Field, headers: Headers) -> None:
        """Send the request of :meth:`decode` for the version, after :meth:`warm` for the same message."""
        if data is None:
            return
        ctx = SerializationContext(topic, field, headers)
        plan, _ = self._plan(data, ctx, self._named(ctx))
        await self._source.arun(self._origin(plan, topic, field))

    def shortest_frame(self, prefix: bytes) -> bytes:
        """Return the frame of an id; for Protobuf it names the first message of the schema."""
        return prefix + bytes(self._codec.suffix_size)

    def record_name(self, data: bytes, ctx: MessageContext | None = None) -> str | None:
        """Return the full name of the type of a message's value; None if it has none."""
        return self._plan(data, ctx, self._named(ctx))[0].record_name

    async def _warm_all(self, wanted: list[tuple[bytes, bytes | None]], ctx: SerializationContext) -> None:
        for data, named in wanted:
            header: MessageFrame | None = None
            try:
                header = read_header_of(self._codec, data, named=named)
                await self._warm_plan(header, ctx, is_named=named is not None)
            except CounterfoilError as error:
                self._raise_placed(error, ctx, header.frame.schema_id if header else None, data)

    async def _warm_plan(self, header: MessageFrame, ctx: SerializationContext, *, is_named: bool) -> None:
        key, build = self._script(header, ctx.topic, field_of(ctx), is_named=is_named)
        await self._plans.warm(key, build)
        if ctx.topic is not None and self._plans.found[key].needs_topic:
            await self._plans.warm(*self._script(header, ctx.topic, field_of(ctx), is_named=is_named, for_topic=True))

    def observe(self, usage: Usage) -> Self:
        """Return this object, whose messages ``usage`` observes from now on; call it before the first message."""
        self._usage = observer(usage)
        self.forget_short_ways()
        self._plans.clear()
        return self

    def forget_short_ways(self) -> None:
        """Handle every record on the way that keeps keys for the rules of values, where they are needed."""
        self._ready, self._sizes, self._named_ready = {}, (), {}
        use_defined_call(self)
        if keys.NEED.is_there:
            self._is_bare = self._is_plain = False

    def close(self) -> None:
        """Remove every plan; the registry and the rules' executors, which others may use, stay open."""
        self.forget_short_ways()
        self._plans.clear()
        self._origins.clear()
        self._resolver.clear()

    def _has_short_way(self, plan: ReadPlan) -> bool:
        """Return whether a call needs nothing of the plan but its decoder."""
        return self._is_plain and plan.is_direct

    # --- the slow path ----------------------------------------------------------------------------------------------

    def _value(self, data: bytes, ctx: MessageContext | None) -> Datum:
        try:
            named = self._named(ctx)
            found = self._found_short_way(data, named) if data.__class__ is bytes else None
            if found is not None:
                return self._decoded_shortly(*found, data, ctx)
            plan, bare = self._plan(data, ctx, named)
            if self._has_short_way(plan):
                self._add_short_way(plan, bare, named)
            return self._decoded(plan, bare, ctx)
        except SerdeError as error:
            if self._returns_errors and not isinstance(error, SchemaNotCached):
                return error
            raise

    def _found_short_way(self, data: bytes, named: bytes | None) -> tuple[Decode, bytes, int] | None:
        """Return the decoder of a message that needs nothing else, its prefix or header, and the offset of its body."""
        if named is not None:
            decode = self._named_ready.get(named)
            return None if decode is None else (decode, named, 0)
        for size in self._sizes:
            decode = self._ready.get(data[:size])
            if decode is not None:
                return decode, data[:size], size
        return None

    def _decoded_shortly(
        self, decode: Decode, prefix: bytes, offset: int, data: bytes, ctx: MessageContext | None
    ) -> Datum:
        try:
            return decode(data, offset)
        except SerdeError as error:
            plan = self._plans.found.get(prefix if offset else (prefix,))  # None where it was removed meanwhile
            self._raise_placed(error, ctx, plan.schema_id if plan else None, data)

    def _add_short_way(self, plan: ReadPlan, data: bytes, named: bytes | None) -> None:
        if named is not None:
            self._named_ready = with_entry(self._named_ready, named, plan.decode)
            return
        prefix = data[: plan.offset]
        if prefix not in self._ready:
            self._ready = with_entry(self._ready, prefix, plan.decode)
            self._sizes = tuple(sorted({len(each) for each in self._ready}))
            if self._sizes == (self._prefix_size,):
                use_deserializer_call(self, self._ready, self._prefix_size)

    def _latest_value(self, data: bytes, ctx: Any) -> Datum:
        """Return the value by the plan of its topic and its prefix, if that is all it needs and the plan is not due."""
        try:
            plan = self._plans.found[ctx.topic, ctx.field, False, data[: self._prefix_size]]
            if (
                plan.rules is None
                and self._clock() < plan.due_s
                and self._is_bare
                and not getattr(ctx, "headers", None)
            ):
                return plan.decode(data, self._prefix_size)
        except (AttributeError, LookupError, TypeError, ValueError):
            pass
        except SerdeError as error:
            self._raise_placed(error, ctx, plan.schema_id, data)
        return self._value(data, ctx)

    def _decoded(self, plan: ReadPlan, data: bytes, ctx: MessageContext | None) -> Datum:
        try:
            rules = plan.rules
            value = plan.decode(data, plan.offset) if rules is None else rules.read(data, plan.offset, ctx)
            return value if self._from_dict is None else self._converted(self._from_dict, value, ctx)
        except SerdeError as error:
            self._raise_placed(error, ctx, plan.schema_id, data)
        finally:
            if keys.NEED.is_there:
                keys.keep(ctx, data)

    def _converted(
        self, from_dict: Callable[[Datum, Datum], Datum], value: object, ctx: MessageContext | None
    ) -> Datum:
        try:
            return from_dict(value, ctx)
        except Exception as error:
            raise DecodeError(f"from_dict failed: {type(error).__name__}: {error}") from error

    def _raise_placed(
        self, error: CounterfoilError, ctx: MessageContext | None, schema_id: int | None, data: bytes
    ) -> NoReturn:
        subject = self._resolver.subject_of(topic_of(ctx), field_of(ctx))
        place(error, ctx, subject=subject, schema_id=schema_id, data=data)
        raise error from error.__cause__  # what a fast way raised before is not shown

    def _plan(self, data: object, ctx: MessageContext | None, named: bytes | None) -> tuple[ReadPlan, bytes]:
        """Return the read plan of the message, and the message as bytes; ``named`` is the header with its schema."""
        if not isinstance(data, (bytes, bytearray, memoryview)):
            problem = f"The message is a {type(data).__name__}; expected bytes"
            raise NotFramed(problem, topic=topic_of(ctx), field=field_of(ctx))
        bare = bytes(data)
        return self._found(bare, named, ctx), bare

    def _found(
        self, data: bytes, named: bytes | None, ctx: MessageContext | None, *, with_rules: bool = True
    ) -> ReadPlan:
        """Return the read plan of a message whose schema is in ``named``, the value of a header, or in its prefix."""
        header: MessageFrame | None = None
        try:
            header = read_header_of(self._codec, data, named=named)
            topic, field, is_named = topic_of(ctx), field_of(ctx), named is not None
            plan = self._plans.get(*self._script(header, topic, field, is_named=is_named))
            if plan.needs_topic and with_rules:
                plan = self._plans.get(*self._script(header, topic, field, is_named=is_named, for_topic=True))
        except CounterfoilError as error:
            self._raise_placed(error, ctx, header.frame.schema_id if header else None, data)
        return plan

    def _named(self, ctx: MessageContext | None) -> bytes | None:
        """Return the header of the record that names its schema."""
        headers = headers_of(ctx) if self._reads_headers else None
        return read_header(headers, header_name(field_of(ctx))) if headers else None

    def _script(
        self, header: MessageFrame, topic: str | None, field: Field, *, is_named: bool, for_topic: bool = False
    ) -> tuple[Datum, Build[ReadPlan]]:
        """Return the key of a plan and the script that makes it; a prefix alone is the key that a call looks up."""

        def build(*, refresh: bool) -> Script[ReadPlan]:
            script = self._resolver.plan(self._source, header, topic, field, refresh=refresh, for_topic=for_topic)
            return script if self._usage is None else self._usage.observed(self._source.calls, script)

        if for_topic or self._resolver.is_latest:
            return (topic, field, is_named, header.prefix), build
        return ((header.prefix,) if is_named else header.prefix), build

    def _origin(self, plan: ReadPlan, topic: str | None, field: Field) -> Script[_Origin]:
        """Return the subject of a record, and the version of it that has the writer's schema, as far as they exist."""
        if plan.schema is None:
            return None, None
        key = (topic, field, plan.guid)
        found = self._origins.found.get(key)
        if found is not None:
            return found
        calls = self._source.calls
        naming = self._resolver.subject
        version: int | None = None
        try:
            subject = yield from find_subject(calls, naming, topic=topic, field=field, record_name=plan.record_name)
            version = (yield from calls.lookup(subject, plan.schema)).version
        except SubjectUnresolved:
            return None, None
        except (SubjectNotFound, SchemaNotFound, VersionNotFound):
            pass
        return self._origins.put(key, (subject, version))
