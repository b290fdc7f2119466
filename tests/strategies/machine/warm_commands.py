"""Commands of ``counterfoil`` run by processes that stay, which have the modules, and Java for those with Spark.

A command spends a second of CPU time on importing its modules, and one with Spark ten more on starting Java, Spark and
its first query. The program that ``install`` writes is used in place of ``counterfoil``: it passes its arguments,
environment, folder and streams to a process, which runs the same function as the installed program and returns the exit
code. Everything else is real: a signal to the program reaches the command, and SIGKILL of the program ends it.

- ``counterfoil bridge`` is run in the process itself (this file) with its Java, which also ends with a SIGKILL.
  The process runs one command at a time; a second one waits. Two at once need two processes: the installed program.
  What Spark's process reads once, at its start, is that of the first command: Java, its options, Spark's log.
- Every other command has a process of its own, forked from one that has imported the modules
  (``deploy/local_services/forking.py``).
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from local_services import RUN_FOLDER, forking, passed_commands

if TYPE_CHECKING:
    import socket
    from collections.abc import Sequence

SOCKET = "warm.socket"
START_OF_SPARK = "start of Spark"
"""The name of the thread in which a command starts Spark; a refused command ends without waiting for it."""


def install(folder: Path) -> Path:
    """Write the program to ``folder`` and return its path; commands are forked from the process of the run."""
    program = folder / "counterfoil"
    passed_commands.install(
        program,
        address=forking.address_in(Path(os.environ[RUN_FOLDER])),
        process=forking.FILE,
        but={"bridge": (folder / SOCKET, Path(__file__))},
    )
    return program


def process_of(program: Path) -> int:
    """Return the id of the process of a program, which is also the session of all processes that it starts."""
    return int(passed_commands.pid_file(program.with_name(SOCKET)).read_text())


def serve(address: Path, descriptor: int) -> None:
    """Run commands, one at a time, until the folder of ``address`` is removed."""
    with passed_commands.listen(address) as listener:
        passed_commands.announce(descriptor)
        listener.settimeout(1)
        while address.exists():
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                continue
            with connection:
                _serve_one(connection)


def _serve_one(connection: socket.socket) -> None:
    received = passed_commands.receive(connection)
    if received is None:
        return
    command, streams = received
    is_done = threading.Event()
    threading.Thread(target=_end_with, args=(connection, is_done), daemon=True).start()
    connection.sendall(f"{os.getpid()}\n".encode())
    passed_commands.take_over(command, streams)
    code = _run(command.arguments)
    passed_commands.leave_streams()
    is_done.set()
    connection.sendall(f"{code}\n".encode())
    _stop_spark()


def _end_with(connection: socket.socket, is_done: threading.Event) -> None:
    """End this process and its Java when the program has ended before its command."""
    with suppress(OSError):
        connection.recv(1)
    if not is_done.is_set():
        os.killpg(0, signal.SIGKILL)


def _run(arguments: Sequence[str]) -> int:
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
    for thread in threading.enumerate():
        if thread.name == START_OF_SPARK:
            thread.join()
    if "pyspark" in sys.modules:
        from pyspark import SparkContext
        from pyspark.sql import SparkSession

        if SparkContext._active_spark_context is not None:
            SparkSession.builder.getOrCreate().stop()


if __name__ == "__main__":
    serve(Path(sys.argv[1]), int(sys.argv[2]))
