"""The program of a judge: it takes one call after the other from a mailbox, and sends each result where it came from.

It holds the schema room alone. It ends when there was nothing to do for a while, when the servers of its mailbox have
ended, when its memory has grown, and, by signals of the system that no code can hold back, after the deadline of a call
and when the server that asked closes the connection.
"""

from __future__ import annotations

import fcntl
import gc
import os
import resource
import select
import signal
import socket
import struct
import sys
import time
import traceback
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

LENGTH: Final = struct.Struct("<Q")
"""The length of a call, or of a result, before its bytes."""

TAKEN: Final = b"+"
"""What a judge sends when it has taken a call."""

BEGINNING, IDLE, BUSY = b"\0", b"i", b"b"
"""What a judge does, as the byte of its slot says."""

VALUE, ERROR, MEMORY, DEFECT = b"v", b"e", b"m", b"d"
"""The kinds of results: a value, an error of the registry, a lack of memory, an exception that is a defect."""

CLOCK_FACTOR: Final = 4
"""The deadline by the clock, as a multiple of the one by the time of the processor."""

_CHUNK_BYTES: Final = 1024 * 1024
_SLOT_ATTEMPTS: Final = 5
_SLOT_PAUSE_S: Final = 0.02
_SEND_TIMEOUT_S: Final = 10.0
_LESS_IMPORTANT: Final = 10
_YOUNG_OBJECTS: Final = 100_000
"""The new objects after which cycles are looked for: Python's own 700 make a long comparison a third dearer."""
_MOST_RESIDENT_BYTES: Final = 60 * 1024 * 1024
"""The memory of a judge that goes on; one that has more after a call ends, and another one takes its place."""


class JudgeTerms(NamedTuple):
    """What a judge is started with: descriptors of the mailbox and of the slots, and its limits."""

    mailbox: int
    slots: int
    most: int
    deadline_s: float
    memory_bytes: int
    idle_s: float

    @classmethod
    def read(cls, given: list[str]) -> JudgeTerms:
        """Return the terms in the arguments of the program."""
        mailbox, slots, most, deadline_s, memory_bytes, idle_s = given
        return cls(int(mailbox), int(slots), int(most), float(deadline_s), int(memory_bytes), float(idle_s))

    def arguments(self) -> list[str]:
        """Return the terms as arguments of the program."""
        return [str(each) for each in self]


def main(terms: JudgeTerms) -> None:
    """Take calls until there is nothing to do; at once if there are as many judges as there may be."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal: the server stops in order
    with suppress(OSError):
        os.nice(_LESS_IMPORTANT)  # before the start, which takes a fifth of a second
    slot = _taken_slot(terms)
    if slot is None:
        return
    show = partial(_show, terms.slots, slot)
    show(BEGINNING)
    from counterfoil.registry.judges.portable import UnpackedSchemas

    schemas = UnpackedSchemas()
    gc.freeze()
    gc.set_threshold(_YOUNG_OBJECTS, 10, 10)
    _limit(terms)
    mailbox = socket.socket(fileno=terms.mailbox)
    os.set_blocking(terms.mailbox, False)
    show(IDLE)
    while (asker := _next_asker(mailbox, terms.idle_s)) is not None:
        show(BUSY)
        with asker:
            _answer(asker, schemas, terms.deadline_s)
        gc.collect()
        show(IDLE)
        if _resident_bytes() > _MOST_RESIDENT_BYTES:
            return


def _taken_slot(terms: JudgeTerms) -> int | None:
    """Return the slot of this judge, None if there are as many as there may be; it is free when the process ends."""
    for _ in range(_SLOT_ATTEMPTS):  # a server that counts the judges holds a slot for a moment
        for slot in range(terms.most):
            with suppress(OSError):
                fcntl.lockf(terms.slots, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, slot)
                return slot
        time.sleep(_SLOT_PAUSE_S)
    return None


def _show(slots: int, slot: int, state: bytes) -> None:
    """Write what this judge does, for the servers."""
    os.pwrite(slots, state, slot)


def _limit(terms: JudgeTerms) -> None:
    """Limit the memory, and let the system prefer the servers where memory ends."""
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    memory_bytes = terms.memory_bytes if most == resource.RLIM_INFINITY else min(terms.memory_bytes, most)
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("500", encoding="ascii")


def _next_asker(mailbox: socket.socket, idle_s: float) -> socket.socket | None:
    """Return the connection of the next call; None if none comes, or no server is left."""
    waiting = select.poll()
    waiting.register(mailbox, select.POLLIN)
    until_s = time.monotonic() + idle_s
    while (left_s := until_s - time.monotonic()) > 0:
        if not waiting.poll(left_s * 1000):
            continue
        with suppress(BlockingIOError):  # another judge took it
            sent, descriptors, _, _ = socket.recv_fds(mailbox, 1, 1)
            if not sent:
                return None
            if descriptors:
                return socket.socket(fileno=descriptors[0])
    return None


def _answer(asker: socket.socket, schemas: object, deadline_s: float) -> None:
    """Carry out the call of one connection and send the result; the process ends if it lasts too long."""
    asker.settimeout(None)
    _end_after(deadline_s)
    try:
        asker.sendall(TAKEN)
        call = receive(asker)
        if call is None:
            return
        _end_with(asker)
        if _is_closed(asker):
            return
        kind, result = _carried_out(call, schemas)
        _end_with(asker, ends=False)
        _end_after(0)
        asker.settimeout(_SEND_TIMEOUT_S)
        asker.sendall(LENGTH.pack(len(result) + 1) + kind)
        asker.sendall(result)
    except OSError:
        return  # the server does not listen any more
    finally:
        _end_after(0)
    if kind == MEMORY:
        sys.exit(1)  # whatever else it holds may be incomplete


def _carried_out(call: bytes, schemas: object) -> tuple[bytes, bytes]:
    """Return the kind of the result, and the result as bytes."""
    from counterfoil.registry.judges.portable import UnpackedSchemas, pack, unpack_call
    from counterfoil.schema.errors import RegistryError

    assert isinstance(schemas, UnpackedSchemas)  # noqa: S101 - the room is imported after the slot is taken
    try:
        work, given = unpack_call(call, schemas)
        return VALUE, pack(work(*given))
    except RegistryError as error:
        return ERROR, pack((error.code, error.message, error.status, dict(error.details)))
    except MemoryError:
        return MEMORY, b""
    except Exception:  # noqa: BLE001 - the server logs it as a defect
        return DEFECT, traceback.format_exc().encode()


def receive(asker: socket.socket) -> bytes | None:
    """Return the bytes that are sent after their length; None if the connection ends before."""
    head = _received(asker, LENGTH.size)
    return None if head is None else _received(asker, LENGTH.unpack(head)[0])


def _received(asker: socket.socket, size: int) -> bytes | None:
    parts = bytearray()
    while len(parts) < size:
        part = asker.recv(min(size - len(parts), _CHUNK_BYTES))
        if not part:
            return None
        parts += part
    return bytes(parts)


def _end_after(deadline_s: float) -> None:
    """Have the system end this process after so much time of the processor, whatever it does then; 0: not any more.

    It also ends after a multiple of it by the clock. Other programs that need the processor take none of the time.
    """
    for number in (signal.SIGPROF, signal.SIGALRM):
        signal.signal(number, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, deadline_s)
    signal.setitimer(signal.ITIMER_REAL, CLOCK_FACTOR * deadline_s)


def _end_with(asker: socket.socket, *, ends: bool = True) -> None:
    """Have the system end this process when the connection is closed, whatever it does then; or no longer."""
    signal.signal(signal.SIGIO, signal.SIG_DFL if sys.platform == "linux" else lambda *_: os._exit(1))
    fcntl.fcntl(asker, fcntl.F_SETOWN, os.getpid())
    flags = fcntl.fcntl(asker, fcntl.F_GETFL)
    fcntl.fcntl(asker, fcntl.F_SETFL, flags | os.O_ASYNC if ends else flags & ~os.O_ASYNC)


def _is_closed(asker: socket.socket) -> bool:
    """Return whether the request was given up before this process watched its connection."""
    with suppress(BlockingIOError):
        return not asker.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    return False


def _resident_bytes() -> int:
    """Return the memory of this process; where the system does not say, the most that it ever had."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * resource.getpagesize()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    main(JudgeTerms.read(sys.argv[1:]))
