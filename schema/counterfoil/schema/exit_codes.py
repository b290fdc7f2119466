"""The exit codes of the ``counterfoil`` command: one table for all sub-commands.

"Broken", "the registry could not be reached" and "nothing was checked" have different codes, so that a pipeline can
distinguish them.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Self


class ExitCode(IntEnum):
    """How a command ended. The value is the process's exit code; ``meaning`` is its sentence for the documentation."""

    meaning: str

    def __new__(cls, value: int, meaning: str) -> Self:
        """Return the member with its code and its meaning."""
        member = int.__new__(cls, value)
        member._value_ = value
        member.meaning = meaning
        return member

    OK = 0, "Success: the command ran and found no problem."
    BROKEN = 1, "Broken: the command ran, and at least one finding has the severity of `--fail-on` or a higher one."
    USAGE = 2, "Usage: an unknown command or option, or options that contradict each other."
    PENDING = 3, "Pending: there are changes to apply, which an option calls a failure, or the command cannot make."
    CANNOT_SAY = (
        4,
        "Cannot say: nothing was checked, or only a part of what had to be, so the answer is neither yes nor no.",
    )
    UNREACHABLE = 11, "Unreachable: the registry or broker could not be reached, or did not answer in time."
    REFUSED = 12, "Refused: the server refused the request, or failed (401, 403, 5xx)."
    CONFLICT = 13, "Conflict: the state has changed in the meantime, or the version exists with other content."
    PRECONDITION = 14, "Precondition: a file, a git ref or an installed extra is missing on this machine."
    BUG = 20, "Bug in counterfoil: an unexpected error; the message names the file that holds its traceback."
    INTERRUPTED = 130, "Interrupted: stopped from the keyboard."
    PIPE_CLOSED = 141, "Pipe closed: the program that read the output ended before the output did."
