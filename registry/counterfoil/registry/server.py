"""Running the application in this process: socket, server, signals."""

from __future__ import annotations

import signal
import socket
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import uvicorn

from counterfoil.registry.app import create_app
from counterfoil.registry.telemetry import configure_logging
from counterfoil.schema.errors import CounterfoilError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.registry.api.operations import Lifecycle
    from counterfoil.registry.settings import ServerSettings

_BACKLOG: Final = 2048
_GRACE_S: Final = 15
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


class AddressNotUsable(CounterfoilError):
    """The server cannot listen on the address in the settings."""


class _Server(uvicorn.Server):
    """Says where it listens, and ends well when it is told to stop: answers without an end first."""

    def __init__(self, config: uvicorn.Config, *, lifecycle: Lifecycle) -> None:
        super().__init__(config)
        self._lifecycle = lifecycle

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._lifecycle.stop()
        await super().shutdown(sockets)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started and sockets:
            host, port = sockets[0].getsockname()[:2]
            shown = f"[{host}]" if ":" in host else host
            sys.stdout.write(f"counterfoil registry listening on http://{shown}:{port}\n")
            sys.stdout.flush()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop at SIGTERM and SIGINT, and do not pass the signal on afterwards: an ordered stop is a success."""
        before = {number: signal.signal(number, self.handle_exit) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def run(settings: ServerSettings) -> int:
    """Serve until SIGTERM or SIGINT; the exit code is 0 then.

    Raises ``StoreNotUsable`` or ``AddressNotUsable`` when it cannot begin.
    """
    configure_logging()
    listener = _listen(settings.host, settings.port)
    try:
        app = create_app(settings)
        config = uvicorn.Config(
            app.asgi,
            http="httptools",
            loop="uvloop",
            access_log=False,
            log_config=None,
            lifespan="on",
            server_header=False,
            timeout_graceful_shutdown=_GRACE_S,
        )
        _Server(config, lifecycle=app.lifecycle).run(sockets=[listener])
    finally:
        listener.close()
    return 0


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        raise AddressNotUsable(f"Cannot listen on {host} port {port}: {error.strerror or error}") from None
    return listener
