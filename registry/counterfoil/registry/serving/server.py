"""The application's server in this process: socket, server, signals."""

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

import uvicorn

from counterfoil.registry.app import create_app
from counterfoil.registry.http.server_routes import OPEN_TO_EVERYONE
from counterfoil.registry.logs import configure_logging, log_start
from counterfoil.registry.serving.connections import ConnectionWatch, limited_protocol
from counterfoil.registry.serving.tls import LOOK_EVERY_S, ServingTls, tls_files
from counterfoil.registry.telemetry import Telemetry
from counterfoil.schema.errors import CounterfoilError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from counterfoil.registry.app import RegistryApp
    from counterfoil.registry.judges.processes import Mailbox
    from counterfoil.registry.settings import ServerSettings


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
    sys.stdout.write(f"counterfoil registry listening on {address}{f', {warning}' if warning else ''}\n")
    sys.stdout.flush()


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
