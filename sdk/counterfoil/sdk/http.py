"""The default transports: httpx, with every time-out set and nothing taken from the environment.

httpx is imported when the first request is sent, not before: a program that only deserializes what it has the schemas
of does not pay for it.
"""

from __future__ import annotations

import os
import ssl
import time
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from counterfoil.sdk.errors import InvalidSettings
from counterfoil.sdk.transport import NoReply, Reply

if TYPE_CHECKING:
    import asyncio
    from types import TracebackType

    import httpx

    from counterfoil.sdk.settings import RegistrySettings, TlsSettings
    from counterfoil.sdk.transport import Request

MAX_REPLY_BYTES: Final = 256 * 1024 * 1024
"""A reply that is longer is no registry's."""


class HttpTransport:
    """Sends by HTTP, from any number of threads; a process that was forked opens connections of its own."""

    def __init__(self, settings: RegistrySettings) -> None:
        self._settings = settings
        self._client: httpx.Client | None = None
        self._owner = 0
        self._lock = Lock()

    def send(self, request: Request) -> Reply:
        """The reply, whatever its status; raises ``NoReply``."""
        client = self._connected()
        body = _Body(self._settings.retry.total_s)
        with (
            _Translation(self._settings),
            client.stream(request.method, request.url, headers=dict(request.headers), content=request.body) as reply,
        ):
            for chunk in reply.iter_bytes():
                body.take(chunk)
            return _reply(reply, body)

    def close(self) -> None:
        """Close the connections; safe to repeat."""
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

                self._client = httpx.Client(**_connection_options(self._settings))
                self._owner = os.getpid()
            return self._client


class AsyncHttpTransport:
    """Sends by HTTP, from any number of tasks; in another event loop it opens connections anew.

    ``connections`` is how many are open at once at most; None stands for httpx's own limit.
    """

    def __init__(self, settings: RegistrySettings, *, connections: int | None = None) -> None:
        self._settings = settings
        self._connections = connections
        self._client: httpx.AsyncClient | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def asend(self, request: Request) -> Reply:
        """The reply, whatever its status; raises ``NoReply``."""
        client = self._connected()
        body = _Body(self._settings.retry.total_s)
        with _Translation(self._settings):
            async with client.stream(
                request.method, request.url, headers=dict(request.headers), content=request.body
            ) as reply:
                async for chunk in reply.aiter_bytes():
                    body.take(chunk)
                return _reply(reply, body)

    async def aclose(self) -> None:
        """Close the connections; safe to repeat."""
        import asyncio

        client, self._client = self._client, None
        if client is not None and self._loop is asyncio.get_running_loop():
            await client.aclose()

    def _connected(self) -> httpx.AsyncClient:
        import asyncio

        import httpx

        loop = asyncio.get_running_loop()
        if self._client is None or self._loop is not loop:  # connections end with the loop that they were opened in
            self._client = httpx.AsyncClient(**_connection_options(self._settings), **self._limits())
            self._loop = loop
        return self._client

    def _limits(self) -> dict[str, Any]:
        import httpx

        count = self._connections
        return {} if count is None else {"limits": httpx.Limits(max_connections=count, max_keepalive_connections=count)}


class _Body:
    """The bytes of a reply as they come, bounded in number and time: each read has its time-out, many have not."""

    def __init__(self, total_s: float) -> None:
        self._chunks: list[bytes] = []
        self._size_bytes = 0
        self._deadline_s = time.monotonic() + total_s

    def take(self, chunk: bytes) -> None:
        """Keep the next bytes."""
        self._chunks.append(chunk)
        self._size_bytes += len(chunk)
        if self._size_bytes > MAX_REPLY_BYTES:
            raise NoReply(f"its reply is longer than {MAX_REPLY_BYTES} bytes")
        if time.monotonic() > self._deadline_s:
            raise NoReply(f"its reply was not whole in time; {self._size_bytes} bytes had come")

    def whole(self) -> bytes:
        """All bytes."""
        return b"".join(self._chunks)


def _reply(response: httpx.Response, body: _Body) -> Reply:
    return Reply(response.status_code, {name.lower(): value for name, value in response.headers.items()}, body.whole())


class _Translation:
    """Turns what httpx raises into ``NoReply``."""

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
                raise NoReply(text, was_sent=False) from error
            case httpx.ConnectError() | httpx.ProxyError() | httpx.UnsupportedProtocol():
                raise NoReply(f"no connection: {_words(error)}", was_sent=False) from error
            case httpx.PoolTimeout():
                raise NoReply("all connections are in use", was_sent=False) from error
            case httpx.ReadTimeout():
                raise NoReply(f"silence for {self._settings.read_timeout_s:g} s") from error
            case httpx.HTTPError() | OSError():  # TLS alerts that come after the handshake are not translated by httpx
                raise NoReply(f"the connection broke: {_words(error)}") from error
            case httpx.InvalidURL() | UnicodeError():  # a host that has no form in DNS
                raise InvalidSettings(f"The registry URL is not valid: {error}", setting="url") from error


def _words(error: Exception) -> str:
    return str(error) or type(error).__name__


def _connection_options(settings: RegistrySettings) -> dict[str, Any]:
    """The arguments of both of httpx's clients."""
    import httpx

    return {
        "timeout": httpx.Timeout(settings.read_timeout_s, connect=settings.connect_timeout_s),
        "verify": _tls_context(settings.tls) if _needs_tls(settings) else False,
        "proxy": settings.proxy,
        "trust_env": False,
        "follow_redirects": False,
    }


def _needs_tls(settings: RegistrySettings) -> bool:
    """Whether any connection is encrypted: loading the certificate authorities takes long."""
    urls = (*settings.urls, settings.proxy or "")
    return any(url.lower().startswith("https:") for url in urls)


def _tls_context(tls: TlsSettings) -> ssl.SSLContext | bool:
    """What httpx is to verify with; raises ``InvalidSettings`` for a file that cannot be used."""
    if tls == type(tls)():
        return True
    try:
        context = ssl.create_default_context(cafile=tls.ca_file) if tls.ca_file else _default_context()
        if not tls.verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if tls.certificate_file:
            context.load_cert_chain(tls.certificate_file, tls.key_file, tls.key_password)
    except (OSError, ValueError) as error:
        files = ", ".join(name for name in (tls.ca_file, tls.certificate_file, tls.key_file) if name)
        raise InvalidSettings(f"The TLS files {files} cannot be used: {error}", setting="tls") from error
    return context


def _default_context() -> ssl.SSLContext:
    """The certificate authorities that come with httpx."""
    import httpx

    return httpx.create_ssl_context(trust_env=False)
