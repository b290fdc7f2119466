"""A client of the change feed: over a socket, reading no more than is requested, or in this process."""

from __future__ import annotations

import asyncio
import json
import socket
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_DEADLINE_S = 120


def parse_event(block: str) -> dict[str, Any]:
    """Return the fields of one block of an event stream; ``data`` is its JSON value, ``comment`` a comment."""
    found: dict[str, Any] = {}
    for line in block.splitlines():
        name, _, value = line.partition(":")
        found[name or "comment"] = value.removeprefix(" ")
    if "data" in found:
        found["data"] = json.loads(found["data"])
    return found


class SocketListener:
    """A raw client of ``GET /changes`` with ``Accept: text/event-stream``; ``status`` is that of the response."""

    def __init__(self, url: str, path: str = "/changes", *, last_event_id: int | None = None, buffer: int = 0) -> None:
        address = urlsplit(url)
        self._socket = socket.socket()
        if buffer:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        self._socket.settimeout(_DEADLINE_S)
        self._socket.connect((address.hostname, address.port))
        last = "" if last_event_id is None else f"Last-Event-ID: {last_event_id}\r\n"
        self._socket.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n{last}\r\n".encode())
        self._file = self._socket.makefile("rb")
        self.status = int(self._file.readline().split()[1])
        self.headers = dict(self._header_lines())

    def _header_lines(self) -> Iterator[tuple[str, str]]:
        while line := self._file.readline().decode().strip():
            name, _, value = line.partition(":")
            yield name.lower(), value.strip()

    def blocks(self) -> Iterator[dict[str, Any]]:
        """Yield all blocks, also comments, until the stream ends."""
        text = ""
        while size := int(self._file.readline() or b"0", 16):
            text += self._file.read(size).decode()
            self._file.readline()
            *whole, text = text.split("\n\n")
            for block in whole:
                yield parse_event(block)

    def events(self) -> Iterator[dict[str, Any]]:
        """Return an iterator over the events."""
        return (block for block in self.blocks() if "data" in block)

    def take(self, count: int) -> list[int]:
        """Return the numbers of the next ``count`` changes."""
        events = self.events()
        return [next(events)["data"]["seq"] for _ in range(count)]

    def cut(self) -> None:
        """Close the connection."""
        self._file.close()
        self._socket.close()


class InProcessListener:
    """A client of an ASGI application, which receives while ``is_reading`` is set."""

    def __init__(self, app: Any, path: str = "/changes", headers: dict[str, str] | None = None) -> None:
        raw_path, _, query = path.partition("?")
        given = {"accept": "text/event-stream", **(headers or {})}
        self._scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": "GET",
            "scheme": "http",
            "path": raw_path,
            "raw_path": raw_path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [(name.encode(), value.encode()) for name, value in given.items()],
            "server": ("test", 80),
            "client": ("test", 1),
        }
        self.blocks: list[dict[str, Any]] = []
        self._told = asyncio.Event()
        self.is_reading = asyncio.Event()
        self.is_reading.set()
        self._hung_up = asyncio.Event()
        self._begun = False
        self.task = asyncio.create_task(app(self._scope, self._receive, self._send))

    async def _receive(self) -> dict[str, Any]:
        if not self._begun:
            self._begun = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await self._hung_up.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        await self.is_reading.wait()
        for block in message.get("body", b"").decode().split("\n\n"):
            if block:
                self.blocks.append(parse_event(block))
        self._told.set()

    @property
    def seqs(self) -> list[int]:
        """The numbers of the changes that were received."""
        return [block["data"]["seq"] for block in self.blocks if "data" in block]

    async def until(self, is_so: Callable[[], bool], *, what: str) -> None:
        """Return when received blocks make ``is_so`` true; raise ``TimeoutError`` with ``what`` is missing."""
        try:
            async with asyncio.timeout(_DEADLINE_S):
                while not is_so():
                    self._told.clear()
                    await self._told.wait()
        except TimeoutError:
            raise TimeoutError(f"waited {_DEADLINE_S} s for {what}; there were {self.blocks[-5:]}") from None

    async def has(self, count: int) -> None:
        """Return when so many changes were received."""
        await self.until(lambda: len(self.seqs) >= count, what=f"{count} changes")

    async def has_begun(self) -> None:
        """Return when anything was received."""
        await self.until(lambda: bool(self.blocks), what="the first block")

    async def hang_up(self) -> None:
        """Disconnect, and wait until the application has noticed."""
        self._hung_up.set()
        await asyncio.wait_for(self.task, _DEADLINE_S)
