"""Examples of one schema, as JSON, as messages and as the values that deserializers return."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from counterfoil.contracts.errors import NoExample
from counterfoil.contracts.examples.choices import USUAL
from counterfoil.contracts.examples.unknown import with_unknown_symbols
from counterfoil.contracts.values.form import form_of
from counterfoil.schema.model import Schema, SchemaType
from counterfoil.schema.parsed import Validation
from counterfoil.schema.parsing import parse_schema
from counterfoil.sdk.errors import ValidationError
from counterfoil.sdk.serde.languages import LANGUAGES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterfoil.contracts.examples.choices import Choices, Shape
    from counterfoil.schema.agreements.model import Promise
    from counterfoil.schema.model import ResolvedReference
    from counterfoil.schema.parsed import ParsedSchema
    from counterfoil.sdk.serde.codec import Codec


_MAX_TRIES: Final = 20


class _Maker(Protocol):
    def make(self, choices: Choices, shape: Shape = ...) -> Any:
        """Return a value."""


class Examples:
    """Examples of a schema that fit what ``promise`` says of its fields.

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
                from counterfoil.contracts.examples.avro import AvroExamples

                return AvroExamples(cast("Any", self.parsed), self.promise)
            case SchemaType.PROTOBUF:
                from counterfoil.contracts.examples.protobuf import ProtobufExamples

                return ProtobufExamples(self._types, self.promise, self.message)
        from counterfoil.contracts.examples.json import JsonExamples

        return JsonExamples(cast("Any", self.parsed), self.promise)

    @property
    def suffix(self) -> bytes:
        """What is between the schema's id and the body of a message: the message indexes of Protobuf."""
        return self._suffix

    def make(self, choices: Choices, shape: Shape = USUAL) -> Any:
        """Return a value in its JSON form. Raises ``NoExample``."""
        for _ in range(_MAX_TRIES):
            made = self._maker.make(choices, shape)
            if self.schema.schema_type is not SchemaType.JSON:
                return made
            try:
                self.encode(self.value(made))
            except ValidationError:  # by a part of a JSON schema about which nothing is known here
                continue
            return made
        raise NoExample("no value was found that is valid under the JSON schema")

    def value(self, given: Any) -> Any:
        """Return the value for a serializer; one of a union has the hint that names its type.

        Raises ``EncodeError``.
        """
        return self._form.value(self._types, given, self.message)

    def encode(self, value: Any, prefix: bytes = b"") -> bytes:
        """Return the message of a value for a serializer. Raises ``SerdeError``."""
        return self._encode(value, prefix)

    def encode_with(self, codec: Codec[Any], value: Any) -> bytes:
        """Return the message of a value that a codec with other options writes. Raises ``SerdeError``."""
        return codec.encoder(codec.parse(self.schema, self.references, validation=Validation.LENIENT))(value, b"")

    def encode_in_order(self, value: Any, prefix: bytes) -> bytes:
        """Return a message as :meth:`encode` does, with the entries of Protobuf's maps in a fixed order."""
        data = self.encode(value)
        if self.schema.schema_type is SchemaType.PROTOBUF:
            codec = LANGUAGES[SchemaType.PROTOBUF].make_codec(message=self.message)
            data = codec.decoder(self._types, None, self._suffix)(data, 0).SerializeToString(deterministic=True)
        return prefix + data

    def decode(self, data: bytes, offset: int = 0) -> Any:
        """Return the value that a deserializer returns."""
        return self._decode(data, offset)

    def show(self, data: bytes, offset: int = 0) -> Any:
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
