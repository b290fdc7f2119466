"""One request to a registry: its base URLs in order, retries and their limits, and the transports, by httpx."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from http import HTTPStatus
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import urlsplit

from counterfoil.schema.datum import JsonObject
from counterfoil.schema.rest.object_forms import UnexpectedShapeError
from counterfoil.sdk.client.credentials import credentials_of
from counterfoil.sdk.client.settings import ClientCredentials, ClientTlsFiles, RegistrySettings, is_this_machine
from counterfoil.sdk.errors import InvalidSettings, RegistryUnavailable, UnexpectedReply
from counterfoil.sdk.operations import Operation, read_reply
from counterfoil.sdk.processes import Locking
from counterfoil.sdk.script import Pause, Script, Send
from counterfoil.sdk.transport import RETRIED, Clock, NoReply, Reply, Request, RetrySettings, pause_after

if TYPE_CHECKING:
    import asyncio

    import httpx


# What keeps a client from flooding a registry that fails: a shared budget of retries, and a circuit breaker.
#
# Sources: "Using load shedding to avoid overload" and "Timeouts, retries, and backoff with jitter" (Amazon Builders'
# Library), "Circuit Breaker" (Michael Nygard, Release It!).

_ANSWERS_PER_ROUND: Final = 5
_CALLS: Final = 16
"""How many calls may use all of their retries, if no budget is set."""


class RetryLimits(Locking):
    """The limits of one client, shared by its threads and tasks. :meth:`begin` and :meth:`end` surround every call."""

    def __init__(self, settings: RetrySettings, clock: Callable[[], float]) -> None:
        super().__init__()
        self._settings = settings
        self._clock = clock
        rounds = _CALLS * settings.retries if settings.budget is None else settings.budget
        self._budget = rounds * _ANSWERS_PER_ROUND
        self._left = self._budget
        """What is left of the budget, in answered calls."""
        self._failures = 0
        self._closed_until_s: float | None = None
        """Until when no request is sent, by the clock; None while requests are sent."""

    def make_locks(self) -> None:
        """Make the lock."""
        self._lock = Lock()

    def begin(self, url: str) -> None:
        """Raise ``RegistryUnavailable`` while no request is sent. When the pause is over, one call is let through."""
        if self._closed_until_s is None:
            return
        with self._lock:
            if self._closed_until_s is None:
                return
            left_s = self._closed_until_s - self._clock()
            if left_s <= 0:
                self._closed_until_s = self._clock() + self._settings.breaker_pause_s  # for the others
                return
        raise RegistryUnavailable(
            f"No request was sent to the registry at {url}: the last {self._failures} calls were not answered; the "
            f"next one is sent in {left_s:.1f} s",
            url=url,
            attempts=0,
        )

    def takes_round(self) -> bool:
        """Take one round of retries from the budget; return false if none is left."""
        with self._lock:
            is_left = self._left >= _ANSWERS_PER_ROUND
            if is_left:
                self._left -= _ANSWERS_PER_ROUND
        return is_left

    def end(self, *, is_answered: bool | None) -> None:
        """Note the outcome of a call; None: it ended before there was one."""
        if is_answered and not self._failures and self._left >= self._budget:
            return
        with self._lock:
            if is_answered:
                self._failures, self._closed_until_s = 0, None
                self._left = min(self._left + 1, self._budget)
            elif is_answered is not None:
                self._failures += 1
                if 0 < self._settings.breaker_failures <= self._failures:
                    self._closed_until_s = self._clock() + self._settings.breaker_pause_s


# One operation, repeated until there is a response: base URLs in order, retries, pauses.
#
# A script, without I/O of its own.

T = TypeVar("T")

MEDIA_TYPE: Final = "application/vnd.schemaregistry.v1+json"
_ACCEPT: Final = f"{MEDIA_TYPE}, application/vnd.schemaregistry+json; q=0.9, application/json; q=0.5"


@dataclass(frozen=True, slots=True)
class _Attempt:
    """The outcome of one request: a reply or none."""

    url: str
    outcome: Reply | NoReply

    @property
    def is_answered(self) -> bool:
        """Whether a registry sent a response that would be the same for a repeated request."""
        return isinstance(self.outcome, Reply) and self.outcome.status not in RETRIED

    @property
    def had_no_effect(self) -> bool:
        """Whether the request certainly had no effect in the registry."""
        if isinstance(self.outcome, NoReply):
            return not self.outcome.was_sent
        return self.outcome.status == HTTPStatus.TOO_MANY_REQUESTS


class Exchange:
    """Runs operations against the URLs of the settings, beginning with the one that responded last."""

    def __init__(self, settings: RegistrySettings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._urls = tuple(url.rstrip("/") for url in settings.urls)
        self._headers = _headers(settings)
        self._credentials = credentials_of(settings.auth, clock, settings.retry)
        self._limits = RetryLimits(settings.retry, clock.monotonic)
        self._preferred = 0

    def call(self, operation: Operation[T]) -> Script[T]:
        """Run the operation and return its result; raise the registry's error, or ``RegistryUnavailable``."""
        self._limits.begin(self._urls[self._preferred] + operation.target)
        try:
            attempt, attempts = yield from self._attempts(operation)
        except BaseException:
            self._limits.end(is_answered=None)
            raise
        self._limits.end(is_answered=attempt.is_answered)
        return self._read(operation, attempt, attempts)

    def _attempts(self, operation: Operation[T]) -> Script[tuple[_Attempt, int]]:
        """Send the request until there is a final outcome, and return it with the number of requests."""
        started = self._clock.monotonic()
        attempts = 0
        for round_number in range(self._settings.retry.retries + 1):
            for position in self._positions():
                attempt = yield from self._attempt(operation, self._urls[position])
                attempts += 1
                if attempt.is_answered:
                    self._preferred = position
                if attempt.is_answered or not (operation.is_repeatable or attempt.had_no_effect):
                    return attempt, attempts
            if round_number == self._settings.retry.retries:
                break
            pause_s = pause_after(attempt.outcome, round_number, self._settings.retry, self._clock)
            is_in_time = pause_s < self._settings.retry.total_s - (self._clock.monotonic() - started)
            if not is_in_time or not self._limits.takes_round():
                break
            yield Pause(pause_s)
        return attempt, attempts

    def _positions(self) -> list[int]:
        """Return the positions of the URLs in the order of attempts, beginning with the one that responded last."""
        first = self._preferred
        return [(first + step) % len(self._urls) for step in range(len(self._urls))]

    def _attempt(self, operation: Operation[T], base_url: str) -> Script[_Attempt]:
        url = base_url + operation.target
        headers = self._headers if operation.body is None else {**self._headers, "Content-Type": MEDIA_TYPE}
        own = yield from self._credentials.headers()
        try:
            reply = yield from _sent(operation, url, headers, own)
            if reply.status == HTTPStatus.UNAUTHORIZED and (yield from self._credentials.renewed(own)):
                reply = yield from _sent(operation, url, headers, (yield from self._credentials.headers()))
        except NoReply as error:
            return _Attempt(url, error)
        return _Attempt(url, reply)

    def _read(self, operation: Operation[T], attempt: _Attempt, attempts: int) -> T:
        tries = "1 attempt" if attempts == 1 else f"{attempts} attempts"
        if isinstance(attempt.outcome, NoReply):
            raise RegistryUnavailable(
                f"The registry at {attempt.url} did not answer: {attempt.outcome.problem} ({tries})",
                url=attempt.url,
                attempts=attempts,
            ) from attempt.outcome
        try:
            return read_reply(operation, attempt.outcome)
        except UnexpectedShapeError as error:
            raise UnexpectedReply(
                f"The server at {attempt.url} does not answer as a schema registry does: {error} ({tries})",
                url=attempt.url,
                attempts=attempts,
                status=attempt.outcome.status,
                problem=str(error),
            ) from None


def _sent(
    operation: Operation[Any], url: str, headers: Mapping[str, str], credentials: Mapping[str, str]
) -> Script[Reply]:
    if credentials:
        headers = {**credentials, **headers}  # the user's own header wins
    reply: Reply = yield Send(Request(operation.method, url, headers, operation.body))
    return reply


def _headers(settings: RegistrySettings) -> dict[str, str]:
    """Return the headers of every request; the user's come last and override others."""
    from importlib.metadata import version

    found = {
        "Accept": _ACCEPT,
        "User-Agent": f"counterfoil/{version('counterfoil')}",
        "Confluent-Accept-Unknown-Properties": "true",  # else Confluent's cloud leaves out newer fields
    }
    return {**found, **settings.headers}


# The default transports: httpx, with every time-out set and nothing taken from the environment.
#
# httpx is imported when the first request is sent, not before: a program that sends no request does not import it.

MAX_REPLY_BYTES: Final = 256 * 1024 * 1024
"""The largest accepted reply: a registry sends none that is longer."""
_PROXY_VARIABLES: Final = tuple(
    spelled for name in ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY") for spelled in (name, name.lower())
)


class HttpTransport(Locking):
    """Sends by HTTP, from any number of threads; a forked process opens connections of its own."""

    def __init__(self, settings: RegistrySettings) -> None:
        super().__init__()
        self._settings = settings
        self._files = ClientTlsFiles(settings.tls)
        self._client: httpx.Client | None = None
        self._owner = 0
        for_tokens = _token_settings(settings)
        self._tokens = None if for_tokens is None else HttpTransport(for_tokens)

    def make_locks(self) -> None:
        """Make the lock."""
        self._lock = Lock()

    def send(self, request: Request) -> Reply:
        """Send the request and return the reply, with any status; raise ``NoReply`` if there is none."""
        if self._tokens is not None and request.url in self._tokens.urls:
            return self._tokens.send(request)
        client = self._connected()
        self._files.refresh()
        body = _Body(self._settings.retry.total_s)
        with (
            _Translation(self._settings),
            client.stream(request.method, request.url, headers=dict(request.headers), content=request.body) as reply,
        ):
            for chunk in reply.iter_bytes():
                body.take(chunk)
            return _reply(reply, body)

    @property
    def urls(self) -> tuple[str, ...]:
        """The addresses that it sends to."""
        return self._settings.urls

    def close(self) -> None:
        """Close the connections; safe to repeat."""
        if self._tokens is not None:
            self._tokens.close()
        with self._lock:
            client, self._client = self._client, None
        if client is not None and self._owner == os.getpid():
            client.close()

    def _connected(self) -> httpx.Client:
        client = self._client
        if client is not None and self._owner == os.getpid():
            return client
        with self._lock:
            if self._client is None or self._owner != os.getpid():
                import httpx

                self._client = httpx.Client(**_connection_options(self._settings, self._files))
                self._owner = os.getpid()
            return self._client


class AsyncHttpTransport:
    """Sends by HTTP, from any number of tasks; in another event loop it opens connections anew.

    ``connections`` is how many are open at once at most; None stands for httpx's own limit.
    """

    def __init__(self, settings: RegistrySettings, *, connections: int | None = None) -> None:
        self._settings = settings
        self._connections = connections
        self._files = ClientTlsFiles(settings.tls)
        for_tokens = _token_settings(settings)
        self._tokens = None if for_tokens is None else AsyncHttpTransport(for_tokens)
        self._client: httpx.AsyncClient | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def asend(self, request: Request) -> Reply:
        """Send the request and return the reply, with any status; raise ``NoReply`` if there is none."""
        if self._tokens is not None and request.url in self._tokens.urls:
            return await self._tokens.asend(request)
        client = self._connected()
        self._files.refresh()
        body = _Body(self._settings.retry.total_s)
        with _Translation(self._settings):
            async with client.stream(
                request.method, request.url, headers=dict(request.headers), content=request.body
            ) as reply:
                async for chunk in reply.aiter_bytes():
                    body.take(chunk)
                return _reply(reply, body)

    @property
    def urls(self) -> tuple[str, ...]:
        """The addresses that it sends to."""
        return self._settings.urls

    async def aclose(self) -> None:
        """Close the connections; safe to repeat."""
        import asyncio

        if self._tokens is not None:
            await self._tokens.aclose()
        client, self._client = self._client, None
        if client is not None and self._loop is asyncio.get_running_loop():
            await client.aclose()

    def _connected(self) -> httpx.AsyncClient:
        import asyncio

        import httpx

        loop = asyncio.get_running_loop()
        if self._client is None or self._loop is not loop:  # connections end with the loop that they were opened in
            self._client = httpx.AsyncClient(**_connection_options(self._settings, self._files), **self._limits())
            self._loop = loop
        return self._client

    def _limits(self) -> JsonObject:
        import httpx

        count = self._connections
        return {} if count is None else {"limits": httpx.Limits(max_connections=count, max_keepalive_connections=count)}


class _Body:
    """The bytes of a reply as they arrive, limited in number and in time: httpx limits the time of each read only."""

    def __init__(self, total_s: float) -> None:
        self._chunks: list[bytes] = []
        self._size_bytes = 0
        self._deadline_s = time.monotonic() + total_s

    def take(self, chunk: bytes) -> None:
        """Add the next bytes."""
        self._chunks.append(chunk)
        self._size_bytes += len(chunk)
        if self._size_bytes > MAX_REPLY_BYTES:
            raise NoReply(f"its reply is longer than {MAX_REPLY_BYTES} bytes")
        if time.monotonic() > self._deadline_s:
            raise NoReply(f"its reply was not whole in time; {self._size_bytes} bytes had come")

    def whole(self) -> bytes:
        """Return all bytes."""
        return b"".join(self._chunks)


def _reply(response: httpx.Response, body: _Body) -> Reply:
    return Reply(response.status_code, {name.lower(): value for name, value in response.headers.items()}, body.whole())


class _Translation:
    """Turns the exceptions of httpx into ``NoReply``."""

    def __init__(self, settings: RegistrySettings) -> None:
        self._settings = settings

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        import httpx

        match error:
            case httpx.ConnectTimeout():
                text = f"no connection within {self._settings.connect_timeout_s:g} s"
                raise NoReply(f"{text}{_about_proxies(self._settings)}", was_sent=False) from error
            case httpx.ConnectError() | httpx.ProxyError() | httpx.UnsupportedProtocol():
                text = f"no connection: {_words(error)}"
                raise NoReply(f"{text}{_about_proxies(self._settings)}", was_sent=False) from error
            case httpx.PoolTimeout():
                raise NoReply("all connections are in use", was_sent=False) from error
            case httpx.ReadTimeout():
                raise NoReply(f"it sent nothing for {self._settings.read_timeout_s:g} s") from error
            case httpx.HTTPError() | OSError():  # TLS alerts that come after the handshake are not translated by httpx
                raise NoReply(f"the connection broke: {_words(error)}") from error
            case httpx.InvalidURL() | UnicodeError():  # a host name that cannot be encoded for DNS
                raise InvalidSettings(f"The registry URL is not valid: {error}", setting="url") from error


def _words(error: Exception) -> str:
    return str(error) or type(error).__name__


def _about_proxies(settings: RegistrySettings) -> str:
    """Return the part of a message about proxies: the one that was used, or a variable that is not read here."""
    if settings.proxy is not None:
        used = urlsplit(settings.proxy)
        return f"; it was sent through the proxy {used.scheme}://{used.netloc.rpartition('@')[2]}"
    if all(is_this_machine(urlsplit(url).hostname or "") for url in settings.urls):
        return ""
    named = next((name for name in _PROXY_VARIABLES if os.environ.get(name)), None)
    return f"; {named} is not read here, name a proxy with COUNTERFOIL_REGISTRY_PROXY" if named else ""


def _token_settings(settings: RegistrySettings) -> RegistrySettings | None:
    """Return the settings of the connection to the address of the client's tokens; None if it has none."""
    auth = settings.auth
    if not isinstance(auth, ClientCredentials):
        return None
    return replace(settings, urls=(auth.token_url,), auth=None, headers={}, tls=auth.tls)


def _connection_options(settings: RegistrySettings, files: ClientTlsFiles) -> JsonObject:
    """Return the arguments of both of httpx's clients."""
    import httpx

    return {
        "timeout": httpx.Timeout(settings.read_timeout_s, connect=settings.connect_timeout_s),
        "verify": files.context() if _needs_tls(settings) else False,
        "proxy": settings.proxy,
        "trust_env": False,
        "follow_redirects": False,
    }


def _needs_tls(settings: RegistrySettings) -> bool:
    """Return whether any connection is encrypted.

    The certificate authorities are loaded only then, since that is slow.
    """
    urls = (*settings.urls, settings.proxy or "")
    return any(url.lower().startswith("https:") for url in urls)
