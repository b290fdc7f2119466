"""JSON as a message format: JSON text, described by a JSON schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from counterfoil.schema.formats.jsonschema.parse import parse_json_schema
from counterfoil.schema.model import SchemaType
from counterfoil.sdk.errors import InvalidSettings
from counterfoil.sdk.serde.codec import BareBodies, changed
from counterfoil.sdk.serde.json_codec.decode import compile_decoder
from counterfoil.sdk.serde.json_codec.defaults import compile_defaults
from counterfoil.sdk.serde.json_codec.encode import compile_encoder
from counterfoil.sdk.serde.json_codec.model import check_model, model_decoder, model_encoder, model_load
from counterfoil.sdk.serde.json_codec.read_text import read_exactly
from counterfoil.sdk.serde.json_codec.validate import compile_validator

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from counterfoil.schema.formats.jsonschema.schema import JsonSchema
    from counterfoil.schema.marks import FieldTags
    from counterfoil.schema.model import ResolvedReference, Schema
    from counterfoil.schema.parsed import Validation
    from counterfoil.sdk.serde.codec import Decode, Encode, RowSource
    from counterfoil.sdk.serde.json_codec.rule_values import JsonRuleValues

Validate: TypeAlias = Literal["write", "read", "both"] | bool
"""When values are validated: ``write``, ``read``, ``both`` (also True), or never (False)."""

_ON_WRITE: Final = ("write", "both", True)
_ON_READ: Final = ("read", "both", True)


class JsonCodec(BareBodies):
    """The :class:`~counterfoil.sdk.serde.codec.Codec` of JSON.

    ``validate`` is when values are validated; None is the default: always, but reading into a ``model`` checks the
    model's types instead. ``dump`` and ``load`` turn values of the program into values of JSON and back. ``model`` is a
    class that msgspec or pydantic reads and writes itself, instead of both. ``adds_defaults`` adds the defaults of a
    reader's schema. ``json_encode`` and ``json_decode`` are used to write and read JSON texts in place of the SDK's own
    code.
    """

    schema_type: Final = SchemaType.JSON

    def __init__(
        self,
        *,
        validate: Validate | None = None,
        model: Any = None,
        dump: Callable[[Any], Any] | None = None,
        load: Callable[[Any], Any] | None = None,
        adds_defaults: bool = True,
        json_encode: Callable[[Any], str | bytes] | None = None,
        json_decode: Callable[[bytes], Any] | None = None,
    ) -> None:
        if not (validate is None or isinstance(validate, bool) or validate in ("write", "read", "both")):
            problem = f"validate is {validate!r}; expected 'write', 'read', 'both', True or False"
            raise InvalidSettings(problem, setting="validate")
        if model is not None:
            check_model(model)
            if dump or load or json_encode or json_decode:
                problem = "model reads and writes JSON itself; leave out dump, load, json_encode and json_decode"
                raise InvalidSettings(problem, setting="model")
        self._validates_writing = validate is None or validate in _ON_WRITE
        self._validates_reading = validate in _ON_READ or (validate is None and model is None)
        self._model = model
        self._dump = dump
        self._load = load
        self._adds_defaults = adds_defaults
        self._json_encode = json_encode
        self._json_decode = json_decode

    def parse(self, schema: Schema, references: Sequence[ResolvedReference], *, validation: Validation) -> JsonSchema:
        """Return the parsed schema. Raises ``SchemaParseError``."""
        return parse_json_schema(schema.text, references, validation=validation)

    def record_name(self, parsed: JsonSchema, suffix: bytes) -> str | None:
        """Return the schema's title, else the model's name; None without both."""
        del suffix
        return parsed.name or getattr(self._model, "__name__", None)

    def encoder(self, parsed: JsonSchema) -> Encode:
        """Return a function that writes values. Raises ``SchemaUnusable``."""
        validator = compile_validator(parsed) if self._validates_writing else None
        if self._model is not None:
            return model_encoder(self._model, validator)
        return compile_encoder(validator, dump=self._dump, json_encode=self._json_encode)

    def decoder(self, writer: JsonSchema | None, reader: JsonSchema | None, suffix: bytes) -> Decode:
        """Return a function that reads values; those of ``reader``, if there is one, get its defaults.

        The value is validated against the reader's schema, or the writer's without one. Raises ``SchemaUnusable``.
        """
        del suffix
        if self._model is not None and not self._validates_reading and not (reader and self._adds_defaults):
            return model_decoder(self._model)
        return self._plain_decoder(writer, reader, load=self._load if self._model is None else model_load(self._model))

    def _plain_decoder(
        self, writer: JsonSchema | None, reader: JsonSchema | None, *, load: Callable[[Any], Any] | None
    ) -> Decode:
        target = reader or writer
        validator = compile_validator(target) if target and self._validates_reading else None
        fill = compile_defaults(reader) if reader and self._adds_defaults else None
        return compile_decoder(validator, fill=fill, load=load, json_decode=self._json_decode)

    def row_source(self, writer: JsonSchema | None, reader: JsonSchema | None, suffix: bytes) -> RowSource:
        """Return what makes rows of values of JSON."""
        del suffix
        from counterfoil.sdk.serde.arrow.rows import DictRowSource

        return DictRowSource(lambda: self._plain_decoder(writer, reader, load=None))

    def for_rules(self) -> JsonCodec:
        """Return the codec of plain JSON values, which validates what it writes alone."""
        return changed(self, _model=None, _dump=None, _load=None, _validates_reading=False)

    def rule_values(self, parsed: JsonSchema, suffix: bytes, tags: FieldTags) -> JsonRuleValues:
        """Return how rules see the values of the schema."""
        del suffix
        from counterfoil.sdk.serde.json_codec.rule_values import JsonRuleValues

        fill = compile_defaults(parsed) if self._adds_defaults else None
        return JsonRuleValues(
            parsed,
            tags,
            dump=self._plain,
            load=self._loader(parsed),
            fill=fill,
            validates_writing=self._validates_writing,
        )

    def _loader(self, parsed: JsonSchema) -> Callable[[Any], Any]:
        """Return the function from plain JSON values, which were not validated yet, to values of the program."""
        if not self._validates_reading and self._model is None and self._load is None:
            return lambda value: value
        encode = compile_encoder(None, dump=None, json_encode=None)
        decode = self.decoder(parsed, None, b"")
        return lambda value: decode(encode(value, b""), 0)

    def _plain(self, value: Any) -> Any:
        """Return a value of the program as a value of JSON."""
        model = self._model
        encode = model_encoder(model, None) if model else compile_encoder(None, dump=self._dump, json_encode=None)
        return read_exactly(encode(value, b""), 0)
