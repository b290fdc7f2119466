"""Answers: documents to bytes, errors to bodies. The one place where an error becomes a status."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

import orjson
from starlette.responses import Response

from counterfoil.registry.api.http.media_types import V1

if TYPE_CHECKING:
    from counterfoil.schema.errors import RegistryError

NO_CONTENT: Final = 204

UNAVAILABLE_HEADERS: Final = {"retry-after": "1"}
"""What goes with every 503: the seconds after which to ask again (RFC 9110, section 10.2.3)."""


class RawText(str):
    """A body that is this very text: a schema's own, not a JSON value of it, or a JSON text that is there already."""

    __slots__ = ()


NOTHING: Final = object()
"""The answer of an operation that has none: status 204."""


def answer(value: Any, media_type: str, *, status: int = HTTPStatus.OK) -> Response:
    """The response for what an operation gives: JSON, or the text itself for a :class:`RawText`.

    A response that is there already gets its media type.
    """
    if value is NOTHING:
        return Response(status_code=NO_CONTENT)
    if isinstance(value, RawText):
        return Response(value.encode(), headers={"content-type": media_type})
    if isinstance(value, Response):
        value.headers["content-type"] = media_type
        return value
    return Response(orjson.dumps(value), status_code=int(status), headers={"content-type": media_type})


def error_document(error: RegistryError) -> dict[str, object]:
    """The body of an error."""
    return {"error_code": int(error.code), "message": error.message}


def error_answer(error: RegistryError, media_type: str = V1) -> Response:
    """The response for an error."""
    headers = {"content-type": media_type}
    if error.status == HTTPStatus.SERVICE_UNAVAILABLE:
        headers |= UNAVAILABLE_HEADERS
    return Response(orjson.dumps(error_document(error)), status_code=int(error.status), headers=headers)
