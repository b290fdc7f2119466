"""The server: connections with limits, and one process that serves them."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import gc
import os
import resource
import signal
import socket
import sys
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import httptools
import uvicorn
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from counterfoil.registry.access.gate import CERTIFICATE
from counterfoil.registry.access.identity import no_proxies
from counterfoil.registry.app import create_app
from counterfoil.registry.http.answers import error_answer
from counterfoil.registry.http.envelope import CONNECTION, REQUEST_ID, FreshIds, fixed_headers
from counterfoil.registry.http.request import too_large
from counterfoil.registry.http.server_routes import OPEN_TO_EVERYONE
from counterfoil.registry.logs import LOGGER, configure_logging, log_start
from counterfoil.registry.serving.tls import LOOK_EVERY_S, ServingTls, tls_files
from counterfoil.registry.settings import NO_PAGES
from counterfoil.registry.telemetry import Telemetry
from counterfoil.schema.errors import (
    BadRequest,
    CounterfoilError,
    HeadTooLarge,
    RegistryError,
    SlowRequest,
    TooManyConnections,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from starlette.types import Scope

    from counterfoil.registry.access.identity import ListedProxies
    from counterfoil.registry.app import RegistryApp
    from counterfoil.registry.judges.processes import Mailbox
    from counterfoil.registry.settings import ServerSettings


# Connections with limits: their number, the size of a request's head, the time for a request and a response.
#
# uvicorn's protocol on httptools has neither a limit for headers nor a time-out for the arrival of a request. Both are
# added here at almost no cost for requests that arrive whole: sizes are counted for the others alone, and time-outs are
# found by checking all connections a few times in the time-out (:class:`ConnectionWatch`), without a timer for each
# request.

_FRESH_IDS: Final = FreshIds()
_FAREWELL_S: Final = 2.0
_CHUNKS_OVERHEAD: Final = 2
_UPGRADE_HEADERS: Final = frozenset({b"upgrade", b"connection", b"http2-settings"})
_FORWARDED_PROTO: Final = b"x-forwarded-proto"
_LOOKS_A_TIMEOUT: Final = 4
_SHORTEST_LOOK_S: Final = 0.05
_LONGEST_LOOK_S: Final = 1.0


def limited_protocol(
    settings: ServerSettings, *, proxies: Callable[[], ListedProxies | None] = no_proxies
) -> type[LimitedProtocol]:
    """Return the protocol class for a server with these settings; ``proxies`` returns those in front of it."""

    class Limited(LimitedProtocol):
        max_connections = settings.max_connections
        max_header_bytes = settings.max_header_bytes
        max_body_bytes = settings.max_body_bytes

    if not settings.hsts_max_age_s:
        return Limited
    strict = (b"strict-transport-security", b"max-age=%d" % settings.hsts_max_age_s)

    class Strict(Limited):
        def on_headers_complete(self) -> None:
            before = self.cycle
            super().on_headers_complete()
            if self.cycle is not before and (self.scheme == "https" or self._was_encrypted()):
                self.cycle.default_headers = [*self.cycle.default_headers, strict]

        def _was_encrypted(self) -> bool:
            """Return whether a listed proxy says that the client's request came over TLS."""
            said = [value for name, value in self.scope["headers"] if name == _FORWARDED_PROTO]
            if len(said) != 1 or said[0].strip().lower() != b"https" or self.client is None:
                return False
            found = proxies()
            return found is not None and found.is_at(self.client[0])

    return Strict


class LimitedProtocol(HttpToolsProtocol):
    """uvicorn's protocol with limits of size and number, and with the API's error body for requests that it refuses."""

    max_connections = 0
    max_header_bytes = 64 * 1024
    max_body_bytes = 10 * 1024 * 1024

    certificate: bytes | None = None
    counted_of: object = None
    counted_bytes = 0
    waits_for: object = None
    waits_since = 0.0
    unsent_bytes = 0
    unsent_since = 0.0
    known_caller: object = None

    # --- called by the event loop

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's own
        """Accept the connection, unless there are too many."""
        super().connection_made(transport)
        tls = transport.get_extra_info("ssl_object")
        if tls is not None:
            self.certificate = tls.getpeercert(binary_form=True)
        if 0 < self.max_connections < len(self.connections):
            self.refuse(TooManyConnections(f"This server has {self.max_connections} connections already; try again"))

    def data_received(self, data: bytes) -> None:
        """Handle received data."""
        if (self.counted_bytes or len(data) > self.max_header_bytes) and self._brings_too_large_a_head(data):
            self.refuse(
                HeadTooLarge(
                    f"The request line and headers are larger than {self.max_header_bytes} bytes, the limit here"
                )
            )
            return
        self._unset_keepalive_if_required()
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._go_on_without_upgrade(data[upgrade.args[0] :])
        except httptools.HttpParserError:
            self.refuse(BadRequest("What arrived is no HTTP request"))
        else:
            cycle = self.cycle
            if cycle is None or cycle.more_body or "raw_path" not in self.scope:
                self._count(len(data))
            elif self.counted_bytes:
                self.counted_bytes = 0

    def _brings_too_large_a_head(self, data: bytes) -> bool:
        """Return whether ``data`` continues or begins a request's head that is too large."""
        is_open = self.has_open_head()
        if not is_open and self.cycle is not None and self.cycle.more_body:
            return False
        end = data.find(b"\r\n\r\n")
        before_bytes = self.counted_bytes if is_open else 0
        return before_bytes + (len(data) if end < 0 else end) > self.max_header_bytes

    def _count(self, size_bytes: int) -> None:
        """Count what an unfinished request has sent; close the connection if it is far too much.

        Its body was refused by then, and the client continues to send.
        """
        if self.counted_of is not self.scope:
            self.counted_of, self.counted_bytes = self.scope, 0
        self.counted_bytes += size_bytes
        if self.counted_bytes > self.max_header_bytes + self.max_body_bytes * _CHUNKS_OVERHEAD:
            self.refuse(too_large(self.max_body_bytes))

    # --- responses in one piece

    def on_message_begin(self) -> None:
        """Begin a request."""
        super().on_message_begin()
        self.scope[CONNECTION] = self  # type: ignore[typeddict-unknown-key]  # a scope may hold more than the standard's keys
        if self.certificate is not None:
            self.scope[CERTIFICATE] = self.certificate  # type: ignore[typeddict-unknown-key]  # a scope may hold more than this too

    def on_headers_complete(self) -> None:
        """Begin to answer a request. Fields that follow its body are none of its headers (RFC 9110, 6.5.1)."""
        super().on_headers_complete()
        self.headers = []

    def answer(self, scope: Scope, head: Sequence[bytes], body: bytes) -> bool:
        """Return whether the response was accepted: not if it would have to wait or is the connection's last one."""
        cycle = self.cycle
        if cycle.scope is not scope or cycle.disconnected or not cycle.keep_alive or self.flow.write_paused:
            return False
        cycle.response_started = cycle.response_complete = True
        cycle.message_event.set()
        lines = [STATUS_LINE[200]]
        for name, value in cycle.default_headers:
            lines += [name, b": ", value, b"\r\n"]
        self.transport.write(b"".join([*lines, *head, b"\r\n", body]))
        cycle.on_response()
        return True

    # --- upgrades, which this server does not support

    def _should_upgrade(self) -> bool:
        """Return whether uvicorn is to leave this request alone: an upgrade is parsed again as an ordinary request."""
        return bool(self.parser.get_method() != b"CONNECT")

    def _go_on_without_upgrade(self, rest: bytes) -> None:
        """Answer a request for another protocol as an ordinary one (RFC 9110, 7.8).

        Java's own client requests an upgrade to HTTP/2 with its first request; the parser then ignores the request's
        body. A CONNECT is being answered already, as a method that no route has; what follows it is for a tunnel that
        is not made.
        """
        if self.parser.get_method() == b"CONNECT":
            self.cycle.keep_alive = False
            return
        head = [self.scope["method"].encode(), b" ", self.url, b" HTTP/1.1\r\n"]
        for name, value in self.scope["headers"]:
            if name not in _UPGRADE_HEADERS:
                head += [name, b": ", value, b"\r\n"]
            elif name == b"connection" and b"close" in {each.strip() for each in value.lower().split(b",")}:
                head.append(b"connection: close\r\n")
        self.parser = httptools.HttpRequestParser(self)
        self.data_received(b"".join([*head, b"\r\n", rest]))

    # --- called by the connection watch

    def has_open_head(self) -> bool:
        """Return whether a request line or its headers are incomplete or have not begun to arrive."""
        return self.scope is None or "raw_path" not in self.scope

    def is_waiting_for_client(self) -> bool:
        """Return whether the client has begun a request (or connected) and not sent all of it yet."""
        if self.flow.read_paused or self.timeout_keep_alive_task is not None:
            return False
        cycle = self.cycle
        return cycle is None or cycle.response_complete or cycle.more_body or self.has_open_head()

    def refuse(self, error: RegistryError) -> None:
        """Send ``error``, if no response has begun, and end the connection."""
        if self.transport.is_closing():
            return
        cycle = self.cycle
        is_answering = cycle is not None and cycle.response_started and not cycle.response_complete
        self.connections.discard(self)
        self._unset_keepalive_if_required()
        if cycle is not None:
            cycle.disconnected = True
            cycle.message_event.set()
        self.flow.resume_writing()
        _Farewell(self.transport, b"" if is_answering else as_bytes(error))


class _Farewell(asyncio.Protocol):
    """The end of a connection: a last response, after which received data is discarded.

    The client may still be sending. If the connection were closed at once, it would be reset, and the response lost
    (RFC 9112, 9.6); so received data is discarded for two seconds.
    """

    def __init__(self, transport: asyncio.Transport, answer: bytes) -> None:
        transport.set_protocol(self)
        if answer:
            transport.write(answer)
        if transport.can_write_eof():  # not over TLS, where "connection: close" has to suffice
            transport.write_eof()
        transport.resume_reading()
        self._deadline = asyncio.get_running_loop().call_later(_FAREWELL_S, transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the deadline."""
        del exc
        self._deadline.cancel()


def as_bytes(error: RegistryError) -> bytes:
    """Return the whole response for an error outside of the application."""
    response = error_answer(error)
    lines = [STATUS_LINE[response.status_code]]
    for name, value in [
        *response.raw_headers,
        *fixed_headers(has_access_control=False),
        (REQUEST_ID, _FRESH_IDS.next()),
        (b"connection", b"close"),
    ]:
        lines += [name, b": ", value, b"\r\n"]
    return b"".join([*lines, b"\r\n", response.body])


class ConnectionWatch:
    """Closes the connections of clients that take too long to send a request or to read a response.

    ``look`` is called every ``interval_s``; a connection is closed at the first look at which the server has waited for
    the client for ``timeout_s``.
    """

    def __init__(self, connections: Iterable[Any], *, timeout_s: float) -> None:
        self._connections = connections
        self._timeout_s = timeout_s
        self.interval_s = min(max(timeout_s / _LOOKS_A_TIMEOUT, _SHORTEST_LOOK_S), _LONGEST_LOOK_S)

    def look(self, now_s: float) -> None:
        """Check every connection; ``now_s`` is the event loop's time."""
        for connection in list(self._connections):
            if isinstance(connection, LimitedProtocol):
                self._look_at_sending(connection, now_s)
                self._look_at_receiving(connection, now_s)

    def _look_at_sending(self, connection: LimitedProtocol, now_s: float) -> None:
        """Refuse a request that has not arrived completely within the time-out, however often parts of it arrive."""
        if not connection.is_waiting_for_client():
            connection.waits_for = None
            return
        request = connection.scope or connection
        if connection.waits_for is not request:
            connection.waits_for, connection.waits_since = request, now_s
        elif now_s - connection.waits_since >= self._timeout_s:
            connection.refuse(SlowRequest(f"The request did not arrive within {self._timeout_s:g} s"))

    def _look_at_receiving(self, connection: LimitedProtocol, now_s: float) -> None:
        """Close the connection of a client that reads nothing of a response during a time-out."""
        unsent_bytes = connection.transport.get_write_buffer_size()
        if unsent_bytes == 0 or unsent_bytes != connection.unsent_bytes:
            connection.unsent_bytes, connection.unsent_since = unsent_bytes, now_s
        elif now_s - connection.unsent_since >= self._timeout_s:
            LOGGER.info(
                "a client does not read its response, and its connection is closed",
                extra={"unsent_bytes": unsent_bytes},
            )
            connection.transport.abort()


# The application's server in this process: socket, server, signals.

BACKLOG: Final = 2048

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
_FILES_BESIDE_CONNECTIONS: Final = 256
_SHOW_EVERY_S: Final = 0.2
_HANDSHAKE_S: Final = 10.0
_TLS_SHUTDOWN_S: Final = 5.0
_CYCLE_THRESHOLDS: Final = (10_000, 1_000, 10)
_LISTEN_ADVICE: Final = {
    errno.EADDRINUSE: "end the program that uses the port, or name another one with --port (0: a free one)",
    errno.EACCES: "name a port above 1023 with --port",
    errno.EADDRNOTAVAIL: "name an address of this machine with --host",
}


class AddressNotUsable(CounterfoilError):
    """The server cannot listen on the address in the settings."""


@dataclass(frozen=True, slots=True)
class Seat:
    """What a server is started with: its socket, and what is called when it listens, with a warning or an empty text.

    ``plain`` is the socket of the port without TLS, if there is one beside the other. ``mailbox`` is the one of the
    judges that several processes of the server share. ``lifeline`` is a file descriptor
    that ends (reads as empty) when the parent process has ended, at which the server stops.
    """

    listener: socket.socket
    announce: Callable[[str], None]
    telemetry: Telemetry
    lifeline: int | None = None
    plain: socket.socket | None = None
    mailbox: Mailbox | None = None


class _Server(uvicorn.Server):
    """Announces its address, watches its connections, and stops in order: it first ends responses without an end."""

    def __init__(
        self,
        config: uvicorn.Config,
        seat: Seat,
        *,
        app: RegistryApp,
        read_timeout_s: float,
        tls: ServingTls | None = None,
    ) -> None:
        super().__init__(config)
        self._lifecycle = app.lifecycle
        self._tls = tls
        self._read_again = app.read_again
        self._prepare = app.prepare
        self._seat = seat
        self._handshake_s = min(_HANDSHAKE_S, read_timeout_s)
        self._watch = ConnectionWatch(self.server_state.connections, timeout_s=read_timeout_s)
        self._chores: list[asyncio.Task[None]] = []

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        if self._prepare is not None:
            await self._prepare()
        await super().startup([])  # the sockets are opened below, since uvicorn has no limits of time for TLS
        if not self.started:
            return
        self.servers = [await self._open(each) for each in sockets or []]
        loop = asyncio.get_running_loop()
        self._chores = [
            asyncio.create_task(_every(self._watch.interval_s, lambda: self._watch.look(loop.time()))),
            asyncio.create_task(_every(_SHOW_EVERY_S, self._seat.telemetry.show)),
        ]
        if self._seat.lifeline is not None:
            loop.add_reader(self._seat.lifeline, self._lose_parent, self._seat.lifeline)
        if self._tls is not None:
            self._chores.append(asyncio.create_task(_every(LOOK_EVERY_S, self._tls.look)))
        loop.add_signal_handler(signal.SIGHUP, self._read_files)  # without one it ends the process
        leave_to_the_process()
        self._seat.announce(OPEN_TO_EVERYONE if self._lifecycle.is_open_to_everyone else "")

    async def _open(self, listener: socket.socket) -> asyncio.Server:
        """Accept connections of ``listener``."""
        loop = asyncio.get_running_loop()
        accept = partial(loop.create_server, self._protocol, sock=listener, backlog=BACKLOG)
        if self._tls is None or listener is self._seat.plain:
            return await accept()
        return await accept(
            ssl=self._tls.context, ssl_handshake_timeout=self._handshake_s, ssl_shutdown_timeout=_TLS_SHUTDOWN_S
        )

    def _protocol(self) -> asyncio.Protocol:
        make: Any = self.config.http_protocol_class
        protocol: asyncio.Protocol = make(
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
        return protocol

    def _read_files(self) -> None:
        """Read the access file and the files of TLS again, if there are any and they have changed."""
        if self._read_again is not None:
            self._read_again()
        if self._tls is not None:
            self._tls.look(at_once=True)

    def _lose_parent(self, lifeline: int) -> None:
        asyncio.get_running_loop().remove_reader(lifeline)
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._lifecycle.stop()
        await super().shutdown(sockets)
        for chore in self._chores:
            chore.cancel()
        self._seat.telemetry.show()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop at SIGTERM and SIGINT, and do not raise the signal again afterwards: an ordered stop is a success.

        Further ones are ignored then, so that it stays one while Python ends.
        """
        before = {number: signal.signal(number, self.handle_exit) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, signal.SIG_IGN if self.should_exit else handler)


def leave_to_the_process() -> None:
    """Take what exists out of garbage collections: modules, routes and settings stay as long as the process.

    A full collection during a request, which looks at all objects, then takes a fraction of the time.
    """
    gc.collect()
    gc.freeze()


async def _every(interval_s: float, chore: Callable[[], None]) -> None:
    while True:
        await asyncio.sleep(interval_s)
        chore()


def run(settings: ServerSettings) -> int:
    """Serve until SIGTERM or SIGINT; return the exit code 0 then.

    Raises ``StoreNotUsable`` or ``AddressNotUsable`` if it cannot start.
    """
    configure_logging()
    listener = listen(settings.host, settings.port)
    with closing(listener), plain_listener(settings) as plain:
        seat = Seat(listener, lambda warning: announce(listener, settings, warning), Telemetry(), plain=plain)
        run_on(settings, seat)
    return 0


@contextmanager
def plain_listener(settings: ServerSettings) -> Iterator[socket.socket | None]:
    """Listen on the port without TLS, if there is one, and close it at the end."""
    if not settings.redirect_port:
        yield None
        return
    with closing(listen(settings.host, settings.redirect_port)) as plain:
        yield plain


def run_on(settings: ServerSettings, seat: Seat) -> None:
    """Serve on ``seat`` until SIGTERM, SIGINT, or the end of its lifeline."""
    _allow_files(settings.max_connections)
    tls = ServingTls(tls_files(settings)) if settings.tls_certificate else None
    app = create_app(settings, telemetry=seat.telemetry, mailbox=seat.mailbox)
    if tls is not None:
        seat.telemetry.read_tls(tls.state)
    look_for_cycles_seldom()
    config = uvicorn.Config(
        app.asgi,
        http=limited_protocol(settings, proxies=app.proxies),
        loop="uvloop",
        ws="none",
        access_log=False,
        log_config=None,
        lifespan="on",
        server_header=False,
        proxy_headers=False,  # the client's address is not used here
        backlog=BACKLOG,
        timeout_keep_alive=settings.keep_alive_s,
        timeout_graceful_shutdown=settings.stop_timeout_s,
    )
    server = _Server(config, seat, app=app, read_timeout_s=settings.read_timeout_s, tls=tls)
    server.run(sockets=[each for each in (seat.listener, seat.plain) if each is not None])


def look_for_cycles_seldom() -> None:
    """Make Python's garbage collection of cycles run less often, and never over the objects that exist now.

    Requests leave hardly any cycles, and a collection visits all objects in memory; it took a tenth of the time of a
    registration.
    """
    gc.freeze()
    gc.set_threshold(*_CYCLE_THRESHOLDS)


def announce(listener: socket.socket, settings: ServerSettings, warning: str = "") -> None:
    """Print the server's address, and write it to the log; ``warning`` ends the line."""
    host, port = listener.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    address = f"{'https' if settings.tls_certificate else 'http'}://{shown}:{port}"
    log_start(settings, address)
    pages = f", pages at {pages_address(settings, address)}" if settings.ui != NO_PAGES else ""
    sys.stdout.write(f"counterfoil registry listening on {address}{pages}{f', {warning}' if warning else ''}\n")
    sys.stdout.flush()


def pages_address(settings: ServerSettings, address: str) -> str:
    """Return the address of the pages for browsers; ``address`` is that of the server."""
    url = urlsplit(settings.public_url or address)
    path = (settings.public_path or url.path).rstrip("/")
    return f"{url.scheme}://{url.netloc}{path}/ui/"


def listen(host: str, port: int, *, is_shared: bool = False) -> socket.socket:
    """Return a socket that listens on the address; ``is_shared`` permits further sockets on it, each with a queue."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=BACKLOG, reuse_port=is_shared)
    except (OSError, UnicodeError) as error:
        number = error.errno if isinstance(error, OSError) else None
        if number is not None and number in _LISTEN_ADVICE:
            why = f"{os.strerror(number)}; {_LISTEN_ADVICE[number]}"
        else:
            why = (isinstance(error, OSError) and error.strerror) or str(error)
        raise AddressNotUsable(f"Cannot listen on {host} port {port}: {why}") from None


def _allow_files(connections: int) -> None:
    """Raise the limit of open files to the number for so many connections, as far as the system permits it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + _FILES_BESIDE_CONNECTIONS if connections else hard
    if soft != resource.RLIM_INFINITY and soft < wanted:
        allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
