"""The proof of a verdict "compatible": generated values, written with one schema and read with the other."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final, cast

from counterfoil.schema.model import SchemaType
from counterfoil.schema.witness.model import Confirmation

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from counterfoil.schema.formats.protocol import ParsedSchema

DEFAULT_COUNT: Final = 200
"""How many values are written and read."""

_CONFIRM_BY_TYPE: Final[Mapping[SchemaType, str]] = {
    SchemaType.AVRO: "counterfoil.schema.witness.avro.confirm",
    SchemaType.PROTOBUF: "counterfoil.schema.witness.protobuf.confirm",
    SchemaType.JSON: "counterfoil.schema.witness.jsonschema.confirm",
}
"""The module whose ``confirm_compatible(reader, writer, count)`` does it for schemas of a language."""


def confirm_compatible(reader: ParsedSchema, writer: ParsedSchema, count: int = DEFAULT_COUNT) -> Confirmation:
    """How many of ``count`` values that ``writer`` may write were read with ``reader``, or the first that was not.

    The values are the same on every call: boundaries first, every branch of a union and every symbol of an enum among
    them. Encoder and decoder are not ours. Raises nothing for schemas that were parsed: what the decoder does not take
    is told in the result.
    """
    if reader.schema_type is not writer.schema_type:
        return Confirmation(0, reason="the two schemas are of different languages")
    confirm = cast(
        "Callable[[ParsedSchema, ParsedSchema, int], Confirmation]",
        import_module(_CONFIRM_BY_TYPE[writer.schema_type]).confirm_compatible,
    )
    return confirm(reader, writer, count)
