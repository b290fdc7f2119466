"""A real PgBouncer in transaction mode, in front of a PostgreSQL: on a free port, in a folder of its own.

If the Debian package is not installed it is downloaded with ``apt-get download``, which needs no privileges, and
unpacked in the cache that :mod:`local_services.jars` describes.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from local_services.cache import cache_folder, kept_folder
from local_services.postgres import unprivileged, unprivileged_user
from local_services.process import Service, ServiceError, free_port

if TYPE_CHECKING:
    from types import TracebackType

_PACKAGES: Final = ("pgbouncer", "libc-ares2", "libevent-2.1-7")
_DEADLINE_S: Final = 120
_CONFIGURATION: Final = """\
[databases]
* = host=127.0.0.1 port={target} user=counterfoil
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = {pool_size}
max_client_conn = 500
"""
_MAX_PREPARED: Final = "max_prepared_statements = {}\n"


class PgBouncer:
    """A running PgBouncer for the PostgreSQL at port ``target``; a context manager that stops it.

    ``pool_size`` is the largest number of its connections to a database. ``max_prepared_statements`` is for 1.21 and
    newer: above 0 it manages the prepared statements of each client by itself.
    """

    def __init__(
        self,
        target: int,
        *,
        pool_size: int = 3,
        max_prepared_statements: int | None = None,
        program: Path | None = None,
    ) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="counterfoil-pgbouncer-"))
        self.port = free_port()
        self._user = unprivileged_user()
        program = program or _installed() or self._copied(_fetched())
        text = _CONFIGURATION.format(target=target, port=self.port, pool_size=pool_size)
        if max_prepared_statements is not None:
            text += _MAX_PREPARED.format(max_prepared_statements)
        (self._folder / "pgbouncer.ini").write_text(text)
        if self._user is not None:
            os.chown(self._folder, self._user.pw_uid, self._user.pw_gid)
        self._command = unprivileged([str(program), "pgbouncer.ini"], self._user, folder=self._folder)
        self._service = self._start()

    def _start(self) -> Service:
        libraries = ":".join(str(path) for path in self._folder.glob("programs/usr/lib/*/"))
        environment = {"LD_LIBRARY_PATH": libraries} if libraries else {}
        service = Service("PgBouncer", self._command, log=self._folder / "pgbouncer.log", environment=environment)
        service.wait_ready(self._answers)
        return service

    def _copied(self, programs: Path) -> Path:
        """Return a copy of the program that any user may run; other users may not be able to read the cache."""
        shutil.copytree(programs, self._folder / "programs", symlinks=True)
        return self._folder / "programs" / "usr" / "sbin" / "pgbouncer"

    def _answers(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
        except OSError:
            return False
        return True

    def kill(self) -> None:
        """End it as a crash does."""
        self._service.kill()

    def restart(self) -> None:
        """Start it again on the same port."""
        self._service = self._start()

    def stop(self) -> None:
        """Stop it and remove its folder."""
        self._service.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def _installed() -> Path | None:
    found = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
    return None if found is None else Path(found)


def _fetched() -> Path:
    """Return the folder with the unpacked packages, downloaded first if it is missing."""
    return kept_folder("pgbouncer", make=_fetch)


def _fetch(folder: Path) -> None:
    print(f"Fetching PgBouncer (1 MB, once) into {folder}", file=sys.stderr)
    with tempfile.TemporaryDirectory(dir=cache_folder()) as unfinished:
        place = Path(unfinished)
        _run(["apt-get", "download", *_PACKAGES], place)
        for package in place.glob("*.deb"):
            _run(["dpkg", "-x", str(package), str(place / "programs")], place)
        (place / "programs").rename(folder)


def _run(command: list[str], folder: Path) -> None:
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=_DEADLINE_S, check=False)
        said = "" if done.returncode == 0 else done.stdout + done.stderr or f"status {done.returncode}"
    except (OSError, subprocess.TimeoutExpired) as error:
        said = str(error)
    if said:
        raise ServiceError(
            f"PgBouncer is not installed and cannot be fetched ({' '.join(command[:2])}: {said[-500:]}); install it "
            "(apt-get install pgbouncer), or let apt know its packages (apt-get update)"
        )
