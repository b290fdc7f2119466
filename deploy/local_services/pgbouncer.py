"""A real PgBouncer in transaction mode, in front of a PostgreSQL: on a free port, in a folder of its own.

If the Debian package is not installed it is unpacked in the cache: :mod:`local_services.debian`.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from functools import partial
from pathlib import Path
from typing import Final

from local_services.debian import installed_program, library_path, unpacked_packages
from local_services.postgres import unprivileged, unprivileged_user
from local_services.process import Service, ServiceInFolder, free_port, is_listening

_PACKAGES: Final = ("pgbouncer", "libc-ares2", "libevent-2.1-7")
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


class PgBouncer(ServiceInFolder):
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
        program = program or installed_program("pgbouncer") or self._copied()
        text = _CONFIGURATION.format(target=target, port=self.port, pool_size=pool_size)
        if max_prepared_statements is not None:
            text += _MAX_PREPARED.format(max_prepared_statements)
        (self._folder / "pgbouncer.ini").write_text(text)
        if self._user is not None:
            os.chown(self._folder, self._user.pw_uid, self._user.pw_gid)
        self._command = unprivileged([str(program), "pgbouncer.ini"], self._user, folder=self._folder)
        self._service = self._start()

    def _start(self) -> Service:
        environment = library_path(self._folder / "programs")
        service = Service("PgBouncer", self._command, log=self._folder / "pgbouncer.log", environment=environment)
        service.wait_ready(partial(is_listening, self.port))
        return service

    def _copied(self) -> Path:
        """Return a copy of the program that any user may run; other users may not be able to read the cache."""
        programs = unpacked_packages("pgbouncer", _PACKAGES, size="1 MB")
        shutil.copytree(programs, self._folder / "programs", symlinks=True)
        return self._folder / "programs" / "usr" / "sbin" / "pgbouncer"

    def kill(self) -> None:
        """End it as a crash does."""
        self._service.kill()

    def restart(self) -> None:
        """Start it again on the same port."""
        self._service = self._start()
