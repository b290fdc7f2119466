"""One request as the operations use it: path, query and body, parsed by the rules of Confluent's API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from starlette.requests import Request

from counterfoil.registry.api.cache.replies import MAX_KEPT_BODY_BYTES, EveryWrite, Kept, request_key
from counterfoil.registry.api.dialects import comes_from_python
from counterfoil.registry.api.http.json_body import parse_json, read_body
from counterfoil.registry.api.http.paths import decode_segment
from counterfoil.schema.contexts import QualifiedSubject, parse_subject
from counterfoil.schema.errors import NotFound

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.types import Receive, Scope

    from counterfoil.registry.api.cache.replies import Basis, Ground
    from counterfoil.registry.api.routes.route import ApiRoute
    from counterfoil.registry.api.routes.services import Services
    from counterfoil.registry.service.use_cases import UseCases

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


class Call:
    """A request that an operation handles, and the use cases ``cases`` that it calls.

    The response is cached for the fast lane if the operation declares what it depends on. ``is_python``: the request
    comes from Confluent's Python client.
    """

    __slots__ = ("_basis", "_body", "_max_body_bytes", "_query", "_receive", "_replies", "_scope", "cases", "is_python")

    def __init__(self, scope: Scope, receive: Receive, services: Services) -> None:
        self._scope = scope
        self._receive = receive
        self._query: dict[str, list[str]] | None = None
        self._body: bytes | None = None
        self._max_body_bytes = services.max_body_bytes
        self._replies = services.replies
        self._basis: Basis | None = None
        self.cases: UseCases = services.cases
        self.is_python = comes_from_python(scope["headers"])

    async def request(self, *, has_body: bool) -> Request:
        """Return the request for FastAPI, with the use cases of this call for its endpoint; the body has been read."""
        request = _ReadRequest(self._scope, await self.raw_body()) if has_body else Request(self._scope)
        request.state.cases = self.cases
        return request

    # --- path

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
        """Return the subject in the path, or the one whose alias it is."""
        return await self.cases.scopes.aliased(self.scope_subject())

    async def lasting_subject(self) -> QualifiedSubject:
        """Return :meth:`subject`; the response depends on the subjects of its name, in all contexts."""
        if self.has_query:
            return await self.subject()
        epoch = self._replies.epoch
        subject = await self.subject()
        self._basis = self._replies.basis(subject.name, epoch)
        return subject

    async def subject_parameter(self) -> str:
        """Return the query's ``subject``, or the one whose alias it is; an empty text if there is none."""
        text = self.text("subject")
        return str(await self.cases.scopes.aliased(parse_subject(text))) if text else ""

    # --- what the response depends on

    def rests_on(self, ground: Ground = EveryWrite) -> None:
        """Declare what the response depends on, before anything is read."""
        if not self.has_query:
            self._basis = self._replies.basis(ground, self._replies.epoch)

    def rests_on_more(self) -> None:
        """Declare that the response depends on more than was declared, so that it is not cached."""
        self._basis = None

    def keep(self, answer: bytes, route: ApiRoute, *, tag: bytes = b"", is_tolerant: bool = False) -> None:
        """Cache the response, if the operation has declared what it depends on."""
        if self._basis is not None and len(self._body or b"") <= MAX_KEPT_BODY_BYTES:
            key = request_key(self._scope["raw_path"], self._body, is_tolerant=is_tolerant, is_python=self.is_python)
            self._replies.put(key, Kept(answer, route.path_format, self._basis, tag, route.may_be_stale))

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
        """Return the body's JSON value."""
        return parse_json(await self.raw_body())

    async def raw_body(self) -> bytes:
        """Return the body's bytes; they are received once, since an operation that is repeated reads them again."""
        if self._body is None:
            self._body = await read_body(self._receive, max_bytes=self._max_body_bytes)
        return self._body
