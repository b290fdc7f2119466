"""Commands of ``counterfoil`` that are forked from a process which has imported the modules.

A start of ``counterfoil serve`` spends two seconds of CPU time, most of them on imports; a fork spends a tenth. Apart
from that the command is as it is when the installed program is started: the same function, with its arguments, in a
process with an id, a session, an environment, a folder and streams of its own, which signals reach and whose status
is that of ``subprocess``. All processes of a test run use one such process, which ends when their folder is removed.

This file is also that process: ``forking.py ADDRESS DESCRIPTOR``, as ``passed_commands`` starts it.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from local_services.passed_commands import PassedCommand, announce, listen, read_line, receive, send, take_over
from local_services.process import RUN_FOLDER

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

FILE: Final = Path(__file__).resolve()
_LOOK_EVERY_S: Final = 1.0


def address_in(run_folder: Path) -> Path:
    """Return the address of the process of a test run."""
    return run_folder / "forking.socket"


def start_forked(command: Sequence[str], *, output: IO[bytes], environment: Mapping[str, str]) -> ForkedProcess:
    """Start a command of ``counterfoil``, whose first word is its program; it does not end with this process."""
    wanted = PassedCommand(command[1:], environment, str(Path.cwd()), ends_with_caller=False)
    address = address_in(Path(os.environ[RUN_FOLDER]))
    with Path(os.devnull).open("rb") as nothing:
        return ForkedProcess(
            *send(wanted, [nothing.fileno(), output.fileno(), output.fileno()], address=address, process=FILE)
        )


class ForkedProcess:
    """A command in a process of its own, with what ``subprocess.Popen`` has for one that is started."""

    def __init__(self, connection: socket.socket, pid: int) -> None:
        self._connection = connection
        self.pid = pid
        self.returncode: int | None = None
        self._reading = threading.Lock()

    def poll(self) -> int | None:
        """Return the exit status, negative for a signal; None while the process runs."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.wait(0)
        return None

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit status; raise ``subprocess.TimeoutExpired`` after so many seconds."""
        with self._reading:
            if self.returncode is None:
                with selectors.DefaultSelector() as selector:
                    selector.register(self._connection, selectors.EVENT_READ)
                    if not selector.select(timeout):
                        raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0)
                status = read_line(self._connection)
                self._connection.close()
                if not status:
                    raise RuntimeError(f"the process that has started process {self.pid} has ended")
                self.returncode = int(status)
        return self.returncode


class _Forks:
    """The commands that run, each with the connection of its caller."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._wakeup, writer = socket.socketpair()
        self._own = [listener, self._wakeup, writer]
        for end in (self._wakeup, writer):
            end.setblocking(False)  # noqa: FBT003 - the method has no name for it
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
        self._selector = selectors.PollSelector()  # of this process alone, unlike that of epoll after a fork
        for each in (listener, self._wakeup):
            self._selector.register(each, selectors.EVENT_READ)
        self._callers: dict[int, tuple[socket.socket, PassedCommand]] = {}

    def next(self, timeout_s: float) -> PassedCommand | None:
        """Start, end and report commands for so long; return the command of this process, if it is a fork."""
        for key, _ in self._selector.select(timeout_s):
            if key.fileobj is self._listener:
                if command := self._fork():
                    return command
            elif key.fileobj is self._wakeup:
                with contextlib.suppress(BlockingIOError):
                    self._wakeup.recv(4096)
            else:
                self._lose(key.data)
        self._reap()
        return None

    def _fork(self) -> PassedCommand | None:
        connection, _ = self._listener.accept()
        received = receive(connection)
        if received is None:
            connection.close()
            return None
        command, streams = received
        pid = os.fork()
        if pid == 0:
            self._leave()
            with connection, contextlib.suppress(OSError):  # the caller has gone
                connection.sendall(f"{os.getpid()}\n".encode())
            take_over(command, streams)
            return command
        for each in streams:
            os.close(each)
        self._callers[pid] = connection, command
        self._selector.register(connection, selectors.EVENT_READ, pid)
        return None

    def _leave(self) -> None:
        """Keep nothing of the process that this one is a fork of."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()
        for each in [*self._own, *(connection for connection, _ in self._callers.values())]:
            each.close()

    def _lose(self, pid: int) -> None:
        """Kill a command and what it has started if it is to end with its caller, who has gone."""
        connection, command = self._callers[pid]
        self._selector.unregister(connection)
        if command.ends_with_caller:
            for kill in (os.kill, os.killpg):  # it has no group at its very beginning
                with contextlib.suppress(ProcessLookupError):
                    kill(pid, signal.SIGKILL)

    def _reap(self) -> None:
        while self._callers:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            connection, _ = self._callers.pop(pid)
            with contextlib.suppress(KeyError):  # its caller has gone
                self._selector.unregister(connection)
            with connection, contextlib.suppress(OSError):
                connection.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())


def import_all() -> None:
    """Import what commands import, but for the converter, and leave it out of every search for garbage."""
    import gc
    import pkgutil
    from importlib import import_module

    import counterfoil.contracts
    import counterfoil.registry

    for room in (counterfoil.contracts, counterfoil.registry):
        for each in pkgutil.walk_packages(room.__path__, f"{room.__name__}."):
            if not each.name.endswith("__main__"):
                import_module(each.name)
    gc.freeze()


def main() -> int:
    """Be the process, or after a fork its command, as the installed program is it."""
    address, descriptor = Path(sys.argv[1]), int(sys.argv[2])
    import_all()
    sys.path.remove(str(FILE.parents[1]))
    if threading.active_count() > 1:
        raise SystemExit(f"modules have started threads, which a fork would lose: {threading.enumerate()}")
    forks = _Forks(listen(address))
    announce(descriptor)
    while address.exists():
        if command := forks.next(_LOOK_EVERY_S):
            from counterfoil.contracts.cli import main as installed_program

            sys.argv = ["counterfoil", *command.arguments]
            return installed_program()
    return 0


if __name__ == "__main__":
    sys.exit(main())
