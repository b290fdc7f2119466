"""Examples of one schema, with unknown symbols too, and of whole records of a topic."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, Protocol, cast

from counterfoil.contracts.errors import NoExample
from counterfoil.contracts.generate import UNKNOWN_SYMBOL, USUAL, ExampleChoices, ExampleShape
from counterfoil.contracts.testing.record import RecordCheck, RecordParts
from counterfoil.contracts.values import form_of
from counterfoil.contracts.values.constraints import MISSING, values_at
from counterfoil.schema.agreements import Promise
from counterfoil.schema.datum import Datum
from counterfoil.schema.languages.table import parse_schema
from counterfoil.schema.model import ResolvedReference, Schema, SchemaType
from counterfoil.schema.parsed import ParsedSchema, Validation
from counterfoil.schema.paths import parse_path
from counterfoil.sdk.errors import ValidationError
from counterfoil.sdk.serde.codec import AnyCodec
from counterfoil.sdk.serde.multi import LANGUAGES

# Schemas whose enums have one more symbol than their readers know, for messages of a later producer.


def with_unknown_symbols(text: str, language: SchemaType) -> str:
    """Return the text of a schema in which every enum of texts has :data:`UNKNOWN_SYMBOL`, too.

    A Protobuf schema needs no change: its writers may use numbers without names.
    """
    return text if language is SchemaType.PROTOBUF else json.dumps(_widened(json.loads(text), language))


def _widened(value: object, language: SchemaType) -> Datum:
    if isinstance(value, list):
        return [_widened(item, language) for item in value]
    if not isinstance(value, dict):
        return value
    widened = {key: _widened(item, language) for key, item in value.items()}
    key = "symbols" if language is SchemaType.AVRO and value.get("type") == "enum" else "enum"
    symbols = value.get(key)
    if isinstance(symbols, list) and any(isinstance(symbol, str) for symbol in symbols):
        widened[key] = [*symbols, UNKNOWN_SYMBOL]
    return widened


# Examples of one schema, as JSON, as messages and as the values that deserializers return.

_MAX_TRIES_OF_A_VALUE: Final = 20


class _Maker(Protocol):
    def make(self, choices: ExampleChoices, shape: ExampleShape = ...) -> Datum:
        """Return a value."""


class Examples:
    """Examples of a schema that keep ``promise``.

    ``message`` is the full name of a Protobuf message type; without it, it is the first of the file. Raises
    ``InvalidSchema``.
    """

    def __init__(
        self,
        schema: Schema,
        references: Sequence[ResolvedReference] = (),
        *,
        promise: Promise | None = None,
        message: str | None = None,
    ) -> None:
        self.schema = schema
        self.references = tuple(references)
        self.promise = promise
        self.message = message
        self._form = form_of(schema.schema_type)
        options = {} if message is None else {"message": message}
        self.codec = LANGUAGES[schema.schema_type].make_codec(**self._form.options, **options)
        self._types = self.codec.parse(schema, self.references, validation=Validation.LENIENT)
        self._suffix = self.codec.frame_suffix(self._types)
        self._encode = self.codec.encoder(self._types)
        self._decode = self.codec.decoder(self._types, None, self._suffix)
        self._show = self._form.decoder(self.codec, self._types, None, self._suffix)

    @cached_property
    def parsed(self) -> ParsedSchema:
        """The parsed schema."""
        text, language = self.schema.text, self.schema.schema_type
        return parse_schema(text, language, references=self.references, validation=Validation.LENIENT)

    @cached_property
    def _maker(self) -> _Maker:
        match self.schema.schema_type:
            case SchemaType.AVRO:
                from counterfoil.contracts.generate.avro import AvroExamples

                return AvroExamples(cast("Any", self.parsed), self.promise)
            case SchemaType.PROTOBUF:
                from counterfoil.contracts.generate.protobuf import ProtobufExamples

                return ProtobufExamples(self._types, self.promise, self.message)
        from counterfoil.contracts.generate.json import JsonExamples

        return JsonExamples(cast("Any", self.parsed), self.promise)

    @property
    def suffix(self) -> bytes:
        """The bytes between the schema's id and the body of a message: the message indexes of Protobuf."""
        return self._suffix

    def make(self, choices: ExampleChoices, shape: ExampleShape = USUAL) -> Datum:
        """Return a value in its JSON form. Raises ``NoExample``."""
        for _ in range(_MAX_TRIES_OF_A_VALUE):
            made = self._maker.make(choices, shape)
            if self.schema.schema_type is not SchemaType.JSON:
                return made
            try:
                self.encode(self.value(made))
            except ValidationError:  # by a part of a JSON schema about which nothing is known here
                continue
            return made
        raise NoExample("no value was found that is valid under the JSON schema")

    def value(self, given: object) -> Datum:
        """Return the value for a serializer; one of a union has the hint that names its type.

        Raises ``EncodeError``.
        """
        return self._form.value(self._types, given, self.message)

    def encode(self, value: object, prefix: bytes = b"") -> bytes:
        """Return the message of a value for a serializer. Raises ``SerdeError``."""
        return self._encode(value, prefix)

    def encode_with(self, codec: AnyCodec, value: object) -> bytes:
        """Return the message of a value that a codec with other options writes. Raises ``SerdeError``."""
        return codec.encoder(codec.parse(self.schema, self.references, validation=Validation.LENIENT))(value, b"")

    def encode_in_order(self, value: object, prefix: bytes) -> bytes:
        """Return a message as :meth:`encode` does, with the entries of Protobuf's maps in a fixed order."""
        data = self.encode(value)
        if self.schema.schema_type is SchemaType.PROTOBUF:
            codec = LANGUAGES[SchemaType.PROTOBUF].make_codec(message=self.message)
            data = codec.decoder(self._types, None, self._suffix)(data, 0).SerializeToString(deterministic=True)
        return prefix + data

    def decode(self, data: bytes, offset: int = 0) -> Datum:
        """Return the value that a deserializer returns."""
        return self._decode(data, offset)

    def show(self, data: bytes, offset: int = 0) -> Datum:
        """Return the value of a message in its JSON form."""
        return self._show(data, offset)

    def with_unknown_symbols(self) -> Examples:
        """Return the examples of a later schema, whose enums have one more symbol."""
        promise = self.promise
        if promise is not None:
            promise = replace(promise, fields=tuple(replace(each, enum=None) for each in promise.fields))
        widened = with_unknown_symbols(self.schema.text, self.schema.schema_type)
        schema = replace(self.schema, text=widened)
        return Examples(schema, self.references, promise=promise, message=self.message)


# Examples of whole records of a topic, with key and headers, that keep what its contract promises.

_MAX_TRIES_OF_A_RECORD: Final = 200


@dataclass(frozen=True, slots=True)
class ExampleRecord:
    """A record: its value and its key in their JSON forms, and its headers.

    Without a schema of keys, ``key`` is a text, or None.
    """

    value: Datum
    key: Datum
    headers: tuple[tuple[str, str], ...]


class RecordExamples:
    """Examples of the records of a topic; ``key`` has the examples of keys, if they have a schema."""

    def __init__(self, promise: Promise, value: Examples, key: Examples | None) -> None:
        self._promise = promise
        self._value = value
        self._key = key
        self._check = RecordCheck(promise)

    def make(self, choices: ExampleChoices, shape: ExampleShape = USUAL) -> ExampleRecord:
        """Return a record; one of the usual shape keeps every promise about it.

        Raises ``NoExample``, also if none of many tries keeps the rules.
        """
        for _ in range(_MAX_TRIES_OF_A_RECORD):
            record = self._made(choices, shape)
            if shape != USUAL or self._keeps(record):
                return record
        rules = ", ".join(each.id or each.type for each in self._promise.quality)
        raise NoExample(f"none of {_MAX_TRIES_OF_A_RECORD} values of {self._promise.topic} keeps its rules ({rules})")

    def _made(self, choices: ExampleChoices, shape: ExampleShape) -> ExampleRecord:
        given = self._value.make(choices, shape)
        headers = [
            (each.name, choices.text() if each.pattern is None else choices.matching(each.pattern))
            for each in self._promise.headers
            if each.is_required or (not shape.leaves_out and choices.flag())
        ]
        return ExampleRecord(given, self._made_key(choices, given), tuple(headers))

    def _made_key(self, choices: ExampleChoices, given: object) -> Datum:
        promised = self._promise.key
        same: Datum = MISSING
        if promised is not None and promised.field is not None:
            same = next(values_at(given, parse_path(promised.field)), MISSING)
        if self._key is None:
            return None if same is MISSING or same is None else str(same)
        made = self._key.make(choices)
        if same is MISSING or promised is None:
            return made
        if not isinstance(made, dict):
            return same
        name = (promised.field or "").rpartition(".")[2]
        return {**made, name: same} if name in made else made

    def _keeps(self, record: ExampleRecord) -> bool:
        value = self._value.decode(self._value.encode(self._value.value(record.value)))
        parts = RecordParts(value, headers=dict(record.headers), has_key=False)
        return not any(not each.is_warning for each in self._check.violations(parts))
