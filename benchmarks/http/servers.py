"""The servers that are measured: the registry, and those it is compared with."""

from __future__ import annotations

import http.client
import os
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

import machine
from load import program

from local_services.process import Service, free_port

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

GOALS_BARE_US: Final = 18
"""CPU time of a request to a bare ASGI application on the machine on which the goals were set."""

_HERE: Final = Path(__file__).parent
_PEER_PACKAGES: Final = Path(sys.prefix) / "idiomatic"
_NGINX: Final = """\
{user}
worker_processes 1;
error_log {folder}/error.log;
pid {folder}/nginx.pid;
events {{ worker_connections 1024; }}
http {{
  access_log off;
  sendfile on;
  keepalive_requests 100000000;
  open_file_cache max=10;
  client_body_temp_path {folder}; proxy_temp_path {folder}; fastcgi_temp_path {folder};
  uwsgi_temp_path {folder}; scgi_temp_path {folder};
  default_type application/json;
  server {{ listen 127.0.0.1:{port}; root {folder}; location / {{ try_files /answer =404; }} }}
}}
"""


def is_open(port: int) -> bool:
    """Return whether a server listens on a port."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


class Server:
    """A server process on a port; a context manager that stops it. ``database_pid`` is of the database it uses."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        port: int,
        log: Path,
        cores: tuple[int, ...] = machine.SERVER_CORE,
        environment: Mapping[str, str] | None = None,
        database_pid: int | None = None,
        path: str = "/schemas/ids/1",
    ) -> None:
        self.port = port
        self._database_pid = database_pid
        with machine.on_cores(cores):
            self._service = Service(command[0], command, log=log, environment=environment)
        self._service.wait_ready(lambda: self.status(path) == 200)

    @property
    def pid(self) -> int:
        """The process."""
        return self._service.pid

    @property
    def cpu_s(self) -> float:
        """The CPU time so far, in seconds."""
        return machine.cpu_s(self._service.pid)

    @property
    def database_cpu_s(self) -> float:
        """The CPU time of the database so far, in seconds; 0 if it is part of the server."""
        return 0.0 if self._database_pid is None else machine.cpu_s(self._database_pid)

    @property
    def memory_mb(self) -> float:
        """The memory of the largest process of the server, in megabytes."""
        return machine.memory_mb(self._service.pid)

    def status(self, path: str) -> int | None:
        """Return the status of the response to a GET; None if there is none."""
        try:
            return self.ask("GET", path)[0]
        except OSError:
            return None

    def ask(self, method: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
        """Return status and body of the response to one request, over a connection of its own."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body)
            reply = connection.getresponse()
            return reply.status, reply.read()
        finally:
            connection.close()

    def stop(self) -> None:
        """End the process."""
        self._service.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def start_registry(
    store: str,
    folder: Path,
    *,
    cores: tuple[int, ...] = machine.SERVER_CORE,
    database_pid: int | None = None,
    workers: int = 1,
    options: Sequence[str] = (),
    path: str = "/contexts",
    program: str = "",
) -> Server:
    """Start the registry as users run it, with further ``options``; it is ready when ``path`` is answered 200.

    ``program`` is ``counterfoil`` of another version.
    """
    port = free_port()
    counterfoil = program or str(Path(sys.executable).with_name("counterfoil"))
    command = [counterfoil, "serve", "--port", str(port), "--store", store, "--workers", str(workers), *options]
    return Server(command, port=port, log=folder / "registry.log", cores=cores, database_pid=database_pid, path=path)


def start_hello(folder: Path, answer: bytes) -> Server:
    """Start the smallest ASGI application, on the same HTTP server, with the same bytes in the response."""
    return _start_python("hello.py", folder, answer)


def start_idiomatic(folder: Path, answer: bytes) -> Server:
    """Start the ordinary implementation with FastAPI and SQLAlchemy's ORM."""
    return _start_python("idiomatic.py", folder, answer, environment={"PYTHONPATH": str(_PEER_PACKAGES)})


def _start_python(script: str, folder: Path, answer: bytes, environment: Mapping[str, str] | None = None) -> Server:
    port, file = free_port(), folder / "answer"
    file.write_bytes(answer)
    command = [sys.executable, str(_HERE / script), str(port), str(file)]
    return Server(command, port=port, log=folder / f"{script}.log", environment=environment)


def start_nginx(folder: Path, answer: bytes) -> Server:
    """Start nginx with one worker, which sends the same bytes from a file that it keeps open."""
    port, place = free_port(), folder / "nginx"
    place.mkdir(exist_ok=True)
    (place / "answer").write_bytes(answer)
    settings = place / "nginx.conf"
    user = "user root;" if os.geteuid() == 0 else ""
    settings.write_text(_NGINX.format(folder=place, port=port, user=user))
    command = [program("nginx"), "-p", str(place), "-c", str(settings), "-e", "stderr", "-g", "daemon off;"]
    return Server(command, port=port, log=folder / "nginx.log")
