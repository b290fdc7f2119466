"""What a plan consists of: the wanted state of each subject, and the changes that lead to it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterfoil.contracts.model import CheckReport
    from counterfoil.contracts.project.associations import TopicAssociation
    from counterfoil.contracts.registration import Entry
    from counterfoil.schema.compatibility.levels import CompatibilityLevel
    from counterfoil.schema.compatibility.policies import CompatibilityPolicy
    from counterfoil.schema.rest.modes import Mode


class ChangeKind(StrEnum):
    """What a change changes."""

    SCHEMA = "schema"
    LATEST = "latest"
    LEVEL = "level"
    POLICY = "policy"
    MODE = "mode"
    ALIAS = "alias"
    ASSOCIATION = "association"
    OWNER = "managed-by"
    SUBJECT = "subject"


@dataclass(frozen=True, slots=True)
class Change:
    """One change: ``before`` and ``after`` are what is there and what will be; None is nothing.

    For a schema, ``before`` is the latest version and ``after`` the digest of the text and its references; ``path`` is
    its file. ``LATEST`` says that the latest version is another one than that of the file, which registering does not
    change: ``before`` is the latest, ``after`` the version of the file. For an alias, ``subject`` is the alias. An
    association is only ever created, and a subject only ever deleted: ``after`` is None.
    """

    kind: ChangeKind
    subject: str
    before: str | None
    after: str | None
    path: str = ""

    @property
    def can_be_made(self) -> bool:
        """Whether applying a plan makes this change."""
        return self.kind is not ChangeKind.LATEST


@dataclass(frozen=True, slots=True)
class WantedSubject:
    """What a project wants of a subject; None is what the project does not determine."""

    level: CompatibilityLevel | None = None
    policy: CompatibilityPolicy | None = None
    mode: Mode | None = None
    aliases: tuple[str, ...] = ()
    associations: tuple[TopicAssociation, ...] = ()
    owner: str | None = None


@dataclass(frozen=True, slots=True)
class StatePlan:
    """The changes in the order in which they are made, those of a subject together.

    ``entries`` are the files in the order of references, ``report`` the verdict on those that are new, and ``wanted``
    the state of each subject. ``kept`` are the subjects that would be deleted if nobody used them, with who does.
    ``notes`` are sentences about files and entries that the plan leaves out.
    """

    registry: str
    changes: tuple[Change, ...]
    entries: tuple[Entry, ...]
    report: CheckReport
    wanted: Mapping[str, WantedSubject] = field(default_factory=dict)
    kept: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def unmade(self) -> tuple[Entry, ...]:
        """The files that are an earlier version, which applying the plan does not change."""
        return tuple(each for each in self.entries if each.repair)
