"""The errors of the converter, besides those of the registry and the SDK.

::

    CounterfoilError
    └── BridgeError
        ├── InvalidBridgeFile      path, line, column, problem
        ├── MissingPart            Java, PySpark's jars: what to install
        │   └── UnsupportedSpark   version
        ├── SubjectMissing         subject
        ├── BrokerUnreachable      bootstrap_servers
        ├── BrokerRefused          a right that is missing
        ├── PlanIncomplete         problems
        ├── PreflightFailed        findings
        ├── CheckpointConflict     a checkpoint of another bridge or plan
        ├── CheckpointBusy         another driver runs on the checkpoint
        ├── CheckpointUnreadable   a file of the checkpoint is invalid
        ├── NotWritable            path: a disk that is full, a folder without the right to write
        ├── JavaEnded              the Java process of Spark was killed, or ended by itself
        └── RunFailed              the query ended by itself
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from counterfoil.schema.errors import CounterfoilError
from counterfoil.schema.exit_codes import ExitCode

if TYPE_CHECKING:
    from pathlib import Path


def why_unreadable(failure: OSError | ValueError) -> str:
    """Return why a file cannot be read or written, without its path, which the sentence around it names.

    >>> why_unreadable(FileNotFoundError(2, "No such file or directory", "ride.avsc"))
    'No such file or directory'
    """
    if isinstance(failure, OSError):
        return failure.strerror or type(failure).__name__
    return "it is not UTF-8 text" if isinstance(failure, UnicodeDecodeError) else str(failure)


class BridgeError(CounterfoilError):
    """A bridge that could not be planned, run or verified. ``exit_code`` is the exit code of the process."""

    exit_code = ExitCode.PRECONDITION


class InvalidBridgeFile(BridgeError):
    """A bridge file that cannot be read. ``line`` and ``column`` count from 1; they are None when there is no file."""

    def __init__(self, problem: str, *, path: str, line: int | None = None, column: int | None = None) -> None:
        where = f"{path}:{line}:{column}" if line is not None else path
        super().__init__(f"{where}: {problem}")
        self.problem = problem
        self.path = path
        self.line = line
        self.column = column


class MissingPart(BridgeError):
    """Something is not installed on this machine; the message says how to install it."""


class UnsupportedSpark(MissingPart):
    """The installed PySpark, of ``version``, is not one on which bridges run; the message says why, and which are."""

    def __init__(self, version: str, *, why: str) -> None:
        super().__init__(
            f"Bridges do not run on PySpark {version}: {why}. "
            'pip install "counterfoil[converter]" installs a version on which they do'
        )
        self.version = version


class SubjectMissing(BridgeError):
    """The registry has no such subject, so that the schemas of the records are unknown."""

    exit_code = ExitCode.CANNOT_SAY

    def __init__(self, message: str, *, subject: str) -> None:
        super().__init__(message)
        self.subject = subject


class BrokerUnreachable(BridgeError):
    """No broker at ``bootstrap_servers`` responded in time."""

    exit_code = ExitCode.UNREACHABLE

    def __init__(self, bootstrap_servers: str, *, reason: str) -> None:
        super().__init__(f"No Kafka broker answered at {bootstrap_servers}: {reason}")
        self.bootstrap_servers = bootstrap_servers


class BrokerRefused(BridgeError):
    """The broker refused a request because a right is missing; the message names the request and the right."""

    exit_code = ExitCode.REFUSED


class PlanIncomplete(BridgeError):
    """The plan is not complete; ``problems`` are sentences, one for each missing part."""

    exit_code = ExitCode.BROKEN

    def __init__(self, bridge: str, problems: Sequence[str]) -> None:
        super().__init__(f"The plan of bridge {bridge} is not complete: {'; '.join(problems)}")
        self.problems = tuple(problems)


class PreflightFailed(BridgeError):
    """The topics or their settings do not permit a correct run; the message has one sentence for each finding."""

    exit_code = ExitCode.BROKEN

    def __init__(self, findings: Sequence[str]) -> None:
        super().__init__("; ".join(findings))
        self.findings = tuple(findings)


class CheckpointConflict(BridgeError):
    """The checkpoint belongs to another bridge, or to another plan of this one."""

    exit_code = ExitCode.CONFLICT


class CheckpointBusy(BridgeError):
    """Another driver is running on the checkpoint."""

    exit_code = ExitCode.CONFLICT


class CheckpointUnreadable(BridgeError):
    """A file of the checkpoint does not have the form in which Spark writes it."""


class NotWritable(BridgeError):
    """A file at ``path`` cannot be written: its disk is full, or this user may not write there."""

    def __init__(self, path: Path | str, failure: OSError | str) -> None:
        reason = failure if isinstance(failure, str) else why_unreadable(failure)
        super().__init__(f"{path} cannot be written: {reason}")
        self.path = path


@contextmanager
def writing_to(path: Path) -> Iterator[None]:
    """Raise ``NotWritable``, which names ``path``, instead of an error of the operating system in the block."""
    try:
        yield
    except OSError as failure:
        raise NotWritable(path, failure) from None


class JavaEnded(BridgeError):
    """The Java process of Spark has ended while it was needed; the message says by which signal or exit code."""


class RunFailed(BridgeError):
    """The query ended by itself; the message is the innermost cause, and names the log that has the rest."""

    exit_code = ExitCode.BROKEN
