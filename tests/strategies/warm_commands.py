"""Commands of ``counterfoil`` run by processes that stay, which have the modules, and Java for those with Spark.

A command spends a second of CPU time on importing its modules, and one with Spark ten more on starting Java, Spark and
its first query. The program that ``install`` writes is used in place of ``counterfoil``: it passes its arguments,
environment, folder and streams to a process, which runs the same function as the installed program and returns the exit
code. Everything else is real: a signal to the program reaches the command, and SIGKILL of the program ends it.

- ``counterfoil bridge`` is run in the process itself, with its Java, which also ends with a SIGKILL. The process runs
  one command at a time; a second one waits. Two at once need two processes: the installed program. What Spark's process
  reads once, at its start, is that of the first command: Java, its options, Spark's log.
- Every other command has a process of its own, forked from one that has imported the modules.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from threading import Event

STREAMS = (0, 1, 2)
SOCKET = "warm.socket"
FORKING = "forking.socket"
START_OF_SPARK = "start of Spark"
"""The name of the thread in which a command starts Spark; a refused command ends without waiting for it."""


def install(folder: Path) -> Path:
    """Write the program to ``folder`` and return its path."""
    program = folder / "counterfoil"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -IS {Path(__file__)} "{folder}" "$@"\n')
    program.chmod(0o755)
    return program


def process_of(program: Path) -> int:
    """Return the id of the process of a program, which is also the session of all processes that it starts."""
    return int(_pid_file(program.with_name(SOCKET)).read_text())


def _pid_file(address: Path) -> Path:
    return address.with_suffix(".pid")


def main() -> int:
    """Be the program, or with ``--stay`` the process."""
    if sys.argv[1] == "--stay":
        serve(Path(sys.argv[2]), int(sys.argv[3]))
        return 0
    return request(Path(sys.argv[1]) / (SOCKET if sys.argv[2:3] == ["bridge"] else FORKING), sys.argv[2:])


def request(address: Path, arguments: list[str]) -> int:
    """Have the process run a command, and return its exit code."""
    wanted = json.dumps({"arguments": arguments, "environment": dict(os.environ), "folder": os.getcwd()})  # noqa: PTH109 - imports take time
    while True:
        connection = _connected(address)
        socket.send_fds(connection, [f"{wanted}\n".encode()], STREAMS)
        pid = _line(connection)
        if pid:  # else the process ended before it took the request
            break
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _frame: os.kill(int(pid), number))
    code = _line(connection)
    return int(code) if code else 1


def _line(connection: socket.socket) -> str:
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


def _connected(address: Path) -> socket.socket:
    """Return a connection to the process, which is started if there is none."""
    while True:
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(str(address))
        except (FileNotFoundError, ConnectionRefusedError):
            connection.close()
            _start(address)
        else:
            return connection


def _start(address: Path) -> None:
    """Start the process, and return when it accepts commands: it then writes to a pipe, which ends with it."""
    address.unlink(missing_ok=True)
    listens, announce = os.pipe()
    os.set_inheritable(announce, True)  # noqa: FBT003 - the function has no name for it
    command = [sys.executable, __file__, "--stay", str(address), str(announce)]
    os.posix_spawn(sys.executable, command, os.environ, setsid=True)
    os.close(announce)
    if not os.read(listens, 1):
        sys.exit("the process for commands ended at its start")
    os.close(listens)


def serve(address: Path, announce: int) -> None:
    """Run commands, one at a time, until the folder of ``address`` is removed; write to ``announce`` before."""
    with socket.socket(socket.AF_UNIX) as listener:
        _pid_file(address).write_text(str(os.getpid()))
        listener.bind(str(address))
        listener.listen()
        forks = address.name == FORKING
        if forks:
            _import_all()
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        os.write(announce, b"1")
        os.close(announce)
        _leave_streams()
        listener.settimeout(1)
        while address.exists():
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                continue
            with connection:
                if not forks:
                    _serve_one(connection)
                elif os.fork() == 0:
                    listener.close()
                    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                    os.setsid()
                    _serve_one(connection)
                    os._exit(0)


def _import_all() -> None:
    """Import what commands import, but for the converter, and leave it out of every search for garbage."""
    import gc
    import pkgutil
    from importlib import import_module

    import counterfoil.contracts

    import_module("counterfoil.registry.app")
    for each in pkgutil.walk_packages(counterfoil.contracts.__path__, "counterfoil.contracts."):
        if not each.name.endswith("__main__"):
            import_module(each.name)
    gc.freeze()


def _serve_one(connection: socket.socket) -> None:
    import threading

    text, streams, _, _ = socket.recv_fds(connection, 1 << 20, len(STREAMS))
    while text and not text.endswith(b"\n"):
        text += connection.recv(1 << 20)
    if not text:
        return
    wanted = json.loads(text)
    for number, stream in zip(STREAMS, streams, strict=True):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdout, sys.stderr = (open(number, "w", encoding="utf-8", closefd=False) for number in STREAMS[1:])  # noqa: SIM115 - a file or a pipe, which Python remembers of a stream
    is_done = threading.Event()
    threading.Thread(target=_end_with, args=(connection, is_done), daemon=True).start()
    connection.sendall(f"{os.getpid()}\n".encode())
    os.environ.clear()
    os.environ.update(wanted["environment"])
    os.chdir(wanted["folder"])
    code = _run(wanted["arguments"])
    _leave_streams()
    is_done.set()
    connection.sendall(f"{code}\n".encode())
    _stop_spark()


def _leave_streams() -> None:
    """Close the streams of a program, whose reader waits for their end."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in STREAMS:
        os.dup2(nothing, number)
    os.close(nothing)


def _end_with(connection: socket.socket, is_done: Event) -> None:
    """End this process and its Java when the program has ended before its command."""
    with suppress(OSError):
        connection.recv(1)
    if not is_done.is_set():
        os.killpg(0, signal.SIGKILL)


def _run(arguments: list[str]) -> int:
    """Return the exit code of a command."""
    from counterfoil.contracts.cli.root import root_command
    from counterfoil.contracts.cli.run import run

    try:
        code = run(root_command(), arguments)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        sys.stdout.flush()
        sys.stderr.flush()
    return code


def _stop_spark() -> None:
    """Stop a session that the command has left, also one that was still starting, so that the next has its own."""
    import threading

    for thread in threading.enumerate():
        if thread.name == START_OF_SPARK:
            thread.join()
    if "pyspark" in sys.modules:
        from pyspark import SparkContext
        from pyspark.sql import SparkSession

        if SparkContext._active_spark_context is not None:
            SparkSession.builder.getOrCreate().stop()


if __name__ == "__main__":
    sys.exit(main())
