"""The errors that each route can respond with, for the OpenAPI description."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

from counterfoil.registry.api.bodies import ERROR
from counterfoil.registry.api.openapi.shapes import schema_of
from counterfoil.schema import errors

if TYPE_CHECKING:
    from counterfoil.schema.errors import RegistryError

_ANYWHERE: Final = (
    errors.BadRequest,
    errors.Unauthorized,
    errors.Forbidden,
    errors.NotFound,
    errors.NotAcceptable,
    errors.SlowRequest,
    errors.RequestTooLarge,
    errors.HeadTooLarge,
    errors.StoreUnavailable,
    errors.StoreTimeout,
    errors.TooManyConnections,
    errors.AnswerTimeout,
)
_WITH_BODY: Final = (errors.UnsupportedMediaType, errors.MissingBody)
_WAIT_STATUS: Final = 503
_ERROR_BODY: Final = {"application/json": {"schema": schema_of(ERROR)}}


def described_errors(
    method: str, own: tuple[type[RegistryError], ...], *, takes_as_of: bool
) -> dict[int | str, dict[str, Any]]:
    """Return the error responses of a route by status, as OpenAPI describes them.

    ``own`` are its errors beside those that any request can cause.
    """
    then = (errors.SchemaNotFound,) if takes_as_of else ()  # for what existed then and was permanently deleted since
    with_body = _WITH_BODY if method in {"POST", "PUT"} else ()
    kinds_by_status: dict[int, list[type[RegistryError]]] = defaultdict(list)
    for kind in sorted({*_ANYWHERE, *with_body, *then, *own}, key=lambda kind: kind.code):
        kinds_by_status[int(kind.status)].append(kind)
        if kind in {
            errors.StoreUnavailable,
            errors.StoreTimeout,
        }:  # where waiting helps, it is no error of the server itself
            kinds_by_status[_WAIT_STATUS].append(kind)
    return {
        status: {"description": "  \n".join(map(_line, kinds)), "content": _ERROR_BODY}
        for status, kinds in sorted(kinds_by_status.items())
    }


def _line(kind: type[RegistryError]) -> str:
    return f"`{kind.code}`: {(kind.__doc__ or '').splitlines()[0]}"
