"""Paths before routing, with their contexts, and the errors about invalid parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, quote, unquote_to_bytes, urlencode

from pydantic import ValidationError, WrapValidator

from counterfoil.schema.errors import BadRequest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fastapi.exceptions import RequestValidationError


# Paths before routing: still percent-encoded, and with the context of ``/contexts/{ctx}/…`` moved into the names.
#
# Routing uses the path as it was sent, so that a slash inside a name (``%2F``) stays inside it.

_CONTEXTS: Final = "contexts"
_ASSOCIATIONS: Final = "associations"
_WITH_BODY: Final = frozenset({"POST", "PUT", "PATCH"})
_QUALIFIED: Final = (":.", ":*:")
_KEKS: Final = ["dek-registry", "v1", "keks"]
_DEKS_AT: Final = 4
_FIRST_PRINTABLE: Final = 0x20
_DELETE: Final = 0x7F


def decode_segment(segment: str) -> str:
    """Return the text of one path segment; raise ``BadRequest`` for invalid UTF-8 and control characters of ASCII."""
    raw = unquote_to_bytes(segment.encode("latin-1"))
    if any(byte < _FIRST_PRINTABLE or byte == _DELETE for byte in raw):
        raise BadRequest("The path contains a control character")
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise BadRequest("The path is not UTF-8") from None


def rewrite(path: str, query: str, method: str = "GET") -> tuple[str, str]:
    """Return ``path`` and ``query`` without a leading ``/contexts/{ctx}``: the names in them have the context instead.

    The names of associations are in the body, so that their context is put into the query.

    >>> rewrite("/contexts/c/subjects/foo/versions", "")
    ('/subjects/:.c:foo/versions', '')
    >>> rewrite("/contexts/c/schemas/ids/7", "")
    ('/schemas/ids/7', 'subject=%3A.c%3A')
    >>> rewrite("/contexts/c/associations", "", "POST")
    ('/associations', 'context=%3A.c%3A')
    """
    _, *segments = path.split("/")
    if segments[0] != _CONTEXTS or len(segments) == 1 or not segments[1]:
        return path, query
    prefix = f":{_context(segments[1])}:"
    rest = segments[2:]
    if not rest or rest == [""]:
        return f"/{_CONTEXTS}/{quote(prefix, safe=':')}", query
    if method in _WITH_BODY and rest[0].startswith(_ASSOCIATIONS):
        kept = [(key, value) for key, value in parse_qsl(query, keep_blank_values=True) if key != "context"]
        return "/" + "/".join(rest), urlencode([*kept, ("context", prefix)])
    return _rewrite_rest(rest, query, prefix)


def _context(segment: str) -> str:
    name = decode_segment(segment).removeprefix(":").removesuffix(":")
    if ":" in name:
        raise BadRequest(f"The context {name[:80]!r} is not valid: it contains a colon")
    return name if name.startswith(".") else f".{name}"


def _rewrite_rest(rest: list[str], query: str, prefix: str) -> tuple[str, str]:
    if rest[0] in {"config", "mode"}:
        rest[1:2] = [_prefixed(rest[1] if len(rest) > 1 else "", prefix)]
    elif rest[:2] == ["schemas", "ids"]:
        query = _prefixed_parameter(query, "subject", prefix)
    elif rest in (["schemas"], ["subjects"], ["changes"]):
        query = _prefixed_parameter(query, "subjectPrefix", prefix)
    else:
        at = _DEKS_AT if rest[: len(_KEKS)] == _KEKS else 0  # a key may have the name of a segment of the path
        at = next((index for index, part in enumerate(rest) if index >= at and part in {"subjects", "deks"}), len(rest))
        if at + 1 < len(rest):
            rest[at + 1] = _prefixed(rest[at + 1], prefix)
    return "/" + "/".join(rest), query


def _prefixed(segment: str, prefix: str) -> str:
    if decode_segment(segment).startswith(_QUALIFIED):
        return segment
    return quote(prefix, safe=":") + segment


def _prefixed_parameter(query: str, name: str, prefix: str) -> str:
    pairs = parse_qsl(query, keep_blank_values=True)
    given = next((value for key, value in pairs if key == name), "")
    kept = [(key, value) for key, value in pairs if key != name]
    return urlencode([*kept, (name, given if given.startswith(":*:") else prefix + given)])


# The result of a request's validation as the API's own error. pydantic validates the values, as in FastAPI.

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
