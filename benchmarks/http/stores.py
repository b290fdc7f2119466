"""Registries of every size, filled once; writes use a copy of a small one, so that it stays small."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Final, Protocol

import machine
from generate import generate

from local_services import PostgresServer

if TYPE_CHECKING:
    from pathlib import Path

    from generate import Shape


class Stores(Protocol):
    """Registries in one kind of store. ``database_pid`` is of the process that serves them, if there is one."""

    title: str
    database_pid: int | None

    def filled(self, shape: Shape) -> str:
        """Return the URL of a registry of this shape, which is filled at the first call."""
        ...

    def copied(self, shape: Shape) -> str:
        """Return the URL of a new copy of that registry, which must not be in use."""
        ...

    def empty(self) -> str:
        """Return the URL of a new, empty registry."""
        ...


class SqliteStores:
    """SQLite files in a folder."""

    title: Final = "SQLite"
    database_pid: Final = None

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._copies = 0

    def filled(self, shape: Shape) -> str:
        """Return the URL of the registry of this shape."""
        path = self._path(_name(shape))
        if not path.exists():
            generate(f"sqlite:///{path}", shape)
        return f"sqlite:///{path}"

    def copied(self, shape: Shape) -> str:
        """Return the URL of a new copy of it."""
        self.filled(shape)
        self._copies += 1
        path = self._path(f"copy_{self._copies}")
        shutil.copyfile(self._path(_name(shape)), path)
        return f"sqlite:///{path}"

    def empty(self) -> str:
        """Return the URL of a file that does not exist yet."""
        self._copies += 1
        return f"sqlite:///{self._path(f'empty_{self._copies}')}"

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.db"


class PostgresStores:
    """Databases of a PostgreSQL that waits for the disk, on the core of the load generator."""

    title: Final = "PostgreSQL"

    def __init__(self, server: PostgresServer) -> None:
        self._server = server
        self.port = server.port
        self.database_pid = server.pid
        self._filled: set[str] = set()
        self._copies = 0

    def filled(self, shape: Shape) -> str:
        """Return the URL of the registry of this shape."""
        name = _name(shape)
        if name in self._filled:
            return self._server.url(name)
        self._filled.add(name)
        url = self._server.create_database(name)
        generate(url, shape)
        return url

    def copied(self, shape: Shape) -> str:
        """Return the URL of a new copy of it."""
        self.filled(shape)
        self._copies += 1
        return self._server.create_database(f"copy_{self._copies}", template=_name(shape))

    def empty(self) -> str:
        """Return the URL of a database without tables."""
        self._copies += 1
        return self._server.create_database(f"empty_{self._copies}")


def start_postgres() -> PostgresServer:
    """Start a PostgreSQL that waits for the disk, as in production, on another core than the registry."""
    with machine.on_cores(machine.LOAD_CORE):
        return PostgresServer(durable=True)


def _name(shape: Shape) -> str:
    return f"filled_{shape.subjects}_{shape.versions}"
