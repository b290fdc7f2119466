"""What a plan for reading does between the message and the value of the program, if its schema has rules."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from counterfoil.schema.errors import SchemaNotFound, SubjectNotFound
from counterfoil.schema.rest.versions import Visibility
from counterfoil.sdk.errors import DecodeError, EncodeError, SerdeError
from counterfoil.sdk.serde.references import resolve_references
from counterfoil.sdk.serde.rules.protocol import RuleMode, RulePhase
from counterfoil.sdk.serde.rules.stages import Record, compile_stage, has_rules, marking, quote_nothing
from counterfoil.sdk.serde.rules.tags import find_field_tags

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.schema.model import RuleSet, Schema
    from counterfoil.schema.rest.versions import RegisteredSchema
    from counterfoil.sdk.script import Script
    from counterfoil.sdk.serde.codec import Codec, Decode, RowSource
    from counterfoil.sdk.serde.context import MessageContext
    from counterfoil.sdk.serde.rules.settings import Rules
    from counterfoil.sdk.serde.rules.stages import Marked, Place, Stage


@dataclass(frozen=True, slots=True)
class ReadRules:
    """The rules of reading messages of one schema.

    ``migrate`` turns a message of the writer's schema into one of the reader's. ``closed`` makes the value of the
    program of a message. ``encoded`` makes its bytes in the schema of the values, of which ``row_source()`` makes rows
    of tables. ``marked`` finds values that tags mark in a message after all rules; those of the rules ENCRYPT of
    ``rule_set`` are in no error.
    """

    encoding: Stage | None
    decode: Decode
    migrate: Callable[[Any, Record], Any] | None
    domain: Stage | None
    closed: Callable[[Any], Any]
    encoded: Callable[[Any], bytes]
    row_source: Callable[[], RowSource]
    rule_set: RuleSet | None
    marked: Marked

    def read(self, data: bytes, offset: int, ctx: MessageContext | None) -> Any:
        """Return the value of a message. Raises ``RuleError`` and the errors of decoding."""
        message = self._message(data, offset, ctx)
        try:
            return self.closed(message)
        except SerdeError as error:
            quote_nothing(error, self.rule_set, lambda tags: self.marked(message, tags))
            raise

    def body(self, data: bytes, offset: int, ctx: MessageContext | None) -> bytes:
        """Return a message after all rules, encoded in the schema of the values. Raises the errors of :meth:`read`."""
        message = self._message(data, offset, ctx)
        try:
            return self.encoded(message)
        except EncodeError as error:
            quote_nothing(error, self.rule_set, lambda tags: self.marked(message, tags))
            problem = f"What the rules returned is no value of the reader's schema: {error.problem}"
            raise DecodeError(problem, path=error.path) from error

    def _message(self, data: bytes, offset: int, ctx: MessageContext | None) -> Any:
        record = Record.of(ctx, data)
        if self.encoding is not None:
            data, offset = self.encoding.run(data[offset:], record), 0
        message = self.decode(data, offset)
        if self.migrate is not None:
            message = self.migrate(message, record)
        if self.domain is not None:
            message = self.domain.run(message, record)
        return message


@dataclass(frozen=True, slots=True)
class Reading:
    """What is read: the writer's schema, the reader's if it is another, and the type that the frame names.

    ``latest`` is the version of the subject that is the reader's schema, if it is one.
    """

    codec: Codec[Any]
    writer: Schema
    parsed_writer: Any
    reader: Schema | None
    parsed_reader: Any | None
    suffix: bytes
    latest: RegisteredSchema | None

    @property
    def ruled(self) -> Schema:
        """The schema whose domain rules run: the reader's if it has a rule set, or is a version of the subject."""
        own = self.reader
        return self.writer if own is None or (own.rule_set is None and self.latest is None) else own


def may_have_rules(writer: Schema, reader: Schema | None, settings: Rules) -> bool:
    """Return whether rules of these schemas run when messages are read, besides migrations."""
    return has_rules(writer, RuleMode.READ, RulePhase.ENCODING, settings) or any(
        has_rules(schema, RuleMode.READ, RulePhase.DOMAIN, settings) for schema in (writer, reader)
    )


def compile_read_rules(reading: Reading, place: Place) -> Script[ReadRules | None]:
    """Return the rules for messages of one schema; None if there are none.

    Raises ``RuleError`` for a rule that cannot be run, and the registry's errors.
    """
    migrations = yield from _migrations(reading, place)
    if not migrations and not may_have_rules(reading.writer, reading.ruled, place.settings):
        return None
    codec, bare = reading.codec, reading.codec.for_rules()
    encoding = yield from compile_stage(reading.writer, RuleMode.READ, RulePhase.ENCODING, place, None)
    target = reading.parsed_writer if reading.parsed_reader is None else reading.parsed_reader
    suffix = codec.suffix_in(target, reading.parsed_writer, reading.suffix)
    tags = yield from _tags(reading, place)
    values = codec.rule_values(target, suffix, tags)
    domain = yield from compile_stage(reading.ruled, RuleMode.READ, RulePhase.DOMAIN, place, values)
    migrate = None
    if migrations:
        migrated = bare.to_migrate(reading.parsed_writer, reading.suffix)
        decode = migrated.decoder(reading.parsed_writer, None, reading.suffix)
        to_json = migrated.rule_values(reading.parsed_writer, reading.suffix, tags).to_json
        migrate = _migration(migrations, to_json, values.from_json)
    else:
        decode = bare.decoder(reading.parsed_writer, reading.parsed_reader, reading.suffix)
    hidden = (reading.ruled.rule_set, marking(values))
    row_source = cache(lambda: codec.row_source(target, None, suffix))
    return ReadRules(encoding, decode, migrate, domain, values.closed, values.encoded, row_source, *hidden)


def _tags(reading: Reading, place: Place) -> Script[Any]:
    """Return the tags of the fields in both schemas."""
    tags = None
    for schema in (each for each in (reading.writer, reading.reader) if each is not None):
        references = yield from resolve_references(place.source.calls, schema)
        own = find_field_tags(schema, references)
        tags = own if tags is None else tags.joined(own)
    return tags


def _migration(
    stages: list[Stage], to_json: Callable[[Any], Any], from_json: Callable[[Any], Any]
) -> Callable[[Any, Record], Any]:
    def migrate(message: Any, record: Record) -> Any:
        value = to_json(message)
        for stage in stages:
            value = stage.run(value, record)
        return from_json(value)

    return migrate


def _migrations(reading: Reading, place: Place) -> Script[list[Stage]]:
    """Return the migration rules of every version between the writer's and the latest, in the order in which they run.

    Going up, those are the rules of the versions after the writer's; going down, those of the writer's version and of
    the versions before it.
    """
    latest = reading.latest
    if latest is None or latest.version is None or reading.writer == latest.schema:
        return []
    calls = place.source.calls
    try:
        writer = yield from calls.lookup(place.subject, reading.writer, visibility=Visibility.WITH_DELETED)
    except (SchemaNotFound, SubjectNotFound) as error:
        if latest.schema.rule_set is None or not latest.schema.rule_set.migration_rules:
            return []
        problem = f"The writer's schema is no version of {place.subject}, so that its data cannot be migrated"
        raise DecodeError(problem) from error
    if writer.version is None:
        return []
    is_upgrade = writer.version < latest.version
    mode = RuleMode.UPGRADE if is_upgrade else RuleMode.DOWNGRADE
    numbers = range(writer.version + 1, latest.version + 1) if is_upgrade else range(writer.version, latest.version, -1)
    known = {writer.version: reading.writer, latest.version: latest.schema}
    stages = []
    for number in numbers:
        schema = known.get(number)
        if schema is None:
            schema = (yield from calls.version(place.subject, number, visibility=Visibility.WITH_DELETED)).schema
        stage = yield from compile_stage(schema, mode, RulePhase.MIGRATION, place, None)
        if stage is not None:
            stages.append(stage)
    return stages
