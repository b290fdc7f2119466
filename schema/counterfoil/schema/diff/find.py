"""The diff, whatever the language: each brings its own pair walk."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final, cast

from counterfoil.schema.errors import InvalidSchema
from counterfoil.schema.model import SchemaType

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from counterfoil.schema.diff.model import Change
    from counterfoil.schema.formats.protocol import ParsedSchema

_DIFF_BY_TYPE: Final[Mapping[SchemaType, str]] = {
    SchemaType.AVRO: "counterfoil.schema.diff.avro.changes",
    SchemaType.PROTOBUF: "counterfoil.schema.diff.protobuf.changes",
    SchemaType.JSON: "counterfoil.schema.diff.jsonschema.changes",
}
"""The module whose ``find_changes(earlier, later)`` compares two schemas of a language."""


def find_changes(earlier: ParsedSchema, later: ParsedSchema) -> list[Change]:
    """Everything that differs between two schemas, in the order of the later one; empty when they say the same.

    Raises ``InvalidSchema`` for schemas of different languages, and for those nested too deep to be compared.

    >>> from counterfoil.schema.parsing import parse_schema
    >>> [change.text for change in find_changes(parse_schema('"int"'), parse_schema('"long"'))]
    ['type changed: int → long']
    """
    if earlier.schema_type is not later.schema_type:
        raise InvalidSchema(
            f"The earlier schema is {earlier.schema_type}, the later one {later.schema_type}; "
            "only schemas of one language can be compared"
        )
    module = import_module(_DIFF_BY_TYPE[earlier.schema_type])
    return cast("Callable[[ParsedSchema, ParsedSchema], list[Change]]", module.find_changes)(earlier, later)
