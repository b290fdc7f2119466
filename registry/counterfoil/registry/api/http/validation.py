"""The result of a request's validation as the API's own error. pydantic validates the values, as in FastAPI."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import ValidationError, WrapValidator

from counterfoil.schema.errors import BadRequest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fastapi.exceptions import RequestValidationError

_SHOWN = 80
_NOT_GIVEN = object()


def expected(what: str, *, empty: Any = _NOT_GIVEN) -> WrapValidator:
    """Report invalid values with ``expected {what}``; an empty text counts as ``empty``, if given.

    It is used in the annotation of a parameter or a field.
    """

    def read(value: Any, validated: Any) -> Any:
        if value == "" and empty is not _NOT_GIVEN:
            return empty
        try:
            return validated(value)
        except ValidationError:
            raise ValueError(f"expected {what}") from None

    return WrapValidator(read)


def refusal(error: RequestValidationError) -> BadRequest:
    """Return the error of the response: the first invalid value, and what is expected."""
    first = error.errors()[0]
    name = _name(first["loc"])
    if first["type"] == "missing":
        return BadRequest(f"{name} is missing")
    value, problem = first["input"], first["msg"].removeprefix("Value error, ")
    shown = repr(value[:_SHOWN]) if isinstance(value, str) else repr(value)[:_SHOWN]
    return BadRequest(f"{name} is {shown}; {problem[:1].lower()}{problem[1:]}")


def _name(place: Sequence[str | int]) -> str:
    """Return the name of a parameter, or the path of a field in the body.

    >>> _name(("query", "kind", 0)), _name(("body", "rules", 0, "name")), _name(("body",))
    ('kind', 'rules[0].name', 'The request body')
    """
    part, *steps = place
    if not steps:
        return f"The request {part}"
    if part != "body":
        return str(steps[0])
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps).removeprefix(".")
