"""Generated values, written with one schema and read with the other, by a validator that is not ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.schema.errors import InvalidSchema
from counterfoil.schema.formats.jsonschema.schema import JsonSchema
from counterfoil.schema.witness.jsonschema.search import Search
from counterfoil.schema.witness.jsonschema.validator import ValidatorRefuses
from counterfoil.schema.witness.model import Confirmation

if TYPE_CHECKING:
    from counterfoil.schema.formats.protocol import ParsedSchema


def confirm_compatible(reader: ParsedSchema, writer: ParsedSchema, count: int) -> Confirmation:
    """How many of ``count`` generated values of ``writer`` the reader accepts, up to the first that it refuses.

    Values at the limits of both schemas come first. Raises nothing for schemas that were parsed.
    """
    if not isinstance(reader, JsonSchema) or not isinstance(writer, JsonSchema):
        raise TypeError("both schemas must be JSON Schema")
    try:
        return Search(reader, writer).for_confirmation(count)
    except (RecursionError, InvalidSchema, ValidatorRefuses) as problem:
        reason = "the schemas are nested too deep" if isinstance(problem, RecursionError) else str(problem)
        return Confirmation(0, reason=reason)
