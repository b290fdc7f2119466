"""What the checks and the command line raise besides the registry's and the SDK's errors.

::

    CounterfoilError
    └── ContractsError
        ├── UsageMistake           options or operands that contradict each other
        └── PreconditionFailed     something that must be on this machine is not
            ├── NoRepository       the folder is in no git repository
            ├── BaselineNotFound   a git ref, file or subject to compare with
            ├── GitFailed          status
            ├── InputNotFound      a path that is neither in the tree nor in the baseline
            └── InvalidOperand     operand, position: what should be compared is no schema
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.schema.errors import CounterfoilError
from counterfoil.schema.exit_codes import ExitCode

if TYPE_CHECKING:
    from counterfoil.schema.position import Position


class ContractsError(CounterfoilError):
    """A command that could not do its work. ``exit_code`` is what the process ends with."""

    exit_code = ExitCode.PRECONDITION


class UsageMistake(ContractsError):
    """Options or operands that contradict each other, or that need one that is not there."""

    exit_code = ExitCode.USAGE


class PreconditionFailed(ContractsError):
    """Something that must be on this machine, such as a program, a file or a git ref, is not."""


class NoRepository(PreconditionFailed):
    """The folder is not in a working tree of git."""


class BaselineNotFound(PreconditionFailed):
    """What the schemas should be compared with does not exist, or not in this clone."""


class GitFailed(PreconditionFailed):
    """Git itself could not do what it was asked. ``status`` is its exit status."""

    def __init__(self, message: str, *, status: int) -> None:
        super().__init__(message)
        self.status = status


class InputNotFound(PreconditionFailed):
    """A path that stands neither in the working tree nor in the baseline."""


class InvalidOperand(PreconditionFailed):
    """What should be compared is no schema. ``operand`` is what it was called, ``position`` the fault's place."""

    def __init__(self, operand: str, problem: str, *, position: Position | None = None) -> None:
        super().__init__(f"{operand}{f':{position}' if position else ''} is no valid schema: {problem}")
        self.operand = operand
        self.position = position
