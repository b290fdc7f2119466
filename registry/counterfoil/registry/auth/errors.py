"""What can be wrong with files that administrators write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.schema.errors import CounterfoilError
from counterfoil.schema.exit_codes import ExitCode

if TYPE_CHECKING:
    from counterfoil.schema.position import Position


class InvalidAccessFile(CounterfoilError):
    """An access file, or a file that it names, cannot be used: ``problem`` is what is wrong, ``position`` the place."""

    exit_code = ExitCode.PRECONDITION

    def __init__(self, path: str, problem: str, *, position: Position | None = None) -> None:
        super().__init__(f"{path}:{position}: {problem}" if position is not None else f"{path}: {problem}")
        self.path = path
        self.problem = problem
        self.position = position
