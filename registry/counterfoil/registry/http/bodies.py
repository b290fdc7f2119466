"""The bytes of bodies: requests as JSON, and gzip in both directions (RFC 9110, 8.4 and 12.5.3)."""

from __future__ import annotations

import asyncio
import json
import zlib
from typing import TYPE_CHECKING, Any, Final

import orjson

from counterfoil.schema.caches import RecentValues, cached_if_short
from counterfoil.schema.errors import BadRequest, MissingBody, RequestTooLarge, UnsupportedMediaType

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Send


# Request bodies: bytes become JSON, and each failure is an error of this API.


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


# Compressed bodies: responses for clients that accept gzip, and requests in gzip (RFC 9110, 8.4 and 12.5.3).

CONTENT_ENCODING: Final = b"content-encoding"
_OK: Final = 200
_GZIP: Final = frozenset({"gzip", "x-gzip"})
_GZIP_WINDOW: Final = 31
_QUICKEST: Final = 1
_IN_THREAD_BYTES: Final = 64 * 1024
_MEMORY_BYTES: Final = 8 * 1024 * 1024
_OVERHEAD_BYTES: Final = 200


class Packing:
    """Compresses responses of ``min_bytes`` and more. Small ones are cached in compressed form."""

    def __init__(self, *, min_bytes: int) -> None:
        self._min_bytes = min_bytes
        self._kept: RecentValues[bytes, bytes] = RecentValues(_MEMORY_BYTES)

    def wrap(self, send: Send) -> Send:
        """Return ``send`` for a client that accepts gzip; responses in several parts and errors are sent unchanged."""
        start: Message | None = None

        async def send_packed(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start" and _has_length(message):
                start = message
                return
            if start is not None:
                first, start = start, None
                body = message.get("body", b"")
                is_whole = not message.get("more_body", False)
                if is_whole and first["status"] == _OK and len(body) >= self._min_bytes and not _is_encoded(first):
                    packed = await self._packed(bytes(body))
                    message = {**message, "body": packed}
                    first = {**first, "headers": _headers_of_packed(first["headers"], len(packed))}
                await send(first)
            await send(message)

        return send_packed

    async def _packed(self, body: bytes) -> bytes:
        if len(body) > _IN_THREAD_BYTES:  # takes milliseconds, during which other requests are handled
            return await asyncio.to_thread(_pack, body)
        found = self._kept.get(body)
        if found is None:
            found = _pack(body)
            self._kept.put(body, found, weight=len(body) + len(found) + _OVERHEAD_BYTES)
        return found


def _pack(body: bytes) -> bytes:
    packer = zlib.compressobj(_QUICKEST, wbits=_GZIP_WINDOW)
    return packer.compress(body) + packer.flush()


def _has_length(start: Message) -> bool:
    """Return whether the length of the response is known.

    The head of an event stream must not wait for the first event.
    """
    return any(name.lower() == b"content-length" for name, _ in start["headers"])


def _is_encoded(start: Message) -> bool:
    return any(name.lower() == CONTENT_ENCODING for name, _ in start["headers"])


def _headers_of_packed(headers: Any, size_bytes: int) -> list[tuple[bytes, bytes]]:
    kept = [(name, value) for name, value in headers if name.lower() != b"content-length"]
    length = (b"content-length", b"%d" % size_bytes)
    return [*kept, length, (CONTENT_ENCODING, b"gzip"), (b"vary", b"accept-encoding")]


@cached_if_short(256, longest=500)
def accepts_gzip(accept_encoding: bytes) -> bool:
    """Return whether a client with this ``Accept-Encoding`` accepts gzip.

    >>> accepts_gzip(b"gzip, deflate"), accepts_gzip(b"gzip;q=0, *"), accepts_gzip(b"*"), accepts_gzip(b"br")
    (True, False, True, False)
    """
    quality_by_name = dict(_coding(part) for part in accept_encoding.decode("latin-1").lower().split(","))
    named = [quality for name, quality in quality_by_name.items() if name in _GZIP]
    return max(named or [quality_by_name.get("*", 0.0)]) > 0


def _coding(part: str) -> tuple[str, float]:
    name, *parameters = (piece.strip() for piece in part.split(";"))
    for parameter in parameters:
        key, _, value = parameter.partition("=")
        if key.strip() == "q":
            try:
                return name, float(value)
            except ValueError:
                return name, 0.0
    return name, 1.0


def unpacking(receive: Receive, content_encoding: bytes, *, max_bytes: int) -> Receive:
    """Return ``receive`` for a body with this ``Content-Encoding``: its messages are decompressed.

    Raises ``UnsupportedMediaType`` for another coding than gzip. ``receive`` raises ``BadRequest`` for data that is not
    gzip, and ``RequestTooLarge`` as soon as more than ``max_bytes`` come out, however little was sent.
    """
    names = [name.strip() for name in content_encoding.decode("latin-1").lower().split(",")]
    codings = [name for name in names if name not in {"", "identity"}]
    if not codings:
        return receive
    if len(codings) > 1 or codings[0] not in _GZIP:
        raise UnsupportedMediaType(
            f"The request has the Content-Encoding {', '.join(codings)[:80]!r}, which is not read; send it with gzip "
            "or without an encoding"
        )
    unpacker = _Unpacker(max_bytes)

    async def receive_unpacked() -> Message:
        message = await receive()
        if message["type"] != "http.request":
            return message
        is_last = not message.get("more_body", False)
        return {**message, "body": unpacker.feed(message.get("body", b""), is_last=is_last)}

    return receive_unpacked


class _Unpacker:
    """Decompresses gzip, of one member or several, up to a total size."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = self._room = max_bytes
        self._stream = zlib.decompressobj(_GZIP_WINDOW)
        self._has_begun = False

    def feed(self, data: bytes, *, is_last: bool) -> bytes:
        """Return the decompressed ``data``."""
        try:
            unpacked = self._unpack(data)
        except zlib.error as error:
            raise BadRequest(f"The request body is not gzip, though it says so: {error}") from None
        if is_last and self._has_begun and not self._stream.eof:
            raise BadRequest("The request body is gzip that breaks off")
        return unpacked

    def _unpack(self, data: bytes) -> bytes:
        pieces = []
        while data:
            if self._stream.eof:
                self._stream = zlib.decompressobj(_GZIP_WINDOW)
            self._has_begun = True
            piece = self._stream.decompress(data, self._room + 1)
            self._room -= len(piece)
            if self._room < 0:
                raise too_large(self._max_bytes)
            pieces.append(piece)
            data = self._stream.unused_data if self._stream.eof else b""
        return b"".join(pieces)
