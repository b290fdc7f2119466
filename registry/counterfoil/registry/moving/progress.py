"""Reports of the progress of a move, on standard error."""

from __future__ import annotations

import sys
import time
from typing import IO, Final

_EVERY_S: Final = 2.0


class Progress:
    """Writes to ``stream``; nothing if there is none."""

    def __init__(self, stream: IO[str] | None = None) -> None:
        self._stream = stream
        self._counts: dict[str, int] = {}
        self._written_at = time.monotonic()

    def say(self, sentence: str) -> None:
        """Write a line."""
        if self._stream is not None:
            self._stream.write(f"{sentence}\n")
            self._stream.flush()

    def step(self, done: str) -> None:
        """Count one more fact with the result ``done``; write the counts now and then."""
        self._counts[done] = self._counts.get(done, 0) + 1
        if time.monotonic() - self._written_at >= _EVERY_S:
            self._written_at = time.monotonic()
            self.say(", ".join(f"{count} {word}" for word, count in self._counts.items()) + " …")


def to_stderr(*, quiet: bool) -> Progress:
    """Return progress reports on standard error, or none if ``quiet``."""
    return Progress(None if quiet else sys.stderr)
