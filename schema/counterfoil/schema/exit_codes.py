"""What the exit code of the ``counterfoil`` command says: one table for all sub-commands.

"Broken", "could not ask" and "nothing was checked" are different answers, so that a pipeline can tell them apart.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Self


class ExitCode(IntEnum):
    """How a command ended. The value is the process's exit code; ``meaning`` is its sentence for the documentation."""

    meaning: str

    def __new__(cls, value: int, meaning: str) -> Self:
        """The member with its code and its meaning."""
        member = int.__new__(cls, value)
        member._value_ = value
        member.meaning = meaning
        return member

    OK = 0, "Fine: the command ran and there is nothing to complain about."
    BROKEN = 1, "Broken: the command ran, and at least one finding is as severe as `--fail-on` asks."
    USAGE = 2, "Usage: an unknown command or option, or options that contradict each other."
    PENDING = 3, "Pending: there are changes to apply, and the command was asked to fail on changes."
    CANNOT_SAY = (
        4,
        "Cannot say: nothing was checked, or not everything that had to be, so the answer is neither yes nor no.",
    )
    UNREACHABLE = 11, "Unreachable: the registry or broker could not be reached, or did not answer in time."
    REFUSED = 12, "Refused: the server answered, and would not do it (401, 403, 5xx)."
    CONFLICT = 13, "Conflict: the state has moved since, or the version exists with other content."
    PRECONDITION = 14, "Precondition: a file, a git ref or an installed extra is missing on this machine."
    BUG = 20, "Our bug: an unexpected error; its traceback is in the file that the one line names."
    INTERRUPTED = 130, "Interrupted: stopped from the keyboard."
    PIPE_CLOSED = 141, "Nobody listening: whoever read the output went away before its end."
