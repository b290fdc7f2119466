"""The errors that end a move, each with the exit code of the command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.schema.counting import counted
from counterfoil.schema.errors import CounterfoilError
from counterfoil.schema.exit_codes import ExitCode

if TYPE_CHECKING:
    from collections.abc import Sequence

_SHOWN = 20


class MovingError(CounterfoilError):
    """A move that is not possible."""

    exit_code = ExitCode.PRECONDITION


class DamagedFile(MovingError):
    """A file that was altered or damaged: ``line`` (from 1) is the first line that shows it."""

    def __init__(self, path: str, line: int, problem: str) -> None:
        super().__init__(f"{path}, line {line}: {problem}; nothing was written")
        self.path = path
        self.line = line
        self.problem = problem


class UnreadableContent(MovingError):
    """Content of the source that cannot be moved; ``problems`` has one sentence for each."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__(
            f"{counted(len(problems), 'thing')} cannot be read: {_listed(problems)}; nothing was written: "
            "leave them out with --skip-unreadable"
        )
        self.problems = tuple(problems)


class Clashes(MovingError):
    """Content of the target that differs from the source's; ``problems`` has one sentence for each."""

    exit_code = ExitCode.CONFLICT

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__(
            f"{counted(len(problems), 'clash', 'clashes')} with the target: {_listed(problems)}; nothing was written"
        )
        self.problems = tuple(problems)


class NotTheSame(MovingError):
    """Content that was read back from the target and differs from the source's; ``problems`` has one sentence each."""

    exit_code = ExitCode.BROKEN

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__(
            f"{counted(len(problems), 'thing was', 'things were')} copied and read back with other content: "
            f"{_listed(problems)}"
        )
        self.problems = tuple(problems)


class SourceChanged(MovingError):
    """A source that was written to during each attempt to read it."""

    exit_code = ExitCode.CONFLICT


class PeerUnreachable(MovingError):
    """A registry that cannot be reached, or does not respond in time."""

    exit_code = ExitCode.UNREACHABLE


class PeerRefused(MovingError):
    """A registry that refused a request."""

    exit_code = ExitCode.REFUSED


def _listed(problems: Sequence[str]) -> str:
    more = f"; and {len(problems) - _SHOWN} more" if len(problems) > _SHOWN else ""
    return "; ".join(problems[:_SHOWN]) + more
