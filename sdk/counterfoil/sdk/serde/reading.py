"""How a deserializer finds the schema that a frame names, and makes a plan for reading of it and the reader's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Generic, Literal, NamedTuple, TypeAlias, TypeVar

from counterfoil.schema.errors import Forbidden, SchemaNotFound, SchemaParseError
from counterfoil.schema.model import Schema
from counterfoil.schema.parsed import Validation
from counterfoil.schema.wire import Frame, ShortFrame, WireError, WrongMagic, read_frame
from counterfoil.sdk.errors import (
    DecodeError,
    FrameError,
    InvalidSettings,
    NotFramed,
    SchemaForbidden,
    SubjectUnresolved,
    TruncatedFrame,
    UnknownSchemaId,
)
from counterfoil.sdk.serde.base import chosen
from counterfoil.sdk.serde.codec import AnyCodec, Codec, Decode, RowSource, load_schema, parse_own
from counterfoil.sdk.serde.plans import PlanTable, ReadPlan
from counterfoil.sdk.subjects import Associated, Field, SubjectNaming, find_subject, resolve_subject

if TYPE_CHECKING:
    from uuid import UUID

    from counterfoil.schema.datum import Datum
    from counterfoil.schema.rest.versions import RegisteredSchema
    from counterfoil.sdk.script import Script
    from counterfoil.sdk.serde.rules.plans import ReadRules
    from counterfoil.sdk.serde.rules.settings import Rules
    from counterfoil.sdk.serde.sources import RegistrySource, SchemaCalls


P = TypeVar("P")

Latest: TypeAlias = bool | dict[Literal["metadata"], dict[str, str]]
"""Which version of the record's subject is the reader's schema: none, the latest, or the latest with metadata."""

OnForbidden: TypeAlias = Literal["raise", "record"]
"""What a denial by the registry is for a record whose schema is needed: raised, or the error of the record."""

_MAX_ID = 2**31 - 1
"""The greatest id that a registry gives: the id in a frame is an integer of 32 bits with a sign."""


class MessageFrame(NamedTuple):
    """Which schema a message has: its ``frame``, and the ``suffix`` after it; both are the bytes ``prefix``.

    ``offset`` is the offset of the body in the message.
    """

    frame: Frame
    suffix: bytes
    prefix: bytes
    offset: int


def read_header_of(codec: AnyCodec, data: bytes, *, named: bytes | None) -> MessageFrame:
    """Return the id in ``named``, the value of a record's header, or without one in the prefix of ``data``.

    Raises ``NotFramed``, ``TruncatedFrame`` and ``FrameError``.
    """
    framed = data if named is None else named
    frame = frame_of(framed)
    try:
        end = codec.suffix_end(framed, frame.offset)
    except WireError as error:
        raise _frame_error(error) from error
    return MessageFrame(frame, framed[frame.offset : end], framed[:end], end if named is None else 0)


def frame_of(framed: bytes) -> Frame:
    """Return the frame at the beginning of a message or of a header's value; raise ``FrameError``."""
    try:
        return read_frame(framed)
    except WireError as error:
        raise _frame_error(error) from error


def _frame_error(error: WireError) -> FrameError:
    kind = {ShortFrame: TruncatedFrame, WrongMagic: NotFramed}.get(type(error), FrameError)
    return kind(error.problem)


def fetch_writer(calls: SchemaCalls, frame: Frame) -> Script[Schema]:
    """Return the schema that a frame names; raise ``UnknownSchemaId``.

    An id above those that a registry has is not requested, since a registry answers that it is no id.
    """
    unknown = f"The registry has no schema with {f'guid {frame.guid}' if frame.guid else f'id {frame.schema_id}'}"
    schema_id = frame.schema_id or 0
    if schema_id > _MAX_ID:
        raise UnknownSchemaId(unknown)
    try:
        if frame.guid is not None:
            return (yield from calls.schema_by_guid(frame.guid))
        return (yield from calls.schema_by_id(schema_id))
    except SchemaNotFound as error:
        raise UnknownSchemaId(unknown) from error


def chosen_on_forbidden(value: str) -> OnForbidden:
    """Return the setting ``on_forbidden``; raise ``InvalidSettings`` for any other value."""
    return "record" if chosen("on_forbidden", value, ("raise", "record")) == "record" else "raise"


@contextmanager
def of_record(on_forbidden: OnForbidden) -> Iterator[None]:
    """Raise ``SchemaForbidden``, an error of the record, for a denial by the registry, if that is the setting."""
    try:
        yield
    except Forbidden as error:
        if on_forbidden == "raise":
            raise
        raise SchemaForbidden(f"The registry does not let this program read the schema: {error.message}") from error


class _Compiled(NamedTuple):
    """The functions that are made of a writer's and a reader's schema."""

    decode: Decode
    row_source: Callable[[], RowSource]


class ReadResolver(Generic[P]):
    """Makes plans for reading; its methods are scripts. ``has_registry`` false: the reader's schema is the writer's."""

    def __init__(
        self,
        codec: Codec[P],
        *,
        reader: Schema | None,
        latest: Latest,
        subject: SubjectNaming,
        has_registry: bool,
        rules: Rules,
        on_forbidden: OnForbidden = "raise",
    ) -> None:
        self._on_forbidden: OnForbidden = chosen_on_forbidden(on_forbidden)
        self._codec = codec
        self._rules = rules
        self._reader = reader
        self._is_latest, self._metadata = _read_latest(latest)
        self.subject = subject
        self._has_registry = has_registry
        self._parsed: PlanTable[tuple[Datum, ...], P] = PlanTable()
        self._decoders: PlanTable[tuple[Datum, ...], _Compiled] = PlanTable()
        self._own: P | None = None
        if reader is not None and not reader.references:
            self._own = parse_own(codec, reader)

    @property
    def is_latest(self) -> bool:
        """Whether the reader's schema is a version of the record's subject, so that plans expire and need a topic."""
        return self._is_latest

    def subject_of(self, topic: str | None, field: Field) -> str | None:
        """Return the subject of a record of which only the topic is known; None if it depends on more."""
        if isinstance(self.subject, Associated):
            return None
        try:
            return resolve_subject(self.subject, topic=topic, field=field, record_name=None)
        except SubjectUnresolved:
            return None

    def plan(
        self,
        source: RegistrySource,
        header: MessageFrame,
        topic: str | None,
        field: Field,
        *,
        refresh: bool,
        for_topic: bool,
    ) -> Script[ReadPlan]:
        """Return the plan for messages with this frame, in any topic or with ``for_topic`` in this one."""
        calls = source.calls
        schema: Schema | None = None
        writer: P | None = None
        reader: Schema | None = self._reader
        latest: RegisteredSchema | None = None
        if self._has_registry:
            with of_record(self._on_forbidden):
                schema = yield from fetch_writer(calls, header.frame)
                writer = yield from self._load_writer(calls, schema)
        name = None if writer is None else self._codec.record_name(writer, header.suffix)
        may_have_rules = schema is not None and self._may_have_rules(schema, reader)
        rules: ReadRules | None = None
        if self._is_latest or (may_have_rules and for_topic):
            subject = yield from find_subject(
                calls, self.subject, topic=topic, field=field, record_name=name, refresh=refresh
            )
            if self._is_latest:
                latest = yield from self._latest(calls, subject, refresh=refresh)
                reader = latest.schema
            if schema is not None:
                rules = yield from self._compiled_rules(
                    source, header, (schema, writer), (reader, latest), (subject, topic, field)
                )
        if rules is None:
            compiled = yield from self._compiled(calls, schema, writer, reader, header.suffix)
        else:
            compiled = _Compiled(rules.decode, rules.row_source)
        return ReadPlan(
            rules=rules,
            needs_topic=may_have_rules and not for_topic and not self._is_latest,
            decode=compiled.decode,
            row_source=compiled.row_source,
            offset=header.offset,
            schema=schema,
            record_name=name,
            schema_id=header.frame.schema_id,
            guid=header.frame.guid or _guid_of(schema),
            reader=reader,
        )

    def _may_have_rules(self, schema: Schema, reader: Schema | None) -> bool:
        if schema.rule_set is None and (reader is None or reader.rule_set is None):
            return False
        from counterfoil.sdk.serde.rules.plans import may_have_rules

        return may_have_rules(schema, reader, self._rules)

    def _compiled_rules(
        self,
        source: RegistrySource,
        header: MessageFrame,
        writer: tuple[Schema, P | None],
        reader: tuple[Schema | None, RegisteredSchema | None],
        place: tuple[str, str | None, Field],
    ) -> Script[ReadRules | None]:
        """Return the rules for messages of the writer's schema, if there are any."""
        from counterfoil.sdk.serde.rules.plans import WriterAndReader, compile_read_rules
        from counterfoil.sdk.serde.rules.stages import RulePlace

        parsed = yield from self._load_reader(source.calls, reader[0])
        reading = WriterAndReader(self._codec, *writer, reader[0], parsed, header.suffix, reader[1])
        return (yield from compile_read_rules(reading, RulePlace(*place, source, self._rules)))

    def reader_rows(self, calls: SchemaCalls) -> Script[RowSource | None]:
        """Return the maker of rows of the reader's schema; None without one."""
        parsed = yield from self._load_reader(calls, self._reader)
        return None if parsed is None else self._codec.row_source(parsed, None, b"")

    def clear(self) -> None:
        """Remove the compiled functions."""
        self._parsed.clear()
        self._decoders.clear()

    def _load_writer(self, calls: SchemaCalls, schema: Schema) -> Script[P]:
        try:
            return (yield from self._loaded(calls, schema))
        except SchemaParseError as error:
            raise DecodeError(f"The writer's schema cannot be read: {error}") from error

    def _load_reader(self, calls: SchemaCalls, reader: Schema | None) -> Script[P | None]:
        if reader is None:
            return None
        if reader is not self._reader:
            return (yield from self._loaded(calls, reader))
        if self._own is None:
            self._own = yield from load_schema(calls, self._codec, reader, validation=Validation.STRICT)
        return self._own

    def _loaded(self, calls: SchemaCalls, schema: Schema) -> Script[P]:
        """Return the parsed schema of the registry; each content is parsed once, for every frame and every renewal."""
        key = _content(schema)
        if key not in self._parsed.found:
            self._parsed.put(key, (yield from load_schema(calls, self._codec, schema)))
        return self._parsed.found[key]

    def _latest(self, calls: SchemaCalls, subject: str, *, refresh: bool) -> Script[Datum]:
        if self._metadata is not None:
            return (yield from calls.version_with_metadata(subject, self._metadata, refresh=refresh))
        return (yield from calls.version(subject, "latest", refresh=refresh))

    def _compiled(
        self, calls: SchemaCalls, schema: Schema | None, writer: P | None, reader: Schema | None, suffix: bytes
    ) -> Script[_Compiled]:
        """Return the decoder of two schemas; each pair of contents is compiled once."""
        key = (_content(schema), _content(reader), suffix)
        found = self._decoders.found.get(key)
        if found is not None:
            return found
        parsed = yield from self._load_reader(calls, reader)
        pair = (writer, parsed) if self._has_registry else (parsed, None)

        def compiled() -> _Compiled:
            return _Compiled(self._codec.decoder(*pair, suffix), cache(lambda: self._codec.row_source(*pair, suffix)))

        return self._decoders.resolve(key, compiled)


def _content(schema: Schema | None) -> tuple[Datum, ...]:
    return () if schema is None else (schema.text, schema.references)


def _guid_of(schema: Schema | None) -> UUID | None:
    if schema is None:
        return None
    from counterfoil.schema.fingerprint import content_guid

    return content_guid(schema.text, schema.references, schema.metadata, schema.rule_set)


def _read_latest(latest: Latest) -> tuple[bool, dict[str, str] | None]:
    if isinstance(latest, bool):
        return latest, None
    match latest:
        case {"metadata": Mapping() as properties, **more} if not more:
            return True, dict(properties)
    raise InvalidSettings(f"latest is {latest!r}; expected True, False or {{'metadata': {{…}}}}", setting="latest")
