"""A registry with certain settings, in a process of its own or in this one, and requests to it."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import pytest

from local_services import ServiceError, free_port, start_registry
from strategies.registry.driver import InProcessRegistry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from local_services.process import Service

UNLIKE_ANY_DEFAULT_S: Final = 25
"""A wait that no default of a setting ends: the shortest, read_timeout_s, is longer."""

REGISTRATION: Final[dict[str, Any]] = {
    "body": json.dumps({"schema": '"int"'}),
    "headers": {"Content-Type": "application/json"},
}
"""What ``ask`` sends to register a schema."""


def variables(**settings: str) -> dict[str, str]:
    """Return the variables of the environment for these settings."""
    return {f"COUNTERFOIL_{name.upper()}": value for name, value in settings.items()}


@contextmanager
def served(folder: Path, *, host: str = "127.0.0.1", **settings: str) -> Iterator[tuple[int, Service]]:
    """Yield the port and the process of a server with these settings; its log is in ``folder``."""
    port = free_port()
    given = {"host": host, "port": str(port), "store": "sqlite://", **settings}
    service = start_registry(log=folder / "log", environment=variables(**given))
    service.wait_ready(lambda: is_answered(host, port))
    try:
        yield port, service
    finally:
        service.stop()


def refusal(*options: str, environment: Mapping[str, str] | None = None, **settings: str) -> tuple[int, list[str]]:
    """Return the exit status of a server that does not start with these settings, and the lines that it printed."""
    given = {"port": "0", "store": "sqlite://", **settings}
    with TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        service = start_registry(*options, log=log, environment={**variables(**given), **(environment or {})})
        with pytest.raises(ServiceError, match="ended with status"):
            service.wait_ready(lambda: False)
        return service.stop(), log.read_text().splitlines()


def connected(port: int) -> socket.socket:
    """Return a connection to a server of this machine."""
    return socket.create_connection(("127.0.0.1", port), timeout=UNLIKE_ANY_DEFAULT_S)


def is_answered(host: str, port: int) -> bool:
    """Return whether the server answers an ordinary request."""
    try:
        return ask(host, port, "GET", "/subjects")[0] == 200
    except OSError:
        return False


def ask(host: str, port: int, method: str, path: str, **options: Any) -> tuple[int, bytes]:
    """Return the status and the body of the answer to one request."""
    connection = http.client.HTTPConnection(host, port, timeout=120)
    try:
        connection.request(method, path, **options)
        reply = connection.getresponse()
        return reply.status, reply.read()
    finally:
        connection.close()


def in_process(story: Callable[[InProcessRegistry], Any], storage: Any = None, **settings: Any) -> Any:
    """Return what the story returns about a registry in this process."""
    return asyncio.run(story(InProcessRegistry(storage, **settings)))


def status_of(method: str, path: str, *, headers: dict[str, str] | None = None, **settings: Any) -> int:
    """Return the status of a request to a registry in this process that has the subject ``s``."""

    async def story(registry: InProcessRegistry) -> int:
        await registry.register("s", '"int"')
        return (await registry.ask(method, path, headers=headers)).status

    return int(in_process(story, **settings))
