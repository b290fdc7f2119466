"""What is written to standard error while a command works: its progress, and defects that do not end it."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import threading
import time
from collections.abc import Iterator
from types import TracebackType
from typing import IO, Final, Self

from counterfoil.contracts.cli.run import PROGRAM, keep_traceback

# Progress of a command that takes longer than two seconds, at a terminal: a line that is redrawn.
#
# The line is on standard error, and only if that is a terminal which can redraw one. It is gone before a report is
# printed.

_AFTER_S: Final = 2.0
_EVERY_S: Final = 1.0
_CLEAR: Final = "\r\x1b[K"


class Waiting:
    """Says what is being done while the block runs, and for how many seconds already.

    ``stream`` is standard error by default; ``after_s`` and ``every_s`` are the time before the first line and between
    two of them.
    """

    def __init__(
        self, what: str, *, stream: IO[str] | None = None, after_s: float = _AFTER_S, every_s: float = _EVERY_S
    ) -> None:
        self._what = what
        self._stream = stream or sys.stderr
        self._times = (after_s, every_s)
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        if self._stream.isatty() and os.environ.get("TERM") != "dumb":
            self._thread = threading.Thread(target=self._draw, name="progress", daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def _draw(self) -> None:
        begun = time.monotonic()
        after_s, every_s = self._times
        if self._ended.wait(after_s):
            return
        while True:
            self._write(f"{_CLEAR}{self._what}, {time.monotonic() - begun:.0f} s so far")
            if self._ended.wait(every_s):
                break
        self._write(_CLEAR)

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):  # the terminal is gone, and the command goes on
            self._ended.set()


# Reports of defects that do not end a command: one line on standard error each, and the traceback in a file.


class _DefectHandler(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        """Write the message to stderr, and the exception that came with it to a file."""
        error = record.exc_info[1] if record.exc_info else None
        kept = f" ({keep_traceback(error)})" if isinstance(error, Exception) else ""
        with contextlib.suppress(OSError):
            sys.stderr.write(f"{PROGRAM}: {record.getMessage()}{kept}\n")
            sys.stderr.flush()


@contextlib.contextmanager
def defects_on_stderr() -> Iterator[None]:
    """Report defects of the kernel on stderr while the block runs."""
    logger, handler = logging.getLogger("counterfoil.schema"), _DefectHandler(logging.ERROR)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
