"""What a check says: findings with their place, evidence and advice, and the report that gathers them.

Every value is frozen and free of I/O, so that a server can use the same words as the command line.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterfoil.schema.compatibility.levels import CompatibilityLevel
    from counterfoil.schema.compatibility.policies import CompatibilityPolicy
    from counterfoil.schema.position import Position

FINGERPRINT_LENGTH = 12


class Severity(StrEnum):
    """How much a finding weighs. Only ``ERROR`` and ``WARNING`` can fail a check; a ``NOTICE`` is for reading."""

    ERROR = "error"
    WARNING = "warning"
    NOTICE = "notice"


class FailOn(StrEnum):
    """The least severity that breaks the contract."""

    ERROR = "error"
    WARNING = "warning"
    NEVER = "never"


class Status(StrEnum):
    """What became of one schema file."""

    COMPARED = "compared"
    UNCHANGED = "unchanged"
    NEW = "new"
    REMOVED = "removed"
    INVALID = "invalid"
    SKIPPED = "skipped"


_NOT_JUDGED = frozenset({Status.SKIPPED, Status.NEW})


@dataclass(frozen=True, slots=True)
class Evidence:
    """A record that proves a finding.

    ``datum_json`` is the record as JSON; ``writer`` and ``reader`` say which schemas write and read it,
    such as ``main@8c1f2e0`` and ``schemas/order.avsc``; ``step`` is where reading fails; ``confirmed_by`` names the
    decoder that was seen to fail.
    """

    datum_json: str
    writer: str
    reader: str
    step: str
    confirmed_by: str


@dataclass(frozen=True, slots=True)
class Dependant:
    """A schema that refers to the one of a finding and breaks for the same reason.

    ``position`` and ``element`` are the place in it that leads to what it refers to; ``against`` the earlier versions
    of it that are concerned.
    """

    subject: str
    path: str
    position: Position | None = None
    element: str = ""
    against: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to say about one schema file.

    ``rule`` is a word that never changes its meaning; ``subject`` the subject, or the record's full name where no
    subject is known; ``path`` the file, with ``/``, from the root of the tree that was checked; ``position`` the place
    in it; ``element`` the part of the schema, such as ``items[].sku``, empty for the whole; ``against`` the earlier
    versions it concerns; ``direction`` who fails to read whom, where it is about compatibility. Then ``evidence`` is
    the record that proves it, or ``no_witness`` says how many records were tried in vain. ``also_breaks`` are the
    schemas that refer to this one and break for this reason alone.
    """

    rule: str
    severity: Severity
    subject: str
    path: str
    text: str
    fingerprint: str
    position: Position | None = None
    element: str = ""
    direction: str | None = None
    against: tuple[str, ...] = ()
    evidence: Evidence | None = None
    no_witness: str = ""
    advice: str = ""
    also_breaks: tuple[Dependant, ...] = ()


@dataclass(frozen=True, slots=True)
class FileOutcome:
    """What was done with one schema file.

    ``subject`` is the path where neither subject nor name is known; ``level`` and ``policy`` are those it was judged
    by, ``compared_with`` the earlier versions. ``confirmed`` counts the generated records that were written with one
    schema and read with the other where the verdict is "compatible". ``is_mapped`` says whether the baseline knows
    which schema the file holds.
    """

    path: str
    subject: str
    status: Status
    level: CompatibilityLevel
    policy: CompatibilityPolicy
    compared_with: tuple[str, ...] = ()
    confirmed: int = 0
    is_mapped: bool = True


@dataclass(frozen=True, slots=True)
class CheckReport:
    """Everything a check found, and about which files.

    ``against`` says what the files were compared with, ``note`` what there is to know about that; it is usually empty.
    ``names_subjects`` says whether that knows files by their subjects, as a registry does; ``needs_all`` whether the
    answer is "cannot say" where a file could not be judged.
    """

    against: str
    files: tuple[FileOutcome, ...] = ()
    findings: tuple[Finding, ...] = ()
    note: str = ""
    names_subjects: bool = False
    needs_all: bool = False

    @property
    def checked(self) -> int:
        """How many files an answer was found for, new ones among them."""
        return sum(outcome.status is not Status.SKIPPED for outcome in self.files)

    @property
    def judged(self) -> int:
        """How many files were judged against what was there before."""
        return sum(outcome.status not in _NOT_JUDGED for outcome in self.files)

    @property
    def new(self) -> int:
        """How many files have no earlier version."""
        return sum(outcome.status is Status.NEW for outcome in self.files)

    @property
    def unmapped(self) -> int:
        """How many files nothing names the subject of."""
        return sum(not outcome.is_mapped for outcome in self.files)

    def count(self, severity: Severity) -> int:
        """How many findings have this severity."""
        return sum(finding.severity is severity for finding in self.findings)

    def is_broken(self, fail_on: FailOn) -> bool:
        """Whether a finding is at least as severe as ``fail_on`` asks."""
        return any(finding.severity in _FAILING[fail_on] for finding in self.findings)


_FAILING = {
    FailOn.ERROR: frozenset({Severity.ERROR}),
    FailOn.WARNING: frozenset({Severity.ERROR, Severity.WARNING}),
    FailOn.NEVER: frozenset[Severity](),
}


Identity: TypeAlias = "str | Sequence[Identity] | None"
"""Facts that make a finding what it is: texts, and lists of such."""


def fingerprint(rule: str, subject: str, *facts: Identity) -> str:
    """Twelve hex digits that stay the same while the finding is the same.

    They come from SHA-256 over a JSON array of rule, subject and ``facts`` (direction, the steps to the place by their
    names, what is there and what was there), so that different facts are never the same text. Positions are not among
    them: moving a field or a file changes nothing.
    """
    told = json.dumps([rule, subject, *facts])
    return hashlib.sha256(told.encode()).hexdigest()[:FINGERPRINT_LENGTH]
