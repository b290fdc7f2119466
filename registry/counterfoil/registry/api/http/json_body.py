"""Request bodies: bytes to JSON, and never a foreign exception."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import orjson

from counterfoil.schema.errors import BadRequest, MissingBody, RequestTooLarge

if TYPE_CHECKING:
    from starlette.types import Receive


async def read_body(receive: Receive, *, max_bytes: int) -> bytes:
    """The whole body; ``RequestTooLarge`` once it is above ``max_bytes``, ``BadRequest`` where it breaks off."""
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
    """The error for a body above the limit."""
    return RequestTooLarge(f"The request body is larger than {max_bytes} bytes, which is what this registry takes")


def parse_json(body: bytes) -> Any:
    """The JSON value in ``body``; ``MissingBody`` for no body and for ``null``, ``BadRequest`` for what is no JSON."""
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
    """Like lenient servers of this API: NaN and Infinity, and further text after the value, are taken.

    So are UTF-16 and UTF-32, which the first bytes tell as RFC 4627, section 3, says; no ``charset`` is looked at.
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
