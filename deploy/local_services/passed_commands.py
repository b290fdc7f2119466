"""Pass a command to a process that stays, which runs it in place of a program that is started for it.

This file is also the program that does so: ``passed_commands.py ADDRESS PROCESS ARGUMENT…``. ``ADDRESS`` is the Unix
socket of the process, and ``PROCESS`` is its Python file, from which the first command starts it. The process receives
the arguments, the environment, the folder and the three streams of the command, and answers with two lines: the id of
the process that runs the command, and its exit status, which is negative for a signal. Signals to the program reach the
command.

Only modules of Python are imported: the program is to take no time beside that of its command.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

STREAMS = (0, 1, 2)
_DEPLOY = Path(__file__).resolve().parents[1]


class PassedCommand(NamedTuple):
    """A command: ``arguments`` without the program's name, and what a process of its own would have.

    ``ends_with_caller`` says that the command is killed when the caller closes the connection.
    """

    arguments: Sequence[str]
    environment: Mapping[str, str]
    folder: str
    ends_with_caller: bool = True


def send(command: PassedCommand, streams: Sequence[int], *, address: Path, process: Path) -> tuple[socket.socket, int]:
    """Have the process run a command; return the connection, whose last line is the command's status, and its id.

    The process is started from the file ``process`` if none listens at ``address``.
    """
    line = f"{json.dumps(command._asdict())}\n".encode()
    while True:
        connection = _connected(address, process)
        sent = socket.send_fds(connection, [line], streams)
        connection.sendall(line[sent:])
        pid = read_line(connection)
        if pid:
            return connection, int(pid)
        connection.close()  # the process ended before it took the command


def receive(connection: socket.socket) -> tuple[PassedCommand, list[int]] | None:
    """Return a command and its streams; nothing if the caller has gone."""
    try:
        text, streams, _, _ = socket.recv_fds(connection, 1 << 20, len(STREAMS))
        while text and not text.endswith(b"\n"):
            text += connection.recv(1 << 20)
    except ConnectionError:
        return None
    return (PassedCommand(**json.loads(text)), streams) if text else None


def read_line(connection: socket.socket) -> str:
    """Return the next line; an empty text when the process has ended."""
    read = b""
    while not read.endswith(b"\n"):
        try:
            part = connection.recv(1)
        except ConnectionError:
            return ""
        if not part:
            return ""
        read += part
    return read.decode().strip()


def pid_file(address: Path) -> Path:
    """Return the file with the id of the process that listens at ``address``."""
    return address.with_suffix(".pid")


def install(program: Path, *, address: Path, process: Path, but: Mapping[str, tuple[Path, Path]] | None = None) -> None:
    """Write the program that passes its commands to the process at ``address``.

    Those whose first argument is in ``but`` are passed to another one: its address and its file.
    """
    run = f'exec "{sys.executable}" -IS "{__file__}"'
    cases = "".join(f'{word}) {run} "{other}" "{file}" "$@" ;;\n' for word, (other, file) in (but or {}).items())
    program.write_text(f'#!/bin/sh\ncase "$1" in\n{cases}*) {run} "{address}" "{process}" "$@" ;;\nesac\n')
    program.chmod(0o755)


def _connected(address: Path, process: Path) -> socket.socket:
    """Return a connection to the process, which is started if there is none; of several callers, by one."""
    while True:
        if connection := _connection(address):
            return connection
        with address.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if connection := _connection(address):
                return connection
            _start(address, process)


def _connection(address: Path) -> socket.socket | None:
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(str(address))
    except (FileNotFoundError, ConnectionRefusedError):
        connection.close()
        return None
    return connection


def _start(address: Path, process: Path) -> None:
    """Start the process, and return when it accepts commands: it then writes to a pipe, which ends with it."""
    address.unlink(missing_ok=True)
    listens, announce = os.pipe()
    os.set_inheritable(announce, True)  # noqa: FBT003 - the function has no name for it
    paths = os.pathsep.join([str(_DEPLOY), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-P", str(process), str(address), str(announce)]
    os.posix_spawn(sys.executable, command, {**os.environ, "PYTHONPATH": paths}, setsid=True)
    os.close(announce)
    try:
        if not os.read(listens, 1):
            raise SystemExit("the process for commands ended at its start")
    finally:
        os.close(listens)


def listen(address: Path) -> socket.socket:
    """Return the socket at ``address``, on which this process receives commands."""
    listener = socket.socket(socket.AF_UNIX)
    pid_file(address).write_text(str(os.getpid()))
    listener.bind(str(address))
    listener.listen(128)
    return listener


def announce(descriptor: int) -> None:
    """Have the caller that started this process know that commands are received."""
    os.write(descriptor, b"1")
    os.close(descriptor)
    leave_streams()


def take_over(command: PassedCommand, streams: Sequence[int]) -> None:
    """Give this process the streams, the environment and the folder of a command."""
    for number, stream in zip(STREAMS, streams, strict=True):
        os.dup2(stream, number)
        os.close(stream)
    # Opened anew, since Python remembers of a stream whether it is a file, a pipe or a terminal.
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
    os.environ.clear()
    os.environ.update(command.environment)
    os.chdir(command.folder)


def leave_streams() -> None:
    """Close the streams of a command, whose reader waits for their end."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in STREAMS:
        os.dup2(nothing, number)
    os.close(nothing)


def main() -> int:
    """Pass a command, and return its exit code; end by the signal that ended it."""
    address, process, *arguments = sys.argv[1:]
    wanted = PassedCommand(arguments, dict(os.environ), os.getcwd())  # noqa: PTH109 - as a program finds it
    connection, pid = send(wanted, STREAMS, address=Path(address), process=Path(process))
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _frame: os.kill(pid, number))
    status = read_line(connection)
    code = int(status) if status else 1
    if code < 0:
        if -code != signal.SIGKILL:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    return code


if __name__ == "__main__":
    sys.exit(main())
