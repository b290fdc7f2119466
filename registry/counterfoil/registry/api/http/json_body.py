"""Request bodies: bytes become JSON, and each failure is an error of this API."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import orjson

from counterfoil.schema.errors import BadRequest, MissingBody, RequestTooLarge

if TYPE_CHECKING:
    from starlette.types import Receive


async def read_body(receive: Receive, *, max_bytes: int) -> bytes:
    """Return the whole body; raise ``RequestTooLarge`` above ``max_bytes``, ``BadRequest`` if it is incomplete."""
    chunks: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise BadRequest("The request breaks off before the end of its body")
        chunk = message.get("body", b"")
        size += len(chunk)
        if size > max_bytes:
            raise too_large(max_bytes)
        chunks.append(chunk)
        if not message.get("more_body", False):
            return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def too_large(max_bytes: int) -> RequestTooLarge:
    """Return the error for a body above the limit."""
    return RequestTooLarge(f"The request body is larger than {max_bytes} bytes, which is what this registry takes")


def parse_json(body: bytes) -> Any:
    """Return the JSON value in ``body``.

    Raises ``MissingBody`` for no body and for ``null``, and ``BadRequest`` for a text that is not JSON.
    """
    if not body.strip():
        raise MissingBody("The request has no body; expected a JSON object")
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        value = _parse_leniently(body)
    if value is None:
        raise MissingBody("The request body is null; expected a JSON object")
    return value


def _parse_leniently(body: bytes) -> Any:
    """Return the JSON value as lenient servers of this API do: NaN, Infinity and text after the value are accepted.

    UTF-16 and UTF-32 are accepted, too, which the first bytes show (RFC 4627, section 3); ``charset`` is not read.
    """
    encoding = json.detect_encoding(body)
    try:
        text = body.decode("utf-8-sig" if encoding == "utf-8" else encoding)
        value, _ = json.JSONDecoder().raw_decode(text.lstrip(" \t\r\n"))
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise BadRequest("The request body holds half of a surrogate pair, which is no character") from None
    except UnicodeDecodeError:
        raise BadRequest(f"The request body is not {encoding.removesuffix('-sig').upper()}") from None
    except RecursionError:
        raise BadRequest("The request body is nested too deeply") from None
    except ValueError as error:
        raise BadRequest(f"The request body is not JSON: {str(error)[:200]}") from None
    return value
