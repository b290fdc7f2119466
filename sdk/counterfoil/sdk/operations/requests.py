"""Parts of the requests of operations, and readers of responses that several operations have."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from urllib.parse import quote

from counterfoil.schema.errors import InvalidSubject
from counterfoil.schema.rest.json_values import read_texts
from counterfoil.schema.rest.versions import Visibility
from counterfoil.sdk.operations.operation import Operation, ReplyForm

if TYPE_CHECKING:
    from typing import Any

    from counterfoil.schema.rest.json_values import JsonValue


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


def read_object(reply: JsonValue) -> dict[str, Any]:
    """Return a JSON object as it is."""
    return dict(reply.members())


def read_objects(reply: JsonValue) -> tuple[dict[str, Any], ...]:
    """Return a list of JSON objects as they are."""
    return tuple(map(read_object, reply.items()))
