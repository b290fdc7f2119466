"""A network between two programs that a test can make slow, silent, or disconnect."""

from __future__ import annotations

import asyncio
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator
    from types import TracebackType


class TcpProxy:
    """A context manager that forwards data from ``port`` on loopback to ``target``, and back.

    ``latency_s`` is the added time of a round trip, half of it in each direction. ``round_trips`` counts how many times
    a client sent data after a response, on all connections.
    """

    def __init__(self, target: int, *, latency_s: float = 0.0) -> None:
        self._target = target
        self.latency_s = latency_s
        self.round_trips = 0
        self.port = 0
        self._loop = asyncio.new_event_loop()
        self._flows = asyncio.Event()
        self._is_deaf = False
        self._is_gone = False
        self._connections: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._loop.run_forever)

    def __enter__(self) -> Self:
        self._thread.start()
        self._call(self._start())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._call(self._stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @contextmanager
    def stalled(self) -> Iterator[None]:
        """Hold all data back while the block runs, and close nothing."""
        self._loop.call_soon_threadsafe(self._flows.clear)
        try:
            yield
        finally:
            self._loop.call_soon_threadsafe(self._flows.set)

    @contextmanager
    def deaf(self) -> Iterator[None]:
        """Forward requests while the block runs, but drop the responses and close the connections."""
        self._is_deaf = True
        try:
            yield
        finally:
            self._is_deaf = False

    @contextmanager
    def gone(self) -> Iterator[None]:
        """Close all connections while the block runs, also new ones immediately."""
        self._is_gone = True
        self.cut()
        try:
            yield
        finally:
            self._is_gone = False

    def cut(self) -> None:
        """End all connections."""
        self._call(self._cut())

    def _call(self, work: Coroutine[Any, Any, object]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(10)

    async def _start(self) -> None:
        self._flows.set()
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _stop(self) -> None:
        self._server.close()
        await self._cut()

    async def _cut(self) -> None:
        tasks = list(self._connections)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._is_gone:
            writer.close()
            return
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            with suppress(OSError):
                await _Conversation(self, reader, writer, self._target).run()
        except asyncio.CancelledError:
            pass
        finally:
            self._connections.discard(task)
            writer.close()

    async def pass_on(self) -> None:
        """Return when data may be forwarded."""
        await self._flows.wait()

    @property
    def is_deaf(self) -> bool:
        return self._is_deaf


class _Conversation:
    """One client, and its connection to the target."""

    def __init__(
        self, proxy: TcpProxy, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, target: int
    ) -> None:
        self._proxy = proxy
        self._client = reader, writer
        self._target = target
        self._was_answered = True

    async def run(self) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._target)
        there = asyncio.create_task(self._pump(self._client[0], writer, is_answer=False))
        back = asyncio.create_task(self._pump(reader, self._client[1], is_answer=True))
        try:
            await asyncio.wait([there, back], return_when=asyncio.FIRST_COMPLETED)
        finally:
            there.cancel()
            back.cancel()
            writer.close()

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, *, is_answer: bool) -> None:
        loop = asyncio.get_running_loop()
        on_the_way: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()
        delivery = asyncio.create_task(self._deliver(on_the_way, sink))
        try:
            while content := await source.read(65536):
                await self._proxy.pass_on()
                if is_answer and self._proxy.is_deaf:
                    return
                if not is_answer and self._was_answered:
                    self._proxy.round_trips += 1
                self._was_answered = is_answer
                on_the_way.put_nowait((loop.time() + self._proxy.latency_s / 2, content))
            on_the_way.put_nowait((loop.time() + self._proxy.latency_s / 2, b""))
            await delivery
        finally:
            delivery.cancel()

    async def _deliver(self, on_the_way: asyncio.Queue[tuple[float, bytes]], sink: asyncio.StreamWriter) -> None:
        loop = asyncio.get_running_loop()
        while True:
            due, content = await on_the_way.get()
            await asyncio.sleep(max(0.0, due - loop.time()))
            if not content:
                return
            sink.write(content)
            await sink.drain()
