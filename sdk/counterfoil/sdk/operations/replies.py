"""Reading responses: the result of an operation, or the error that the registry reports."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import TYPE_CHECKING

from counterfoil.schema.errors import error_for_code
from counterfoil.schema.rest.json_values import ReplyJson, UnexpectedShapeError
from counterfoil.sdk.operations.operation import ReplyForm

if TYPE_CHECKING:
    from typing import Any, Final

    from counterfoil.schema.errors import RegistryError
    from counterfoil.sdk.operations.operation import Operation, T
    from counterfoil.sdk.transport import Reply

_SHOWN_CHARACTERS: Final = 120
_ERROR_MEMBERS: Final = frozenset({"error_code", "message"})
_REFUSALS: Final = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)


def read_reply(operation: Operation[T], reply: Reply) -> T:
    """Return the result in the response.

    Raises the registry's error for an error response, and ``UnexpectedShapeError`` for one that no registry sends.
    """
    if not HTTPStatus.OK <= reply.status < HTTPStatus.MULTIPLE_CHOICES:
        raise _error_of(reply)
    if operation.form is ReplyForm.NOTHING:
        return operation.read(ReplyJson(None))
    body = _text_of(reply)
    return operation.read(ReplyJson(body if operation.form is ReplyForm.TEXT else _json_of(body, reply)))


def _error_of(reply: Reply) -> RegistryError | UnexpectedShapeError:
    """Return the registry's error; a 401 or 403 needs no registry's body."""
    try:
        error = ReplyJson(_json_of(_text_of(reply), reply))
        code, message = error.member("error_code").integer(), error.member("message").text()
        details = {key: value for key, value in error.members().items() if key not in _ERROR_MEMBERS}
        return error_for_code(code, message, status=reply.status, details=details)
    except UnexpectedShapeError:
        if reply.status in _REFUSALS:
            phrase = HTTPStatus(reply.status).phrase
            return error_for_code(reply.status, f"{reply.status} {phrase}", status=reply.status)
        return UnexpectedShapeError(f"it answered {_shown(reply)}")


def _text_of(reply: Reply) -> str:
    try:
        return reply.body.decode("utf-8")
    except UnicodeDecodeError:
        raise UnexpectedShapeError(f"it answered {_shown(reply)}, which is not UTF-8") from None


def _json_of(text: str, reply: Reply) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise UnexpectedShapeError(f"it answered {_shown(reply)}, which is not JSON") from None


def _shown(reply: Reply) -> str:
    """Return the response in a few words: status, media type, redirect location, and the beginning of the body."""
    media_type = reply.headers.get("content-type", "no media type")
    location = reply.headers.get("location")
    text = reply.body[: 4 * _SHOWN_CHARACTERS].decode("utf-8", errors="replace")
    begin = repr(text[:_SHOWN_CHARACTERS]) if text else "nothing"
    more = "…" if len(text) > _SHOWN_CHARACTERS else ""
    return f"{reply.status} ({media_type}) with {begin}{more}" + (f" and points to {location}" if location else "")
