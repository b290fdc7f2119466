"""A report of a command as a value: its findings, and the subjects that it checked.

``lint``, ``check``, ``test`` and other commands each make one of their own results.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from counterfoil.schema.exit_codes import ExitCode
from counterfoil.schema.texts import Position

PROGRAM: Final = "counterfoil"
PROJECT: Final = "https://github.com/counterfoil/counterfoil"


class Severity(StrEnum):
    """The severity of a finding. Only ``ERROR`` and ``WARNING`` can fail a check; a ``NOTICE`` is for information."""

    ERROR = "error"
    WARNING = "warning"
    NOTICE = "notice"


@dataclass(frozen=True, slots=True)
class ReportedApproval:
    """A finding that is accepted until the end of a day: ``until`` is the last one, in UTC, as ``YYYY-MM-DD``.

    ``migration`` is the path of the file of a converter, empty if there is none.
    """

    reason: str
    owner: str
    until: str
    migration: str = ""

    def __str__(self) -> str:
        converter = f", with the converter {self.migration}" if self.migration else ""
        return f"approved by {self.owner} until {self.until}{converter}: {self.reason}"


@dataclass(frozen=True, slots=True)
class ReportEntry:
    """One finding: ``text`` is its sentence, ``details`` are further sentences, ``advice`` says how to fix it.

    ``path`` is relative to the top of the repository, with ``/``, and empty if no file has the finding. ``subject`` is
    the schema or the contract that has the finding. ``is_failing`` is whether the command fails because of it; one that
    is accepted has an ``approval`` instead. ``former_fingerprints`` are those of earlier releases.
    """

    rule: str
    severity: Severity
    text: str
    fingerprint: str
    subject: str = ""
    path: str = ""
    position: Position | None = None
    details: tuple[str, ...] = ()
    advice: str = ""
    is_failing: bool = False
    approval: ReportedApproval | None = None
    former_fingerprints: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        """The path, with line and column if they are known."""
        return f"{self.path}:{self.position}" if self.position else self.path


@dataclass(frozen=True, slots=True)
class ReportedRule:
    """A rule of a finding: why it exists, in one or two sentences, and the address of its page."""

    why: str
    page: str = ""


@dataclass(frozen=True, slots=True)
class CheckedSubject:
    """Something that was checked: its ``subject``, its file, and the result in words.

    ``is_skipped`` is whether it could not be judged.
    """

    subject: str
    path: str
    result: str
    is_skipped: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """The results of a run of a ``command`` such as ``check``.

    ``against`` names the baseline, if there is one; ``summary`` is the last line that people read,
    ``note`` a remark, usually empty; ``rules`` has the rules of the entries by their ids; ``version`` is the
    program's.
    """

    command: str
    version: str
    summary: str
    exit_code: ExitCode = ExitCode.OK
    against: str = ""
    entries: tuple[ReportEntry, ...] = ()
    checked: tuple[CheckedSubject, ...] = ()
    rules: Mapping[str, ReportedRule] = field(default_factory=dict)
    note: str = ""

    @property
    def title(self) -> str:
        """The command, and whether it found a problem."""
        return f"{PROGRAM} {self.command}: {verdict_of(self.exit_code)}"

    @property
    def open(self) -> tuple[ReportEntry, ...]:
        """The entries that are not approved."""
        return tuple(entry for entry in self.entries if entry.approval is None)

    @property
    def approved(self) -> tuple[tuple[ReportEntry, ReportedApproval], ...]:
        """The entries that are approved, each with its approval."""
        return tuple((entry, entry.approval) for entry in self.entries if entry.approval is not None)


_WORD_BY_CODE: Final = {ExitCode.OK: "passed", ExitCode.BROKEN: "broken", ExitCode.CANNOT_SAY: "cannot say"}


def verdict_of(code: ExitCode) -> str:
    """Return the words for an exit code: ``passed``, ``broken``, ``cannot say``, or the name of the code."""
    return _WORD_BY_CODE.get(code, code.name.lower())
