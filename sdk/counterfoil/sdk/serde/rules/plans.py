"""The steps of plans between the value and the message, if the schema has rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.datum import Datum
from counterfoil.schema.errors import SchemaNotFound, SubjectNotFound
from counterfoil.schema.marks import FieldTags
from counterfoil.schema.model import ResolvedReference, RuleSet, Schema, SchemaType
from counterfoil.schema.rest.versions import RegisteredSchema, Visibility
from counterfoil.sdk.errors import DecodeError, EncodeError, RuleError, SerdeError, ValidationError, Violation
from counterfoil.sdk.serde import MessageContext
from counterfoil.sdk.serde.codec import AnyCodec, Decode, Encode, RowSource, resolve_references
from counterfoil.sdk.serde.rules.protocol import RedactKey, RuleMode, RulePhase
from counterfoil.sdk.serde.rules.settings import Rules
from counterfoil.sdk.serde.rules.stages import (
    Marked,
    RulePlace,
    RuleRecord,
    Stage,
    compile_stage,
    has_rules,
    marking,
    quote_nothing,
    redaction,
)
from counterfoil.sdk.serde.rules.values import CheckedValue, InlineRule, RuleValues

if TYPE_CHECKING:
    from counterfoil.schema.marks import EntityKind
    from counterfoil.sdk.script import Script


# Inline rules of a schema, ``confluent:rules``: conditions in CEL beside records and fields, about the value ``this``.
#
# A rule holds if it returns true or an empty text; another text says what is wrong. All violations of a message are
# reported together, unless the program wants the first alone.
#
# Source: the public validation classes of confluent-kafka 2.16.

_SHOWN: Final = 3


def compile_check(values: RuleValues, *, fail_fast: bool) -> Callable[[Datum], None] | None:
    """Return a function that raises ``ValidationError`` for a message; None if the schema has no inline rules."""
    found = values.inline_rules()
    if found is None:
        return None
    programs: dict[InlineRule, Callable[[dict[str, Datum]], Datum]] = {}

    def check(message: object) -> None:
        violations: list[Violation] = []
        for each in found(message):
            violation = _violation(each, programs)
            if violation is not None:
                violations.append(violation)
                if fail_fast:
                    break
        if violations:
            refuse(violations)

    return check


def refuse(violations: list[Violation]) -> None:
    """Raise ``ValidationError`` with all violations."""
    shown = "; ".join(f"{each.path or 'the value'}: {each.keyword}: {each.message}" for each in violations[:_SHOWN])
    more = f"; and {len(violations) - _SHOWN} more" if len(violations) > _SHOWN else ""
    raise ValidationError(f"The value violates rules of its schema: {shown}{more}", violations=tuple(violations))


def _violation(each: CheckedValue, programs: dict[InlineRule, Callable[[dict[str, Datum]], Datum]]) -> Violation | None:
    rule = each.rule
    try:
        program = programs.get(rule)
        if program is None:
            from counterfoil.sdk.serde.rules.cel.executors import compile_check_of

            program = programs[rule] = compile_check_of(rule.expr)
        result = program({"this": each.value})
    except RuleError as error:
        return Violation(each.path, rule.name, error.problem)
    if result is True or result == "":
        return None
    if result is False:
        return Violation(each.path, rule.name, rule.doc or rule.expr)
    if isinstance(result, str):
        return Violation(each.path, rule.name, result)
    problem = f"the rule returned {type(result).__name__}; expected true, false or a text"
    return Violation(each.path, rule.name, problem)


# The tags of fields: those in the texts of a schema and its references, and those that its metadata assigns.


def find_field_tags(schema: Schema, references: Sequence[ResolvedReference]) -> FieldTags:
    """Return the tags of a schema's fields; those in the text of another language than Avro are beside each field."""
    by_path = schema.metadata.tags if schema.metadata is not None else {}
    if schema.schema_type is not SchemaType.AVRO:
        return FieldTags({}, by_path)
    from counterfoil.schema.marks import EntityKind

    fields, types = (_inline_tags(schema, references, kind) for kind in (EntityKind.FIELD, EntityKind.RECORD))
    return FieldTags(fields, by_path, types)


def _inline_tags(
    schema: Schema, references: Sequence[ResolvedReference], kind: EntityKind
) -> dict[str, frozenset[str]]:
    from counterfoil.schema.languages.table import language_for
    from counterfoil.schema.parsed import Validation
    from counterfoil.schema.tags import find_tags

    found: dict[str, frozenset[str]] = {}
    form = language_for(schema.schema_type)
    texts = [(each.text, references[:index]) for index, each in enumerate(references)]
    for text, needed in (*texts, (schema.text, references)):
        parsed = form.parse(text, needed, validation=Validation.LENIENT)
        found |= {entity.path: frozenset(tags) for entity, tags in find_tags(parsed) if entity.kind is kind}
    return found


# What a plan for reading does between the message and the value of the program, if its schema has rules.


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
    migrate: Callable[[Datum, RuleRecord], Datum] | None
    domain: Stage | None
    closed: Callable[[Datum], Datum]
    encoded: Callable[[Datum], bytes]
    row_source: Callable[[], RowSource]
    rule_set: RuleSet | None
    marked: Marked

    def read(self, data: bytes, offset: int, ctx: MessageContext | None) -> Datum:
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

    def _message(self, data: bytes, offset: int, ctx: MessageContext | None) -> Datum:
        record = RuleRecord.of(ctx, data)
        if self.encoding is not None:
            data, offset = self.encoding.run(data[offset:], record), 0
        message = self.decode(data, offset)
        if self.migrate is not None:
            message = self.migrate(message, record)
        if self.domain is not None:
            message = self.domain.run(message, record)
        return message


@dataclass(frozen=True, slots=True)
class WriterAndReader:
    """The schemas of a read: the writer's, the reader's if it is another, and the type that the frame names.

    ``latest`` is the version of the subject that is the reader's schema, if it is one.
    """

    codec: AnyCodec
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


def compile_read_rules(reading: WriterAndReader, place: RulePlace) -> Script[ReadRules | None]:
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


def _tags(reading: WriterAndReader, place: RulePlace) -> Script[Datum]:
    """Return the tags of the fields in both schemas."""
    tags = None
    for schema in (each for each in (reading.writer, reading.reader) if each is not None):
        references = yield from resolve_references(place.source.calls, schema)
        own = find_field_tags(schema, references)
        tags = own if tags is None else tags.joined(own)
    return tags


def _migration(
    stages: list[Stage], to_json: Callable[[Datum], Datum], from_json: Callable[[Datum], Datum]
) -> Callable[[Datum, RuleRecord], Datum]:
    def migrate(message: object, record: RuleRecord) -> Datum:
        value = to_json(message)
        for stage in stages:
            value = stage.run(value, record)
        return from_json(value)

    return migrate


def _migrations(reading: WriterAndReader, place: RulePlace) -> Script[list[Stage]]:
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


# What a plan for writing does between the value of the program and the message, if its schema has rules.


@dataclass(frozen=True, slots=True)
class WriteRules:
    """The rules of writing to one subject. ``redact_key`` is for the rules of the value whose key this is.

    ``marked`` finds the values that tags mark in a value of the program; those of the rules ENCRYPT of ``rule_set`` are
    in no error.
    """

    opened: Callable[[Datum], Datum]
    encode: Encode
    before: Callable[[Datum], None] | None
    domain: Stage | None
    after: Callable[[Datum], None] | None
    encoding: Stage | None
    redact_key: RedactKey
    rule_set: RuleSet | None
    marked: Marked

    def write(self, value: object, prefix: bytes, ctx: MessageContext | None) -> bytes:
        """Return the message for a value. Raises ``RuleError``, ``ValidationError``, and the errors of encoding."""
        try:
            return self._written(value, prefix, ctx)
        except SerdeError as error:
            quote_nothing(error, self.rule_set, lambda tags: self.marked(value, tags))
            raise

    def _written(self, value: object, prefix: bytes, ctx: MessageContext | None) -> bytes:
        record = RuleRecord.of(ctx, value)
        message = self.opened(value)
        if self.before is not None:
            self.before(message)
        if self.domain is not None:
            message = self.domain.run(message, record)
        if self.after is not None:
            self.after(message)
        if self.encoding is None:
            return self.encode(message, prefix)
        body: bytes = self.encoding.run(self.encode(message, b""), record)
        return prefix + body


def compile_write_rules(codec: AnyCodec, parsed: object, schema: Schema, place: RulePlace) -> Script[WriteRules | None]:
    """Return the rules of ``schema`` for values of ``parsed``; None if none of them runs when values are written.

    Raises ``RuleError`` for a rule that cannot be run.
    """
    settings = place.settings
    phases = (RulePhase.DOMAIN, RulePhase.ENCODING)
    if settings.check is None and not any(has_rules(schema, RuleMode.WRITE, phase, settings) for phase in phases):
        return None
    references = yield from resolve_references(place.source.calls, schema)
    values = codec.rule_values(parsed, codec.frame_suffix(parsed), find_field_tags(schema, references))
    domain = yield from compile_stage(schema, RuleMode.WRITE, RulePhase.DOMAIN, place, values)
    encoding = yield from compile_stage(schema, RuleMode.WRITE, RulePhase.ENCODING, place, values)
    check = None if settings.check is None else compile_check(values, fail_fast=settings.fail_fast)
    if domain is None and encoding is None and check is None:
        return None
    return WriteRules(
        opened=values.opened,
        encode=codec.for_rules().encoder(parsed),
        before=check if settings.check == "before" else None,
        domain=domain,
        after=check if settings.check == "after" else None,
        encoding=encoding,
        redact_key=_key_redaction(values, schema),
        rule_set=schema.rule_set,
        marked=marking(values),
    )


def _key_redaction(values: RuleValues, schema: Schema) -> RedactKey:
    """Return the function that removes, from a key of this schema, the parts that its rules encrypt."""
    redact = redaction(values, RuleMode.WRITE)

    def redact_key(key: object, types: Iterable[str], /, found: list[Datum] | None = None) -> Datum:
        from counterfoil.sdk.serde.rules.values import tags_to_hide

        return redact(key, tags_to_hide(schema.rule_set, types), found)

    return redact_key
