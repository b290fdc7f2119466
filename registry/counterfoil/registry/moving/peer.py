"""Talking to a registry over its REST API: patient, bounded, and with a clear word when it does not work."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, Self
from urllib.parse import quote, urlsplit, urlunsplit

import httpx

from counterfoil.registry.moving.errors import MovingError, PeerRefused, PeerUnreachable
from counterfoil.schema.contexts import DEFAULT_CONTEXT, parse_subject

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from counterfoil.schema.contexts import QualifiedSubject

_MEDIA_TYPE: Final = "application/vnd.schemaregistry.v1+json"
_TRY_AGAIN: Final = frozenset({429, 500, 502, 503, 504})
_FIRST_PAUSE_S: Final = 0.2
_LONGEST_PAUSE_S: Final = 30.0
_PAGE: Final = 1000
_SHOWN: Final = 300


@dataclass(frozen=True, slots=True)
class PeerSettings:
    """How a registry is reached.

    ``user`` is ``name:password`` for basic authentication, ``token`` a bearer token; both None: what the URL says, if
    anything. A request waits ``timeout_s`` at most, and is made again up to ``retries`` times when the registry cannot
    be reached or answers 429 or 5xx. ``concurrency`` requests are under way at once. ``ca_file`` has the certificates
    to trust, in place of the system's.
    """

    url: str
    user: str | None = None
    token: str | None = None
    timeout_s: float = 30.0
    retries: int = 5
    concurrency: int = 16
    ca_file: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What a registry answered: the HTTP status, and the JSON value of the body (None where it was none)."""

    status: int
    value: Any

    @property
    def is_ok(self) -> bool:
        """Whether it is a success."""
        return self.status < HTTPStatus.MULTIPLE_CHOICES

    @property
    def code(self) -> int | None:
        """The registry's own code of an error."""
        code = self.value.get("error_code") if isinstance(self.value, dict) else None
        return code if isinstance(code, int) else None

    @property
    def message(self) -> str:
        """What the registry says about an error."""
        found = self.value.get("message") if isinstance(self.value, dict) else None
        return str(found or self.value or "")[:_SHOWN]


class Peer:
    """A registry to ask. Use as an async context manager.

    ``transport`` and ``pause`` (which waits so many seconds) are for tests.
    """

    def __init__(
        self,
        settings: PeerSettings,
        *,
        transport: httpx.AsyncBaseTransport | None = None,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.url = self.shown_url(settings.url)
        if not self.url.startswith(("http://", "https://")) or not urlsplit(self.url).hostname:
            raise MovingError(f"{self.url!r} is not the URL of a registry; expected http://host:port or https://…")
        self._settings = settings
        self._pause = pause
        self._turns = asyncio.Semaphore(settings.concurrency)
        self._client = httpx.AsyncClient(
            timeout=settings.timeout_s,
            headers={"Accept": f"{_MEDIA_TYPE}, application/json", **_bearer(settings)},
            auth=_basic(settings),
            verify=_trusted(settings),
            transport=transport,
            trust_env=transport is None,
            limits=httpx.Limits(max_connections=settings.concurrency),
        )

    @staticmethod
    def shown_url(url: str) -> str:
        """``url`` without user, password and query."""
        parts = urlsplit(url)
        return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path.rstrip("/"), "", ""))

    async def __aenter__(self) -> Self:
        """The peer itself."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def ask(self, method: str, path: str, *, body: object = None, **query: str | int | bool) -> Answer:
        """The answer to a request, whatever its status, after the retries.

        Raises ``PeerUnreachable``, and ``PeerRefused`` for 401, 403, 429 and 5xx.
        """
        texts = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in query.items()}
        async with self._turns:
            answer = await self._patiently(method, path, body, texts)
        if answer.status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN} or _is_trouble(answer):
            raise PeerRefused(f"{self.url} answered {answer.status} to {method} {path}: {answer.message}")
        return answer

    async def get(self, path: str, **query: str | int | bool) -> Any:
        """The JSON value of a resource; None for any answer from 400 to 499."""
        answer = await self.ask("GET", path, **query)
        return answer.value if answer.is_ok else None

    async def pages(self, path: str, **query: str | int | bool) -> list[Any] | None:
        """All items of a listing, page by page where the registry has pages; None when it has no such listing."""
        found: list[Any] = []
        while True:
            answer = await self.ask("GET", path, offset=len(found), limit=_PAGE, **query)
            if not answer.is_ok or not isinstance(answer.value, list):
                return found or None
            page = answer.value
            if found and page[:1] == found[:1]:  # there are no pages: this is the whole listing again
                return found
            found.extend(page)
            if len(page) != _PAGE:
                return found

    async def _patiently(self, method: str, path: str, body: object, query: dict[str, str]) -> Answer:
        for attempt in range(self._settings.retries + 1):
            is_last = attempt == self._settings.retries
            try:
                response = await self._client.request(
                    method, f"{self.url}{path}", params=query, json=body, headers=_body_type(body)
                )
            except httpx.TransportError as error:
                if is_last:
                    what = str(error) or type(error).__name__
                    raise PeerUnreachable(f"{self.url} cannot be reached ({method} {path}): {what}") from None
                await self._pause(_wait_s(attempt, None))
                continue
            except httpx.InvalidURL as error:
                raise MovingError(f"{self.url}{path[:_SHOWN]} is not a URL: {error}") from None
            if response.status_code not in _TRY_AGAIN or is_last:
                return Answer(response.status_code, _json_of(response))
            await self._pause(_wait_s(attempt, response.headers.get("retry-after")))
        raise AssertionError("the last attempt returns or raises")


def segment(text: object) -> str:
    """``text`` as one segment of a path."""
    return quote(str(text), safe="")


def versions_path(subject: QualifiedSubject, version: object = None) -> str:
    """The path of a subject's versions, or of one of them."""
    path = f"/subjects/{segment(subject)}/versions"
    return path if version is None else f"{path}/{segment(version)}"


def check_answer(answer: Answer, what: str) -> None:
    """Return when an answer is a success; else ``PeerRefused``, of which ``what`` says what was refused."""
    if not answer.is_ok:
        raise PeerRefused(f"{what}: {answer.status} {answer.message}")


def context_name(text: str) -> str:
    """The name of a context from however a registry prints it: ``.``, ``.ctx`` or ``:.ctx:``."""
    return parse_subject(text).context if text.startswith(":.") else text or DEFAULT_CONTEXT


def _is_trouble(answer: Answer) -> bool:
    return answer.status in _TRY_AGAIN or answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR


def _basic(settings: PeerSettings) -> httpx.BasicAuth | None:
    parts = urlsplit(settings.url)
    if settings.user is not None:
        name, _, password = settings.user.partition(":")
        return httpx.BasicAuth(name, password)
    if settings.token is None and parts.username is not None:
        from urllib.parse import unquote

        return httpx.BasicAuth(unquote(parts.username), unquote(parts.password or ""))
    return None


def _bearer(settings: PeerSettings) -> dict[str, str]:
    return {} if settings.token is None else {"Authorization": f"Bearer {settings.token}"}


def _trusted(settings: PeerSettings) -> Any:
    if settings.ca_file is None:
        return True
    import ssl

    try:
        return ssl.create_default_context(cafile=settings.ca_file)
    except OSError as error:
        raise MovingError(f"{settings.ca_file} holds no certificates that can be read: {error}") from None


def _body_type(body: object) -> dict[str, str]:
    return {} if body is None else {"Content-Type": _MEDIA_TYPE}


def _json_of(response: httpx.Response) -> Any:
    try:
        return response.json()
    except (ValueError, RecursionError):
        return response.text[:_SHOWN] or None


def _wait_s(attempt: int, retry_after: str | None) -> float:
    if retry_after is not None and retry_after.strip().isdigit():
        return min(float(retry_after), _LONGEST_PAUSE_S)
    longest: float = min(_FIRST_PAUSE_S * 2**attempt, _LONGEST_PAUSE_S)
    return longest * random.uniform(0.5, 1.0)  # noqa: S311 (spreads retries, guards nothing)
