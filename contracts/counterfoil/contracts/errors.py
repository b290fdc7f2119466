"""The errors of the checks and the command line, besides the registry's and the SDK's errors.

::

    CounterfoilError
    └── ContractsError
        ├── PlanStale              the state has changed since a plan was made
        ├── NotKnown               the registry does not know a version or an environment
        ├── Conflict               the registry has other content under the same version
        ├── TopicAccessRefused     the broker refuses a request: a right or a login is missing
        ├── UsageMistake           options or operands that contradict each other
        └── PreconditionFailed     something is missing on this machine
            ├── GitMissing         git is not installed
            ├── NoRepository       the folder is in no git repository
            ├── BaselineNotFound   a git ref, file or subject to compare with
            ├── GitFailed          status
            ├── NoExample          a schema or contract without values, or none was found
            ├── InputNotFound      a path that is neither in the tree nor in the baseline
            ├── InvalidOperand     operand, position: the text to compare is not a schema
            └── InvalidProject     path, position: the project file cannot be read
"""

from __future__ import annotations

from counterfoil.schema.errors import CounterfoilError
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.schema.texts import Position


class ContractsError(CounterfoilError):
    """A command that failed. ``exit_code`` is the exit code of the process."""

    exit_code = ExitCode.PRECONDITION


class NotKnown(ContractsError):
    """The registry does not know a version of an application, or an environment."""

    exit_code = ExitCode.CANNOT_SAY


class Conflict(ContractsError):
    """The registry has other content under the same version than the files."""

    exit_code = ExitCode.CONFLICT


class TopicAccessRefused(ContractsError):
    """The broker refuses a request: a right is missing, or a login."""

    exit_code = ExitCode.REFUSED


class UsageMistake(ContractsError):
    """Options or operands that contradict each other, or that require an option that is missing."""

    exit_code = ExitCode.USAGE


class PlanStale(ContractsError):
    """The files or the registry have changed since a plan was made."""

    exit_code = ExitCode.CONFLICT


class PreconditionFailed(ContractsError):
    """Something is missing on this machine, such as a program, a file or a git ref."""


class GitMissing(PreconditionFailed):
    """git is not installed, or not on the PATH."""


class NoRepository(PreconditionFailed):
    """The folder is not in a working tree of git."""


class BaselineNotFound(PreconditionFailed):
    """The baseline does not exist, or not in this clone."""


class GitFailed(PreconditionFailed):
    """A git command failed. ``status`` is its exit status."""

    def __init__(self, message: str, *, status: int) -> None:
        super().__init__(message)
        self.status = status


class NoExample(PreconditionFailed):
    """A schema has no value that keeps the promises of a contract, or none was found."""


class InputNotFound(PreconditionFailed):
    """A path that is neither in the working tree nor in the baseline."""


class InvalidOperand(PreconditionFailed):
    """The text to compare is not a schema. ``operand`` is its name, ``position`` the place of the error."""

    def __init__(self, operand: str, problem: str, *, position: Position | None = None, what: str = "schema") -> None:
        super().__init__(f"{operand}{f':{position}' if position else ''} is no valid {what}: {problem}")
        self.operand = operand
        self.position = position


class InvalidProject(PreconditionFailed):
    """The project file cannot be read. ``path`` is its path, ``position`` the place of the mistake."""

    def __init__(self, path: str, problem: str, *, position: Position | None = None) -> None:
        super().__init__(f"{path}{f':{position}' if position else ''}: {problem}")
        self.path = path
        self.position = position


def absent(path: str, *, what: str = "file or folder") -> str:
    """Return the sentence that there is no such file, with the path as it was given."""
    return f"there is no {what} '{path}'{about_backslashes(path)}"


def about_backslashes(path: str) -> str:
    """Return the advice for a path with backslashes that is not there, to be added to a message; else nothing."""
    return f"; paths are written with /, as in '{path.replace(chr(92), '/')}'" if chr(92) in path else ""
