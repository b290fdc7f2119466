"""The result of a request's validation as the API's own error. pydantic validates the values, as in FastAPI."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError, WrapValidator

from counterfoil.schema.errors import BadRequest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fastapi.exceptions import RequestValidationError

_SHOWN = 80
_NOT_GIVEN = object()
_EXPECTED_BY_TYPE: Final[Mapping[str, str]] = {
    **dict.fromkeys(("dict_type", "model_type", "model_attributes_type"), "expected an object"),
    **dict.fromkeys(("tuple_type", "list_type"), "expected a list"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "expected true or false"),
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), "expected an integer"),
    **dict.fromkeys(("enum", "literal_error"), "expected {expected}"),
    "string_type": "expected a text",
    "string_too_short": "expected at least {min_length} characters",
    "string_too_long": "expected at most {max_length} characters",
    "too_short": "expected at least {min_length} of them",
    "too_long": "expected at most {max_length} of them",
    "greater_than_equal": "expected at least {ge}",
    "less_than_equal": "expected at most {le}",
    "extra_forbidden": "there is no such member",
}
"""What is expected of a value, by the type of pydantic's error, with the facts of its context."""


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
    value, problem = first["input"], _problem(first)
    shown = repr(value[:_SHOWN]) if isinstance(value, str) else repr(value)[:_SHOWN]
    return BadRequest(f"{name} is {shown}; {problem[:1].lower()}{problem[1:]}")


def _problem(error: Mapping[str, Any]) -> str:
    """Return what is expected, in the words of JSON; for other errors pydantic's own sentence.

    >>> _problem({"type": "too_short", "msg": "Tuple should have …", "ctx": {"min_length": 1}})
    'expected at least 1 of them'
    """
    known = _EXPECTED_BY_TYPE.get(error["type"])
    if known is None:
        return str(error["msg"]).removeprefix("Value error, ")
    return known.format(**error.get("ctx", {}))


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
