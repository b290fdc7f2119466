"""``counterfoil serve`` with TLS in a process of its own, and requests to it."""

from __future__ import annotations

import http.client
import os
import signal
import socket
import ssl
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from local_services import free_port, start_registry
from strategies.registry.served import variables

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from local_services.process import Service
    from strategies.access.certificates import Authority


class Serving:
    """A running server with TLS; ``authority`` is what its clients trust."""

    def __init__(self, service: Service, port: int, authority: Authority, log: Path) -> None:
        self.service = service
        self.port = port
        self.authority = authority
        self.log = log

    def context(self, client: tuple[Path, Path] | None = None) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=str(self.authority.file))
        if client is not None:
            context.load_cert_chain(*client)
        return context

    def connect(self, context: ssl.SSLContext | None = None, **options: Any) -> ssl.SSLSocket:
        raw = socket.create_connection(("127.0.0.1", self.port), timeout=120)
        return (context or self.context()).wrap_socket(raw, server_hostname="127.0.0.1", **options)

    def ask(
        self, path: str, *, context: ssl.SSLContext | None = None, headers: dict[str, str] | None = None
    ) -> tuple[int, Any]:
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=context or self.context(), timeout=120)
        try:
            connection.request("GET", path, headers=headers or {})
            reply = connection.getresponse()
            return reply.status, reply.read().decode()
        finally:
            connection.close()

    def serial(self) -> str:
        with self.connect() as connection:
            certificate = connection.getpeercert()
        assert certificate is not None
        return str(certificate["serialNumber"])

    def read_again(self) -> None:
        os.kill(self.service.pid, signal.SIGHUP)

    def measure(self, name: str) -> float:
        [line] = [line for line in self.ask("/metrics")[1].splitlines() if line.startswith(f"{name} ")]
        return float(line.rsplit(" ", 1)[1])


@contextmanager
def serving(folder: Path, authority: Authority, files: tuple[Path, Path], **settings: str) -> Iterator[Serving]:
    """A server with TLS by these files. It is ready when its address is in its output."""
    port, log = free_port(), folder / "log"
    given = {"port": str(port), "store": "sqlite://", "tls_certificate": str(files[0]), "tls_key": str(files[1])}
    service = start_registry(log=log, environment=variables(**{**given, **settings}))
    service.wait_ready(lambda: f"listening on https://127.0.0.1:{port}" in log.read_text())
    try:
        yield Serving(service, port, authority, log)
    finally:
        service.stop()
