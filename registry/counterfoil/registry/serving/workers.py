"""Several processes on one port, replaced by their parent, and the memory in which they share their metrics."""

from __future__ import annotations

import contextlib
import gc
import mmap
import os
import select
import signal
import socket
import struct
import sys
import time
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from counterfoil.registry.judges.processes import Mailbox
from counterfoil.registry.logs import LOGGER, configure_logging
from counterfoil.registry.serving.server import Seat, announce, listen, plain_listener, run, run_on
from counterfoil.registry.telemetry import Telemetry
from counterfoil.schema.errors import CounterfoilError
from counterfoil.schema.exit_codes import ExitCode

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from counterfoil.registry.settings import ServerSettings


# Memory that processes share: each writes its own metrics there, and reads those of the others.
#
# The last metrics of a killed process stay, and the process that replaces it continues from them: sums never go down,
# as Prometheus requires for counters.

_HALF_BYTES: Final = 512 * 1024
_HEAD: Final = struct.Struct("<II")  # size and checksum
_PLACE_BYTES: Final = 2 * _HALF_BYTES + mmap.PAGESIZE
_ATTEMPTS: Final = 100


class Boards:
    """One place for each process. It is made before they are forked; memory is used as it is written."""

    def __init__(self, count: int) -> None:
        self._memory = mmap.mmap(-1, count * _PLACE_BYTES)
        self.count = count

    def write(self, place: int, content: bytes) -> None:
        """Write ``content`` to ``place``; content that does not fit is ignored, and the earlier content stays.

        There are two halves. The one that is not being read is written, and then a single byte makes it the current
        one; a process may be killed at any point of this.
        """
        if _HEAD.size + len(content) > _HALF_BYTES:
            return
        begin = place * _PLACE_BYTES
        half = 1 - self._memory[begin]
        at = begin + mmap.PAGESIZE + half * _HALF_BYTES
        self._memory[at + _HEAD.size : at + _HEAD.size + len(content)] = content
        self._memory[at : at + _HEAD.size] = _HEAD.pack(len(content), zlib.crc32(content))
        self._memory[begin] = half

    def read(self, place: int) -> bytes:
        """Return the content of ``place``; empty if nothing was written yet."""
        begin = place * _PLACE_BYTES
        for _ in range(_ATTEMPTS):  # again if it was written to meanwhile
            at = begin + mmap.PAGESIZE + self._memory[begin] * _HALF_BYTES
            size, checksum = _HEAD.unpack(self._memory[at : at + _HEAD.size])
            content = self._memory[at + _HEAD.size : at + _HEAD.size + min(size, _HALF_BYTES)]
            if zlib.crc32(content) == checksum:
                return content
        return b""


class PlaceOnBoards:
    """The place of one process on the boards that it shares with the others."""

    def __init__(self, boards: Boards, place: int) -> None:
        self._boards = boards
        self._place = place

    def show(self, measures: bytes) -> None:
        """Write what this process has measured so far."""
        self._boards.write(self._place, measures)

    def others(self) -> list[bytes]:
        """Return what the other processes have written."""
        places = [place for place in range(self._boards.count) if place != self._place]
        return [shown for place in places if (shown := self._boards.read(place))]


# Several processes on one port: a parent process that has the sockets, and starts, watches and replaces workers.
#
# The parent process makes one listening socket for each worker, all on the same address (``SO_REUSEPORT``), so that the
# system distributes connections evenly; on other systems than Linux all workers share one. The parent process keeps the
# sockets open: connections that wait for a worker which ends are accepted by the one that replaces it.

_SHARED_STORES: Final = ("postgresql://", "postgres://")
_READY: Final = b"+"
_LONGEST_WAIT_S: Final = 5.0
_FIRST_WAIT_S: Final = 0.1
_LONG_LIFE_S: Final = 10.0
_MAX_FAILED_STARTS: Final = 5
_EXTRA_GRACE_S: Final = 5.0
_PIPE_BYTES: Final = 65536
_STOPS: Final = (signal.SIGTERM, signal.SIGINT)


class WorkersNotPossible(CounterfoilError):
    """The store can be used by one process only."""

    exit_code = ExitCode.USAGE


class WorkersFailed(CounterfoilError):
    """Workers that end before they serve."""


def serve_with(settings: ServerSettings) -> int:
    """Serve with the number of processes in ``settings`` until SIGTERM or SIGINT; return the exit code 0 then.

    Raises ``WorkersNotPossible`` if the store can be used by one process only, ``WorkersFailed`` if the processes do
    not start.
    """
    if settings.workers == 1:
        return run(settings)
    if not settings.store.startswith(_SHARED_STORES):
        what = "a registry in memory" if settings.store in {"sqlite://", "sqlite:///:memory:"} else "a SQLite file"
        raise WorkersNotPossible(
            f"{settings.workers} workers need a PostgreSQL store; {what} belongs to one process, so leave workers at 1 "
            "or give --store postgresql://…"
        )
    configure_logging()
    listeners = _listeners(settings)
    try:
        with plain_listener(settings) as plain:
            Workers(settings, listeners, plain=plain).run()
    finally:
        for listener in listeners:
            listener.close()
    return 0


def _listeners(settings: ServerSettings) -> list[socket.socket]:
    """Return a listening socket for each worker; the same for all if the system does not balance between several."""
    listen(
        settings.host, settings.port
    ).close()  # raises if another process uses the address, which a shared socket would hide
    first = listen(settings.host, settings.port, is_shared=True)
    if sys.platform != "linux":
        return [first] * settings.workers
    port = first.getsockname()[1]
    return [first, *(listen(settings.host, port, is_shared=True) for _ in range(settings.workers - 1))]


@dataclass(slots=True)
class _Worker:
    """One worker's place.

    ``pid`` is 0 while there is no process; ``news`` is the pipe with the messages of its start.
    """

    place: int
    pid: int = 0
    news: int = -1
    text: bytes = b""
    is_ready: bool = False
    begun_s: float = 0.0
    failed_starts: int = 0
    start_at_s: float = field(default=0.0)


class Workers:
    """The worker processes, from the first one's start to the last one's end.

    ``listeners`` has a socket for each, ``plain`` is the one of the port without TLS, which all of them accept on.
    ``serve`` is what a worker runs.
    """

    def __init__(
        self,
        settings: ServerSettings,
        listeners: Sequence[socket.socket],
        *,
        plain: socket.socket | None = None,
        serve: Callable[[ServerSettings, Seat], object] = run_on,
    ) -> None:
        self._settings = settings
        self._serve = serve
        self._listeners = listeners
        self._plain = plain
        self._boards = Boards(settings.workers)
        self._mailbox = Mailbox(settings.judgement_processes)
        self._workers = [_Worker(place) for place in range(settings.workers)]
        self._is_stopping = False
        self._has_served = False
        self._lifeline_reader, self._lifeline_writer = os.pipe()
        self._wakeup_reader, self._wakeup_writer = socket.socketpair()

    def run(self) -> None:
        """Serve until SIGTERM or SIGINT; raise ``WorkersFailed`` if workers do not start, and none serves."""
        self._listen_to_signals()
        gc.freeze()
        try:
            while not self._is_stopping:
                self._start_missing()
                self._wait()
                self._hear_news()
                self._reap()
        finally:
            self._stop()

    # --- signals

    def _listen_to_signals(self) -> None:
        for end in (self._wakeup_reader, self._wakeup_writer):
            _never_block(end.fileno())
        signal.set_wakeup_fd(self._wakeup_writer.fileno(), warn_on_full_buffer=False)
        for number in _STOPS:
            signal.signal(number, self._begin_stop)
        signal.signal(signal.SIGCHLD, lambda *_: None)  # it only has to interrupt the wait
        signal.signal(signal.SIGHUP, self._begin_reading)

    def _begin_stop(self, *_: Any) -> None:
        self._is_stopping = True

    def _begin_reading(self, *_: Any) -> None:
        """Have all workers read the access file and the files of TLS again."""
        self._signal_all(signal.SIGHUP)

    def _wait(self) -> None:
        """Return when a signal or a worker's message has arrived, or the next start is due."""
        due = [worker.start_at_s for worker in self._workers if not worker.pid]
        timeout_s = max(min(due) - time.monotonic(), 0.0) if due else None
        wakeup = self._wakeup_reader.fileno()
        news = [worker.news for worker in self._workers if worker.news >= 0]
        ready, _, _ = select.select([wakeup, *news], [], [], timeout_s)
        if wakeup in ready:
            with contextlib.suppress(BlockingIOError):
                self._wakeup_reader.recv(_PIPE_BYTES)

    # --- starting

    def _start_missing(self) -> None:
        now_s = time.monotonic()
        for worker in self._workers:
            if not worker.pid and worker.start_at_s <= now_s:
                self._start(worker)

    def _start(self, worker: _Worker) -> None:
        reader, writer = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid == 0:
            os.close(reader)
            self._become(worker, writer)
        os.close(writer)
        _never_block(reader)
        worker.pid, worker.news, worker.text, worker.is_ready = pid, reader, b"", False
        worker.begun_s = time.monotonic()

    def _become(self, worker: _Worker, news: int) -> None:
        """Run the worker in this forked process; never return."""
        code = 1
        try:
            signal.set_wakeup_fd(-1)
            for number in (*_STOPS, signal.SIGCHLD):
                signal.signal(number, signal.SIG_DFL)
            signal.signal(signal.SIGHUP, signal.SIG_IGN)  # until the server listens to it
            self._close_what_is_not_of(worker)
            telemetry = Telemetry(
                board=PlaceOnBoards(self._boards, worker.place), begun_with=self._boards.read(worker.place)
            )
            seat = Seat(
                self._listeners[worker.place],
                lambda _: _write_news(news, _READY),
                telemetry,
                lifeline=self._lifeline_reader,
                plain=self._plain,
                mailbox=self._mailbox,
            )
            self._serve(self._settings, seat)
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
        except CounterfoilError as error:
            _write_news(news, " ".join(str(error).split()).encode()[:_PIPE_BYTES])
        except BaseException:  # noqa: BLE001 - the last handler of this process: what it does not log, nobody learns
            LOGGER.exception("the worker failed")
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)

    def _close_what_is_not_of(self, worker: _Worker) -> None:
        own = self._listeners[worker.place]
        for listener in self._listeners:
            if listener is not own:
                listener.close()
        os.close(self._lifeline_writer)
        self._wakeup_reader.close()
        self._wakeup_writer.close()
        for other in self._workers:
            if other.news >= 0:
                os.close(other.news)

    # --- watching

    def _hear_news(self) -> None:
        for worker in self._workers:
            if worker.news < 0:
                continue
            with contextlib.suppress(BlockingIOError):
                worker.text += os.read(worker.news, _PIPE_BYTES)
            if worker.text.startswith(_READY) and not worker.is_ready:
                worker.is_ready, worker.failed_starts = True, 0
                LOGGER.info("worker serves", extra={"worker": worker.place, "pid": worker.pid})
        if not self._has_served and not self._is_stopping and all(worker.is_ready for worker in self._workers):
            self._has_served = True
            announce(self._listeners[0], self._settings)

    def _reap(self) -> None:
        for worker in self._workers:
            if worker.pid:
                pid, status = os.waitpid(worker.pid, os.WNOHANG)
                if pid:
                    self._note_end(worker, os.waitstatus_to_exitcode(status))

    def _note_end(self, worker: _Worker, code: int) -> None:
        """Plan the next start of a worker that has ended by itself, or raise ``WorkersFailed``."""
        self._hear_news()
        said = worker.text.removeprefix(_READY).decode(errors="replace")
        facts = {"worker": worker.place, "pid": worker.pid, "ended": _in_words(code)}
        served, was_ready = time.monotonic() - worker.begun_s, worker.is_ready
        os.close(worker.news)
        worker.pid, worker.news, worker.is_ready = 0, -1, False
        if self._is_stopping:
            return
        worker.failed_starts = 0 if was_ready and served > _LONG_LIFE_S else worker.failed_starts + 1
        if not was_ready:
            self._give_up_if_hopeless(worker, said or _in_words(code))
        wait_s = min(_FIRST_WAIT_S * 2 ** (worker.failed_starts - 1), _LONGEST_WAIT_S) if worker.failed_starts else 0.0
        worker.start_at_s = time.monotonic() + wait_s
        LOGGER.error("worker ended; another one takes its place", extra={**facts, "said": said, "after_s": wait_s})

    def _give_up_if_hopeless(self, worker: _Worker, reason: str) -> None:
        if not self._has_served:
            raise WorkersFailed(f"Worker {worker.place} did not start: {reason}")
        if worker.failed_starts >= _MAX_FAILED_STARTS and not any(each.is_ready for each in self._workers):
            raise WorkersFailed(
                f"No worker is left, and worker {worker.place} did not start {worker.failed_starts} times: {reason}"
            )

    # --- stopping

    def _stop(self) -> None:
        """End every worker: with SIGTERM, and after the grace period with SIGKILL."""
        self._is_stopping = True
        for listener in self._listeners:
            listener.close()
        self._signal_all(signal.SIGTERM)
        deadline_s = time.monotonic() + self._settings.stop_timeout_s + _EXTRA_GRACE_S
        while any(worker.pid for worker in self._workers) and time.monotonic() < deadline_s:
            with contextlib.suppress(BlockingIOError):
                self._wakeup_reader.recv(_PIPE_BYTES)
            self._reap()
            if any(worker.pid for worker in self._workers):
                select.select([self._wakeup_reader], [], [], max(deadline_s - time.monotonic(), 0.0))
        self._signal_all(signal.SIGKILL)
        signal.set_wakeup_fd(-1)
        for number in (*_STOPS, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)  # a further one, while Python ends, would make a failure of it

    def _signal_all(self, number: signal.Signals) -> None:
        for worker in self._workers:
            if worker.pid:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(worker.pid, number)


def _never_block(descriptor: int) -> None:
    os.set_blocking(descriptor, False)


def _write_news(news: int, text: bytes) -> None:
    """Write to the parent process, which may have ended."""
    with contextlib.suppress(OSError):
        os.write(news, text)


def _in_words(code: int) -> str:
    return f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
