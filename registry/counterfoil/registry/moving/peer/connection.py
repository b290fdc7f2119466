"""Talking to a registry over its REST API: patient, bounded, and with a clear word when it does not work."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, Self
from urllib.parse import quote

import httpx

from counterfoil.registry.moving.errors import MovingError, PeerRefused, PeerUnreachable
from counterfoil.schema.contexts import DEFAULT_CONTEXT, parse_subject
from counterfoil.sdk.http import connection_options

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from counterfoil.schema.contexts import QualifiedSubject
    from counterfoil.sdk.settings import RegistrySettings

_MEDIA_TYPE: Final = "application/vnd.schemaregistry.v1+json"
_TRY_AGAIN: Final = frozenset({429, 500, 502, 503, 504})
_FIRST_PAUSE_S: Final = 0.2
_LONGEST_PAUSE_S: Final = 30.0
_PAGE: Final = 1000
_SHOWN: Final = 300


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
    """A registry to ask, ``concurrency`` requests at once at most. Use as an async context manager.

    A request is made again after a pause, at the next URL where there are several, up to ``retry.retries`` times when
    the registry cannot be reached or answers 429 or 5xx. ``transport`` and ``pause`` (which waits so many seconds) are
    for tests.
    """

    def __init__(
        self,
        settings: RegistrySettings,
        *,
        concurrency: int = 16,
        transport: httpx.AsyncBaseTransport | None = None,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.url = self.shown_url(settings)
        self._urls = [url.rstrip("/") for url in settings.urls]
        self._settings = settings
        self._pause = pause
        self._turns = asyncio.Semaphore(concurrency)
        login = {"Authorization": settings.auth.header} if settings.auth else {}
        self._client = httpx.AsyncClient(
            **connection_options(settings),
            headers={"Accept": f"{_MEDIA_TYPE}, application/json", **settings.headers, **login},
            transport=transport,
            limits=httpx.Limits(max_connections=concurrency),
        )

    @staticmethod
    def shown_url(settings: RegistrySettings) -> str:
        """The first URL, in which there is no password."""
        return settings.urls[0].rstrip("/")

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
        retries = self._settings.retry.retries
        for attempt in range(retries + 1):
            is_last = attempt == retries
            url = self._urls[attempt % len(self._urls)]
            try:
                response = await self._client.request(
                    method, f"{url}{path}", params=query, json=body, headers=_body_type(body)
                )
            except httpx.TransportError as error:
                if is_last:
                    what = str(error) or type(error).__name__
                    raise PeerUnreachable(f"{url} cannot be reached ({method} {path}): {what}") from None
                await self._pause(_wait_s(attempt, None))
                continue
            except httpx.InvalidURL as error:
                raise MovingError(f"{url}{path[:_SHOWN]} is not a URL: {error}") from None
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
