"""One call of the REST API as a value: the parts of its request, and how its response is read."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar
from urllib.parse import quote, urlencode

from counterfoil.schema.datum import Json, JsonObject
from counterfoil.schema.errors import InvalidSubject, RegistryError, error_for_code
from counterfoil.schema.rest.object_forms import JsonValue, ReplyJson, UnexpectedShapeError, read_texts
from counterfoil.schema.rest.versions import Visibility

if TYPE_CHECKING:
    from counterfoil.sdk.transport import Reply


# One call of the REST API as a value: how the request is made, and how its response is read.

T = TypeVar("T")


class ReplyForm(Enum):
    """The form of the body of a successful response."""

    JSON = "JSON"
    TEXT = "text"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Operation(Generic[T]):
    """One call of the REST API. ``path`` is percent-encoded and begins with a slash; ``body`` is JSON or None.

    ``is_repeatable``: sending it twice has the same effect as sending it once, so it may be retried after a lost
    response.
    """

    name: str
    method: str
    path: str
    read: Callable[[JsonValue], T]
    query: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    is_repeatable: bool = True
    form: ReplyForm = ReplyForm.JSON

    @property
    def target(self) -> str:
        """The path and query, as in the request."""
        return f"{self.path}?{urlencode(self.query, quote_via=quote)}" if self.query else self.path


def page_of(operation: Operation[T], *, offset: int, limit: int) -> Operation[T]:
    """Return a listing's operation that requests ``limit`` entries at most, after the first ``offset``."""
    return replace(operation, query=(*operation.query, ("offset", str(offset)), ("limit", str(limit))))


def as_json(operation: Operation[Any]) -> Operation[Any]:
    """Return the operation with its unparsed JSON as the result: for responses of other registries."""
    return replace(operation, read=_value)


def _value(reply: JsonValue) -> Json:
    return reply.value


# Parts of the requests of operations, and readers of responses that several operations have.


def url_path(*segments: str | int) -> str:
    """Return the path of the segments, each encoded once; also one of dots alone, which a client would resolve.

    Raises ``InvalidSubject`` for None, which would else be the name ``None``.
    """
    if None in segments:
        before = "/".join(map(str, segments[: segments.index(None)]))
        raise InvalidSubject(f"None follows {before!r} in the path of the request; expected a name or a number")
    return "".join(f"/{_segment(str(segment))}" for segment in segments)


def _segment(text: str) -> str:
    return text.replace(".", "%2E") if text in (".", "..") else quote(unicode_text(text), safe="")


def unicode_text(text: str) -> str:
    """Return the text; raise ``InvalidSubject`` if it has no UTF-8 form for a URL."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidSubject(f"{text!r} is no name; expected Unicode text without lone surrogates") from None
    return text


def url_query(**values: str | bool | int | None) -> tuple[tuple[str, str], ...]:
    """Return the parameters with a value: false and None are the API's defaults."""
    return tuple(
        (name, "true" if value is True else unicode_text(str(value)))
        for name, value in values.items()
        if value is not None and value is not False
    )


def deleted_query(visibility: Visibility) -> tuple[tuple[str, str], ...]:
    """Return the parameters that select deleted subjects, versions or keys."""
    return url_query(deleted=visibility is Visibility.WITH_DELETED, deletedOnly=visibility is Visibility.DELETED_ONLY)


def json_body(value: object) -> bytes:
    """Return the JSON text of the value; equal values have equal texts, which caches use as keys."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode("ascii")


def action(name: str, method: str, path: str, query: tuple[tuple[str, str], ...] = ()) -> Operation[None]:
    """Return the operation without a result; the second time it may be refused, as it has been done."""
    return Operation(name, method, path, read_nothing, query, is_repeatable=False, form=ReplyForm.NOTHING)


def read_sorted_texts(reply: JsonValue) -> tuple[str, ...]:
    """Return a list of texts, sorted: the API promises no order."""
    return tuple(sorted(read_texts(reply)))


def read_nothing(reply: JsonValue) -> None:
    """Ignore the body: a success needs no particular one."""
    del reply


def read_object(reply: JsonValue) -> JsonObject:
    """Return a JSON object as it is."""
    return dict(reply.members())


def read_objects(reply: JsonValue) -> tuple[JsonObject, ...]:
    """Return a list of JSON objects as they are."""
    return tuple(map(read_object, reply.items()))


# Reading responses: the result of an operation, or the error that the registry reports.

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


def _json_of(text: str, reply: Reply) -> Json:
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
