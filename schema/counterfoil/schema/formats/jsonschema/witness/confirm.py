"""Generated values of one schema, validated with the other by a validator of another project."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.schema.errors import InvalidSchema
from counterfoil.schema.formats.jsonschema.witness.search import Search
from counterfoil.schema.formats.jsonschema.witness.validator import ValidatorRefuses
from counterfoil.schema.steps import OutOfSteps, steps_for
from counterfoil.schema.witness import BEYOND_LIMITS, Confirmation

if TYPE_CHECKING:
    from counterfoil.schema.formats.jsonschema.schema import JsonSchema


def confirm_compatible(reader: JsonSchema, writer: JsonSchema, count: int) -> Confirmation:
    """Return how many of ``count`` generated values of ``writer`` the reader accepts, up to the first that it refuses.

    Values at the limits of both schemas come first. Raises nothing for schemas that were parsed.
    """
    try:
        return Search(reader, writer, steps_for(reader, writer)).for_confirmation(count)
    except OutOfSteps:
        return Confirmation(0, reason=BEYOND_LIMITS)
    except (RecursionError, InvalidSchema, ValidatorRefuses) as problem:
        reason = "the schemas are nested too deep" if isinstance(problem, RecursionError) else str(problem)
        return Confirmation(0, reason=reason)
