"""A request as operations read it: path, query and body, parsed by the rules of Confluent's API."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from starlette.requests import Request

from counterfoil.registry.http.answers import MAX_IGNORED
from counterfoil.registry.http.bodies import parse_json, read_body
from counterfoil.registry.http.dialects import comes_from_python
from counterfoil.registry.http.paths import decode_segment
from counterfoil.schema.contexts import QualifiedSubject, parse_subject
from counterfoil.schema.errors import NotFound
from counterfoil.schema.rest.object_forms import unknown_members

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.types import Receive, Scope

    from counterfoil.registry.use_cases import UseCases
    from counterfoil.schema.rest.object_forms import HasJsonSchema


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
        """Begin another attempt over ``cases``: what was read of the store is read again."""
        self.cases = cases
        self._subject = None

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
