"""The default transports: httpx, with every time-out set and nothing taken from the environment.

httpx is imported when the first request is sent, not before: a program that sends no request does not import it.
"""

from __future__ import annotations

import os
import time
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from counterfoil.sdk.auth import ClientCredentials, is_this_machine
from counterfoil.sdk.connection.tls import TlsFiles
from counterfoil.sdk.errors import InvalidSettings
from counterfoil.sdk.processes import Locking
from counterfoil.sdk.transport import NoReply, Reply

if TYPE_CHECKING:
    import asyncio
    from types import TracebackType

    import httpx

    from counterfoil.sdk.settings import RegistrySettings
    from counterfoil.sdk.transport import Request

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
        self._files = TlsFiles(settings.tls)
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
        self._files = TlsFiles(settings.tls)
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

    def _limits(self) -> dict[str, Any]:
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


def _connection_options(settings: RegistrySettings, files: TlsFiles) -> dict[str, Any]:
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
