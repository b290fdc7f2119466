"""The JSON form of values: the functions of a language, the table of languages, and numbers that JSON does not have."""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NoReturn, Protocol

from counterfoil.schema.datum import Json
from counterfoil.schema.model import SchemaType
from counterfoil.sdk.errors import EncodeError
from counterfoil.sdk.serde import misfit

if TYPE_CHECKING:
    from counterfoil.sdk.serde.codec import AnyCodec, Decode


_NOT_FINITE: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_BASE64: Final = "bytes in base64"


class ValueForm(Protocol):
    """The JSON form of the values of one schema language."""

    @property
    def options(self) -> Mapping[str, Json]:
        """The options of the language's codec with which values are written."""

    def decoder(self, codec: AnyCodec, writer: Any, reader: Any, suffix: bytes) -> Decode:
        """Return a function that reads data of ``writer`` as ``reader`` (or ``writer``), as JSON in this form.

        The arguments are those of a codec's ``decoder``. Raises ``DecodeError``.
        """

    def value(self, parsed: Any, given: Json, message: str | None = None) -> Json:
        """Return the value for an encoder of ``parsed``; ``message`` is the full name of a Protobuf message type.

        Raises ``EncodeError`` with path, expected and got if ``given`` is no value in this form.
        """


def form_of(language: SchemaType) -> ValueForm:
    """Return the JSON form of a language's values."""
    module, name = _FORMS[language]
    form: ValueForm = getattr(import_module(f"counterfoil.contracts.{module}"), name)()
    return form


_FORMS: Final = {
    SchemaType.AVRO: ("values.avro", "AvroForm"),
    SchemaType.JSON: ("values", "JsonForm"),
    SchemaType.PROTOBUF: ("values.protobuf", "ProtobufForm"),
}


def one_line(document: object) -> str:
    """Return a document as one line of JSON."""
    return json.dumps(document, ensure_ascii=False, allow_nan=False)


def read_json(text: str) -> Json:
    """Return the value of a JSON text. Raises ``ValueError``, also for NaN and infinities, which JSON does not have."""
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(f'{word} is no number of JSON; write "{word}" with quotes')


def shown_real(value: float) -> float | str:
    """Return a floating-point number, or the text of one that JSON does not have."""
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def read_real(given: object) -> Json:
    """Return the number of a text such as ``NaN``; everything else is returned as it is."""
    return _NOT_FINITE.get(given, given) if isinstance(given, str) else given


def shown_bytes(value: bytes) -> str:
    """Return bytes in base64."""
    return base64.b64encode(value).decode("ascii")


def read_bytes(given: object) -> bytes:
    """Return the bytes of a text in base64. Raises ``EncodeError``."""
    if not isinstance(given, str):
        raise misfit(_BASE64, given)
    try:
        return base64.b64decode(given, validate=True)
    except (binascii.Error, ValueError):
        raise misfit(_BASE64, given) from None


def misfit_at_top(error: EncodeError) -> EncodeError:
    """Return the error with its path in its message."""
    problem = f"{error.path or 'The value'}: {error.problem}"
    return EncodeError(problem, path=error.path, expected=error.expected, got=error.got)


# Values of JSON schemas: they are JSON already.


class JsonForm:
    """The form of JSON Schema's values; they are validated when they are written."""

    options: Final[Mapping[str, Json]] = {"validate": "write"}

    def decoder(self, codec: AnyCodec, writer: object, reader: object, suffix: bytes) -> Decode:
        """Return the decoder of the codec."""
        return codec.decoder(writer, reader, suffix)

    def value(self, parsed: object, given: object, message: str | None = None) -> Json:
        """Return the value as it is."""
        del parsed, message
        return given
