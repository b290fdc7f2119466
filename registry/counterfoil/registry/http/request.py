"""Requests: paths and their contexts, bodies as JSON and in gzip, and a request as operations read it."""

from __future__ import annotations

import asyncio
import json
import zlib
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, Final
from urllib.parse import parse_qs, parse_qsl, quote, unquote_to_bytes, urlencode

import orjson
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError, WrapValidator
from starlette.requests import Request
from starlette.types import Message, Receive, Scope, Send

from counterfoil.registry.http.answers import MAX_IGNORED, comes_from_python
from counterfoil.registry.use_cases import UseCases
from counterfoil.schema.caches import RecentValues, cached_if_short
from counterfoil.schema.contexts import QualifiedSubject, parse_subject
from counterfoil.schema.errors import BadRequest, MissingBody, NotFound, RequestTooLarge, UnsupportedMediaType
from counterfoil.schema.rest.object_forms import HasJsonSchema, unknown_members

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
    """Return the error of the response: the first invalid value, and the expectation."""
    first = error.errors()[0]
    name = _name(first["loc"])
    if first["type"] == "missing":
        return BadRequest(f"{name} is missing")
    value, problem = first["input"], _problem(first)
    shown = repr(value[:_SHOWN]) if isinstance(value, str) else repr(value)[:_SHOWN]
    return BadRequest(f"{name} is {shown}; {problem[:1].lower()}{problem[1:]}")


def _problem(error: Mapping[str, Any]) -> str:
    """Return the expectation, in the words of JSON; for other errors pydantic's own sentence.

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


# A request as operations read it: path, query and body, parsed by the rules of Confluent's API.

_MAX_INT = 2**31 - 1
_MAX_DIGITS = 10


def parse_integer(text: str, what: str) -> int:
    """Return ``text`` as an integer of 32 bits, as this API reads paths and queries; raise ``NotFound`` otherwise."""
    digits = text[1:] if text[:1] in {"+", "-"} else text
    if digits.isascii() and digits.isdigit() and len(digits.lstrip("0")) <= _MAX_DIGITS:
        number = int(text)
        if -_MAX_INT - 1 <= number <= _MAX_INT:
            return number
    raise NotFound(f"{what} is {text[:80]!r}; expected an integer of 32 bits")


class _ReadRequest(Request):
    """A request whose body has been read already: within the size limit, and as JSON whatever its ``Content-Type``."""

    def __init__(self, scope: Scope, body: bytes) -> None:
        super().__init__({**scope, "headers": [(b"content-type", b"application/json"), *scope["headers"]]})
        self._bytes, self._value = body, parse_json(body)

    async def body(self) -> bytes:
        """Return the body's bytes."""
        return self._bytes

    async def json(self) -> Any:
        """Return the body's JSON value."""
        return self._value


class ApiRequest:
    """A request, and the use cases ``cases`` that answer it.

    ``is_python``: it comes from Confluent's Python client. ``form`` is the form of the body, and ``ignored`` are the
    members of a body that it does not have: they are ignored, as by other registries, and a header names them.
    """

    __slots__ = (
        "_form",
        "_max_body_bytes",
        "_query",
        "_receive",
        "_scope",
        "_subject",
        "body",
        "cases",
        "ignored",
        "is_python",
    )

    def __init__(
        self,
        scope: Scope,
        receive: Receive,
        cases: UseCases,
        *,
        max_body_bytes: int,
        form: HasJsonSchema | None = None,
    ) -> None:
        self._scope = scope
        self._receive = receive
        self._query: dict[str, list[str]] | None = None
        self._max_body_bytes = max_body_bytes
        self._form = form
        self._subject: QualifiedSubject | None = None
        self.body: bytes | None = None
        """The bytes of the body; None before it is received."""
        self.cases = cases
        self.is_python = comes_from_python(scope["headers"])
        self.ignored: tuple[str, ...] = ()

    async def validated(self, caller: object, *, has_body: bool) -> Request:
        """Return the request for FastAPI, with ``caller`` and the use cases for its endpoint; the body was read."""
        request = _ReadRequest(self._scope, await self.raw_body()) if has_body else Request(self._scope)
        request.state.cases = self.cases
        request.state.caller = caller
        return request

    def restart(self, cases: UseCases) -> None:
        """Begin another attempt over ``cases``: all reads of the store are repeated."""
        self.cases = cases
        self._subject = None

    @property
    def scope(self) -> Scope:
        """The ASGI scope of the request."""
        return self._scope

    # --- path

    @property
    def raw_path(self) -> bytes:
        """The path as it was sent."""
        path: bytes = self._scope["raw_path"]
        return path

    def segment(self, name: str) -> str:
        """Return a path parameter, decoded; an empty text if the path has none of this name."""
        return decode_segment(self._scope["path_params"].get(name, ""))

    def integer_segment(self, name: str) -> int:
        """Return a path parameter that is a number."""
        return parse_integer(self.segment(name), name)

    def scope_subject(self) -> QualifiedSubject:
        """Return the subject or context in the path, without resolving an alias."""
        return parse_subject(self.segment("subject"))

    async def subject(self) -> QualifiedSubject:
        """Return the subject in the path, or the one whose alias it is; it is the same one during an attempt."""
        if self._subject is None:
            self._subject = await self.cases.scopes.aliased(self.scope_subject())
        return self._subject

    async def subject_parameter(self) -> str:
        """Return the query's ``subject``, or the one whose alias it is; an empty text if there is none."""
        text = self.text("subject")
        return str(await self.cases.scopes.aliased(parse_subject(text))) if text else ""

    # --- query

    @property
    def has_query(self) -> bool:
        """Whether the request has a query at all."""
        return bool(self._scope["query_string"])

    def texts(self, name: str) -> Sequence[str]:
        """Return all values of a query parameter."""
        if self._query is None:
            query = self._scope["query_string"].decode("latin-1")
            self._query = parse_qs(query, keep_blank_values=True, errors="replace") if query else {}
        return self._query.get(name, ())

    def text(self, name: str, default: str = "") -> str:
        """Return the first value of a query parameter."""
        return next(iter(self.texts(name)), default)

    def flag(self, name: str) -> bool:
        """Return whether a query parameter is ``true`` in any letter case; anything else is false."""
        return self.text(name).lower() == "true"

    def integer(self, name: str, default: int) -> int:
        """Return a query parameter that is a number; an empty one counts as absent."""
        text = self.text(name)
        return parse_integer(text, name) if text else default

    def bounds(self, *, default_limit: int = _MAX_INT) -> tuple[int, int]:
        """Return the start and end index of ``offset`` and ``limit``; a limit out of range is the default."""
        offset = max(self.integer("offset", 0), 0)
        limit = self.integer("limit", -1)
        return offset, offset + (limit if 0 < limit <= default_limit else default_limit)

    # --- body

    async def json(self) -> Any:
        """Return the body's JSON value; members that the route's body does not have become :attr:`ignored`."""
        value = parse_json(await self.raw_body())
        if self._form is not None and isinstance(value, dict | list):
            self.ignored = tuple(islice(unknown_members(value, self._form), MAX_IGNORED))
        return value

    async def raw_body(self) -> bytes:
        """Return the body's bytes; they are received once, since an operation that is repeated reads them again."""
        if self.body is None:
            self.body = await read_body(self._receive, max_bytes=self._max_body_bytes)
        return self.body
