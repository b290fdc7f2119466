"""The registry as users run it: ``counterfoil serve`` in a process of its own."""

from __future__ import annotations

import os
import sys
import tempfile
import urllib.error
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Self

from local_services.forking import start_forked
from local_services.process import RUN_FOLDER, Service, free_port, start_program

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

INSTALLED = Path(sys.executable).with_name("counterfoil")
"""The installed program."""


def start_registry(
    *options: str, log: Path, environment: Mapping[str, str] | None = None, program: Path | None = None
) -> Service:
    """Start ``counterfoil serve`` with these options and further variables of the environment.

    In a test run it is forked from a process that has imported its modules, unless ``program`` says which to start.
    """
    is_forked = program is None and RUN_FOLDER in os.environ
    command: Sequence[str] = [str(program or INSTALLED), "serve", *options]
    start = start_forked if is_forked else start_program
    return Service("the registry", command, log=log, environment=environment, start=start)


class RegistryProcess:
    """A running registry; a context manager that stops it.

    ``url`` is its address. Without ``store`` its data is in a SQLite file in a temporary folder, which is removed when
    it stops. ``program`` is the program ``counterfoil``; see ``start_registry``.
    """

    def __init__(
        self,
        *,
        store: str | None = None,
        settings: Mapping[str, str] | None = None,
        log: Path | None = None,
        port: int | None = None,
        program: Path | None = None,
    ) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="counterfoil-registry-")
        self.store = store or f"sqlite:///{self._folder.name}/registry.db"
        self.port = port or free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._program = program
        self._settings = dict(settings or {})
        self._log = log or Path(self._folder.name) / "registry.log"
        self._service = self._start()

    def _start(self) -> Service:
        options = ["--port", str(self.port), "--store", self.store]
        service = start_registry(*options, log=self._log, environment=self._settings, program=self._program)
        service.wait_ready(self._answers)
        return service

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/health/ready", timeout=1) as reply:  # noqa: S310 - our own address
                return bool(reply.status == 200)  # noqa: PLR2004 - HTTP's OK
        except (urllib.error.URLError, OSError):
            return False

    @property
    def pid(self) -> int:
        """The process id of the server."""
        return self._service.pid

    @property
    def log(self) -> Path:
        """The file with the server's output."""
        return self._log

    def log_tail(self) -> str:
        """Return the last lines of the server's output."""
        return self._service.log_tail()

    def kill(self) -> None:
        """End the server as a crash does; its data stays."""
        self._service.kill()

    def restart(self) -> None:
        """Start the server again on the same port and data."""
        self._service = self._start()

    def stop(self) -> int:
        """Stop the server and remove the temporary folder; return its exit status."""
        status = self._service.stop()
        self._folder.cleanup()
        return status

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
