"""Responses: documents become bytes, and errors become bodies and a status."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import orjson
from starlette.responses import Response

from counterfoil.registry.api.denials import ScopeTooNarrow
from counterfoil.registry.api.http.media_types import V1

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterfoil.schema.errors import RegistryError

NO_CONTENT: Final = 204

UNAVAILABLE_HEADERS: Final = {"retry-after": "1"}
"""The headers of every 503: the seconds after which to repeat the request (RFC 9110, section 10.2.3)."""

_NARROW_SCOPE_HEADERS: Final = {"www-authenticate": 'Bearer realm="counterfoil", error="insufficient_scope"'}


MAX_IGNORED: Final = 100
"""At most so many ignored members of a body are looked for."""
_MAX_NAMES: Final = 10
_MAX_NAME: Final = 60
_PLAIN: Final = "!#$&'()*+-./:;<=>?@[]^_`{|}~"
"""What a header of ignored members has as it is, besides letters and digits."""


class RawText(str):
    """A body that is this text itself: a schema's own text, or a JSON text that was printed before."""

    __slots__ = ()


NOTHING: Final = object()
"""The result of an operation without a body: status 204."""


def answer(value: Any, media_type: str, *, status: int = HTTPStatus.OK) -> Response:
    """Return the response for an operation's result: JSON, or the text itself for a :class:`RawText`.

    A result that is a response already gets the media type.
    """
    if value is NOTHING:
        return Response(status_code=NO_CONTENT)
    if isinstance(value, RawText):
        return Response(value.encode(), headers={"content-type": media_type})
    if isinstance(value, Response):
        value.headers["content-type"] = media_type
        return value
    return Response(_json_text(value), status_code=int(status), headers={"content-type": media_type})


def _json_text(value: Any) -> bytes:
    """Return a value as JSON; Python's own library prints what orjson has no room for, such as numbers over 64 bits."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return json.dumps(value, separators=(",", ":")).encode()


def ignored_header(names: Sequence[str]) -> tuple[bytes, bytes]:
    """Return the header that names members of a body that were ignored: the first ones, percent-encoded."""
    shown = [quote(name[:_MAX_NAME], safe=_PLAIN) for name in names[:_MAX_NAMES]]
    if len(names) > _MAX_NAMES:
        shown.append(f"and {len(names) - _MAX_NAMES} more")
    return b"counterfoil-ignored", ", ".join(shown).encode("ascii")


def error_document(error: RegistryError) -> dict[str, object]:
    """Return the body of an error."""
    return {"error_code": int(error.code), "message": error.message, **error.details}


def error_answer(error: RegistryError, media_type: str = V1) -> Response:
    """Return the response for an error."""
    headers = {"content-type": media_type}
    if isinstance(error, ScopeTooNarrow):
        headers |= _NARROW_SCOPE_HEADERS
    if error.status == HTTPStatus.SERVICE_UNAVAILABLE:
        headers |= UNAVAILABLE_HEADERS
    return Response(orjson.dumps(error_document(error)), status_code=int(error.status), headers=headers)
