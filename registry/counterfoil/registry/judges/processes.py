"""The processes of judges as a server asks them, and the mailbox that they share."""

from __future__ import annotations

import asyncio
import fcntl
import os
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from threading import Thread
from typing import TYPE_CHECKING, Any, Final, TypeVar

from counterfoil.registry.judges.portable import pack, unpack
from counterfoil.registry.judges.process import BUSY, CLOCK_FACTOR, DEFECT, ERROR, LENGTH, MEMORY, VALUE, JudgeTerms
from counterfoil.registry.logs import LOGGER
from counterfoil.schema.errors import JudgementEnded, TooManyJudgements, error_for_code

if TYPE_CHECKING:
    from collections.abc import Callable


# What the processes of one server and its judges share: the mailbox of calls, and the slots of judges.
#
# Both are anonymous: no file and no name is needed, and no other process can send anything.

_NAME: Final = "counterfoil-judges"


class Mailbox:
    """The two ends of the mailbox, and a file with a byte for each judge that there may be.

    A judge locks its byte, and writes there what it does. There are at most ``most``.

    It is made before the server's processes are forked. Any process may send a call; any judge takes it. Judges have
    the receiving end alone, so that they notice when no server is left.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._sending, self.receiving = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        os.set_blocking(self._sending.fileno(), False)
        self.slots = _anonymous_file()
        os.pwrite(self.slots, bytes(most), 0)

    def send(self, connection: socket.socket) -> None:
        """Send the end of a connection to whichever judge is next; raise ``OSError`` if too many wait."""
        socket.send_fds(self._sending, [b"+"], [connection.fileno()])

    def judges(self) -> list[bytes]:
        """Return what each of the judges does that there are."""
        return [os.pread(self.slots, 1, slot) for slot in range(self.most) if not self._is_free(slot)]

    def _is_free(self, slot: int) -> bool:
        """Return whether no process has a slot: a lock of this process would exclude none of its own."""
        try:
            fcntl.lockf(self.slots, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, slot)
        except OSError:
            return False
        fcntl.lockf(self.slots, fcntl.LOCK_UN, 1, slot)
        return True

    def close(self) -> None:
        """Close both ends in this process; judges end when all of its processes have."""
        self._sending.close()
        self.receiving.close()
        with suppress(OSError):
            os.close(self.slots)


def _anonymous_file() -> int:
    if sys.platform == "linux":
        return os.memfd_create(_NAME)
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


# Long judgements in processes of their own, as a server asks for them.

_T = TypeVar("_T")

IDLE_S: Final = 60.0
"""The seconds after which a judge without a call ends."""

_LARGE_BYTES: Final = 64 * 1024
"""A larger result is unpacked in a thread: the rows of a large schema take a tenth of a second."""

_PROGRAM: Final = ("-P", "-m", "counterfoil.registry.judges.process")
_PATIENCE_S: Final = 0.05
_NEXT_LOOK_S: Final = 0.25
_START_S: Final = 2.0
_MAX_STARTS: Final = 3
_GRACE_S: Final = 1.0
_CHUNK_BYTES: Final = 1024 * 1024
_NEEDED_VARIABLES: Final = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "LD_LIBRARY_PATH", "VIRTUAL_ENV")


class JudgeDefect(Exception):
    """A call failed in a judge for a reason that is a defect of this project; the text is its traceback."""


@dataclass(frozen=True, slots=True)
class JudgeLimits:
    """The limits of one judgement."""

    deadline_s: float
    memory_bytes: int
    idle_s: float = IDLE_S


class JudgeProcesses:
    """The judges of a server, as one of its processes sees them: they are started when there is something to do.

    ``python`` is the interpreter that runs them.
    """

    are_apart: Final = True

    def __init__(self, mailbox: Mailbox, limits: JudgeLimits, *, python: str = sys.executable) -> None:
        self.at_once = mailbox.most
        self.ended = 0
        """The number of judgements of this process that were ended before they had a result."""
        self.mailbox = mailbox
        self._limits = limits
        self._started: dict[int, tuple[subprocess.Popen[bytes], float]] = {}
        self._is_closed = False
        self._python = python

    @property
    def count(self) -> int:
        """The number of judges that there are now."""
        return 0 if self._is_closed else len(self.mailbox.judges())

    # --- calls

    def start(self, work: Callable[..., _T], *given: object) -> asyncio.Future[_T]:
        """Begin to compute ``work(*given)`` in a judge; cancelling the future ends the judge."""
        if self._is_closed:
            raise TooManyJudgements("The server stops, and no more schemas are compared; repeat the request elsewhere")
        return asyncio.get_running_loop().create_task(self._called(pack((work, given))))

    def give_up(self, running: asyncio.Future[Any]) -> None:
        """End the judge that computes it, or withdraw the call."""
        running.cancel()

    async def _called(self, call: bytes) -> Any:
        own, judges = socket.socketpair()
        with own:
            os.set_blocking(own.fileno(), False)
            with judges:
                self._send(judges)
            await self._taken(own)
            begun_s = time.monotonic()
            try:
                async with asyncio.timeout(CLOCK_FACTOR * self._limits.deadline_s + _GRACE_S):
                    result = await _exchanged(own, call)
            except (TimeoutError, OSError):
                result = None
        if result is None:
            raise self._end(time.monotonic() - begun_s)
        if len(result) > _LARGE_BYTES:
            return await asyncio.to_thread(self._value, result[:1], result[1:])
        return self._value(result[:1], result[1:])

    def _send(self, connection: socket.socket) -> None:
        try:
            self.mailbox.send(connection)
        except OSError as problem:
            raise TooManyJudgements(
                "Too many schemas wait to be compared; repeat the request after Retry-After"
            ) from problem

    async def _taken(self, own: socket.socket) -> None:
        """Return when a judge has taken the call; start one if there is none, or all of them are busy."""
        taken = asyncio.create_task(_first_byte(own))
        starts = 0
        patience_s = _PATIENCE_S if self.mailbox.judges() else 0.0
        try:
            while not (await asyncio.wait({taken}, timeout=patience_s))[0]:
                patience_s = _NEXT_LOOK_S
                if not self._is_another_due():
                    continue
                if starts == _MAX_STARTS and not self.mailbox.judges():
                    raise TooManyJudgements("No process that compares schemas can be started; try again later")
                if starts < _MAX_STARTS:
                    starts += 1
                    self._start_another()
            if not taken.result():
                raise self._end(0.0)
        finally:
            taken.cancel()

    def _value(self, kind: bytes, packed: bytes) -> Any:
        """Return the value of a result, or raise its error."""
        if kind == VALUE:
            return unpack(packed)
        if kind == ERROR:
            code, message, status, details = unpack(packed)
            raise error_for_code(code, message, status=status, details=details)
        if kind == MEMORY:
            self.ended += 1
            mebibytes = self._limits.memory_bytes // (1024 * 1024)
            raise JudgementEnded(
                f"The comparison was ended: it needs more than {mebibytes} MiB of memory, which is the limit here"
            )
        assert kind == DEFECT  # noqa: S101 - there are four kinds
        raise JudgeDefect(packed.decode(errors="replace"))

    def _end(self, after_s: float) -> JudgementEnded:
        """Count a judge that ended during a call, and return the error of the request."""
        self.ended += 1
        if after_s >= self._limits.deadline_s:
            why = f"it was not done after {self._limits.deadline_s:g} s of processor time, which is the limit here"
        else:
            why = "its process was killed; repeat the request after Retry-After"
        return JudgementEnded(f"The comparison was ended: {why}")

    # --- processes

    def _is_another_due(self) -> bool:
        """Return whether there may be one more judge, all others are busy, and none is about to begin."""
        now_s = time.monotonic()
        self._started = {pid: each for pid, each in self._started.items() if each[0].returncode is None}
        judges = self.mailbox.judges()
        beginning = sum(now_s - begun_s < _START_S for _, begun_s in self._started.values())
        return len(judges) < self.mailbox.most and all(each == BUSY for each in judges) and beginning <= len(judges)

    def _start_another(self) -> None:
        try:
            process = self._new_process()
        except OSError as problem:
            LOGGER.error("no process that compares schemas can be started", extra={"problem": str(problem)})
            return
        self._started[process.pid] = (process, time.monotonic())
        Thread(target=self._await_end, args=(process,), name="counterfoil-judge-end", daemon=True).start()

    def _await_end(self, process: subprocess.Popen[bytes]) -> None:
        """Take the exit code of a judge when it ends, so that nothing of it is left in the system."""
        code = process.wait()
        if code and not self._is_closed:
            LOGGER.warning("a process that compares schemas ended", extra={"pid": process.pid, "code": code})

    def _new_process(self) -> subprocess.Popen[bytes]:
        """Start a judge: another program, and no copy of this process; it gets neither secrets nor other files."""
        mailbox, slots, limits = self.mailbox.receiving.fileno(), self.mailbox.slots, self._limits
        terms = JudgeTerms(mailbox, slots, self.mailbox.most, limits.deadline_s, limits.memory_bytes, limits.idle_s)
        variables = {
            name: value
            for name, value in os.environ.items()
            if name in _NEEDED_VARIABLES or name.startswith(("PYTHON", "COVERAGE"))
        }
        return subprocess.Popen(  # noqa: S603 - this program itself
            [self._python, *_PROGRAM, *terms.arguments()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=(mailbox, slots),
            env=variables,
        )

    def close(self) -> None:
        """Start no more judges; they end when no process of the server has the mailbox open."""
        self._is_closed = True
        self.mailbox.close()


async def _first_byte(own: socket.socket) -> bytes:
    """Return the byte that a judge sends when it takes the call; none if it ended then."""
    try:
        return await asyncio.get_running_loop().sock_recv(own, 1)
    except OSError:
        return b""


async def _exchanged(own: socket.socket, call: bytes) -> bytes | None:
    """Send a call and return its result; None if the judge has ended."""
    loop = asyncio.get_running_loop()
    await loop.sock_sendall(own, LENGTH.pack(len(call)) + call)
    head = await _received(own, LENGTH.size)
    return None if head is None else await _received(own, LENGTH.unpack(head)[0])


async def _received(own: socket.socket, size: int) -> bytes | None:
    loop, parts = asyncio.get_running_loop(), bytearray()
    while len(parts) < size:
        part = await loop.sock_recv(own, min(size - len(parts), _CHUNK_BYTES))
        if not part:
            return None
        parts += part
    return bytes(parts)
