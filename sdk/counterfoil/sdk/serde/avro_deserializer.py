"""From a framed Avro message to a value."""

from __future__ import annotations

import gc
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn, Self

from counterfoil.schema.errors import SchemaNotFound, SchemaParseError, SubjectNotFound, VersionNotFound
from counterfoil.schema.fingerprint import content_guid
from counterfoil.schema.model import Schema
from counterfoil.schema.parsed import Validation
from counterfoil.schema.wire import ID_PREFIX_BYTES, ShortFrame, WireError, read_frame
from counterfoil.sdk.errors import (
    DecodeError,
    InvalidSettings,
    NotFramed,
    RegistryUnavailable,
    SerdeError,
    SubjectUnresolved,
    TruncatedFrame,
    UnknownSchemaId,
)
from counterfoil.sdk.serde.avro_codec import MAX_EMPTY_ITEMS, compile_decoder
from counterfoil.sdk.serde.confluent_settings import deserializer_settings
from counterfoil.sdk.serde.context import SerializationContext
from counterfoil.sdk.serde.headers import header_name, read_header
from counterfoil.sdk.serde.plans import PlanTable, ReadPlan, field_of, load_avro, place, refuse_rules, topic_of
from counterfoil.sdk.subjects import TOPIC, resolve_subject

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from uuid import UUID

    from counterfoil.schema.formats.avro.schema import AvroSchema
    from counterfoil.schema.wire import Frame
    from counterfoil.sdk.serde.plans import Headers, MessageContext, SchemaSource
    from counterfoil.sdk.subjects import Field, SubjectStrategy


@dataclass(frozen=True, slots=True)
class Decoded:
    """A value, and the schema that it was written by.

    ``schema_id`` is None for a record that names its schema by guid alone. ``subject`` is what the subject strategy
    says, and ``version`` the version of it that has the writer's schema; both are None where that cannot be told.
    """

    value: Any
    schema_id: int | None
    guid: UUID
    subject: str | None
    version: int | None


class AvroDeserializer:
    """Reads framed Avro, by the schema that the prefix or a header names.

    ``reader`` is the schema that values shall have: what the writer's has more is passed over, what it has less comes
    from defaults, and neither costs time per message. With ``latest`` it is the latest version of the record's
    subject, asked for again after ``latest_ttl_s``. ``from_dict(value, ctx)`` turns values into objects.

    Bytes behind the value are an error, unless ``allow_trailing_bytes``. A message may have ``max_empty_items`` array
    items that take no bytes (null, or a record of such), so that a few bytes cannot become a large value; what the
    defaults of repeated records may weigh is limited by the message's size and by this setting.

    One object serves all threads. A schema is asked for once; unknown ids and damaged data are errors of the record,
    while ``RegistryUnavailable`` means that the same record may be read later.
    """

    def __init__(
        self,
        registry: SchemaSource,
        *,
        reader: str | Schema | None = None,
        latest: bool = False,
        subject: SubjectStrategy | str = TOPIC,
        from_dict: Callable[[Any, Any], Any] | None = None,
        latest_ttl_s: float = 60.0,
        allow_trailing_bytes: bool = False,
        max_empty_items: int = MAX_EMPTY_ITEMS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if isinstance(max_empty_items, bool) or not isinstance(max_empty_items, int) or max_empty_items < 0:
            problem = f"max_empty_items is {max_empty_items!r}; expected a whole number, 0 or more"
            raise InvalidSettings(problem, setting="max_empty_items")
        self._is_whole = not allow_trailing_bytes
        self._max_empty_items = max_empty_items
        self._registry = registry
        self._reader = Schema(reader) if isinstance(reader, str) else reader
        self._latest = latest
        self._strategy = subject
        self._from_dict = from_dict
        self._latest_ttl_s = latest_ttl_s
        self._clock = clock
        self._by_prefix: PlanTable[Any, ReadPlan] = PlanTable()
        self._by_header: PlanTable[Any, ReadPlan] = PlanTable()
        self._versions: PlanTable[tuple[str, UUID], tuple[int | None]] = PlanTable()
        self._parsed: AvroSchema | None = None
        if self._reader is not None and not self._reader.references:
            self._parsed = load_avro(registry, self._reader, validation=Validation.STRICT)
        self._is_plain = not (latest or from_dict)

    @classmethod
    def from_confluent(
        cls,
        registry: SchemaSource,
        schema: str | Schema | None = None,
        from_dict: Callable[[Any, Any], Any] | None = None,
        conf: Mapping[str, Any] | None = None,
    ) -> Self:
        """The deserializer that confluent-kafka's ``AvroDeserializer`` would be with the same ``conf``.

        So it ignores bytes behind the value, unless ``avro.fail.on.trailing.data`` is True, as in Java. Raises
        ``InvalidSettings`` for what has no counterpart here.
        """
        return cls(registry, reader=schema, from_dict=from_dict, **deserializer_settings(conf or {}))

    def __call__(self, data: bytes | None, ctx: MessageContext | None = None) -> Any:
        """The value of a message; None for None, a tombstone.

        Raises ``NotFramed``, ``TruncatedFrame``, ``UnknownSchemaId``, ``DecodeError`` (with offset and path), all of
        them with topic, field, schema id and data, and what the registry raises.
        """
        if data is None:
            return None
        try:
            plan = self._by_prefix.found.get(data[:ID_PREFIX_BYTES])
        except (TypeError, ValueError):  # not bytes, or bytes that can change and so be no key
            plan = None
        if plan is None or not self._is_plain or getattr(ctx, "headers", None):
            return self._value(data, ctx)
        try:
            return plan.decode(data, ID_PREFIX_BYTES)
        except DecodeError as error:
            self._raise_placed(error, ctx, plan.schema_id, data)

    def decode(
        self,
        data: bytes,
        *,
        topic: str | None = None,
        field: Field = "value",
        headers: Headers = None,
    ) -> Decoded:
        """The value together with the schema it was written by; ``value`` is None for no data.

        The registry is asked once more per schema, for the version. Raises what calling the deserializer raises.
        """
        ctx = SerializationContext(topic, field, headers)
        plan, bare = self._plan(data, ctx)
        value = self._decoded(plan, bare, ctx)
        subject = self._subject(plan, ctx)
        guid = plan.guid or content_guid(
            plan.schema.text, plan.schema.references, plan.schema.metadata, plan.schema.rule_set
        )
        return Decoded(value, plan.schema_id, guid, subject, self._version(subject, guid, plan.schema))

    def many(self, messages: Iterable[bytes | None], *, topic: str | None = None, field: Field = "value") -> list[Any]:
        """The values of many messages of one topic, in order; in place of a value that cannot be read, its error.

        Only a ``SerdeError`` takes a slot; what the registry raises ends the call. Python's garbage collector rests
        meanwhile, since thousands of fresh values would set it off for nothing.
        """
        ctx = SerializationContext(topic, field)
        was_enabled = gc.isenabled()
        gc.disable()
        try:
            return [self._value_or_error(data, ctx) for data in messages]
        finally:
            if was_enabled:
                gc.enable()

    def close(self) -> None:
        """Forget every plan; the registry, which others may use, stays open."""
        self._by_prefix.clear()
        self._by_header.clear()
        self._versions.clear()

    # --- the slow way ----------------------------------------------------------------------------------------------

    def _value_or_error(self, data: bytes | None, ctx: SerializationContext) -> Any:
        try:
            return self(data, ctx)
        except SerdeError as error:
            return error

    def _value(self, data: bytes, ctx: MessageContext | None) -> Any:
        plan, bare = self._plan(data, ctx)
        return self._decoded(plan, bare, ctx)

    def _decoded(self, plan: ReadPlan, data: bytes, ctx: MessageContext | None) -> Any:
        try:
            value = plan.decode(data, plan.offset)
        except DecodeError as error:
            self._raise_placed(error, ctx, plan.schema_id, data)
        if self._from_dict is None:
            return value
        try:
            return self._from_dict(value, ctx)
        except Exception as error:
            failed = DecodeError(f"from_dict failed: {type(error).__name__}: {error}", data=data)
            place(failed, ctx, schema_id=plan.schema_id)
            raise failed from error

    def _raise_placed(
        self, error: SerdeError, ctx: MessageContext | None, schema_id: int | None, data: bytes
    ) -> NoReturn:
        place(error, ctx, schema_id=schema_id)
        error.data = data
        raise error

    def _plan(self, data: object, ctx: MessageContext | None) -> tuple[ReadPlan, bytes]:
        """How to read the message, and the message as bytes."""
        if not isinstance(data, (bytes, bytearray, memoryview)):
            problem = f"The message is a {type(data).__name__}; expected bytes"
            raise NotFramed(problem, topic=topic_of(ctx), field=field_of(ctx))
        data = bytes(data)
        headers = getattr(ctx, "headers", None)
        named = read_header(headers, header_name(field_of(ctx))) if headers else None
        table = self._by_prefix if named is None else self._by_header
        frame = _read_frame(data if named is None else named, data, ctx)
        prefix = (data if named is None else named)[: frame.offset]
        key = (topic_of(ctx), field_of(ctx), prefix) if self._latest else prefix
        offset = frame.offset if named is None else 0
        try:
            plan = table.resolve(key, lambda: self._resolve(frame, offset, ctx))
            if plan.expires_s is not None and self._clock() >= plan.expires_s:
                plan = table.put(key, self._refreshed(plan, frame, ctx))
        except SerdeError as error:
            self._raise_placed(error, ctx, frame.schema_id, data)
        return plan, data

    def _refreshed(self, plan: ReadPlan, frame: Frame, ctx: MessageContext | None) -> ReadPlan:
        try:
            return self._resolve(frame, plan.offset, ctx)
        except RegistryUnavailable:
            return replace(plan, expires_s=self._clock() + self._latest_ttl_s)

    def _resolve(self, frame: Frame, offset: int, ctx: MessageContext | None) -> ReadPlan:
        schema = self._fetch(frame)
        refuse_rules(schema)
        try:
            writer = load_avro(self._registry, schema)
        except SchemaParseError as error:
            raise DecodeError(f"The writer's schema cannot be read: {error}") from error
        return ReadPlan(
            decode=compile_decoder(
                writer, self._reader_schema(writer, ctx), whole=self._is_whole, max_empty_items=self._max_empty_items
            ),
            offset=offset,
            schema=schema,
            record_name=writer.name,
            schema_id=frame.schema_id,
            guid=frame.guid,
            expires_s=self._clock() + self._latest_ttl_s if self._latest else None,
        )

    def _fetch(self, frame: Frame) -> Schema:
        try:
            if frame.guid is not None:
                return self._registry.schema_by_guid(frame.guid)
            return self._registry.schema_by_id(frame.schema_id or 0)
        except SchemaNotFound as error:
            name = f"guid {frame.guid}" if frame.guid else f"id {frame.schema_id}"
            raise UnknownSchemaId(f"The registry has no schema with {name}") from error

    def _reader_schema(self, writer: AvroSchema, ctx: MessageContext | None) -> AvroSchema | None:
        if self._latest:
            subject = resolve_subject(self._strategy, topic=topic_of(ctx), field=field_of(ctx), record_name=writer.name)
            latest = self._registry.version(subject, "latest").schema
            refuse_rules(latest)
            return load_avro(self._registry, latest)
        if self._parsed is None and self._reader is not None:
            self._parsed = load_avro(self._registry, self._reader, validation=Validation.STRICT)
        return self._parsed

    def _subject(self, plan: ReadPlan, ctx: SerializationContext) -> str | None:
        try:
            return resolve_subject(self._strategy, topic=ctx.topic, field=field_of(ctx), record_name=plan.record_name)
        except SubjectUnresolved:
            return None

    def _version(self, subject: str | None, guid: UUID, schema: Schema) -> int | None:
        if subject is None:
            return None

        def look_up() -> tuple[int | None]:
            try:
                return (self._registry.lookup(subject, schema).version,)
            except (SubjectNotFound, SchemaNotFound, VersionNotFound):
                return (None,)

        return self._versions.resolve((subject, guid), look_up)[0]


def _read_frame(frame: bytes, data: bytes, ctx: MessageContext | None) -> Frame:
    """What the prefix or the header says; a prefix that is none is an error of the record."""
    try:
        return read_frame(frame)
    except WireError as error:
        kind = TruncatedFrame if isinstance(error, ShortFrame) else NotFramed
        raise kind(error.problem, topic=topic_of(ctx), field=field_of(ctx), data=data) from error
